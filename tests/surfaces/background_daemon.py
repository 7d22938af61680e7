"""A daemon in the background of a test: real sockets, in a thread with its own event loop."""

import asyncio
import threading
from collections.abc import Generator
from contextlib import contextmanager

from tests.patience import PATIENCE

from scrubjay.settings import Settings
from scrubjay.surfaces.daemon.serve import RunningDaemon, ServeOptions, open_daemon


@contextmanager
def background_daemon(settings: Settings, *, http: str = "127.0.0.1:0", idle: float = 0.0) -> Generator[RunningDaemon]:
    """Run a daemon until the end of the block; afterwards it has finished all accepted requests."""
    ready, loop = threading.Event(), asyncio.new_event_loop()
    outcomes: list[RunningDaemon | BaseException] = []

    async def serve() -> None:
        try:
            async with open_daemon(ServeOptions(settings=settings, tools="all", http=http, idle=idle)) as running:
                outcomes.append(running)
                ready.set()
                await running.stopping.wait()
        except BaseException as error:  # noqa: BLE001 - handed to the test
            outcomes.append(error)
        finally:
            ready.set()

    def run() -> None:
        with asyncio.Runner(loop_factory=lambda: loop) as runner:
            runner.run(serve())

    thread = threading.Thread(target=run, daemon=True)
    thread.start()
    assert ready.wait(PATIENCE)
    running = outcomes[0]
    if isinstance(running, BaseException):
        thread.join(PATIENCE)
        raise running
    try:
        yield running
    finally:
        if thread.is_alive():
            loop.call_soon_threadsafe(running.stopping.set)
        thread.join(PATIENCE)
        assert not thread.is_alive()
        for error in outcomes[1:]:
            assert isinstance(error, BaseException)
            raise error
