"""The writer: one thread, shared commits, and every caller gets only the result of its own job."""

import asyncio
import threading
from collections.abc import AsyncGenerator, AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path

import apsw
import pytest
from tests.patience import PATIENCE

from scrubjay.errors import DiskFull, InvalidInput, StoreBusy, StoreError
from scrubjay.storage.sqlite.writer import Writer

Job = Callable[[apsw.Connection], int]


@pytest.fixture
def path(tmp_path: Path) -> Path:
    made = tmp_path / "jobs.db"
    connection = apsw.Connection(str(made))
    connection.pragma("journal_mode", "wal")
    connection.execute("CREATE TABLE done(number INTEGER PRIMARY KEY)")
    connection.close()
    return made


@pytest.fixture
async def writer(path: Path) -> AsyncIterator[Writer]:
    connection = apsw.Connection(str(path))
    made = Writer(connection, path=path)
    yield made
    await asyncio.to_thread(made.close)
    connection.close()


def insert(number: int) -> Job:
    def job(connection: apsw.Connection) -> int:
        connection.execute("INSERT INTO done VALUES(?)", (number,))
        return number

    return job


def stored(path: Path) -> list[int]:
    connection = apsw.Connection(str(path))
    try:
        return [int(row[0]) for row in connection.execute("SELECT number FROM done ORDER BY number")]
    finally:
        connection.close()


@asynccontextmanager
async def blocked(writer: Writer) -> AsyncGenerator[None]:
    """Keep the writer busy, so that jobs that arrive meanwhile share a commit."""
    started, go_on = threading.Event(), threading.Event()

    def wait(_: apsw.Connection) -> None:
        started.set()
        go_on.wait(PATIENCE)

    waiting = asyncio.create_task(writer.run_outside(wait))
    assert await asyncio.to_thread(started.wait, PATIENCE)
    try:
        yield
    finally:
        go_on.set()
        await waiting


async def together(writer: Writer, *jobs: Job, fails_early: bool = False) -> list[int | BaseException]:
    async with blocked(writer):
        tasks = [asyncio.create_task(writer.run(job, fails_early=fails_early)) for job in jobs]
        await asyncio.sleep(0)
    return await asyncio.gather(*tasks, return_exceptions=True)


async def test_a_job_is_durable_when_its_caller_gets_the_result(writer: Writer, path: Path) -> None:
    assert await writer.run(insert(1)) == 1
    assert stored(path) == [1]


async def test_jobs_that_arrive_together_share_a_commit(writer: Writer, path: Path) -> None:
    assert await together(writer, *(insert(number) for number in range(20))) == list(range(20))
    assert (writer.commits, writer.jobs) == (1, 20)
    assert stored(path) == list(range(20))


async def test_a_very_long_queue_is_committed_in_portions(writer: Writer, path: Path) -> None:
    await together(writer, *(insert(number) for number in range(300)))
    assert writer.commits == 2
    assert len(stored(path)) == 300


async def test_a_failing_job_harms_no_other_and_leaves_nothing(writer: Writer, path: Path) -> None:
    def half(connection: apsw.Connection) -> int:
        insert(2)(connection)
        raise InvalidInput("changed my mind")

    first, failed, third, twice = await together(writer, insert(1), half, insert(3), insert(1))
    assert (first, third) == (1, 3)
    assert isinstance(failed, InvalidInput)
    assert isinstance(twice, StoreError)
    assert stored(path) == [1, 3]


def refuse(_: apsw.Connection) -> int:
    raise InvalidInput("not this one")


def fail_late(connection: apsw.Connection) -> int:
    insert(2)(connection)
    raise ValueError("unexpected")


async def test_a_job_that_fails_before_its_first_change_harms_no_other(writer: Writer, path: Path) -> None:
    results = await together(writer, insert(1), refuse, insert(2), fails_early=True)
    assert [type(result) for result in results] == [int, InvalidInput, int]
    assert stored(path) == [1, 2]


async def test_a_change_that_cannot_be_taken_back_alone_fails_the_whole_commit(writer: Writer, path: Path) -> None:
    results = await together(writer, insert(1), fail_late, insert(3), fails_early=True)
    assert [type(result) for result in results] == [ValueError, ValueError, ValueError]
    assert stored(path) == []


