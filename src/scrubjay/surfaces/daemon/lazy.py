"""What takes a while to load is loaded beside everything else, so that nobody waits for it who does not need it."""

import asyncio
import threading
from collections.abc import AsyncGenerator, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from typing import Protocol, TypeVar

from starlette.types import ASGIApp, Receive, Scope, Send

T = TypeVar("T")
# Of packages that know each other, two threads that load them at once could each see the other's half.
_turn = threading.Lock()


class Site(Protocol):
    """An application that can be asked as long as it is open."""

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None: ...

    def open(self) -> AbstractAsyncContextManager[None]:
        """Be there for whoever asks."""
        ...


async def loaded(load: Callable[[], T]) -> T:
    """What is loaded in a thread, one thing after the other."""
    return await asyncio.to_thread(_in_turn, load)


@asynccontextmanager
async def made_beside(make: Callable[[], ASGIApp]) -> AsyncGenerator[ASGIApp]:
    """An application that is being made in a thread; whoever comes before it is there waits for it."""
    making = asyncio.create_task(loaded(make))
    try:
        yield _Awaited(making)
    finally:
        # A thread cannot be called back.
        await asyncio.gather(making, return_exceptions=True)


@asynccontextmanager
async def opened_beside(load: Callable[[], None], make: Callable[[], Site]) -> AsyncGenerator[ASGIApp]:
    """A site that is made and opened once what it needs is loaded in a thread; whoever comes before waits for it."""
    opened, leaving = asyncio.get_running_loop().create_future(), asyncio.Event()

    async def keep() -> None:
        try:
            await loaded(load)
            site = make()
            async with site.open():
                opened.set_result(site)
                await leaving.wait()
        except BaseException as error:
            if not opened.done():
                opened.set_exception(error)
            raise

    # A task of its own: what is opened in one must be closed in the same.
    keeping = asyncio.create_task(keep())
    try:
        yield _Awaited(opened)
    finally:
        leaving.set()
        await asyncio.gather(keeping, opened, return_exceptions=True)


class _Awaited:
    """An application that is not there yet."""

    def __init__(self, app: asyncio.Future[ASGIApp]) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        # Whoever hangs up must not take it away from the others.
        app = await asyncio.shield(self._app)
        await app(scope, receive, send)


def _in_turn(load: Callable[[], T]) -> T:
    with _turn:
        return load()
