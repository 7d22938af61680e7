"""Loads slow packages in a thread, so that only requests that need them wait for them."""

import asyncio
import threading
from collections.abc import AsyncGenerator, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from typing import Protocol, TypeVar

from starlette.types import ASGIApp, Receive, Scope, Send

T = TypeVar("T")
# Two threads that import packages that depend on each other could see half-loaded modules.
_loading = threading.Lock()


class ManagedApp(Protocol):
    """An application that answers while it is open."""

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None: ...

    def open(self) -> AbstractAsyncContextManager[None]:
        """Open it for the duration of a block."""
        ...


async def load_in_thread(load: Callable[[], T]) -> T:
    """Load something in a thread, one thing at a time."""

    def load_alone() -> T:
        with _loading:
            return load()

    return await asyncio.to_thread(load_alone)


@asynccontextmanager
async def make_in_background(make: Callable[[], ASGIApp]) -> AsyncGenerator[ASGIApp]:
    """Make an application in a thread; early requests wait for it."""
    making = asyncio.create_task(load_in_thread(make))
    try:
        yield _PendingApp(making)
    finally:
        # A thread cannot be cancelled.
        await asyncio.gather(making, return_exceptions=True)


@asynccontextmanager
async def open_in_background(load: Callable[[], None], make: Callable[[], ManagedApp]) -> AsyncGenerator[ASGIApp]:
    """Load packages in a thread, then make and open an application; early requests wait for it."""
    opened, closing = asyncio.get_running_loop().create_future(), asyncio.Event()

    async def run() -> None:
        try:
            await load_in_thread(load)
            app = make()
            async with app.open():
                opened.set_result(app)
                await closing.wait()
        except BaseException as error:
            if not opened.done():
                opened.set_exception(error)
            raise

    # In a task of its own, because the same task must open and close it.
    running = asyncio.create_task(run())
    try:
        yield _PendingApp(opened)
    finally:
        closing.set()
        await asyncio.gather(running, opened, return_exceptions=True)


class _PendingApp:
    """An application that may not be ready yet."""

    def __init__(self, app: asyncio.Future[ASGIApp]) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        # A disconnected client must not cancel the application for the others.
        app = await asyncio.shield(self._app)
        await app(scope, receive, send)