async def test_a_transaction_keeps_nothing_of_a_job_that_fails(writer: Writer, path: Path) -> None:
    async with writer.transaction() as transaction:
        await transaction.run(insert(1), fails_early=True)
        with pytest.raises(InvalidInput):
            await transaction.run(refuse, fails_early=True)
        with pytest.raises(ValueError, match="unexpected"):
            await transaction.run(fail_late)
    assert stored(path) == [1]


async def test_a_change_that_cannot_be_taken_back_alone_ends_the_transaction(writer: Writer, path: Path) -> None:
    async def change_on() -> None:
        async with writer.transaction() as transaction:
            await transaction.run(insert(1), fails_early=True)
            with pytest.raises(ValueError, match="unexpected"):
                await transaction.run(fail_late, fails_early=True)
            await transaction.run(insert(3), fails_early=True)

    with pytest.raises(StoreError, match="rolled back"):
        await change_on()
    assert stored(path) == []


async def test_a_long_job_of_a_transaction_leaves_the_event_loop(writer: Writer, path: Path) -> None:
    async with writer.transaction() as transaction:
        for is_long in (True, False):
            thread = await transaction.run(lambda _: threading.get_ident(), is_long=is_long)
            assert (thread != threading.get_ident()) == is_long
        assert await transaction.run_long(lambda _: threading.get_ident()) != threading.get_ident()
        await asyncio.gather(*(transaction.run(insert(number), is_long=number % 2 == 0) for number in range(10)))
        assert transaction.run_now(lambda connection: len(connection.execute("SELECT * FROM done").fetchall())) == 10
    assert stored(path) == list(range(10))


async def test_a_cancelled_transaction_waits_for_its_long_job_and_keeps_nothing(writer: Writer, path: Path) -> None:
    started, go_on = threading.Event(), threading.Event()

    def work(connection: apsw.Connection) -> int:
        connection.execute("INSERT INTO done VALUES(1)")
        started.set()
        go_on.wait(PATIENCE)
        return 1

    async def write() -> None:
        async with writer.transaction() as transaction:
            await transaction.run(work, is_long=True)

    task = asyncio.create_task(write())
    await asyncio.to_thread(started.wait, PATIENCE)
    task.cancel()
    later = asyncio.create_task(writer.run(insert(2)))
    await asyncio.sleep(0.01)
    go_on.set()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert await later == 2
    assert stored(path) == [2]


async def test_a_transaction_that_ended_runs_no_more_jobs(writer: Writer, path: Path) -> None:
    async with writer.transaction() as transaction:
        await transaction.run(insert(1))
    with pytest.raises(StoreError, match="rolled back"):
        await transaction.run(insert(2), is_long=True)
    assert stored(path) == [1]


async def test_a_job_that_fails_alone_leaves_nothing(writer: Writer, path: Path) -> None:
    def half(connection: apsw.Connection) -> int:
        insert(1)(connection)
        raise InvalidInput("changed my mind")

    with pytest.raises(InvalidInput):
        await writer.run(half)
    assert stored(path) == []
    assert await writer.run(insert(2)) == 2
    assert stored(path) == [2]


async def test_any_kind_of_error_reaches_its_caller(writer: Writer) -> None:
    def bug(_: apsw.Connection) -> int:
        raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        await writer.run(bug)
    with pytest.raises(ZeroDivisionError):
        await writer.run_outside(bug)
    assert await writer.run(insert(1)) == 1


async def test_when_sqlite_rolls_back_the_transaction_no_job_is_stored(writer: Writer, path: Path) -> None:
    def full(connection: apsw.Connection) -> int:
        connection.execute("ROLLBACK")  # what SQLite does by itself when the disk is full
        raise apsw.FullError("database or disk is full")

    answers = await together(writer, insert(1), full, insert(2))
    assert [type(answer) for answer in answers] == [DiskFull] * 3
    assert stored(path) == []
    assert await writer.run(insert(4)) == 4


async def test_a_locked_store_fails_the_whole_commit_and_can_be_tried_again(writer: Writer, path: Path) -> None:
    other = apsw.Connection(str(path))
    other.execute("BEGIN IMMEDIATE")
    answers = await together(writer, insert(1), insert(2))
    assert [type(answer) for answer in answers] == [StoreBusy] * 2
    other.execute("ROLLBACK")
    other.close()
    assert await together(writer, insert(1), insert(2)) == [1, 2]


