"""`scrubjay conflicts`: find, show and resolve contradictions between stored memories."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Annotated

import typer
from typer.core import TyperGroup

from scrubjay.client import MemoryClient
from scrubjay.errors import NotFound
from scrubjay.model.conflict import ConflictDetails, ConflictSide, ConflictStatus, Resolved, Scan
from scrubjay.model.requests import ConflictsRequest, ResolveConflictRequest, ScanConflictsRequest
from scrubjay.surfaces.cli.command import Make, plain, verb
from scrubjay.surfaces.cli.console import align, progress, shorten
from scrubjay.surfaces.cli.jobs import JobChange

_HEAD = ("CONFLICT", "TYPE", "CONFIDENCE", "SUGGESTED", "STATUS", "FOUND")
_MAX_STATEMENT = 200
_DEFAULT_COMMAND = "list"


class _ListByDefault(TyperGroup):
    """A group that runs `list` if no command is named."""

    def parse_args(self, ctx: "typer.Context", args: list[str]) -> list[str]:  # type: ignore[override]
        """Insert the default command."""
        first = args[0] if args else ""
        is_option = first.startswith("-") and first != "--help"
        return super().parse_args(ctx, [_DEFAULT_COMMAND, *args] if not first or is_option else args)


app = typer.Typer()
conflicts_app = typer.Typer(help="Duplicate and contradictory memories.", cls=_ListByDefault)
app.add_typer(conflicts_app, name="conflicts")


@dataclass(frozen=True, slots=True, kw_only=True)
class ConflictList:
    """Conflicts, the newest first."""

    conflicts: tuple[ConflictDetails, ...]

    def __str__(self) -> str:
        if not self.conflicts:
            return "no conflicts; `scrubjay conflicts scan` checks all stored memories"
        head, *rows = align([_HEAD, *map(_row, self.conflicts)])
        lines = [head]
        for conflict, row in zip(self.conflicts, rows, strict=True):
            lines += [row, *_describe_sides(conflict, limit=_MAX_STATEMENT)]
        return "\n".join(lines)


@dataclass(frozen=True, slots=True, kw_only=True)
class ConflictView:
    """One conflict in full."""

    conflict: ConflictDetails

    def __str__(self) -> str:
        conflict = self.conflict
        detected = f"found {conflict.detected_at:%Y-%m-%d %H:%M}"
        lines = [f"{conflict.id}  {conflict.type}, confidence {conflict.confidence:.2f}, {detected}"]
        lines += _describe_sides(conflict, limit=None)
        if conflict.status is ConflictStatus.PENDING:
            lines += [f"pending: scrubjay conflicts resolve {conflict.id} --strategy {conflict.suggested_action}"]
        else:
            by = f" by {conflict.resolved_by}" if conflict.resolved_by else ""
            lines += [f"{conflict.status}: {conflict.strategy}{by}, {conflict.resolved_at:%Y-%m-%d %H:%M}"]
            lines += [f"  {conflict.notes}"] if conflict.notes else []
            lines += [f"  scrubjay undo --run {conflict.run}"] if conflict.run else []
        return "\n".join(lines)


@dataclass(frozen=True, slots=True, kw_only=True)
class ScanReport:
    """The conflicts that a scan of all memories found."""

    scan: Scan

    def __str__(self) -> str:
        types = ", ".join(f"{count:,} {type_}" for type_, count in sorted(self.scan.by_type.items()))
        summary = f"compared {self.scan.memories:,} memories, new conflicts: {self.scan.count:,}"
        summary += f" ({types})" if types else ""
        return f"{summary}\n{ConflictList(conflicts=self.scan.found)}" if self.scan.found else summary


@dataclass(frozen=True, slots=True, kw_only=True)
class ResolutionReport:
    """How a conflict was resolved."""

    resolved: Resolved

    def __str__(self) -> str:
        resolved = self.resolved
        lines = [f"{resolved.action} {resolved.conflict} by {resolved.strategy}, kept {resolved.kept}"]
        lines += [f"  {resolved.why}"] if resolved.why else []
        lines += [f"  branch {resolved.branch}"] if resolved.branch else []
        lines += [f"warning: {warning}" for warning in resolved.warnings]
        lines += [f"  scrubjay undo --run {resolved.run}"] if resolved.run else []
        return "\n".join(lines)


plain(
    conflicts_app,
    ConflictsRequest,
    "List conflicts with both statements, the newest first.",
    shown=lambda conflicts: ConflictList(conflicts=conflicts),
)


@verb(conflicts_app)
async def show(
    client: MemoryClient, id: Annotated[str, typer.Argument(help="Id of the conflict.", show_default=False)]
) -> ConflictView:
    """Show one conflict, pending or not."""
    conflicts = await client.conflicts(status="all", id=id, limit=1)
    matches = [conflict for conflict in conflicts if conflict.id == id]
    if not matches:
        raise NotFound(f"there is no conflict {id[:100]!r}", hint="`scrubjay conflicts` lists them", ref=id[:200])
    return ConflictView(conflict=matches[0])


@verb(conflicts_app, holds_index=True, defaults={"limit": 10})
async def scan(
    client: MemoryClient,
    make: Make[ScanConflictsRequest],
    *,
    later: Annotated[bool, typer.Option(help="Leave the scan to the daemon, as a job.")] = False,
) -> ScanReport | JobChange:
    """Compare all stored memories; new conflicts are pending."""
    if later:
        return JobChange(job=await client.scan_later(), action="left for later:")
    with progress("comparing") as report:
        return ScanReport(scan=await client.call(make(), progress=report))


plain(
    conflicts_app,
    ResolveConflictRequest,
    "Resolve a conflict; `undo` reverts it.",
    shown=lambda resolved: ResolutionReport(resolved=resolved),
)


def _row(conflict: ConflictDetails) -> tuple[str, ...]:
    return (
        conflict.id,
        conflict.type.value,
        f"{conflict.confidence:.2f}",
        conflict.suggested_action.value,
        conflict.status.value,
        conflict.detected_at.date().isoformat(),
    )


def _describe_sides(conflict: ConflictDetails, *, limit: int | None) -> Iterator[str]:
    """Yield both statements, the newer one first, and their differences."""
    newer, older = sorted((conflict.memory, conflict.other), key=lambda side: side.date, reverse=True)
    yield f"  newer  {_describe_side(newer, limit=limit)}"
    yield f"  older  {_describe_side(older, limit=limit)}"
    if conflict.differs:
        yield f"  differs: {'; '.join(conflict.differs)}"


def _describe_side(side: ConflictSide, *, limit: int | None) -> str:
    origin = ", ".join(part for part in (side.trust, side.agent) if part)
    statement = shorten(side.statement, limit=limit)
    return f"{side.date.date()}  {statement}  [{side.name}]" + (f" ({origin})" if origin else "")
