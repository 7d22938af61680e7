"""The rows of a commit by table, as `write_commit` takes them: one JSON document for a whole commit."""

import json
import math
from collections.abc import Container, Mapping, Sequence
from typing import NamedTuple

import numpy as np

from scrubjay.lazy import dataclass
from scrubjay.model.memory import Json
from scrubjay.model.passage import Vector, passage_id
from scrubjay.model.timestamps import to_micros
from scrubjay.storage.codec import Encoded, Encoding
from scrubjay.storage.plan import CommitPlan, Counts, Runs
from scrubjay.storage.postgres.database import Row, SqlQuery, Transaction
from scrubjay.storage.postgres.rows import digest_of, grams_for, labels_of, thread_key, to_hex, words_of
from scrubjay.storage.rows import STATE_NUMBERS, TIER_NUMBERS, key_of, micros_of, relation_to_text
from scrubjay.storage.sql_files import read_statements
from scrubjay.text.fuzzy import grams_of
from scrubjay.text.passages import SHAPE
from scrubjay.text.slug import bare_slug

_SQL = read_statements("postgres/queries/commit")
BodySizes = tuple[int, int, int, int, int]
"""The number of bodies, their plain bytes, their stored bytes, and how many are raw and flagged."""
Record = Mapping[str, Json | Sequence[int]]
Numbers = Mapping[str, int]
"""The numbers of memories, by id."""


class RepackedVersion(NamedTuple):
    """A stored version that becomes a difference from the next one."""

    memory_id: str
    number: int
    before: Encoded
    packed: Encoded


