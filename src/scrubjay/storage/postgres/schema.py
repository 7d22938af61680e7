"""The schema of a database, as an ordered list of named migrations; the first creates all tables."""

import time
from collections.abc import Awaitable, Callable
from typing import LiteralString, cast

import psycopg
from psycopg import errors, sql

from scrubjay.errors import StoreError, StoreTooNew
from scrubjay.model.identity import new_id
from scrubjay.storage.postgres.connection import Address, connect, mapped_errors
from scrubjay.storage.sql_files import read_sql, read_statements

Connection = psycopg.AsyncConnection
Migration = Callable[[Connection, int], Awaitable[None]]

# Versions before this one had other tables, and are refused.
FIRST_VERSION = 8
PARTITIONED_TABLES = (
    "memories", "versions", "contents", "dictionaries", "relations", "passages", "corpus_totals", "terms", "vocabulary",
    "facets", "vectors", "runs", "changes", "idempotency_keys", "documents",
)  # fmt: skip
# The tables under row-level security. The totals have one row a space: there is nothing to partition.
SPACE_TABLES = ("space_totals", *PARTITIONED_TABLES)

_LOCK = 0x534A_0002
# The first version of the extension with half-precision vectors.
_MIN_EXTENSION = (0, 7)
_MIN_SERVER = 16
_FUNCTION_FILES = (
    "transaction", "vector_search", "commit", "read", "lexical_search", "neighbours", "documents", "items_view",
)  # fmt: skip
_CREATE_VERSIONS = """
CREATE SCHEMA IF NOT EXISTS scrubjay;
CREATE TABLE IF NOT EXISTS scrubjay.schema_versions(
  version integer PRIMARY KEY, name text NOT NULL UNIQUE, applied_at bigint NOT NULL
)"""


async def prepare(address: Address, *, partitions: int = 0) -> None:
    """Bring a database to the newest schema; several processes may try at once.

    `partitions` applies to a new database. An existing one keeps the number that it was set up with.
    """
    with mapped_errors(address.shown):
        async with await connect(address.url, address) as connection:
            if await applied(connection, address) == newest_version():
                return
        async with await connect(address.owner, address) as connection:
            await migrate(connection, address, partitions=partitions)


