"""Index memories again whose passages were made in an older format."""

import asyncio
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from datetime import UTC, datetime

from scrubjay.errors import BodyDamaged
from scrubjay.model.change import Action, Origin
from scrubjay.model.identity import new_id
from scrubjay.model.memory import Memory
from scrubjay.model.passage import PASSAGES_PER_MEMORY, Passage, passage_id
from scrubjay.model.query import facets_of
from scrubjay.model.timestamps import to_micros
from scrubjay.storage.postgres.bodies import Body, PostgresBodies, memory_body
from scrubjay.storage.postgres.commit.plan import ChangeRow, StoredMemory
from scrubjay.storage.postgres.commit.read import CommitQuery
from scrubjay.storage.postgres.commit.rows import (
    Counts,
    Numbers,
    RowBatch,
    change_rows,
    memory_rows,
    passage_rows,
    reserve,
    run_names,
    runs_of,
    sizes_of,
)
from scrubjay.storage.postgres.database import Database, SqlQuery, Transaction
from scrubjay.storage.rows import index_key_of
from scrubjay.storage.sql_files import read_statements
from scrubjay.text.passages import SHAPE, passages_of

IndexedMemories = Mapping[str, tuple[Memory, tuple[Passage, ...]]]
_SQL = read_statements("postgres/queries/reindex")
# The most memories that are indexed again while a store is opened; more are left to the upkeep.
_MAX_AT_OPENING = 500
# Writers to the space wait for a page of this size.
_PAGE = 100
_AGENT = "scrubjay"
_SURVEY_SECONDS = 600


async def reindex_few(database: Database, bodies: PostgresBodies) -> int:
    """Index the outdated memories again if they are few; return how many."""
    rows = await database.rows(_SQL["count_outdated"], SHAPE, _MAX_AT_OPENING + 1, unrestricted=True)
    return await reindex_all(database, bodies) if 0 < int(rows[0][0]) <= _MAX_AT_OPENING else 0


async def reindex_all(database: Database, bodies: PostgresBodies) -> int:
    """Index all outdated memories again; return how many. After an interruption the next call continues."""
    (spaces,) = await database.read(
        SqlQuery(_SQL["outdated_spaces"], (SHAPE,)), unrestricted=True, seconds=_SURVEY_SECONDS
    )
    return sum([await _reindex_space(database, str(space), bodies) for (space,) in spaces])


async def reindex_page(database: Database, space: str, bodies: PostgresBodies, *, after: int) -> tuple[int, int] | None:
    """Index a page of a space again, after a memory number; return the last number and the count, None at the end."""
    rows = await database.rows(_SQL["outdated_memories"], SHAPE, after, _PAGE, space=space)
    if not rows:
        return None
    page = await bodies.load(space, [memory_body(row) for row in rows])
    memories = await asyncio.to_thread(_split_page, bodies, page, space)
    return int(rows[-1][0]), await _write(database, space, memories) if memories else 0


async def _reindex_space(database: Database, space: str, bodies: PostgresBodies) -> int:
    total, after = 0, 0
    while page := await reindex_page(database, space, bodies, after=after):
        after = page[0]
        total += page[1]
    return total


def _split_page(bodies: PostgresBodies, page: Sequence[Body], space: str) -> IndexedMemories:
    """Return the memories of a page with their passages, without damaged ones."""
    memories: dict[str, tuple[Memory, tuple[Passage, ...]]] = {}
    for body in page:
        with suppress(BodyDamaged):
            memory = bodies.unpack(body, space=space)
            memories[body.memory_id] = (memory, passages_of(memory))
    return memories


async def _write(database: Database, space: str, read: IndexedMemories) -> int:
    """Replace the passages of memories that have not been revised since they were read."""
    origin = Origin(at=datetime.now(UTC), run=new_id(), agent=_AGENT)
    query = CommitQuery()
    query.request_memories(list(read))
    query.request_terms(list(read))
    query.request_runs(run_names(origin))
    query.request_new_words(space, ((memory.state, passages) for memory, passages in read.values()))

    async def job(transaction: Transaction) -> int:
        query.take_result(transaction)
        before = {
            memory_id: stored
            for memory_id, stored in query.memories().items()
            if stored.version == read[memory_id][0].version
        }
        unchanged = {memory_id: read[memory_id] for memory_id in before}
        if unchanged:
            await _replace(transaction, space, unchanged, before, query, origin=origin)
        return len(unchanged)

    return await database.write(job, space=space, prefetch=query.queries)


async def _replace(
    transaction: Transaction,
    space: str,
    read: IndexedMemories,
    before: Mapping[str, StoredMemory],
    query: CommitQuery,
    *,
    origin: Origin,
) -> None:
    memories = {memory_id: memory for memory_id, (memory, _) in read.items()}
    passages = {memory_id: parts for memory_id, (_, parts) in read.items()}
    numbers = {memory_id: stored.number or 0 for memory_id, stored in before.items()}
    after = {
        memory_id: replace(before[memory_id], index_key=index_key_of(memory, parts), passages=len(parts))
        for memory_id, (memory, parts) in read.items()
    }
    batch, counts, terms = RowBatch(), Counts(space), query.terms()
    for memory_id, (memory, parts) in read.items():
        counts.remove(before[memory_id].state, terms.get(memory_id, []), before[memory_id].facets)
        counts.add(memory.state, [passage.terms for passage in parts], facets_of(memory))
    counts.put(batch, new_words=query.new_words())
    batch.put("revised_memories", memory_rows(memories, after, numbers, indexed=passages))
    batch.put("unindexed_memories", list(numbers.values()))
    batch.put("passages", passage_rows(space, memories, passages, numbers))
    changes = await _changes(transaction, read, before, numbers)
    if changes:
        runs = runs_of(origin, query.rows("runs"))
        reserved = await reserve(transaction, sizes_of([]), changes=len(changes), memories=0, runs=len(runs.new))
        runs.assign_numbers(reserved.runs)
        runs.put(batch, last_seq=max(reserved.seqs))
        entries = change_rows(
            changes, numbers, seqs=reserved.seqs, last_place=reserved.last_place, run_no=runs.number,
            at=to_micros(origin.at),
        )  # fmt: skip
        batch.put("changes", entries)
    await batch.write(transaction)


async def _changes(
    transaction: Transaction, read: IndexedMemories, before: Mapping[str, StoredMemory], numbers: Numbers
) -> list[ChangeRow]:
    """Return log entries for vector indexes: the memories with other passages or other facets."""
    firsts = [passage_id(number, 0) for number in numbers.values()]
    rows = await transaction.rows(_SQL["passage_hashes"], firsts, [first + PASSAGES_PER_MEMORY for first in firsts])
    existing = {(int(number), bytes(digest)) for number, digest in rows}
    changes: list[ChangeRow] = []
    for memory_id, (memory, parts) in read.items():
        hashes = {(passage_id(numbers[memory_id], passage.ordinal), passage.hash) for passage in parts}
        stored = before[memory_id]
        if len(parts) != stored.passages or not hashes <= existing or set(facets_of(memory)) != set(stored.facets):
            changes.append(ChangeRow(memory_id, Action.EMBEDDED, stored.version, stored.version, stored.passages))
    return changes
