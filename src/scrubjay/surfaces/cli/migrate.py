"""`migrate`: everything of one store goes to another."""

from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated

import typer

from scrubjay.settings import Settings
from scrubjay.surfaces.cli.command import bare

if TYPE_CHECKING:
    from scrubjay.transfer.migrate import MigrationPlan, MigrationResult
    from scrubjay.transfer.migrate_verify import Comparison

app = typer.Typer()
_MOST_SHOWN = 50


@dataclass(frozen=True, slots=True, kw_only=True)
class Planned:
    """What a move would bring over."""

    source: str
    target: str
    plan: "MigrationPlan"

    def __str__(self) -> str:
        memories = sum(space.memories - space.known for space in self.plan.spaces)
        known = sum(space.known for space in self.plan.spaces)
        lines = [f"would move {memories:,} memories from {self.source} to {self.target}; {known:,} are there already"]
        for one in self.plan.spaces:
            vectors = ", ".join(f"{count:,} vectors of {model}" for model, count in one.vectors.items()) or "no vectors"
            lines.append(
                f"  {one.space}: {one.memories:,} memories, {one.versions:,} versions, {one.relations:,} relations, "
                + vectors
            )
        return "\n".join([*lines, f"  {self.plan.tokens:,} tokens"])


@dataclass(frozen=True, slots=True, kw_only=True)
class Migrated:
    """What was moved, and how it compares; without `moved` it was only compared."""

    source: str
    target: str
    ok: bool
    moved: "MigrationResult | None"
    compared: "Comparison"

    def __str__(self) -> str:
        return "\n".join([*self._moved(), *self._compared()])

    def _moved(self) -> list[str]:
        done = self.moved
        if done is None:
            return []
        things = {
            "relations": done.relations, "vectors": done.vectors, "tokens": done.tokens, "answers": done.answers,
            "papers": done.documents,
        }  # fmt: skip
        how = f"in {done.seconds:.1f} s ({done.rate:,.0f} a second); {done.known:,} were there already"
        return [
            f"moved {done.memories:,} memories from {self.source} to {self.target} {how}",
            "  " + ", ".join(f"{count:,} {name}" for name, count in things.items()),
            *(f"  renamed {one}" for one in done.renamed),
            *(
                [f"  the source was written to meanwhile ({done.changed:,} changes): run it again when nobody writes"]
                if done.changed
                else []
            ),
        ]

    def _compared(self) -> list[str]:
        found = self.compared
        memories = sum(sum(space.source.memories.values()) for space in found.spaces)
        versions = sum(space.source.versions for space in found.spaces)
        lines = [f"compared {memories:,} memories with {versions:,} versions in {found.seconds:.1f} s"]
        lines += [f"  damaged in the source, not moved: {one}" for one in found.damaged]
        lines += [f"  {difference}" for difference in found.differences[:_MOST_SHOWN]]
        if found.different > _MOST_SHOWN:
            lines.append(f"  and {found.different - _MOST_SHOWN:,} more; --json tells them")
        decision = "the same" if found.same else f"not the same: {found.different:,} differences"
        return [*lines, f"{self.source} and {self.target} are {decision}"]


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
        str | None, typer.Option("--to", metavar="ADDRESS", help="The same. Default: the store of the settings.")
    ] = None,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Say what would be moved, and move nothing.")] = False,
    verify: Annotated[bool, typer.Option("--verify", help="Compare both stores, and move nothing.")] = False,
    into_existing: Annotated[
        bool,
        typer.Option("--into-existing", help="Add to what the target holds; names that are taken there get a suffix."),
    ] = False,
    skip_damaged: Annotated[
        bool, typer.Option("--skip-damaged", help="Succeed also when memories of the source cannot be read.")
    ] = False,
) -> Planned | Migrated:
    """Move everything from one store to another, with its history and vectors, and compare both at the end.

    The source is only read. Interrupted, the same command goes on where it stopped. A password in an address is
    visible to others on this machine: leave that option out and set SCRUBJAY_DATABASE_URL.
    """
    # It opens stores itself, and no other command should wait until that is loaded.
    from scrubjay.surfaces.cli.migrate_run import planned, two_houses, verified  # noqa: PLC0415

    here, there = two_houses(source, target, settings=settings)
    if dry_run:
        return Planned(source=here.shown, target=there.shown, plan=planned(here, there))
    moved, compared = verified(here, there, moving=not verify, merging=into_existing)
    ok = compared.same and (skip_damaged or not compared.damaged) and not (moved and moved.changed)
    return Migrated(source=here.shown, target=there.shown, ok=ok, moved=moved, compared=compared)
