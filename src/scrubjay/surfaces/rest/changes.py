"""The changes of a space as they happen: server-sent events, or messages on a WebSocket.

Events come from the log of changes, so a client that reconnects continues after the last change that it received.
"""

import asyncio
import json
from collections import Counter
from collections.abc import AsyncGenerator, AsyncIterator, Coroutine, Generator
from contextlib import aclosing, asynccontextmanager, contextmanager, suppress
from dataclasses import field
from datetime import datetime
from typing import Annotated

from fastapi import Header, Query, Request, Response, WebSocket
from fastapi.responses import StreamingResponse
from starlette.types import Receive, Scope, Send
from starlette.websockets import WebSocketDisconnect

from scrubjay.cancelling import cancel
from scrubjay.errors import InvalidInput, StoreError, TooManyRequests
from scrubjay.lazy import dataclass
from scrubjay.model.change import Action, Change
from scrubjay.model.relation import Relation
from scrubjay.rpc.codec import to_json
from scrubjay.surfaces.rest.deps import OneSpaceContext, RequestContext
from scrubjay.surfaces.rest.route import router

routes = router("changes")
_STREAM = "text/event-stream"
_After = Annotated[
    int | None,
    Query(
        ge=0,
        le=(1 << 63) - 1,
        description="Start after this change; 0 starts with the first. Default: only new changes.",
        examples=[16],
    ),
]
_GOING_AWAY = 1001
_POLICY_VIOLATION = 1008
_PAGE_SIZE = 200
_RETRY_AFTER = 30
# Embedding does not change a memory.
_HIDDEN_ACTIONS = frozenset({Action.EMBEDDED})


@routes.get(
    "/changes",
    summary="Stream changes",
    response_class=StreamingResponse,
    responses={
        200: {
            "description": "Server-sent events. `id` is the number of the change, `data` a JSON object.",
            # No schema: some tools apply it to the stream, others to each event.
            "content": {_STREAM: {}},
        }
    },
)
async def changes(
    request: Request,
    context: OneSpaceContext,
    after: _After = None,
    last: Annotated[
        str,
        Header(
            alias="Last-Event-ID",
            max_length=30,
            description="The last event that a client received before it reconnects.",
            json_schema_extra={"pattern": "^[0-9]*$"},
        ),
    ] = "",
) -> Response:
    """Stream every change of one space with its number. The same path accepts WebSockets."""
    if last and not (last.isascii() and last.isdecimal()):
        raise InvalidInput(f"Last-Event-ID must be a number, not {last!r}", field="Last-Event-ID")
    limiter: StreamLimiter = request.app.state.streams
    feed = await ChangeFeed.start(context, limiter, after=int(last) if last else after)
    return EventStream(feed, send_seconds=context.dependencies.send_seconds)


@routes.websocket("/changes")
async def changes_by_websocket(socket: WebSocket, context: OneSpaceContext, after: _After = None) -> None:
    """Send the same events as JSON messages."""
    limiter: StreamLimiter = socket.app.state.streams
    send_seconds = context.dependencies.send_seconds
    feed = await ChangeFeed.start(context, limiter, after=after)
    async with feed.open() as events:
        await socket.accept()
        await _run_until_first(_send_messages(socket, events, send_seconds), _wait_for_close(socket))
        # A client that does not read would not read the close message either.
        with suppress(TimeoutError, WebSocketDisconnect, RuntimeError):
            async with asyncio.timeout(send_seconds):
                await socket.close(_GOING_AWAY if feed.is_closed else _POLICY_VIOLATION)


@dataclass(frozen=True, slots=True, kw_only=True)
class ChangeEvent:
    """One change, with its number in the space."""

    seq: int
    action: str
    id: str
    version: int
    at: datetime
    agent: str
    run: str
    relation: Relation | None


@dataclass(frozen=True, slots=True, kw_only=True)
class StreamLimiter:
    """Limits the number of streams that each caller has open."""

    max_streams: int
    open: Counter[str] = field(default_factory=Counter[str])

    @contextmanager
    def count(self, caller: str) -> Generator[None]:
        """Count one stream of a caller during the block; raise TooManyRequests above the limit."""
        if self.open[caller] >= self.max_streams:
            raise TooManyRequests(
                f"you have {self.max_streams:,} open streams, which is the limit",
                hint="Close some: one stream carries all changes of a space",
                retry_after=_RETRY_AFTER,
            )
        self.open[caller] += 1
        try:
            yield
        finally:
            self.open[caller] -= 1
            if not self.open[caller]:
                del self.open[caller]


