"""Opening a file: durable settings, clear errors, and readers that see one state of the store."""

import asyncio
import threading
import time
from collections.abc import AsyncIterator
from pathlib import Path

import apsw
import pytest
from tests.patience import PATIENCE

from scrubjay.errors import (
    DiskFull,
    NotFound,
    ScrubjayError,
    StoreBusy,
    StoreDamaged,
    StoreError,
    StoreReadOnly,
    WrongKey,
)
from scrubjay.storage.sqlite import connection as module
from scrubjay.storage.sqlite.connection import Readers, connect, mapped_errors
from scrubjay.storage.sqlite.schema import migrate


def filled(path: Path, *, key: str = "") -> Path:
    made = connect(path, key=key)
    migrate(made, path=path)
    made.execute("CREATE TABLE t(x); INSERT INTO t VALUES(randomblob(100000))")
    made.pragma("journal_mode", "delete")
    made.close()
    return path


def test_commits_are_durable_and_deleted_data_is_overwritten(tmp_path: Path) -> None:
    opened = connect(tmp_path / "memory.db")
    expected = {"journal_mode": "wal", "synchronous": 2, "secure_delete": 1, "temp_store": 2, "trusted_schema": 0}
    assert {name: opened.pragma(name) for name in expected} == expected
    opened.close()


@pytest.mark.parametrize(
    ("driver", "ours"),
    [
        (apsw.BusyError, StoreBusy),
        (apsw.LockedError, StoreBusy),
        (apsw.FullError, DiskFull),
        (apsw.ReadOnlyError, StoreReadOnly),
        (apsw.CantOpenError, StoreReadOnly),
        (apsw.PermissionsError, StoreReadOnly),
        (PermissionError, StoreReadOnly),
        (IsADirectoryError, StoreReadOnly),
        (apsw.CorruptError, StoreDamaged),
        (apsw.NotADBError, StoreDamaged),
        (apsw.SQLError, StoreError),
    ],
)
def test_an_error_of_the_driver_becomes_one_of_ours(driver: type[Exception], ours: type[ScrubjayError]) -> None:
    with pytest.raises(ScrubjayError) as caught, mapped_errors(Path("memory.db")):
        raise driver("boom")
    assert type(caught.value) is ours
    assert caught.value.hint
    assert caught.value.fields["path"] == "memory.db"


def test_an_error_of_ours_is_left_as_it_is() -> None:
    with pytest.raises(NotFound, match="nobody"), mapped_errors(Path("memory.db")):
        raise NotFound("nobody")
    with pytest.raises(ZeroDivisionError), mapped_errors(Path("memory.db")):
        raise ZeroDivisionError


def test_a_folder_that_is_not_there_cannot_be_written(tmp_path: Path) -> None:
    with pytest.raises(StoreReadOnly):
        connect(tmp_path / "missing" / "memory.db")


@pytest.mark.parametrize(
    ("written", "opened", "word"),
    [("right", "wrong", "does not open"), ("right", "", "encrypted"), ("", "any", "not encrypted")],
)
def test_a_wrong_key_and_a_missing_key_have_different_errors(
    tmp_path: Path, written: str, opened: str, word: str
) -> None:
    path = filled(tmp_path / "memory.db", key=written)
    with pytest.raises(WrongKey, match=word):
        connect(path, key=opened)
    again = connect(path, key=written)
    assert again.execute("SELECT count(*) FROM t").fetchall() == [(1,)]
    again.close()


def test_a_file_that_is_no_database_is_not_changed(tmp_path: Path) -> None:
    path = tmp_path / "memory.db"
    path.write_bytes(b"Dear diary, " * 1000)
    with pytest.raises(WrongKey, match="not a Scrubjay store"):
        connect(path)
    assert path.read_bytes() == b"Dear diary, " * 1000


def test_a_truncated_file_is_refused_at_once(tmp_path: Path) -> None:
    path = filled(tmp_path / "memory.db")
    size = path.stat().st_size
    with path.open("rb+") as file:
        file.truncate(size - 4096)
    with pytest.raises(StoreDamaged, match=f"{size - 4096} of {size} bytes") as caught:
        connect(path)
    assert "backup restore" in caught.value.hint


@pytest.mark.parametrize("length", [1, 50, 200, 511])
def test_a_file_cut_within_its_first_page_is_refused_and_not_written_over(tmp_path: Path, length: int) -> None:
    path = filled(tmp_path / "memory.db")
    with path.open("rb+") as file:
        file.truncate(length)
    with pytest.raises(StoreDamaged, match="truncated"):
        connect(path)
    assert path.stat().st_size == length


def test_a_database_of_another_program_is_left_as_it_is(tmp_path: Path) -> None:
    path = tmp_path / "memory.db"
    other = apsw.Connection(str(path))
    other.execute("CREATE TABLE recipes(name)")
    other.close()
    before = path.read_bytes()
    with pytest.raises(StoreDamaged, match="another program"):
        connect(path)
    assert path.read_bytes() == before


def test_an_empty_file_is_a_new_store(tmp_path: Path) -> None:
    path = tmp_path / "memory.db"
    path.touch()
    connect(path).close()
    assert path.exists()


def test_a_waiting_writer_waits_longer_and_longer_and_gives_up_in_the_end(monkeypatch: pytest.MonkeyPatch) -> None:
    now, waits = [100.0], list[float]()

    def sleep(seconds: float) -> None:
        waits.append(seconds)
        now[0] += seconds

    monkeypatch.setattr(time, "monotonic", lambda: now[0])
    monkeypatch.setattr(time, "sleep", sleep)
    wait = module._busy_handler()
    attempt = 0
    while wait(attempt):
        attempt += 1
    assert waits == sorted(waits)
    assert waits[0] < waits[-1] <= 0.25
    assert 30 <= sum(waits) < 31
    # The next wait starts from the beginning.
    assert wait(0)


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


async def test_a_read_sees_one_state_from_beginning_to_end(readers: Readers, path: Path) -> None:
    looked, written = threading.Event(), threading.Event()

    def twice(connection: apsw.Connection) -> tuple[int, int]:
        before = count(connection)
        looked.set()
        assert written.wait(PATIENCE)
        return before, count(connection)

    reading = asyncio.create_task(readers.run(twice))
    assert await asyncio.to_thread(looked.wait, PATIENCE)
    other = connect(path)
    other.execute("INSERT INTO facts VALUES('coffee')")
    other.close()
    written.set()
    assert await reading == (1, 1)
    assert await readers.run(count) == 2


async def test_two_reads_run_at_once(readers: Readers) -> None:
    meet = threading.Barrier(2, timeout=PATIENCE)

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
