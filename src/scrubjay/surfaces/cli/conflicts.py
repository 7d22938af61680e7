"""`scrubjay conflicts`: what is stored and does not go together, and what is done about it."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Annotated

import typer
from typer.core import TyperGroup

from scrubjay.client import MemoryClient
from scrubjay.errors import NotFound
from scrubjay.model.conflict import ConflictDetails, ConflictSide, ConflictStatus, Resolved, Scan
from scrubjay.surfaces.cli.command import verb
from scrubjay.surfaces.cli.jobs import Told
from scrubjay.surfaces.cli.progress import progress

_HEAD = ("CONFLICT", "TYPE", "CONFIDENCE", "SUGGESTED", "STATUS", "FOUND")
_LONGEST = 200
_COMMANDS = ("list", "show", "scan", "resolve")


class _ListByDefault(TyperGroup):
    """Lists when nothing else is asked for."""

    def parse_args(self, ctx: "typer.Context", args: list[str]) -> list[str]:  # type: ignore[override]
        """Put in the command that is meant."""
        first = args[0] if args else ""
        is_option = first.startswith("-") and first != "--help"
        return super().parse_args(ctx, [_COMMANDS[0], *args] if not first or is_option else args)


app = typer.Typer()
conflicts_app = typer.Typer(help="Statements that say the same, more, or something else.", cls=_ListByDefault)
app.add_typer(conflicts_app, name="conflicts")


@dataclass(frozen=True, slots=True, kw_only=True)
class Listed:
    """Conflicts, the newest first."""

    conflicts: tuple[ConflictDetails, ...]

    def __str__(self) -> str:
        if not self.conflicts:
            return "no conflicts; `scrubjay conflicts scan` looks through everything that is stored"
        rows = [_row(conflict) for conflict in self.conflicts]
        widths = [max(map(len, column)) for column in zip(_HEAD, *rows, strict=True)]
        lines = [_aligned(_HEAD, widths)]
        for one, row in zip(self.conflicts, rows, strict=True):
            lines += [_aligned(row, widths), *_sides(one, longest=_LONGEST)]
        return "\n".join(lines)


@dataclass(frozen=True, slots=True, kw_only=True)
class Shown:
    """One conflict with all that is known of it."""

    conflict: ConflictDetails

    def __str__(self) -> str:
        one = self.conflict
        lines = [f"{one.id}  {one.type}, confidence {one.confidence:.2f}, found {one.detected_at:%Y-%m-%d %H:%M}"]
        lines += _sides(one, longest=None)
        if one.status is ConflictStatus.PENDING:
            lines += [f"pending: scrubjay conflicts resolve {one.id} --strategy {one.suggested_action}"]
        else:
            by = f" by {one.resolved_by}" if one.resolved_by else ""
            lines += [f"{one.status}: {one.strategy}{by}, {one.resolved_at:%Y-%m-%d %H:%M}"]
            lines += [f"  {one.notes}"] if one.notes else []
            lines += [f"  scrubjay undo --run {one.run}"] if one.run else []
        return "\n".join(lines)


@dataclass(frozen=True, slots=True, kw_only=True)
class Scanned:
    """What a look through everything has found."""

    scan: Scan

    def __str__(self) -> str:
        kinds = ", ".join(f"{count:,} {kind}" for kind, count in sorted(self.scan.by_type.items()))
        told = f"compared {self.scan.memories:,} memories, new conflicts: {self.scan.count:,}"
        told += f" ({kinds})" if kinds else ""
        return f"{told}\n{Listed(conflicts=self.scan.found)}" if self.scan.found else told


@dataclass(frozen=True, slots=True, kw_only=True)
class Done:
    """What was done about a conflict."""

    resolved: Resolved

    def __str__(self) -> str:
        done = self.resolved
        lines = [f"{done.action} {done.conflict} by {done.strategy}, {done.kept} stands"]
        lines += [f"  {done.why}"] if done.why else []
        lines += [f"  branch {done.branch}"] if done.branch else []
        lines += [f"warning: {warning}" for warning in done.warnings]
        lines += [f"  scrubjay undo --run {done.run}"] if done.run else []
        return "\n".join(lines)


Id = Annotated[str, typer.Argument(help="Id of the conflict.", show_default=False)]
Limit = Annotated[int, typer.Option("--limit", "-n", help="How many at most.")]


@verb(conflicts_app, name="list")
async def list_(
    client: MemoryClient,
    *,
    status: Annotated[str, typer.Option(help="pending, resolved, ignored or all.")] = "pending",
    memory: Annotated[str, typer.Option(help="Only those of one memory: its id, name or title.")] = "",
    limit: Limit = 50,
) -> Listed:
    """List conflicts with what both sides say, the newest first."""
    return Listed(conflicts=await client.conflicts(status=status, id=memory, limit=limit))


@verb(conflicts_app)
async def show(client: MemoryClient, id: Id) -> Shown:
    """Show one conflict, whatever has become of it."""
    found = [conflict for conflict in await client.conflicts(status="all", id=id, limit=1) if conflict.id == id]
    if not found:
        raise NotFound(f"there is no conflict {id[:100]!r}", hint="`scrubjay conflicts` lists them", ref=id[:200])
    return Shown(conflict=found[0])


@verb(conflicts_app, holds_index=True)
async def scan(
    client: MemoryClient,
    *,
    limit: Limit = 10,
    later: Annotated[bool, typer.Option(help="Leave it to the daemon, as a job.")] = False,
) -> Scanned | Told:
    """Look through everything that is stored; what is found waits for a decision."""
    if later:
        return Told(job=await client.scan_later(), action="left for later:")
    with progress("comparing") as report:
        return Scanned(scan=await client.scan_conflicts(limit=limit, progress=report))


@verb(conflicts_app)
async def resolve(
    client: MemoryClient,
    id: Id,
    *,
    strategy: Annotated[
        str, typer.Option(help="merge, update, branch, supersede, ignore, or auto, which chooses one.")
    ] = "auto",
    notes: Annotated[str, typer.Option(help="Why, for the history.")] = "",
    branch: Annotated[str, typer.Option(help="Name of the branch that `branch` makes.")] = "",
) -> Done:
    """Settle a conflict; `undo` takes it back."""
    return Done(resolved=await client.resolve_conflict(id, strategy=strategy, notes=notes, branch=branch))


def _row(one: ConflictDetails) -> tuple[str, ...]:
    found = one.detected_at.date().isoformat()
    return one.id, one.type.value, f"{one.confidence:.2f}", one.suggested_action.value, one.status.value, found


def _aligned(row: tuple[str, ...], widths: list[int]) -> str:
    return "  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip()


def _sides(one: ConflictDetails, *, longest: int | None) -> Iterator[str]:
    """Both statements, the newer one first, and in what they cannot both be right."""
    newer, older = sorted((one.memory, one.other), key=lambda side: side.date, reverse=True)
    yield f"  newer  {_told(newer, longest=longest)}"
    yield f"  older  {_told(older, longest=longest)}"
    if one.differs:
        yield f"  differs: {'; '.join(one.differs)}"


def _told(side: ConflictSide, *, longest: int | None) -> str:
    words = " ".join(side.statement.split())
    cut = words if longest is None or len(words) <= longest else words[:longest].rstrip() + "…"
    whose = ", ".join(part for part in (side.trust, side.agent) if part)
    return f"{side.date.date()}  {cut}  [{side.name}]" + (f" ({whose})" if whose else "")
