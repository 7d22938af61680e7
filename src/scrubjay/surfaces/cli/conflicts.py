"""`scrubjay conflicts`: find, show and resolve contradictions between stored memories."""

from collections.abc import Awaitable, Callable, Iterator, Sequence
from contextlib import suppress
from dataclasses import replace
from typing import Annotated

import typer

from scrubjay.client import MemoryClient
from scrubjay.errors import NotFound
from scrubjay.lazy import dataclass
from scrubjay.model.conflict import ConflictDetails, ConflictSide, ConflictStatus, Resolved, Scan, Strategy
from scrubjay.model.requests import ConflictsRequest, ResolveConflictRequest, ScanConflictsRequest
from scrubjay.surfaces.cli.command import Make, plain, verb
from scrubjay.surfaces.cli.console import Span, align, progress, shorten
from scrubjay.surfaces.cli.jobs import JobChange
from scrubjay.surfaces.cli.review import MOST, Choice, Decided, Reviewed, ReviewGroup, review

_HEAD = ("CONFLICT", "TYPE", "CONFIDENCE", "SUGGESTED", "STATUS", "FOUND")
_MAX_STATEMENT = 200
app = typer.Typer()
conflicts_app = typer.Typer(help="Duplicate and contradictory memories.", cls=ReviewGroup)
app.add_typer(conflicts_app, name="conflicts")


@dataclass(frozen=True, slots=True, kw_only=True)
class ConflictList:
    """Conflicts, the newest first; `count` counts all that there are, up to a thousand."""

    conflicts: tuple[ConflictDetails, ...]
    count: int = 0

    def __str__(self) -> str:
        if not self.conflicts:
            return "no conflicts; `scrubjay conflicts scan` checks all stored memories"
        head, *rows = align([_HEAD, *map(_row, self.conflicts)])
        lines = [head]
        for conflict, row in zip(self.conflicts, rows, strict=True):
            lines += [row, *_describe_sides(conflict, limit=_MAX_STATEMENT)]
        if self.count > len(self.conflicts):
            all_ = f"{self.count:,} or more" if self.count >= MOST else f"{self.count:,}"
            lines += [f"{len(self.conflicts):,} of {all_}: --limit {self.count} shows them"]
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


@verb(conflicts_app, name="list", served=True)
async def list_(client: MemoryClient, make: Make[ConflictsRequest]) -> ConflictList:
    """List conflicts with both statements, the newest first."""
    request = make()
    conflicts = await client.call(request)
    # Only where there may be more, these are counted.
    count = len(conflicts if len(conflicts) < request.limit else await client.call(replace(request, limit=MOST)))
    return ConflictList(conflicts=conflicts, count=count)


@verb(conflicts_app, name="review", omits=("status", "limit"))
async def review_(client: MemoryClient, make: Make[ConflictsRequest]) -> str:
    """Decide the pending conflicts one by one, each with a key.

    On a terminal, `scrubjay conflicts` does this. Every decision can be undone, at once or later with `scrubjay undo`.
    """
    return await review(client, _PendingConflicts(client, make(limit=MOST)))


class _PendingConflicts(Reviewed[ConflictDetails]):
    name = "conflict"

    def __init__(self, client: MemoryClient, request: ConflictsRequest) -> None:
        self._client = client
        self._request = request

    async def load(self) -> Sequence[ConflictDetails]:
        return await self._client.call(self._request)

    async def is_open(self, item: ConflictDetails) -> bool:
        return bool(await self._client.conflicts(id=item.id, limit=1))

    def id_of(self, item: ConflictDetails) -> str:
        return item.id

    def describe(self, item: ConflictDetails) -> list[tuple[Span, str]]:
        newer, older = _newer_and_older(item)
        differs = f"; differs: {'; '.join(item.differs)}" if item.differs else ""
        return [
            ((f"{item.type.value}, confidence {item.confidence:.2f}{differs}", ""), ""),
            ((f"newer, {_origin(newer)}", "green"), newer.statement),
            ((f"older, {_origin(older)}", "yellow"), older.statement),
        ]

    def choices(self, item: ConflictDetails) -> list[Choice]:
        newer, older = _newer_and_older(item)
        suggested = item.suggested_action
        choices = [Choice(key="", text=f"{suggested.value} (suggested)", decide=self._resolve(item, suggested))]
        if newer.id != older.id:
            choices += [
                Choice(key=key, text=text, decide=self._resolve(item, Strategy.SUPERSEDE, keep=side.id))
                for key, text, side in (("n", "the newer holds", newer), ("o", "the older holds", older))
            ]
        others = (("m", "merge", Strategy.MERGE), ("b", "branch", Strategy.BRANCH), ("i", "both hold", Strategy.IGNORE))
        return choices + [
            Choice(key=key, text=text, decide=self._resolve(item, strategy)) for key, text, strategy in others
        ]

    def _resolve(
        self, item: ConflictDetails, strategy: Strategy, *, keep: str = ""
    ) -> Callable[[], Awaitable[Decided]]:  # fmt: skip
        async def resolve() -> Decided:
            resolved = await self._client.resolve_conflict(item.id, strategy=strategy.value, keep=keep)
            lines = (f"{resolved.action}, kept {resolved.kept}", resolved.why, *resolved.warnings)
            return Decided(text="; ".join(filter(None, lines)), run=resolved.run)

        return resolve


@verb(conflicts_app, served=True)
async def show(
    client: MemoryClient, id: Annotated[str, typer.Argument(help="Id of the conflict.", show_default=False)]
) -> ConflictView:
    """Show one conflict, pending or not."""
    matches: list[ConflictDetails] = []
    # What is neither the id of a conflict nor the name of a memory.
    with suppress(NotFound):
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
    newer, older = _newer_and_older(conflict)
    yield f"  newer  {_describe_side(newer, limit=limit)}"
    yield f"  older  {_describe_side(older, limit=limit)}"
    if conflict.differs:
        yield f"  differs: {'; '.join(conflict.differs)}"


def _newer_and_older(conflict: ConflictDetails) -> tuple[ConflictSide, ConflictSide]:
    newer, older = sorted((conflict.memory, conflict.other), key=lambda side: side.date, reverse=True)
    return newer, older


def _origin(side: ConflictSide) -> str:
    return ", ".join(part for part in (str(side.date.date()), side.name, side.trust, side.agent) if part)


def _describe_side(side: ConflictSide, *, limit: int | None) -> str:
    origin = ", ".join(part for part in (side.trust, side.agent) if part)
    statement = shorten(side.statement, limit=limit)
    return f"{side.date.date()}  {statement}  [{side.name}]" + (f" ({origin})" if origin else "")