async def migrate(connection: Connection, address: Address, *, partitions: int = 0, upto: int | None = None) -> None:
    """Apply the missing migrations, up to a version, in one transaction."""
    async with connection.transaction():
        # A process that waited for the lock must see the work of the one before it.
        await connection.execute("SET TRANSACTION ISOLATION LEVEL READ COMMITTED")
        await connection.execute("SELECT pg_advisory_xact_lock(%s, 0)", (_LOCK,))
        current = await applied(connection, address)
        if current == newest_version():
            return
        try:
            schema = await _extension(connection, address)
            await connection.execute(cast("LiteralString", _CREATE_VERSIONS))
            path = sql.SQL("SET LOCAL search_path = pg_catalog, {}").format(sql.Identifier(schema))
            await connection.execute(path)
            for version, (name, step) in enumerate(MIGRATIONS, start=FIRST_VERSION):
                if current < version <= (upto or version):
                    await step(connection, partitions)
                    await connection.execute(
                        "INSERT INTO scrubjay.schema_versions VALUES (%s, %s, %s)",
                        (version, name, time.time_ns() // 1000),
                    )
        except errors.InsufficientPrivilege as error:
            raise StoreError(
                f"the role of {address.shown} may not set up the database: {error.diag.message_primary}",
                hint="Set SCRUBJAY_DATABASE_OWNER_URL to a role that may create roles and schemas, "
                "or see docs: postgres.md",
                server=address.shown,
            ) from error


def newest_version() -> int:
    """Return the version of the schema that this code needs."""
    return FIRST_VERSION + len(MIGRATIONS) - 1


async def applied(connection: Connection, address: Address) -> int:
    """Return the schema version of a database, 0 for an empty one; changes nothing.

    Raises StoreTooNew for a later version, and StoreError for an earlier one or a server that is too old.
    """
    if connection.info.server_version < _MIN_SERVER * 10_000:
        raise StoreError(
            f"{address.shown} runs PostgreSQL {connection.info.server_version // 10_000}",
            hint=f"Scrubjay needs PostgreSQL {_MIN_SERVER} or newer",
        )
    cursor = await connection.execute(
        "SELECT to_regclass('scrubjay.schema_versions') IS NOT NULL, to_regclass('scrubjay.migrations') IS NOT NULL"
    )
    has_versions, is_old = (await cursor.fetchall())[0]
    if is_old:
        await _refuse_old(connection, address)
    if not has_versions:
        return 0
    cursor = await connection.execute("SELECT coalesce(max(version), 0) FROM scrubjay.schema_versions")
    version = int((await cursor.fetchall())[0][0])
    if version > newest_version():
        raise StoreTooNew(
            f"{address.shown} was written by a newer Scrubjay (schema {version}, this one supports {newest_version()})",
            hint="Update Scrubjay; the database was not changed",
            server=address.shown,
            schema=version,
        )
    return version


async def _refuse_old(connection: Connection, address: Address) -> None:
    """Raise for a database of a schema before the first one that this code knows."""
    cursor = await connection.execute("SELECT coalesce(max(no), 0) FROM scrubjay.migrations")
    version = int((await cursor.fetchall())[0][0])
    raise StoreError(
        f"{address.shown} was written by an older Scrubjay (schema {version}, this one reads {FIRST_VERSION} or newer)",
        hint="Export each space with the Scrubjay that wrote it (`scrubjay export`), then import the files with this "
        "one into an empty database (`scrubjay import`); the database was not changed",
        server=address.shown,
        schema=version,
    )


async def _extension(connection: Connection, address: Address) -> str:
    """Return the schema of pgvector, and create the extension where it is missing."""
    query = """SELECT extversion, nspname FROM pg_extension JOIN pg_namespace n ON n.oid = extnamespace
        WHERE extname = 'vector'"""
    cursor = await connection.execute(query)
    row = await cursor.fetchone()
    if row is None:
        await _create_extension(connection, address)
        cursor = await connection.execute(query)
        row = (await cursor.fetchall())[0]
    version, schema = str(row[0]), str(row[1])
    if tuple(int(part) for part in version.split(".")[:2]) < _MIN_EXTENSION:
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


async def _first_schema(connection: Connection, partitions: int) -> None:
    security = read_statements("postgres/rls")
    await connection.execute(cast("LiteralString", security["create_roles"]))
    partitioning = sql.SQL("PARTITION BY HASH (space_no)" if partitions else "")
    await connection.execute(_template(read_sql("postgres/tables")).format(partitioning=partitioning))
    for table in PARTITIONED_TABLES:
        await _create_partitions(connection, table, partitions)
    for name in _FUNCTION_FILES:
        await connection.execute(cast("LiteralString", read_sql(f"postgres/{name}")))
    await connection.execute(cast("LiteralString", security["grant_rights"]))
    await _protect(connection, "spaces", column="no")
    for table in SPACE_TABLES:
        await connection.execute(_template(security["grant_table"]).format(table=sql.Identifier("scrubjay", table)))
        await _protect(connection, table)
    # The policies of a table do not apply to a query of one of its partitions.
    for table in PARTITIONED_TABLES:
        for number in range(partitions):
            await _protect(connection, f"{table}_{number}")
    await connection.execute(cast("LiteralString", security["give_functions_to_keeper"]))
    await connection.execute(
        "INSERT INTO scrubjay.meta VALUES ('store_id', %s), ('partitions', %s)", (new_id(), str(partitions))
    )


async def _add_token_limits(connection: Connection, _: int) -> None:
    await connection.execute(
        """ALTER TABLE scrubjay.tokens ADD COLUMN mcp_only boolean NOT NULL DEFAULT false,
             ADD COLUMN trusted_imports boolean NOT NULL DEFAULT false"""
    )


async def _find_passages_before_6(connection: Connection, _: int) -> None:
    """Find the passages without the stems of their language, and without the date and the speaker in their text."""
    await connection.execute("DROP INDEX scrubjay.memories_outdated")
    await connection.execute(
        "CREATE INDEX memories_outdated ON scrubjay.memories(space_no, no) WHERE passage_format < 6"
    )


async def _allow_compact_bodies(_: Connection, __: int) -> None:
    """Change no table: a Scrubjay that cannot read such bodies refuses the database by its version."""


async def _create_partitions(connection: Connection, table: str, partitions: int) -> None:
    statement = sql.SQL("CREATE TABLE {} PARTITION OF {} FOR VALUES WITH (MODULUS {}, REMAINDER {})")
    for number in range(partitions):
        partition, parent = sql.Identifier("scrubjay", f"{table}_{number}"), sql.Identifier("scrubjay", table)
        await connection.execute(statement.format(partition, parent, sql.Literal(partitions), sql.Literal(number)))


async def _protect(connection: Connection, table: str, *, column: str = "space_no") -> None:
    statement = _template(read_statements("postgres/rls")["protect_table"])
    await connection.execute(statement.format(table=sql.Identifier("scrubjay", table), column=sql.Identifier(column)))


def _template(text: str) -> sql.SQL:
    return sql.SQL(cast("LiteralString", text))


# A migration may be applied while servers of the version before are running: it replaces a function only by one that
# takes the same arguments and returns the same columns, and adds a new function for other ones.
MIGRATIONS: list[tuple[str, Migration]] = [
    ("first schema", _first_schema),
    ("tokens for MCP alone and for trusted imports", _add_token_limits),
    ("passages of format 4", _find_passages_before_6),
    ("compact bodies", _allow_compact_bodies),
]
