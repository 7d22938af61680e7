"""The rows of a commit by table, as `write_commit` takes them: one JSON document for a whole commit."""

import json
import math
from collections import Counter, defaultdict
from collections.abc import Container, Iterable, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

from scrubjay.errors import InvalidInput
from scrubjay.model.change import Origin
from scrubjay.model.memory import Json, Memory, State
from scrubjay.model.passage import Passage, Vector, passage_id
from scrubjay.model.query import facets_of
from scrubjay.model.relation import Relation
from scrubjay.model.timestamps import to_micros
from scrubjay.storage.codec import Encoded, Encoding
from scrubjay.storage.postgres.bodies import Body
from scrubjay.storage.postgres.commit.plan import Author, ChangeRow, RelationKey, StoredMemory, VersionRow
from scrubjay.storage.postgres.database import Row, Rows, SqlQuery, Transaction
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

    def _query(self) -> SqlQuery:
        return SqlQuery("SELECT scrubjay.write_commit(%s::jsonb)", (json.dumps(self._tables, ensure_ascii=False),))


def memory_rows(
    memories: Mapping[str, Memory], stored: Mapping[str, StoredMemory], numbers: Numbers, *, indexed: Container[str]
) -> list[Record]:
    """Return the rows of memories; those that the commit indexes have the newest passage format."""
    return [
        {
            "no": numbers[memory_id],
            "id": memory_id,
            "name": memory.name,
            "name_digest": to_hex(stored[memory_id].name_digest),
            "title": memory.title,
            "title_key": key_of(memory.title.casefold()),
            "title_slug_key": key_of(bare_slug(memory.title)),
            "name_slug_key": key_of(bare_slug(memory.name)),
            "content_key": key_of(memory.content),
            "group_key": key_of(memory.group),
            "index_key": to_hex(stored[memory_id].index_key),
            "facets": json.dumps(facets_of(memory), ensure_ascii=False),
            "state": STATE_NUMBERS[memory.state],
            "pinned": memory.pinned,
            "version": memory.version,
            "passages": stored[memory_id].passages,
            "passage_format": SHAPE if memory_id in indexed else None,
            "date": to_micros(memory.date),
            "created_at": to_micros(memory.created_at),
            "updated_at": to_micros(memory.updated_at),
            "last_accessed": micros_of(memory.last_accessed),
            "access_count": memory.access_count,
            "tier": TIER_NUMBERS[memory.tier],
            "relevance": memory.relevance,
            "confirmed": micros_of(memory.last_confirmed),
        }
        for memory_id, memory in memories.items()
    ]


def version_rows(
    versions: Sequence[VersionRow], packed: Sequence[Encoded], numbers: Numbers, runs: Mapping[Author, int]
) -> list[Record]:
    """Return the rows of versions with their bodies."""
    return [
        {
            "memory_no": numbers[memory_id],
            "number": version.number,
            "parent": version.parent,
            "action": version.action,
            "created_at": to_micros(version.created_at),
            "run_no": runs[author],
            "message": version.message,
            "encoding": int(body.encoding),
            "dictionary": body.dictionary,
            "sha256": to_hex(body.sha256),
            "size": body.size,
            "body": to_hex(body.data),
        }
        for (memory_id, version, author), body in zip(versions, packed, strict=True)
    ]


def repacked_rows(repacked: Sequence[tuple[Body, Encoded]]) -> list[Record]:
    """Return the rows of versions that become differences from newer ones."""
    return [
        {
            "memory_no": body.memory_no,
            "number": body.version,
            "encoding": int(packed.encoding),
            "dictionary": packed.dictionary,
            "body": to_hex(packed.data),
        }
        for body, packed in repacked
    ]


def content_rows(memories: Mapping[str, Memory], numbers: Numbers) -> list[Record]:
    """Return the rows of plain text for the view `memory_items`."""
    return [
        {
            "memory_no": numbers[memory_id],
            # A memory without content has observations.
            "content": _clean_text(memory.content or "\n".join(item.text for item in memory.observations)),
            "metadata": {_clean_text(key): _clean_json(value) for key, value in memory.metadata.items()},
        }
        for memory_id, memory in memories.items()
    ]


