"""The rows of a plan by table, as `write_commit` takes them: one JSON document for a whole commit."""

import json
from collections.abc import Container, Mapping, Sequence

import numpy as np

from scrubjay.errors import InvalidInput
from scrubjay.model.memory import Json, Memory
from scrubjay.model.passage import Passage, Vector, passage_id
from scrubjay.model.query import facets_of
from scrubjay.model.relation import Relation
from scrubjay.model.timestamps import to_micros
from scrubjay.storage.codec import Encoded
from scrubjay.storage.postgres.commit.plan import Author, ChangeRow, Known, RelationKey, VersionRow
from scrubjay.storage.postgres.delta_chains import Body
from scrubjay.storage.postgres.items_view import shown_metadata, shown_text
from scrubjay.storage.postgres.query import Ask, Work
from scrubjay.storage.postgres.words import digest_of, labels_of, thread_key, words_of
from scrubjay.storage.rows import STATE_NUMBERS, TIER_NUMBERS, key_of, micros_of, relation_to_text
from scrubjay.text.passages import SHAPE
from scrubjay.text.slug import bare_slug

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

    async def write(self, work: Work) -> None:
        """Send it to the database."""
        if self._tables:
            await work.run(self._ask())

    def finish(self, work: Work) -> None:
        """Send it as the last statement of a transaction, in one message with the COMMIT."""
        if self._tables:
            work.last = self._ask()

    def _ask(self) -> Ask:
        return Ask("SELECT scrubjay.write_commit(%s::jsonb)", (json.dumps(self._tables, ensure_ascii=False),))


def memory_rows(
    memories: Mapping[str, Memory], stored: Mapping[str, Known], numbers: Numbers, *, indexed: Container[str]
) -> list[Record]:
    """Return the rows of memories; those that the commit indexes have the newest passage format."""
    return [
        {
            "no": numbers[memory_id],
            "id": memory_id,
            "name": memory.name,
            "name_digest": written(stored[memory_id].name_digest),
            "title": memory.title,
            "title_key": key_of(memory.title.casefold()),
            "title_slug_key": key_of(bare_slug(memory.title)),
            "name_slug_key": key_of(bare_slug(memory.name)),
            "content_key": key_of(memory.content),
            "group_key": key_of(memory.group),
            "index_key": written(stored[memory_id].index_key),
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
            "sha256": written(body.sha256),
            "size": body.size,
            "body": written(body.data),
        }
        for (memory_id, version, author), body in zip(versions, packed, strict=True)
    ]


def folded_rows(changed: Sequence[tuple[Body, Encoded]]) -> list[Record]:
    """Return the rows of versions that become deltas of newer ones."""
    return [
        {
            "memory_no": body.memory_no,
            "number": body.version,
            "encoding": int(packed.encoding),
            "dictionary": packed.dictionary,
            "body": written(packed.data),
        }
        for body, packed in changed
    ]


def content_rows(memories: Mapping[str, Memory], numbers: Numbers) -> list[Record]:
    """Return the rows of plain text for the view `memory_items`."""
    return [
        {"memory_no": numbers[memory_id], "content": shown_text(memory), "metadata": shown_metadata(memory)}
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
                "hash": written(passage.hash),
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
            "source_no": numbers[source], "target_no": numbers[target], "type_digest": written(digest_of(kind)),
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
        {"model_no": model_no, "hash": written(digest), "vector": _listed(vector, dimension)}
        for digest, vector in vectors.items()
    ]


def written(data: bytes) -> str:
    """Return bytes as the database reads them."""
    return "\\x" + data.hex()


def _listed(vector: Vector, dimension: int) -> str:
    if vector.shape != (dimension,) or not np.isfinite(vector).all():
        raise InvalidInput(f"a vector must be {dimension} finite numbers")
    # Five digits tell every half-precision number from its neighbours.
    return f"[{','.join(map('%.5g'.__mod__, vector.astype(np.float16).tolist()))}]"
