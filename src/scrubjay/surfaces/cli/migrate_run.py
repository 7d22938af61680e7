"""How everything of one store goes to another; it is loaded by `migrate` alone."""

import asyncio
from collections.abc import Generator
from contextlib import contextmanager

from rich.console import Console
from rich.progress import (
    BarColumn,
    MofNCompleteColumn,
    Progress,
    ProgressColumn,
    Task,
    TaskID,
    TextColumn,
    TimeRemainingColumn,
)
from rich.text import Text

from scrubjay.app import SystemClock
from scrubjay.errors import InvalidInput
from scrubjay.settings import Settings
from scrubjay.surfaces.cli.store_url import StoreUrl, entered, house_at
from scrubjay.transfer.migrate import Migration, MigrationPlan, MigrationResult, migrate_store, plan_migration
from scrubjay.transfer.migrate_pages import ReportProgress
from scrubjay.transfer.migrate_verify import Comparison, compare_stores

__all__ = ["planned", "two_houses", "verified"]

_LABELS = {
    "vectors": "moving vectors",
    "memories": "moving memories",
    "relations": "moving relations",
    "comparing": "comparing",
}


def two_houses(source: str | None, target: str | None, *, settings: Settings) -> tuple[StoreUrl, StoreUrl]:
    """Where a move goes from and to, which must be two places."""
    here = house_at(source, settings=settings, option="--from")
    there = house_at(target, settings=settings, option="--to")
    if (here.folder, here.settings.database_url) == (there.folder, there.settings.database_url):
        raise InvalidInput("--from and --to name the same store", hint="Give the other one with --from or --to")
    return here, there


def planned(here: StoreUrl, there: StoreUrl) -> MigrationPlan:
    """What a move would bring over."""
    return asyncio.run(_planned(here, there))


def verified(
    here: StoreUrl, there: StoreUrl, *, moving: bool, merging: bool
) -> tuple[MigrationResult | None, Comparison]:
    """What was moved, if anything was to be, and how both stores compare at the end."""
    return asyncio.run(_verified(here, there, moving=moving, merging=merging))


async def _planned(here: StoreUrl, there: StoreUrl) -> MigrationPlan:
    async with entered(here, make=False) as source:
        if not there.is_there:
            return await plan_migration(source, None)
        async with entered(there, make=False) as target:
            return await plan_migration(source, target)


async def _verified(
    here: StoreUrl, there: StoreUrl, *, moving: bool, merging: bool
) -> tuple[MigrationResult | None, Comparison]:
    async with entered(here, make=False) as source, entered(there, make=moving) as target:
        with _progress() as report:
            if not moving:
                return None, await compare_stores(source, target, merging=merging, report=report)
            now = SystemClock().now
            return await migrate_store(Migration(source=source, target=target, now=now, merging=merging, report=report))


@contextmanager
def _progress() -> Generator[ReportProgress]:
    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), _Rate(), TimeRemainingColumn())
    # On standard error, so that what is printed can be piped.
    console = Console(stderr=True)
    with Progress(*columns, console=console, transient=True, disable=not console.is_terminal) as bar:
        tasks: dict[str, TaskID] = {}

        def report(stage: str, done: int, total: int) -> None:
            if stage not in tasks:
                tasks[stage] = bar.add_task(_LABELS[stage], total=total)
            bar.update(tasks[stage], completed=done, total=total)

        yield report


class _Rate(ProgressColumn):
    """How many a second."""

    def render(self, task: Task) -> Text:
        return Text(f"{task.speed:,.0f}/s" if task.speed else "")
