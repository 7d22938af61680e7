"""Readers: each sees one state of the store, and none can change it."""

import asyncio
import threading
from collections.abc import AsyncIterator
from pathlib import Path

import apsw
import pytest

from scrubjay.errors import StoreDamaged, StoreError, StoreReadOnly
from scrubjay.storage.sqlite.connection import connect
from scrubjay.storage.sqlite.readers import Readers
from scrubjay.storage.sqlite.schema import migrate


@pytest.fixture
async def path(tmp_path: Path) -> AsyncIterator[Path]:
    made = tmp_path / "read.db"
    writer = connect(made)
    migrate(writer, path=made)
    writer.execute("CREATE TABLE facts(text TEXT); INSERT INTO facts VALUES('tea')")
    yield made
    writer.close()


@pytest.fixture
async def readers(path: Path) -> AsyncIterator[Readers]:
    made = Readers(path, key="", count=2)
    yield made
    await asyncio.to_thread(made.close)


def count(connection: apsw.Connection) -> int:
    return int(connection.execute("SELECT count(*) FROM facts").fetchall()[0][0])


async def test_a_reading_sees_one_state_from_beginning_to_end(readers: Readers, path: Path) -> None:
    looked, written = threading.Event(), threading.Event()

    def twice(connection: apsw.Connection) -> tuple[int, int]:
        before = count(connection)
        looked.set()
        assert written.wait(30)
        return before, count(connection)

    reading = asyncio.create_task(readers.run(twice))
    assert await asyncio.to_thread(looked.wait, 30)
    other = connect(path)
    other.execute("INSERT INTO facts VALUES('coffee')")
    other.close()
    written.set()
    assert await reading == (1, 1)
    assert await readers.run(count) == 2


async def test_two_readings_go_on_at_once(readers: Readers) -> None:
    meet = threading.Barrier(2, timeout=30)

    def wait(_: apsw.Connection) -> int:
        return meet.wait()

    assert sorted(await asyncio.gather(readers.run(wait), readers.run(wait))) == [0, 1]


async def test_a_reader_cannot_write(readers: Readers) -> None:
    def write(connection: apsw.Connection) -> None:
        connection.execute("DELETE FROM facts")

    with pytest.raises(StoreReadOnly):
        await readers.run(write)
    assert await readers.run(count) == 1


async def test_an_error_does_not_spoil_the_connection(readers: Readers) -> None:
    def corrupt(_: apsw.Connection) -> None:
        raise apsw.CorruptError("malformed")

    def gone(connection: apsw.Connection) -> None:
        connection.execute("ROLLBACK")
        raise ZeroDivisionError

    for _ in range(3):
        with pytest.raises(StoreDamaged):
            await readers.run(corrupt)
        with pytest.raises(ZeroDivisionError):
            await readers.run(gone)
    assert await readers.run(count) == 1


async def test_nothing_is_read_after_closing(readers: Readers) -> None:
    await readers.run(count)
    await asyncio.to_thread(readers.close)
    with pytest.raises(StoreError, match="closed"):
        await readers.run(count)
