"""Change notifications over MCP: what a lasting connection has subscribed to, and streams that a client opens."""

import asyncio
from collections.abc import AsyncGenerator, Awaitable, Callable, Mapping
from contextlib import AsyncExitStack, asynccontextmanager

from mcp.server.context import ServerRequestContext
from mcp.server.session import ServerSession
from mcp.server.subscriptions import ListenHandler, ResourcesListChanged, ResourceUpdated, ServerEvent
from mcp_types import SubscriptionsListenRequestParams, SubscriptionsListenResult

from scrubjay.errors import StoreError, TooLarge
from scrubjay.surfaces.changes import ChangeBroadcaster, Changed

Holds = Callable[[], Awaitable[bool]]
"""Whether somebody may still hear of changes."""

EVERYTHING = ""
"""Stands for all memories of a space where the id of one is watched."""

_MOST_URIS = 1_000
# A busy store changes all the time: what changes within this is told at once.
_PAUSE = 0.25


class Wire:
    """One lasting connection: the resources its client watches, and what is still to be told."""

    def __init__(self) -> None:
        self._watched: dict[str, str] = {}
        self._updated: dict[str, None] = {}
        self._listed = False
        self._stir = asyncio.Event()
        self._session: ServerSession | None = None
        self._stack = AsyncExitStack()

    @classmethod
    @asynccontextmanager
    async def open(cls) -> AsyncGenerator["Wire"]:
        """A wire for as long as the connection lasts."""
        wire = cls()
        task = asyncio.create_task(wire._tell())
        try:
            yield wire
        finally:
            await wire._stack.aclose()
            task.cancel()
            await asyncio.gather(task, return_exceptions=True)

    async def attach(self, session: ServerSession, changes: ChangeBroadcaster, *, space: str) -> None:
        """The client is ready to be told of changes in its space."""
        if self._session is None:
            self._session = session
            await self._stack.enter_async_context(changes.listening(space, self._hear))

    def watch(self, uri: str, memory_id: str) -> None:
        """Tell of changes of this memory, by the name under which it was asked for."""
        if len(self._watched) >= _MOST_URIS:
            raise TooLarge(
                f"{_MOST_URIS:,} resources are watched already", hint="Unsubscribe from some", limit=_MOST_URIS
            )
        self._watched[uri] = memory_id

    def unwatch(self, uri: str) -> None:
        """Tell no more of it."""
        self._watched.pop(uri, None)

    def _hear(self, changed: Changed) -> None:
        self._listed = self._listed or changed.listed
        self._updated |= dict.fromkeys(_touched(self._watched, changed))
        self._stir.set()

    async def _tell(self) -> None:
        """Send what has gathered. A client that reads slowly is told once of many changes, not often of each."""
        while True:
            await self._stir.wait()
            self._stir.clear()
            assert self._session is not None
            if self._listed:
                self._listed = False
                await self._session.send_resource_list_changed()
            while self._updated:
                uri = next(iter(self._updated))
                del self._updated[uri]
                await self._session.send_resource_updated(uri)
            await asyncio.sleep(_PAUSE)


async def listen(
    ctx: ServerRequestContext[Wire],
    params: SubscriptionsListenRequestParams,
    *,
    changes: ChangeBroadcaster,
    space: str,
    watched: Mapping[str, str],
    holds: Holds,
    caller: str = "",
) -> SubscriptionsListenResult:
    """Serve one stream of changes until the client leaves, or may not hear of them any more.

    `watched` are the memories behind the URIs that it names.
    """
    bus = _Bus(watched)
    handler = ListenHandler(bus)
    own = params.notifications.model_copy(update={"resource_subscriptions": list(watched)})
    hearing = changes.listening(space, bus.hear, leave=handler.close, caller=caller)
    async with hearing, bus.telling(holds, leave=handler.close):
        return await handler(ctx, params.model_copy(update={"notifications": own}))


class _Bus:
    """Turns changes of memories into the events of the one stream that reads from it."""

    def __init__(self, watched: Mapping[str, str]) -> None:
        self._watched = watched
        self._heard: list[Changed] = []
        self._stir = asyncio.Event()
        self._deliver: Callable[[ServerEvent], None] = lambda _: None

    def hear(self, changed: Changed) -> None:
        self._heard.append(changed)
        self._stir.set()

    @asynccontextmanager
    async def telling(self, holds: Holds, *, leave: Callable[[], None]) -> AsyncGenerator[None]:
        """Pass on what is heard, as long as the listener may hear it; then `leave` is called."""
        task = asyncio.create_task(self._tell(holds, leave))
        try:
            yield
        finally:
            task.cancel()
            await asyncio.gather(task, return_exceptions=True)

    async def _tell(self, holds: Holds, leave: Callable[[], None]) -> None:
        while await self._stir.wait():
            self._stir.clear()
            try:
                may_hear = await holds()
            except StoreError:
                # It ends rather than fall silent: whoever listens comes back.
                may_hear = False
            if not may_hear:
                leave()
                return
            heard, self._heard = self._heard, []
            for event in [event for changed in heard for event in self._events(changed)]:
                self._deliver(event)

    def _events(self, changed: Changed) -> list[ServerEvent]:
        listed: list[ServerEvent] = [ResourcesListChanged()] if changed.listed else []
        return [*listed, *(ResourceUpdated(uri=uri) for uri in _touched(self._watched, changed))]

    async def publish(self, event: ServerEvent) -> None:
        self._deliver(event)

    def subscribe(self, listener: Callable[[ServerEvent], None]) -> Callable[[], None]:
        self._deliver = listener

        def leave() -> None:
            self._deliver = lambda _: None

        return leave


def _touched(watched: Mapping[str, str], changed: Changed) -> list[str]:
    """The addresses of what has changed."""
    return [uri for uri, memory_id in watched.items() if memory_id == EVERYTHING or memory_id in changed.ids]
