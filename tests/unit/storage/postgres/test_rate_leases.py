"""Leases in the database: together never more than the limit, by its clock, whatever the servers' clocks say."""

import asyncio

import pytest
from tests.postgres import address_of
from tests.unit.storage.postgres.conftest import Raw

from scrubjay.auth.rate_limit_shared import SharedRateLimiter
from scrubjay.errors import StoreError, TooManyRequests
from scrubjay.ports.cluster import ClusterStore
from scrubjay.storage.postgres import PostgresStore
from scrubjay.storage.postgres.database import Database


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
    one, two = SharedRateLimiter(store, 30), SharedRateLimiter(other, 30)
    passed = await asyncio.gather(*(taken(rates, most=5) for rates in (one, two) * 6))
    assert sum(passed) == 30
    await other.close()


async def test_leases_shrink_as_the_limit_comes_near(store: PostgresStore) -> None:
    granted: list[int] = []
    while not granted or granted[-1]:
        granted.append((await store.lease("token", wanted=1000, limit=100)).granted)
    assert granted == sorted(granted, reverse=True)
    assert (granted[0], granted[-2:], sum(granted)) == (13, [1, 0], 100)


async def test_a_minute_begins_with_the_first_request_and_ends_by_the_databases_clock(
    store: PostgresStore, raw: Raw
) -> None:
    first = await store.lease("token", wanted=1, limit=1)
    assert (first.granted, 59 < first.seconds <= 60) == (1, True)
    assert (await store.lease("token", wanted=1, limit=1)).granted == 0
    await raw("UPDATE scrubjay.rate_limits SET window_start = window_start - interval '45 seconds'")
    later = await store.lease("token", wanted=1, limit=1)
    assert (later.granted, 14 < later.seconds <= 15) == (0, True)
    await raw("UPDATE scrubjay.rate_limits SET window_start = window_start - interval '15 seconds'")
    fresh = await store.lease("token", wanted=1, limit=1)
    assert (fresh.granted, fresh.seconds > 59) == (1, True)
    # The clock was set back by an hour: nobody is shut out for so long.
    await raw("UPDATE scrubjay.rate_limits SET window_start = window_start + interval '1 hour'")
    assert (await store.lease("token", wanted=1, limit=1)).granted == 1


async def test_servers_with_different_limits_count_together(store: PostgresStore) -> None:
    assert sum([(await store.lease("token", wanted=9, limit=9)).granted for _ in range(9)]) == 9
    assert (await store.lease("token", wanted=1, limit=4)).granted == 0
    assert (await store.lease("token", wanted=1, limit=10)).granted == 1
    assert (await store.lease("another", wanted=1, limit=4)).granted == 1


async def test_any_name_has_a_minute_and_old_ones_are_swept(store: PostgresStore, raw: Raw) -> None:
    for caller in ("jwt:" + "x" * 10_000, "\x00", "\ud800", "'; DROP TABLE scrubjay.rate_limits; --"):
        assert (await store.lease(caller, wanted=1, limit=2)).granted == 1
    await raw("UPDATE scrubjay.rate_limits SET window_start = window_start - interval '1 hour'")
    store._allowances._swept -= 3600
    await store.lease("token", wanted=1, limit=2)
    assert await raw("SELECT count(*) FROM scrubjay.rate_limits") == [(1,)]


async def test_whoever_serves_one_space_sees_no_allowances(database: Database) -> None:
    with pytest.raises(StoreError, match="permission denied"):
        await database.rows("SELECT * FROM scrubjay.rate_limits", space="default")
