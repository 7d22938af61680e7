"""What is written by whom, counted by space and day: one small document a day, written a little later."""

import asyncio
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from datetime import date, datetime, timedelta
from typing import Self

from scrubjay.cancelling import cancel
from scrubjay.errors import InvalidInput, StoreError
from scrubjay.health.levels import Levels, measure
from scrubjay.lookup.daily import DailyDocuments
from scrubjay.model.document import HEALTH
from scrubjay.model.health import WriteCounts, WriteNote
from scrubjay.model.memory import Json
from scrubjay.model.timestamps import parse_moment, to_iso
from scrubjay.ports import RecordStore

KEPT_DAYS = 400
"""The days that are kept of a space."""
OTHERS = "(others)"
"""Stands for the agents of a day beyond the busiest."""
_DELAY = 20.0
# Of a day, so many of the busiest agents are counted by their names: callers invent names.
_MAX_AGENTS = 50
# How old the sizes of a day may be before they are measured again.
_LEVELS_AGE = timedelta(minutes=10)


@dataclass(slots=True, kw_only=True)
class DayFigures:
    """The writes of a day, by agent, and the sizes of the space when they were last measured."""

    agents: dict[str, WriteCounts] = field(default_factory=dict[str, WriteCounts])
    levels: Levels | None = None
    measured_at: datetime | None = None
    # The last write that is counted here, and not stored yet.
    at: datetime | None = None

    @classmethod
    def from_json(cls, value: Mapping[str, Json]) -> Self:
        """Read a stored day; a damaged one has no figures."""
        agents, levels, at = (value.get(name) for name in ("agents", "levels", "measured_at"))
        try:
            measured_at = parse_moment(at, field="measured_at") if isinstance(at, str) else None
        except InvalidInput:
            measured_at = None
        return cls(
            agents={name: WriteCounts.from_json(counts) for name, counts in agents.items()}
            if isinstance(agents, dict)
            else {},
            levels=Levels.from_json(levels) if isinstance(levels, dict) else None,
            measured_at=measured_at,
        )

    @property
    def as_json(self) -> dict[str, Json]:
        """The day as it is stored."""
        agents: dict[str, Json] = {name: counts.as_json for name, counts in self.agents.items()}
        measured: dict[str, Json] = {} if self.levels is None else {"levels": self.levels.as_json}
        at: dict[str, Json] = {} if self.measured_at is None else {"measured_at": to_iso(self.measured_at)}
        return {"agents": agents, **measured, **at}

    @property
    def writes(self) -> WriteCounts:
        """The writes of all agents."""
        return total_of(self.agents.values())

    def add(self, agents: Mapping[str, WriteCounts]) -> None:
        """Count more writes; beyond the busiest, agents have no names."""
        for name, counts in agents.items():
            self.agents[name] = self.agents.get(name, WriteCounts()).plus(counts)
        if len(self.agents) > _MAX_AGENTS:
            ranked = sorted(self.agents, key=lambda name: (name == OTHERS, -self.agents[name].total))
            rest = [self.agents.pop(name) for name in ranked[_MAX_AGENTS - 1 :]]
            self.agents[OTHERS] = total_of(rest)


def total_of(counts: Iterable[WriteCounts]) -> WriteCounts:
    """Return the sum of counts."""
    total = WriteCounts()
    for each in counts:
        total = total.plus(each)
    return total


class DailyLog:
    """Counts writes in memory and writes them a little later, so that no write waits for its count."""

    def __init__(self, store: RecordStore) -> None:
        self.store = store
        self._documents = DailyDocuments(store, HEALTH)
        self._pending: dict[tuple[str, str], DayFigures] = {}
        self._task: asyncio.Task[None] | None = None
        self._writing = asyncio.Lock()

    def note(self, note: WriteNote) -> None:
        """Count a write."""
        counts = WriteCounts.of(note)
        if not counts.total:
            return
        if self._task is None:
            self._task = asyncio.get_running_loop().create_task(self._flush_later())
        day = self._pending.setdefault((note.space, note.at.date().isoformat()), DayFigures())
        day.add({note.agent: counts})
        day.at = note.at

    async def days(self, space: str, *, since: str, until: str) -> dict[str, DayFigures]:
        """Return the figures of the days since one, the oldest first, with those that are not written yet."""
        async with self._writing:
            days = {
                document.key: DayFigures.from_json(document.value)
                async for document in self._documents.all(space, since=since)
                if document.key <= until
            }
            for (place, day), figures in self._pending.items():
                if place == space and since <= day <= until:
                    days.setdefault(day, DayFigures()).add(figures.agents)
        return dict(sorted(days.items()))

    async def flush(self) -> None:
        """Write the pending counts; a store that fails now loses counts, never a fact."""
        async with self._writing:
            pending, self._pending = self._pending, {}
            for (space, day), figures in pending.items():
                try:
                    # A refused write makes no space.
                    if await self.store.last_place(space):
                        await self._write(space, day, figures)
                except StoreError:
                    continue

    async def close(self) -> None:
        """Write the rest and stop."""
        if self._task is not None:
            await cancel(self._task)
        await self.flush()

    async def _flush_later(self) -> None:
        await asyncio.sleep(_DELAY)
        self._task = None
        await self.flush()

    async def _write(self, space: str, day: str, figures: DayFigures) -> None:
        """Add the counts to the document of their day."""
        now = figures.at or datetime.fromisoformat(f"{day}T00:00:00Z")

        async def add(value: Mapping[str, Json]) -> Mapping[str, Json]:
            merged = DayFigures.from_json(value)
            merged.add(figures.agents)
            if merged.measured_at is None or now - merged.measured_at >= _LEVELS_AGE:
                merged = replace(merged, levels=await measure(space, store=self.store, now=now), measured_at=now)
            return merged.as_json

        if await self._documents.change(space, day, add, at=now):
            first = date.fromisoformat(day) - timedelta(days=KEPT_DAYS - 1)
            await self._documents.delete(space, before=first.isoformat())
