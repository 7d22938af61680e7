"""One leader: of all servers of a database one does what only one should do."""

import asyncio
import zlib
from contextlib import suppress
from types import TracebackType
from typing import LiteralString, Self, cast

import psycopg

from scrubjay.stores.postgres.address import Address
from scrubjay.stores.postgres.schema import connect

_LOCKS = 0x534A_0003
_SECONDS = 5.0


class Leader:
    """A candidate for leadership of some work, by name. Use it as an async context manager.

    The lock belongs to a transaction that is kept open, and so it works through a pooler too; who loses the connection
    loses it. That is noticed within a heartbeat, and so the work must bear that somebody else begins a moment earlier.
    """

    def __init__(self, address: Address, name: str, *, seconds: float = _SECONDS) -> None:
        self._address = address
        self._name = name
        self._seconds = seconds
        self._elected = asyncio.Event()
        self._dismissed = asyncio.Event()
        self._dismissed.set()
        self._task: asyncio.Task[None] | None = None

    @property
    def leads(self) -> bool:
        """Whether the work is this process's."""
        return self._elected.is_set()

    async def elected(self) -> None:
        """Wait until it is."""
        await self._elected.wait()

    async def dismissed(self) -> None:
        """Wait until it is no more."""
        await self._dismissed.wait()

    async def __aenter__(self) -> Self:
        self._task = asyncio.create_task(self._stand())
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._task is not None:
            self._task.cancel()
            await asyncio.gather(self._task, return_exceptions=True)

    async def _stand(self) -> None:
        while True:
            # Without the database there is nothing to lead.
            with suppress(psycopg.Error, TimeoutError):
                async with await connect(self._address.url, self._address) as connection:
                    await self._stand_at(connection)
            await asyncio.sleep(self._seconds)

    async def _stand_at(self, connection: psycopg.AsyncConnection) -> None:
        while True:
            async with connection.transaction():
                if await self._take(connection):
                    await self._lead(connection)
            await asyncio.sleep(self._seconds)

    async def _take(self, connection: psycopg.AsyncConnection) -> bool:
        await connection.execute("SET LOCAL idle_in_transaction_session_timeout = 0")
        key = zlib.crc32(self._name.encode()) - (1 << 31)
        # Without parameters: with them the statement's view of the tables would last as long as the transaction, and
        # keep what is deleted meanwhile from being cleaned up.
        statement = f"SELECT pg_try_advisory_xact_lock({_LOCKS}, {key})"
        cursor = await connection.execute(cast("LiteralString", statement))
        return bool((await cursor.fetchall())[0][0])

    async def _lead(self, connection: psycopg.AsyncConnection) -> None:
        self._dismissed.clear()
        self._elected.set()
        try:
            while True:
                await asyncio.sleep(self._seconds)
                async with asyncio.timeout(self._seconds):
                    await connection.execute("SELECT 1")
        finally:
            self._elected.clear()
            self._dismissed.set()
