"""Upkeep: statistics, checks, and the background work on bodies and passages."""

import asyncio
import sys
from collections.abc import AsyncIterator, Coroutine, Sequence
from contextlib import suppress

from scrubjay.errors import BodyDamaged, StoreError
from scrubjay.ports import BodyCheck, DamagedBody, Footprint, StoreStatistics
from scrubjay.storage.body_cache import BATCH
from scrubjay.storage.codec import train
from scrubjay.storage.postgres import purge, reindex
from scrubjay.storage.postgres.bodies import Body, PostgresBodies, encoded_of
from scrubjay.storage.postgres.database import Database, Row, SqlQuery
from scrubjay.storage.rows import STATES, canonical_ids
from scrubjay.storage.sql_files import read_statements

Details = dict[str, str | int | float | bool]
_SQL = read_statements("postgres/queries/upkeep")
_MAX_PROBLEMS = 50
# Checks that read every row take long.
_CHECK_SECONDS = 600
_ANALYZE_SECONDS = 300
# The numbers of changes at which to refresh the planner's statistics; autovacuum is in time for later growth.
_ANALYZE_AT = tuple(64 * 4**power for power in range(7))


class PostgresUpkeep:
    """Trains dictionaries, finishes purges, and indexes memories of an older passage format again."""

    def __init__(self, database: Database, bodies: PostgresBodies) -> None:
        self._database = database
        self._bodies = bodies
        self._tasks: set[asyncio.Task[None]] = set()
        self._training: asyncio.Task[None] | None = None
        # Spaces whose bodies are too similar to train a dictionary: not tried again until the store is reopened.
        self._untrainable: set[str] = set()

    def train_soon(self, space: str, *, due: bool) -> None:
        """Train a dictionary for a space in the background, one at a time."""
        is_training = self._training is not None and not self._training.done()
        if due and not is_training and space not in self._untrainable:
            self._training = self._start(self._train(space, only_if_due=True))

    def analyze_soon(self, first: int, last: int) -> None:
        """Refresh the planner's statistics in the background after these changes, if the tables have grown much."""

        async def analyze() -> None:
            # If it fails, autovacuum refreshes them later.
            with suppress(StoreError):
                query = SqlQuery("SELECT scrubjay.analyze_tables()")
                await self._database.read(query, unrestricted=True, seconds=_ANALYZE_SECONDS)

        if any(first <= number <= last for number in _ANALYZE_AT):
            self._start(analyze())

    async def clean(self, space: str) -> None:
        """Remove purged words from the dictionaries of a space."""
        purges = dict(await purge.unclean_spaces(self._database)).get(space, 0)
        await self._repack(space, purges=purges, retrain=True)

    async def tidy(self) -> list[str]:
        """Do all upkeep that is due; return a sentence for each thing done."""
        done: list[str] = []
        for space, _ in await purge.unclean_spaces(self._database):
            await self.clean(space)
            done.append("completed an interrupted purge")
        to_repack = await purge.spaces_to_repack(self._database)
        for space in to_repack:
            await self._repack(space, purges=0, retrain=False)
        if to_repack:
            done.append("repacked bodies that were flagged, or whose dictionary a purge had tainted")
        if count := await reindex.reindex_all(self._database, self._bodies):
            done.append(f"indexed {count} memories of an older passage format again")
        return done

    async def wait(self) -> None:
        """Wait for the background work."""
        if self._tasks:
            await asyncio.gather(*self._tasks, return_exceptions=True)

    def _start(self, work: Coroutine[None, None, None]) -> asyncio.Task[None]:
        task = asyncio.create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
        return task

    async def _train(self, space: str, *, only_if_due: bool) -> None:
        samples, purges = await self._bodies.samples(space)
        trained = await asyncio.to_thread(train, samples, number=0)
        if trained is None:
            self._untrainable.add(space)
            return
        await self._bodies.store_dictionary(space, trained.data, purges_before=purges, only_if_due=only_if_due)

    async def _repack(self, space: str, *, purges: int, retrain: bool) -> None:
        # The new dictionary first, so that the bodies are packed once.
        if retrain and await self._bodies.has_dictionary(space):
            await self._train(space, only_if_due=False)
        after: tuple[int, int] | None = (0, 0)
        while after is not None:
            after = await purge.repack(self._database, space, self._bodies, after=after)
        deleted = await purge.finish(self._database, space, purges=purges)
        self._bodies.forget(deleted)


