"""Checks: each runs once and prints one line with its duration."""

import asyncio
import time
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass

from interop.paths import Workspace
from interop.processes import Failed
from interop.servers import Served

# Few enough for two cores: a client must not time out because the server waits for a core.
_MAX_CONCURRENT = 2


@dataclass(frozen=True, slots=True, kw_only=True)
class Stage:
    """The workspace and the servers for the checks."""

    workspace: Workspace
    daemon: Served
    fixture: Served


@dataclass(frozen=True, slots=True, kw_only=True)
class Check:
    """A check. `run` returns a summary, or raises Failed."""

    name: str
    run: Callable[[], Awaitable[str]]


async def run_all(checks: Sequence[Check]) -> int:
    """Run all checks and print their results; return the number of failures."""
    slots = asyncio.Semaphore(_MAX_CONCURRENT)
    return sum(await asyncio.gather(*(_run(check, slots) for check in checks)))


async def _run(check: Check, slots: asyncio.Semaphore) -> int:
    async with slots:
        began = time.monotonic()
        try:
            summary, failed = await check.run(), 0
        except (Failed, OSError, LookupError, TypeError, ValueError) as error:
            # Checks parse the output of a client without validation, so a malformed one is a failure too.
            summary, failed = _describe(error), 1
        seconds = time.monotonic() - began
        print(f"{'FAIL' if failed else 'ok':4} {seconds:6.1f} s  {check.name}: {summary}", flush=True)
    return failed


def _describe(error: Exception) -> str:
    text = str(error) if isinstance(error, Failed) else f"{type(error).__name__}: {error}"
    return "\n    ".join(text.splitlines() or [""])
