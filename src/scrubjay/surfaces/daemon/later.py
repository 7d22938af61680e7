"""What takes a while to load is loaded beside everything else, so that nobody waits for it who does not need it."""

import asyncio
from collections.abc import AsyncGenerator, Callable
from contextlib import asynccontextmanager

from starlette.types import ASGIApp, Receive, Scope, Send


@asynccontextmanager
async def made_beside(make: Callable[[], ASGIApp]) -> AsyncGenerator[ASGIApp]:
    """An application that is being made in a thread; whoever comes before it is there waits for it."""
    making = asyncio.create_task(asyncio.to_thread(make))

    async def app(scope: Scope, receive: Receive, send: Send) -> None:
        # Whoever hangs up must not take it away from the others.
        made = await asyncio.shield(making)
        await made(scope, receive, send)

    try:
        yield app
    finally:
        # A thread cannot be called back.
        await asyncio.gather(making, return_exceptions=True)
