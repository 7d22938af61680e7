"""Notifications of commits, one leader, and rate limits, for several servers of one database."""

import asyncio

import psycopg
import pytest
from tests.fakes.build import a_commit, a_memory, an_origin
from tests.patience import PATIENCE
from tests.postgres import address_of
from tests.unit.storage.postgres.conftest import Raw

from scrubjay.auth.rate_limit_shared import SharedRateLimiter
from scrubjay.errors import StoreError, TooManyRequests
from scrubjay.ports.cluster import ClusterStore
from scrubjay.storage.postgres import PostgresStore
from scrubjay.storage.postgres.cluster import Leader
from scrubjay.storage.postgres.database import Database


class NotificationCounter:
    """Counts notifications."""

    def __init__(self) -> None:
        self._heard = asyncio.Event()

    def hear(self) -> None:
        self._heard.set()

    async def wait(self) -> None:
        async with asyncio.timeout(PATIENCE):
            await self._heard.wait()
        self._heard.clear()


async def test_a_commit_is_heard_elsewhere(store: PostgresStore, name: str) -> None:
    other = await PostgresStore.open(address_of(name))
    ear = NotificationCounter()
    async with other.listening(ear.hear):
        # Once at the beginning: something may have happened before.
        await ear.wait()
        memory = a_memory()
        await store.commit(a_commit(memory))
        await ear.wait()
        assert len(await other.changes(after=0, limit=9)) == 1
        await store.purge("default", [memory.id], origin=an_origin())
        await ear.wait()
    await other.close()


async def test_a_listener_whose_line_breaks_listens_again(store: PostgresStore, raw: Raw) -> None:
    ear = NotificationCounter()
    async with store.listening(ear.hear):
        await ear.wait()
        ended = await raw(
            "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE query LIKE 'LISTEN%' "
            "AND datname = current_database()"
        )
        assert ended == [(True,)]
        await ear.wait()
        await store.commit(a_commit(a_memory()))
        await ear.wait()


async def test_the_bell_tells_nothing_of_whose_it_was(store: PostgresStore, name: str) -> None:
    async with await psycopg.AsyncConnection.connect(address_of(name).url, autocommit=True) as connection:
        await connection.execute("LISTEN scrubjay")
        await store.commit(a_commit(a_memory(space="a space with a telling name")))
        payloads = [notify.payload async for notify in connection.notifies(timeout=PATIENCE, stop_after=1)]
    assert payloads == [""]


QUICK = 0.05


async def test_one_leads_and_the_next_takes_over(name: str) -> None:
    address = address_of(name)
    async with asyncio.timeout(PATIENCE), Leader(address, "upkeep", seconds=QUICK) as first:
        await first.wait_until_elected()
        async with Leader(address, "upkeep", seconds=QUICK) as second, Leader(address, "other", seconds=QUICK) as other:
            await other.wait_until_elected()
            assert first.leads
            assert not second.leads
            await first.__aexit__(None, None, None)
            await second.wait_until_elected()
            assert not first.leads
            await first.wait_until_dismissed()


async def test_a_leader_that_loses_its_connection_loses_the_lead(name: str, raw: Raw) -> None:
    async with asyncio.timeout(PATIENCE), Leader(address_of(name), "upkeep", seconds=QUICK) as leader:
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
    async with asyncio.timeout(PATIENCE), Leader(address_of(name), "upkeep", seconds=QUICK) as leader:
        await leader.wait_until_elected()
        rows = await raw(
            """SELECT backend_xid, backend_xmin FROM pg_stat_activity a JOIN pg_locks l USING (pid)
               WHERE l.locktype = 'advisory' AND a.state = 'idle in transaction'
                 AND a.datname = current_database()"""
        )
        assert set(rows) <= {(None, None)}


async def test_a_silent_leader_is_replaced(name: str) -> None:
    """A machine without power does not close its connections."""
    address = address_of(name)
    async with asyncio.timeout(PATIENCE), Leader(address, "upkeep", seconds=3600, silence=0.2) as silent:
        await silent.wait_until_elected()
        async with Leader(address, "upkeep", seconds=QUICK) as next_one:
            await next_one.wait_until_elected()


async def taken(rates: SharedRateLimiter, *, most: int) -> int:
    passed = 0
    for _ in range(most):
        try:
            await rates.take("token")
        except TooManyRequests:
            continue
        passed += 1
    return passed


async def test_thirty_of_sixty_pass_at_two_servers(store: PostgresStore, name: str) -> None:
    other = await PostgresStore.open(address_of(name))
    assert isinstance(store, ClusterStore)
    first, second = SharedRateLimiter(store, 30), SharedRateLimiter(other, 30)
    passed = await asyncio.gather(*(taken(rates, most=5) for rates in (first, second) * 6))
    assert sum(passed) == 30
    await other.close()


async def test_leases_shrink_as_the_limit_comes_near(store: PostgresStore) -> None:
    granted: list[int] = []
    while not granted or granted[-1]:
        granted.append((await store.lease("token", count=1000, limit=100)).granted)
    assert granted == sorted(granted, reverse=True)
    assert (granted[0], granted[-2:], sum(granted)) == (13, [1, 0], 100)


async def test_a_minute_begins_with_the_first_request_and_ends_by_the_databases_clock(
    store: PostgresStore, raw: Raw
) -> None:
    first = await store.lease("token", count=1, limit=1)
    assert (first.granted, 59 < first.seconds <= 60) == (1, True)
    assert (await store.lease("token", count=1, limit=1)).granted == 0
    await raw("UPDATE scrubjay.rate_limits SET window_start = window_start - interval '45 seconds'")
    later = await store.lease("token", count=1, limit=1)
    assert (later.granted, 14 < later.seconds <= 15) == (0, True)
    await raw("UPDATE scrubjay.rate_limits SET window_start = window_start - interval '15 seconds'")
    fresh = await store.lease("token", count=1, limit=1)
    assert (fresh.granted, fresh.seconds > 59) == (1, True)
    # The clock was set back by an hour: no caller is locked out for so long.
    await raw("UPDATE scrubjay.rate_limits SET window_start = window_start + interval '1 hour'")
    assert (await store.lease("token", count=1, limit=1)).granted == 1


async def test_servers_with_different_limits_count_together(store: PostgresStore) -> None:
    assert sum([(await store.lease("token", count=9, limit=9)).granted for _ in range(9)]) == 9
    assert (await store.lease("token", count=1, limit=4)).granted == 0
    assert (await store.lease("token", count=1, limit=10)).granted == 1
    assert (await store.lease("another", count=1, limit=4)).granted == 1


async def test_any_name_has_a_minute_and_old_ones_are_swept(store: PostgresStore, raw: Raw) -> None:
    for caller in ("jwt:" + "x" * 10_000, "\x00", "\ud800", "'; DROP TABLE scrubjay.rate_limits; --"):
        assert (await store.lease(caller, count=1, limit=2)).granted == 1
    await raw("UPDATE scrubjay.rate_limits SET window_start = window_start - interval '1 hour'")
    store._rate_leases._swept_at -= 3600
    await store.lease("token", count=1, limit=2)
    assert await raw("SELECT count(*) FROM scrubjay.rate_limits") == [(1,)]


async def test_a_session_of_one_space_cannot_read_rate_limits(database: Database) -> None:
    with pytest.raises(StoreError, match="permission denied"):
        await database.rows("SELECT * FROM scrubjay.rate_limits", space="default")
