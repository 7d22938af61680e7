"""Re-indexing: split memories into passages again after a change of the passage format, page by page."""

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
from scrubjay.storage.postgres.bodies import Bodies
from scrubjay.storage.postgres.commit.counts import Counts
from scrubjay.storage.postgres.commit.ids import reserve, sizes_of
from scrubjay.storage.postgres.commit.plan import ChangeRow, Known
from scrubjay.storage.postgres.commit.read import Opening
from scrubjay.storage.postgres.commit.rows import Numbers, RowBatch, change_rows, memory_rows, passage_rows
from scrubjay.storage.postgres.commit.runs import names_of, runs_of
from scrubjay.storage.postgres.database import Database
from scrubjay.storage.postgres.delta_chains import Body, memory_body
from scrubjay.storage.postgres.query import Ask, Work
from scrubjay.storage.postgres.sql_files import named_statements
from scrubjay.storage.rows import index_key_of
from scrubjay.text.passages import SHAPE, passages_of

Read = Mapping[str, tuple[Memory, tuple[Passage, ...]]]
_SQL = named_statements("queries/reindex")
# Opening a store re-indexes up to so many memories; more are left to the upkeep.
_FEW = 500
# Writers to the space wait for a page of this size.
_PAGE = 100
_AGENT = "scrubjay"
_PATIENT = 600


async def reread_few(database: Database, bodies: Bodies) -> int:
    """Re-index the outdated memories if they are few, and return their number."""
    rows = await database.rows(_SQL["count_outdated"], SHAPE, _FEW + 1, keeper=True)
    return await reread(database, bodies) if 0 < int(rows[0][0]) <= _FEW else 0


async def reread(database: Database, bodies: Bodies) -> int:
    """Re-index all outdated memories, and return their number; the next call continues after an interruption."""
    (spaces,) = await database.read(Ask(_SQL["outdated_spaces"], (SHAPE,)), keeper=True, seconds=_PATIENT)
    return sum([await _reread_space(database, str(space), bodies) for (space,) in spaces])


async def reread_page(database: Database, space: str, bodies: Bodies, *, after: int) -> tuple[int, int] | None:
    """Re-index a page of a space from after a memory number; returns the last number and the count, None at the end."""
    rows = await database.rows(_SQL["outdated_memories"], SHAPE, after, _PAGE, space=space)
    if not rows:
        return None
    page = await bodies.load(space, [memory_body(row) for row in rows])
    memories = await asyncio.to_thread(_read, bodies, page, space)
    return int(rows[-1][0]), await _write(database, space, memories) if memories else 0


async def _reread_space(database: Database, space: str, bodies: Bodies) -> int:
    total, after = 0, 0
    while page := await reread_page(database, space, bodies, after=after):
        after = page[0]
        total += page[1]
    return total


def _read(bodies: Bodies, page: Sequence[Body], space: str) -> Read:
    """Return the memories of a page with their passages, without damaged ones."""
    memories: dict[str, tuple[Memory, tuple[Passage, ...]]] = {}
    for body in page:
        with suppress(BodyDamaged):
            memory = bodies.unpack(body, space=space)
            memories[body.memory_id] = (memory, passages_of(memory))
    return memories


async def _write(database: Database, space: str, read: Read) -> int:
    """Replace the passages of memories that have not been revised since they were read."""
    origin = Origin(at=datetime.now(UTC), run=new_id(), agent=_AGENT)
    opening = Opening()
    opening.ask_known(list(read))
    opening.ask_terms(list(read))
    opening.ask_runs(names_of(origin))
    opening.ask_words(space, ((memory.state, passages) for memory, passages in read.values()))

    async def job(work: Work) -> int:
        opening.answer(work.opened)
        before = {
            memory_id: stored
            for memory_id, stored in opening.known().items()
            if stored.version == read[memory_id][0].version
        }
        unchanged = {memory_id: read[memory_id] for memory_id in before}
        if unchanged:
            await _replace(work, space, unchanged, before, opening, origin=origin)
        return len(unchanged)

    return await database.write(job, space=space, opening=opening.asks)


async def _replace(
    work: Work, space: str, read: Read, before: Mapping[str, Known], opening: Opening, *, origin: Origin
) -> None:
    memories = {memory_id: memory for memory_id, (memory, _) in read.items()}
    passages = {memory_id: parts for memory_id, (_, parts) in read.items()}
    numbers = {memory_id: stored.number or 0 for memory_id, stored in before.items()}
    after = {
        memory_id: replace(before[memory_id], index_key=index_key_of(memory, parts), passages=len(parts))
        for memory_id, (memory, parts) in read.items()
    }
    document, counts, terms = RowBatch(), Counts(space), opening.terms()
    for memory_id, (memory, parts) in read.items():
        counts.remove(before[memory_id].state, terms.get(memory_id, []), before[memory_id].facets)
        counts.add(memory.state, [passage.terms for passage in parts], facets_of(memory))
    counts.put(document, new_words=opening.new_words())
    document.put("revised_memories", memory_rows(memories, after, numbers, indexed=passages))
    document.put("unindexed_memories", list(numbers.values()))
    document.put("passages", passage_rows(space, memories, passages, numbers))
    changes = await _changes(work, read, before, numbers)
    if changes:
        runs = runs_of(origin, opening.rows("runs"))
        reserved = await reserve(work, sizes_of([]), changes=len(changes), memories=0, runs=len(runs.fresh))
        runs.take_numbers(reserved.runs)
        runs.put(document, last_seq=max(reserved.seqs))
        entries = change_rows(
            changes, numbers, seqs=reserved.seqs, last_place=reserved.last_place, run_no=runs.number,
            at=to_micros(origin.at),
        )  # fmt: skip
        document.put("changes", entries)
    await document.write(work)


async def _changes(work: Work, read: Read, before: Mapping[str, Known], numbers: Numbers) -> list[ChangeRow]:
    """Return log entries for vector indexes: the memories with other passages or other facets."""
    firsts = [passage_id(number, 0) for number in numbers.values()]
    rows = await work.rows(_SQL["passage_hashes"], firsts, [first + PASSAGES_PER_MEMORY for first in firsts])
    existing = {(int(number), bytes(digest)) for number, digest in rows}
    changes: list[ChangeRow] = []
    for memory_id, (memory, parts) in read.items():
        hashes = {(passage_id(numbers[memory_id], passage.ordinal), passage.hash) for passage in parts}
        stored = before[memory_id]
        if len(parts) != stored.passages or not hashes <= existing or set(facets_of(memory)) != set(stored.facets):
            changes.append(ChangeRow(memory_id, Action.EMBEDDED, stored.version, stored.version, stored.passages))
    return changes
