"""Ninety days in the life of a memory, with simulated time: what is written, read, moved and taken back adds up."""

import math
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from pathlib import Path
from random import Random

import pytest

from scrubjay.model.memory import State, Tier
from scrubjay.model.requests import ReadRequest, RememberManyRequest, SearchTextRequest, SetRulesRequest, StatusRequest
from tests.curated import OWNER, STORES, CuratedMemory, open_curated

DAY = timedelta(days=1)
DAYS = 90
READS = 8
# Thousands of versions in a file; a server answers each write over a connection.
WRITES = {"sqlite": 15, "pgvector": 4}
# The daemon sleeps for these days.
ASLEEP = range(50, 58)
UNDONE_ON = 70


@dataclass
class Expected:
    """What is known of a memory outside of the store."""

    text: str
    written: datetime
    tier: Tier = Tier.WORKING
    reads: list[datetime] = field(default_factory=list[datetime])
    is_taken_back: bool = False

    def curate(self, now: datetime) -> None:
        """Apply the rules of the tiers."""
        is_recent = bool(self.reads) and now - self.reads[-1] <= 7 * DAY
        is_unused = now - self.written > 30 * DAY and len(self.reads) < 3 and not is_recent
        if self.is_taken_back:
            return
        if self.tier is Tier.WORKING and is_unused:
            self.tier = Tier.EPISODIC
        elif self.tier is Tier.EPISODIC and len(self.reads) >= 3 and is_recent:
            self.tier = Tier.WORKING


@pytest.mark.parametrize("store", STORES)
async def test_ninety_days(tmp_path: Path, store: str) -> None:
    writes = WRITES[store]
    async with open_curated(tmp_path, store) as memory:
        await memory.engine.set_rules(SetRulesRequest(gate="off", conflicts="off"), who=OWNER)
        expected = await _live(memory, Random(21), writes=writes)
        await _check(memory, expected, writes=writes)


async def _live(memory: CuratedMemory, random: Random, *, writes: int) -> dict[str, Expected]:
    start, expected = memory.clock.now(), dict[str, Expected]()
    for day in range(DAYS):
        memory.clock.set(start + day * DAY + timedelta(hours=9))
        expected |= await _write(memory, day, writes=writes)
        ids = random.choices([*expected], weights=[1 / (place % 40 + 1) for place in range(len(expected))], k=READS)
        for memory_id in dict.fromkeys(ids):
            now = memory.clock.now()
            await memory.store.touch("default", [memory_id], at=now)
            expected[memory_id].reads.append(now)
        memory.clock.set(start + day * DAY + timedelta(hours=27))
        if day in ASLEEP:
            continue
        before = {memory_id: item.tier for memory_id, item in expected.items()}
        for item in expected.values():
            item.curate(memory.clock.now())
        moved = {memory_id for memory_id, item in expected.items() if item.tier is not before[memory_id]}
        report = await memory.curate("tiers")
        assert {change.ids[0] for change in report.changes} == moved, f"on day {day}"
        assert (report.done, report.skipped) == (len(moved), 0)
        if day == UNDONE_ON:
            assert moved
            await memory.undo(report.run)
            for memory_id in moved:
                expected[memory_id].tier = before[memory_id]
                expected[memory_id].is_taken_back = True
    return expected


async def _write(memory: CuratedMemory, day: int, *, writes: int) -> dict[str, Expected]:
    texts = [f"On day {day} the jay hid acorn number {number}" for number in range(writes)]
    now = memory.clock.now()
    done = await memory.engine.remember_many(
        RememberManyRequest.of(items=[{"text": text} for text in texts]), who=OWNER
    )
    ids = [item.result.id for item in done.items if item.result]
    return {memory_id: Expected(text=text, written=now) for memory_id, text in zip(ids, texts, strict=True)}


async def _check(memory: CuratedMemory, expected: dict[str, Expected], *, writes: int) -> None:
    """Check that no statement is lost, and that each is where its use puts it."""
    stored = await memory.store.get("default", [*expected])
    assert {memory_id: (item.content, item.state) for memory_id, item in stored.items()} == {
        memory_id: (item.text, State.LIVE) for memory_id, item in expected.items()
    }
    assert {memory_id: item.tier for memory_id, item in stored.items()} == {
        memory_id: item.tier for memory_id, item in expected.items()
    }
    tiers = [item.tier for item in expected.values()]
    assert tiers.count(Tier.EPISODIC) > DAYS, "most of what was never read"
    status = await memory.engine.status(StatusRequest(), who=OWNER)
    assert status.tiers == {tier.value: tiers.count(tier) for tier in (Tier.WORKING, Tier.EPISODIC)}
    hits = await memory.engine.search_text(SearchTextRequest(query='"On day 3 the jay hid"', limit=100), who=OWNER)
    assert len(hits.hits) == writes
    first = next(iter(expected))
    read = await memory.engine.read(ReadRequest(ids=(first,), version=1), who=OWNER)
    assert [(item.content, item.tier) for item in read.memories] == [(expected[first].text, Tier.WORKING)]
    await _check_relevance_and_prune(memory, expected)


async def _check_relevance_and_prune(memory: CuratedMemory, expected: dict[str, Expected]) -> None:
    """Check that what was not used is less relevant, goes to the trash by rule, and comes back by an undo."""
    now = memory.clock.now()
    unread = next(memory_id for memory_id, item in expected.items() if not item.reads)
    shown = (await memory.engine.read(ReadRequest(ids=(unread,)), who=OWNER)).memories[0].relevance
    assert shown == pytest.approx(math.exp(-0.01 * ((now - expected[unread].written) / DAY)), abs=0.01)
    await memory.engine.set_rules(SetRulesRequest(prune_days=45), who=OWNER)
    # What was taken back is left alone by every job.
    last_use = {
        memory_id: max([item.written, *item.reads]) for memory_id, item in expected.items() if not item.is_taken_back
    }
    unused = {memory_id for memory_id, used in last_use.items() if now - used > 45 * DAY}
    planned = await memory.curate("prune", dry_run=True)
    report = await memory.curate("prune")
    assert {change.ids[0] for change in report.changes} == {change.ids[0] for change in planned.changes} == unused
    after = await memory.store.get("default", [*expected])
    assert {memory_id for memory_id, item in after.items() if item.state is State.TRASHED} == unused
    assert (await memory.curate("prune")).planned == 0
    assert {written.id for written in (await memory.undo(report.run)).done} == unused
    after = await memory.store.get("default", [*expected])
    assert {item.state for item in after.values()} == {State.LIVE}
