"""Stored runs of curation: each is a document, and its plan is a series of documents with a page of changes each."""

from collections.abc import AsyncIterator, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import replace
from datetime import datetime

from scrubjay.errors import NotFound
from scrubjay.lazy import dataclass
from scrubjay.lookup.references import TolerantReader
from scrubjay.model.curation import RUNS, CurationChange, CurationReport, CurationRun, PlannedChange, RunState
from scrubjay.model.document import Document
from scrubjay.model.memory import Json
from scrubjay.ports import Clock, RecordStore

PAGE_SIZE = 50
"""The number of changes on a page."""
_PLANS = "curation-plans"
# So many runs of a space stay listed, with their changes.
_KEPT_RUNS = 30
_LISTED = 100


@dataclass(frozen=True, slots=True, kw_only=True)
class PlanPage:
    """A page of a plan; once it is applied, it has an outcome for each change: `done`, or why it was skipped."""

    changes: tuple[PlannedChange, ...]
    outcomes: tuple[str, ...] = ()
    version: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class StoredRuns:
    """The runs of one space."""

    store: RecordStore
    space: str
    clock: Clock

    async def get(self, run: str) -> CurationRun | None:
        """Return a run."""
        document = await self.store.document(self.space, RUNS, run) if run else None
        return None if document is None else CurationRun.from_document(document)

    async def put(self, run: CurationRun) -> CurationRun:
        """Store a run; raise StaleVersion if another runner has gone on with it."""
        document = run.document(at=self.clock.now())
        return CurationRun.from_document(await self.store.put_document(document, base=run.version or None))

    async def get_page(self, run: CurationRun, number: int) -> PlanPage:
        """Return a page of the plan of the current job."""
        document = await self.store.document(self.space, _PLANS, _key(run, number))
        if document is None:
            raise NotFound(f"page {number} of the plan of run {run.id} is gone", ref=run.id)
        return _page(document)

    async def put_page(self, run: CurationRun, number: int, page: PlanPage) -> None:
        """Store a page of the plan of the current job."""
        await self._put_page(_key(run, number), page)

    async def _put_page(self, key: str, page: PlanPage) -> None:
        value: dict[str, Json] = {"changes": [change.as_json for change in page.changes], "outcomes": [*page.outcomes]}
        document = Document(
            space=self.space, collection=_PLANS, key=key, value=value, version=page.version or 1,
            at=self.clock.now(),
        )  # fmt: skip
        await self.store.put_document(document, base=page.version or None)

    async def drop_plan(self, run: CurationRun) -> None:
        """Delete what there is of a plan of the current job."""
        await self._delete_pages(f"{run.id}.{run.job:03d}.")

    async def drop_old(self) -> None:
        """Delete all but the newest runs."""
        for document in (await self.store.latest_documents(self.space, RUNS, limit=_LISTED))[_KEPT_RUNS:]:
            await self._delete_pages(f"{document.key}.")
            await self.store.delete_document(self.space, RUNS, document.key)

    async def forget(self, ids: AbstractSet[str]) -> None:
        """Keep nothing of purged memories in plans and reports but their ids: a label may say as much as a text."""
        async for document in self._documents(""):
            page = _page(document)
            if any(not ids.isdisjoint(change.ids) for change in page.changes):
                changes = [change if ids.isdisjoint(change.ids) else _without_labels(change) for change in page.changes]
                await self._put_page(document.key, replace(page, changes=tuple(changes)))

    async def mark_undone(self, run: str, *, is_complete: bool) -> None:
        """Note that a run was taken back, or is being so."""
        stored = await self.get(run)
        if stored is not None and stored.state is not RunState.RUNNING:
            await self.put(replace(stored, state=RunState.UNDONE if is_complete else RunState.UNDOING))

    async def interrupted_undos(self, *, before: datetime) -> list[str]:
        """Return the runs whose undo began before a time, and has not ended."""
        documents = await self.store.latest_documents(self.space, RUNS, limit=_LISTED)
        runs = [CurationRun.from_document(document) for document in documents if document.at < before]
        return [run.id for run in runs if run.state is RunState.UNDOING]

    async def last_start(self, job: str, *, before: datetime) -> datetime | None:
        """Return when the last complete run with a job began, of those that began before a time."""
        documents = await self.store.latest_documents(self.space, RUNS, limit=_LISTED)
        runs = [CurationRun.from_document(document) for document in documents]
        starts = [run.started_at for run in runs if run.ended_at is not None and job in run.jobs]
        return max((start for start in starts if start <= before), default=None)

    async def reports(self, *, run: str, limit: int, changes: int) -> tuple[CurationReport, ...]:
        """Return the reports of the newest runs, or of one."""
        if run:
            stored = await self.get(run)
            if stored is None:
                raise NotFound(
                    f"there is no run of curation {run[:100]!r}", hint="`curations` lists the latest", ref=run[:200]
                )
            runs = [stored]
        else:
            documents = await self.store.latest_documents(self.space, RUNS, limit=limit)
            runs = [CurationRun.from_document(document) for document in documents]
        return tuple([await self.report(run, limit=changes) for run in runs])

    async def report(self, run: CurationRun, *, limit: int) -> CurationReport:
        """Return the report of a run with its first changes."""
        changes: list[tuple[PlannedChange, str]] = []
        async for page in self._pages(f"{run.id}."):
            outcomes = page.outcomes or ("",) * len(page.changes)
            changes += zip(page.changes, outcomes, strict=True)
            if len(changes) >= limit:
                break
        return CurationReport(
            run=run.id, state=run.state, jobs=run.jobs, started_at=run.started_at, ended_at=run.ended_at,
            planned=run.planned, done=run.done, skipped=run.skipped, counts=run.counts, problems=run.problems,
            notes=run.notes, changes=await self.with_names(changes[:limit]),
        )  # fmt: skip

    async def with_names(self, changes: Sequence[tuple[PlannedChange, str]]) -> tuple[CurationChange, ...]:
        """Return changes and their outcomes with the present names of their memories."""
        ids = list(dict.fromkeys(memory_id for change, _ in changes for memory_id in change.ids))
        names = {memory.id: memory.name for memory in await TolerantReader(self.store, space=self.space).get(ids)}
        return tuple(
            CurationChange(
                job=change.job, action=change.action, ids=change.ids, why=change.why, before=change.before,
                after=change.after, outcome=outcome, names=tuple(names.get(memory_id, "") for memory_id in change.ids),
            )
            for change, outcome in changes
        )  # fmt: skip

    async def _pages(self, prefix: str) -> AsyncIterator[PlanPage]:
        async for document in self._documents(prefix):
            yield _page(document)

    async def _documents(self, prefix: str) -> AsyncIterator[Document]:
        after = prefix
        while page := await self.store.documents(self.space, _PLANS, after=after, limit=20):
            for document in page:
                if not document.key.startswith(prefix):
                    return
                yield document
            after = page[-1].key

    async def _delete_pages(self, prefix: str) -> None:
        async for document in self._documents(prefix):
            await self.store.delete_document(self.space, _PLANS, document.key)


def new_run(run: str, *, space: str, jobs: Sequence[str], at: datetime) -> CurationRun:
    """Return a run that has not begun."""
    return CurationRun(id=run, space=space, jobs=tuple(jobs), started_at=at)


def _without_labels(change: PlannedChange) -> PlannedChange:
    return replace(change, before="", after="", why="a memory of it was purged", details={})


def _key(run: CurationRun, number: int) -> str:
    return f"{run.id}.{run.job:03d}.{number:06d}"


def _page(document: Document) -> PlanPage:
    changes, outcomes = document.value["changes"], document.value["outcomes"]
    assert isinstance(changes, list)
    assert isinstance(outcomes, list)
    return PlanPage(
        changes=tuple(PlannedChange.from_json(change) for change in changes if isinstance(change, dict)),
        outcomes=tuple(map(str, outcomes)),
        version=document.version,
    )
