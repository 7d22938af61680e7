"""Notifications of changed memories. They follow the store's log, so they include the changes of other processes."""

import asyncio
from collections.abc import AsyncGenerator, Callable, Iterable
from contextlib import AsyncExitStack, asynccontextmanager, suppress
from types import TracebackType
from typing import Self

from scrubjay.cancelling import cancel
from scrubjay.errors import Busy, StoreError, TooManyRequests
from scrubjay.lazy import dataclass
from scrubjay.model.change import Action, Change
from scrubjay.ports import ChangeLog
from scrubjay.ports.cluster import ClusterStore, settled_position

_POLL_SECONDS = 1.0
_PAGE = 500
_MAX_SUBSCRIBERS = 1_024
_MAX_PER_CALLER = 64
_RETRY_AFTER = 30
# The stream of a client that does not read ends later.
_CLOSE_SECONDS = 2.0
# These change no memory, nor its place in the list.
_IGNORED = frozenset({Action.EMBEDDED})
# These change memories, but not the list of them.
_UNLISTED = frozenset({Action.RELATED, Action.UNRELATED})


@dataclass(frozen=True, slots=True, kw_only=True)
class SpaceChange:
    """The memories of a space that changed, and whether the list of them changed too."""

    ids: frozenset[str]
    listed: bool


Notify = Callable[[SpaceChange], None]


@dataclass(frozen=True, slots=True, eq=False)
class _Subscriber:
    space: str
    notify: Notify
    on_close: Callable[[], None] | None = None
    caller: str = ""


class ChangeBroadcaster:
    """Broadcasts the changes of one store. Use it as an async context manager; it polls while it has subscribers."""

    def __init__(
        self, log: ChangeLog, *, seconds: float = _POLL_SECONDS, purged: Callable[[], None] = lambda: None
    ) -> None:
        self._log = log
        self._seconds = seconds
        self._purged = purged
        self._cluster = AsyncExitStack()
        self._after = 0
        self._polling = asyncio.Lock()
        self._wake = asyncio.Event()
        self._left = asyncio.Event()
        self._is_closing = False
        self._subscribers: set[_Subscriber] = set()
        self._task: asyncio.Task[None] | None = None

    async def __aenter__(self) -> Self:
        if isinstance(self._log, ClusterStore):
            await self._cluster.enter_async_context(self._log.listening(self.nudge, purged=self._purged))
        self._task = asyncio.create_task(self._follow())
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.close()
        if self._task is not None:
            await cancel(self._task)
        await self._cluster.aclose()

    @asynccontextmanager
    async def subscribe(
        self, space: str, notify: Notify, *, on_close: Callable[[], None] | None = None, caller: str = ""
    ) -> AsyncGenerator[None]:
        """Call `notify` for each change of a space from now on, and `on_close` when no more will come.

        A named `caller` has a limit of simultaneous subscriptions, so that it cannot take them all.
        """
        if len(self._subscribers) >= _MAX_SUBSCRIBERS:
            raise Busy(
                f"{_MAX_SUBSCRIBERS:,} clients are subscribed already",
                hint="Retry later, or poll from time to time",
                retry_after=_RETRY_AFTER,
            )
        if caller and sum(subscriber.caller == caller for subscriber in self._subscribers) >= _MAX_PER_CALLER:
            raise TooManyRequests(
                f"{_MAX_PER_CALLER} streams are open already", hint="Close some", retry_after=_RETRY_AFTER
            )
        subscriber = _Subscriber(space, notify, on_close, caller)
        async with self._polling:
            if not self._subscribers:
                self._after = await settled_position(self._log)
            if self._is_closing and on_close is not None:
                raise Busy("the server is stopping", hint="Connect again", retry_after=_RETRY_AFTER)
            self._subscribers.add(subscriber)
        try:
            yield
        finally:
            self._subscribers.discard(subscriber)
            self._left.set()

    def nudge(self) -> None:
        """Poll at once: this server or another one has written something."""
        self._wake.set()

    def publish(self, space: str, change: SpaceChange) -> None:
        """Notify all subscribers of a space."""
        for subscriber in [subscriber for subscriber in self._subscribers if subscriber.space == space]:
            subscriber.notify(change)

    async def poll(self) -> None:
        """Read the new entries of the log and publish them."""
        async with self._polling:
            while self._subscribers:
                page = await self._log.changes(after=self._after, limit=_PAGE)
                if not page:
                    return
                self._after = page[-1].seq
                for space in dict.fromkeys(change.space for change in page):
                    self._publish_page(space, [change for change in page if change.space == space])

    async def close(self) -> None:
        """Tell all subscribers that no more changes will come, and wait until their streams have ended."""
        self._is_closing = True
        streams: list[_Subscriber] = []
        for subscriber in list(self._subscribers):
            if subscriber.on_close is not None:
                subscriber.on_close()
                streams.append(subscriber)
        with suppress(TimeoutError):
            async with asyncio.timeout(_CLOSE_SECONDS):
                while not self._subscribers.isdisjoint(streams):
                    self._left.clear()
                    await self._left.wait()

    def _publish_page(self, space: str, changes: Iterable[Change]) -> None:
        visible = [change for change in changes if change.action not in _IGNORED]
        if not visible:
            return
        ids = {change.memory_id for change in visible}
        relations = [change.relation for change in visible if change.relation]
        ids |= {end for relation in relations for end in (relation.source, relation.target)}
        listed = any(change.action not in _UNLISTED for change in visible)
        self.publish(space, SpaceChange(ids=frozenset(ids), listed=listed))

    async def _follow(self) -> None:
        while True:
            with suppress(TimeoutError):
                async with asyncio.timeout(self._seconds):
                    await self._wake.wait()
            self._wake.clear()
            # The next poll reads what an unavailable store withholds now: subscribers lose only time.
            with suppress(StoreError):
                await self.poll()
