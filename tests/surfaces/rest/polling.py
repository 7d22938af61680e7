"""Polling for conditions."""

import asyncio
from collections.abc import Awaitable, Callable

from tests.patience import PATIENCE
from tests.surfaces.rest.http_stack import HttpStack

_POLL_SECONDS = 0.01


async def wait_until(condition: Callable[[], Awaitable[bool]]) -> None:
    """Poll a condition until it holds, or fail after a time limit."""
    for _ in range(int(PATIENCE / _POLL_SECONDS)):
        if await condition():
            return
        await asyncio.sleep(_POLL_SECONDS)
    raise AssertionError("it did not happen")


async def wait_for_streams(stack: HttpStack, count: int) -> None:
    """Wait until a number of streams are open."""

    async def has_count() -> bool:
        return len(stack.changes._subscribers) == count

    await wait_until(has_count)
