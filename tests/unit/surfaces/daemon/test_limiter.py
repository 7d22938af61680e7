"""The gate: not too many, none for too long, none lost."""

import asyncio

import pytest

from scrubjay.errors import Busy, InvalidInput
from scrubjay.surfaces.daemon.limiter import RequestLimiter


async def forever() -> None:
    await asyncio.Event().wait()


async def test_work_is_done_and_its_errors_come_through() -> None:
    gate = RequestLimiter(most=2, seconds=9)

    async def fail() -> None:
        raise InvalidInput("no")

    assert await gate.run("recall", asyncio.sleep(0, "done")) == "done"
    with pytest.raises(InvalidInput, match="no"):
        await gate.run("recall", fail())
    assert (gate.inside, gate.served) == (0, 2)


async def test_more_than_it_holds_is_told_to_come_again() -> None:
    gate = RequestLimiter(most=2, seconds=9)
    waiting = [asyncio.create_task(gate.run("recall", forever(), reads=True)) for _ in range(2)]
    await asyncio.sleep(0)
    with pytest.raises(Busy, match="2 requests are waiting") as caught:
        await gate.run("recall", forever())
    assert caught.value.fields == {"retry_after": 1, "refused": True}
    for task in waiting:
        task.cancel()
    await asyncio.wait(waiting)
    await asyncio.sleep(0)
    assert gate.inside == 0


async def test_what_takes_too_long_is_told_and_only_reading_is_given_up() -> None:
    gate, release, done = RequestLimiter(most=9, seconds=0.01), asyncio.Event(), asyncio.Event()

    async def write() -> None:
        await release.wait()
        done.set()

    with pytest.raises(Busy, match=r"recall took longer than 0\.01 s") as caught:
        await gate.run("recall", forever(), reads=True)
    assert "Retry" in caught.value.hint
    with pytest.raises(Busy, match="remember took longer") as caught:
        await gate.run("remember", write())
    assert "look before you repeat it" in caught.value.hint
    assert gate.inside == 1
    release.set()
    assert await gate.close(seconds=9) == 0
    assert done.is_set()


async def test_what_takes_long_by_nature_has_all_the_time() -> None:
    gate = RequestLimiter(most=9, seconds=0.001)
    assert await gate.run("backup", asyncio.sleep(0.02, "done"), long=True) == "done"


async def test_a_caller_that_is_gone_stops_reading_but_no_write() -> None:
    gate, release, done = RequestLimiter(most=9, seconds=9), asyncio.Event(), asyncio.Event()

    async def write() -> None:
        await release.wait()
        done.set()

    callers = [
        asyncio.create_task(gate.run("recall", forever(), reads=True)),
        asyncio.create_task(gate.run("remember", write())),
    ]
    await asyncio.sleep(0)
    for caller in callers:
        caller.cancel()
    await asyncio.wait(callers)
    await asyncio.sleep(0)
    assert gate.inside == 1
    release.set()
    assert await gate.close(seconds=9) == 0
    assert done.is_set()


async def test_a_closed_gate_lets_nobody_in_and_counts_who_never_leaves() -> None:
    gate = RequestLimiter(most=9, seconds=9)
    stuck = asyncio.create_task(gate.run("remember", forever()))
    await asyncio.sleep(0)
    assert await gate.close(seconds=0.01) == 1
    with pytest.raises(Busy, match="shutting down"):
        await gate.run("recall", forever())
    stuck.cancel()
    await asyncio.wait({stuck})


async def test_one_that_closes_says_so_to_whoever_would_send_more() -> None:
    gate = RequestLimiter(most=1, seconds=9)
    gate.require_open()
    await gate.close(seconds=1)
    with pytest.raises(Busy, match="shutting down"):
        gate.require_open()
