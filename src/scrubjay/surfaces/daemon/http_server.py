"""The HTTP side of the daemon: its routes for RPC, MCP and REST."""

import asyncio
import socket
from collections.abc import AsyncGenerator, AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import field, replace
from typing import TYPE_CHECKING

from starlette.applications import Starlette
from starlette.middleware import Middleware
from starlette.requests import ClientDisconnect, Request
from starlette.responses import Response, StreamingResponse
from starlette.routing import Route
from starlette.types import ASGIApp

from scrubjay.auth.authenticator import Authenticator
from scrubjay.auth.rate_limit import RateLimiter
from scrubjay.auth.rate_limit_shared import SharedRateLimiter
from scrubjay.errors import NotAllowed
from scrubjay.lazy import dataclass
from scrubjay.model.caller import Grant
from scrubjay.observability.prometheus import Metrics
from scrubjay.ports import RecordStore
from scrubjay.ports.cluster import ClusterStore
from scrubjay.rpc.codec import error_to_json, find_verb, problem
from scrubjay.rpc.frames import PROTOCOL_HEADER, Frame, decode_frame, encode_frame, require_same_protocol
from scrubjay.settings import Settings
from scrubjay.surfaces.daemon.http_access import host_names, make_authenticator
from scrubjay.surfaces.daemon.lazy import make_on_demand, open_on_demand
from scrubjay.surfaces.daemon.logs import log_access
from scrubjay.surfaces.daemon.mcp_sessions import McpSessions, load_protocol
from scrubjay.surfaces.daemon.rpc_dispatch import RpcCall, RpcDispatcher, parse_call, public_error
from scrubjay.surfaces.http.address import ALL_INTERFACES, LOOPBACK
from scrubjay.surfaces.http.auth_middleware import AuthMiddleware, OriginCheck, RequestPolicy, RequestRecord, grant_of
from scrubjay.surfaces.http.body import BodyReader, split_lines
from scrubjay.surfaces.http.browser_session import HOME, PREFIX
from scrubjay.surfaces.http.limits import ConnectionLimits
from scrubjay.surfaces.http.problems import error_response, is_json, not_declared_as_json, problem_response
from scrubjay.surfaces.http.server import RunningServer, serve_http
from scrubjay.surfaces.http.upload import UploadBuffer
from scrubjay.telemetry import request_id

if TYPE_CHECKING:
    from scrubjay.surfaces.rest.deps import RestDependencies

_MAX_WAITING_FRAMES = 64
_GONE = 499
_METHOD_NOT_ALLOWED = 405


@dataclass(frozen=True, slots=True, kw_only=True)
class HttpServer:
    """Everything that the daemon serves over HTTP."""

    dispatcher: RpcDispatcher
    store: RecordStore
    mcp_sessions: McpSessions
    metrics: Metrics
    settings: Settings
    limits: ConnectionLimits = field(default_factory=ConnectionLimits)
    heartbeat_seconds: float = 15.0
    send_seconds: float = 10.0

    @asynccontextmanager
    async def open(self, listener: socket.socket) -> AsyncGenerator[RunningServer]:
        """Serve on a bound socket."""
        authenticator = await make_authenticator(self.dispatcher.engine, self.store, self.settings, listener)
        async with self.serve(listener, authenticator) as server:
            yield server

    @asynccontextmanager
    async def serve(self, listener: socket.socket, authenticator: Authenticator) -> AsyncGenerator[RunningServer]:
        """Serve on a bound socket those whom the authenticator admits."""
        host, port = listener.getsockname()[:2]
        async with (
            # Each takes as long to load as half of the daemon, and many daemons serve only the socket.
            make_on_demand(lambda: self._rest(authenticator)) as rest,
            make_on_demand(lambda: self._dashboard(authenticator)) as dashboard,
            open_on_demand(load_protocol, lambda: self.mcp_sessions.http_site(authenticator.is_valid)) as mcp,
        ):
            policy = self._policy(authenticator, host, port)
            app = http_app(self.dispatcher, policy=policy, rest=rest, mcp=mcp, dashboard=dashboard)
            async with serve_http(app, listener, limits=self.limits) as server:
                self.metrics.clients("http", lambda: server.connections)
                yield server

    def _rest(self, authenticator: Authenticator) -> ASGIApp:
        from scrubjay.surfaces.rest.app import make_rest_app  # noqa: PLC0415

        return make_rest_app(self._dependencies(authenticator))

    def _dashboard(self, authenticator: Authenticator) -> ASGIApp:
        from scrubjay.surfaces.dashboard.app import make_dashboard  # noqa: PLC0415

        return make_dashboard(self._dependencies(authenticator), authenticator)

    def _dependencies(self, authenticator: Authenticator) -> "RestDependencies":
        from scrubjay.surfaces.rest.deps import RestDependencies  # noqa: PLC0415

        return RestDependencies(
            engine=self.dispatcher.engine, notes=self.dispatcher.notes, gate=self.dispatcher.limiter,
            changes=self.mcp_sessions.changes, authenticator=authenticator, metrics=self.metrics,
            space=self.settings.space, heartbeat_seconds=self.heartbeat_seconds, send_seconds=self.send_seconds,
        )  # fmt: skip

    def _policy(self, authenticator: Authenticator, host: str, port: int) -> RequestPolicy:
        store, per_minute = self.store, self.settings.requests_per_minute
        is_shared = isinstance(store, ClusterStore)
        hosts = (*LOOPBACK, *host_names(self.settings), *(() if host in ALL_INTERFACES else (host,)))
        return RequestPolicy(
            origin_check=OriginCheck(hosts=hosts, port=port, any_address=host in ALL_INTERFACES),
            authenticator=authenticator,
            rate_limiter=SharedRateLimiter(store, per_minute) if is_shared else RateLimiter(per_minute),
            body_reader=BodyReader(seconds=self.settings.operation_seconds),
            body_bytes=self.settings.max_body_bytes,
            record=self._record,
        )

    def _record(self, record: RequestRecord) -> None:
        self.metrics.http(route=record.route, method=record.method, status=record.status, seconds=record.seconds)
        log_access(
            method=record.method, route=record.route, status=record.status, seconds=record.seconds, token=record.token
        )


