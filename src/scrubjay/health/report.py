"""`health`: the figures of spaces and of the store, and the alerts about them."""

import asyncio
import shutil
from collections.abc import Awaitable, Callable, Mapping
from datetime import datetime, timedelta
from pathlib import Path

from scrubjay.errors import EmbeddingUnavailable, NotAllowed, ScrubjayError
from scrubjay.health.alerts import MAX_UNEMBEDDED, alerts_of_server, alerts_of_space
from scrubjay.health.daily import DailyLog, DayFigures, total_of
from scrubjay.health.latency import LatencyLog, latencies_of
from scrubjay.health.levels import FLOW, curation_runs, measure, tier_flow
from scrubjay.health.watch import AlertWatch
from scrubjay.lazy import dataclass
from scrubjay.lookup.daily import DailyDocuments
from scrubjay.model.caller import Caller
from scrubjay.model.checks import require_integer
from scrubjay.model.document import LLM_USE
from scrubjay.model.health import (
    AgentHealth,
    Alert,
    HealthDay,
    HealthReport,
    LlmUsage,
    ServerDay,
    ServerHealth,
    SpaceHealth,
    Thresholds,
    WriteCounts,
    share,
)
from scrubjay.model.memory import State, Tier
from scrubjay.model.requests import HealthRequest
from scrubjay.ports import Clock, Embedder, Llm, RecordStore

_MAX_KINDS = 50
_MAX_AGENTS = 50
_WEEK = 7
# How often the passages of a space that changes all the time are compared with its vectors.
_SURVEY_AGE = timedelta(minutes=1)


@dataclass(frozen=True, slots=True, kw_only=True)
class HealthSources:
    """What the figures are read from."""

    store: RecordStore
    embedder: Embedder
    clock: Clock
    data: Path
    lag: Callable[[], Awaitable[int]]
    llm: Llm | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class _Survey:
    """How many memories of a space had no vector of a model, at a place of the space's log."""

    place: int
    model: str
    at: datetime
    count: int


