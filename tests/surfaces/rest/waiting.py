"""Waiting for what happens soon."""

import asyncio
from collections.abc import Awaitable, Callable

from tests.surfaces.rest.http_stack import HttpStack

LONGEST = 20.0
_LOOK = 0.01


async def until(is_so: Callable[[], Awaitable[bool]]) -> None:
    """Look again and again, for a bounded while."""
    for _ in range(int(LONGEST / _LOOK)):
        if await is_so():
            return
        await asyncio.sleep(_LOOK)
    raise AssertionError("it did not happen")


async def until_listening(stack: HttpStack, count: int) -> None:
    """Until so many streams of changes are open."""

    async def are_so_many() -> bool:
        return len(stack.changes._subscribers) == count

    await until(are_so_many)
