"""What happens in a space, as it happens: read from the log, so that nobody misses anything who comes back."""

import asyncio
from collections import Counter
from collections.abc import AsyncGenerator, AsyncIterator
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field
from datetime import datetime

from scrubjay.errors import InvalidInput, TooManyRequests
from scrubjay.model.change import Action, Change
from scrubjay.model.relation import Relation
from scrubjay.surfaces.rest.house import Visit

_PAGE = 200
_STREAMS_EACH = 64
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


@dataclass(frozen=True, slots=True)
class Streams:
    """How many streams each caller reads."""

    open: Counter[str] = field(default_factory=Counter[str])

    @asynccontextmanager
    async def one_more(self, caller: str) -> AsyncGenerator[None]:
        """A stream of a caller; raises TooManyRequests where one caller would take the place of others."""
        if self.open[caller] >= _STREAMS_EACH:
            raise TooManyRequests(
                f"{_STREAMS_EACH} streams are open already",
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


async def starting_place(visit: Visit, after: int | None) -> int:
    """Where a stream begins: behind a change that the caller knows, else with what happens from now on."""
    last = await visit.house.engine.store.last_place(visit.who.space)
    if after is not None and after > last:
        raise InvalidInput(
            f"there have been {last:,} changes, and none with the number {after:,}",
            hint="The store may have been restored from a backup: begin again with after=0",
            field="after",
        )
    return last if after is None else after


async def events(visit: Visit, *, after: int, beat: float) -> AsyncIterator[Event | None]:
    """Every change behind a place, as it happens; None now and then, when nothing does.

    It ends when the server does, or when the caller's token no longer opens the space.
    """
    stir, over = asyncio.Event(), asyncio.Event()

    def leave() -> None:
        over.set()
        stir.set()

    store = visit.house.engine.store
    async with visit.house.changes.listening(visit.who.space, lambda _: stir.set(), leave=leave):
        while not over.is_set() and await visit.house.doorman.still(visit.grant):
            page = await store.changes_in(visit.who.space, after=after, limit=_PAGE)
            for change in page:
                after = change.place
                if change.action not in _UNSEEN:
                    yield _event(change)
            if page:
                continue
            with suppress(TimeoutError):
                await asyncio.wait_for(stir.wait(), beat)
            if not stir.is_set():
                yield None
            stir.clear()


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