def passage_rows(
    space: str, memories: Mapping[str, Memory], passages: Mapping[str, Sequence[Passage]], numbers: Numbers
) -> list[Record]:
    """Return the rows of passages, with the words that a search finds them by."""
    rows: list[Record] = []
    for memory_id, parts in passages.items():
        memory = memories[memory_id]
        labels = labels_of(space, memory.state, facets_of(memory))
        words = words_of(space, memory.state, (term for passage in parts for term in passage.terms))
        thread = thread_key(space, memory.state, memory.thread)
        rows += [
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
            for passage in parts
        ]
    return rows


def relation_rows(relations: Mapping[RelationKey, Relation | None], numbers: Numbers) -> list[Record]:
    """Return the rows of relations; a removed relation has only its key."""
    rows: list[Record] = []
    for (source, kind, target), relation in relations.items():
        row: dict[str, Json] = {
            "source_no": numbers[source], "target_no": numbers[target], "type_digest": to_hex(digest_of(kind)),
        }  # fmt: skip
        if relation is not None:
            row |= {
                "type": kind,
                "text": relation.text,
                "strength": relation.strength,
                "metadata": json.dumps(dict(relation.metadata), ensure_ascii=False),
                "created_at": to_micros(relation.created_at),
            }
        rows.append(row)
    return rows