class HealthReporter:
    """Reports the health of a memory, and remembers what is costly to count. A daemon sets the counts of `latency`."""

    def __init__(self, daily: DailyLog, *, thresholds: Thresholds | None = None) -> None:
        self.daily = daily
        self.thresholds = thresholds or Thresholds()
        self.watch = AlertWatch()
        self.latency = LatencyLog(daily.store)
        self._surveys: dict[str, _Survey] = {}

    async def health(self, request: HealthRequest, *, who: Caller, sources: HealthSources) -> HealthReport:
        """Return the figures of the caller's space, or of all spaces, and the alerts about them."""
        require_integer(request.days, field="days")
        if request.all_spaces and not who.any_space:
            raise NotAllowed(
                "you may not use all spaces", hint="Ask for the health of your space", field="all_spaces"
            )  # fmt: skip
        since = _day_before(sources.clock.now(), request.days - 1)
        # The space without a name holds documents of the whole store.
        names = filter(None, await sources.store.spaces()) if request.all_spaces else [who.space]
        spaces: list[SpaceHealth] = []
        alerts: list[Alert] = []
        for name in names:
            space, recent = await self._space(name, since=since, sources=sources)
            spaces.append(space)
            alerts += alerts_of_space(space, recent=recent, thresholds=self.thresholds)
        server = await self._server(who.space, since=since, sources=sources) if who.any_space else None
        if server is not None:
            alerts = [*alerts_of_server(server, thresholds=self.thresholds), *alerts]
        return HealthReport(
            since=since, spaces=tuple(sorted(spaces, key=lambda space: (-space.total, space.space))), server=server,
            alerts=self.watch.dated(alerts),
        )  # fmt: skip

    async def _space(self, name: str, *, since: str, sources: HealthSources) -> tuple[SpaceHealth, WriteCounts]:
        """Return the figures of a space, and its writes of the last week."""
        store, now = sources.store, sources.clock.now()
        week = _day_before(now, _WEEK - 1)
        days = await self.daily.days(name, since=min(since, week), until=_day_before(now, 0))
        recent = total_of(figures.writes for day, figures in days.items() if day >= week)
        counted = {day: figures for day, figures in days.items() if day >= since}
        writes = total_of(figures.writes for figures in counted.values())
        levels = await measure(name, store=store, now=now)
        footprint = await store.footprint(name)
        tiers = dict(await store.facet_values(name, "tier", state=State.LIVE, limit=len(Tier)))
        kinds = await store.facet_values(name, "kind", state=State.LIVE, limit=_MAX_KINDS)
        health = SpaceHealth(
            space=name,
            memories={state.value: count for state in State if (count := footprint.memories.get(state.value))},
            tiers={tier.value: tiers[tier.value] for tier in Tier if tier.value in tiers}, kinds=dict(kinds),
            flow=tier_flow(await curation_runs(name, store=store), since=now - FLOW), writes=writes, total=writes.total,
            duplicate_rate=writes.repeats, thin=levels.thin, thin_rate=share(levels.thin, levels.memories),
            tags=levels.tags, tag_entropy=levels.tag_entropy, conflicts=levels.conflicts,
            unembedded=await self._unembedded(name, sources=sources),
            days=tuple(_health_day(day, figures) for day, figures in counted.items()), agents=_agents(counted),
        )  # fmt: skip
        return health, recent

    async def _server(self, space: str, *, since: str, sources: HealthSources) -> ServerHealth:
        footprint = await sources.store.footprint(space)
        try:
            lag = await sources.lag()
        except ScrubjayError:
            # `status` says what is wrong with the index.
            lag = 0
        free = await asyncio.to_thread(shutil.disk_usage, sources.data)
        return ServerHealth(
            lag=lag, store_bytes=footprint.store_bytes, disk_free_bytes=free.free,
            saved=share(footprint.body_bytes - footprint.stored_bytes, footprint.body_bytes),
            latencies=latencies_of(self.latency.counts()), llm=await sources.llm.describe() if sources.llm else {},
            days=await self._server_days(since=since, sources=sources),
        )  # fmt: skip

    async def _server_days(self, *, since: str, sources: HealthSources) -> tuple[ServerDay, ...]:
        """Return the days on which the language model was used, or a daemon answered."""
        latencies = await self.latency.days(since=since, now=sources.clock.now())
        uses = {
            document.key: LlmUsage.from_json(document.value)
            async for document in DailyDocuments(sources.store, LLM_USE).all("", since=since)
        }
        return tuple(
            ServerDay(date=day, llm=uses.get(day, LlmUsage()), latencies=latencies.get(day, ()))
            for day in sorted({*latencies, *uses})
        )

    async def _unembedded(self, space: str, *, sources: HealthSources) -> int:
        """Return how many memories wait for a vector: counted again only after a change, and not at every one."""
        try:
            model = (await sources.embedder.profile()).model
        except EmbeddingUnavailable:
            return 0
        place, now, last = await sources.store.last_place(space), sources.clock.now(), self._surveys.get(space)
        if last is not None and last.model == model and (last.place == place or now - last.at < _SURVEY_AGE):
            return last.count
        lacking = await sources.store.without_vectors(model, limit=MAX_UNEMBEDDED, space=space)
        self._surveys[space] = _Survey(place=place, model=model, at=now, count=len(lacking))
        return len(lacking)


def _day_before(now: datetime, days: int) -> str:
    return (now.date() - timedelta(days=days)).isoformat()


def _health_day(day: str, figures: DayFigures) -> HealthDay:
    levels = figures.levels
    if levels is None:
        return HealthDay(date=day, writes=figures.writes)
    return HealthDay(
        date=day, writes=figures.writes, memories=levels.memories, thin=levels.thin, tags=levels.tags,
        tag_entropy=levels.tag_entropy, conflicts=levels.conflicts,
    )  # fmt: skip


def _agents(days: Mapping[str, DayFigures]) -> tuple[AgentHealth, ...]:
    """Return what each agent has written, the busiest first."""
    names = {name for figures in days.values() for name in figures.agents}
    agents = [
        AgentHealth.of(name, total_of(figures.agents.get(name, WriteCounts()) for figures in days.values()))
        for name in names
    ]
    return tuple(sorted(agents, key=lambda agent: (-agent.total, agent.agent))[:_MAX_AGENTS])
