"""The HTTP server: uvicorn with limits on the time and size of a request's head, on idle clients and on connections."""

import asyncio
import logging
import socket
import time
from asyncio import AbstractEventLoop, TimerHandle, Transport
from collections.abc import AsyncGenerator, Generator
from contextlib import asynccontextmanager, contextmanager
from functools import partial
from http import HTTPStatus
from itertools import chain
from typing import cast

import uvicorn
from starlette.types import ASGIApp, Message, Receive, Scope, Send
from uvicorn._types import ASGI3Application, ASGISendEvent
from uvicorn.config import Config
from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol, RequestResponseCycle
from uvicorn.protocols.websockets.websockets_sansio_impl import WebSocketsSansIOProtocol
from uvicorn.server import ServerState

from scrubjay.errors import Busy
from scrubjay.rpc.codec import PROBLEM, problem
from scrubjay.rpc.frames import encode_frame
from scrubjay.surfaces.http.auth_middleware import PUBLIC_PATHS
from scrubjay.surfaces.http.caller import caller_gone
from scrubjay.surfaces.http.limits import ACCEPTED_AT_ONCE, BACKLOG, ConnectionLimits
from scrubjay.surfaces.http.problems import error_response
from scrubjay.telemetry import incoming_request, new_request_id

_log = logging.getLogger(__name__)
_START_POLL_SECONDS = 0.005
_RETRY_AFTER = 1
# Clients send no messages on a WebSocket, only pings.
_MAX_MESSAGE_BYTES = 4096
# The parser refuses longer URLs.
_MAX_URL_BYTES = 65_535
# Connections over the limit that wait for an answer: health checks get theirs, others are asked to retry.
_SPARE_CONNECTIONS = 16
_SECONDS_BETWEEN_REPORTS = 60.0


class RunningServer:
    """A server that accepts connections."""

    def __init__(self, server: uvicorn.Server) -> None:
        self._server = server

    @property
    def connections(self) -> int:
        """The number of connected clients."""
        return len(self._server.server_state.connections)


@asynccontextmanager
async def serve_http(
    app: ASGIApp, listener: socket.socket, *, limits: ConnectionLimits | None = None
) -> AsyncGenerator[RunningServer]:
    """Serve an application on a bound socket until the end of the block."""
    server = _Server(_config(app, limits or ConnectionLimits()))
    task = asyncio.create_task(server.serve(sockets=[listener]))
    while not server.started and not task.done():  # noqa: ASYNC110 - uvicorn has no event to wait for
        await asyncio.sleep(_START_POLL_SECONDS)
    # The server has made its queue as short as the number that it accepts at once.
    listener.listen(BACKLOG)
    try:
        yield RunningServer(server)
    finally:
        server.should_exit = True
        await task


