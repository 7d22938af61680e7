"""The HTTP server itself, which nobody can keep waiting: a request's head comes soon and is small, or not at all."""

import asyncio
import socket
from asyncio import TimerHandle, Transport
from collections.abc import AsyncGenerator, Generator
from contextlib import asynccontextmanager, contextmanager

import uvicorn
from starlette.types import ASGIApp
from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

_START_LOOK = 0.005
_HEAD_SECONDS = 20.0
_LARGEST_HEAD = 64 * 1024
_KEPT_SECONDS = 30
_FAREWELL_SECONDS = 5
_MOST_CONNECTIONS = 4096
# Nobody has anything to say on a WebSocket here but that it is still there.
_LARGEST_MESSAGE = 4096
_PING_SECONDS = 20.0


class Served:
    """A server that runs."""

    def __init__(self, server: uvicorn.Server) -> None:
        self._server = server

    @property
    def connections(self) -> int:
        """How many clients are connected."""
        return len(self._server.server_state.connections)


@asynccontextmanager
async def serve_web(app: ASGIApp, web: socket.socket) -> AsyncGenerator[Served]:
    """Serve an application on a bound socket until the end of the block."""
    config = uvicorn.Config(
        app,
        http=_Connection,
        ws="websockets-sansio",
        ws_max_size=_LARGEST_MESSAGE,
        ws_ping_interval=_PING_SECONDS,
        ws_ping_timeout=_PING_SECONDS,
        limit_concurrency=_MOST_CONNECTIONS,
        timeout_keep_alive=_KEPT_SECONDS,
        timeout_graceful_shutdown=_FAREWELL_SECONDS,
        # Who we are is told by `/healthz`; whose word to take for the caller's address is nobody's here.
        server_header=False,
        proxy_headers=False,
        log_config=None,
        access_log=False,
    )
    server = _Server(config)
    task = asyncio.create_task(server.serve(sockets=[web]))
    while not server.started and not task.done():  # noqa: ASYNC110 - it offers nothing to wait for
        await asyncio.sleep(_START_LOOK)
    try:
        yield Served(server)
    finally:
        server.should_exit = True
        await task


class _Server(uvicorn.Server):
    """A server that leaves signals to the daemon."""

    @contextmanager
    def capture_signals(self) -> Generator[None]:
        yield


class _Connection(HttpToolsProtocol):
    """A connection that is closed when the head of a request takes too long, or never ends."""

    _late: TimerHandle | None = None
    _head = 0

    def connection_made(self, transport: Transport) -> None:
        super().connection_made(transport)
        self._await_head()

    def connection_lost(self, exc: Exception | None) -> None:
        self._head_is_here()
        super().connection_lost(exc)

    def on_message_begin(self) -> None:
        super().on_message_begin()
        # The next request of a connection that is kept.
        if self._late is None:
            self._await_head()

    def on_headers_complete(self) -> None:
        self._head_is_here()
        super().on_headers_complete()

    def data_received(self, data: bytes) -> None:
        super().data_received(data)
        if self._late is not None:
            self._head += len(data)
            if self._head > _LARGEST_HEAD and not self.transport.is_closing():
                self.send_400_response("The head of the request is too large.")

    def _await_head(self) -> None:
        self._head = 0
        self._late = self.loop.call_later(_HEAD_SECONDS, self._give_up)

    def _head_is_here(self) -> None:
        if self._late is not None:
            self._late.cancel()
            self._late = None

    def _give_up(self) -> None:
        self._late = None
        self.transport.abort()
