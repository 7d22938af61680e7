"""Backups: binary copies of all tables in one compressed file, and their restoration into an empty database."""

import asyncio
import json
import os
from collections.abc import AsyncGenerator, Generator, Iterator, Mapping, Sequence
from contextlib import asynccontextmanager, contextmanager
from pathlib import Path
from typing import BinaryIO, LiteralString, cast

import psycopg
import zstandard
from psycopg import sql

from scrubjay.errors import InvalidInput, StoreDamaged, StoreError, StoreInUse, StoreReadOnly, StoreTooNew
from scrubjay.lazy import dataclass
from scrubjay.ports import Progress
from scrubjay.storage.postgres.connection import Address, connect, mapped_errors
from scrubjay.storage.postgres.database import UNRESTRICTED_ROLE
from scrubjay.storage.postgres.schema import FIRST_VERSION, SPACE_TABLES, migrate, newest_version

FORMAT = "scrubjay-postgresql-1"
TABLES = ("spaces", "models", "tokens", *SPACE_TABLES)
_BLOCK_BYTES = 1 << 20
_COMPRESSED_BYTES = 1 << 16
COUNT_BYTES = 8
_LEVEL = 3


@dataclass(frozen=True, slots=True, kw_only=True)
class BackupTable:
    """A table in a backup."""

    name: str
    columns: Sequence[str]

    @property
    def column_list(self) -> str:
        """Its columns as a statement lists them."""
        return ", ".join(f'"{column}"' for column in self.columns)


async def write_backup(address: Address, target: Path, *, progress: Progress | None = None) -> None:
    """Copy one state of the whole store to a file while others write."""
    with mapped_errors(address.shown), _open_new(target) as file:
        async with _snapshot(address) as connection:
            await _dump(connection, file, progress or _ignore_progress)


async def restore_backup(
    address: Address, source: Path, *, partitions: int = 0, progress: Progress | None = None
) -> int:
    """Fill an empty database from a backup, and return its number of memories; a failure changes nothing."""
    await asyncio.to_thread(_require_intact, source)
    with mapped_errors(address.shown), _open_existing(source) as file:
        head = _read_header(file, source)
        async with await connect(address.owner, address) as connection, connection.transaction():
            await migrate(connection, address, partitions=partitions, upto=int(str(head["schema"])))
            await _require_empty(connection, address)
            tables = cast("dict[str, list[str]]", head["tables"])
            for done, (name, columns) in enumerate(tables.items(), start=1):
                await _load(connection, file, BackupTable(name=name, columns=columns))
                (progress or _ignore_progress)(done, len(tables))
            cursor = await connection.execute("SELECT count(*) FROM scrubjay.memories")
            count = int((await cursor.fetchall())[0][0])
            await connection.execute("RESET ROLE")
            for name, value in cast("dict[str, int]", head["sequences"]).items():
                await connection.execute("SELECT setval(%s::regclass, %s)", (name, value))
            await migrate(connection, address)
        return count


async def _dump(connection: psycopg.AsyncConnection, file: BinaryIO, progress: Progress) -> None:
    tables = [await _columns_of(connection, name) for name in TABLES]
    cursor = await connection.execute("SELECT max(version) FROM scrubjay.schema_versions")
    sequences = await connection.execute(
        """SELECT format('%I.%I', schemaname, sequencename), last_value FROM pg_sequences
           WHERE schemaname = 'scrubjay' AND last_value IS NOT NULL"""
    )
    head = {
        "format": FORMAT,
        "schema": int((await cursor.fetchall())[0][0]),
        "tables": {table.name: table.columns for table in tables},
        "sequences": {str(name): int(value) for name, value in await sequences.fetchall()},
    }
    cursor = await connection.execute(
        "SELECT coalesce(sum(pg_table_size(oid)), 0) + 1 FROM pg_class WHERE relnamespace = 'scrubjay'::regnamespace"
    )
    total = int((await cursor.fetchall())[0][0])
    done = 0
    await asyncio.to_thread(file.write, json.dumps(head).encode() + b"\n")
    for table in tables:
        statement = f"COPY (SELECT {table.column_list} FROM scrubjay.{table.name}) TO STDOUT (FORMAT binary)"
        async with connection.cursor().copy(cast("LiteralString", statement)) as copy:
            async for block in _blocks(copy):
                await asyncio.to_thread(file.write, len(block).to_bytes(COUNT_BYTES, "big") + block)
                done += len(block)
                progress(min(done, total - 1), total)
        await asyncio.to_thread(file.write, bytes(COUNT_BYTES))
    progress(total, total)


@asynccontextmanager
async def _snapshot(address: Address) -> AsyncGenerator[psycopg.AsyncConnection]:
    """Open a connection that sees one state of the store, without a time limit."""
    async with await connect(address.url, address) as connection, connection.transaction():
        await connection.execute("SET TRANSACTION ISOLATION LEVEL REPEATABLE READ READ ONLY")
        await connection.execute(f"SET LOCAL ROLE {UNRESTRICTED_ROLE}")
        await connection.execute("SET LOCAL statement_timeout = 0")
        yield connection


@contextmanager
def _open_new(target: Path) -> Generator[BinaryIO]:
    """Open a file that only its owner may read, and that exists only when it is complete."""
    if target.exists() or target.is_symlink():
        raise InvalidInput(f"{target} exists already", hint="Choose another name", path=str(target))
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
        _require_intact(partial)
        partial.replace(target)
    except OSError as error:
        raise StoreReadOnly(
            f"{target} cannot be written: {error.strerror}", hint="Choose another folder", path=str(target)
        ) from error
    finally:
        partial.unlink(missing_ok=True)


