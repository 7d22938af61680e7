"""HTTP beside the socket: the verbs, MCP and REST, all behind one door."""

import asyncio
from collections.abc import AsyncIterator

from starlette.applications import Starlette
from starlette.middleware import Middleware
from starlette.requests import ClientDisconnect, Request
from starlette.responses import Response, StreamingResponse
from starlette.routing import Route
from starlette.types import ASGIApp

from scrubjay.errors import NotAllowed
from scrubjay.model.grant import Grant
from scrubjay.rpc.codec import error_to_json, problem
from scrubjay.rpc.frames import PROTOCOL_HEADER, Frame, decode_frame, encode_frame, require_same_protocol
from scrubjay.rpc.names import ALL_SPACES_ONLY, LONG, OWNER_ONLY
from scrubjay.surfaces.daemon.rpc_dispatch import Call, Counter, call_from, told
from scrubjay.surfaces.http.auth_middleware import AuthMiddleware, RequestPolicy, grant_of
from scrubjay.surfaces.http.body import UploadBuffer, split_lines
from scrubjay.surfaces.http.problems import error_response, problem_response
from scrubjay.telemetry import request_id

_WAITING_FRAMES = 64
_GONE = 499
_NOT_ALLOWED = 405


def web_app(counter: Counter, *, policy: RequestPolicy, rest: ASGIApp, agents: ASGIApp) -> Starlette:
    """Everything that is served over HTTP, behind the door."""

    async def call(request: Request) -> Response:
        try:
            return await _call(request, counter)
        except ClientDisconnect:
            return Response(status_code=_GONE)
        except Exception as error:  # noqa: BLE001 - the edge of the surface
            return error_response(told(error, verb=request.path_params["verb"]))

    app = Starlette(
        routes=[
            Route("/call/{verb}", call, methods=["POST"]),
            Route("/mcp", endpoint=agents),
            Route("/mcp/{toolset}", endpoint=agents),
        ],
        middleware=[Middleware(AuthMiddleware, policy=policy)],
        exception_handlers={_NOT_ALLOWED: _not_so},
    )
    app.router.redirect_slashes = False
    app.router.default = rest
    return app


async def _not_so(_: Request, __: Exception) -> Response:
    refused = problem(_NOT_ALLOWED, "method_not_allowed", "a verb is called by POST", request_id=request_id.get())
    return problem_response(refused, headers={"allow": "POST"})


async def _call(request: Request, counter: Counter) -> Response:
    verb = request.path_params["verb"]
    if (spoken := request.headers.get(PROTOCOL_HEADER)) is not None:
        require_same_protocol({"protocol": int(spoken) if spoken.isdecimal() else None}, other="client")
    grant = grant_of(request.scope)
    _require_open(verb, grant)
    # An import brings lines behind the first, and they are not taken from whoever may not bring any.
    lines = split_lines(request.stream()) if verb == "import_" else None
    first = await request.body() if lines is None else await anext(lines, b"")
    call = call_from(verb, decode_frame(first or b"{}"), grant=grant)
    spool = UploadBuffer()
    if lines is not None:
        await spool.read_from(lines)
    if verb in LONG:
        return StreamingResponse(_long(call, counter, spool), media_type="application/x-ndjson")
    result = await counter.serve(call, tell=lambda _: None, flow=_at_once)
    return Response(encode_frame({"result": result}), media_type="application/json")


def _require_open(verb: str, grant: Grant) -> None:
    if verb in OWNER_ONLY:
        raise NotAllowed(
            f"{verb} is for the owner, and whoever comes by HTTP may be anyone",
            hint="Run it on the machine itself: `scrubjay --help`",
            verb=verb,
        )
    if verb in ALL_SPACES_ONLY and not grant.allows_all_spaces:
        raise NotAllowed(
            f"{verb} is about the whole store, and not all spaces are open to you",
            hint="Ask for a token that opens every space",
            verb=verb,
        )


async def _at_once() -> None:
    return None


async def _long(call: Call, counter: Counter, spool: UploadBuffer) -> AsyncIterator[bytes]:
    """Frames of something that takes long, while it is being done."""
    frames: asyncio.Queue[Frame | None] = asyncio.Queue()
    room = asyncio.Event()

    async def flow() -> None:
        while frames.qsize() > _WAITING_FRAMES:
            room.clear()
            await room.wait()

    async def work() -> None:
        try:
            frames.put_nowait({"result": await counter.serve(call, tell=frames.put_nowait, flow=flow, spool=spool)})
        except Exception as error:  # noqa: BLE001 - the edge of the surface
            frames.put_nowait({"error": error_to_json(told(error, verb=call.verb))})
        finally:
            frames.put_nowait(None)

    task = asyncio.create_task(work())
    try:
        while (frame := await frames.get()) is not None:
            room.set()
            yield encode_frame(frame)
    finally:
        task.cancel()
