"""Runs jobs of curation: plans, applies, reports; one run of a space at a time, which goes on after a kill."""

import asyncio
import logging
from collections.abc import AsyncIterator, Awaitable, Callable, Generator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta

from scrubjay.curation.apply import DONE, apply_changes
from scrubjay.curation.plan import CurationContext, CurationJob
from scrubjay.curation.polish import join_statements
from scrubjay.curation.prune import EXPIRED, pruning_jobs
from scrubjay.curation.registry import JOBS, chosen_jobs
from scrubjay.curation.schedule import LEASE, Schedule, SpaceRecord
from scrubjay.curation.stored_runs import PAGE_SIZE, PlanPage, StoredRuns, new_run
from scrubjay.engine import Engine
from scrubjay.errors import BodyDamaged, ScrubjayError, StaleVersion, StoreError, WrongState
from scrubjay.model.caller import Caller
from scrubjay.model.change import Action
from scrubjay.model.curation import (
    AGENT,
    SCHEDULE,
    SCHEDULE_KEY,
    UPKEEP,
    CurationReport,
    CurationRun,
    PlannedChange,
    RunState,
)
from scrubjay.model.identity import new_id
from scrubjay.model.requests import CurateRequest, CurationsRequest, PruneRequest, RulesRequest, UndoRequest
from scrubjay.ports import Llm, Progress, RecordStore

_log = logging.getLogger(__name__)
# Users' requests go first, for at most so many waits of so many seconds at each step.
_WAITS = 200
_WAIT_SECONDS = 0.001
# How often it looks for new spaces.
_SCHEDULE_EVERY = timedelta(hours=1)
_MAX_DUE = 50
_END_OF_TIME = datetime.max.replace(tzinfo=UTC)
# A memory has been created, changed by curation and changed back.
_UNDONE_VERSION = 3
PURGE = "purge"
_PLANNED_TODAY = "later jobs see what earlier ones change: a run may do more or less than this plan"
# A job before may have moved a relation of a memory in the same run, without a version of it.
_UNVERSIONED = frozenset({Action.RELATED, Action.UNRELATED, Action.EMBEDDED})
# So many damaged memories are named in a report; `doctor --deep` names them all.
_NAMED = 10


class _Interrupted(Exception):
    """The run must end here, and goes on later."""


@dataclass(slots=True, kw_only=True)
class _Work:
    """A run in the hands of this runner, and the record that holds its lease."""

    run: CurationRun
    record: SpaceRecord
    jobs: Mapping[str, CurationJob]
    progress: Progress | None
    is_scheduled: bool
    renewed_at: datetime


