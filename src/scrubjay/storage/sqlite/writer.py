"""The only writer: a thread that commits all waiting jobs with a single fsync."""

import asyncio
import queue
import threading
import time
from collections import deque
from collections.abc import AsyncGenerator, Callable
from contextlib import asynccontextmanager, suppress
from functools import partial
from pathlib import Path
from typing import Concatenate, Generic, ParamSpec, TypeVar, cast

import apsw

from scrubjay import telemetry
from scrubjay.errors import StoreError
from scrubjay.storage.sqlite.connection import mapped_errors
from scrubjay.storage.sqlite.rows import roll_back_job

P = ParamSpec("P")
T = TypeVar("T")
Job = Callable[[apsw.Connection], T]
# Enough that many callers share an fsync, few enough that none waits long for the others.
_MAX_BATCH = 256


class Writer:
    """Runs jobs one after the other. Each is atomic, and its caller gets the result after the commit."""

    def __init__(self, connection: apsw.Connection, *, path: Path) -> None:
        self._connection = connection
        self._path = path
        self._queue: queue.SimpleQueue[_QueuedJob[object] | None] = queue.SimpleQueue()
        self._closed = False
        # Without it a job could be queued behind the end marker, and its caller would wait for ever.
        self._accepting = threading.Lock()
        # Jobs that the thread has taken from the queue and not begun.
        self._short: deque[_QueuedJob[object]] = deque()
        self._long: deque[_QueuedJob[object]] = deque()
        self._had_short = False
        self._is_last = False
        self.commits = 0
        self.jobs = 0
        self._unwatch = telemetry.gauge("write_queue", lambda: self._queue.qsize() + len(self._short) + len(self._long))
        self._thread = threading.Thread(target=self._work, name="scrubjay-writer", daemon=True)
        self._thread.start()

    async def run(self, job: Job[T], *, fails_early: bool = False, is_long: bool = False) -> T:
        """Run a job in a transaction and return its result once that is durable.

        `fails_early`: if it fails, then before its first change, unless the store itself fails. A job that `is_long`
        has a commit of its own, and others go between two of them.
        """
        return await self._enqueue(job, alone=False, fails_early=fails_early, is_long=is_long)

    async def run_outside(self, job: Job[T]) -> T:
        """Run a job that cannot be part of a transaction, such as a checkpoint."""
        return await self._enqueue(job, alone=True, fails_early=False)

    @asynccontextmanager
    async def transaction(self) -> AsyncGenerator["OpenTransaction"]:
        """Yield a transaction on the writer's connection; an error in the block rolls it back.

        The writer waits meanwhile, so that the event loop uses the connection alone, mostly without changing threads.
        """
        loop = asyncio.get_running_loop()
        begun: asyncio.Future[None] = loop.create_future()
        ended, is_complete = threading.Event(), False
        transaction = OpenTransaction(self._connection, path=self._path)

        def hold(connection: apsw.Connection) -> None:
            connection.execute("BEGIN IMMEDIATE")
            try:
                loop.call_soon_threadsafe(lambda: begun.done() or begun.set_result(None))
                ended.wait()
                # A cancelled block may leave a job that still works in its thread, or has not begun.
                transaction.close()
                if is_complete:
                    connection.execute("COMMIT")
            finally:
                if connection.in_transaction:
                    connection.execute("ROLLBACK")

        holding = asyncio.ensure_future(self.run_outside(hold))
        try:
            await asyncio.wait({holding, begun}, return_when=asyncio.FIRST_COMPLETED)
            if not holding.done():
                yield transaction
                is_complete = True
        finally:
            ended.set()
            # The connection belongs to the writer again only after this, whatever ends the block.
            await asyncio.wait({holding})
        holding.result()

    def close(self) -> None:
        """Finish the accepted jobs, then stop."""
        with self._accepting:
            if not self._closed:
                self._closed = True
                self._queue.put(None)
        self._thread.join()
        self._unwatch()

    async def _enqueue(self, job: Job[T], *, alone: bool, fails_early: bool, is_long: bool = False) -> T:
        queued = _QueuedJob(job, asyncio.get_running_loop(), alone=alone, fails_early=fails_early, is_long=is_long)
        with self._accepting:
            if self._closed:
                raise StoreError("the store is closed", hint="Open it again")
            self._queue.put(cast("_QueuedJob[object]", queued))
        return await queued.future

    def _work(self) -> None:
        while batch := self._take_batch():
            if batch[0].alone:
                self._run_alone(batch[0])
            else:
                self._commit(batch)

    def _take_batch(self) -> list["_QueuedJob[object]"]:
        """Wait for a job; return it with those that have arrived since and can share its commit. Empty at the end.

        A short job waits for one long job at most, and a long job for one commit of short ones.
        """
        self._sort_arrived()
        if not self._short and not self._long:
            if not self._is_last:
                self._sort(self._queue.get())
                self._sort_arrived()
            if not self._short and not self._long:
                return []
        self._had_short = bool(self._short) and not (self._had_short and self._long)
        if not self._had_short:
            return [self._long.popleft()]
        batch = [self._short.popleft()]
        while self._short and len(batch) < _MAX_BATCH and not (batch[0].alone or self._short[0].alone):
            batch.append(self._short.popleft())
        return batch

    def _sort_arrived(self) -> None:
        with suppress(queue.Empty):
            while not self._is_last:
                self._sort(self._queue.get_nowait())

    def _sort(self, queued: "_QueuedJob[object] | None") -> None:
        if queued is None:
            self._is_last = True
        else:
            (self._long if queued.is_long else self._short).append(queued)

    def _run_alone(self, queued: "_QueuedJob[object]") -> None:
        try:
            with mapped_errors(self._path):
                queued.result = queued.job(self._connection)
        # The boundary of a job: its caller gets the error.
        except Exception as error:  # noqa: BLE001
            queued.fail(error)
        queued.deliver()

    def _commit(self, batch: list["_QueuedJob[object]"]) -> None:
        for queued in batch:
            telemetry.record_stage("store.wait", time.perf_counter() - queued.arrived)
        try:
            with telemetry.stage("store.commit"), mapped_errors(self._path):
                self._connection.execute("BEGIN IMMEDIATE")
                for queued in batch:
                    self._attempt(queued, shares=len(batch) > 1)
                if self._connection.in_transaction:
                    self._connection.execute("COMMIT")
        # The boundary of the thread: every error must reach the callers, or they would wait for ever.
        except BaseException as error:  # noqa: BLE001
            # A broken disk may refuse this too; the thread must go on, to report to the callers.
            with suppress(apsw.Error):
                if self._connection.in_transaction:
                    self._connection.execute("ROLLBACK")
            for queued in batch:
                queued.fail(error)
        self.commits += 1
        self.jobs += len(batch)
        for queued in batch:
            queued.deliver()

    def _attempt(self, queued: "_QueuedJob[object]", *, shares: bool) -> None:
        # A job that has the transaction to itself, or fails early, needs no savepoint, for which SQLite would copy each
        # page and write the postings.
        has_savepoint = shares and not queued.fails_early
        if has_savepoint:
            self._connection.execute("SAVEPOINT job")
        changes = self._connection.total_changes()
        try:
            with mapped_errors(self._path):
                queued.result = queued.job(self._connection)
        # The boundary of a job: its caller gets the error, and the other jobs of the batch go on.
        except Exception as error:
            if not self._connection.in_transaction:
                # SQLite rolled back the whole transaction (disk full, I/O error), with the jobs before this one.
                raise
            queued.fail(error)
            if has_savepoint:
                roll_back_job(self._connection)
            elif not shares:
                self._connection.execute("ROLLBACK")
            elif self._connection.total_changes() != changes:
                # It cannot be rolled back alone.
                raise
        if has_savepoint:
            self._connection.execute("RELEASE job")


