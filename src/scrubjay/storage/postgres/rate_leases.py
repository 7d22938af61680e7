"""Rate limits, counted in the database for all servers together and by its clock."""

import time

from scrubjay.ports.cluster import Lease
from scrubjay.storage.postgres.database import Database
from scrubjay.storage.postgres.sql_files import named_statements
from scrubjay.storage.postgres.words import digest_of

_SQL = named_statements("queries/rate_limits")
_SWEEP_SECONDS = 600.0


class Allowances:
    """Grants leases. The minute of a caller begins with its first request, the next one with the first after it.

    A lease takes at most an eighth of the rest, since other servers need some too.
    """

    def __init__(self, database: Database) -> None:
        self._database = database
        self._swept = time.monotonic()

    async def lease(self, caller: str, *, wanted: int, limit: int) -> Lease:
        """Take some of a caller's remaining requests, none when none remain."""
        await self._sweep()
        # After a lost connection the statement runs again, and the first lease is lost: callers never get too much.
        rows = await self._database.rows(_SQL["lease"], digest_of(caller), wanted, limit, limit, wanted, keeper=True)
        granted, seconds = rows[0]
        return Lease(granted=int(granted), seconds=float(seconds))

    async def _sweep(self) -> None:
        """Delete the callers that have been idle for ten minutes, at most every ten minutes."""
        now = time.monotonic()
        if now - self._swept > _SWEEP_SECONDS:
            self._swept = now
            await self._database.rows(_SQL["delete_idle"], keeper=True)
