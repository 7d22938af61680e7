"""Restoring: fill an empty database from a backup."""

import asyncio
import json
from collections.abc import Generator, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO, cast

import psycopg
import zstandard
from psycopg import sql

from scrubjay.errors import StoreDamaged, StoreError, StoreInUse, StoreTooNew
from scrubjay.ports import Progress
from scrubjay.storage.postgres.address import Address
from scrubjay.storage.postgres.backup import COUNT_BYTES, FORMAT, Part, unheard
from scrubjay.storage.postgres.database import KEEPER
from scrubjay.storage.postgres.errors import mapped_errors
from scrubjay.storage.postgres.schema import FIRST_VERSION, connect, migrate, newest_version

_BLOCK = 1 << 20


async def restore_backup(
    address: Address, source: Path, *, partitions: int = 0, progress: Progress | None = None
) -> int:
    """Fill an empty database from a backup, and return its number of memories; a failure changes nothing."""
    await asyncio.to_thread(_require_whole, source)
    with mapped_errors(address.shown), _opened(source) as file:
        head = _head(file, source)
        async with await connect(address.owner, address) as connection, connection.transaction():
            await migrate(connection, address, partitions=partitions, upto=int(str(head["schema"])))
            await _require_empty(connection, address)
            tables = cast("dict[str, list[str]]", head["tables"])
            for done, (name, columns) in enumerate(tables.items(), start=1):
                await _load(connection, file, Part(table=name, columns=columns))
                (progress or unheard)(done, len(tables))
            cursor = await connection.execute("SELECT count(*) FROM scrubjay.memories")
            count = int((await cursor.fetchall())[0][0])
            await connection.execute("RESET ROLE")
            for name, value in cast("dict[str, int]", head["sequences"]).items():
                await connection.execute("SELECT setval(%s::regclass, %s)", (name, value))
            await migrate(connection, address)
        return count


async def _load(connection: psycopg.AsyncConnection, file: BinaryIO, part: Part) -> None:
    # COPY does not work under row-level security: the rows go through a temporary table.
    columns = sql.SQL(", ").join(map(sql.Identifier, part.columns))
    names = {"table": sql.Identifier("scrubjay", part.table), "columns": columns}
    create = "CREATE TEMP TABLE incoming ON COMMIT DROP AS SELECT {columns} FROM {table} WITH NO DATA"
    await connection.execute(sql.SQL(create).format(**names))
    statement = sql.SQL("COPY incoming({columns}) FROM STDIN (FORMAT binary)").format(**names)
    try:
        async with connection.cursor().copy(statement) as copy:
            blocks = _stored_blocks(file)
            while block := await asyncio.to_thread(next, blocks, b""):
                await copy.write(block)
        insert = "INSERT INTO {table}({columns}) SELECT {columns} FROM incoming"
        await connection.execute(sql.SQL(insert).format(**names))
    except (psycopg.DataError, psycopg.IntegrityError, psycopg.errors.ProtocolViolation) as error:
        raise StoreDamaged("the backup is damaged", hint="Use another backup", table=part.table) from error
    await connection.execute("DROP TABLE incoming")


def _require_whole(source: Path) -> None:
    """Read the whole file once: its checksum is at the end, and damaged bytes may look like a row."""
    with _opened(source) as file:
        while file.read(_BLOCK):
            pass


@contextmanager
def _opened(source: Path) -> Generator[BinaryIO]:
    try:
        with source.open("rb") as raw, zstandard.ZstdDecompressor().stream_reader(raw) as file:
            yield cast("BinaryIO", file)
    except (OSError, zstandard.ZstdError) as error:
        raise StoreDamaged(f"{source} cannot be read: {error}", hint="Use another backup", path=str(source)) from error


def _head(file: BinaryIO, source: Path) -> Mapping[str, object]:
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
        raise StoreDamaged(f"{source} is no backup of a PostgreSQL store", hint="Use another file", path=str(source))
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


def _stored_blocks(file: BinaryIO) -> Iterator[bytes]:
    while size := int.from_bytes(_exactly(file, COUNT_BYTES), "big"):
        yield _exactly(file, size)


def _exactly(file: BinaryIO, size: int) -> bytes:
    data = bytearray()
    while len(data) < size:
        more = file.read(size - len(data))
        if not more:
            raise StoreDamaged("the backup is truncated", hint="Use another backup")
        data += more
    return bytes(data)


async def _require_empty(connection: psycopg.AsyncConnection, address: Address) -> None:
    await connection.execute(f"SET LOCAL ROLE {KEEPER}")
    cursor = await connection.execute("SELECT 1 FROM scrubjay.spaces UNION ALL SELECT 1 FROM scrubjay.tokens LIMIT 1")
    if await cursor.fetchone() is not None:
        raise StoreInUse(
            f"{address.shown} holds memories already", hint="Create an empty database and restore into that"
        )