def change_rows(
    changes: Sequence[ChangeRow], numbers: Numbers, *, seqs: Sequence[int], last_place: int, run_no: int, at: int
) -> list[Record]:
    """Return the rows of the log; the last of them has the last place."""
    return [
        {
            "place": last_place - len(changes) + count,
            "seq": seq,
            "run_no": run_no,
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
        for count, (change, seq) in enumerate(zip(changes, seqs, strict=True), start=1)
    ]


def vector_rows(model_no: int, vectors: Mapping[bytes, Vector], *, dimension: int) -> list[Record]:
    """Return the rows of vectors; raises InvalidInput for a malformed one."""
    return [
        {"model_no": model_no, "hash": to_hex(digest), "vector": _vector_text(vector, dimension)}
        for digest, vector in vectors.items()
    ]


def _vector_text(vector: Vector, dimension: int) -> str:
    if vector.shape != (dimension,) or not np.isfinite(vector).all():
        raise InvalidInput(f"a vector must be {dimension} finite numbers")
    # Five digits distinguish every half-precision number from the next.
    return f"[{','.join(map('%.5g'.__mod__, vector.astype(np.float16).tolist()))}]"


class Counts:
    """The differences that a commit makes to the counts for ranking, by space and state."""

    def __init__(self, space: str) -> None:
        self._space = space
        self._words: Counter[int] = Counter()
        self._added: dict[int, tuple[State, str]] = {}
        self._facets: Counter[tuple[State, str]] = Counter()
        self._totals: defaultdict[State, list[int]] = defaultdict(lambda: [0, 0, 0])

    def add(self, state: State, passages: Sequence[Sequence[str]], facets: Iterable[str]) -> None:
        """Count a memory with passages of these terms."""
        self._count(state, passages, facets, sign=1)

    def remove(self, state: State, passages: Sequence[Sequence[str]], facets: Iterable[str]) -> None:
        """Subtract a memory with passages of these terms."""
        self._count(state, passages, facets, sign=-1)

    def put(self, batch: RowBatch, *, new_words: Container[int] = ()) -> None:
        """Add the rows of the differences; terms and facets without a memory are deleted."""
        batch.put(
            "vocabulary",
            [
                {
                    "state": STATE_NUMBERS[state],
                    "word": word,
                    "term": term,
                    "grams": grams_for(self._space, state, grams_of(term)),
                }
                for word, (state, term) in self._added.items()
                if word in new_words
            ],
        )
        batch.put("terms", [{"word": word, "passages": count} for word, count in self._words.items() if count])
        batch.put("facets", [self._facet(*key, count) for key, count in self._facets.items() if count])
        batch.put(
            "corpus_totals",
            [
                {"state": STATE_NUMBERS[state], "memories": memories, "passages": passages, "length": length}
                for state, (memories, passages, length) in self._totals.items()
            ],
        )
        batch.put("unused_words", [word for word, count in self._words.items() if count < 0])
        batch.put("unused_facets", [self._facet(*key, count) for key, count in self._facets.items() if count < 0])

    def _facet(self, state: State, facet: str, count: int) -> Record:
        digest = to_hex(digest_of(facet))
        return {"state": STATE_NUMBERS[state], "digest": digest, "facet": facet, "memories": count}

    def _count(self, state: State, passages: Sequence[Sequence[str]], facets: Iterable[str], *, sign: int) -> None:
        words = words_of(self._space, state, (term for terms in passages for term in terms))
        if sign > 0:
            self._added |= {word: (state, term) for term, word in words.items()}
        for terms in passages:
            for term in set(terms):
                self._words[words[term]] += sign
        for facet in facets:
            self._facets[state, facet] += sign
        totals = self._totals[state]
        for position, count in enumerate((1, len(passages), sum(map(len, passages)))):
            totals[position] += sign * count


@dataclass(slots=True)
class Runs:
    """The existing runs of a commit, and those to insert: calls with the same run and agent share a row."""

    origin: Origin
    numbers: dict[Author, int] = field(default_factory=dict[Author, int])
    new: list[Author] = field(default_factory=list[Author])
    # The run that the commit undoes, and the number of its last change.
    undone: int | None = None
    undone_seq: int = 0

    @property
    def author(self) -> Author:
        """The run and agent of the commit."""
        return self.origin.run, self.origin.agent

    @property
    def number(self) -> int:
        """The number of the commit's own run, once it is reserved."""
        return self.numbers[self.author]

    def assign_numbers(self, numbers: Sequence[int]) -> None:
        """Assign numbers to the runs to insert."""
        self.numbers |= dict(zip(self.new, numbers, strict=True))

    def put(self, batch: RowBatch, *, last_seq: int) -> None:
        """Add the rows; the commit's own run becomes the newest of its agent."""
        own = self.number
        batch.put(
            "runs",
            [
                {
                    "no": self.numbers[author],
                    "id": author[0],
                    "id_key": key_of(author[0]),
                    "agent": author[1],
                    "agent_key": key_of(author[1]),
                    "undoes": self.undone if author == self.author else None,
                    "undone": False,
                    "last_seq": last_seq if author == self.author else 0,
                }
                for author in self.new
            ],
        )
        updated: list[Record] = []
        if self.author not in self.new and last_seq:
            updated.append({"no": own, "last_seq": last_seq, "undone": False})
        if self.undone is not None:
            updated.append({"no": self.undone, "last_seq": self.undone_seq, "undone": True})
        batch.put("updated_runs", updated)


def run_names(origin: Origin, authors: Sequence[Author] = ()) -> list[str]:
    """Return the names of the runs to look up."""
    return [name for name in (origin.run, origin.undoes, *(run for run, _ in authors)) if name]


def runs_of(origin: Origin, rows: Rows, authors: Sequence[Author] = ()) -> Runs:
    """Return the runs of a commit, given the rows of the runs with its names."""
    runs = Runs(origin)
    open_runs = {
        (str(name), str(agent)): int(number)
        for number, name, agent, undoes, undone, _ in rows
        if undoes is None and not undone
    }
    for author in dict.fromkeys((runs.author, *authors)):
        # An undo is always a run of its own.
        if author in open_runs and not (origin.undoes and author == runs.author):
            runs.numbers[author] = open_runs[author]
        else:
            runs.new.append(author)
    if origin.undoes:
        undoable = [(int(row[0]), int(row[5])) for row in rows if row[1] == origin.undoes and not row[4]]
        runs.undone, runs.undone_seq = max(undoable, default=(None, 0), key=lambda run: run[0] or 0)
    return runs


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
