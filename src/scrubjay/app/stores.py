"""Which record store the settings choose: the embedded file of a data folder, or a PostgreSQL database."""

from typing import TYPE_CHECKING

from scrubjay.app.encryption_key import encryption_key
from scrubjay.errors import InvalidInput
from scrubjay.paths import database_file
from scrubjay.ports import RecordStore
from scrubjay.settings import Settings
from scrubjay.storage.sqlite import SqliteStore

if TYPE_CHECKING:
    from scrubjay.storage.postgres import Address, PostgresStore


async def open_store(settings: Settings) -> RecordStore:
    """The store of the settings, opened; whoever asked for it closes it."""
    if settings.database_url:
        return await open_postgres(settings)
    return await open_sqlite(settings)


def is_encrypted(settings: Settings) -> bool:
    """Whether there is a key, wherever it comes from."""
    return bool(settings.key or settings.key_file or settings.keyring)


async def open_sqlite(settings: Settings) -> SqliteStore:
    """The embedded store of the data folder."""
    return await SqliteStore.open(database_file(settings.data), key=encryption_key(settings), readers=settings.readers)


async def open_postgres(settings: Settings) -> "PostgresStore":
    """The database that the settings name."""
    if is_encrypted(settings):
        raise InvalidInput(
            "a PostgreSQL database is not encrypted by Scrubjay",
            hint="Encrypt its disks, and leave out SCRUBJAY_KEY, SCRUBJAY_KEY_FILE and SCRUBJAY_KEYRING",
            setting="SCRUBJAY_DATABASE_URL",
        )
    address = postgres_address(settings)
    from scrubjay.storage.postgres import PostgresStore  # noqa: PLC0415 - an extra, which not everybody has

    return await PostgresStore.open(address, partitions=settings.database_partitions)


def postgres_address(settings: Settings) -> "Address":
    """Where the database is."""
    try:
        from scrubjay.storage.postgres import Address  # noqa: PLC0415 - an extra, which not everybody has
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