class CurationRunner:
    """Runs jobs of curation on the spaces of one store."""

    def __init__(self, engine: Engine, store: RecordStore, *, schedule: Schedule | None = None) -> None:
        self._engine = engine
        self._store = store
        self._clock = engine.clock
        self.schedule = schedule or Schedule()
        # How many requests a daemon serves at the moment, those for curation among them.
        self.active_requests: Callable[[], int] = lambda: 0
        self._own_requests = 0
        self._scheduled_at: datetime | None = None
        self._executing: set[str] = set()

    async def curate(self, request: CurateRequest, *, who: Caller, progress: Progress | None = None) -> CurationReport:
        """Run jobs on a space, or only plan them."""
        jobs = [JOBS[name] for name in chosen_jobs(request.jobs)]
        return await self._run(jobs, request, space=who.space, progress=progress)

    async def prune(self, request: PruneRequest, *, who: Caller, progress: Progress | None = None) -> CurationReport:
        """Move memories to the trash by age, by worth and by budget, or only plan it."""
        return await self._run(pruning_jobs(request), request, space=who.space, progress=progress)

    async def _run(
        self,
        jobs: Sequence[CurationJob],
        request: CurateRequest | PruneRequest,
        *,
        space: str,
        progress: Progress | None,
    ) -> CurationReport:
        self._own_requests += 1
        try:
            if request.dry_run or not await self._store.ids(space, limit=1):
                return await self._preview(jobs, space=space, request=request)
            work = await self._claim(space, jobs, progress=progress)
            run = await self._execute(work)
            return await self._runs(space).report(run, limit=request.limit)
        finally:
            self._own_requests -= 1

    async def curations(self, request: CurationsRequest, *, who: Caller) -> tuple[CurationReport, ...]:
        """Return the reports of earlier runs."""
        return await self._runs(who.space).reports(run=request.run, limit=request.limit, changes=request.changes)

    async def join_statements(self, statements: Sequence[str], *, llm: Llm) -> str:
        """Return statements as one coherent text of a language model, which says just what they do."""
        return await join_statements(statements, llm=llm)

    async def mark_undone(self, run: str, *, space: str, is_complete: bool = True) -> None:
        """Note that a run was taken back, or is being so, if it is one of curation."""
        await self._runs(space).mark_undone(run, is_complete=is_complete)

    async def has_run(self, run: str, *, space: str) -> bool:
        """Return whether there is a report of a run."""
        return await self._runs(space).get(run) is not None

    async def forget(self, ids: AbstractSet[str], *, space: str, run: str) -> None:
        """Keep no labels of purged memories in plans and reports; those of a run here are dealt with at its end."""
        if run not in self._executing:
            await self._runs(space).forget(ids)

    async def run_due(self) -> int:
        """Do the runs that are due, in all spaces, also what fell due while no daemon ran; return their number."""
        now = self._clock.now()
        if not self.schedule.hours or self.schedule.is_quiet(now):
            return 0
        await self._schedule_spaces(now)
        runs = 0
        for document in await self._store.due_documents(SCHEDULE, now=now, limit=_MAX_DUE):
            record = SpaceRecord.from_document(document)
            with _logged(record.space):
                runs += await self._run_due_jobs(record, now)
        return runs

    async def _run_due_jobs(self, record: SpaceRecord, now: datetime) -> bool:
        """Go on with the unfinished run of a space, or start one; return whether there was something to do."""
        if record.is_held(now):
            return False
        jobs = self.schedule.due_jobs(record, now)
        if record.run or (jobs and await self._store.ids(record.space, limit=1)):
            due = [JOBS[job] for job in jobs]
            work = await self._claim(record.space, due, progress=None, is_scheduled=True)
            await self._execute(work)
            return True
        record = replace(record, last={**record.last, **dict.fromkeys(jobs, now)})
        await self._put(replace(record, due=self.schedule.next_due(record)))
        return False

    async def _schedule_spaces(self, now: datetime) -> None:
        """Schedule the spaces that are new, and those whose next run a wrong clock has put off; finish undos."""
        if self._scheduled_at is not None and abs(now - self._scheduled_at) < _SCHEDULE_EVERY:
            return
        # That without a name holds documents of the whole store, and no memories.
        for space in filter(None, await self._store.spaces()):
            with _logged(space):
                await self._schedule_space(space, now)
        self._scheduled_at = now

    async def _schedule_space(self, space: str, now: datetime) -> None:
        record = await self._record(space) or SpaceRecord(space=space, since=now)
        if not record.version or (self.schedule.is_unreachable(record, now) and not record.is_held(now)):
            record = record.forgetting_future(now)
            due = now if record.run else self.schedule.next_due(record)
            with suppress(StaleVersion):
                await self._put(replace(record, due=due))
        for run in await self._runs(space).interrupted_undos(before=now - LEASE):
            await self._engine.undo(UndoRequest(run=run), who=Caller(space=space, agent=AGENT))
            await self.mark_undone(run, space=space)

    def _runs(self, space: str) -> StoredRuns:
        return StoredRuns(store=self._store, space=space, clock=self._clock)

    async def _context(self, space: str, run: str, *, pause: Callable[[], Awaitable[None]]) -> CurationContext:
        rules = await self._engine.rules(RulesRequest(), who=Caller(space=space))
        return CurationContext(
            store=self._store, engine=self._engine, space=space, run=run, rules=rules, pause=pause
        )  # fmt: skip

    async def _preview(
        self, jobs: Sequence[CurationJob], *, space: str, request: CurateRequest | PruneRequest
    ) -> CurationReport:
        """Plan jobs on the space as it is, and store nothing."""
        run = new_run("", space=space, jobs=[job.name for job in jobs], at=self._clock.now())
        context = await self._context(space, "", pause=self._give_way)
        changes: list[tuple[PlannedChange, str]] = []
        for job in jobs:
            try:
                async for page in self._planned_pages(job, context):
                    changes += [(change, "") for change in page[: request.limit - len(changes)]]
                    for change in page:
                        run = run.count(job.name, change.step)
            except Exception as error:
                if _ends_run(error):
                    raise
                run = replace(run, problems=(*run.problems, _problem(job.name, error)))
            run = _with_damage(run, job.name, context)
        if len(run.counts) and len(jobs) > 1:
            context.notes.append(_PLANNED_TODAY)
        return CurationReport(
            run="", state=RunState.PLANNED if request.dry_run else RunState.DONE, jobs=run.jobs,
            dry_run=request.dry_run,
            started_at=run.started_at, ended_at=self._clock.now(), planned=run.done, counts=run.counts,
            notes=tuple(context.notes), problems=run.problems, changes=await self._runs(space).with_names(changes),
        )  # fmt: skip

    async def _claim(
        self, space: str, jobs: Sequence[CurationJob], *, progress: Progress | None, is_scheduled: bool = False
    ) -> _Work:
        """Start a run, or go on with an earlier one of the same jobs; raise WrongState while another one is running."""
        names, has_options = [job.name for job in jobs], any(map(_has_options, jobs))
        now, runs = self._clock.now(), self._runs(space)
        record = await self._record(space) or SpaceRecord(space=space, since=now)
        if record.is_held(now):
            raise _already_running(record)
        earlier = await runs.get(record.run)
        is_resumed = earlier is not None and earlier.state is RunState.RUNNING
        # The earlier plan may be one of other options.
        is_other = earlier is not None and (has_options or set(earlier.jobs) != set(names))
        if earlier is None or not is_resumed or (is_other and not is_scheduled):
            run = new_run(new_id(), space=space, jobs=names, at=now)
        else:
            run = earlier
        record = await self._hold(record, run=run.id)
        if earlier is not None and is_resumed and earlier is not run:
            problem = f"it was interrupted, and run {run.id} took its place"
            await runs.put(
                replace(earlier, state=RunState.STOPPED, ended_at=now, problems=(*earlier.problems, problem))
            )
        if run is not earlier:
            run = await runs.put(run)
        _log.info("curation", extra={"fields": {"run": run.id, "jobs": ",".join(run.jobs), "resumed": run is earlier}})
        return _Work(
            run=run, record=record, jobs={job.name: job for job in jobs}, progress=progress, is_scheduled=is_scheduled,
            renewed_at=now,
        )  # fmt: skip

    async def _execute(self, work: _Work) -> CurationRun:
        """Do the rest of a run; when interrupted, leave it so that it can go on at once."""
        try:
            context = await self._context(
                work.run.space, work.run.id, pause=lambda: self._pause(work)
            )  # fmt: skip
            self._executing.add(work.run.id)
            while work.run.job < len(work.run.jobs):
                await self._run_job(work, context)
            await self._forget_purged(work.run)
            await self._save(work, state=RunState.DONE, ended_at=self._clock.now())
            await self._runs(work.run.space).drop_old()
        except (_Interrupted, StaleVersion):
            if not work.is_scheduled:
                raise _already_running(work.record) from None
        finally:
            self._executing.discard(work.run.id)
            # If that fails too, the lease ends by itself, and the first error says more.
            with suppress(StaleVersion, StoreError):
                await self._release(work)
        return work.run

    async def _forget_purged(self, run: CurationRun) -> None:
        """Keep no labels of the memories that a run has purged."""
        if any(PURGE in steps for steps in run.counts.values()):
            logged = await self._store.run(run.space, run.id)
            purged = {change.memory_id for change in logged.changes if change.action is Action.PURGED} if logged else ()
            await self._runs(run.space).forget({*purged})

    async def _run_job(self, work: _Work, context: CurationContext) -> None:
        """Plan and apply the current job of a run; a job that fails does not stop the others."""
        name = work.run.jobs[work.run.job]
        try:
            # A run that goes on may have jobs that are not due now.
            job = work.jobs.get(name) or JOBS[name]
            if work.run.pages is None:
                await self._plan(job, work, context)
            await self._apply(job, work, context)
        except Exception as error:
            if _ends_run(error):
                raise
            work.run = replace(work.run, problems=(*work.run.problems, _problem(name, error)))
        work.run = _with_damage(work.run, name, context)
        if not _has_options(work.jobs.get(name)):
            work.record = replace(work.record, last={**work.record.last, name: self._clock.now()})
        await self._save(work, job=work.run.job + 1, pages=None, page=0)

    async def _plan(self, job: CurationJob, work: _Work, context: CurationContext) -> None:
        """Store the plan of a job, page by page; one that was interrupted is made again."""
        runs = self._runs(work.run.space)
        await runs.drop_plan(work.run)
        pages = planned = 0
        async for changes in self._planned_pages(job, context):
            await runs.put_page(work.run, pages, PlanPage(changes=tuple(changes)))
            pages, planned = pages + 1, planned + len(changes)
            self._report(work, planned=planned)
        notes = (*work.run.notes, *context.notes)
        context.notes.clear()
        await self._save(work, pages=pages, page=0, planned=work.run.planned + planned, notes=notes)

    async def _planned_pages(self, job: CurationJob, context: CurationContext) -> AsyncIterator[list[PlannedChange]]:
        """Yield the plan of a job in pages, without what a person has taken back before, unless a request names it."""
        page: list[PlannedChange] = []
        async for change in job.plan(context):
            page.append(change)
            if len(page) == PAGE_SIZE:
                if changes := await self._without_taken_back(job, page, context):
                    yield changes
                page = []
                await context.pause()
        if changes := await self._without_taken_back(job, page, context):
            yield changes

    async def _without_taken_back(
        self, job: CurationJob, changes: Sequence[PlannedChange], context: CurationContext
    ) -> list[PlannedChange]:
        """Leave out changes of memories whose last change by curation was undone, or it would be undone every day.

        Upkeep changes nothing that a person sees, so there is nothing of it to take back. Its author has set the end of
        a memory, so that it ends unless just that was taken back.
        """
        ids = {
            memory_id
            for change in changes
            for memory_id, version in zip(change.ids, change.versions, strict=True)
            if version >= _UNDONE_VERSION and change.action not in UPKEEP
        }
        if _has_options(job):
            return [*changes]
        taken_back: dict[str, str] = {}
        try:
            newest = await self._store.versions_at(context.space, sorted(ids), at=_END_OF_TIME) if ids else {}
            for memory_id, version in newest.items():
                if version.action == Action.UNDONE:
                    undone = await self._store.version(context.space, memory_id, version.number - 1)
                    if undone is not None and undone.agent == AGENT:
                        taken_back[memory_id] = undone.action
        except BodyDamaged:
            return [*changes]

        def is_taken_back(change: PlannedChange) -> bool:
            actions = [taken_back[memory_id] for memory_id in change.ids if memory_id in taken_back]
            return Action.TRASHED in actions if EXPIRED in change.details else bool(actions)

        return [change for change in changes if change.action in UPKEEP or not is_taken_back(change)]

    async def _apply(self, job: CurationJob, work: _Work, context: CurationContext) -> None:
        """Apply the rest of a plan, page by page."""
        runs = self._runs(work.run.space)
        # What a run that was killed has committed, but not noted.
        logged = await self._store.run(work.run.space, work.run.id)
        committed = {
            (change.memory_id, change.base)
            for change in (logged.changes if logged else ())
            if change.action not in _UNVERSIONED
        }
        while work.run.page < (work.run.pages or 0):
            number = work.run.page
            page = await runs.get_page(work.run, number)
            outcomes = await apply_changes(job, page.changes, context, committed=committed)
            await self._engine.index.after_commit()
            self._report(work, done=len(outcomes))
            await context.pause()
            # A purge may have changed it meanwhile.
            applied = await runs.get_page(work.run, number)
            await runs.put_page(work.run, number, replace(applied, outcomes=tuple(outcomes)))
            run = work.run
            for change, outcome in zip(page.changes, outcomes, strict=True):
                run = run.count(job.name, change.step) if outcome == DONE else replace(run, skipped=run.skipped + 1)
            work.run = run
            await self._save(work, page=number + 1)

    def _report(self, work: _Work, *, planned: int = 0, done: int = 0) -> None:
        if work.progress is not None:
            run = work.run
            work.progress(run.done + run.skipped + done, run.planned + planned)

    async def _save(self, work: _Work, **changes: object) -> None:
        """Store how far the run is; raise _Interrupted if another runner has gone on with it."""
        try:
            work.run = await self._runs(work.run.space).put(replace(work.run, **changes))
        except StaleVersion:
            raise _Interrupted from None

    async def _record(self, space: str) -> SpaceRecord | None:
        document = await self._store.document(space, SCHEDULE, SCHEDULE_KEY)
        return None if document is None else SpaceRecord.from_document(document)

    async def _hold(self, record: SpaceRecord, *, run: str) -> SpaceRecord:
        """Hold the lease of a space for a run; raise WrongState if another runner has been faster."""
        until = self._clock.now() + LEASE
        try:
            return await self._put(replace(record, run=run, until=until, due=until))
        except StaleVersion:
            raise _already_running(record) from None

    async def _put(self, record: SpaceRecord) -> SpaceRecord:
        document = record.document(at=self._clock.now())
        return SpaceRecord.from_document(await self._store.put_document(document, base=record.version or None))

    async def _release(self, work: _Work) -> None:
        """Give the lease back; an unfinished run is due at once."""
        record = replace(work.record, until=None)
        if work.run.state is RunState.RUNNING:
            record = replace(record, due=self._clock.now())
        else:
            record = replace(record, run="", due=self.schedule.next_due(record))
        await self._put(record)

    async def _pause(self, work: _Work) -> None:
        """Let users' requests go first, and show that this runner is alive; a jump of the clock counts as time."""
        await self._give_way()
        now = self._clock.now()
        if work.is_scheduled and self.schedule.is_quiet(now):
            raise _Interrupted
        if abs(now - work.renewed_at) > LEASE / 4:
            try:
                work.record = await self._hold(work.record, run=work.run.id)
            except WrongState:
                raise _Interrupted from None
            work.renewed_at = now

    async def _give_way(self) -> None:
        await asyncio.sleep(0)
        for _ in range(_WAITS):
            if self.active_requests() <= self._own_requests:
                return
            await asyncio.sleep(_WAIT_SECONDS)


