"""The work of `scrubjay migrate`: store URLs, locking, progress, and the copy itself; only that command loads it.

A store URL is a data folder as `sqlite:PATH`, or a database as `postgresql://…`, which is shown without its password.
"""

import asyncio
from collections.abc import AsyncGenerator, Generator
from contextlib import asynccontextmanager, contextmanager
from dataclasses import replace
from pathlib import Path
from urllib.parse import urlsplit

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

from scrubjay.app import SystemClock, hold_folder, open_store
from scrubjay.errors import InvalidInput, NotFound, StoreInUse
from scrubjay.lazy import dataclass
from scrubjay.paths import data_folder, database_file
from scrubjay.ports import RecordStore
from scrubjay.settings import Settings
from scrubjay.transfer.compare import Comparison, ReportProgress, compare_stores
from scrubjay.transfer.migrate import Migration, MigrationPlan, MigrationResult, migrate_store, plan_migration

__all__ = ["StoreUrl", "copy_and_compare", "plan", "resolve_stores"]

_SQLITE = "sqlite:"
_POSTGRES = ("postgresql://", "postgres://")
_FORMS = "sqlite:/path/to/data-folder or postgresql://user:password@host/database"
_LABELS = {
    "vectors": "copying vectors",
    "memories": "copying memories",
    "relations": "copying relations",
    "comparing": "comparing",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class StoreUrl:
    """The location of a store: the settings that open it, and its public form. A database has no folder."""

    settings: Settings
    shown: str
    folder: Path | None

    @property
    def exists(self) -> bool:
        """Whether there is a store to open; for a database only opening it tells."""
        return self.folder is None or database_file(self.folder).exists()


def resolve_stores(source: str | None, target: str | None, *, settings: Settings) -> tuple[StoreUrl, StoreUrl]:
    """Return the stores of the two addresses; raise InvalidInput if they are the same."""
    here = _parse_address(source, settings=settings, option="--from")
    there = _parse_address(target, settings=settings, option="--to")
    if (here.folder, here.settings.database_url) == (there.folder, there.settings.database_url):
        raise InvalidInput("--from and --to name the same store", hint="Give the other one with --from or --to")
    return here, there


def plan(here: StoreUrl, there: StoreUrl) -> MigrationPlan:
    """Return what a migration would copy."""
    return asyncio.run(_plan(here, there))


def copy_and_compare(
    here: StoreUrl, there: StoreUrl, *, copying: bool, merging: bool
) -> tuple[MigrationResult | None, Comparison]:
    """Copy the store, if `copying`, and compare both; return both results."""
    return asyncio.run(_copy_and_compare(here, there, copying=copying, merging=merging))


async def _plan(here: StoreUrl, there: StoreUrl) -> MigrationPlan:
    async with _open(here, create=False) as source:
        if not there.exists:
            return await plan_migration(source, None)
        async with _open(there, create=False) as target:
            return await plan_migration(source, target)


async def _copy_and_compare(
    here: StoreUrl, there: StoreUrl, *, copying: bool, merging: bool
) -> tuple[MigrationResult | None, Comparison]:
    async with _open(here, create=False) as source, _open(there, create=copying) as target:
        with _progress() as report:
            if not copying:
                return None, await compare_stores(source, target, merging=merging, report=report)
            now = SystemClock().now
            return await migrate_store(Migration(source=source, target=target, now=now, merging=merging, report=report))


def _parse_address(address: str | None, *, settings: Settings, option: str) -> StoreUrl:
    """Return the store at an address, or that of the settings without one."""
    if not address:
        return _database(settings.database_url, settings) if settings.database_url else _folder(settings.data, settings)
    if address.startswith(_POSTGRES):
        return _database(address, settings)
    if address.startswith(_SQLITE):
        return _folder(_parse_path(address, option=option), settings)
    # The message does not repeat the address, which may contain a password.
    raise InvalidInput(f"{option} is not the address of a store", hint=f"Write it as {_FORMS}", option=option)


def _database(url: str, settings: Settings) -> StoreUrl:
    adjusted = replace(settings, database_url=url, key="", key_file="", keyring="")
    if url != settings.database_url:
        # These addresses belong to the database of the settings.
        adjusted = replace(adjusted, database_owner_url="", database_direct_url="")
    return StoreUrl(settings=adjusted, shown=_hide_password(url), folder=None)


def _folder(path: Path, settings: Settings) -> StoreUrl:
    adjusted = replace(settings, home=str(path), database_url="", database_owner_url="", database_direct_url="")
    return StoreUrl(settings=adjusted, shown=f"{_SQLITE}{path}", folder=path)


def _parse_path(address: str, *, option: str) -> Path:
    name = address.removeprefix(_SQLITE).removeprefix("//")
    if not name:
        raise InvalidInput(f"{option} names no folder", hint=f"Write it as {_FORMS}", option=option)
    path = data_folder(name)
    if path.name == database_file(path).name and not path.is_dir():
        return path.parent
    if path.exists() and not path.is_dir():
        raise InvalidInput(
            f"{path} is not a data folder", hint=f"Name the folder that has a {database_file(path).name}", option=option
        )
    return path


def _hide_password(url: str) -> str:
    """Return a URL without its password and its query, which may contain one too."""
    try:
        parts = urlsplit(url)
        port = f":{parts.port}" if parts.port else ""
    except ValueError:
        return "postgresql://…"
    user = f"{parts.username}@" if parts.username else ""
    return f"postgresql://{user}{parts.hostname or 'localhost'}{port}{parts.path}"


@asynccontextmanager
async def _open(url: StoreUrl, *, create: bool) -> AsyncGenerator[RecordStore]:
    """Open a store; a data folder is locked for this process meanwhile."""
    if not create and not url.exists:
        raise NotFound(f"there is no store in {url.folder}", hint="Check the path", path=str(url.folder))
    lock = None
    if url.folder is not None:
        try:
            lock = hold_folder(url.folder, alone=True)
        except StoreInUse as error:
            error.hint = "Stop the daemon and all other programs that use it, and try again"
            raise
    try:
        store = await open_store(url.settings)
        try:
            yield store
        finally:
            await store.close()
    finally:
        if lock is not None:
            lock.release()


@contextmanager
def _progress() -> Generator[ReportProgress]:
    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), _Rate(), TimeRemainingColumn())
    # The bar goes to standard error, so that the output can be piped.
    console = Console(stderr=True)
    with Progress(*columns, console=console, transient=True, disable=not console.is_terminal) as bar:
        tasks: dict[str, TaskID] = {}

        def report(stage: str, done: int, total: int) -> None:
            if stage not in tasks:
                tasks[stage] = bar.add_task(_LABELS[stage], total=total)
            bar.update(tasks[stage], completed=done, total=total)

        yield report


class _Rate(ProgressColumn):
    """Items per second."""

    def render(self, task: Task) -> Text:
        return Text(f"{task.speed:,.0f}/s" if task.speed else "")
