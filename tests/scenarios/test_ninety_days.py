"""Ninety days in the life of a memory, with simulated time: what is written, read, moved and taken back adds up."""

import math
from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from pathlib import Path
from random import Random
from typing import cast

import pytest

from scrubjay.curation.registry import JOBS
from scrubjay.curation.schedule import Schedule
from scrubjay.engine import Engine
from scrubjay.model.curation import RunState
from scrubjay.model.memory import Json, State, Tier
from scrubjay.model.relation import SOURCE
from scrubjay.model.requests import (
    CurationsRequest,
    ReadRequest,
    RecallRequest,
    RememberManyRequest,
    SearchTextRequest,
    SetRulesRequest,
    StatusRequest,
)
from scrubjay.model.timestamps import to_iso
from scrubjay.recalling import access_log
from scrubjay.recalling.access_log import AccessLog
from tests.curated import OWNER, STORES, CuratedMemory, open_curated

DAY = timedelta(days=1)
DAYS = 90
NOTES = 10
READS = 30
RECALLED = 5
# The machine is on every fifth night; what fell due meanwhile is done then.
NIGHT_EVERY = 5
PRUNED_FROM, PRUNE_DAYS = 60, 45
UNDONE_ON = 70
OVER_BUDGET = 200
RATES = {"note": 0.01, "fact": 0.002, "event": 0.01}


@dataclass
class Expected:
    """What is known of a memory outside of the store."""

    id: str
    text: str
    kind: str
    created: datetime
    updated: datetime
    expires: datetime | None = None
    tier: Tier = Tier.WORKING
    state: State = State.LIVE
    reads: list[datetime] = field(default_factory=list[datetime])
    is_source: bool = False
    is_taken_back: bool = False

    @property
    def last_use(self) -> datetime:
        """When it was last changed or read."""
        return max([self.updated, *self.reads])

    @property
    def place(self) -> tuple[State, Tier]:
        """Where curation has put it."""
        return self.state, self.tier

    def relevance(self, now: datetime, *, since: datetime | None = None) -> float:
        """Return what decay leaves of it; a read counts as half a confirmation."""
        confirmed = self.created + (max([self.created, *self.reads]) - self.created) / 2
        return math.exp(-RATES[self.kind] * ((now - (since or confirmed)) / DAY))

    def worth(self, now: datetime) -> float:
        """Return what a budget sorts it by."""
        return self.relevance(now, since=self.last_use) * (1 + math.log1p(len(self.reads)))


