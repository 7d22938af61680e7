"""Listens for HTTP from the start, and loads the server once the first client connects."""

import asyncio
import logging
import socket
from collections.abc import AsyncGenerator, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from typing import Protocol

from scrubjay.surfaces.daemon.lazy import load_in_thread
from scrubjay.surfaces.http.address import http_address
from scrubjay.surfaces.http.limits import BACKLOG

_log = logging.getLogger(__name__)


class Connections(Protocol):
    """A server that counts its clients."""

    @property
    def connections(self) -> int:
        """The number of connected clients."""
        ...


class HttpOnDemand:
    """A server that may not be loaded yet."""

    def __init__(self) -> None:
        self.needed = asyncio.Event()
        self.server: Connections | None = None

    @property
    def connections(self) -> int:
        """The number of connected clients; one while the server is loaded for it."""
        return self.server.connections if self.server is not None else int(self.needed.is_set())


@asynccontextmanager
async def listen_on_demand(
    listener: socket.socket, load: Callable[[], Callable[[], AbstractAsyncContextManager[Connections]]]
) -> AsyncGenerator[HttpOnDemand]:
    """Let the clients of a bound socket wait until the server for them is loaded, which the first one starts."""
    loop, http, closing = asyncio.get_running_loop(), HttpOnDemand(), asyncio.Event()

    async def run() -> None:
        await http.needed.wait()
        loop.remove_reader(listener)
        if closing.is_set():
            return
        try:
            serve = await load_in_thread(load)
            async with serve() as http.server:
                await closing.wait()
        except Exception:  # noqa: BLE001 - the edge of a surface
            # Refused, its clients do not wait for an answer that never comes, nor does an idle daemon wait for them.
            _log.exception("HTTP cannot be served")
            listener.close()
            http.needed.clear()

    listener.listen(BACKLOG)
    loop.add_reader(listener, http.needed.set)
    _log.info("listening", extra={"fields": {"http": http_address(listener)}})
    # In a task of its own, because the same task must open and close it.
    running = asyncio.create_task(run())
    try:
        yield http
    finally:
        closing.set()
        http.needed.set()
        await running
