"""One leader: of all servers of a database one does what only one should do."""

import asyncio
import zlib
from contextlib import suppress
from typing import LiteralString, cast

import psycopg

from scrubjay.ports.cluster import LeadershipCandidate
from scrubjay.storage.postgres.address import Address
from scrubjay.storage.postgres.schema import connect

_LOCKS = 0x534A_0003
_SECONDS = 5.0
# So long the server waits for the next heartbeat of a leader whose machine may be gone without a word.
_LONGEST_SILENCE = 30.0


class Leader(LeadershipCandidate):
    """A candidate for leadership of some work, by name. Use it as an async context manager.

    The lock belongs to a transaction that is kept open, and so it works through a pooler too; who loses the connection
    loses it. That is noticed within a heartbeat, and so the work must bear that somebody else begins a moment earlier.
    """

    def __init__(
        self, address: Address, name: str, *, seconds: float = _SECONDS, silence: float = _LONGEST_SILENCE
    ) -> None:
        super().__init__()
        self._address = address
        self._name = name
        self._seconds = seconds
        self._silence = silence

    async def campaign(self) -> None:
        """Stand as long as there is a database to stand at."""
        while True:
            # Without the database there is nothing to lead.
            with suppress(psycopg.Error, TimeoutError):
                async with await connect(self._address.url, self._address) as connection:
                    await self._stand_at(connection)
            await asyncio.sleep(self._seconds)

    async def _stand_at(self, connection: psycopg.AsyncConnection) -> None:
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
    """Take the lock of some work until the end of the transaction, unless another process has it."""
    await connection.execute("SET LOCAL idle_in_transaction_session_timeout = 0")
    key = zlib.crc32(name.encode()) - (1 << 31)
    # Without parameters: with them the statement's view of the tables would last as long as the transaction, and
    # keep what is deleted meanwhile from being cleaned up.
    statement = f"SELECT pg_try_advisory_xact_lock({_LOCKS}, {key})"
    cursor = await connection.execute(cast("LiteralString", statement))
    return bool((await cursor.fetchall())[0][0])
