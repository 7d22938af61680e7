"""Stores by their addresses: a data folder as `sqlite:PATH`, a database as `postgresql://…` without its password."""

from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from urllib.parse import urlsplit

from scrubjay.app import hold_folder, open_store
from scrubjay.errors import InvalidInput, NotFound, StoreInUse
from scrubjay.paths import data_folder, database_file
from scrubjay.ports import RecordStore
from scrubjay.settings import Settings

_SQLITE = "sqlite:"
_POSTGRES = ("postgresql://", "postgres://")
_FORMS = "sqlite:/path/to/data-folder or postgresql://user:password@host/database"


@dataclass(frozen=True, slots=True, kw_only=True)
class StoreUrl:
    """Where a store is: the settings that open it, and how it may be shown. A database has no folder."""

    settings: Settings
    shown: str
    folder: Path | None

    @property
    def is_there(self) -> bool:
        """Whether there is something to open; of a database that is known when it is opened."""
        return self.folder is None or database_file(self.folder).exists()


def house_at(address: str | None, *, settings: Settings, option: str) -> StoreUrl:
    """The house of an address; without one that of the settings."""
    if not address:
        return _database(settings.database_url, settings) if settings.database_url else _folder(settings.data, settings)
    if address.startswith(_POSTGRES):
        return _database(address, settings)
    if address.startswith(_SQLITE):
        return _folder(_path(address, option=option), settings)
    # An address may hold a password: it is not repeated.
    raise InvalidInput(f"{option} is no address of a store", hint=f"Write it as {_FORMS}", option=option)


@asynccontextmanager
async def entered(dependencies: StoreUrl, *, make: bool) -> AsyncGenerator[RecordStore]:
    """The store of a house, opened; a folder is ours alone meanwhile."""
    if not make and not dependencies.is_there:
        raise NotFound(
            f"there is no store in {dependencies.folder}", hint="Check the path", path=str(dependencies.folder)
        )
    if dependencies.folder is None:
        store = await open_store(dependencies.settings)
        try:
            yield store
        finally:
            await store.close()
        return
    try:
        lock = hold_folder(dependencies.folder, alone=True)
    except StoreInUse as error:
        error.hint = "Stop the daemon and whatever else uses it, and try again"
        raise
    try:
        store = await open_store(dependencies.settings)
        try:
            yield store
        finally:
            await store.close()
    finally:
        lock.release()


def _database(url: str, settings: Settings) -> StoreUrl:
    chosen = replace(settings, database_url=url, key="", key_file="", keyring="")
    if url != settings.database_url:
        # Those are of the database that the settings name.
        chosen = replace(chosen, database_owner_url="", database_direct_url="")
    return StoreUrl(settings=chosen, shown=_shown(url), folder=None)


def _folder(path: Path, settings: Settings) -> StoreUrl:
    chosen = replace(settings, home=str(path), database_url="", database_owner_url="", database_direct_url="")
    return StoreUrl(settings=chosen, shown=f"{_SQLITE}{path}", folder=path)


def _path(address: str, *, option: str) -> Path:
    rest = address.removeprefix(_SQLITE)
    if not (named := rest.removeprefix("//")):
        raise InvalidInput(f"{option} names no folder", hint=f"Write it as {_FORMS}", option=option)
    path = data_folder(named)
    if path.name == database_file(path).name and not path.is_dir():
        return path.parent
    if path.exists() and not path.is_dir():
        raise InvalidInput(
            f"{path} is not a data folder", hint=f"Name the folder that has a {database_file(path).name}", option=option
        )
    return path


def _shown(url: str) -> str:
    """The address without its password, also where it stands among the options."""
    try:
        parts = urlsplit(url)
        port = f":{parts.port}" if parts.port else ""
    except ValueError:
        return "postgresql://…"
    user = f"{parts.username}@" if parts.username else ""
    return f"postgresql://{user}{parts.hostname or 'localhost'}{port}{parts.path}"
