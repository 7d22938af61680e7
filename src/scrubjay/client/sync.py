"""`SyncMemoryClient`: the verbs of MemoryClient for programs without an event loop."""

import asyncio
import atexit
import threading
import weakref
from collections.abc import Coroutine, Iterator, Sequence
from importlib import import_module
from pathlib import Path
from types import TracebackType
from typing import Literal, Self, TypeVar

from scrubjay.client import MemoryClient
from scrubjay.client.aliases import SyncAliases
from scrubjay.errors import StoreError
from scrubjay.model.arguments import Request
from scrubjay.model.transfer import Imported, Progress
from scrubjay.settings import Settings

R = TypeVar("R")


class SyncMemoryClient(SyncAliases):
    """The synchronous MemoryClient; its event loop runs in a thread of its own.

    The first call opens it, and the end of the program closes it; `with` closes it at the end of the block, and `close`
    at once.
    """

    def __init__(
        self,
        *,
        path: str | Path | None = None,
        url: str = "",
        token: str | None = None,
        space: str | None = None,
        agent: str | None = None,
        run: str = "",
        settings: Settings | None = None,
    ) -> None:
        self.client = MemoryClient(
            path=path, url=url, token=token, space=space, agent=agent, run=run, settings=settings
        )
        self._thread = _LoopThread()
        weakref.finalize(self, _close_soon, self.client, self._thread).atexit = False
        _CLIENTS.add(self)

    def __enter__(self) -> Self:
        self._thread.is_closed = False
        try:
            self.run(self.client.__aenter__())
        except BaseException:
            self._thread.stop()
            raise
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        """Close it, as the end of a `with` block does."""
        _close(self.client, self._thread)

    def call(self, request: Request[R], *, progress: Progress | None = None) -> R:
        """Carry out a request; the methods of this class are short forms of it."""
        return self.run(self.client.call(request, progress=progress))

    def import_lines(
        self, lines: Sequence[str] | Path, *, progress: Progress | None = None, embed: bool = True
    ) -> Imported:
        """Import an export; everything is checked before anything is stored."""
        return self.run(self.client.import_lines(lines, progress=progress, embed=embed))

    def export(
        self,
        *,
        format: Literal["scrubjay", "kg"] = "scrubjay",
        include: Sequence[str] = (),
        progress: Progress | None = None,
    ) -> Iterator[str]:
        """Return all memories with their versions as JSON Lines; `kg` is the format of the reference graph server.

        `include` adds sections: `documents`, `answers` (of idempotency keys) and `vectors`.
        """
        lines = self.client.export(format=format, include=include, progress=progress)
        while True:
            try:
                yield self.run(anext(lines))  # type: ignore[arg-type]
            except StopAsyncIteration:
                return

    def run(self, call: Coroutine[object, object, R]) -> R:
        """Run a coroutine on the event loop of the client and wait for it."""
        return self._thread.run(call)


class _LoopThread:
    """An event loop in a thread, which its first coroutine starts."""

    def __init__(self) -> None:
        self.is_closed = False
        self._loop: asyncio.AbstractEventLoop | None = None
        self._thread: threading.Thread | None = None
        self._starting = threading.Lock()

    @property
    def is_running(self) -> bool:
        return self._loop is not None

    def run(self, call: Coroutine[object, object, R]) -> R:
        """Run a coroutine and wait for it."""
        if self.is_closed:
            call.close()
            raise StoreError("the client is closed", hint="Open it again with `with`, or make another client")
        return asyncio.run_coroutine_threadsafe(call, self._started()).result()

    def _started(self) -> asyncio.AbstractEventLoop:
        with self._starting:
            if self._loop is None:
                self._loop = asyncio.new_event_loop()
                self._thread = threading.Thread(target=self._loop.run_forever, name="scrubjay-client", daemon=True)
                self._thread.start()
            return self._loop

    def stop(self) -> None:
        """Stop the loop; nothing runs on it any more."""
        loop, thread = self._loop, self._thread
        if loop is not None and thread is not None:
            self.run(_shut_down(loop))
            self._loop = self._thread = None
            loop.call_soon_threadsafe(loop.stop)
            thread.join()
            loop.close()
        self.is_closed = True


_CLIENTS: weakref.WeakSet[SyncMemoryClient] = weakref.WeakSet()


def _close_all() -> None:
    for client in list(_CLIENTS):
        client.close()


# `atexit` is too late: no executor accepts work then, and closing a store needs some. These functions run before that
# of `concurrent.futures`, if they are registered after it.
import_module("concurrent.futures.thread")
getattr(threading, "_register_atexit", atexit.register)(_close_all)


def _close_soon(client: MemoryClient, thread: _LoopThread) -> None:
    """Close a client that no one holds: in another thread, because the collector may run in that of the loop."""
    if thread.is_running:
        threading.Thread(target=_close, args=(client, thread), name="scrubjay-close").start()


def _close(client: MemoryClient, thread: _LoopThread) -> None:
    """Close a client and its thread, if it was used."""
    try:
        if thread.is_running:
            thread.run(client.aclose())
    finally:
        thread.stop()


async def _shut_down(loop: asyncio.AbstractEventLoop) -> None:
    """Shut down generators and executors of the loop, as `asyncio.run` does."""
    await loop.shutdown_asyncgens()
    await loop.shutdown_default_executor()
