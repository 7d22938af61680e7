"""One leader at a time, and another when it goes."""

import asyncio

from tests.postgres import address_of
from tests.unit.storage.postgres.conftest import Raw

from scrubjay.storage.postgres.leader import Leader

QUICK = 0.05


async def test_one_leads_and_the_next_takes_over(name: str) -> None:
    address = address_of(name)
    async with asyncio.timeout(30), Leader(address, "upkeep", seconds=QUICK) as first:
        await first.wait_until_elected()
        async with Leader(address, "upkeep", seconds=QUICK) as second, Leader(address, "other", seconds=QUICK) as other:
            await other.wait_until_elected()
            assert first.leads
            assert not second.leads
            await first.__aexit__(None, None, None)
            await second.wait_until_elected()
            assert not first.leads
            await first.wait_until_dismissed()


async def test_who_loses_the_connection_loses_the_lead(name: str, raw: Raw) -> None:
    async with asyncio.timeout(30), Leader(address_of(name), "upkeep", seconds=QUICK) as leader:
        await leader.wait_until_elected()
        ended = await raw(
            """SELECT pg_terminate_backend(pid) FROM pg_locks WHERE locktype = 'advisory' AND granted
               AND database = (SELECT oid FROM pg_database WHERE datname = current_database())"""
        )
        assert ended == [(True,)]
        await leader.wait_until_dismissed()
        await leader.wait_until_elected()


async def test_leading_holds_no_cleaning_up(name: str, raw: Raw) -> None:
    """A transaction that is open for days must not keep dead rows from being removed."""
    async with asyncio.timeout(30), Leader(address_of(name), "upkeep", seconds=QUICK) as leader:
        await leader.wait_until_elected()
        rows = await raw(
            """SELECT backend_xid, backend_xmin FROM pg_stat_activity a JOIN pg_locks l USING (pid)
               WHERE l.locktype = 'advisory' AND a.state = 'idle in transaction'
                 AND a.datname = current_database()"""
        )
        assert set(rows) <= {(None, None)}


async def test_who_falls_silent_is_followed_by_another(name: str) -> None:
    """A machine that loses its power does not hang up."""
    address = address_of(name)
    async with asyncio.timeout(30), Leader(address, "upkeep", seconds=3600, silence=0.2) as silent:
        await silent.wait_until_elected()
        async with Leader(address, "upkeep", seconds=QUICK) as next_one:
            await next_one.wait_until_elected()
