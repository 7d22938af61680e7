"""Bringing a database to the newest schema: an ordered list of named migrations."""

import time
from collections.abc import Awaitable, Callable
from typing import LiteralString, cast

import psycopg
from psycopg import errors, sql

from scrubjay.errors import StoreError, StoreTooNew
from scrubjay.model.identity import new_id
from scrubjay.stores.postgres.address import Address
from scrubjay.stores.postgres.deeds import OPEN, OPEN_2, WRITE, WRITE_2
from scrubjay.stores.postgres.lines import LINES
from scrubjay.stores.postgres.mapping import mapped_errors
from scrubjay.stores.postgres.nearness import DOOR, NEARNESS
from scrubjay.stores.postgres.papers import PAPERS, TRAILS
from scrubjay.stores.postgres.questions import QUESTIONS
from scrubjay.stores.postgres.rates import ALLOWANCES
from scrubjay.stores.postgres.tables import (
    FIRST_TABLES,
    INDEXES,
    LINEAGES,
    NEIGHBOURS,
    STORE_TABLES,
    space_tables,
)
from scrubjay.stores.postgres.vicinity import VICINITY
from scrubjay.stores.postgres.walls import FUNCTIONS, MEMORY_ITEMS, ROLES, space_walls, walls

Connection = psycopg.AsyncConnection
Migration = Callable[[Connection, int], Awaitable[None]]
_LOCK = 0x534A_0002
# Half-precision vectors came with this version of the extension.
_OLDEST_EXTENSION = (0, 7)
_OLDEST_SERVER = 16
_CREATE_MIGRATIONS = """
CREATE SCHEMA IF NOT EXISTS scrubjay;
CREATE TABLE IF NOT EXISTS scrubjay.migrations(
  no integer PRIMARY KEY, name text NOT NULL UNIQUE, applied_at bigint NOT NULL
)"""


async def prepare(address: Address, *, partitions: int = 0) -> None:
    """See that the database has the newest schema; several processes may try at once.

    Partitions are for a database that is made now; one that exists keeps what it was made with.
    """
    with mapped_errors(address.shown):
        async with await connect(address.url, address) as connection:
            if await applied(connection, address) == len(MIGRATIONS):
                return
        async with await connect(address.owner, address) as connection:
            await migrate(connection, address, partitions=partitions)