class OpenTransaction:
    """Runs jobs in a transaction that is already open: it replaces the writer and the readers."""

    def __init__(self, connection: apsw.Connection, *, path: Path) -> None:
        self._connection = connection
        self._path = path
        self._errors = mapped_errors(path)
        self._is_closed = False
        # A connection works in one thread at a time.
        self._using = threading.Lock()

    def run_now(self, job: Callable[Concatenate[apsw.Connection, P], T], *arguments: P.args, **options: P.kwargs) -> T:
        """Run a job that only reads."""
        with self._using, self._errors:
            if self._is_closed or not self._connection.in_transaction:
                # A full disk, for one, ends the whole transaction.
                raise StoreError("the transaction was rolled back", hint="Try again", path=str(self._path))
            return job(self._connection, *arguments, **options)

    # The transaction shows every statement the same state.
    run_one = run_now

    async def run(self, job: Job[T], *, fails_early: bool = False, is_long: bool = False) -> T:
        """Run a job that may write; if it fails, its own changes are rolled back.

        With `fails_early`, which needs no savepoint, changes before an error roll back the whole transaction. A long
        job works in a thread: on the event loop all others would wait for it.
        """
        whole = partial(_run_whole if fails_early else _run_in_savepoint, job=job)
        return await asyncio.to_thread(self.run_now, whole) if is_long else self.run_now(whole)

    async def run_long(self, job: Job[T]) -> T:
        """Run a job that only reads, and much."""
        return await asyncio.to_thread(self.run_now, job)

    def close(self) -> None:
        """Wait for the last job, and run no other."""
        with self._using:
            self._is_closed = True


def _run_whole(connection: apsw.Connection, *, job: Job[T]) -> T:
    changes = connection.total_changes()
    try:
        return job(connection)
    except BaseException:
        if connection.in_transaction and connection.total_changes() != changes:
            connection.execute("ROLLBACK")
        raise


def _run_in_savepoint(connection: apsw.Connection, *, job: Job[T]) -> T:
    connection.execute("SAVEPOINT job")
    try:
        result = job(connection)
    except BaseException:
        if connection.in_transaction:
            roll_back_job(connection)
            connection.execute("RELEASE job")
        raise
    connection.execute("RELEASE job")
    return result


class _QueuedJob(Generic[T]):
    """A job, and the future that its caller waits for."""

    def __init__(
        self, job: Job[T], loop: asyncio.AbstractEventLoop, *, alone: bool, fails_early: bool, is_long: bool
    ) -> None:
        self.job = job
        self.alone = alone
        self.fails_early = fails_early
        self.is_long = is_long
        self.arrived = time.perf_counter()
        self.result: T | None = None
        self.future: asyncio.Future[T] = loop.create_future()
        self._error: BaseException | None = None
        self._loop = loop

    def fail(self, error: BaseException) -> None:
        self._error = error

    def deliver(self) -> None:
        if not self._loop.is_closed():
            self._loop.call_soon_threadsafe(self._settle)

    def _settle(self) -> None:
        if self.future.done():
            return
        if self._error is not None:
            self.future.set_exception(self._error)
        else:
            self.future.set_result(self.result)  # type: ignore[arg-type]
