"""Compression dictionaries: trained as a space grows, and again after a purge."""

import asyncio
from collections.abc import Coroutine
from contextlib import suppress

from scrubjay.errors import StoreError
from scrubjay.storage.codec import train
from scrubjay.storage.postgres import purge
from scrubjay.storage.postgres.bodies import Bodies
from scrubjay.storage.postgres.database import Database
from scrubjay.storage.postgres.query import Ask

# The numbers of changes at which to refresh the planner's statistics; autovacuum is in time for later growth.
_MILESTONES = tuple(64 * 4**power for power in range(7))
_PATIENT = 300


class Training:
    """The background work on bodies."""

    def __init__(self, database: Database, bodies: Bodies) -> None:
        self._database = database
        self._bodies = bodies
        self._tasks: set[asyncio.Task[None]] = set()
        self._learning: asyncio.Task[None] | None = None
        # Spaces whose bodies are too similar to train on; tried again when the store is next opened.
        self._unteachable: set[str] = set()

    def soon(self, space: str, *, due: bool) -> None:
        """Train a dictionary for a space in the background, one at a time."""
        is_learning = self._learning is not None and not self._learning.done()
        if due and not is_learning and space not in self._unteachable:
            self._learning = self._begin(self.learn(space))

    def look_soon(self, first: int, last: int) -> None:
        """Refresh the planner's statistics in the background after these changes, if the tables have grown much."""
        if any(first <= milestone <= last for milestone in _MILESTONES):
            self._begin(self._look())

    async def learn(self, space: str) -> None:
        """Train a dictionary on the bodies of a space and store it."""
        samples, purges = await self._bodies.plain_samples(space)
        trained = await asyncio.to_thread(train, samples, number=0)
        if trained is None:
            self._unteachable.add(space)
            return
        await self._bodies.keep_dictionary(space, trained.data, learned_after=purges)

    async def clean(self, space: str) -> None:
        """Remove purged words from the dictionaries of a space."""
        purges = dict(await purge.unclean(self._database)).get(space, 0)
        await self._repack(space, purges=purges, retrain=True)

    async def tidy(self) -> list[str]:
        """Complete interrupted purges, and repack flagged bodies."""
        done: list[str] = []
        for space, _ in await purge.unclean(self._database):
            await self.clean(space)
            done.append("finished a purge that was cut off")
        unfit = await purge.unfit(self._database)
        for space in unfit:
            await self._repack(space, purges=0, retrain=False)
        if unfit:
            done.append("packed bodies anew that were flagged, or whose dictionary a purge had marked")
        return done

    async def settle(self) -> None:
        """Wait for the background work."""
        if self._tasks:
            await asyncio.gather(*self._tasks, return_exceptions=True)

    def _begin(self, work: Coroutine[None, None, None]) -> asyncio.Task[None]:
        task = asyncio.create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
        return task

    async def _look(self) -> None:
        # Autovacuum refreshes them later.
        with suppress(StoreError):
            await self._database.read(Ask("SELECT scrubjay.analyze_tables()"), keeper=True, seconds=_PATIENT)

    async def _repack(self, space: str, *, purges: int, retrain: bool) -> None:
        # The new dictionary first, so that the bodies are packed once.
        if retrain and await self._bodies.has_dictionary(space):
            await self.learn(space)
        after: tuple[int, int] | None = (0, 0)
        while after is not None:
            after = await purge.repack(self._database, space, self._bodies, after=after)
        deleted = await purge.finish(self._database, space, purges=purges)
        self._bodies.forget(deleted)
