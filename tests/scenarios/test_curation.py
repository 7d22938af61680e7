"""Curation from the plan to the undo, on both stores: what changes, what is skipped, and what survives a kill."""

import asyncio
from collections.abc import AsyncIterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import get_args

import pytest

from scrubjay.curation.apply import STALE
from scrubjay.curation.registry import JOBS
from scrubjay.curation.runner import CurationRunner
from scrubjay.curation.schedule import LEASE, Schedule, SpaceRecord
from scrubjay.errors import DiskFull, InvalidInput, NotFound, WrongState
from scrubjay.model.curation import JobName, RunState
from scrubjay.model.memory import Memory, Tier
from scrubjay.model.requests import Edit, ForgetRequest, PurgeRequest, RecallRequest, StatusRequest
from scrubjay.ports import Commit
from tests.backends import backend
from tests.curated import OWNER, STORES, CuratedMemory, open_curated
from tests.fakes.build import a_commit, a_rewrite, revised

DAY = timedelta(days=1)


@pytest.fixture(params=STORES)
async def memory(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncIterator[CuratedMemory]:
    async with open_curated(tmp_path, request.param) as opened:
        yield opened


async def test_unused_memories_become_episodic_and_come_back_when_used(memory: CuratedMemory) -> None:
    moved = [
        await memory.keep("never read", days=31),
        await memory.keep("read twice, long ago", days=60, access_count=2, last_accessed=memory.clock.now() - 8 * DAY),
    ]
    stays = [
        await memory.keep("young", days=29),
        await memory.keep("read often", days=90, access_count=3),
        await memory.keep("read lately", days=90, access_count=1, last_accessed=memory.clock.now() - 6 * DAY),
        await memory.keep("edited lately", days=90, updated_at=memory.clock.now() - 6 * DAY),
        await memory.keep("pinned", days=90, pinned=True),
        await memory.keep("a skill", days=90, tier=Tier.PROCEDURAL),
    ]
    planned = await memory.curate("tiers", dry_run=True)
    assert (planned.state, planned.planned, planned.run) == (RunState.PLANNED, 2, "")
    assert await _tiers(memory, moved) == [Tier.WORKING] * 2, "a dry run writes nothing"
    assert await memory.reports() == ()

    report = await memory.curate("tiers")
    assert (report.state, report.done, report.counts) == (RunState.DONE, 2, {"tiers": {"working → episodic": 2}})
    assert {change.names for change in report.changes} == {(item.name,) for item in moved}
    assert {change.outcome for change in report.changes} == {"done"}
    assert (await memory.reports()) == (report,)
    assert await _tiers(memory, moved) == [Tier.EPISODIC] * 2
    assert [(await memory.now(item)).version for item in stays] == [1] * len(stays)
    assert (await memory.curate("tiers")).planned == 0, "a plan that was applied is empty the second time"

    # A move does not make a memory newer: neither in lists of the latest nor in the ranking.
    assert [(await memory.now(item)).updated_at for item in moved] == [item.updated_at for item in moved]
    (version, _) = await memory.store.versions("default", moved[0].id, limit=2)
    assert (version.agent, version.run, version.memory.tier) == ("curation", report.run, Tier.EPISODIC)
    assert version.created_at > moved[0].updated_at

    await memory.read(moved[0], times=2)
    assert (await memory.curate("tiers", dry_run=True)).planned == 0
    await memory.read(moved[0])
    back = await memory.curate("tiers")
    assert back.counts == {"tiers": {"episodic → working": 1}}
    assert await _tiers(memory, moved) == [Tier.WORKING, Tier.EPISODIC]


async def test_undo_takes_a_run_back_for_good(memory: CuratedMemory) -> None:
    stored = [await memory.keep(f"note {number}", days=40) for number in range(3)]
    report = await memory.curate("tiers")
    edited = await memory.engine.apply_edit(stored[0].id, Edit(fields={"title": "Edited since"}), who=OWNER)
    undone = await memory.undo(report.run)
    assert {written.id for written in undone.done} == {stored[1].id, stored[2].id}
    assert len(undone.skipped) == 1
    assert edited.version == (await memory.now(stored[0])).version
    assert await _tiers(memory, stored) == [Tier.EPISODIC, Tier.WORKING, Tier.WORKING]
    assert [(await memory.now(item)).updated_at for item in stored[1:]] == [item.updated_at for item in stored[1:]]
    assert (await memory.reports())[0].state is RunState.UNDONE
    memory.clock.advance(2 * DAY)
    assert (await memory.curate("tiers")).planned == 0, "what was taken back is not done again the next night"
    with pytest.raises(NotFound):
        await memory.undo("no-such-run")


async def test_undo_of_a_large_run_lets_others_write_and_goes_on_after_a_kill(
    memory: CuratedMemory, monkeypatch: pytest.MonkeyPatch
) -> None:
    stored = [await memory.keep(f"note {number}", days=40) for number in range(120)]
    report = await memory.curate("tiers")
    commit, written = memory.store.commit, list[Memory]()

    async def write_between_then_fail(planned: Commit) -> object:
        if len(planned.writes) > 1 and not written:
            # The first part is about to be committed: a user writes, to one of its memories too.
            written.append(planned.writes[0].memory)
            await memory.engine.apply_edit(written[0].id, Edit(fields={"title": "Edited since"}), who=OWNER)
        elif planned.origin.undoes and not planned.origin.is_partial:
            raise DiskFull("the disk is full")
        return await commit(planned)

    with monkeypatch.context() as patch:
        patch.setattr(memory.store, "commit", write_between_then_fail)
        with pytest.raises(DiskFull):
            await memory.undo(report.run)
    assert sorted(await _tiers(memory, stored)).count(Tier.WORKING) == 99, "two of three parts, without the edited one"
    assert (await memory.reports())[0].state is RunState.UNDOING
    memory.clock.advance(2 * LEASE)
    await CurationRunner(memory.engine, memory.store).run_due()
    assert (await memory.reports())[0].state is RunState.UNDONE
    changed = [item for item in stored if item.id != written[0].id]
    assert await _tiers(memory, changed) == [Tier.WORKING] * 119
    assert {(await memory.now(item)).version for item in stored} == {3}
    assert (await memory.now(written[0])).title == "Edited since"
    assert (await memory.curate("tiers")).planned == 0


async def test_what_changed_since_the_plan_is_skipped_and_named(
    memory: CuratedMemory, monkeypatch: pytest.MonkeyPatch
) -> None:
    edited, read, purged, untouched = [await memory.keep(f"note {number}", days=40) for number in range(4)]
    get_page = memory.runner._runs("default").__class__.get_page

    async def change_first(*args: object) -> object:
        """Let users act between the plan and its application."""
        if (await memory.now(edited)).version == 1:
            await memory.store.commit(a_commit(a_rewrite(revised(edited, title="New"))))
            await memory.read(read)
            await memory.store.purge("default", [purged.id], origin=a_commit(edited).origin)
        return await get_page(*args)  # type: ignore[arg-type]

    monkeypatch.setattr("scrubjay.curation.stored_runs.StoredRuns.get_page", change_first)
    report = await memory.curate("tiers")
    assert (report.planned, report.done, report.skipped) == (4, 1, 3)
    outcomes = {change.ids[0]: change.outcome for change in report.changes}
    assert outcomes == {edited.id: STALE, read.id: "it was used since", purged.id: STALE, untouched.id: "done"}
    assert [change.names for change in report.changes if change.ids == (purged.id,)] == [("",)]
    assert (await memory.now(edited)).title == "New"


async def test_a_run_that_is_killed_anywhere_goes_on_where_it_was(
    memory: CuratedMemory, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each write to the store fails once, whatever it writes; no change is lost and none is made twice."""
    stored = [await memory.keep(f"note {number}", days=40) for number in range(60)]
    for place in range(200):
        attempt = await _curate_until(memory, monkeypatch, place)
        if attempt is not None:
            break
        # The runner is gone; the next item waits until its lease has ended.
        memory.clock.advance(LEASE + timedelta(seconds=1))
    else:
        raise AssertionError("it never ended")
    runs = await memory.reports()
    assert [report.state for report in runs] == [RunState.DONE], "it is one run, however often it was killed"
    assert (runs[0].planned, runs[0].done, runs[0].skipped) == (60, 60, 0)
    assert {(await memory.now(item)).version for item in stored} == {2}
    assert len((await memory.undo(runs[0].run)).done) == 60


async def _curate_until(memory: CuratedMemory, monkeypatch: pytest.MonkeyPatch, place: int) -> object:
    """Curate, and let the store fail at item of its writes; return None if it did."""
    writes = 0

    def fail_at(name: str) -> None:
        original = getattr(memory.store, name)

        async def write(*args: object, **options: object) -> object:
            nonlocal writes
            writes += 1
            if writes > place % 7 + 1:
                raise DiskFull("the disk is full")
            return await original(*args, **options)

        patch.setattr(memory.store, name, write)

    with monkeypatch.context() as patch:
        for name in ("commit", "put_document", "delete_document"):
            fail_at(name)
        try:
            return await memory.curate("tiers")
        except (DiskFull, WrongState):
            return None


async def test_one_runner_at_a_time_over_several_servers(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with backend("pgvector") as choice:
        async with (
            open_curated(tmp_path / "a", choice=choice) as first,
            open_curated(tmp_path / "b", choice=choice) as second,
        ):
            for number in range(120):
                await first.keep(f"note {number}", days=40)
            pause, refused = first.runner._pause, list[WrongState]()

            async def ask_the_other(work: object) -> None:
                if not refused:
                    with pytest.raises(WrongState) as caught:
                        await second.curate("tiers")
                    refused.append(caught.value)
                await pause(work)  # type: ignore[arg-type]

            monkeypatch.setattr(first.runner, "_pause", ask_the_other)
            await first.curate("tiers")
            assert refused
            (report,) = await second.reports()
            assert (report.done, report.skipped) == (120, 0)


async def test_a_runner_that_lost_its_lease_stops(memory: CuratedMemory, monkeypatch: pytest.MonkeyPatch) -> None:
    """The clock jumps ahead during a run, so that another runner takes it over."""
    for number in range(60):
        await memory.keep(f"note {number}", days=40)
    pause, is_first = memory.runner._pause, True

    async def jump(work: object) -> None:
        nonlocal is_first
        if is_first:
            is_first = False
            memory.clock.advance(DAY)
            assert (await memory.curate("tiers")).state is RunState.DONE
        await pause(work)  # type: ignore[arg-type]

    monkeypatch.setattr(memory.runner, "_pause", jump)
    with pytest.raises(WrongState):
        await memory.curate("tiers")
    (report,) = await memory.reports()
    assert (report.state, report.done) == (RunState.DONE, 60)


async def test_clock_that_jumped_back_blocks_nothing(memory: CuratedMemory) -> None:
    await memory.keep("a note", days=800)
    memory.clock.advance(365 * DAY)
    await memory.runner.run_due()
    memory.clock.advance(2 * DAY)
    assert await memory.runner.run_due() == 1
    memory.clock.advance(-365 * DAY)
    assert await memory.runner.run_due() == 0
    memory.clock.advance(2 * DAY)
    assert await memory.runner.run_due() == 1


async def test_an_empty_space_and_an_unknown_job(memory: CuratedMemory) -> None:
    report = await memory.curate("tiers")
    assert (report.state, report.planned, report.changes) == (RunState.DONE, 0, ())
    assert await memory.store.spaces() == [], "nothing was stored"
    assert await memory.reports() == ()
    with pytest.raises(InvalidInput, match="jobs must be one of tiers,"):
        await memory.curate("sweep")


def test_the_jobs_that_can_be_asked_for_are_those_that_there_are() -> None:
    assert get_args(JobName) == tuple(JOBS)


async def test_recall_finds_what_was_moved(memory: CuratedMemory) -> None:
    stored = await memory.keep("Sarah keeps bees in Lyon", days=40)
    await memory.curate("tiers")
    recalled = await memory.engine.recall(RecallRequest.of(query="who keeps bees?", tier="episodic"), who=OWNER)
    assert [hit.id for hit in recalled.hits] == [stored.id]


async def _tiers(memory: CuratedMemory, stored: list[Memory]) -> list[Tier]:
    return [(await memory.now(item)).tier for item in stored]


async def test_what_fell_due_while_no_daemon_ran_is_done_once_at_its_start(memory: CuratedMemory) -> None:
    await memory.keep("a note", days=40)
    assert await memory.runner.run_due() == 0, "a space that is new waits for a day"
    memory.clock.advance(10 * DAY)
    restarted = CurationRunner(memory.engine, memory.store)
    assert await restarted.run_due() == 1
    assert await restarted.run_due() == 0
    (report,) = await memory.reports()
    assert (report.state, report.counts["tiers"]) == (RunState.DONE, {"working → episodic": 1})
    status = await memory.engine.status(StatusRequest(), who=OWNER)
    assert (status.curation["run"], status.tiers) == (report.run, {"episodic": 1})
    assert str(status.curation["next"]) > str(status.curation["last"])


async def test_an_interrupted_run_goes_on_at_the_next_start(
    memory: CuratedMemory, monkeypatch: pytest.MonkeyPatch
) -> None:
    for number in range(60):
        await memory.keep(f"note {number}", days=40)
    await memory.runner.run_due()
    memory.clock.advance(2 * DAY)
    with monkeypatch.context() as patch:
        # The daemon stops while the first page is being applied.
        patch.setattr("scrubjay.curation.tiers.TierJob.apply", _stop)
        with pytest.raises(asyncio.CancelledError):
            await memory.runner.run_due()
    assert [report.state for report in await memory.reports()] == [RunState.RUNNING]
    assert await CurationRunner(memory.engine, memory.store).run_due() == 1
    (report,) = await memory.reports()
    assert (report.state, report.counts["tiers"]) == (RunState.DONE, {"working → episodic": 60})


async def _stop(*_: object) -> str:
    raise asyncio.CancelledError


async def test_quiet_hours_and_no_schedule(tmp_path: Path) -> None:
    schedule = Schedule.parse(hours=24, quiet="8:00-18:30")
    night = Schedule.parse(hours=24, quiet="22-6")
    local = datetime(2026, 5, 31, 12).astimezone()
    assert [schedule.is_quiet(local.replace(hour=hour)) for hour in (7, 8, 18, 19)] == [False, True, True, False]
    assert [night.is_quiet(local.replace(hour=hour)) for hour in (5, 6, 21, 22)] == [True, False, False, True]
    with pytest.raises(InvalidInput, match="SCRUBJAY_CURATION_QUIET"):
        Schedule.parse(hours=24, quiet="at night")
    async with open_curated(tmp_path, schedule=Schedule(hours=0)) as memory:
        await memory.keep("a note", days=40)
        await memory.runner.run_due()
        memory.clock.advance(2 * DAY)
        assert await memory.runner.run_due() == 0


def test_spaces_start_at_different_times() -> None:
    schedule, start = Schedule(), datetime(2026, 5, 31, tzinfo=UTC)
    waits = {schedule.due_of("tiers", SpaceRecord(space=f"team-{number}", since=start)) - start for number in range(50)}
    assert len(waits) == 50
    assert min(waits) >= DAY
    assert max(waits) <= DAY * 1.1


async def test_a_purge_leaves_no_label_in_plans_and_reports(memory: CuratedMemory) -> None:
    stored = [await memory.keep(f"note {number}", days=40) for number in range(2)]
    report = await memory.curate("tiers")
    await memory.engine.forget(ForgetRequest.of(ids=[stored[0].id]), who=OWNER)
    await memory.engine.purge(PurgeRequest.of(ids=[stored[0].id]), who=OWNER)
    (after,) = await memory.reports()
    purged = next(change for change in after.changes if change.ids == (stored[0].id,))
    assert (purged.names, purged.before, purged.after, purged.outcome) == (("",), "", "", "done")
    assert [change for change in after.changes if change is not purged] == [
        change for change in report.changes if change.ids == (stored[1].id,)
    ]
