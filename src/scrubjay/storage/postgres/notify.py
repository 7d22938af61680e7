"""Waking others: a commit rings a bell that every server of the database hears, so that none has to keep asking."""

import asyncio
from collections.abc import AsyncGenerator, Callable
from contextlib import asynccontextmanager, suppress

import psycopg

from scrubjay.errors import StoreError
from scrubjay.storage.postgres.address import Address
from scrubjay.storage.postgres.database import Database
from scrubjay.storage.postgres.schema import connect

_CHANNEL = "scrubjay"
_PURGED = "purged"
# Whoever notifies holds up all others who do until it has committed. So the bell is no part of a commit: it is rung
# beside, once for all that was committed in this time.
_GATHERED = 0.02
_HEARTBEAT = 30.0
_FIRST_NAP, _LONGEST_NAP = 0.1, 5.0


class CommitNotifier:
    """Rings after commits. It says nothing of what has changed: everybody may listen."""

    def __init__(self, database: Database) -> None:
        self._database = database
        self._task: asyncio.Task[None] | None = None
        self._has_purged = False
        self._is_due = False

    def ring(self, *, purged: bool = False) -> None:
        """Let others know, soon, that there is something new in the log, and whether something is gone for good."""
        self._has_purged |= purged
        self._is_due = True
        if self._task is None or self._task.done():
            self._task = asyncio.create_task(self._ring())

    async def settle(self) -> None:
        """Wait until it has rung."""
        if self._task is not None:
            await asyncio.gather(self._task, return_exceptions=True)

    async def _ring(self) -> None:
        # Somebody may want it rung while it is being rung.
        while self._is_due:
            await asyncio.sleep(_GATHERED)
            self._is_due = False
            said, self._has_purged = _PURGED if self._has_purged else "", False
            try:
                await self._database.rows("SELECT pg_notify(%s, %s)", _CHANNEL, said)
            except StoreError:
                # Whoever listens also looks by itself now and then; of a purge it is told with the next ring.
                self._has_purged |= said == _PURGED


@asynccontextmanager
async def listening(
    address: Address, hear: Callable[[], None], *, purged: Callable[[], None] = lambda: None
) -> AsyncGenerator[None]:
    """Call `hear` whenever somebody has committed something, and whenever that may have been missed; so `purged`."""
    task = asyncio.create_task(_listen(address, hear, purged))
    try:
        yield
    finally:
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)


async def _listen(address: Address, hear: Callable[[], None], purged: Callable[[], None]) -> None:
    nap = _FIRST_NAP
    while True:
        with suppress(psycopg.Error, TimeoutError):
            async with await connect(address.direct, address) as connection:
                await connection.execute(f"LISTEN {_CHANNEL}")
                nap = _FIRST_NAP
                # While nobody listened the bell may have rung.
                purged()
                hear()
                while True:
                    async for rung in connection.notifies(timeout=_HEARTBEAT):
                        if rung.payload == _PURGED:
                            purged()
                        hear()
                    async with asyncio.timeout(address.patience):
                        await connection.execute("SELECT 1")
        await asyncio.sleep(nap)
        nap = min(2 * nap, _LONGEST_NAP)
