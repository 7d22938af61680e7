"""HTTP beside the socket: the verbs, MCP, and whether the daemon is well."""

import asyncio
from collections.abc import AsyncIterator, Sequence

from starlette.applications import Starlette
from starlette.middleware import Middleware
from starlette.requests import ClientDisconnect, Request
from starlette.responses import JSONResponse, Response, StreamingResponse
from starlette.routing import BaseRoute, Route
from starlette.types import Lifespan

from scrubjay.errors import NotAllowed, ScrubjayError, TooLarge, codes_of
from scrubjay.remote.frames import PROTOCOL_HEADER, Frame, decoded, encoded, require_same_protocol
from scrubjay.remote.shapes import plain_error
from scrubjay.remote.verbs import LONG
from scrubjay.surfaces.daemon.calls import Call, Counter, Spool, call_from, told
from scrubjay.surfaces.daemon.guard import Guard
from scrubjay.version import VERSION

_WAITING_FRAMES = 64
# What leads out of the store is for its owner, who comes by the socket.
_HERE_ONLY = frozenset({"backup"})
_GONE = 499
_LARGEST_BODY = 16 * 1024 * 1024


def web_app(
    counter: Counter,
    *,
    hosts: Sequence[str],
    port: int,
    more: Sequence[BaseRoute] = (),
    lifespan: Lifespan[Starlette] | None = None,
) -> Starlette:
    """Everything that is served over HTTP, behind the guard."""

    async def call(request: Request) -> Response:
        try:
            return await _call(request, counter)
        except ClientDisconnect:
            return Response(status_code=_GONE)
        except Exception as error:  # noqa: BLE001 - the edge of the surface
            return _problem(told(error, verb=request.path_params["verb"]))

    routes = [Route("/healthz", _health), Route("/call/{verb}", call, methods=["POST"]), *more]
    return Starlette(routes=routes, middleware=[Middleware(Guard, hosts=hosts, port=port)], lifespan=lifespan)


async def _health(_: Request) -> Response:
    return JSONResponse({"ok": True, "scrubjay": VERSION})


async def _call(request: Request, counter: Counter) -> Response:
    verb = request.path_params["verb"]
    if (spoken := request.headers.get(PROTOCOL_HEADER)) is not None:
        require_same_protocol({"protocol": int(spoken) if spoken.isdecimal() else None}, other="client")
    if verb in _HERE_ONLY:
        raise NotAllowed(
            f"{verb} writes a file on this machine, and whoever comes by HTTP may be anyone",
            hint="On the machine itself: scrubjay backup create FILE",
            verb=verb,
        )
    first, spool = await _body(request, verb)
    call = call_from(verb, first)
    if verb in LONG:
        return StreamingResponse(_long(call, counter, spool), media_type="application/x-ndjson")
    result = await counter.serve(call, tell=lambda _: None, flow=_at_once)
    return Response(encoded({"result": result}), media_type="application/json")


async def _at_once() -> None:
    return None


async def _long(call: Call, counter: Counter, spool: Spool) -> AsyncIterator[bytes]:
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
            frames.put_nowait({"error": plain_error(told(error, verb=call.verb))})
        finally:
            frames.put_nowait(None)

    task = asyncio.create_task(work())
    try:
        while (frame := await frames.get()) is not None:
            room.set()
            yield encoded(frame)
    finally:
        task.cancel()


async def _body(request: Request, verb: str) -> tuple[Frame, Spool]:
    """What is asked; an import brings lines behind the first."""
    spool = Spool()
    if verb == "import_":
        return await _first_line(request, spool), spool
    body = bytearray()
    async for chunk in request.stream():
        body += chunk
        if len(body) > _LARGEST_BODY:
            raise TooLarge(f"the body is larger than {_LARGEST_BODY:,} bytes", limit=_LARGEST_BODY)
    return decoded(bytes(body) or b"{}"), spool


async def _first_line(request: Request, spool: Spool) -> Frame:
    """The first line of a body; the others go into the spool."""
    first: Frame | None = None
    rest = b""
    async for chunk in request.stream():
        *lines, rest = (rest + chunk).split(b"\n")
        if len(rest) > _LARGEST_BODY:
            raise TooLarge(f"a line of the body is longer than {_LARGEST_BODY:,} bytes", limit=_LARGEST_BODY)
        if first is None and lines:
            first = decoded(lines.pop(0))
        spool.add(lines)
    if first is None:
        return decoded(rest or b"{}")
    spool.add([rest] if rest else [])
    return first


def _problem(error: ScrubjayError) -> Response:
    headers = {"retry-after": str(error.fields["retry_after"])} if "retry_after" in error.fields else {}
    return JSONResponse({"error": plain_error(error)}, status_code=codes_of(error).http, headers=headers)
