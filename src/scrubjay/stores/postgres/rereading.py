"""Memories whose texts were taken apart in an older way are read anew, page by page, whoever else writes meanwhile."""

import asyncio
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from datetime import UTC, datetime

from scrubjay.errors import BodyDamaged
from scrubjay.model.change import Action, Origin
from scrubjay.model.identity import new_id
from scrubjay.model.memory import Memory
from scrubjay.model.moment import to_micros
from scrubjay.model.passage import PASSAGES_PER_MEMORY, Passage, passage_id
from scrubjay.model.query import facets_of
from scrubjay.stores.postgres.asking import Ask, Work
from scrubjay.stores.postgres.bodies import MEMORY_TABLES, Bodies
from scrubjay.stores.postgres.counting import Counts
from scrubjay.stores.postgres.database import Database
from scrubjay.stores.postgres.keeping import Document, Numbers, change_rows, memory_rows, passage_rows
from scrubjay.stores.postgres.lining import BODY_COLUMNS, Body, memory_body
from scrubjay.stores.postgres.opening import Opening
from scrubjay.stores.postgres.planning import ChangeRow, Known
from scrubjay.stores.postgres.reserving import reserve, sizes_of
from scrubjay.stores.postgres.runs import names_of, runs_of
from scrubjay.stores.rows import index_key_of
from scrubjay.text.passages import SHAPE, passages_of

Read = Mapping[str, tuple[Memory, tuple[Passage, ...]]]
# So many are read anew while a store is opened; more are left to who tidies it.
_FEW = 500
# So many are written at once: those who want to write to the space wait for it.
_PAGE = 100
_AGENT = "scrubjay"
_PATIENT = 600


async def reread_few(database: Database, bodies: Bodies) -> int:
    """Read anew what is old if it is soon done; returns how many memories it was."""
    rows = await database.rows(_COUNT, _FEW + 1, _FEW + 1, keeper=True)
    return await reread(database, bodies) if 0 < int(rows[0][0]) <= _FEW else 0


async def reread(database: Database, bodies: Bodies) -> int:
    """Read all anew that is old; returns how many memories it was. What is cut off is gone on with the next time."""
    (spaces,) = await database.read(Ask(_SPACES), keeper=True, seconds=_PATIENT)
    return sum([await _reread_space(database, str(space), bodies) for (space,) in spaces])


async def reread_page(database: Database, space: str, bodies: Bodies, *, after: int) -> tuple[int, int] | None:
    """Read a page of a space anew, from after a memory's number on; where it ends and how many it was, if any."""
    rows = await database.rows(_OLD, after, passage_id(after + 1, 0), _PAGE, space=space)
    if not rows:
        return None
    page = await bodies.load(space, [memory_body(row) for row in rows])
    read = await asyncio.to_thread(_read, bodies, page, space)
    return int(rows[-1][0]), await _write(database, space, read) if read else 0


async def _reread_space(database: Database, space: str, bodies: Bodies) -> int:
    total, after = 0, 0
    while page := await reread_page(database, space, bodies, after=after):
        after = page[0]
        total += page[1]
    return total


def _read(bodies: Bodies, page: Sequence[Body], space: str) -> Read:
    """The memories of a page with their passages; one that is damaged stays as it is."""
    read: dict[str, tuple[Memory, tuple[Passage, ...]]] = {}
    for body in page:
        with suppress(BodyDamaged):
            memory = bodies.unpack(body, space=space)
            read[body.memory_id] = (memory, passages_of(memory))
    return read


async def _write(database: Database, space: str, read: Read) -> int:
    """Put what was read in the place of what is there, unless somebody has revised it meanwhile."""
    origin = Origin(at=datetime.now(UTC), run=new_id(), agent=_AGENT)
    opening = Opening()
    opening.ask_known(list(read))
    opening.ask_terms(list(read))
    opening.ask_runs(names_of(origin))
    opening.ask_words(space, ((memory.state, passages) for memory, passages in read.values()))

    async def job(work: Work) -> int:
        opening.answer(work.opened)
        before = {one: found for one, found in opening.known().items() if found.version == read[one][0].version}
        still = {one: read[one] for one in before}
        if still:
            await _replace(work, space, still, before, opening, origin=origin)
        return len(still)

    return await database.write(job, space=space, opening=opening.asks)


async def _replace(
    work: Work, space: str, read: Read, before: Mapping[str, Known], opening: Opening, *, origin: Origin
) -> None:
    memories = {one: memory for one, (memory, _) in read.items()}
    passages = {one: parts for one, (_, parts) in read.items()}
    numbers = {one: found.number or 0 for one, found in before.items()}
    after = {
        one: replace(before[one], index_key=index_key_of(memory, parts), passages=len(parts))
        for one, (memory, parts) in read.items()
    }
    document, counts, terms = Document(), Counts(space), opening.terms()
    for one, (memory, parts) in read.items():
        counts.remove(before[one].state, terms.get(one, []), before[one].facets)
        counts.add(memory.state, [passage.terms for passage in parts], facets_of(memory))
    counts.put(document, new_words=opening.new_words())
    document.put("revised", memory_rows(memories, after, numbers, indexed=passages))
    document.put("unindexed", list(numbers.values()))
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
    """What the indexes of vectors have to be told: other passages, or other facets."""
    firsts = [passage_id(number, 0) for number in numbers.values()]
    rows = await work.rows(_HASHES, firsts, [first + PASSAGES_PER_MEMORY for first in firsts])
    known = {(int(number), bytes(digest)) for number, digest in rows}
    changes: list[ChangeRow] = []
    for one, (memory, parts) in read.items():
        hashes = {(passage_id(numbers[one], passage.ordinal), passage.hash) for passage in parts}
        found = before[one]
        if len(parts) != found.passages or not hashes <= known or set(facets_of(memory)) != set(found.facets):
            changes.append(ChangeRow(one, Action.EMBEDDED, found.version, found.version, found.passages))
    return changes


_COUNT = f"""SELECT greatest(
    (SELECT count(*) FROM (SELECT 1 FROM scrubjay.memories WHERE shape < {SHAPE} LIMIT %s) AS few),
    (SELECT count(*) FROM (SELECT 1 FROM scrubjay.passages WHERE thread IS NULL LIMIT %s) AS few))"""
_SPACES = f"""SELECT s.name FROM scrubjay.spaces s
    WHERE EXISTS (SELECT 1 FROM scrubjay.memories m WHERE m.space_no = s.no AND m.shape < {SHAPE})
      OR EXISTS (SELECT 1 FROM scrubjay.passages p WHERE p.space_no = s.no AND p.thread IS NULL)
    ORDER BY s.no"""
_OLD = f"""SELECT m.no, m.id, m.version, m.last_accessed, m.access_count, {BODY_COLUMNS} FROM {MEMORY_TABLES}
    WHERE m.space_no = scrubjay.here() AND m.no = ANY(ARRAY(
      SELECT no FROM scrubjay.memories WHERE space_no = scrubjay.here() AND shape < {SHAPE} AND no > %s
      UNION SELECT id / 65536 FROM scrubjay.passages WHERE space_no = scrubjay.here() AND thread IS NULL AND id >= %s
      ORDER BY 1 LIMIT %s)) ORDER BY m.no"""
_HASHES = """SELECT p.id, p.hash FROM unnest(%s::bigint[], %s::bigint[]) AS r(low, high)
    JOIN scrubjay.passages p ON p.space_no = scrubjay.here() AND p.id >= r.low AND p.id < r.high"""
