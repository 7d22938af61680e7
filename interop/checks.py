"""Checks: each is tried once, and told in a line with the time that it took."""

import asyncio
import time
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass

from interop.paths import Workshop
from interop.processes import Failed
from interop.servers import Served

# Two cores are enough for everyone: a client that waits for a server that waits for a core proves nothing.
_AT_ONCE = 2


@dataclass(frozen=True, slots=True, kw_only=True)
class Stage:
    """What checks have to work with."""

    job_runner: Workshop
    daemon: Served
    fixture: Served


@dataclass(frozen=True, slots=True, kw_only=True)
class Check:
    """One thing to try. `run` answers with what was seen, or raises Failed."""

    name: str
    run: Callable[[], Awaitable[str]]


async def run_all(checks: Sequence[Check]) -> int:
    """Try everything and tell of each; returns how many failed."""
    turn = asyncio.Semaphore(_AT_ONCE)
    return sum(await asyncio.gather(*(_run(check, turn) for check in checks)))


async def _run(check: Check, turn: asyncio.Semaphore) -> int:
    async with turn:
        began = time.monotonic()
        try:
            reported, failed = await check.run(), 0
        except (Failed, OSError, LookupError, TypeError, ValueError) as error:
            # What a client prints is taken apart as if it were right; where it is not, that is the failure.
            reported, failed = _complaint(error), 1
        seconds = time.monotonic() - began
        print(f"{'FAIL' if failed else 'ok':4} {seconds:6.1f} s  {check.name}: {reported}", flush=True)
    return failed


def _complaint(error: Exception) -> str:
    text = str(error) if isinstance(error, Failed) else f"{type(error).__name__}: {error}"
    return "\n    ".join(text.splitlines() or [""])
