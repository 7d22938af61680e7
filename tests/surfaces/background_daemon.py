"""A daemon in the background of a test: real sockets, in a thread with an event loop of its own."""

import asyncio
import threading
from collections.abc import Generator
from contextlib import contextmanager

from scrubjay.settings import Settings
from scrubjay.surfaces.daemon.serve import Orders, Running, daemon

_LONGEST = 30.0


@contextmanager
def background_daemon(settings: Settings, *, http: str = "127.0.0.1:0", idle: float = 0.0) -> Generator[Running]:
    """A daemon that serves until the end of the block, and has finished all it accepted after it."""
    ready, loop = threading.Event(), asyncio.new_event_loop()
    found: list[Running | BaseException] = []

    async def serve() -> None:
        try:
            async with daemon(Orders(settings=settings, tools="all", http=http, idle=idle)) as running:
                found.append(running)
                ready.set()
                await running.leaving.wait()
        except BaseException as error:  # noqa: BLE001 - handed to the test
            found.append(error)
        finally:
            ready.set()

    def run() -> None:
        with asyncio.Runner(loop_factory=lambda: loop) as runner:
            runner.run(serve())

    thread = threading.Thread(target=run, daemon=True)
    thread.start()
    assert ready.wait(_LONGEST)
    running = found[0]
    if isinstance(running, BaseException):
        thread.join(_LONGEST)
        raise running
    try:
        yield running
    finally:
        if thread.is_alive():
            loop.call_soon_threadsafe(running.leaving.set)
        thread.join(_LONGEST)
        assert not thread.is_alive()
        for error in found[1:]:
            assert isinstance(error, BaseException)
            raise error