def http_app(
    dispatcher: RpcDispatcher, *, policy: RequestPolicy, rest: ASGIApp, mcp: ASGIApp, dashboard: ASGIApp
) -> Starlette:
    """Return the application with all routes, behind the authentication."""

    async def call(request: Request) -> Response:
        try:
            return await _call(request, dispatcher)
        except ClientDisconnect:
            return Response(status_code=_GONE)
        except Exception as error:  # noqa: BLE001 - the edge of the surface
            return error_response(public_error(error, verb=request.path_params["verb"]))

    app = Starlette(
        routes=[
            Route("/call/{verb}", call, methods=["POST"]),
            Route("/mcp", endpoint=mcp),
            Route("/mcp/{toolset}", endpoint=mcp),
            Route(HOME, endpoint=dashboard),
            Route(f"{PREFIX}/{{page:path}}", endpoint=dashboard),
        ],
        middleware=[Middleware(AuthMiddleware, policy=policy)],
        exception_handlers={_METHOD_NOT_ALLOWED: _method_not_allowed},
    )
    app.router.redirect_slashes = False
    app.router.default = rest
    return app


async def _method_not_allowed(_: Request, __: Exception) -> Response:
    document = problem(_METHOD_NOT_ALLOWED, "method_not_allowed", "call a verb with POST", request_id=request_id.get())
    return problem_response(document, headers={"allow": "POST"})


async def _call(request: Request, dispatcher: RpcDispatcher) -> Response:
    verb = request.path_params["verb"]
    content_type, protocol = request.headers.get("content-type", ""), request.headers.get(PROTOCOL_HEADER)
    if protocol is not None:
        version = request.headers.get("user-agent", "").removeprefix("scrubjay/")
        greeting: Frame = {"protocol": int(protocol) if protocol.isdecimal() else None, "scrubjay": version}
        require_same_protocol(greeting, other="client")
    grant = grant_of(request.scope)
    _require_open(verb, grant)
    # The lines of an import follow the first one; they are read only after the caller's rights are checked.
    lines = split_lines(request.stream()) if verb == "import" else None
    first = await request.body() if lines is None else await anext(lines, b"")
    # A page can send a body without a content type, but not our own header, which clients of earlier versions send.
    if not is_json(content_type) and (content_type or (first and protocol is None)):
        return not_declared_as_json(content_type)
    call = replace(parse_call(verb, decode_frame(first or b"{}"), grant=grant), over_http=True)
    upload = dispatcher.new_upload()
    if lines is not None:
        await upload.read_from(lines)
    if find_verb(verb).long:
        return StreamingResponse(_stream(call, dispatcher, upload), media_type="application/x-ndjson")
    result = await dispatcher.dispatch(call, send=lambda _: None, drain=_no_wait)
    return Response(encode_frame({"result": result}), media_type="application/json")


def _require_open(verb: str, grant: Grant) -> None:
    declared = find_verb(verb)
    grant.access.require(declared.needs, verb=verb)
    if declared.all_spaces and not grant.allows_all_spaces:
        raise NotAllowed(
            f"{verb} concerns the whole store, and your token is limited to some spaces",
            hint="Ask for a token for all spaces",
            verb=verb,
        )


async def _no_wait() -> None:
    return None


async def _stream(call: RpcCall, dispatcher: RpcDispatcher, upload: UploadBuffer) -> AsyncIterator[bytes]:
    """Yield the frames of a long call while it runs."""
    frames: asyncio.Queue[Frame | None] = asyncio.Queue()
    has_room = asyncio.Event()

    async def drain() -> None:
        while frames.qsize() > _MAX_WAITING_FRAMES:
            has_room.clear()
            await has_room.wait()

    async def work() -> None:
        try:
            result = await dispatcher.dispatch(call, send=frames.put_nowait, drain=drain, upload=upload)
            frames.put_nowait({"result": result})
        except Exception as error:  # noqa: BLE001 - the edge of the surface
            frames.put_nowait({"error": error_to_json(public_error(error, verb=call.verb).without_places())})
        finally:
            frames.put_nowait(None)

    task = asyncio.create_task(work())
    try:
        while (frame := await frames.get()) is not None:
            has_room.set()
            yield encode_frame(frame)
    finally:
        task.cancel()
