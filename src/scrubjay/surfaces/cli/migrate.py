"""`scrubjay migrate`: copy everything from one store to another."""

from typing import TYPE_CHECKING, Annotated

import typer

from scrubjay.lazy import dataclass
from scrubjay.settings import Settings
from scrubjay.surfaces.cli.command import bare

if TYPE_CHECKING:
    from scrubjay.transfer.compare import Comparison
    from scrubjay.transfer.migrate import MigrationPlan, MigrationResult

app = typer.Typer()
_MAX_DIFFERENCES = 50


@dataclass(frozen=True, slots=True, kw_only=True)
class MigrationPreview:
    """What a migration would copy."""

    source: str
    target: str
    plan: "MigrationPlan"

    def __str__(self) -> str:
        new = sum(space.memories - space.known for space in self.plan.spaces)
        existing = sum(space.known for space in self.plan.spaces)
        lines = [f"would copy {new:,} memories from {self.source} to {self.target}; {existing:,} exist already"]
        for space in self.plan.spaces:
            vectors = ", ".join(f"{count:,} vectors of {model}" for model, count in space.vectors.items())
            lines.append(
                f"  {space.space}: {space.memories:,} memories, {space.versions:,} versions, "
                f"{space.relations:,} relations, {vectors or 'no vectors'}"
            )
        return "\n".join([*lines, f"  {self.plan.tokens:,} tokens"])


@dataclass(frozen=True, slots=True, kw_only=True)
class MigrationReport:
    """What was copied, and how the stores compare; without `moved` they were only compared."""

    source: str
    target: str
    ok: bool
    moved: "MigrationResult | None"
    compared: "Comparison"

    def __str__(self) -> str:
        return "\n".join([*self._describe_copy(), *self._describe_comparison()])

    def _describe_copy(self) -> list[str]:
        result = self.moved
        if result is None:
            return []
        counts = {
            "relations": result.relations, "vectors": result.vectors, "tokens": result.tokens,
            "answers": result.answers, "documents": result.documents,
        }  # fmt: skip
        speed = f"in {result.seconds:.1f} s ({result.rate:,.0f} a second); {result.known:,} existed already"
        lines = [
            f"copied {result.memories:,} memories from {self.source} to {self.target} {speed}",
            "  " + ", ".join(f"{count:,} {name}" for name, count in counts.items()),
            *(f"  renamed {renaming}" for renaming in result.renamed),
        ]
        if result.changed:
            lines.append(
                f"  the source changed during the migration ({result.changed:,} changes): "
                "stop all writers and run it again"
            )
        return lines

    def _describe_comparison(self) -> list[str]:
        result = self.compared
        memories = sum(sum(space.source.memories.values()) for space in result.spaces)
        versions = sum(space.source.versions for space in result.spaces)
        lines = [f"compared {memories:,} memories with {versions:,} versions in {result.seconds:.1f} s"]
        lines += [f"  damaged in the source, not copied: {memory}" for memory in result.damaged]
        lines += [f"  {difference}" for difference in result.differences[:_MAX_DIFFERENCES]]
        if result.different > _MAX_DIFFERENCES:
            lines.append(f"  and {result.different - _MAX_DIFFERENCES:,} more; --json shows all")
        conclusion = "the same" if result.same else f"not the same: {result.different:,} differences"
        return [*lines, f"{self.source} and {self.target} are {conclusion}"]


@bare(app)
def migrate(
    settings: Settings,
    *,
    source: Annotated[
        str | None,
        typer.Option(
            "--from",
            metavar="ADDRESS",
            help="sqlite:DATA-FOLDER or postgresql://user@host/database. Default: the store of the settings.",
        ),
    ] = None,
    target: Annotated[
        str | None, typer.Option("--to", metavar="ADDRESS", help="Same format. Default: the store of the settings.")
    ] = None,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Show what would be copied, and copy nothing.")] = False,
    verify: Annotated[bool, typer.Option("--verify", help="Compare both stores, and copy nothing.")] = False,
    into_existing: Annotated[
        bool,
        typer.Option("--into-existing", help="Add to the memories of the target; duplicate names get a suffix."),
    ] = False,
    skip_damaged: Annotated[
        bool, typer.Option("--skip-damaged", help="Succeed even if memories of the source cannot be read.")
    ] = False,
) -> MigrationPreview | MigrationReport:
    """Copy everything from one store to another.

    The copy includes history and vectors, and both stores are compared at the end. The source is only read. If it is
    interrupted, the same command continues. Other users of this machine can see a password in an address: leave that
    option out and set SCRUBJAY_DATABASE_URL.
    """
    # It opens stores directly; no other command should wait for these imports.
    from scrubjay.surfaces.cli.migrate_run import copy_and_compare, plan, resolve_stores  # noqa: PLC0415

    here, there = resolve_stores(source, target, settings=settings)
    if dry_run:
        return MigrationPreview(source=here.shown, target=there.shown, plan=plan(here, there))
    moved, compared = copy_and_compare(here, there, copying=not verify, merging=into_existing)
    ok = compared.same and (skip_damaged or not compared.damaged) and not (moved and moved.changed)
    return MigrationReport(source=here.shown, target=there.shown, ok=ok, moved=moved, compared=compared)
