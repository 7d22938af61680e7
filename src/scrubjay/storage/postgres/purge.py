"""Purging: no table keeps a word of a purged memory, and no dictionary that was trained on it stays."""

import asyncio
from collections.abc import Sequence
from contextlib import suppress

from scrubjay.errors import BodyDamaged
from scrubjay.model.change import Action, Origin
from scrubjay.model.memory import Memory
from scrubjay.model.timestamps import to_micros
from scrubjay.storage.body_cache import BATCH
from scrubjay.storage.postgres.bodies import NEWEST_DICTIONARY, Bodies
from scrubjay.storage.postgres.commit.counts import Counts
from scrubjay.storage.postgres.commit.ids import reserve, sizes_of, sum_of
from scrubjay.storage.postgres.commit.plan import ChangeRow, Known
from scrubjay.storage.postgres.commit.read import Opening
from scrubjay.storage.postgres.commit.rows import RowBatch, change_rows
from scrubjay.storage.postgres.commit.runs import names_of, runs_of
from scrubjay.storage.postgres.database import Database
from scrubjay.storage.postgres.delta_chains import Body, encoded_of, linked
from scrubjay.storage.postgres.documents import drop_documents_about
from scrubjay.storage.postgres.query import Rows, Work
from scrubjay.storage.postgres.sql_files import named_statements
from scrubjay.text.passages import passages_of

_SQL = named_statements("queries/purge")


async def purge(database: Database, space: str, ids: Sequence[str], *, origin: Origin, bodies: Bodies) -> int:
    """Delete memories with all their versions, and taint the dictionaries that may contain their words."""
    opening = Opening()
    opening.ask_known(ids)
    opening.ask_terms(ids)
    opening.ask_runs(names_of(origin))

    async def job(work: Work) -> int:
        opening.answer(work.opened)
        stored = opening.known()
        if stored:
            await _purge(work, space, stored, opening, origin=origin, bodies=bodies)
        return len(stored)

    return await database.write(job, space=space, opening=opening.asks)


async def repack(database: Database, space: str, bodies: Bodies, *, after: tuple[int, int]) -> tuple[int, int] | None:
    """Repack a batch of bodies that are flagged or need a tainted dictionary; returns where to continue, if at all."""

    async def job(work: Work) -> tuple[int, int] | None:
        rows = await work.rows(_SQL["versions_to_repack"], *after, BATCH)
        old = [Body(encoded_of(packed), "", number, memory_no) for memory_no, number, *packed in rows]
        if not old:
            return None
        await bodies.load_within(work, old)
        readable = [(body, plain) for body in old if (plain := bodies.plain(body)) is not None]
        repacked = await bodies.repack(work, [plain for _, plain in readable], newest=work.opened[0])
        rows_to_update = [
            (body.memory_no, body.version, packed.encoding, packed.dictionary, packed.sha256, packed.size, packed.data)
            for (body, _), packed in zip(readable, repacked, strict=True)
        ]
        if rows_to_update:
            await work.do(_SQL["repack_versions"], *map(list, zip(*rows_to_update, strict=True)))
        # A damaged body cannot be read with its dictionary either, and the dictionary may contain purged words.
        intact = {(body.memory_no, body.version) for body, _ in readable}
        damaged = [body for body in old if (body.memory_no, body.version) not in intact]
        if damaged:
            numbers, versions = [body.memory_no for body in damaged], [body.version for body in damaged]
            await work.do(_SQL["forget_dictionaries"], numbers, versions)
        more = sizes_of(repacked)
        less = sizes_of([body.encoded for body, _ in readable], sign=-1)
        await reserve(work, sum_of(more, less), changes=0, memories=0, runs=0)
        return rows[-1][0], rows[-1][1]

    return await database.write(job, space=space, opening=[NEWEST_DICTIONARY])


async def finish(database: Database, space: str, *, purges: int) -> list[int]:
    """Delete tainted dictionaries that no body needs, and record that so many purges are complete."""

    async def job(work: Work) -> Rows:
        deleted = await work.rows(_SQL["delete_tainted_dictionaries"])
        await work.do(_SQL["mark_cleaned"], purges)
        return deleted

    return [int(row[0]) for row in await database.write(job, space=space)]


async def unclean(database: Database) -> list[tuple[str, int]]:
    """Return the spaces with a purge that is incomplete or in progress, and the number of their purges."""
    rows = await database.rows(_SQL["spaces_to_clean"], keeper=True)
    return [(str(name), int(purges)) for name, purges in rows]


async def unfit(database: Database) -> list[str]:
    """Return the spaces with bodies that are flagged or need a tainted dictionary."""
    rows = await database.rows(_SQL["spaces_to_repack"], keeper=True)
    return [str(row[0]) for row in rows]


async def _purge(
    work: Work, space: str, stored: dict[str, Known], opening: Opening, *, origin: Origin, bodies: Bodies
) -> None:
    numbers = {memory_id: entry.number or 0 for memory_id, entry in stored.items()}
    doomed = list(numbers.values())
    rows = await work.rows(_SQL["all_versions"], doomed)
    old = linked([Body(encoded_of(packed), "", number, no) for no, number, *packed in rows])
    await bodies.load_within(work, old)
    hashes = await asyncio.to_thread(_hashes, bodies, old)
    # This deletes the answers of earlier runs; the run of the purge itself is written after it.
    await work.do(_SQL["erase"], doomed)
    changes = [
        ChangeRow(memory_id, Action.PURGED, entry.version, entry.version, entry.passages)
        for memory_id, entry in stored.items()
    ]
    runs = runs_of(origin, opening.rows("runs"))
    sizes = sizes_of([body.encoded for body in old], sign=-1)
    reserved = await reserve(work, sizes, changes=len(changes), memories=0, runs=len(runs.fresh))
    runs.take_numbers(reserved.runs)
    document, counts, terms = RowBatch(), Counts(space), opening.terms()
    for memory_id, entry in stored.items():
        counts.remove(entry.state, terms.get(memory_id, []), entry.facets)
    counts.put(document)
    runs.put(document, last_seq=max(reserved.seqs))
    entries = change_rows(
        changes, numbers, seqs=reserved.seqs, last_place=reserved.last_place, run_no=runs.number,
        at=to_micros(origin.at),
    )  # fmt: skip
    document.put("changes", entries)
    document.put("unindexed_memories", doomed)
    await document.write(work)
    await work.do(_SQL["delete_vectors"], hashes)
    await drop_documents_about(work, list(stored))
    await work.do(_SQL["taint_dictionaries"])
    await work.do(_SQL["count_purge"])


def _hashes(bodies: Bodies, old: Sequence[Body]) -> list[bytes]:
    """Return the hashes of all texts that any version had: earlier texts have vectors too."""
    hashes: dict[bytes, None] = {}
    for body in old:
        memory = _readable(bodies, body)
        if memory is not None:
            hashes |= dict.fromkeys(passage.hash for passage in passages_of(memory))
    return list(hashes)


def _readable(bodies: Bodies, body: Body) -> Memory | None:
    with suppress(BodyDamaged):
        return bodies.unpack(body, space="")
    return None