async def migrate(connection: Connection, address: Address, *, partitions: int = 0, upto: int | None = None) -> None:
    """Apply what is missing, whole or not at all."""
    async with connection.transaction():
        # Whoever waits for its turn must see what the one before has done.
        await connection.execute("SET TRANSACTION ISOLATION LEVEL READ COMMITTED")
        await connection.execute("SELECT pg_advisory_xact_lock(%s, 0)", (_LOCK,))
        done = await applied(connection, address)
        if done == len(MIGRATIONS):
            return
        try:
            schema = await _extension(connection, address)
            await connection.execute(cast("LiteralString", _CREATE_MIGRATIONS))
            path = sql.SQL("SET LOCAL search_path = pg_catalog, {}").format(sql.Identifier(schema))
            await connection.execute(path)
            for number, (name, step) in enumerate(MIGRATIONS[done:upto], start=done + 1):
                await step(connection, partitions)
                await connection.execute(
                    "INSERT INTO scrubjay.migrations VALUES (%s, %s, %s)", (number, name, time.time_ns() // 1000)
                )
        except errors.InsufficientPrivilege as error:
            raise _not_the_owner(address, error) from error


async def applied(connection: Connection, address: Address) -> int:
    """How many migrations a database has had; raises when it is of a newer version, or on too old a server."""
    if connection.info.server_version < _OLDEST_SERVER * 10_000:
        raise StoreError(
            f"{address.shown} runs PostgreSQL {connection.info.server_version // 10_000}",
            hint=f"Scrubjay needs PostgreSQL {_OLDEST_SERVER} or newer",
        )
    cursor = await connection.execute("SELECT to_regclass('scrubjay.migrations') IS NULL")
    if (await cursor.fetchall())[0][0]:
        return 0
    cursor = await connection.execute("SELECT name FROM scrubjay.migrations ORDER BY no")
    names = [str(row[0]) for row in await cursor.fetchall()]
    if len(names) > len(MIGRATIONS):
        raise StoreTooNew(
            f"{address.shown} was written by a newer Scrubjay (schema {len(names)}, this one knows {len(MIGRATIONS)})",
            hint="Update Scrubjay; the database was not touched",
            server=address.shown,
            schema=len(names),
        )
    return len(names)


async def connect(url: str, address: Address) -> Connection:
    """A connection outside of the pool, for what takes its time."""
    return await Connection.connect(address.line_to(url), autocommit=True, prepare_threshold=None)


async def _extension(connection: Connection, address: Address) -> str:
    """The schema of pgvector, which is set up if that is possible."""
    installed = """SELECT extversion, nspname FROM pg_extension JOIN pg_namespace n ON n.oid = extnamespace
        WHERE extname = 'vector'"""
    cursor = await connection.execute(installed)
    row = await cursor.fetchone()
    if row is None:
        await _create_extension(connection, address)
        cursor = await connection.execute(installed)
        row = (await cursor.fetchall())[0]
    version, schema = str(row[0]), str(row[1])
    if tuple(int(part) for part in version.split(".")[:2]) < _OLDEST_EXTENSION:
        raise StoreError(
            f"the extension vector of {address.shown} is version {version}",
            hint=f"Run: psql -d {connection.info.dbname} -c 'ALTER EXTENSION vector UPDATE' (0.7 or newer)",
        )
    return schema


async def _create_extension(connection: Connection, address: Address) -> None:
    cursor = await connection.execute("SELECT 1 FROM pg_available_extensions WHERE name = 'vector'")
    command = f"psql -d {connection.info.dbname} -c 'CREATE EXTENSION vector'"
    if await cursor.fetchone() is None:
        raise StoreError(
            f"{address.shown} has no pgvector",
            hint=f"Install it on the server (package postgresql-NN-pgvector), then run: {command}",
        )
    try:
        async with connection.transaction():
            await connection.execute("CREATE EXTENSION vector")
    except errors.InsufficientPrivilege as error:
        raise StoreError(
            f"{address.shown} lacks the extension vector, and its role may not create it",
            hint=f"Run as a superuser: {command}",
        ) from error


def _not_the_owner(address: Address, error: errors.InsufficientPrivilege) -> StoreError:
    return StoreError(
        f"the role of {address.shown} may not set the database up: {error.diag.message_primary}",
        hint="Set SCRUBJAY_DATABASE_OWNER_URL to a role that may create roles and schemas, or see docs: postgres.md",
        server=address.shown,
    )


async def _first_tables(connection: Connection, partitions: int) -> None:
    parts = (
        STORE_TABLES,
        space_tables(FIRST_TABLES, partitions=partitions),
        INDEXES,
        FUNCTIONS,
        OPEN,
        WRITE,
        QUESTIONS,
        NEARNESS,
        MEMORY_ITEMS,
        walls(partitions=partitions),
        DOOR,
    )
    await connection.execute(cast("LiteralString", ROLES))
    await connection.execute(cast("LiteralString", "\n".join(parts)))
    # Whose rows these are is decided by the walls, also for whoever has just built them.
    await connection.execute(
        "INSERT INTO scrubjay.meta VALUES ('store_id', %s), ('partitions', %s)", (new_id(), str(partitions))
    )


async def _allowances(connection: Connection, _: int) -> None:
    await connection.execute(cast("LiteralString", ALLOWANCES))


async def _neighbours(connection: Connection, _: int) -> None:
    partitions = await _split_into(connection)
    parts = (
        space_tables(("vocabulary",), partitions=partitions),
        NEIGHBOURS,
        space_walls(("vocabulary",), partitions=partitions),
        OPEN_2,
        WRITE_2,
        VICINITY,
    )
    await connection.execute(cast("LiteralString", "\n".join(parts)))


async def _papers(connection: Connection, _: int) -> None:
    partitions = await _split_into(connection)
    parts = (space_tables(("papers",), partitions=partitions), PAPERS, space_walls(("papers",), partitions=partitions))
    await connection.execute(cast("LiteralString", "\n".join(parts)))


async def _lines(connection: Connection, _: int) -> None:
    await connection.execute(LINES)


async def _paper_trails(connection: Connection, _: int) -> None:
    await connection.execute(TRAILS)


async def _lineages(connection: Connection, _: int) -> None:
    await connection.execute(LINEAGES)


async def _split_into(connection: Connection) -> int:
    """What it is split into was decided when it was made, whatever is asked for now."""
    cursor = await connection.execute("SELECT value::integer FROM scrubjay.meta WHERE key = 'partitions'")
    return int((await cursor.fetchall())[0][0])


MIGRATIONS: list[tuple[str, Migration]] = [
    ("first tables", _first_tables),
    ("allowances", _allowances),
    ("neighbours", _neighbours),
    ("papers", _papers),
    ("lines of versions", _lines),
    ("paper trails", _paper_trails),
    ("lineages", _lineages),
]