class Life:
    """All that was written, and the rules of curation applied to it."""

    def __init__(self, memory: CuratedMemory) -> None:
        self.memory = memory
        self.items: dict[str, Expected] = {}
        self.random = Random(21)
        self.reads = 0
        # Reads are counted at the time of the scenario.
        self.engine: Engine = replace(memory.engine, access_log=AccessLog(memory.store, clock=memory.clock))

    def live(self) -> list[Expected]:
        """Return the memories that curation may change."""
        return [item for item in self.items.values() if item.state is State.LIVE]

    async def write(self, day: int) -> None:
        """Write the day: notes that differ, two that say the same, one that ends soon, and every ten days episodes."""
        texts = [
            (f"The {self.word()} of {self.word()} holds {self.word()} {self.word()}", "note") for _ in range(NOTES)
        ]
        ticket, twin = (
            f"The ticket for {self.word()} {self.word()}",
            f"{self.word().title()} lies west of {self.word().title()}",
        )
        texts += [(ticket, "event"), (twin, "fact"), (twin, "fact")]
        if day % 10 == 0:
            place = self.word()
            shared = f"The old pump of the {place} harbour leaks whenever the spring tide comes in."
            texts += [(f"{shared} {self.word().title()} of {self.word()} saw it.", "event") for _ in range(3)]
        now = self.memory.clock.now()
        ends = {ticket: now + 10 * DAY}
        items = [
            {"text": text, "kind": kind, "intent": "new", "expires_at": to_iso(ends[text]) if text in ends else None}
            for text, kind in texts
        ]
        request = RememberManyRequest.of(items=cast("list[Json]", items))
        done = await self.engine.remember_many(request, who=OWNER)
        for (text, kind), each in zip(texts, done.items, strict=True):
            assert each.result is not None
            assert each.result.action == "created"
            self.items[each.result.id] = Expected(
                id=each.result.id, text=text, kind=kind, created=now, updated=now, expires=ends.get(text)
            )

    def word(self) -> str:
        """Return a word that is used once."""
        return "".join(self.random.choice("bdfgklmnprstvz") + self.random.choice("aeiou") for _ in range(5))

    async def read(self) -> None:
        """Read some notes by name, old and new ones, and ask for one."""
        notes = [item for item in self.live() if item.kind == "note"]
        weights = [1 / (place % 40 + 1) for place in range(len(notes))]
        read = {item.id for item in self.random.choices(notes, weights=weights, k=READS)}
        await self.engine.read(ReadRequest(ids=tuple(sorted(read))), who=OWNER)
        target = self.random.choice(notes)
        request = RecallRequest.of(query=target.text, kind="note", limit=RECALLED)
        hits = {hit.id for hit in (await self.engine.recall(request, who=OWNER)).hits}
        assert target.id in hits
        await self.engine.access_log.flush()
        for memory_id in read | hits:
            self.items[memory_id].reads.append(self.memory.clock.now())
        self.reads += len(read | hits)

    async def sleep(self, day: int) -> None:
        """Let a night pass: curation does what the rules say, and nothing else."""
        now, before = self.memory.clock.now(), {item.id: replace(item) for item in self.items.values()}
        merged, consolidated = self.curate(now, prune_days=PRUNE_DAYS if day >= PRUNED_FROM else 0)
        assert await self.memory.runner.run_due() == 1
        request = CurationsRequest(limit=1, changes=1_000)
        (report,) = await self.memory.runner.curations(request, who=OWNER)
        assert (report.state, report.skipped, report.problems) == (RunState.DONE, 0, ()), f"on day {day}"
        changed = {item.id for item in self.items.values() if item.place != before[item.id].place}
        by_job = {name: {change.ids for change in report.changes if change.job == name} for name in JOBS}
        assert by_job["duplicates"] == merged, f"on day {day}"
        assert {frozenset(ids) for ids in by_job["consolidate"]} == consolidated, f"on day {day}"
        single = {ids[0] for name in ("tiers", "prune") for ids in by_job[name]}
        assert single == changed - {each for ids in merged for each in ids[1:]}, f"on day {day}"
        assert not by_job["tags"] | by_job["vectors"] | by_job["bodies"]
        for ids in consolidated:
            await self.note_made(ids, now)
        if day == UNDONE_ON:
            assert merged
            assert consolidated
            undone = await self.memory.undo(report.run)
            assert not undone.skipped
            self.take_back(before)

    def curate(self, now: datetime, *, prune_days: int) -> tuple[set[tuple[str, ...]], set[frozenset[str]]]:
        """Apply the rules of every job; return what is merged and what is consolidated."""
        free = [item for item in self.live() if not item.is_taken_back]
        for item in free:
            is_recent = now - item.last_use <= 7 * DAY
            if item.tier is Tier.WORKING and now - item.created > 30 * DAY and len(item.reads) < 3 and not is_recent:
                item.tier = Tier.EPISODIC
            elif item.tier is Tier.EPISODIC and len(item.reads) >= 3 and is_recent:
                item.tier = Tier.WORKING
        merged = set[tuple[str, ...]]()
        for same in _groups((item.text, item) for item in free if item.kind == "fact"):
            merged.add(tuple(item.id for item in same))
            # The one that remains counts as changed now.
            same[0].updated = now
            for item in same[1:]:
                item.state = State.MERGED
        episodes = [item for item in free if "pump" in item.text and item.tier is Tier.EPISODIC and not item.is_source]
        consolidated = set[frozenset[str]]()
        for similar in _groups((item.text.partition(".")[0], item) for item in episodes):
            consolidated.add(frozenset(item.id for item in similar))
            for item in similar:
                item.is_source = True
        for item in free:
            is_over = item.expires is not None and item.expires <= now
            is_unused = bool(prune_days) and now - item.last_use >= prune_days * DAY and not item.is_source
            if item.state is State.LIVE and (is_over or is_unused):
                item.state = State.TRASHED
        return merged, consolidated

    async def note_made(self, sources: Iterable[str], now: datetime) -> None:
        """Check the memory that was made of some episodes."""
        ids = sorted(sources)
        relations = [each for each in await self.memory.store.relations("default", ids) if each.type == SOURCE]
        assert sorted(relation.target for relation in relations) == ids
        (made_id,) = {relation.source for relation in relations}
        (made,) = (await self.memory.store.get("default", [made_id])).values()
        assert all(self.items[each].text.startswith(made.content) for each in ids)
        self.items[made_id] = Expected(
            id=made_id, text=made.content, kind="fact", created=now, updated=now, tier=Tier.SEMANTIC
        )

    def take_back(self, before: dict[str, Expected]) -> None:
        """Put everything back as it was; curation leaves it alone from now on."""
        for item in list(self.items.values()):
            earlier = before.get(item.id) or replace(item, state=State.TRASHED)
            is_changed = earlier.state is not item.state or earlier.updated != item.updated
            self.items[item.id] = replace(
                earlier, is_taken_back=earlier.is_taken_back or earlier != item,
                updated=self.memory.clock.now() if is_changed else earlier.updated,
            )  # fmt: skip


