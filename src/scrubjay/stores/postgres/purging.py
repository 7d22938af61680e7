"""Purging: no table holds a word of what was purged, and no dictionary that was learned from it stays."""

import asyncio
from collections.abc import Sequence
from contextlib import suppress

from scrubjay.errors import BodyDamaged
from scrubjay.model.change import Action, Origin
from scrubjay.model.memory import Memory
from scrubjay.model.moment import to_micros
from scrubjay.stores.packing import BATCH
from scrubjay.stores.postgres.asking import Ask, Rows, Work
from scrubjay.stores.postgres.bodies import NEWEST_DICTIONARY, Bodies
from scrubjay.stores.postgres.bulk import Column, together, update
from scrubjay.stores.postgres.counting import Counts
from scrubjay.stores.postgres.database import Database
from scrubjay.stores.postgres.keeping import Document, change_rows
from scrubjay.stores.postgres.lining import BODY_COLUMNS, Body, encoded_of, linked
from scrubjay.stores.postgres.opening import Opening
from scrubjay.stores.postgres.papers import drop_papers_about
from scrubjay.stores.postgres.planning import ChangeRow, Known
from scrubjay.stores.postgres.reserving import reserve, sizes_of, sum_of
from scrubjay.stores.postgres.runs import names_of, runs_of
from scrubjay.text.passages import passages_of

_HERE = "space_no = scrubjay.here()"
_PACKED = (
    Column("memory_no", "bigint"), Column("number", "integer"), Column("encoding", "smallint"),
    Column("dictionary", "integer"), Column("sha256", "bytea"), Column("size", "integer"), Column("body", "bytea"),
)  # fmt: skip


async def purge(database: Database, space: str, ids: Sequence[str], *, origin: Origin, bodies: Bodies) -> int:
    """Delete memories with all their versions, and mark the dictionaries that may hold their words."""
    opening = Opening()
    opening.ask_known(ids)
    opening.ask_terms(ids)
    opening.ask_runs(names_of(origin))

    async def job(work: Work) -> int:
        opening.answer(work.opened)
        known = opening.known()
        if known:
            await _purge(work, space, known, opening, origin=origin, bodies=bodies)
        return len(known)

    return await database.write(job, space=space, opening=opening.asks)


async def repack(database: Database, space: str, bodies: Bodies, *, after: tuple[int, int]) -> tuple[int, int] | None:
    """Repack a batch of bodies that are flagged or need a tainted dictionary; returns where to go on, if at all."""

    async def job(work: Work) -> tuple[int, int] | None:
        rows = await work.rows(_UNFIT, *after, BATCH)
        old = [Body(encoded_of(packed), "", number, memory_no) for memory_no, number, *packed in rows]
        if not old:
            return None
        await bodies.load_within(work, old)
        readable = [(body, plain) for body in old if (plain := bodies.plain(body)) is not None]
        fresh = await bodies.repack(work, [plain for _, plain in readable], newest=work.opened[0])
        changed = [
            (body.memory_no, body.version, one.encoding, one.dictionary, one.sha256, one.size, one.data)
            for (body, _), one in zip(readable, fresh, strict=True)
        ]
        if changed:
            await work.run(update("versions", _PACKED, changed, keys=2))
        # What cannot be read now never can, with or without its dictionary, which may hold words that were purged.
        known = {(body.memory_no, body.version) for body, _ in readable}
        lost = [body for body in old if (body.memory_no, body.version) not in known]
        if lost:
            await work.do(_FORGET_DICTIONARY, [one.memory_no for one in lost], [one.version for one in lost])
        more = sizes_of(fresh)
        less = sizes_of([body.encoded for body, _ in readable], sign=-1)
        await reserve(work, sum_of(more, less), changes=0, memories=0, runs=0)
        return rows[-1][0], rows[-1][1]

    return await database.write(job, space=space, opening=[NEWEST_DICTIONARY])


async def finish(database: Database, space: str, *, purges: int) -> list[int]:
    """Drop tainted dictionaries that no body needs any more, and note that nothing is left of so many purges."""

    async def job(work: Work) -> Rows:
        gone = await work.rows(_DROP_TAINTED)
        await work.do(f"UPDATE scrubjay.ledgers SET cleaned = greatest(cleaned, %s) WHERE {_HERE}", purges)
        return gone

    return [int(row[0]) for row in await database.write(job, space=space)]


async def unclean(database: Database) -> list[tuple[str, int]]:
    """Spaces where a purge was cut off, or is under way, before its words were gone; and how many purges they had."""
    rows = await database.rows(
        """SELECT s.name, l.purges FROM scrubjay.ledgers l JOIN scrubjay.spaces s ON s.no = l.space_no
           WHERE l.purges <> l.cleaned""",
        keeper=True,
    )
    return [(str(name), int(purges)) for name, purges in rows]


async def unfit(database: Database) -> list[str]:
    """Spaces with bodies that are flagged or need a tainted dictionary."""
    rows = await database.rows(
        """SELECT name FROM scrubjay.spaces WHERE no IN (
             SELECT space_no FROM scrubjay.dictionaries WHERE tainted
             UNION SELECT space_no FROM scrubjay.ledgers WHERE flagged_bodies > 0)""",
        keeper=True,
    )
    return [str(row[0]) for row in rows]


