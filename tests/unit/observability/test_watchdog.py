"""The watchdog of the event loop: it measures the lag, and logs where a stalled loop stands."""

import asyncio
import logging
import re
import threading
import time
from collections.abc import Callable
from typing import Any, cast

import pytest
from tests.patience import PATIENCE

from scrubjay.observability import watchdog
from scrubjay.observability.watchdog import STALL, watch_loop

STOOD_STILL = f"{__name__}.stand_still:"


def stand_still(seconds: float = 2 * STALL) -> None:
    """Block the event loop, in Python or in a call that lets other threads run."""
    time.sleep(seconds)


def watchdogs() -> set[int | None]:
    """Return the watchdogs of this process: daemons of other tests may run in it too."""
    return {thread.ident for thread in threading.enumerate() if thread.name == "scrubjay-watchdog"}


async def until(condition: Callable[[], bool]) -> None:
    async with asyncio.timeout(PATIENCE):
        while not condition():  # noqa: ASYNC110 - another thread's work
            await asyncio.sleep(0.01)


def fields_of(caplog: pytest.LogCaptureFixture, event: str) -> list[dict[str, Any]]:
    return [
        cast("dict[str, Any]", record.__dict__["fields"]) for record in caplog.records if record.message == event
    ]  # fmt: skip


async def test_the_lag_is_measured_again_and_again() -> None:
    lags: list[float] = []
    with watch_loop(lags.append):
        await until(lambda: len(lags) >= 3)
    assert all(lag >= 0 for lag in lags)


async def test_a_stall_is_measured_and_its_stack_is_logged(caplog: pytest.LogCaptureFixture) -> None:
    lags: list[float] = []
    stalls: list[dict[str, Any]] = []
    stood: list[dict[str, Any]] = []
    with caplog.at_level(logging.WARNING), watch_loop(lags.append, quiet=0.0):
        async with asyncio.timeout(PATIENCE):
            # The machine may stop for as long elsewhere, or give the watchdog no time meanwhile.
            while not stood:
                seen = len(lags)
                stand_still()
                await until(lambda seen=seen: len(lags) > seen)
                stalls = fields_of(caplog, "the event loop stalls")
                stood = [stall for stall in stalls if (stall["stack"] or [""])[0].startswith(STOOD_STILL)]
        await until(lambda: len(fields_of(caplog, "the event loop runs again")) >= len(stalls))
    assert max(lags) >= STALL
    assert all(re.fullmatch(r"[\w.<>?]+:\d+", place) for place in stood[0]["stack"])
    assert max(end["ms"] for end in fields_of(caplog, "the event loop runs again")) >= STALL * 1000


async def test_one_of_many_stalls_is_logged(caplog: pytest.LogCaptureFixture) -> None:
    lags: list[float] = []
    with caplog.at_level(logging.WARNING), watch_loop(lags.append):
        for number in range(1, 4):
            stand_still()
            await until(lambda number=number: sum(lag >= STALL / 2 for lag in lags) >= number)
    assert len(fields_of(caplog, "the event loop stalls")) == 1


async def test_the_next_line_counts_the_stalls_that_were_not_logged(
    caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    lags: list[float] = []
    later = 0.0
    monkeypatch.setattr(watchdog, "perf_counter", lambda: time.perf_counter() + later)
    with caplog.at_level(logging.WARNING), watch_loop(lags.append, quiet=PATIENCE):
        while sum(lag >= STALL for lag in lags) < 2:
            seen = len(lags)
            stand_still()
            await until(lambda seen=seen: len(lags) > seen)
        later = PATIENCE
        while len(counts := [stall["stalls_not_logged"] for stall in fields_of(caplog, "the event loop stalls")]) < 2:
            seen = len(lags)
            stand_still()
            await until(lambda seen=seen: len(lags) > seen)
    # On a busy machine it may have stalled more often.
    assert (counts[0], counts[1] >= 1) == (0, True)


async def test_the_watchdog_ends_with_its_block_even_during_a_stall() -> None:
    others = watchdogs()
    with watch_loop(lambda _: None):
        stand_still()
    await until(lambda: watchdogs() <= others)


async def test_the_watchdog_ends_with_a_loop_that_closes() -> None:
    others = watchdogs()

    def run() -> None:
        loop = asyncio.new_event_loop()

        async def enter() -> None:
            await asyncio.to_thread(stand_still, 0)
            watching.__enter__()

        watching = watch_loop(lambda _: None)
        loop.run_until_complete(enter())
        loop.run_until_complete(loop.shutdown_default_executor())
        loop.close()
        time.sleep(2 * STALL)
        watching.__exit__(None, None, None)

    await asyncio.to_thread(run)
    await until(lambda: watchdogs() <= others)
