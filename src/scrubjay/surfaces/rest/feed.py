"""What happens in a space, as it happens: read from the log, so that nobody misses anything who comes back."""

import asyncio
from collections import Counter
from collections.abc import AsyncGenerator, AsyncIterator, Generator
from contextlib import aclosing, asynccontextmanager, contextmanager, suppress
from dataclasses import dataclass, field
from datetime import datetime

from scrubjay.errors import InvalidInput, StoreError, TooManyRequests
from scrubjay.model.change import Action, Change
from scrubjay.model.relation import Relation
from scrubjay.surfaces.rest.deps import RequestContext

_PAGE = 200
_RETRY_AFTER = 30
# Nothing is another than it was.
_UNSEEN = frozenset({Action.EMBEDDED})


@dataclass(frozen=True, slots=True, kw_only=True)
class Event:
    """One change, as its space counts them."""

    seq: int
    action: str
    id: str
    version: int
    at: datetime
    agent: str
    run: str
    relation: Relation | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Streams:
    """How many streams each caller reads."""

    most: int
    open: Counter[str] = field(default_factory=Counter[str])

    @contextmanager
    def one_more(self, caller: str) -> Generator[None]:
        """A stream of a caller; raises TooManyRequests where one caller would take the place of others."""
        if self.open[caller] >= self.most:
            raise TooManyRequests(
                f"{self.most:,} streams are open already",
                hint="Close some: one stream tells of all changes of a space",
                retry_after=_RETRY_AFTER,
            )
        self.open[caller] += 1
        try:
            yield
        finally:
            self.open[caller] -= 1
            if not self.open[caller]:
                del self.open[caller]


class Feed:
    """The changes of one space, for one reader."""

    def __init__(self, context: RequestContext, streams: Streams, *, after: int) -> None:
        self._context = context
        self._streams = streams
        self._after = after
        self._stir = asyncio.Event()
        self.is_over = False

    @classmethod
    async def of(cls, context: RequestContext, streams: Streams, *, after: int | None) -> "Feed":
        """A feed that begins behind a change that the caller knows, else with what happens from now on."""
        last = await context.dependencies.engine.store.last_place(context.who.space)
        if after is not None and after > last:
            raise InvalidInput(
                f"there have been {last:,} changes, and none with the number {after:,}",
                hint="The store may have been restored from a backup: begin again with after=0",
                field="after",
            )
        return cls(context, streams, after=last if after is None else after)

    @asynccontextmanager
    async def open(self) -> AsyncGenerator[AsyncIterator[Event | None]]:
        """The events, while the block lasts; raises what stands against it before there are any."""
        changes, space = self._context.dependencies.changes, self._context.who.space
        with self._streams.one_more(self._context.grant.id):
            async with (
                changes.subscribe(space, lambda _: self._stir.set(), on_close=self._leave),
                aclosing(self._events()) as events,
            ):
                yield events

    async def _events(self) -> AsyncGenerator[Event | None]:
        """Every change behind a place, as it happens; None now and then, when nothing does.

        It ends when the server does, when the store has been away for too long, or when the caller's token no longer
        opens the space.
        """
        try:
            async with aclosing(self._told()) as reported:
                async for event in reported:
                    yield event
        except StoreError:
            # Whoever reads comes back with the last number that it saw, here or to another server.
            self.is_over = True

    async def _told(self) -> AsyncGenerator[Event | None]:
        dependencies, space = self._context.dependencies, self._context.who.space
        while not self.is_over and await dependencies.authenticator.is_valid(self._context.grant):
            page = await dependencies.engine.store.changes_in(space, after=self._after, limit=_PAGE)
            for change in page:
                self._after = change.place
                if change.action not in _UNSEEN:
                    yield _event(change)
            if page:
                continue
            with suppress(TimeoutError):
                await asyncio.wait_for(self._stir.wait(), dependencies.beat)
            if not self._stir.is_set():
                yield None
            self._stir.clear()

    def _leave(self) -> None:
        self.is_over = True
        self._stir.set()


def _event(change: Change) -> Event:
    return Event(
        seq=change.place,
        action=change.action.value,
        id=change.memory_id,
        version=change.version,
        at=change.at,
        agent=change.agent,
        run=change.run,
        relation=change.relation,
    )