async def statistics(database: Database, space: str) -> StoreStatistics:
    """Return the counts of one space and the sizes of the whole store."""
    states, versions, relations, vectors, facets = await database.read(
        *_queries("memories_by_state", "versions", "relations", "vectors_by_model", "facets"), space=space
    )
    totals, details, unprotected, inherits = await database.read(
        *_queries("store_totals", "server_details", "unprotected_tables", "login_inherits_keeper"), unrestricted=True
    )
    is_protected = not unprotected and not inherits[0][0]
    body_bytes, stored_bytes, raw, flagged = (int(value) for value in totals[0])
    return StoreStatistics(
        memories={STATES[int(number)].value: int(count) for number, count in states},
        versions=int(versions[0][0]) if versions else 0,
        relations=int(relations[0][0]),
        body_bytes=body_bytes,
        stored_bytes=stored_bytes,
        raw_bodies=raw,
        flagged_bodies=flagged,
        vectors={str(name): int(count) for name, count in vectors},
        facets={str(facet): int(count) for facet, count in facets},
        details=_details(database, details[0], is_protected=is_protected),
    )


async def footprint(database: Database, space: str) -> Footprint:
    """Return the counts of one space, and the totals of the store."""
    (states,) = await database.read(*_queries("memories_by_state"), space=space)
    totals, size = await database.read(*_queries("store_totals", "database_bytes"), unrestricted=True)
    return Footprint(
        memories={STATES[int(number)].value: int(count) for number, count in states}, body_bytes=int(totals[0][0]),
        stored_bytes=int(totals[0][1]), store_bytes=int(size[0][0]),
    )  # fmt: skip


async def check(database: Database, *, deep: bool, bodies: PostgresBodies) -> list[str]:
    """Return the problems of the database; with `deep`, read every body."""
    queries = _queries("unprotected_tables", "invalid_indexes", "login_inherits_keeper")
    unprotected, invalid, inherits = await database.read(*queries, unrestricted=True, seconds=_CHECK_SECONDS)
    problems = [f"row-level security is off for the table {row[0]}" for row in unprotected]
    problems += [f"the index {row[0]} is not valid: REINDEX INDEX {row[0]}" for row in invalid]
    if inherits[0][0]:
        problems.append(
            "the role of the server inherits the rights of scrubjay_keeper, and so sees every space: "
            "GRANT scrubjay_keeper TO it WITH INHERIT FALSE, SET TRUE"
        )
    if deep:
        queries = _queries("memories_without_body", "memories_with_wrong_passages")
        ((without_body,),), ((with_wrong_passages,),) = await database.read(
            *queries, unrestricted=True, seconds=_CHECK_SECONDS
        )
        if without_body:
            problems.append(f"{without_body} memories have no body")
        if with_wrong_passages:
            problems.append(f"{with_wrong_passages} memories have another number of passages than they should")
        problems += [str(body) async for body in damaged_bodies(database, bodies, most=_MAX_PROBLEMS)]
    return problems


async def check_bodies(database: Database, space: str, ids: Sequence[str], *, bodies: PostgresBodies) -> BodyCheck:
    """Read every version of some memories."""
    rows = await database.rows(_SQL["bodies_of"], canonical_ids(ids), space=space)
    return BodyCheck(read=len(rows), damaged=tuple(await _damaged_in_page(bodies, space, rows)))


async def damaged_bodies(
    database: Database, bodies: PostgresBodies, *, most: int = sys.maxsize
) -> AsyncIterator[DamagedBody]:
    """Read every body, and yield the damaged ones, up to a number."""
    count = 0
    spaces = await database.rows("SELECT name FROM scrubjay.spaces ORDER BY no", unrestricted=True)
    for (space,) in spaces:
        after = (0, 0)
        while rows := await database.rows(_SQL["bodies"], *after, BATCH, space=str(space)):
            after = (rows[-1][0], rows[-1][1])
            for body in await _damaged_in_page(bodies, str(space), rows):
                yield body
                count += 1
                if count == most:
                    return


def _queries(*names: str) -> list[SqlQuery]:
    return [SqlQuery(_SQL[name]) for name in names]


async def _damaged_in_page(bodies: PostgresBodies, space: str, rows: Sequence[Row]) -> list[DamagedBody]:
    loaded = await bodies.load(
        space, [Body(encoded_of(packed), str(memory_id), number, no) for no, number, memory_id, *packed in rows]
    )

    def unpack() -> list[DamagedBody]:
        damaged: list[DamagedBody] = []
        # Newest first, since older ones are stored as differences from newer ones.
        for body in reversed(loaded):
            try:
                bodies.unpack(body, space=space)
            except BodyDamaged as error:
                damaged.append(DamagedBody(memory_id=body.memory_id, version=body.version, why=error.message))
        return damaged[::-1]

    return await asyncio.to_thread(unpack)


def _details(database: Database, row: Row, *, is_protected: bool) -> Details:
    size, version, extension, schema, partitions = row
    return {
        "backend": "postgresql",
        "server": database.address.shown,
        "bytes": int(size),
        "schema": int(schema),
        "partitions": int(partitions),
        "postgresql": str(version),
        "pgvector": str(extension or ""),
        "connections": database.in_use,
        "connections_at_most": database.address.connections,
        "walls": "in order" if is_protected else "broken",
    }