async def _blocks(copy: psycopg.AsyncCopy) -> AsyncGenerator[bytes]:
    block = bytearray()
    async for data in copy:
        block += data
        if len(block) >= _BLOCK_BYTES:
            yield bytes(block)
            block.clear()
    if block:
        yield bytes(block)


async def _columns_of(connection: psycopg.AsyncConnection, name: str) -> BackupTable:
    cursor = await connection.execute(
        """SELECT attname FROM pg_attribute WHERE attrelid = %s::regclass AND attnum > 0 AND NOT attisdropped
           ORDER BY attnum""",
        (f"scrubjay.{name}",),
    )
    return BackupTable(name=name, columns=[str(row[0]) for row in await cursor.fetchall()])


async def _load(connection: psycopg.AsyncConnection, file: BinaryIO, table: BackupTable) -> None:
    # COPY does not work under row-level security: the rows go through a temporary table.
    columns = sql.SQL(", ").join(map(sql.Identifier, table.columns))
    names = {"table": sql.Identifier("scrubjay", table.name), "columns": columns}
    create = "CREATE TEMP TABLE incoming ON COMMIT DROP AS SELECT {columns} FROM {table} WITH NO DATA"
    await connection.execute(sql.SQL(create).format(**names))
    statement = sql.SQL("COPY incoming({columns}) FROM STDIN (FORMAT binary)").format(**names)
    try:
        async with connection.cursor().copy(statement) as copy:
            blocks = _read_blocks(file)
            while block := await asyncio.to_thread(next, blocks, b""):
                await copy.write(block)
        insert = "INSERT INTO {table}({columns}) SELECT {columns} FROM incoming"
        await connection.execute(sql.SQL(insert).format(**names))
    except (psycopg.DataError, psycopg.IntegrityError, psycopg.errors.ProtocolViolation) as error:
        raise StoreDamaged("the backup is damaged", hint="Use another backup", table=table.name) from error
    await connection.execute("DROP TABLE incoming")


def _require_intact(source: Path) -> None:
    """Read the whole file once: its checksum is at the end, and damaged bytes may look like a row."""
    decompressor = zstandard.ZstdDecompressor().decompressobj()
    with _mapped_file_errors(source), source.open("rb") as file:
        while data := file.read(_COMPRESSED_BYTES):
            decompressor.decompress(data)
    # A reader of streams would accept a file without its end, and so without its checksum.
    if not decompressor.eof:
        raise StoreDamaged(f"{source} is truncated", hint="Use another backup", path=str(source))


@contextmanager
def _open_existing(source: Path) -> Generator[BinaryIO]:
    with (
        _mapped_file_errors(source),
        source.open("rb") as file,
        zstandard.ZstdDecompressor().stream_reader(file) as plain,
    ):
        yield cast("BinaryIO", plain)


@contextmanager
def _mapped_file_errors(source: Path) -> Generator[None]:
    try:
        yield
    except (OSError, zstandard.ZstdError) as error:
        raise StoreDamaged(f"{source} cannot be read: {error}", hint="Use another backup", path=str(source)) from error


def _read_header(file: BinaryIO, source: Path) -> Mapping[str, object]:
    """Return the header; raises StoreTooNew for a later schema version, and StoreError for an earlier one."""
    line = bytearray()
    while (byte := file.read(1)) not in (b"", b"\n"):
        line += byte
    try:
        head: dict[str, object] = json.loads(line)
        is_backup = head["format"] == FORMAT
    except (ValueError, KeyError, TypeError):
        is_backup, head = False, {}
    if not is_backup:
        raise StoreDamaged(f"{source} is not a backup of a PostgreSQL store", hint="Use another file", path=str(source))
    schema = int(str(head["schema"]))
    if schema > newest_version():
        raise StoreTooNew(f"{source} was written by a newer Scrubjay", hint="Update Scrubjay", schema=schema)
    if schema < FIRST_VERSION:
        raise StoreError(
            f"{source} was written by an older Scrubjay (schema {schema}, this one reads {FIRST_VERSION} or newer)",
            hint="Restore it with the Scrubjay that wrote it, export each space there (`scrubjay export`), then import "
            "the files with this one (`scrubjay import`)",
            path=str(source),
            schema=schema,
        )
    return head


def _read_blocks(file: BinaryIO) -> Iterator[bytes]:
    while size := int.from_bytes(_read_exactly(file, COUNT_BYTES), "big"):
        yield _read_exactly(file, size)


def _read_exactly(file: BinaryIO, size: int) -> bytes:
    data = bytearray()
    while len(data) < size:
        more = file.read(size - len(data))
        if not more:
            raise StoreDamaged("the backup is truncated", hint="Use another backup")
        data += more
    return bytes(data)


async def _require_empty(connection: psycopg.AsyncConnection, address: Address) -> None:
    await connection.execute(f"SET LOCAL ROLE {UNRESTRICTED_ROLE}")
    cursor = await connection.execute("SELECT 1 FROM scrubjay.spaces UNION ALL SELECT 1 FROM scrubjay.tokens LIMIT 1")
    if await cursor.fetchone() is not None:
        raise StoreInUse(
            f"{address.shown} holds memories already", hint="Create an empty database and restore into that"
        )


def _ignore_progress(done: int, total: int) -> None:
    """Ignore the progress."""
    del done, total
