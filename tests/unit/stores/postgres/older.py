"""Databases as an older version left them: with the first two migrations, and rows that its functions wrote."""

import json
from collections.abc import Sequence
from pathlib import Path

import psycopg
import zstandard
from tests.postgres import address_of, shared_server

from scrubjay.model.memory import Memory
from scrubjay.ports import Commit
from scrubjay.stores.postgres import schema
from scrubjay.stores.postgres.backup import COUNT_BYTES, FORMAT
from scrubjay.stores.postgres.bodies import Bodies
from scrubjay.stores.postgres.database import Database
from scrubjay.stores.postgres.records import apply_commit
from scrubjay.stores.postgres.tables import FIRST_TABLES
from scrubjay.testing.build import a_commit

# What the newest version calls, as it was before there was a vocabulary: columns that it does not know are left out.
_AS_BEFORE = """
CREATE FUNCTION scrubjay.open_3(ask jsonb) RETURNS jsonb LANGUAGE sql AS 'SELECT scrubjay.open_1(ask)';
CREATE FUNCTION scrubjay.write_3(doc jsonb) RETURNS void LANGUAGE sql AS 'SELECT scrubjay.write_1(doc)';
"""
_AS_IT_WAS = "DROP FUNCTION scrubjay.open_3, scrubjay.write_3"


async def an_old_database(name: str, memories: Sequence[Memory], *, partitions: int = 0) -> None:
    """Set an empty database up as it was, and put memories into it."""
    address = address_of(name)
    async with await schema.connect(address.url, address) as connection:
        await schema.migrate(connection, address, partitions=partitions, upto=2)
        await connection.execute(_AS_BEFORE)
        await _write(name, [a_commit(memory) for memory in memories])
        await connection.execute(_AS_IT_WAS)


async def write_as_before(name: str, *commits: Commit) -> None:
    """Commits by a server of the older version that still runs beside the newer."""
    moved = "ALTER FUNCTION scrubjay.{0}_3 RENAME TO {0}_4"
    back = "DROP FUNCTION scrubjay.{0}_3; ALTER FUNCTION scrubjay.{0}_4 RENAME TO {0}_3"
    async with await psycopg.AsyncConnection.connect(shared_server().url(name), autocommit=True) as connection:
        for function in ("open", "write"):
            await connection.execute(moved.format(function).encode())
        await connection.execute(_AS_BEFORE)
        await _write(name, commits)
        for function in ("open", "write"):
            await connection.execute(back.format(function).encode())


async def an_old_backup(name: str, target: Path) -> None:
    """A backup of a database as the older version wrote it."""
    tables = ("spaces", "models", "tokens", *FIRST_TABLES)
    async with await psycopg.AsyncConnection.connect(shared_server().url(name)) as connection:
        columns: dict[str, list[str]] = {}
        copies: list[bytes] = []
        for table in tables:
            cursor = await connection.execute(f"SELECT * FROM scrubjay.{table} LIMIT 0".encode())
            columns[table] = [column.name for column in cursor.description or ()]
            async with connection.cursor().copy(f"COPY scrubjay.{table} TO STDOUT (FORMAT binary)".encode()) as copy:
                copied = b"".join([bytes(block) async for block in copy])
            copies += [len(copied).to_bytes(COUNT_BYTES, "big"), copied, bytes(COUNT_BYTES)]
    head = {"format": FORMAT, "schema": 2, "tables": columns, "sequences": {"scrubjay.memory_numbers": 99}}
    plain = json.dumps(head).encode() + b"\n" + b"".join(copies)
    target.write_bytes(zstandard.ZstdCompressor(write_checksum=True).compress(plain))


async def _write(name: str, commits: Sequence[Commit]) -> None:
    database = await Database.open(address_of(name))
    try:
        for commit in commits:
            await apply_commit(database, commit, bodies=Bodies(database))
    finally:
        await database.close()
