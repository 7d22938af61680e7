"""Backups: a binary copy of every table, one after the other, in one compressed file."""

import asyncio
import json
import os
from collections.abc import AsyncGenerator, Generator, Sequence
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO, LiteralString, cast

import psycopg
import zstandard

from scrubjay.errors import InvalidInput, StoreReadOnly
from scrubjay.ports import Progress
from scrubjay.storage.postgres.address import Address
from scrubjay.storage.postgres.database import KEEPER
from scrubjay.storage.postgres.errors import mapped_errors
from scrubjay.storage.postgres.schema import SPACE_TABLES, connect

FORMAT = "scrubjay-postgresql-1"
TABLES = ("spaces", "models", "tokens", *SPACE_TABLES)
_BLOCK = 1 << 20
COUNT_BYTES = 8
_LEVEL = 3


@dataclass(frozen=True, slots=True, kw_only=True)
class Part:
    """A table in a backup."""

    table: str
    columns: Sequence[str]

    @property
    def names(self) -> str:
        """Its columns as a statement lists them."""
        return ", ".join(f'"{column}"' for column in self.columns)


async def write_backup(address: Address, target: Path, *, progress: Progress | None = None) -> None:
    """Copy one state of the whole store to a file while others write."""
    with mapped_errors(address.shown), _written(target) as file:
        async with _reading(address) as connection:
            await _dump(connection, file, progress or unheard)


async def _dump(connection: psycopg.AsyncConnection, file: BinaryIO, progress: Progress) -> None:
    parts = [await _part(connection, table) for table in TABLES]
    cursor = await connection.execute("SELECT max(version) FROM scrubjay.schema_versions")
    head = {
        "format": FORMAT,
        "schema": int((await cursor.fetchall())[0][0]),
        "tables": {part.table: part.columns for part in parts},
        "sequences": await _sequences(connection),
    }
    total = await _bytes(connection)
    done = 0
    await asyncio.to_thread(file.write, json.dumps(head).encode() + b"\n")
    for part in parts:
        statement = f"COPY (SELECT {part.names} FROM scrubjay.{part.table}) TO STDOUT (FORMAT binary)"
        async with connection.cursor().copy(cast("LiteralString", statement)) as copy:
            async for block in _blocks(copy):
                await asyncio.to_thread(file.write, len(block).to_bytes(COUNT_BYTES, "big") + block)
                done += len(block)
                progress(min(done, total - 1), total)
        await asyncio.to_thread(file.write, bytes(COUNT_BYTES))
    progress(total, total)


@asynccontextmanager
async def _reading(address: Address) -> AsyncGenerator[psycopg.AsyncConnection]:
    """Open a connection that sees one state of the store, without a time limit."""
    async with await connect(address.url, address) as connection, connection.transaction():
        await connection.execute("SET TRANSACTION ISOLATION LEVEL REPEATABLE READ READ ONLY")
        await connection.execute(f"SET LOCAL ROLE {KEEPER}")
        await connection.execute("SET LOCAL statement_timeout = 0")
        yield connection


@contextmanager
def _written(target: Path) -> Generator[BinaryIO]:
    """Open a file that only its owner may read, and that exists only when it is complete."""
    if target.exists() or target.is_symlink():
        raise InvalidInput(f"{target} is there already", hint="Choose another name", path=str(target))
    partial = target.with_name(target.name + ".partial")
    partial.unlink(missing_ok=True)
    try:
        partial.touch(mode=0o600)
        with partial.open("wb") as raw:
            packer = zstandard.ZstdCompressor(level=_LEVEL, write_checksum=True)
            with packer.stream_writer(raw, closefd=False) as file:
                yield cast("BinaryIO", file)
            raw.flush()
            os.fsync(raw.fileno())
        partial.replace(target)
    except OSError as error:
        raise StoreReadOnly(
            f"{target} cannot be written: {error.strerror}", hint="Choose another place", path=str(target)
        ) from error
    finally:
        partial.unlink(missing_ok=True)


async def _blocks(copy: psycopg.AsyncCopy) -> AsyncGenerator[bytes]:
    block = bytearray()
    async for data in copy:
        block += data
        if len(block) >= _BLOCK:
            yield bytes(block)
            block.clear()
    if block:
        yield bytes(block)


async def _part(connection: psycopg.AsyncConnection, table: str) -> Part:
    cursor = await connection.execute(
        """SELECT attname FROM pg_attribute WHERE attrelid = %s::regclass AND attnum > 0 AND NOT attisdropped
           ORDER BY attnum""",
        (f"scrubjay.{table}",),
    )
    return Part(table=table, columns=[str(row[0]) for row in await cursor.fetchall()])


async def _sequences(connection: psycopg.AsyncConnection) -> dict[str, int]:
    cursor = await connection.execute(
        """SELECT format('%I.%I', schemaname, sequencename), last_value FROM pg_sequences
           WHERE schemaname = 'scrubjay' AND last_value IS NOT NULL"""
    )
    return {str(name): int(value) for name, value in await cursor.fetchall()}


async def _bytes(connection: psycopg.AsyncConnection) -> int:
    cursor = await connection.execute(
        "SELECT coalesce(sum(pg_table_size(oid)), 0) + 1 FROM pg_class WHERE relnamespace = 'scrubjay'::regnamespace"
    )
    return int((await cursor.fetchall())[0][0])


def unheard(done: int, total: int) -> None:
    """Ignore the progress."""
    del done, total
