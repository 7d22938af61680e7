"""Loads slow packages in a thread, so that only requests that need them wait for them."""

import asyncio
import threading
from collections.abc import AsyncGenerator, Callable, Coroutine
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from typing import TYPE_CHECKING, Protocol, TypeVar

if TYPE_CHECKING:
    from starlette.types import ASGIApp, Receive, Scope, Send

T = TypeVar("T")
# Two threads that import packages that depend on each other could see half-loaded modules.
_loading = threading.Lock()


class ManagedApp(Protocol):
    """An application that answers while it is open."""

    async def __call__(self, scope: "Scope", receive: "Receive", send: "Send") -> None: ...

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
async def make_on_demand(make: "Callable[[], ASGIApp]") -> "AsyncGenerator[ASGIApp]":
    """Make an application in a thread once a request needs it; requests wait for it."""
    app = _PendingApp(lambda: load_in_thread(make))
    try:
        yield app
    finally:
        await app.end()


@asynccontextmanager
async def open_on_demand(load: Callable[[], None], make: Callable[[], ManagedApp]) -> "AsyncGenerator[ASGIApp]":
    """Load packages in a thread once a request needs them, then make and open an application; requests wait for it."""
    opened, needed, closing = asyncio.get_running_loop().create_future(), asyncio.Event(), asyncio.Event()

    async def run() -> None:
        try:
            await needed.wait()
            if closing.is_set():
                return
            await load_in_thread(load)
            app = make()
            async with app.open():
                opened.set_result(app)
                await closing.wait()
        except BaseException as error:
            if not opened.done():
                opened.set_exception(error)
            raise

    async def need() -> "ASGIApp":
        needed.set()
        return await opened

    # In a task of its own, because the same task must open and close it.
    running = asyncio.create_task(run())
    app = _PendingApp(need)
    try:
        yield app
    finally:
        closing.set()
        needed.set()
        await asyncio.gather(running, return_exceptions=True)
        await app.end()


class _PendingApp:
    """An application that may not be ready yet; the first request starts to load it."""

    def __init__(self, load: "Callable[[], Coroutine[object, object, ASGIApp]]") -> None:
        self._load = load
        self._app: asyncio.Task[ASGIApp] | None = None

    async def __call__(self, scope: "Scope", receive: "Receive", send: "Send") -> None:
        if self._app is None:
            self._app = asyncio.create_task(self._load())
        # A disconnected client must not cancel the application for the others.
        app = await asyncio.shield(self._app)
        await app(scope, receive, send)

    async def end(self) -> None:
        """Wait for what is being loaded: a thread cannot be cancelled."""
        if self._app is not None:
            await asyncio.gather(self._app, return_exceptions=True)
