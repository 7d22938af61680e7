"""The limiter: a maximum number of requests, a maximum duration, and no lost writes."""

import asyncio

import pytest

from scrubjay.errors import Busy, InvalidInput
from scrubjay.surfaces.daemon.limiter import RequestLimiter


async def forever() -> None:
    await asyncio.Event().wait()


async def test_work_is_done_and_its_errors_propagate() -> None:
    limiter = RequestLimiter(max_requests=2, seconds=9)

    async def fail() -> None:
        raise InvalidInput("no")

    assert await limiter.run("recall", asyncio.sleep(0, "done")) == "done"
    with pytest.raises(InvalidInput, match="no"):
        await limiter.run("recall", fail())
    assert (limiter.active, limiter.served) == (0, 2)


async def test_a_request_over_the_limit_is_refused() -> None:
    limiter = RequestLimiter(max_requests=2, seconds=9)
    waiting = [asyncio.create_task(limiter.run("recall", forever(), reads=True)) for _ in range(2)]
    await asyncio.sleep(0)
    with pytest.raises(Busy, match="2 requests are waiting") as caught:
        await limiter.run("recall", forever())
    assert caught.value.fields == {"retry_after": 1, "refused": True}
    for task in waiting:
        task.cancel()
    await asyncio.wait(waiting)
    await asyncio.sleep(0)
    assert limiter.active == 0


async def test_a_slow_read_is_cancelled_and_a_slow_write_continues() -> None:
    limiter, release, done = RequestLimiter(max_requests=9, seconds=0.01), asyncio.Event(), asyncio.Event()

    async def write() -> None:
        await release.wait()
        done.set()

    with pytest.raises(Busy, match=r"recall took longer than 0\.01 s") as caught:
        await limiter.run("recall", forever(), reads=True)
    assert "Retry" in caught.value.hint
    with pytest.raises(Busy, match="remember took longer") as caught:
        await limiter.run("remember", write())
    assert "check before you repeat it" in caught.value.hint
    assert limiter.active == 1
    release.set()
    assert await limiter.close(seconds=9) == 0
    assert done.is_set()


async def test_a_long_operation_has_no_time_limit() -> None:
    limiter = RequestLimiter(max_requests=9, seconds=0.001)
    assert await limiter.run("backup", asyncio.sleep(0.02, "done"), long=True) == "done"


async def test_a_disconnect_cancels_a_read_but_not_a_write() -> None:
    limiter, release, done = RequestLimiter(max_requests=9, seconds=9), asyncio.Event(), asyncio.Event()

    async def write() -> None:
        await release.wait()
        done.set()

    callers = [
        asyncio.create_task(limiter.run("recall", forever(), reads=True)),
        asyncio.create_task(limiter.run("remember", write())),
    ]
    await asyncio.sleep(0)
    for caller in callers:
        caller.cancel()
    await asyncio.wait(callers)
    await asyncio.sleep(0)
    assert limiter.active == 1
    release.set()
    assert await limiter.close(seconds=9) == 0
    assert done.is_set()


async def test_a_closed_limiter_refuses_requests_and_counts_unfinished_ones() -> None:
    limiter = RequestLimiter(max_requests=9, seconds=9)
    stuck = asyncio.create_task(limiter.run("remember", forever()))
    await asyncio.sleep(0)
    assert await limiter.close(seconds=0.01) == 1
    with pytest.raises(Busy, match="shutting down"):
        await limiter.run("recall", forever())
    stuck.cancel()
    await asyncio.wait({stuck})


async def test_a_closed_limiter_is_not_open() -> None:
    limiter = RequestLimiter(max_requests=1, seconds=9)
    limiter.require_open()
    await limiter.close(seconds=1)
    with pytest.raises(Busy, match="shutting down"):
        limiter.require_open()
