"""`scrubjay curate`: plan and apply what keeps a space in order, show what was done, and take it back."""

from collections.abc import Iterator
from contextlib import suppress
from dataclasses import replace
from typing import Annotated

import typer

from scrubjay.client import MemoryClient
from scrubjay.errors import InvalidInput, NotFound
from scrubjay.lazy import dataclass
from scrubjay.model.curation import CurationChange, CurationReport, RunState
from scrubjay.model.requests import CurateRequest, CurationsRequest, PruneRequest
from scrubjay.model.results import Undone
from scrubjay.surfaces.cli.command import Make, verb
from scrubjay.surfaces.cli.console import align, progress, shorten

app = typer.Typer()

_HEAD = ("JOB", "ACTION", "MEMORY", "BEFORE", "AFTER", "WHY", "OUTCOME")
_MAX_CELL = 60
_MAX_NAMES = 3
_LAST = "last"
_NOTHING_TO_TAKE_BACK = "it has changed nothing: there is nothing to take back"
_TAKEN_BACK = "it was taken back already"


@dataclass(frozen=True, slots=True, kw_only=True)
class CurationView:
    """The report of a run, as a summary and a table."""

    report: CurationReport

    def __str__(self) -> str:
        return "\n".join(_lines(self.report))


@verb(app, holds_index=True)
async def curate(
    client: MemoryClient,
    make: Make[CurateRequest],
    *,
    limit: Annotated[
        int, typer.Option("--limit", "-n", min=0, max=1_000, help="Maximum number of changes to show.")
    ] = 50,
    last: Annotated[bool, typer.Option("--last", help="Show what the last run did, and run nothing.")] = False,
    undo: Annotated[
        str, typer.Option("--undo", metavar="RUN", help="Take back a run by its id; `last` is the last one.")
    ] = "",
) -> CurationView | Undone:
    """Run the jobs that keep a space in order.

    Every change is a version, and --undo takes a run back. A run that was interrupted goes on with the next call.
    """
    request = make(limit=limit)
    if ((last or undo) and (request.jobs or request.dry_run)) or (last and undo):
        raise InvalidInput("--last and --undo stand alone", hint="Leave the other options out")
    if undo:
        return await _take_back(client, undo)
    if last:
        return CurationView(report=await _last(client, limit=limit))
    with progress("curating") as report:
        return CurationView(report=await client.call(request, progress=report))


@verb(app, holds_index=True)
async def prune(
    client: MemoryClient,
    make: Make[PruneRequest],
    *,
    limit: Annotated[
        int, typer.Option("--limit", "-n", min=0, max=1_000, help="Maximum number of changes to show.")
    ] = 50,
) -> CurationView:
    """Move memories to the trash by age, by worth and by budget.

    Pinned memories, those that others link to and what the user stated are spared. Without an option, what the rules of
    the space say is done.
    """
    with progress("pruning") as report:
        return CurationView(report=await client.call(make(limit=limit), progress=report))


async def _take_back(client: MemoryClient, run: str) -> Undone | CurationView:
    """Undo a run; one that has changed nothing is shown as it is."""
    report: CurationReport | None = None
    if run == _LAST:
        report = await _last(client, limit=0)
    else:
        with suppress(NotFound):
            (report,) = await client.call(CurationsRequest(run=run, changes=0))
    if report is not None and report.state is RunState.DONE and not report.has_versions:
        return _with_note(report, _NOTHING_TO_TAKE_BACK)
    undone = await client.undo(run=report.run if report else run)
    if report is not None and report.state is RunState.UNDONE and not undone.done:
        return _with_note(report, _TAKEN_BACK)
    return undone


def _with_note(report: CurationReport, note: str) -> CurationView:
    return CurationView(report=replace(report, notes=(*report.notes, note)))


async def _last(client: MemoryClient, *, limit: int) -> CurationReport:
    runs = await client.call(CurationsRequest(limit=1, changes=limit))
    if not runs:
        raise NotFound("this space has not been curated yet", hint="`scrubjay curate --dry-run` shows what it would do")
    return runs[0]


def _lines(report: CurationReport) -> Iterator[str]:
    jobs = ", ".join(report.jobs)
    if report.dry_run:
        yield f"would make {report.planned:,} changes ({jobs}); nothing was written"
    else:
        ended = f", {report.ended_at:%Y-%m-%d %H:%M}" if report.ended_at else ""
        skipped = f", skipped {report.skipped:,}" if report.skipped else ""
        done, planned = (count - report.reported for count in (report.done, report.planned))
        yield f"{report.state.value}: changed {done:,} of {planned:,}{skipped} ({jobs}{ended})"
    for job, steps in report.counts.items():
        yield f"  {job}: {', '.join(f'{count:,} {step}' for step, count in steps.items())}"
    yield from (f"  {note}" for note in report.notes)
    yield from (f"problem: {problem}" for problem in report.problems)
    if report.changes:
        yield ""
        yield from align([_HEAD, *map(_row, report.changes)])
        if len(report.changes) < report.planned:
            yield f"and {report.planned - len(report.changes):,} more: --limit shows them"
    if report.has_versions and not report.dry_run:
        yield f"scrubjay curate --undo {report.run}"


def _row(change: CurationChange) -> tuple[str, ...]:
    names = [name or memory_id for name, memory_id in zip(change.names, change.ids, strict=True)]
    listed = ", ".join(names[:_MAX_NAMES]) + (f" and {len(names) - _MAX_NAMES} more" if len(names) > _MAX_NAMES else "")
    cells = (change.job, change.action, listed, change.before, change.after, change.why, change.outcome)
    return tuple(shorten(cell, limit=_MAX_CELL) or "-" for cell in cells)
