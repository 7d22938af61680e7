"""The record store that the settings choose, SQLite or PostgreSQL, and the lock of the data folder."""

from pathlib import Path
from typing import TYPE_CHECKING

from scrubjay.app.encryption_key import encryption_key
from scrubjay.errors import InvalidInput, StoreInUse, StoreReadOnly
from scrubjay.locking import FileLock
from scrubjay.paths import database_file, lock_file
from scrubjay.ports import RecordStore
from scrubjay.settings import Settings
from scrubjay.storage.sqlite import SqliteStore

if TYPE_CHECKING:
    from scrubjay.storage.postgres import Address, PostgresStore


async def open_store(settings: Settings) -> RecordStore:
    """Open the chosen store; the caller closes it."""
    if settings.database_url:
        return await open_postgres(settings)
    return await open_sqlite(settings)


def is_encrypted(settings: Settings) -> bool:
    """Return whether the settings have an encryption key."""
    return bool(settings.key or settings.key_file or settings.keyring)


async def open_sqlite(settings: Settings, *, upkeep: bool = True) -> SqliteStore:
    """Open the SQLite store of the data folder; its upkeep may be left to another process that has it open."""
    return await SqliteStore.open(
        database_file(settings.data), key=encryption_key(settings), readers=settings.readers, upkeep=upkeep
    )


async def open_postgres(settings: Settings) -> "PostgresStore":
    """Open the PostgreSQL database of the settings."""
    if is_encrypted(settings):
        raise InvalidInput(
            "a PostgreSQL database is not encrypted by Scrubjay",
            hint="Encrypt its disks, and unset SCRUBJAY_KEY, SCRUBJAY_KEY_FILE and SCRUBJAY_KEYRING",
            setting="SCRUBJAY_DATABASE_URL",
        )
    address = postgres_address(settings)
    from scrubjay.storage.postgres import PostgresStore  # noqa: PLC0415 - an optional dependency

    return await PostgresStore.open(address, partitions=settings.database_partitions)


def postgres_address(settings: Settings) -> "Address":
    """Return the address of the database."""
    try:
        from scrubjay.storage.postgres import Address  # noqa: PLC0415 - an optional dependency
    except ImportError as error:
        raise InvalidInput(
            f"PostgreSQL needs packages that are not installed: {error}",
            hint="pip install 'scrubjay[postgres]'",
            setting="SCRUBJAY_DATABASE_URL",
        ) from error
    return Address(
        url=settings.database_url,
        owner_url=settings.database_owner_url,
        direct_url=settings.database_direct_url,
        connections=settings.database_connections,
    )


def hold_folder(data: Path, *, alone: bool = False) -> FileLock:
    """Lock a data folder: shared to use the store, exclusive to replace it."""
    lock = FileLock(lock_file(data))
    if not take_lock(lock, data, exclusive=alone):
        raise StoreInUse(
            f"the store in {data} is {'in use' if alone else 'being replaced'}",
            hint="Stop the programs that use it and try again" if alone else "Try again in a moment",
            path=str(data),
        )
    return lock


def take_lock(lock: FileLock, data: Path, *, exclusive: bool) -> bool:
    """Take a lock in a data folder if it is free; raises StoreReadOnly if the folder cannot be written."""
    try:
        return lock.acquire(exclusive=exclusive)
    except OSError as error:
        raise StoreReadOnly(
            f"the data folder {data} cannot be written: {error.strerror}",
            hint="Check its permissions, or choose another folder with --data or SCRUBJAY_HOME",
            path=str(data),
        ) from error
