"""The frame of curation: a job plans small changes, and makes commits of them that `undo` takes back.

`runner` stores the plan, `apply` carries it out in small commits, and skips what has become stale. To add a job,
implement `CurationJob` in a module of its own, and name it in `registry`.
"""

import time
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
from dataclasses import field, replace
from datetime import datetime, timedelta
from typing import Protocol

from scrubjay.engine import Engine
from scrubjay.errors import StaleVersion
from scrubjay.lazy import dataclass
from scrubjay.lookup.references import TolerantReader
from scrubjay.model.caller import Caller
from scrubjay.model.change import Action, Origin
from scrubjay.model.curation import AGENT, PlannedChange
from scrubjay.model.memory import Memory, State
from scrubjay.model.rules import Rules
from scrubjay.ports import Commit, RecordStore, Write
from scrubjay.text.passages import passages_of

__all__ = ["DAILY", "CurationContext", "CurationJob", "PlannedChange", "Turns", "last_use"]

DAILY = timedelta(hours=24)
_PAGE = 200


# Users' requests go first after so many seconds of work.
_MAX_TURN = 0.005


async def _no_pause() -> None:
    pass


class Turns:
    """Pauses whenever work has taken a turn."""

    def __init__(self, pause: Callable[[], Awaitable[None]]) -> None:
        self._pause = pause
        self._began = time.monotonic()

    async def end_step(self) -> None:
        """End a short step of the work; others get their turn if it is time."""
        if time.monotonic() - self._began > _MAX_TURN:
            await self._pause()
            self._began = time.monotonic()


@dataclass(frozen=True, slots=True, kw_only=True)
class CurationContext:
    """What a job works with: one space, the store, and the engine with its models, its clock and its verbs.

    `origin` and `caller` carry the run, so that everything a job writes through them belongs to it. `pause` lets users'
    requests go first: call it after every page of memories, or use `Turns` for short steps. `read_ahead` holds memories
    that the runner has read for the next changes. `damaged` says by its id why a memory was left out of a plan, and
    nothing once that was reported; `notes` is what a plan says of itself as a whole.
    """

    store: RecordStore
    engine: Engine
    space: str
    run: str
    rules: Rules
    pause: Callable[[], Awaitable[None]] = _no_pause
    read_ahead: Mapping[str, Memory] = field(default_factory=dict[str, Memory], repr=False)
    damaged: dict[str, str] = field(default_factory=dict[str, str], repr=False)
    notes: list[str] = field(default_factory=list[str], repr=False)

    @property
    def now(self) -> datetime:
        """The time, by the clock of the engine."""
        return self.engine.clock.now()

    @property
    def origin(self) -> Origin:
        """The origin of a change that is made now."""
        return Origin(at=self.now, run=self.run, agent=AGENT)

    @property
    def caller(self) -> Caller:
        """The caller of the engine's verbs."""
        return Caller(space=self.space, agent=AGENT, run=self.run)

    @property
    def is_dry_run(self) -> bool:
        """Whether nothing may be stored."""
        return not self.run

    async def readable(self, ids: Sequence[str]) -> list[Memory]:
        """Return the memories that can be read, in order; the others are noted, and hinder no plan."""
        reader = TolerantReader(self.store, space=self.space)
        memories = await reader.get(ids)
        for memory_id, why in reader.problems.items():
            self.damaged.setdefault(memory_id, why)
        return memories

    async def walk(self, *, state: State | None = State.LIVE) -> AsyncIterator[list[Memory]]:
        """Yield all readable memories in a state, or in any, page by page in the order of their ids.

        A filter by facets would search the index again for every page; this reads each memory once.
        """
        after = ""
        while ids := await self.store.ids(self.space, after=after, limit=_PAGE):
            memories = [memory for memory in await self.readable(ids) if state in (None, memory.state)]
            if memories:
                yield memories
            after = ids[-1]
            await self.pause()

    async def read(self, change: PlannedChange) -> list[Memory]:
        """Return the memories of a change, in its order; raise StaleVersion if one is not as it was planned."""
        missing = [memory_id for memory_id in change.ids if memory_id not in self.read_ahead]
        current = self.read_ahead
        if missing:
            current = {**current, **await self.store.get(self.space, missing)}
        for memory_id, version in zip(change.ids, change.versions, strict=True):
            memory = current.get(memory_id)
            if memory is None or memory.version != version:
                now = "purged" if memory is None else f"at version {memory.version}"
                raise StaleVersion(f"planned for version {version}, and it is {now}", memory_id=memory_id)
        return [current[memory_id] for memory_id in change.ids]

    def revise(self, memory: Memory, *, message: str, is_update: bool = False, **fields: object) -> Write:
        """Return a write of the next version of a memory.

        With `is_update` it counts as a change of what the memory says: otherwise it stays as old as it was in lists.
        """
        # The clock may have been set back.
        now = max(self.now, memory.updated_at)
        updated_at = now if is_update else memory.updated_at
        revised = replace(memory, **{**fields, "version": memory.version + 1, "updated_at": updated_at})
        return Write(
            memory=revised, base=memory.version, action=Action.REVISED, passages=passages_of(revised), message=message,
            at=None if is_update else now,
        )  # fmt: skip

    def commit(self, *writes: Write) -> Commit:
        """Return the commit of some writes, in the name of the run."""
        return Commit(space=self.space, origin=self.origin, writes=writes)


def last_use(memory: Memory, now: datetime) -> datetime:
    """Return when a memory was last written, confirmed or read.

    A time after tomorrow comes from a wrong clock, and must not keep a memory in use for years.
    """
    moments = (memory.updated_at, memory.last_accessed, memory.last_confirmed)
    valid = [moment for moment in moments if moment is not None and moment <= now + DAILY]
    return max(valid, default=min(memory.created_at, now))


class CurationJob(Protocol):
    """One sort of care. A job keeps nothing between two calls: its plan is all that survives a kill."""

    @property
    def name(self) -> str:
        """Its name, as people type it."""
        ...

    @property
    def summary(self) -> str:
        """What it does, in one line."""
        ...

    @property
    def every(self) -> timedelta:
        """The time between two scheduled runs."""
        ...

    def plan(self, context: CurationContext) -> AsyncIterator[PlannedChange]:
        """Yield what should change now; it writes nothing. A plan made again after it was applied is empty."""
        ...

    async def apply(self, change: PlannedChange, context: CurationContext) -> Commit | str:
        """Return the commit that makes one change, or why it is skipped; an empty text if the job has made it itself.

        Several commits may become one. Read the memories with `context.read`: access counts change without a version,
        so check again what the plan concluded from them. StaleVersion and other conflicts may be raised, and count as
        skipped. After a kill a change that was committed is not applied again, but one that commits nothing may be.
        """
        ...