class RowBatch:
    """Rows by table; tables without rows are left out."""

    def __init__(self) -> None:
        self._tables: dict[str, Sequence[Record] | Sequence[int]] = {}

    def put(self, table: str, rows: Sequence[Record] | Sequence[int]) -> None:
        """Add the rows of a table."""
        if rows:
            self._tables[table] = rows

    async def write(self, transaction: Transaction) -> None:
        """Send the rows to the database."""
        if self._tables:
            query = self._query()
            await transaction.execute(query.statement, *query.values)

    def write_last(self, transaction: Transaction) -> None:
        """Send the rows as the last statement of a transaction, in one message with the COMMIT."""
        if self._tables:
            transaction.last = self._query()

    def put_memories(self, plan: CommitPlan, numbers: Numbers, *, space: str, new_words: Container[int]) -> None:
        """Add the memories of a plan with their passages, and their plain text for the view `memory_items`."""
        self.put("memories", [_memory_row(plan, memory_id, numbers) for memory_id in plan.new_ids])
        self.put("revised_memories", [_memory_row(plan, memory_id, numbers) for memory_id in plan.revised_ids])
        self.put("unindexed_memories", [numbers[memory_id] for memory_id in plan.passages if memory_id in plan.before])
        passages: list[Record] = []
        vocabulary: dict[int, Record] = {}
        for memory_id in plan.passages:
            state = plan.memories[memory_id].state
            terms = (term for passage in plan.passages[memory_id] for term in passage.terms)
            words = words_of(space, state, terms)
            passages += _passage_rows(plan, memory_id, numbers, words, space=space)
            for term, word in words.items():
                if word in new_words:
                    grams = grams_for(space, state, grams_of(term))
                    vocabulary[word] = {"state": STATE_NUMBERS[state], "word": word, "term": term, "grams": grams}
        self.put("passages", passages)
        self.put("vocabulary", list(vocabulary.values()))
        self.put(
            "contents",
            [
                {
                    "memory_no": numbers[memory_id],
                    # A memory without content has observations.
                    "content": _clean_text(memory.content or "\n".join(item.text for item in memory.observations)),
                    "metadata": {_clean_text(key): _clean_json(value) for key, value in memory.metadata.items()},
                }
                for memory_id in plan.versions
                for memory in (plan.memories[memory_id],)
            ],
        )

    def put_versions(
        self,
        plan: CommitPlan,
        packed: Sequence[Encoded],
        repacked: Sequence[RepackedVersion],
        numbers: Numbers,
        runs: Runs,
    ) -> None:
        """Add the versions of a plan with their bodies, and the versions that become differences from newer ones."""
        entries = [(memory_id, entry) for memory_id, its_entries in plan.versions.items() for entry in its_entries]
        self.put(
            "versions",
            [
                {
                    "memory_no": numbers[memory_id],
                    "number": version.number,
                    "parent": version.parent,
                    "action": version.action,
                    "created_at": to_micros(version.created_at),
                    "run_no": runs.numbers[author],
                    "message": version.message,
                    "encoding": int(body.encoding),
                    "dictionary": body.dictionary,
                    "sha256": to_hex(body.sha256),
                    "size": body.size,
                    "body": to_hex(body.data),
                }
                for (memory_id, (version, author)), body in zip(entries, packed, strict=True)
            ],
        )
        self.put(
            "repacked_versions",
            [
                {
                    "memory_no": numbers[version.memory_id],
                    "number": version.number,
                    "encoding": int(version.packed.encoding),
                    "dictionary": version.packed.dictionary,
                    "body": to_hex(version.packed.data),
                }
                for version in repacked
            ],
        )

    def put_counts(self, counts: Counts, *, space: str) -> None:
        """Add the differences of counts; terms and facets without a memory are deleted."""
        terms: list[Record] = [
            {"word": word, "passages": by_term[term]}
            for state, by_term in counts.terms.items()
            for term, word in words_of(space, state, by_term).items()
            if by_term[term]
        ]
        facets: list[Record] = [
            {"state": STATE_NUMBERS[state], "digest": to_hex(digest_of(facet)), "facet": facet, "memories": count}
            for state, by_facet in counts.facets.items()
            for facet, count in by_facet.items()
            if count
        ]
        self.put("terms", terms)
        self.put("facets", facets)
        self.put(
            "corpus_totals",
            [
                {
                    "state": STATE_NUMBERS[state],
                    "memories": memories,
                    "passages": counts.passages[state],
                    "length": counts.lengths[state],
                }
                for state, memories in counts.memories.items()
            ],
        )
        self.put("unused_words", [int(str(row["word"])) for row in terms if int(str(row["passages"])) < 0])
        self.put("unused_facets", [row for row in facets if int(str(row["memories"])) < 0])

    def put_relations(self, plan: CommitPlan, numbers: Numbers) -> None:
        """Add the relations of a plan; a removed relation has only its key."""
        related: list[Record] = []
        deleted: list[Record] = []
        for (source, kind, target), relation in plan.relations.items():
            key = {
                "source_no": numbers[source], "target_no": numbers[target], "type_digest": to_hex(digest_of(kind)),
            }  # fmt: skip
            if relation is None:
                deleted.append(key)
                continue
            related.append(
                {
                    **key,
                    "type": kind,
                    "text": relation.text,
                    "strength": relation.strength,
                    "metadata": json.dumps(dict(relation.metadata), ensure_ascii=False),
                    "created_at": to_micros(relation.created_at),
                }
            )
        self.put("relations", related)
        self.put("deleted_relations", deleted)

    def put_log(self, plan: CommitPlan, numbers: Numbers, runs: Runs, reserved: "ReservedNumbers") -> None:
        """Add the changes of a plan, its runs, and the answer under its idempotency key."""
        at = to_micros(plan.origin.at)
        self.put_runs(runs, last_seq=max(reserved.seqs, default=0))
        self.put(
            "changes",
            [
                {
                    "place": place,
                    "seq": seq,
                    "run_no": runs.number,
                    "memory_no": numbers[change.memory_id],
                    "memory_id": change.memory_id,
                    "at": at,
                    "version": change.version,
                    "base": change.base,
                    "passages_before": change.passages_before,
                    "target_no": numbers[change.target_id] if change.target_id else None,
                    "action": change.action.value,
                    "relation": None if change.relation is None else relation_to_text(change.relation),
                }
                for place, (change, seq) in enumerate(
                    zip(plan.changes, reserved.seqs, strict=True), start=reserved.last_place - len(plan.changes) + 1
                )
            ],
        )
        if plan.once is not None:
            self.put(
                "idempotency_keys",
                [
                    {
                        "key_digest": to_hex(digest_of(plan.once.key)),
                        "request_digest": to_hex(plan.once.digest),
                        "answer": plan.once.answer,
                        "run_no": runs.number,
                        "at": at,
                    }
                ],
            )

    def put_runs(self, runs: Runs, *, last_seq: int) -> None:
        """Add new runs; the commit's own run becomes the newest of its agent."""
        undone = runs.undone
        self.put(
            "runs",
            [
                {
                    "no": runs.numbers[author],
                    "id": author[0],
                    "id_key": key_of(author[0]),
                    "agent": author[1],
                    "agent_key": key_of(author[1]),
                    "undoes": undone.number if undone and author == runs.author else None,
                    "undone": False,
                    "last_seq": last_seq if author == runs.author else 0,
                }
                for author in runs.new
            ],
        )
        updated: list[Record] = []
        if runs.author not in runs.new and last_seq:
            updated.append({"no": runs.number, "last_seq": last_seq, "undone": False})
        if undone is not None and not runs.origin.is_partial:
            updated.append({"no": undone.number, "last_seq": undone.last_seq, "undone": True})
        self.put("updated_runs", updated)

    def put_vectors(self, model_no: int, vectors: Mapping[bytes, Vector]) -> None:
        """Add vectors."""
        self.put(
            "vectors",
            [
                {
                    "model_no": model_no,
                    "hash": to_hex(digest),
                    # Five digits distinguish every half-precision number from the next.
                    "vector": f"[{','.join(map('%.5g'.__mod__, vector.astype(np.float16).tolist()))}]",
                }
                for digest, vector in vectors.items()
            ],
        )

    def _query(self) -> SqlQuery:
        return SqlQuery("SELECT scrubjay.write_commit(%s::jsonb)", (json.dumps(self._tables, ensure_ascii=False),))