class ChangeFeed:
    """The changes of one space, for one reader."""

    def __init__(self, context: RequestContext, limiter: StreamLimiter, *, after: int) -> None:
        self._context = context
        self._limiter = limiter
        self._after = after
        self._wake = asyncio.Event()
        self.is_closed = False

    @classmethod
    async def start(cls, context: RequestContext, limiter: StreamLimiter, *, after: int | None) -> "ChangeFeed":
        """Return a feed that starts after a change, or with the next change."""
        last = await context.dependencies.engine.change_log.last_place(context.who.space)
        if after is not None and after > last:
            raise InvalidInput(
                f"the last change has the number {last:,}, so none has the number {after:,}",
                hint="The store may have been restored from a backup: start again with after=0",
                field="after",
            )
        return cls(context, limiter, after=last if after is None else after)

    @asynccontextmanager
    async def open(self) -> AsyncGenerator[AsyncIterator[ChangeEvent | None]]:
        """Give the events during the block; raise an error before the first event if the feed cannot start."""
        broadcaster, space = self._context.dependencies.changes, self._context.who.space
        with self._limiter.count(self._context.grant.id):
            async with (
                broadcaster.subscribe(space, lambda _: self._wake.set(), on_close=self._close),
                aclosing(self._events()) as events,
            ):
                yield events

    async def _events(self) -> AsyncGenerator[ChangeEvent | None]:
        """Yield every change as it happens, and None at intervals without one.

        The feed ends when the server stops, when the store is unavailable for too long, or when the caller's token no
        longer allows the space.
        """
        try:
            async with aclosing(self._read_log()) as events:
                async for event in events:
                    yield event
        except StoreError:
            # The client reconnects, here or to another server, and continues after its last event.
            self.is_closed = True

    async def _read_log(self) -> AsyncGenerator[ChangeEvent | None]:
        dependencies, space = self._context.dependencies, self._context.who.space
        while not self.is_closed and await dependencies.authenticator.is_valid(self._context.grant):
            page = await dependencies.engine.change_log.changes_in(space, after=self._after, limit=_PAGE_SIZE)
            for change in page:
                self._after = change.place
                if change.action not in _HIDDEN_ACTIONS:
                    yield _event(change)
            if page:
                continue
            with suppress(TimeoutError):
                await asyncio.wait_for(self._wake.wait(), dependencies.heartbeat_seconds)
            if not self._wake.is_set():
                yield None
            self._wake.clear()

    def _close(self) -> None:
        self.is_closed = True
        self._wake.set()


class EventStream(Response):
    """Server-sent events until the client disconnects or stops reading."""

    media_type = _STREAM

    def __init__(self, feed: ChangeFeed, *, send_seconds: float) -> None:
        super().__init__(headers={"cache-control": "no-store", "x-accel-buffering": "no"})
        del self.headers["content-length"]
        self._feed = feed
        self._send_seconds = send_seconds

    async def __call__(self, _: Scope, receive: Receive, send: Send) -> None:
        """Send the events."""
        async with self._feed.open() as events:
            await send({"type": "http.response.start", "status": 200, "headers": self.raw_headers})
            await _run_until_first(self._send_events(events, send), _wait_for_disconnect(receive))

    async def _send_events(self, events: AsyncIterator[ChangeEvent | None], send: Send) -> None:
        await send({"type": "http.response.body", "body": b": hello\n\n", "more_body": True})
        with suppress(TimeoutError):
            async for event in events:
                text = f"id: {event.seq}\ndata: {_to_text(event)}\n\n" if event else ": nothing new\n\n"
                async with asyncio.timeout(self._send_seconds):
                    await send({"type": "http.response.body", "body": text.encode(), "more_body": True})
            await send({"type": "http.response.body", "body": b"", "more_body": False})


async def _send_messages(socket: WebSocket, events: AsyncIterator[ChangeEvent | None], send_seconds: float) -> None:
    """Send events until there are no more, or the client stops reading."""
    with suppress(TimeoutError, WebSocketDisconnect):
        async for event in events:
            if event is not None:
                async with asyncio.timeout(send_seconds):
                    await socket.send_text(_to_text(event))


async def _wait_for_close(socket: WebSocket) -> None:
    """Ignore messages of a client until it disconnects."""
    while (await socket.receive())["type"] != "websocket.disconnect":
        continue


async def _wait_for_disconnect(receive: Receive) -> None:
    while (await receive())["type"] != "http.disconnect":
        continue


def _event(change: Change) -> ChangeEvent:
    return ChangeEvent(
        seq=change.place,
        action=change.action.value,
        id=change.memory_id,
        version=change.version,
        at=change.at,
        agent=change.agent,
        run=change.run,
        relation=change.relation,
    )


def _to_text(event: ChangeEvent) -> str:
    return json.dumps(to_json(event), ensure_ascii=False)


async def _run_until_first(*works: Coroutine[object, object, None]) -> None:
    """Run several coroutines until one of them ends, and cancel the others."""
    tasks = [asyncio.create_task(work) for work in works]
    try:
        done, _ = await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
        for task in done:
            task.result()
    finally:
        await cancel(*tasks)
