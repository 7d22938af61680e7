"""The HTTP server itself, which nobody can keep waiting: a request's head comes soon and is small, or not at all."""

import asyncio
import socket
from asyncio import AbstractEventLoop, TimerHandle, Transport
from collections.abc import AsyncGenerator, Generator
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass
from functools import partial
from http import HTTPStatus
from typing import cast

import uvicorn
from starlette.types import ASGIApp, Receive, Scope, Send
from uvicorn._types import ASGI3Application, ASGISendEvent
from uvicorn.config import Config
from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol, RequestResponseCycle
from uvicorn.protocols.websockets.websockets_sansio_impl import WebSocketsSansIOProtocol
from uvicorn.server import ServerState

from scrubjay.errors import Busy
from scrubjay.rpc.codec import PROBLEM, problem
from scrubjay.rpc.frames import encode_frame
from scrubjay.surfaces.http.problems import refusal
from scrubjay.telemetry import incoming_request, new_request_id

_START_LOOK = 0.005
_RETRY_AFTER = 1
# Nobody has anything to say on a WebSocket here but that it is still there.
_LARGEST_MESSAGE = 4096
# The parser takes no longer one.
_LONGEST_ADDRESS = 65_535


@dataclass(frozen=True, slots=True, kw_only=True)
class Patience:
    """How long clients are waited for, and how much of them there may be."""

    head_seconds: float = 20.0
    head_bytes: int = 64 * 1024
    kept_seconds: int = 30
    ping_seconds: float = 20.0
    farewell_seconds: int = 5
    connections: int = 4096


class Served:
    """A server that runs."""

    def __init__(self, server: uvicorn.Server) -> None:
        self._server = server

    @property
    def connections(self) -> int:
        """How many clients are connected."""
        return len(self._server.server_state.connections)


@asynccontextmanager
async def serve_web(app: ASGIApp, web: socket.socket, *, patience: Patience | None = None) -> AsyncGenerator[Served]:
    """Serve an application on a bound socket until the end of the block."""
    server = _Server(_config(app, patience or Patience()))
    task = asyncio.create_task(server.serve(sockets=[web]))
    while not server.started and not task.done():  # noqa: ASYNC110 - it offers nothing to wait for
        await asyncio.sleep(_START_LOOK)
    try:
        yield Served(server)
    finally:
        server.should_exit = True
        await task


def _config(app: ASGIApp, patience: Patience) -> Config:
    return Config(
        app,
        http=cast("type[asyncio.Protocol]", partial(_Connection, patience=patience)),
        ws=cast("type[asyncio.Protocol]", partial(_Socket, patience=patience)),
        ws_max_size=_LARGEST_MESSAGE,
        ws_ping_interval=patience.ping_seconds,
        ws_ping_timeout=patience.ping_seconds,
        timeout_keep_alive=patience.kept_seconds,
        timeout_graceful_shutdown=patience.farewell_seconds,
        # Who we are is told by `/healthz`; whose word to take for the caller's address is nobody's here.
        server_header=False,
        proxy_headers=False,
        log_config=None,
        access_log=False,
    )


class _Server(uvicorn.Server):
    """A server that leaves signals to the daemon."""

    @contextmanager
    def capture_signals(self) -> Generator[None]:
        yield