def _memory_row(plan: CommitPlan, memory_id: str, numbers: Numbers) -> Record:
    """Return the row of a memory; if the plan indexes it, it has the newest passage format."""
    memory, after = plan.memories[memory_id], plan.after[memory_id]
    return {
        "no": numbers[memory_id],
        "id": memory_id,
        "name": memory.name,
        "name_digest": to_hex(digest_of(memory.name)),
        "title": memory.title,
        "title_key": key_of(memory.title.casefold()),
        "title_slug_key": key_of(bare_slug(memory.title)),
        "name_slug_key": key_of(bare_slug(memory.name)),
        "content_key": key_of(memory.content),
        "group_key": key_of(memory.group),
        "index_key": to_hex(after.index_key),
        "facets": json.dumps(after.facets, ensure_ascii=False),
        "state": STATE_NUMBERS[memory.state],
        "pinned": memory.pinned,
        "version": memory.version,
        "passages": after.passages,
        "passage_format": SHAPE if memory_id in plan.passages else None,
        "date": to_micros(memory.date),
        "created_at": to_micros(memory.created_at),
        "updated_at": to_micros(memory.updated_at),
        "last_accessed": micros_of(memory.last_accessed),
        "access_count": memory.access_count,
        "tier": TIER_NUMBERS[memory.tier],
        "relevance": memory.relevance,
        "confirmed": micros_of(memory.last_confirmed),
    }


