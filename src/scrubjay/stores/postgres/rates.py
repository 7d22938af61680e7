"""What callers may still ask: counted in the database, for all servers together and by its clock."""

import time

from scrubjay.sharing import Lease
from scrubjay.stores.postgres.database import Database
from scrubjay.stores.postgres.words import digest_of

# Of what is left no server takes more than this part at once: the others want some, too.
_PART = 8
_SWEEP_SECONDS = 600.0

# Not logged: a crash of the database forgets what was used of one minute, and writing it costs next to nothing.
ALLOWANCES = """
CREATE UNLOGGED TABLE scrubjay.allowances(
  caller bytea PRIMARY KEY,
  began timestamptz NOT NULL,
  used bigint NOT NULL,
  given bigint NOT NULL
) WITH (fillfactor = 50);
GRANT SELECT, INSERT, UPDATE, DELETE ON scrubjay.allowances TO scrubjay_keeper;
"""


class Allowances:
    """Hands out leases. A caller's minute begins with its first request, and the next one with the first after it."""

    def __init__(self, database: Database) -> None:
        self._database = database
        self._swept = time.monotonic()

    async def lease(self, caller: str, *, wanted: int, limit: int) -> Lease:
        """Take some of what is left to a caller; nothing when nothing is."""
        await self._sweep()
        # If the line breaks the question is asked again, and what was taken the first time is lost: never too much.
        rows = await self._database.rows(_LEASE, digest_of(caller), wanted, limit, limit, wanted, keeper=True)
        granted, seconds = rows[0]
        return Lease(granted=int(granted), seconds=float(seconds))

    async def _sweep(self) -> None:
        """Now and then forget who has not come for long."""
        now = time.monotonic()
        if now - self._swept > _SWEEP_SECONDS:
            self._swept = now
            await self._database.rows(_SWEEP, keeper=True)


# A minute that begins in the future is that of a clock which was set back since.
_LEASE = f"""INSERT INTO scrubjay.allowances AS a (caller, began, used, given)
    SELECT %s, clock_timestamp(), first.many, first.many
      FROM (SELECT least(%s::bigint, (%s::bigint + {_PART - 1}) / {_PART}) AS many) first
    ON CONFLICT (caller) DO UPDATE SET (began, used, given) = (
      SELECT so_far.began, so_far.used + lease.many, lease.many
        FROM (SELECT clock_timestamp() AS moment) now,
          LATERAL (SELECT abs(extract(epoch FROM now.moment - a.began)) < 60 AS lasts) minute,
          LATERAL (SELECT CASE WHEN minute.lasts THEN a.began ELSE now.moment END AS began,
            CASE WHEN minute.lasts THEN a.used ELSE 0 END AS used) so_far,
          LATERAL (SELECT greatest(%s::bigint - so_far.used + {_PART - 1}, 0) / {_PART} AS many) part,
          LATERAL (SELECT least(%s::bigint, part.many) AS many) lease)
    RETURNING given, greatest(0, extract(epoch FROM began + interval '1 minute' - clock_timestamp()))"""
_SWEEP = "DELETE FROM scrubjay.allowances WHERE abs(extract(epoch FROM clock_timestamp() - began)) > 600"
