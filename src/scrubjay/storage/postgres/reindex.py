"""Index memories again whose passages were made in an older format."""

import asyncio
from collections.abc import Mapping, Sequence
from contextlib import suppress
from datetime import UTC, datetime

from scrubjay.errors import BodyDamaged
from scrubjay.model.change import Action, Origin
from scrubjay.model.identity import new_id
from scrubjay.model.memory import Memory
from scrubjay.model.passage import PASSAGES_PER_MEMORY, Passage, passage_id
from scrubjay.storage.plan import CommitPlan, Dependencies, run_names
from scrubjay.storage.postgres.bodies import Body, PostgresBodies, memory_body
from scrubjay.storage.postgres.commit import CommitQuery, write_plan
from scrubjay.storage.postgres.database import Database, SqlQuery, Transaction
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
    return int(rows[-1][0]), await _write(database, space, memories, bodies) if memories else 0


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


async def _write(database: Database, space: str, read: IndexedMemories, bodies: PostgresBodies) -> int:
    """Replace the passages of memories that have not been revised since they were read."""
    origin = Origin(at=datetime.now(UTC), run=new_id(), agent=_AGENT)
    query = CommitQuery(Dependencies(memory_ids=list(read)), runs=run_names(origin))
    query.request_terms(list(read))
    query.request_new_words(space, ((memory.state, passages) for memory, passages in read.values()))

    async def job(transaction: Transaction) -> int:
        query.take_result(transaction)
        plan = CommitPlan(origin, query.state())
        for memory_id, (memory, passages) in read.items():
            if memory_id in plan.before and plan.before[memory_id].version == memory.version:
                plan.put(memory, memory_id, passages, reindex=True)
        if plan.memories:
            for memory_id in await _changed_ids(transaction, plan):
                plan.log_again(memory_id, Action.EMBEDDED)
            await write_plan(transaction, plan, query, space=space, bodies=bodies)
        return len(plan.memories)

    return await database.write(job, space=space, prefetch=query.queries)


async def _changed_ids(transaction: Transaction, plan: CommitPlan) -> list[str]:
    """Return the memories with other passages or other facets, which vector indexes hold."""
    firsts = [passage_id(plan.before[memory_id].number or 0, 0) for memory_id in plan.memories]
    rows = await transaction.rows(_SQL["passage_hashes"], firsts, [first + PASSAGES_PER_MEMORY for first in firsts])
    existing = {(int(number), bytes(digest)) for number, digest in rows}
    changed: list[str] = []
    for first, (memory_id, passages) in zip(firsts, plan.passages.items(), strict=True):
        before, after = plan.before[memory_id], plan.after[memory_id]
        hashes = {(first + passage.ordinal, passage.hash) for passage in passages}
        if len(passages) != before.passages or not hashes <= existing or set(after.facets) != set(before.facets):
            changed.append(memory_id)
    return changed
