"""Rate limits of several servers: none passes more than its leases, and few requests wait for a lease."""

import asyncio
from contextlib import AbstractAsyncContextManager

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.unit.auth.issuer import ManualClock

from scrubjay.auth.rate_limit_shared import SharedRateLimiter
from scrubjay.errors import StoreBusy, TooManyRequests
from scrubjay.ports.cluster import Leadership, Lease


class SharedCounter:
    """Counts like a shared store, with a clock of its own."""

    def __init__(self, clock: ManualClock) -> None:
        self.clock = clock
        self.leases = 0
        self.is_away = False
        self._used: dict[str, tuple[float, int]] = {}

    async def lease(self, caller: str, *, count: int, limit: int) -> Lease:
        await asyncio.sleep(0)
        if self.is_away:
            raise StoreBusy("the database is away")
        self.leases += 1
        began, used = self._used.get(caller, (self.clock.seconds, 0))
        if self.clock.seconds - began >= 60:
            began, used = self.clock.seconds, 0
        granted = min(count, max(0, limit - used + 7) // 8)
        self._used[caller] = (began, used + granted)
        return Lease(granted=granted, seconds=began + 60 - self.clock.seconds)

    def listening(self, hear: object, *, purged: object = None) -> AbstractAsyncContextManager[None]:
        raise NotImplementedError

    async def settled_seq(self) -> int:
        raise NotImplementedError

    def leader(self, name: str) -> AbstractAsyncContextManager[Leadership]:
        raise NotImplementedError


def servers(count: int, per_minute: int) -> tuple[SharedCounter, list[SharedRateLimiter]]:
    clock = ManualClock()
    ledger = SharedCounter(clock)
    return ledger, [SharedRateLimiter(ledger, per_minute, monotonic=clock) for _ in range(count)]


async def passes(rates: SharedRateLimiter, name: str = "a", *, per_minute: int = 0) -> bool:
    try:
        await rates.take(name, per_minute)
    except TooManyRequests:
        return False
    return True


async def test_two_servers_let_as_many_pass_as_one_would() -> None:
    _, (first, second) = servers(2, 30)
    passed = [await passes(server) for _ in range(30) for server in (first, second)]
    assert passed.count(True) == 30


async def test_at_once_as_one_by_one() -> None:
    _, both = servers(2, 30)
    passed = await asyncio.gather(*(passes(server) for _ in range(30) for server in both))
    assert passed.count(True) == 30


async def test_few_requests_wait_for_a_lease() -> None:
    ledger, (first, second) = servers(2, 6000)
    for server in (first, second):
        assert all([await passes(server) for _ in range(1000)])
    assert ledger.leases < 50


async def test_a_server_that_is_asked_little_takes_little_from_the_others() -> None:
    _, (idle, busy) = servers(2, 100)
    assert await passes(idle)
    assert [await passes(busy) for _ in range(200)].count(True) == 99


async def test_a_refused_caller_gets_the_waiting_time_and_costs_nothing() -> None:
    ledger, (rates,) = servers(1, 3)
    assert [await passes(rates) for _ in range(3)] == [True] * 3
    ledger.clock.seconds += 20.5
    with pytest.raises(TooManyRequests) as caught:
        await rates.take("a")
    assert caught.value.fields == {"retry_after": 40, "limit": 3}
    request = ledger.leases
    assert not any([await passes(rates) for _ in range(50)])
    assert ledger.leases == request
    ledger.clock.seconds += 39.5
    assert [await passes(rates) for _ in range(9)].count(True) == 3


async def test_an_unused_lease_ends_with_its_minute() -> None:
    ledger, (first, second) = servers(2, 80)
    assert [await passes(first) for _ in range(4)] == [True] * 4
    ledger.clock.seconds += 60
    assert [await passes(second) for _ in range(40)] == [True] * 40
    assert [await passes(server) for _ in range(60) for server in (first, second)].count(True) == 40


async def test_tokens_have_limits_of_their_own_and_the_owner_none() -> None:
    ledger, (rates,) = servers(1, 2)
    assert [await passes(rates, "b", per_minute=7) for _ in range(20)].count(True) == 7
    assert [await passes(rates) for _ in range(20)].count(True) == 2
    request = ledger.leases
    assert all([await passes(rates, "") for _ in range(100)])
    assert all([await passes(SharedRateLimiter(ledger, 0)) for _ in range(100)])
    assert ledger.leases == request


async def test_without_the_store_no_request_passes_and_with_it_again_all_do() -> None:
    ledger, (rates,) = servers(1, 10)
    ledger.is_away = True
    with pytest.raises(StoreBusy):
        await rates.take("a")
    ledger.is_away = False
    assert await passes(rates)


async def test_only_so_many_tokens_are_kept_in_mind() -> None:
    clock = ManualClock()
    rates = SharedRateLimiter(SharedCounter(clock), 5, monotonic=clock, max_quotas=3)
    for number in range(100):
        await rates.take(f"token {number}")
    assert len(rates._quotas) == 3


@settings(deadline=None, max_examples=50)
@given(
    limit=st.integers(1, 300),
    access_log=st.lists(st.tuples(st.integers(0, 2), st.floats(0, 20, allow_nan=False)), max_size=200),
)
async def test_no_minute_ever_has_more_than_its_limit(limit: int, access_log: list[tuple[int, float]]) -> None:
    ledger, all_of_them = servers(3, limit)
    moments: list[float] = []
    for which, seconds in access_log:
        ledger.clock.seconds += seconds / 10
        if await passes(all_of_them[which]):
            moments.append(ledger.clock.seconds)
    began = None
    used = 0
    for moment in moments:
        if began is None or moment - began >= 60:
            began, used = moment, 0
        used += 1
        assert used <= limit