def _config(app: ASGIApp, limits: ConnectionLimits) -> Config:
    return Config(
        app,
        http=cast("type[asyncio.Protocol]", partial(_HttpConnection, limits=limits, idle=_IdleConnections())),
        ws=cast("type[asyncio.Protocol]", partial(_WebSocketConnection, limits=limits)),
        ws_max_size=_MAX_MESSAGE_BYTES,
        ws_ping_interval=limits.ping_seconds,
        ws_ping_timeout=limits.ping_seconds,
        timeout_keep_alive=limits.keep_alive_seconds,
        timeout_graceful_shutdown=limits.close_seconds,
        backlog=ACCEPTED_AT_ONCE,
        # `/healthz` gives the version; no proxy's header is trusted for the client's address.
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


class _IdleConnections:
    """The connections without a request, from which the oldest make room for new ones."""

    def __init__(self) -> None:
        # Those that have been used come after those that never were. Dictionaries keep their order.
        self._unused: dict[_HttpConnection, None] = {}
        self._used: dict[_HttpConnection, None] = {}
        self._closed = 0
        self._next_report = 0.0

    def add(self, connection: "_HttpConnection", *, used: bool) -> None:
        """Add a connection that waits for a request from now on; one that is here keeps its place."""
        if connection not in self._unused and connection not in self._used:
            (self._used if used else self._unused)[connection] = None

    def remove(self, connection: "_HttpConnection") -> None:
        """Remove a connection that got a request, or that is closed."""
        self._unused.pop(connection, None)
        self._used.pop(connection, None)

    def close_oldest(self, *, before: "_HttpConnection") -> bool:
        """Close the connection that has been idle for longest; return whether there was one besides the newest."""
        oldest = next((each for each in chain(self._unused, self._used) if each is not before), None)
        if oldest is None:
            return False
        self.remove(oldest)
        oldest.transport.abort()
        self.report()
        return True

    def report(self) -> None:
        """Count a connection that was closed for lack of room, and log the number once a minute."""
        self._closed += 1
        if (now := time.monotonic()) >= self._next_report:
            self._next_report = now + _SECONDS_BETWEEN_REPORTS
            _log.warning(
                "too many connections; the oldest idle ones are closed", extra={"fields": {"closed": self._closed}}
            )
            self._closed = 0


class _HttpConnection(HttpToolsProtocol):
    """A connection that is closed if a request's head, or the rest of its body, takes too long or is too large."""

    def __init__(
        self,
        config: Config,
        server_state: ServerState,
        app_state: dict[str, object],
        _loop: AbstractEventLoop | None = None,
        *,
        limits: ConnectionLimits,
        idle: _IdleConnections,
    ) -> None:
        super().__init__(config, server_state, app_state, _loop)
        self._limits = limits
        self._idle = idle
        self._timer: TimerHandle | None = None
        self._head_size = 0
        self.url = b""
        self._active: RequestResponseCycle | None = None
        self._gone: asyncio.Future[None] = self.loop.create_future()

    @property
    def _newest(self) -> RequestResponseCycle | None:
        # It is None before the first request, although uvicorn's annotation does not say so.
        return self.cycle

    def connection_made(self, transport: Transport) -> None:
        super().connection_made(transport)
        self._start_timer()
        self._idle.add(self, used=False)
        if (
            self._is_over_limit()
            and not self._idle.close_oldest(before=self)
            and self._is_over_limit(_SPARE_CONNECTIONS)
        ):
            self._idle.report()
            transport.abort()

    def connection_lost(self, exc: Exception | None) -> None:
        self._stop_timer()
        self._idle.remove(self)
        self._gone.set_result(None)
        # uvicorn notifies only the newest request, but with pipelining an earlier one may still be active.
        if self._active is not None and not self._active.response_complete:
            self._active.disconnected = True
            self._active.message_event.set()
        super().connection_lost(exc)

    def on_message_begin(self) -> None:
        super().on_message_begin()
        self._unset_keepalive_if_required()
        # This is the next request of a connection that was kept alive.
        if self._timer is None:
            self._start_timer()

    def on_headers_complete(self) -> None:
        self._stop_timer()
        super().on_headers_complete()

    def on_message_complete(self) -> None:
        super().on_message_complete()
        newest = self._newest
        if newest is not None and newest.response_complete and newest.more_body:
            # The body ended after the response: the connection is idle from now on.
            newest.more_body = False
            self._stop_timer()
            self.timeout_keep_alive_task = self.loop.call_later(
                self.timeout_keep_alive, self.timeout_keep_alive_handler
            )

    def on_response_complete(self) -> None:
        super().on_response_complete()
        if self.cycle.response_complete and self.cycle.more_body and not self.transport.is_closing():
            # The response came before the end of the body; the client gets limited time for the rest.
            self._start_timer()
        if not self._is_responding and not self.transport.is_closing():
            self._idle.add(self, used=True)

    def handle_websocket_upgrade(self) -> None:
        self._idle.remove(self)
        if self._is_responding:
            self.transport.abort()
        else:
            super().handle_websocket_upgrade()

    def data_received(self, data: bytes) -> None:
        super().data_received(data)
        if self._timer is not None and (self._newest is None or not self._newest.more_body):
            self._head_size += len(data)
            if self._head_size > self._limits.head_bytes and not self.transport.is_closing():
                self._refuse_head()

    def send_400_response(self, msg: str) -> None:  # noqa: ARG002 - the response has its own text
        if len(self.url) > _MAX_URL_BYTES:
            self._refuse_head()
        else:
            self._refuse(HTTPStatus.BAD_REQUEST, "this is not an HTTP request")

    @property
    def _is_responding(self) -> bool:
        return self._active is not None and not self._active.response_complete

    def _start_asgi_task(self, cycle: RequestResponseCycle, app: ASGI3Application) -> None:
        self._active = cycle
        is_public = cycle.scope["path"] in PUBLIC_PATHS
        if not is_public:
            # Without a token no one can keep a connection from being idle, for example by reading no response.
            self._idle.remove(self)
        application = _refuse_busy if self._is_over_limit() and not is_public else cast("ASGIApp", app)
        joined = _JoinedWrites(self.transport)
        cycle.transport = cast("Transport", joined)

        async def respond(scope: Scope, receive: Receive, send: Send) -> None:
            async def send_joined(message: Message) -> None:
                joined.holds = _has_length(message)
                await send(message)

            caller_gone.set(self._gone)
            try:
                await application(scope, receive, send_joined)
            finally:
                joined.flush()
                if not cycle.response_complete:
                    # The client may have stopped reading.
                    self.loop.call_later(self._limits.close_seconds, self.transport.abort)

        super()._start_asgi_task(cycle, cast("ASGI3Application", respond))

    def _is_over_limit(self, spare: int = 0) -> bool:
        return len(self.connections) > self._limits.connections + spare

    def _refuse_head(self) -> None:
        self._refuse(HTTPStatus.REQUEST_HEADER_FIELDS_TOO_LARGE, "the URL and the headers are too long")

    def _refuse(self, status: HTTPStatus, detail: str) -> None:
        """Answer bytes that are not a request, or a request that breaks off."""
        self._stop_timer()
        active = self._active
        if active is not None and self._is_responding and (active.response_started or not active.more_body):
            # An earlier request still gets its own response; nothing more is read.
            active.keep_alive = False
            self.flow.pause_reading()
        else:
            self.transport.write(_raw_response(status, detail))
            self.transport.close()

    def _start_timer(self) -> None:
        self._stop_timer()
        self._head_size = 0
        self._timer = self.loop.call_later(self._limits.head_seconds, self._time_out)

    def _stop_timer(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None

    def _time_out(self) -> None:
        self._timer = None
        self.transport.abort()


class _JoinedWrites:
    """The transport of a response whose head waits for the body: each write costs the server, and wakes the client."""

    def __init__(self, transport: Transport) -> None:
        self._transport = transport
        self._held = b""
        self.holds = False

    def write(self, data: bytes) -> None:
        """Send data after what is held, or hold it."""
        self._held += data
        if not self.holds:
            self.flush()

    def flush(self) -> None:
        """Send what is held."""
        if self._held:
            held, self._held = self._held, b""
            self._transport.write(held)

    def close(self) -> None:
        """Send what is held, and close the connection."""
        self.flush()
        self._transport.close()

    def is_closing(self) -> bool:
        """Whether the connection is closed or closing."""
        return self._transport.is_closing()


class _WebSocketConnection(WebSocketsSansIOProtocol):
    """A WebSocket that is aborted if its client reads nothing after the application has finished."""

    def __init__(
        self,
        config: Config,
        server_state: ServerState,
        app_state: dict[str, object],
        _loop: AbstractEventLoop | None = None,
        *,
        limits: ConnectionLimits,
    ) -> None:
        super().__init__(config, server_state, app_state, _loop)
        self._limits = limits

    def data_received(self, data: bytes) -> None:
        super().data_received(data)
        if not self.handshake_initiated:
            # The whole head has been read, and uvicorn would wait for more for ever.
            self.transport.write(_raw_response(HTTPStatus.BAD_REQUEST, "this is not a WebSocket handshake"))
            self.transport.close()

    async def send(self, message: ASGISendEvent) -> None:
        await super().send(message)
        if self.close_sent:
            # Without this, uvicorn logs a refusal as a handshake that was not completed.
            self.handshake_complete = True

    def on_task_complete(self, task: asyncio.Task[None]) -> None:
        super().on_task_complete(task)
        self.loop.call_later(self._limits.close_seconds, self.transport.abort)


async def _refuse_busy(scope: Scope, receive: Receive, send: Send) -> None:
    busy = Busy("too many clients are connected", hint=f"Retry after {_RETRY_AFTER} s", retry_after=_RETRY_AFTER)
    with incoming_request() as request_id:
        response = error_response(busy)
        response.headers.update({"x-request-id": request_id, "connection": "close"})
        await response(scope, receive, send)


def _has_length(message: Message) -> bool:
    """Whether a message is the head of a response whose body follows at once, and not bit by bit."""
    return any(name == b"content-length" for name, _ in message.get("headers", ()))


def _raw_response(status: HTTPStatus, detail: str) -> bytes:
    request_id = new_request_id()
    code = status.phrase.lower().replace(" ", "_")
    body = encode_frame(problem(status, code, detail, request_id=request_id))
    head = (
        f"HTTP/1.1 {status.value} {status.phrase}\r\ncontent-type: {PROBLEM}\r\ncontent-length: {len(body)}\r\n"
        f"x-request-id: {request_id}\r\nconnection: close\r\n\r\n"
    )
    return head.encode() + body