async def _purge(
    work: Work, space: str, known: dict[str, Known], opening: Opening, *, origin: Origin, bodies: Bodies
) -> None:
    numbers = {one: found.number or 0 for one, found in known.items()}
    gone = list(numbers.values())
    rows = await work.rows(_EVERY_VERSION, gone)
    old = linked([Body(encoded_of(packed), "", number, no) for no, number, *packed in rows])
    await bodies.load_within(work, old)
    hashes = await asyncio.to_thread(_hashes, bodies, old)
    # Who did it is written after what earlier runs have answered is gone.
    await work.run(together([Ask(statement, [gone] * statement.count("%s")) for statement in _ERASE]))
    changes = [
        ChangeRow(one, Action.PURGED, found.version, found.version, found.passages) for one, found in known.items()
    ]
    runs = runs_of(origin, opening.rows("runs"))
    sizes = sizes_of([body.encoded for body in old], sign=-1)
    reserved = await reserve(work, sizes, changes=len(changes), memories=0, runs=len(runs.fresh))
    runs.take_numbers(reserved.runs)
    document, counts, terms = Document(), Counts(space), opening.terms()
    for one, found in known.items():
        counts.remove(found.state, terms.get(one, []), found.facets)
    counts.put(document)
    runs.put(document, last_seq=max(reserved.seqs))
    entries = change_rows(
        changes, numbers, seqs=reserved.seqs, last_place=reserved.last_place, run_no=runs.number,
        at=to_micros(origin.at),
    )  # fmt: skip
    document.put("changes", entries)
    document.put("unindexed", gone)
    await document.write(work)
    await work.do(_DROP_VECTORS, hashes)
    await drop_papers_about(work, list(known))
    await work.do(_TAINT)
    await work.do(f"UPDATE scrubjay.ledgers SET purges = purges + 1 WHERE {_HERE}")


def _hashes(bodies: Bodies, old: Sequence[Body]) -> list[bytes]:
    """What was ever embedded of memories: earlier texts have vectors too."""
    found: dict[bytes, None] = {}
    for body in old:
        memory = _readable(bodies, body)
        if memory is not None:
            found |= dict.fromkeys(passage.hash for passage in passages_of(memory))
    return list(found)


def _readable(bodies: Bodies, body: Body) -> Memory | None:
    with suppress(BodyDamaged):
        return bodies.unpack(body, space="")
    return None


_OF = "memory_no = ANY(%s::bigint[])"
_EVERY_VERSION = f"""SELECT v.memory_no, v.number, {BODY_COLUMNS} FROM scrubjay.versions v
    WHERE v.{_HERE} AND {_OF} ORDER BY v.memory_no, v.number DESC"""
_ERASE = (
    # What moved here from another store is known by its versions: the log does not tell of what was before.
    f"""DELETE FROM scrubjay.once WHERE {_HERE}
        AND run_no IN (SELECT run_no FROM scrubjay.changes WHERE {_HERE} AND {_OF}
          UNION SELECT run_no FROM scrubjay.versions WHERE {_HERE} AND {_OF})""",
    f"""UPDATE scrubjay.changes SET relation = NULL WHERE {_HERE} AND relation IS NOT NULL
        AND ({_OF} OR target_no = ANY(%s::bigint[]))""",
    f"""DELETE FROM scrubjay.relations WHERE {_HERE}
        AND (source_no = ANY(%s::bigint[]) OR target_no = ANY(%s::bigint[]))""",
    f"DELETE FROM scrubjay.versions WHERE {_HERE} AND {_OF}",
    f"DELETE FROM scrubjay.contents WHERE {_HERE} AND {_OF}",
    f"DELETE FROM scrubjay.memories WHERE {_HERE} AND no = ANY(%s::bigint[])",
)
_DROP_VECTORS = f"""DELETE FROM scrubjay.vectors v WHERE v.{_HERE} AND v.hash = ANY(%s::bytea[])
    AND v.model_no IN (SELECT no FROM scrubjay.models)
    AND NOT EXISTS (SELECT 1 FROM scrubjay.passages p WHERE p.space_no = v.space_no AND p.hash = v.hash)"""
_TAINT = f"UPDATE scrubjay.dictionaries SET tainted = true WHERE {_HERE}"
_DROP_TAINTED = f"""DELETE FROM scrubjay.dictionaries d WHERE d.{_HERE} AND d.tainted AND NOT EXISTS (
      SELECT 1 FROM scrubjay.versions v WHERE v.space_no = d.space_no AND v.dictionary = d.no) RETURNING d.no"""
_UNFIT = f"""SELECT v.memory_no, v.number, {BODY_COLUMNS} FROM scrubjay.versions v
    WHERE v.{_HERE} AND (v.memory_no, v.number) > (%s, %s) AND (v.encoding = 2 OR v.dictionary IN (
      SELECT no FROM scrubjay.dictionaries WHERE {_HERE} AND tainted))
    ORDER BY v.memory_no, v.number LIMIT %s"""
_FORGET_DICTIONARY = f"""UPDATE scrubjay.versions v SET dictionary = 0
    FROM unnest(%s::bigint[], %s::integer[]) AS k(memory_no, number)
    WHERE v.{_HERE} AND v.memory_no = k.memory_no AND v.number = k.number"""
