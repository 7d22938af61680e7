"""A stream of changes: server-sent events, and the same over a WebSocket."""

import asyncio
import json
from collections.abc import AsyncIterator, Coroutine
from contextlib import suppress
from typing import Annotated

from fastapi import Header, Query, Request, Response, WebSocket
from fastapi.responses import StreamingResponse
from starlette.types import Receive, Scope, Send
from starlette.websockets import WebSocketDisconnect

from scrubjay.errors import InvalidInput
from scrubjay.rpc.codec import to_json
from scrubjay.surfaces.rest import examples
from scrubjay.surfaces.rest.deps import RequestContext, Watching
from scrubjay.surfaces.rest.feed import Event, Feed, Streams
from scrubjay.surfaces.rest.route import router

routes = router("changes")
_STREAM = "text/event-stream"
_AFTER = Annotated[
    int | None,
    Query(
        ge=0,
        le=(1 << 63) - 1,
        description="Begin behind this change; 0 is the very first. Default: from now on.",
        examples=[16],
    ),
]
_GOING_AWAY = 1001
_POLICY = 1008


@routes.get(
    "/changes",
    summary="Changes as they happen",
    response_class=StreamingResponse,
    responses={
        200: {
            "description": "Server-sent events. `id` is the number of the change, `data` a JSON object.",
            # No schema: some take it for that of the stream, and others for that of each event.
            "content": {_STREAM: {"example": examples.EVENT}},
        }
    },
)
async def changes(
    request: Request,
    context: Watching,
    after: _AFTER = None,
    last: Annotated[
        str,
        Header(
            alias="Last-Event-ID",
            max_length=30,
            description="What a client sends that comes back.",
            json_schema_extra={"pattern": "^[0-9]*$"},
        ),
    ] = "",
) -> Response:
    """Every change of one space, numbered as the space counts them; the same path speaks WebSocket."""
    if last and not (last.isascii() and last.isdecimal()):
        raise InvalidInput(f"Last-Event-ID must be a number, not {last!r}", field="Last-Event-ID")
    streams: Streams = request.app.state.streams
    feed = await Feed.of(context, streams, after=int(last) if last else after)
    return _EventStream(feed, patience=context.dependencies.patience)


@routes.websocket("/changes")
async def changes_by_websocket(socket: WebSocket, context: Watching, after: _AFTER = None) -> None:
    """The same as messages of JSON."""
    streams: Streams = socket.app.state.streams
    feed = await Feed.of(context, streams, after=after)
    async with feed.open() as events:
        await socket.accept()
        await _first_of(_tell(socket, events, context), _hung_up(socket))
        # Whoever does not read would not read the farewell either.
        with suppress(TimeoutError, WebSocketDisconnect, RuntimeError):
            async with asyncio.timeout(context.dependencies.patience):
                await socket.close(_GOING_AWAY if feed.is_over else _POLICY)


async def _tell(socket: WebSocket, events: AsyncIterator[Event | None], context: RequestContext) -> None:
    """Send events until there are no more, or nobody reads them."""
    with suppress(TimeoutError, WebSocketDisconnect):
        async for event in events:
            if event is not None:
                async with asyncio.timeout(context.dependencies.patience):
                    await socket.send_text(_json(event))


async def _hung_up(socket: WebSocket) -> None:
    """Nothing that a client says matters, but that it hangs up."""
    while (await socket.receive())["type"] != "websocket.disconnect":
        continue


class _EventStream(Response):
    """Server-sent events until the client leaves, or stops reading."""

    media_type = _STREAM

    def __init__(self, feed: Feed, *, patience: float) -> None:
        super().__init__(headers={"cache-control": "no-store", "x-accel-buffering": "no"})
        del self.headers["content-length"]
        self._feed = feed
        self._patience = patience

    async def __call__(self, _: Scope, receive: Receive, send: Send) -> None:
        """Send what happens."""
        async with self._feed.open() as events:
            await send({"type": "http.response.start", "status": 200, "headers": self.raw_headers})
            await _first_of(self._send(events, send), _left(receive))

    async def _send(self, events: AsyncIterator[Event | None], send: Send) -> None:
        await send({"type": "http.response.body", "body": b": hello\n\n", "more_body": True})
        with suppress(TimeoutError):
            async for event in events:
                async with asyncio.timeout(self._patience):
                    await send({"type": "http.response.body", "body": _written(event), "more_body": True})
            await send({"type": "http.response.body", "body": b"", "more_body": False})


def _written(event: Event | None) -> bytes:
    return f"id: {event.seq}\ndata: {_json(event)}\n\n".encode() if event else b": nothing new\n\n"


def _json(event: Event) -> str:
    return json.dumps(to_json(event), ensure_ascii=False)


async def _left(receive: Receive) -> None:
    while (await receive())["type"] != "http.disconnect":
        continue


async def _first_of(*works: Coroutine[object, object, None]) -> None:
    """Do several things until one of them is done, and give up the others."""
    tasks = [asyncio.create_task(work) for work in works]
    try:
        done, _ = await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
        for task in done:
            task.result()
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
