"""Rate limits: requests per minute, separate for each token, in bounded memory."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.unit.auth.issuer import ManualClock

from scrubjay.auth.rate_limit import RateLimiter
from scrubjay.errors import TooManyRequests


async def test_a_minutes_worth_may_come_at_once_and_no_more() -> None:
    rates = RateLimiter(10, monotonic=ManualClock())
    for _ in range(10):
        await rates.take("a")
    with pytest.raises(TooManyRequests) as caught:
        await rates.take("a")
    assert caught.value.fields == {"retry_after": 6, "limit": 10}


async def test_it_fills_up_as_time_passes_but_not_beyond() -> None:
    clock = ManualClock()
    rates = RateLimiter(60, monotonic=clock)
    assert await taken(rates, "a", attempts=100) == 60
    clock.seconds += 5
    assert await taken(rates, "a", attempts=100) == 5
    clock.seconds += 3600
    assert await taken(rates, "a", attempts=100) == 60


async def test_tokens_do_not_pay_for_each_other() -> None:
    rates = RateLimiter(2, monotonic=ManualClock())
    assert await taken(rates, "a", attempts=5) == 2
    assert await taken(rates, "b", attempts=5) == 2


async def test_a_token_may_have_a_limit_of_its_own() -> None:
    rates = RateLimiter(2, monotonic=ManualClock())
    assert await taken(rates, "a", per_minute=7, attempts=20) == 7
    assert await taken(RateLimiter(0, monotonic=ManualClock()), "a", per_minute=3, attempts=20) == 3


async def test_a_limit_that_is_lowered_holds_at_once() -> None:
    rates = RateLimiter(100, monotonic=ManualClock())
    await rates.take("a")
    assert await taken(rates, "a", per_minute=5, attempts=20) == 5


async def test_no_limit_is_no_limit() -> None:
    assert await taken(RateLimiter(0, monotonic=ManualClock()), "a", attempts=1000) == 1000


async def test_a_caller_without_a_token_is_not_counted() -> None:
    assert await taken(RateLimiter(1, monotonic=ManualClock()), "", attempts=100) == 100


async def test_the_least_recently_used_is_forgotten_first() -> None:
    rates = RateLimiter(2, monotonic=ManualClock(), max_buckets=3)
    for name in "abc":
        await rates.take(name)
    await rates.take("a")
    await rates.take("d")
    assert await taken(rates, "a", attempts=5) == 0
    assert await taken(rates, "b", attempts=5) == 2
    for number in range(1000):
        await rates.take(f"id {number}")
    assert len(rates._buckets) == 3


@settings(deadline=None)
@given(
    limit=st.integers(1, 5_000),
    uses=st.lists(st.floats(0, 100, allow_nan=False), min_size=1, max_size=30),
)
async def test_a_caller_that_waits_for_the_stated_time_is_served(limit: int, uses: list[float]) -> None:
    clock = ManualClock()
    rates = RateLimiter(limit, monotonic=clock)
    await taken(rates, "a", attempts=limit)
    for seconds in uses:
        clock.seconds += seconds
        try:
            await rates.take("a")
        except TooManyRequests as error:
            wait = error.fields["retry_after"]
            assert isinstance(wait, int)
            assert 1 <= wait <= 60
            clock.seconds += wait
            await rates.take("a")


async def taken(rates: RateLimiter, name: str, *, attempts: int, per_minute: int = 0) -> int:
    """Return how many requests pass before one is refused."""
    for count in range(attempts):
        try:
            await rates.take(name, per_minute)
        except TooManyRequests:
            return count
    return attempts