def _already_running(record: SpaceRecord) -> WrongState:
    return WrongState(
        "this space is being curated", hint="Wait until that run has ended; `curations` shows how far it is",
        run=record.run,
    )  # fmt: skip


@contextmanager
def _logged(space: str) -> Generator[None]:
    """Log why a space cannot be curated now: the others must not wait for it."""
    try:
        yield
    except (WrongState, StaleVersion):
        # Another runner has been faster.
        pass
    except Exception as error:  # noqa: BLE001 - the edge of a space
        _log.exception("curation failed", extra={"fields": {"space": space, "error": type(error).__name__}})


def _has_options(job: CurationJob | None) -> bool:
    """Return whether a request has given a job options of its own, which no schedule knows."""
    return job is not None and job is not JOBS[job.name]


def _ends_run(error: Exception) -> bool:
    """Return whether no other job could work after an error; one damaged body is a problem of its job alone."""
    return isinstance(error, _Interrupted | StaleVersion | StoreError) and not isinstance(error, BodyDamaged)


def _with_damage(run: CurationRun, job: str, context: CurationContext) -> CurationRun:
    """Return a run with the memories that a job could not read as a problem of it, the first time that they are met."""
    damaged = [memory_id for memory_id, why in context.damaged.items() if why]
    if not damaged:
        return run
    context.damaged.update(dict.fromkeys(damaged, ""))
    more = f" and {len(damaged) - _NAMED:,} more" if len(damaged) > _NAMED else ""
    problem = f"{job}: damaged and left out: {', '.join(damaged[:_NAMED])}{more}"
    return replace(run, problems=(*run.problems, problem))


def _problem(job: str, error: Exception) -> str:
    if isinstance(error, ScrubjayError):
        return f"{job}: {error.message}"
    _log.error("a job of curation failed", exc_info=error, extra={"fields": {"job": job}})
    return f"{job}: {type(error).__name__}"
