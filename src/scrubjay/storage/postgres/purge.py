"""Purge memories: afterwards no table holds a word of them, and no dictionary that was trained on them."""

import asyncio
from collections.abc import Sequence
from contextlib import suppress

from scrubjay.errors import BodyDamaged
from scrubjay.model.change import Origin
from scrubjay.storage.body_cache import BATCH
from scrubjay.storage.plan import CommitPlan, Counts, Dependencies, IndexEntry, plan_purge, run_names
from scrubjay.storage.postgres.bodies import NEWEST_DICTIONARY, Body, PostgresBodies, add_newer_versions, encoded_of
from scrubjay.storage.postgres.commit import CommitQuery
from scrubjay.storage.postgres.database import Database, Rows, Transaction
from scrubjay.storage.postgres.documents import delete_documents_about
from scrubjay.storage.postgres.tables import RowBatch, reserve, sizes_of, sum_sizes
from scrubjay.storage.rows import canonical_ids
from scrubjay.storage.sql_files import read_statements
from scrubjay.text.passages import passages_of

_SQL = read_statements("postgres/queries/purge")


async def purge(database: Database, space: str, ids: Sequence[str], *, origin: Origin, bodies: PostgresBodies) -> int:
    """Delete memories with all their versions, and taint dictionaries that may hold their words; return how many."""
    query = CommitQuery(Dependencies(memory_ids=canonical_ids(ids)), runs=run_names(origin))
    query.request_terms(ids)

    async def job(transaction: Transaction) -> int:
        query.take_result(transaction)
        plan = plan_purge(ids, query.state(), origin=origin)
        if plan.before:
            await _purge(transaction, space, plan, query, bodies=bodies)
        return len(plan.before)

    return await database.write(job, space=space, prefetch=query.queries)


async def repack(
    database: Database, space: str, bodies: PostgresBodies, *, after: tuple[int, int]
) -> tuple[int, int] | None:
    """Repack a batch of bodies that are flagged or need a tainted dictionary; returns where to continue, if at all."""

    async def job(transaction: Transaction) -> tuple[int, int] | None:
        rows = await transaction.rows(_SQL["versions_to_repack"], *after, BATCH)
        old = [Body(encoded_of(packed), "", number, memory_no) for memory_no, number, *packed in rows]
        if not old:
            return None
        await bodies.load_dictionaries(transaction, old)
        readable = [(body, plain) for body in old if (plain := bodies.plain(body)) is not None]
        repacked = await bodies.repack(transaction, [plain for _, plain in readable], newest=transaction.prefetched[0])
        rows_to_update = [
            (body.memory_no, body.version, packed.encoding, packed.dictionary, packed.sha256, packed.size, packed.data)
            for (body, _), packed in zip(readable, repacked, strict=True)
        ]
        if rows_to_update:
            await transaction.execute(_SQL["repack_versions"], *map(list, zip(*rows_to_update, strict=True)))
        # A damaged body cannot be read with its dictionary either, and the dictionary may contain purged words.
        intact = {(body.memory_no, body.version) for body, _ in readable}
        damaged = [body for body in old if (body.memory_no, body.version) not in intact]
        if damaged:
            numbers, versions = [body.memory_no for body in damaged], [body.version for body in damaged]
            await transaction.execute(_SQL["forget_dictionaries"], numbers, versions)
        added = sizes_of(repacked)
        removed = sizes_of([body.encoded for body, _ in readable], sign=-1)
        await reserve(transaction, sum_sizes(added, removed), changes=0, memories=0, runs=0)
        return rows[-1][0], rows[-1][1]

    return await database.write(job, space=space, prefetch=[NEWEST_DICTIONARY])


async def finish(database: Database, space: str, *, purges: int) -> list[int]:
    """Delete tainted dictionaries that no body needs, and record that so many purges are complete."""

    async def job(transaction: Transaction) -> Rows:
        deleted = await transaction.rows(_SQL["delete_tainted_dictionaries"])
        await transaction.execute(_SQL["mark_cleaned"], purges)
        return deleted

    return [int(row[0]) for row in await database.write(job, space=space)]


async def unclean_spaces(database: Database) -> list[tuple[str, int]]:
    """Return the spaces with a purge that is incomplete or in progress, and the number of their purges."""
    rows = await database.rows(_SQL["spaces_to_clean"], unrestricted=True)
    return [(str(name), int(purges)) for name, purges in rows]


async def spaces_to_repack(database: Database) -> list[str]:
    """Return the spaces with bodies that are flagged or need a tainted dictionary."""
    rows = await database.rows(_SQL["spaces_to_repack"], unrestricted=True)
    return [str(row[0]) for row in rows]


async def _purge(
    transaction: Transaction, space: str, plan: CommitPlan, query: CommitQuery, *, bodies: PostgresBodies
) -> None:
    numbers = {memory_id: stored.number or 0 for memory_id, stored in plan.before.items()}
    doomed = list(numbers.values())
    rows = await transaction.rows(_SQL["all_versions"], doomed)
    old = add_newer_versions([Body(encoded_of(packed), "", number, no) for no, number, *packed in rows])
    await bodies.load_dictionaries(transaction, old)
    hashes = await asyncio.to_thread(_hashes, bodies, old)
    # This deletes the answers of earlier runs; the run of the purge itself is written after it.
    await transaction.execute(_SQL["erase"], doomed)
    counts, texts = Counts(), query.texts()
    for memory_id, stored in plan.before.items():
        counts.replace(IndexEntry(stored.state, stored.facets, texts.get(memory_id, ())), None)
    runs = query.runs(plan.origin)
    sizes = sizes_of([body.encoded for body in old], sign=-1)
    reserved = await reserve(transaction, sizes, changes=len(plan.changes), memories=0, runs=len(runs.new))
    runs.numbers |= dict(zip(runs.new, reserved.runs, strict=True))
    batch = RowBatch()
    batch.put_counts(counts, space=space)
    batch.put_log(plan, numbers, runs, reserved)
    batch.put("unindexed_memories", doomed)
    await batch.write(transaction)
    await transaction.execute(_SQL["delete_vectors"], hashes)
    await delete_documents_about(transaction, list(plan.before))
    await transaction.execute(_SQL["taint_dictionaries"])
    await transaction.execute(_SQL["count_purge"])


def _hashes(bodies: PostgresBodies, old: Sequence[Body]) -> list[bytes]:
    """Return the hashes of all texts that any version had: earlier texts have vectors too."""
    hashes: dict[bytes, None] = {}
    for body in old:
        with suppress(BodyDamaged):
            memory = bodies.unpack(body, space="")
            hashes |= dict.fromkeys(passage.hash for passage in passages_of(memory))
    return list(hashes)
