"""`SyncMemoryClient`: the verbs of MemoryClient for programs without an event loop."""

import asyncio
import threading
from collections.abc import Coroutine, Iterator, Sequence
from pathlib import Path
from types import TracebackType
from typing import Self, TypeVar

from scrubjay.client import MemoryClient
from scrubjay.client.verbs import SyncVerbs
from scrubjay.errors import StoreError
from scrubjay.model.arguments import Request
from scrubjay.model.transfer import Imported, Progress
from scrubjay.settings import Settings

R = TypeVar("R")


class SyncMemoryClient(SyncVerbs):
    """The synchronous MemoryClient; its event loop runs in a thread of its own."""

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
        self._loop: asyncio.AbstractEventLoop | None = None
        self._thread: threading.Thread | None = None

    def __enter__(self) -> Self:
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, name="scrubjay-client", daemon=True)
        self._thread.start()
        try:
            self.run(self.client.__aenter__())
        except BaseException:
            self._stop()
            raise
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        try:
            self.run(self.client.__aexit__(kind, error, trace))
        finally:
            self._stop()

    def call(self, request: Request[R], *, progress: Progress | None = None) -> R:
        """Carry out a request; the methods of this class are short forms of it."""
        return self.run(self.client.call(request, progress=progress))

    def import_lines(
        self, lines: Sequence[str] | Path, *, progress: Progress | None = None, embed: bool = True
    ) -> Imported:
        """Import an export; everything is checked before anything is stored."""
        return self.run(self.client.import_lines(lines, progress=progress, embed=embed))

    def export(
        self, *, format: str = "scrubjay", include: Sequence[str] = (), progress: Progress | None = None
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
        if self._loop is None:
            call.close()
            raise StoreError("the client is not open", hint="Use it as `with SyncMemoryClient() as memory:`")
        return asyncio.run_coroutine_threadsafe(call, self._loop).result()

    def _stop(self) -> None:
        loop, thread = self._loop, self._thread
        if loop is not None and thread is not None:
            self.run(_shut_down(loop))
            self._loop = self._thread = None
            loop.call_soon_threadsafe(loop.stop)
            thread.join()
            loop.close()


async def _shut_down(loop: asyncio.AbstractEventLoop) -> None:
    """Shut down generators and executors of the loop, as `asyncio.run` does."""
    await loop.shutdown_asyncgens()
    await loop.shutdown_default_executor()