def _groups(items: Iterable[tuple[str, Expected]]) -> list[list[Expected]]:
    groups: dict[str, list[Expected]] = {}
    for key, item in items:
        if item.state is State.LIVE:
            groups.setdefault(key, []).append(item)
    return [group for group in groups.values() if len(group) > 1]


@pytest.mark.parametrize("store", STORES)
async def test_ninety_days(tmp_path: Path, store: str, monkeypatch: pytest.MonkeyPatch) -> None:
    # What is read twice before its reads are written counts once: the scenario writes them, once a day.
    monkeypatch.setattr(access_log, "_DELAY", 3_600.0)
    # Every job of a day is due after a day, whatever its jitter.
    async with open_curated(tmp_path, store, schedule=Schedule(hours=21)) as memory:
        await memory.engine.set_rules(
            SetRulesRequest(gate="off", conflicts="off", tags="off", density="off"), who=OWNER
        )
        life, start = Life(memory), memory.clock.now()
        await memory.runner.run_due()
        for day in range(DAYS):
            memory.clock.set(start + day * DAY + timedelta(hours=9))
            await life.write(day)
            await life.read()
            if day == PRUNED_FROM:
                await memory.engine.set_rules(SetRulesRequest(prune_days=PRUNE_DAYS), who=OWNER)
            memory.clock.set(start + day * DAY + timedelta(hours=27))
            if day % NIGHT_EVERY == 0:
                await life.sleep(day)
        assert len(life.items) > 1_100
        assert life.reads > 2_000
        await _check_places(life)
        await _check_relevance(life)
        await _check_budget(life)


async def _check_places(life: Life) -> None:
    """Check that no statement is lost, and that each is where its use puts it."""
    memory = life.memory
    stored = await memory.store.get("default", [*life.items])
    assert {each: (item.content, item.state, item.tier) for each, item in stored.items()} == {
        each: (item.text, *item.place) for each, item in life.items.items()
    }
    assert await memory.store.ids("default", limit=9_999) == sorted(life.items)
    tiers = [item.tier for item in life.live()]
    assert min(tiers.count(tier) for tier in (Tier.WORKING, Tier.EPISODIC, Tier.SEMANTIC)) > 1
    status = await life.engine.status(StatusRequest(), who=OWNER)
    assert status.tiers == {tier.value: tiers.count(tier) for tier in {*tiers}}
    notes = [item for item in life.items.values() if item.kind == "note"]
    for item in life.random.sample(notes, 40):
        request = SearchTextRequest.of(query=f'"{item.text}"', state=item.state)
        assert [hit.id for hit in (await life.engine.search_text(request, who=OWNER)).hits] == [item.id]
    first = next(iter(life.items))
    read = await life.engine.read(ReadRequest(ids=(first,), version=1), who=OWNER)
    assert [(item.content, item.tier) for item in read.memories] == [(life.items[first].text, Tier.WORKING)]


async def _check_relevance(life: Life) -> None:
    """Check that each is shown with what decay and its reads leave of its relevance."""
    now, live = life.memory.clock.now(), [item for item in life.live() if item.kind == "note"]
    # These reads do not count.
    engine = replace(life.engine, access_log=AccessLog(None, clock=life.memory.clock))
    shown: dict[str, float] = {}
    for start in range(0, len(live), 100):
        ids = tuple(item.id for item in live[start : start + 100])
        shown |= {each.id: each.relevance for each in (await engine.read(ReadRequest(ids=ids), who=OWNER)).memories}
    assert shown == {item.id: pytest.approx(item.relevance(now), abs=0.001) for item in live}


async def _check_budget(life: Life) -> None:
    """Check that a budget keeps the best, and that an undo brings the others back."""
    memory, now, live = life.memory, life.memory.clock.now(), life.live()
    await memory.engine.set_rules(SetRulesRequest(prune_days=0, most_memories=len(live) - OVER_BUDGET), who=OWNER)
    worst = sorted((item for item in live if not item.is_source), key=lambda item: item.worth(now))
    # What was taken back is left alone, so that the budget is not quite met.
    expected = {item.id for item in worst[:OVER_BUDGET] if not item.is_taken_back}
    planned = await memory.curate("prune", dry_run=True)
    report = await memory.curate("prune")
    assert {change.ids[0] for change in report.changes} == {change.ids[0] for change in planned.changes} == expected
    status = await memory.engine.status(StatusRequest(), who=OWNER)
    assert sum(status.tiers.values()) == len(live) - len(expected)
    assert (await memory.curate("prune")).planned == 0
    assert {written.id for written in (await memory.undo(report.run)).done} == expected
    after = await memory.store.get("default", [*life.items])
    assert {each: item.state for each, item in after.items()} == {item.id: item.state for item in life.items.values()}