class _Connection(HttpToolsProtocol):
    """A connection that is closed when what it should send takes too long, or never ends."""

    def __init__(
        self,
        config: Config,
        server_state: ServerState,
        app_state: dict[str, object],
        _loop: AbstractEventLoop | None = None,
        *,
        patience: Patience,
    ) -> None:
        super().__init__(config, server_state, app_state, _loop)
        self._patience = patience
        self._late: TimerHandle | None = None
        self._head = 0
        self.url = b""
        self._active: RequestResponseCycle | None = None

    @property
    def _newest(self) -> RequestResponseCycle | None:
        # There is none before the first request, whatever its declared type says.
        return self.cycle

    def connection_made(self, transport: Transport) -> None:
        super().connection_made(transport)
        self._await_more()

    def connection_lost(self, exc: Exception | None) -> None:
        self._has_come()
        # Another request may have come in behind the one that is being answered, which is the one told otherwise.
        if self._active is not None and not self._active.response_complete:
            self._active.disconnected = True
            self._active.message_event.set()
        super().connection_lost(exc)

    def on_message_begin(self) -> None:
        super().on_message_begin()
        self._unset_keepalive_if_required()
        # The next request of a connection that is kept.
        if self._late is None:
            self._await_more()

    def on_headers_complete(self) -> None:
        self._has_come()
        super().on_headers_complete()

    def on_message_complete(self) -> None:
        super().on_message_complete()
        newest = self._newest
        if newest is not None and newest.response_complete and newest.more_body:
            # Its last part came behind the answer: only now the connection is idle.
            newest.more_body = False
            self._has_come()
            self.timeout_keep_alive_task = self.loop.call_later(
                self.timeout_keep_alive, self.timeout_keep_alive_handler
            )

    def on_response_complete(self) -> None:
        super().on_response_complete()
        if self.cycle.response_complete and self.cycle.more_body and not self.transport.is_closing():
            # Whoever was answered before all was said gets a while to finish.
            self._await_more()

    def handle_websocket_upgrade(self) -> None:
        if self._is_answering:
            self.transport.abort()
        else:
            super().handle_websocket_upgrade()

    def data_received(self, data: bytes) -> None:
        super().data_received(data)
        if self._late is not None and (self._newest is None or not self._newest.more_body):
            self._head += len(data)
            if self._head > self._patience.head_bytes and not self.transport.is_closing():
                self._refuse_head()

    def send_400_response(self, msg: str) -> None:  # noqa: ARG002 - we have words of our own
        if len(self.url) > _LONGEST_ADDRESS:
            self._refuse_head()
        else:
            self._refuse(HTTPStatus.BAD_REQUEST, "this is no HTTP request")

    @property
    def _is_answering(self) -> bool:
        return self._active is not None and not self._active.response_complete

    def _start_asgi_task(self, cycle: RequestResponseCycle, app: ASGI3Application) -> None:
        self._active = cycle
        is_crowded = len(self.connections) > self._patience.connections
        answering = cast("ASGIApp", app) if not is_crowded else _turn_away

        async def answer(scope: Scope, receive: Receive, send: Send) -> None:
            try:
                await answering(scope, receive, send)
            finally:
                if not cycle.response_complete:
                    # What is left unsaid nobody may be reading.
                    self.loop.call_later(self._patience.farewell_seconds, self.transport.abort)

        super()._start_asgi_task(cycle, cast("ASGI3Application", answer))

    def _refuse_head(self) -> None:
        self._refuse(HTTPStatus.REQUEST_HEADER_FIELDS_TOO_LARGE, "the head of the request is too large")

    def _refuse(self, status: HTTPStatus, detail: str) -> None:
        """Answer what never became a request, or the one that was broken off in its midst."""
        self._has_come()
        active = self._active
        if active is not None and self._is_answering and (active.response_started or not active.more_body):
            # It came behind a request that has its own answer; nothing more is read.
            active.keep_alive = False
            self.flow.pause_reading()
        else:
            self.transport.write(_refusal(status, detail))
            self.transport.close()

    def _await_more(self) -> None:
        self._has_come()
        self._head = 0
        self._late = self.loop.call_later(self._patience.head_seconds, self._give_up)

    def _has_come(self) -> None:
        if self._late is not None:
            self._late.cancel()
            self._late = None

    def _give_up(self) -> None:
        self._late = None
        self.transport.abort()


class _Socket(WebSocketsSansIOProtocol):
    """A WebSocket that is cut off when the application is done with it and its client reads nothing."""

    def __init__(
        self,
        config: Config,
        server_state: ServerState,
        app_state: dict[str, object],
        _loop: AbstractEventLoop | None = None,
        *,
        patience: Patience,
    ) -> None:
        super().__init__(config, server_state, app_state, _loop)
        self._patience = patience

    def data_received(self, data: bytes) -> None:
        super().data_received(data)
        if not self.handshake_initiated:
            # It has heard the whole head, and would wait for ever for another.
            self.transport.write(_refusal(HTTPStatus.BAD_REQUEST, "this is no handshake of a WebSocket"))
            self.transport.close()

    async def send(self, message: ASGISendEvent) -> None:
        await super().send(message)
        if self.close_sent:
            # Else a refusal is taken for a handshake that was never finished, and complained of in the log.
            self.handshake_complete = True

    def on_task_complete(self, task: asyncio.Task[None]) -> None:
        super().on_task_complete(task)
        self.loop.call_later(self._patience.farewell_seconds, self.transport.abort)


async def _turn_away(scope: Scope, receive: Receive, send: Send) -> None:
    crowded = Busy("too many clients are connected", hint=f"Retry after {_RETRY_AFTER} s", retry_after=_RETRY_AFTER)
    with incoming_request() as number:
        response = refusal(crowded)
        response.headers.update({"x-request-id": number, "connection": "close"})
        await response(scope, receive, send)


def _refusal(status: HTTPStatus, detail: str) -> bytes:
    number = new_request_id()
    code = status.phrase.lower().replace(" ", "_")
    body = encode_frame(problem(status, code, detail, request_id=number))
    head = (
        f"HTTP/1.1 {status.value} {status.phrase}\r\ncontent-type: {PROBLEM}\r\ncontent-length: {len(body)}\r\n"
        f"x-request-id: {number}\r\nconnection: close\r\n\r\n"
    )
    return head.encode() + body