def _passage_rows(
    plan: CommitPlan, memory_id: str, numbers: Numbers, words: Mapping[str, int], *, space: str
) -> list[Record]:
    """Return the passages of a memory, with the words that a search finds them by."""
    memory, passages = plan.memories[memory_id], plan.passages[memory_id]
    labels = labels_of(space, memory.state, plan.after[memory_id].facets)
    thread = thread_key(space, memory.state, memory.thread)
    return [
        {
            "id": passage_id(numbers[memory_id], passage.ordinal),
            "state": STATE_NUMBERS[memory.state],
            "memory_id": memory_id,
            "hash": to_hex(passage.hash),
            "date": to_micros(memory.date),
            "observation": passage.observation,
            "start": passage.start,
            "stop": passage.end,
            "terms": " ".join(passage.terms),
            "words": [*(words[term] for term in dict.fromkeys(passage.terms)), *labels],
            "thread": thread,
            "who": " ".join(passage.who),
            "asks": passage.asks,
        }
        for passage in passages
    ]


@dataclass(frozen=True, slots=True, kw_only=True)
class ReservedNumbers:
    """Numbers of changes, memories and runs; the last place in the log of the space, and its number of bodies."""

    seqs: Sequence[int]
    memories: Sequence[int]
    runs: Sequence[int]
    last_place: int
    bodies: int


async def reserve(
    transaction: Transaction, sizes: BodySizes, *, changes: int, memories: int, runs: int
) -> ReservedNumbers:
    """Reserve numbers, and add bodies and changes to the totals of the space."""
    rows = await transaction.rows(_SQL["reserve"], changes, *sizes, changes, memories, runs)
    last_place, bodies, seqs, memory_numbers, run_numbers, transaction.number = rows[0]
    return ReservedNumbers(
        seqs=seqs, memories=memory_numbers, runs=run_numbers, last_place=int(last_place), bodies=int(bodies)
    )


def reserved_of(
    transaction: Transaction, row: Row, sizes: BodySizes, *, changes: int, memories: int, runs: int
) -> ReservedNumbers | None:
    """Return the numbers that `prepare_commit` reserved, None if they are too few; it does not update the totals."""
    place, bodies, seqs, memory_numbers, run_numbers, transaction.number = row
    if changes > len(seqs) or memories > len(memory_numbers) or runs > len(run_numbers):
        return None
    return ReservedNumbers(
        seqs=seqs[:changes],
        memories=memory_numbers[:memories],
        runs=run_numbers[:runs],
        last_place=int(place) + changes,
        bodies=int(bodies) + sizes[0],
    )


def totals_row(sizes: BodySizes, *, changes: int) -> Record:
    """Return the row that a commit adds to the totals of its space."""
    names = ("bodies", "body_bytes", "stored_bytes", "raw_bodies", "flagged_bodies")
    return {"changes": changes, **dict(zip(names, sizes, strict=True))}


def sizes_of(packed: Sequence[Encoded], *, sign: int = 1) -> BodySizes:
    """Return the sizes of bodies that are added, or with sign -1 removed."""
    encodings = [body.encoding for body in packed]
    return (
        sign * len(packed),
        sign * sum(body.size for body in packed),
        sign * sum(len(body.data) for body in packed),
        sign * encodings.count(Encoding.RAW),
        sign * encodings.count(Encoding.FLAGGED),
    )


def sum_sizes(added: BodySizes, removed: BodySizes) -> BodySizes:
    """Return the sum of two sizes."""
    bodies, plain, stored, raw, flagged = (first + second for first, second in zip(added, removed, strict=True))
    return bodies, plain, stored, raw, flagged


def _clean_json(value: Json) -> Json:
    """Return a value without the texts and numbers that PostgreSQL cannot store as JSON."""
    if isinstance(value, str):
        return _clean_text(value)
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if isinstance(value, list):
        return [_clean_json(item) for item in value]
    if isinstance(value, Mapping):
        return {_clean_text(key): _clean_json(item) for key, item in value.items()}
    return value


def _clean_text(text: str) -> str:
    # PostgreSQL stores neither lone surrogates nor NUL characters; the body has them.
    return text.encode("utf-8", "replace").decode().replace("\x00", "\ufffd")