async def test_a_failure_of_the_commit_itself_is_rolled_back(writer: Writer, path: Path) -> None:
    def strict(connection: apsw.Connection) -> None:
        connection.execute("PRAGMA foreign_keys = on")
        connection.execute("CREATE TABLE notes(about INTEGER REFERENCES done DEFERRABLE INITIALLY DEFERRED)")

    def dangling(connection: apsw.Connection) -> int:
        connection.execute("INSERT INTO notes VALUES(99)")
        return 0

    await writer.run_outside(strict)
    answers = await together(writer, insert(1), dangling)
    assert [type(answer) for answer in answers] == [StoreError] * 2
    assert await writer.run(insert(2)) == 2
    assert stored(path) == [2]


async def test_a_job_outside_runs_in_turn_and_in_no_transaction(writer: Writer) -> None:
    def look(connection: apsw.Connection) -> tuple[bool, int]:
        return connection.in_transaction, int(connection.execute("SELECT count(*) FROM done").fetchall()[0][0])

    async with blocked(writer):
        first = asyncio.create_task(writer.run(insert(1)))
        await asyncio.sleep(0)
        looked = asyncio.create_task(writer.run_outside(look))
        await asyncio.sleep(0)
        second = asyncio.create_task(writer.run(insert(2)))
        await asyncio.sleep(0)
    assert await looked == (False, 1)
    assert (await first, await second) == (1, 2)
    assert writer.commits == 2


async def test_a_cancelled_caller_does_not_cancel_its_job(writer: Writer, path: Path) -> None:
    problems: list[str] = []
    asyncio.get_running_loop().set_exception_handler(lambda _, context: problems.append(str(context)))
    async with blocked(writer):
        leaving = asyncio.create_task(writer.run(insert(1)))
        staying = asyncio.create_task(writer.run(insert(2)))
        await asyncio.sleep(0)
        leaving.cancel()
    assert await staying == 2
    with pytest.raises(asyncio.CancelledError):
        await leaving
    assert stored(path) == [1, 2]
    assert problems == []


async def test_closing_finishes_the_accepted_jobs_and_accepts_no_more(writer: Writer, path: Path) -> None:
    async with blocked(writer):
        tasks = [asyncio.create_task(writer.run(insert(number))) for number in range(5)]
        await asyncio.sleep(0)
        closing = asyncio.create_task(asyncio.to_thread(writer.close))
        await asyncio.sleep(0)
    await closing
    assert await asyncio.gather(*tasks) == list(range(5))
    assert stored(path) == list(range(5))
    with pytest.raises(StoreError, match="closed"):
        await writer.run(insert(9))
    await asyncio.to_thread(writer.close)


def test_a_loop_that_ended_is_not_called_back(path: Path) -> None:
    connection = apsw.Connection(str(path))
    writer = Writer(connection, path=path)
    loop = asyncio.new_event_loop()
    go_on = threading.Event()

    async def leave() -> None:
        task = asyncio.create_task(writer.run_outside(lambda _: go_on.wait(PATIENCE)))
        await asyncio.sleep(0)
        task.cancel()

    loop.run_until_complete(leave())
    loop.close()
    go_on.set()
    assert asyncio.run(writer.run(insert(1))) == 1
    writer.close()
    connection.close()


async def test_a_short_job_waits_for_one_long_job_at_most(writer: Writer, path: Path) -> None:
    order: list[int] = []

    def note(number: int) -> Job:
        def job(connection: apsw.Connection) -> int:
            order.append(number)
            return insert(number)(connection)

        return job

    async with blocked(writer):
        tasks = [asyncio.create_task(writer.run(note(number), is_long=True)) for number in range(3)]
        tasks += [asyncio.create_task(writer.run(note(number))) for number in range(3, 6)]
        await asyncio.sleep(0)
        before = writer.commits
    assert await asyncio.gather(*tasks) == list(range(6))
    assert order == [0, 3, 4, 5, 1, 2]
    assert writer.commits - before == 4
    assert stored(path) == list(range(6))
