"""Several servers on one database: notifications of commits, one leader, and shared rate limits."""

import asyncio
import time
import zlib
from collections.abc import AsyncGenerator, Callable
from contextlib import asynccontextmanager, suppress
from typing import LiteralString, cast

import psycopg

from scrubjay.cancelling import cancel
from scrubjay.errors import StoreError
from scrubjay.ports.cluster import LeadershipCandidate, Lease
from scrubjay.storage.postgres.connection import Address, connect
from scrubjay.storage.postgres.database import Database
from scrubjay.storage.postgres.rows import digest_of
from scrubjay.storage.sql_files import read_statements

_SQL = read_statements("postgres/queries/rate_limits")
_CHANNEL = "scrubjay"
_PURGED = "purged"
# A transaction that notifies makes all others that do wait until it has committed. So a notification is not part of a
# commit: one follows for all commits of this time.
_BATCH_SECONDS = 0.02
_HEARTBEAT = 30.0
_FIRST_PAUSE, _MAX_PAUSE = 0.1, 5.0
_LOCKS = 0x534A_0003
_LEADER_SECONDS = 5.0
# How long the server waits for the next heartbeat of a leader whose machine may have gone down.
_MAX_SILENCE = 30.0
_SWEEP_SECONDS = 600.0


class CommitNotifier:
    """Notifies all servers after commits. A notification does not say what has changed: every login may listen."""

    def __init__(self, database: Database) -> None:
        self._database = database
        self._task: asyncio.Task[None] | None = None
        self._has_purged = False
        self._is_due = False

    def notify(self, *, purged: bool = False) -> None:
        """Notify the other servers soon that the log has new entries, and whether a purge is among them."""
        self._has_purged |= purged
        self._is_due = True
        if self._task is None or self._task.done():
            self._task = asyncio.create_task(self._notify())

    async def wait(self) -> None:
        """Wait until the notification is sent."""
        if self._task is not None:
            await asyncio.gather(self._task, return_exceptions=True)

    async def _notify(self) -> None:
        # Another commit may follow while the notification is being sent.
        while self._is_due:
            await asyncio.sleep(_BATCH_SECONDS)
            self._is_due = False
            payload, self._has_purged = _PURGED if self._has_purged else "", False
            try:
                await self._database.rows("SELECT pg_notify(%s, %s)", _CHANNEL, payload)
            except StoreError:
                # Listeners also read the log at intervals; the next notification reports the purge.
                self._has_purged |= payload == _PURGED


@asynccontextmanager
async def listening(
    address: Address, hear: Callable[[], None], *, purged: Callable[[], None] = lambda: None
) -> AsyncGenerator[None]:
    """Call `hear` after every commit, and when one may have been missed; `purged` likewise after a purge."""
    task = asyncio.create_task(_listen(address, hear, purged))
    try:
        yield
    finally:
        await cancel(task)


async def _listen(address: Address, hear: Callable[[], None], purged: Callable[[], None]) -> None:
    pause = _FIRST_PAUSE
    while True:
        with suppress(psycopg.Error, TimeoutError):
            async with await connect(address.direct, address) as connection:
                await connection.execute(f"LISTEN {_CHANNEL}")
                pause = _FIRST_PAUSE
                # A notification may have been sent before this connection listened.
                purged()
                hear()
                while True:
                    async for notification in connection.notifies(timeout=_HEARTBEAT):
                        if notification.payload == _PURGED:
                            purged()
                        hear()
                    async with asyncio.timeout(address.patience):
                        await connection.execute("SELECT 1")
        await asyncio.sleep(pause)
        pause = min(2 * pause, _MAX_PAUSE)


class Leader(LeadershipCandidate):
    """A candidate for leadership of some work, by name. Use it as an async context manager.

    The lock belongs to a transaction that is kept open, and so it works through a pooler too. A leader that loses its
    connection loses the lock, and notices within a heartbeat: the work must bear that another leader begins a moment
    earlier.
    """

    def __init__(
        self, address: Address, name: str, *, seconds: float = _LEADER_SECONDS, silence: float = _MAX_SILENCE
    ) -> None:
        super().__init__()
        self._address = address
        self._name = name
        self._seconds = seconds
        self._silence = silence

    async def campaign(self) -> None:
        """Try to become the leader, again and again, until cancelled."""
        while True:
            # Without the database there is nothing to lead.
            with suppress(psycopg.Error, TimeoutError):
                async with await connect(self._address.url, self._address) as connection:
                    await self._campaign_on(connection)
            await asyncio.sleep(self._seconds)

    async def _campaign_on(self, connection: psycopg.AsyncConnection) -> None:
        while True:
            async with connection.transaction():
                if await try_lock(connection, self._name):
                    await self._lead(connection)
            await asyncio.sleep(self._seconds)

    async def _lead(self, connection: psycopg.AsyncConnection) -> None:
        silence = f"SET LOCAL idle_in_transaction_session_timeout = {int(1000 * self._silence)}"
        await connection.execute(cast("LiteralString", silence))
        with self.lead():
            while True:
                await asyncio.sleep(self._seconds)
                async with asyncio.timeout(self._seconds):
                    await connection.execute("SELECT 1")


async def try_lock(connection: psycopg.AsyncConnection, name: str) -> bool:
    """Take the lock of some work until the end of the transaction; return False if another process has it."""
    await connection.execute("SET LOCAL idle_in_transaction_session_timeout = 0")
    key = zlib.crc32(name.encode()) - (1 << 31)
    # Without parameters: with them the statement's snapshot would last as long as the transaction, and rows that are
    # deleted meanwhile could not be vacuumed.
    statement = f"SELECT pg_try_advisory_xact_lock({_LOCKS}, {key})"
    cursor = await connection.execute(cast("LiteralString", statement))
    return bool((await cursor.fetchall())[0][0])


class RateLeases:
    """Leases of rate limits, counted in the database for all servers together and by its clock.

    The minute of a caller begins with its first request, the next one with the first request after it. A lease takes
    at most an eighth of the rest, since other servers need some too.
    """

    def __init__(self, database: Database) -> None:
        self._database = database
        self._swept_at = time.monotonic()

    async def lease(self, caller: str, *, count: int, limit: int) -> Lease:
        """Take some of a caller's remaining requests, none if none remain."""
        await self._sweep()
        # After a lost connection the statement runs again, and the first lease is lost: callers never get too much.
        rows = await self._database.rows(
            _SQL["lease"], digest_of(caller), count, limit, limit, count, unrestricted=True
        )
        granted, seconds = rows[0]
        return Lease(granted=int(granted), seconds=float(seconds))

    async def _sweep(self) -> None:
        """Delete the callers that have been idle for ten minutes, at most every ten minutes."""
        now = time.monotonic()
        if now - self._swept_at > _SWEEP_SECONDS:
            self._swept_at = now
            await self._database.rows(_SQL["delete_idle"], unrestricted=True)
