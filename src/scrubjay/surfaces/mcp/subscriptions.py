"""Change notifications over MCP: subscriptions of a persistent connection, and streams that a client opens."""

import asyncio
from collections.abc import AsyncGenerator, Awaitable, Callable, Mapping
from contextlib import AsyncExitStack, asynccontextmanager

from mcp.server.context import ServerRequestContext
from mcp.server.session import ServerSession
from mcp.server.subscriptions import ListenHandler, ResourcesListChanged, ResourceUpdated, ServerEvent
from mcp_types import SubscriptionsListenRequestParams, SubscriptionsListenResult

from scrubjay.cancelling import cancel
from scrubjay.errors import StoreError, TooLarge
from scrubjay.surfaces.changes import ChangeBroadcaster, SpaceChange

StillAllowed = Callable[[], Awaitable[bool]]
"""Whether a client may still receive changes."""

ALL_MEMORIES = ""
"""The id to watch for all memories of a space."""

_MAX_URIS = 1_000
# A busy store changes all the time: changes within this interval are sent together.
_PAUSE = 0.25


class Subscriptions:
    """The resources that the client of one persistent connection watches, and the notifications still to send."""

    def __init__(self) -> None:
        self._watched: dict[str, str] = {}
        self._updated: dict[str, None] = {}
        self._list_changed = False
        self._wake = asyncio.Event()
        self._session: ServerSession | None = None
        self._stack = AsyncExitStack()

    @classmethod
    @asynccontextmanager
    async def open(cls) -> AsyncGenerator["Subscriptions"]:
        """Keep subscriptions for as long as the connection lasts."""
        subscriptions = cls()
        task = asyncio.create_task(subscriptions._send_updates())
        try:
            yield subscriptions
        finally:
            await subscriptions._stack.aclose()
            await cancel(task)

    async def attach(self, session: ServerSession, changes: ChangeBroadcaster, *, space: str) -> None:
        """Start to send the changes of a space to an initialized client."""
        if self._session is None:
            self._session = session
            await self._stack.enter_async_context(changes.subscribe(space, self._notify))

    def watch(self, uri: str, memory_id: str) -> None:
        """Send changes of this memory, under the URI that the client used."""
        if len(self._watched) >= _MAX_URIS:
            raise TooLarge(
                f"this connection watches {_MAX_URIS:,} resources already",
                hint="Unsubscribe from some",
                limit=_MAX_URIS,
            )
        self._watched[uri] = memory_id

    def unwatch(self, uri: str) -> None:
        """Stop sending changes of a resource."""
        self._watched.pop(uri, None)

    def _notify(self, change: SpaceChange) -> None:
        self._list_changed = self._list_changed or change.listed
        self._updated |= dict.fromkeys(_changed_uris(self._watched, change))
        self._wake.set()

    async def _send_updates(self) -> None:
        """Send the collected updates. A client that reads slowly gets one update for many changes."""
        while True:
            await self._wake.wait()
            self._wake.clear()
            assert self._session is not None
            if self._list_changed:
                self._list_changed = False
                await self._session.send_resource_list_changed()
            while self._updated:
                uri = next(iter(self._updated))
                del self._updated[uri]
                await self._session.send_resource_updated(uri)
            await asyncio.sleep(_PAUSE)


async def listen(
    ctx: ServerRequestContext[Subscriptions],
    params: SubscriptionsListenRequestParams,
    *,
    changes: ChangeBroadcaster,
    space: str,
    watched: Mapping[str, str],
    still_allowed: StillAllowed,
    caller: str = "",
) -> SubscriptionsListenResult:
    """Serve one stream of changes until the client leaves or is no longer allowed to receive them.

    `watched` maps the URIs of the request to memories.
    """
    bus = _EventBus(watched)
    handler = ListenHandler(bus)
    notifications = params.notifications.model_copy(update={"resource_subscriptions": list(watched)})
    subscription = changes.subscribe(space, bus.collect, on_close=handler.close, caller=caller)
    async with subscription, bus.delivery(still_allowed, on_close=handler.close):
        return await handler(ctx, params.model_copy(update={"notifications": notifications}))


class _EventBus:
    """Turns changes of memories into the events of one stream."""

    def __init__(self, watched: Mapping[str, str]) -> None:
        self._watched = watched
        self._pending: list[SpaceChange] = []
        self._wake = asyncio.Event()
        self._send: Callable[[ServerEvent], None] = lambda _: None

    def collect(self, change: SpaceChange) -> None:
        self._pending.append(change)
        self._wake.set()

    @asynccontextmanager
    async def delivery(self, still_allowed: StillAllowed, *, on_close: Callable[[], None]) -> AsyncGenerator[None]:
        """Deliver events while the client is allowed to receive them; then call `on_close`."""
        task = asyncio.create_task(self._deliver(still_allowed, on_close))
        try:
            yield
        finally:
            await cancel(task)

    async def _deliver(self, still_allowed: StillAllowed, on_close: Callable[[], None]) -> None:
        while await self._wake.wait():
            self._wake.clear()
            try:
                is_allowed = await still_allowed()
            except StoreError:
                # End the stream instead of falling silent: the client opens another one.
                is_allowed = False
            if not is_allowed:
                on_close()
                return
            changes, self._pending = self._pending, []
            for event in [event for change in changes for event in self._events(change)]:
                self._send(event)

    def _events(self, change: SpaceChange) -> list[ServerEvent]:
        events: list[ServerEvent] = [ResourcesListChanged()] if change.listed else []
        return [*events, *(ResourceUpdated(uri=uri) for uri in _changed_uris(self._watched, change))]

    async def publish(self, event: ServerEvent) -> None:
        self._send(event)

    def subscribe(self, listener: Callable[[ServerEvent], None]) -> Callable[[], None]:
        self._send = listener

        def unsubscribe() -> None:
            self._send = lambda _: None

        return unsubscribe


def _changed_uris(watched: Mapping[str, str], change: SpaceChange) -> list[str]:
    return [uri for uri, memory_id in watched.items() if memory_id == ALL_MEMORIES or memory_id in change.ids]
