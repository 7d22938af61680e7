"""A stream of changes: server-sent events, and the same over a WebSocket."""

import asyncio
import json
from typing import Annotated

from fastapi import Header, Query, Request, Response, WebSocket
from starlette.types import Receive, Scope, Send
from starlette.websockets import WebSocketDisconnect

from scrubjay.errors import InvalidInput, ScrubjayError
from scrubjay.remote.shapes import plain
from scrubjay.surfaces.rest import examples
from scrubjay.surfaces.rest.feed import Event, Streams, events, starting_place
from scrubjay.surfaces.rest.house import Space, Visit, Watching, watching
from scrubjay.surfaces.rest.route import router
from scrubjay.surfaces.web.problems import refusal

routes = router("changes")
_STREAM = "text/event-stream"
_BEAT = 15.0
# Whoever reads nothing for so long is not reading.
_PATIENCE = 10.0
_AFTER = Annotated[
    int | None,
    Query(ge=0, le=(1 << 63) - 1, description="Begin behind this change; 0 is the very first. Default: from now on."),
]
_GOING_AWAY = 1001
_POLICY = 1008


@routes.get(
    "/changes",
    summary="Changes as they happen",
    response_class=Response,
    responses={200: {"description": "Server-sent events", "content": {_STREAM: {"example": examples.EVENT}}}},
)
async def changes(
    request: Request,
    visit: Watching,
    after: _AFTER = None,
    last: Annotated[
        str, Header(alias="Last-Event-ID", max_length=30, description="What a client sends that comes back.")
    ] = "",
) -> Response:
    """Every change of one space, numbered as the space counts them; the same path speaks WebSocket."""
    if last and not last.isdecimal():
        raise InvalidInput(f"Last-Event-ID must be a number, not {last!r}", field="Last-Event-ID")
    begin = await starting_place(visit, int(last) if last else after)
    streams: Streams = request.app.state.streams
    return _EventStream(visit, streams, after=begin)


@routes.websocket("/changes")
async def changes_by_websocket(socket: WebSocket, after: _AFTER = None, space: Space = "") -> None:
    """The same as messages of JSON."""
    streams: Streams = socket.app.state.streams
    try:
        visit = await watching(socket, space)
        begin = await starting_place(visit, after)
    except ScrubjayError as error:
        await socket.send_denial_response(refusal(error))
        return
    async with streams.one_more(visit.grant.id):
        await socket.accept()
        code = await _tell(socket, visit, begin)
        await socket.close(code)


async def _tell(socket: WebSocket, visit: Visit, after: int) -> int:
    """Send events until somebody leaves; returns why, as WebSockets count it."""
    listening = asyncio.create_task(_listen(socket))
    try:
        async for event in events(visit, after=after, beat=_BEAT):
            if listening.done():
                return _GOING_AWAY
            if event is not None:
                async with asyncio.timeout(_PATIENCE):
                    await socket.send_text(json.dumps(plain(event), ensure_ascii=False))
    except (WebSocketDisconnect, TimeoutError, RuntimeError):
        return _POLICY
    finally:
        listening.cancel()
    return _GOING_AWAY


async def _listen(socket: WebSocket) -> None:
    """Nothing that a client says matters, but that it hangs up."""
    while (await socket.receive())["type"] != "websocket.disconnect":
        continue


class _EventStream(Response):
    """Server-sent events until the client leaves, or stops reading."""

    media_type = _STREAM

    def __init__(self, visit: Visit, streams: Streams, *, after: int) -> None:
        super().__init__(headers={"cache-control": "no-store", "x-accel-buffering": "no"})
        del self.headers["content-length"]
        self._visit = visit
        self._streams = streams
        self._after = after

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Send what happens."""
        try:
            async with self._streams.one_more(self._visit.grant.id):
                await send({"type": "http.response.start", "status": 200, "headers": self.raw_headers})
                sending = asyncio.create_task(self._send(send))
                leaving = asyncio.create_task(_left(receive))
                await asyncio.wait({sending, leaving}, return_when=asyncio.FIRST_COMPLETED)
                for task in (sending, leaving):
                    task.cancel()
                await asyncio.gather(sending, leaving, return_exceptions=True)
        except ScrubjayError as error:
            await refusal(error)(scope, receive, send)

    async def _send(self, send: Send) -> None:
        await send({"type": "http.response.body", "body": b": hello\n\n", "more_body": True})
        async for event in events(self._visit, after=self._after, beat=_BEAT):
            async with asyncio.timeout(_PATIENCE):
                await send({"type": "http.response.body", "body": _written(event), "more_body": True})
        await send({"type": "http.response.body", "body": b"", "more_body": False})


def _written(event: Event | None) -> bytes:
    if event is None:
        return b": nothing new\n\n"
    return f"id: {event.seq}\ndata: {json.dumps(plain(event), ensure_ascii=False)}\n\n".encode()


async def _left(receive: Receive) -> None:
    while (await receive())["type"] != "http.disconnect":
        continue
