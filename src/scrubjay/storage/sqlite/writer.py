"""The one writer: a thread that commits what arrives together with a single fsync."""

import asyncio
import queue
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Generic, TypeVar, cast

import apsw

from scrubjay import telemetry
from scrubjay.errors import StoreError
from scrubjay.storage.sqlite.connection import mapped_errors

T = TypeVar("T")
Job = Callable[[apsw.Connection], T]
# Enough to share an fsync among many callers, few enough that none waits long for the rest.
_LARGEST_BATCH = 256


class Writer:
    """Runs jobs one after the other; each is atomic, and its caller hears of it after the commit."""

    def __init__(self, connection: apsw.Connection, *, path: Path) -> None:
        self._connection = connection
        self._path = path
        self._queue: queue.SimpleQueue[_Ticket[object] | None] = queue.SimpleQueue()
        self._closed = False
        # A job is accepted before the end or refused: none may slip in behind it and wait for ever.
        self._accepting = threading.Lock()
        self.commits = 0
        self.jobs = 0
        self._unwatch = telemetry.gauge("write_queue", self._queue.qsize)
        self._thread = threading.Thread(target=self._work, name="scrubjay-writer", daemon=True)
        self._thread.start()

    async def run(self, job: Job[T]) -> T:
        """Run a job in a transaction and return its result once that is durable."""
        return await self._enqueue(job, alone=False)

    async def run_outside(self, job: Job[T]) -> T:
        """Run a job that cannot be part of a transaction, such as a checkpoint."""
        return await self._enqueue(job, alone=True)

    def close(self) -> None:
        """Finish what was accepted, then stop."""
        with self._accepting:
            if not self._closed:
                self._closed = True
                self._queue.put(None)
        self._thread.join()
        self._unwatch()

    async def _enqueue(self, job: Job[T], *, alone: bool) -> T:
        ticket = _Ticket(job, asyncio.get_running_loop(), alone=alone)
        with self._accepting:
            if self._closed:
                raise StoreError("the store is closed", hint="Open it again")
            self._queue.put(cast("_Ticket[object]", ticket))
        return await ticket.future

    def _work(self) -> None:
        held: _Ticket[object] | None = self._queue.get()
        while held is not None:
            if held.alone:
                self._run_alone(held)
                held = self._queue.get()
            else:
                held = self._commit_with_followers(held)

    def _commit_with_followers(self, first: "_Ticket[object]") -> "_Ticket[object] | None":
        """Commit the first with all that has arrived since; returns the next that could not share it."""
        batch = [first]
        while len(batch) < _LARGEST_BATCH:
            try:
                ticket = self._queue.get_nowait()
            except queue.Empty:
                break
            if ticket is None or ticket.alone:
                self._commit(batch)
                return ticket
            batch.append(ticket)
        self._commit(batch)
        return self._queue.get()

    def _run_alone(self, ticket: "_Ticket[object]") -> None:
        try:
            with mapped_errors(self._path):
                ticket.result = ticket.job(self._connection)
        # A job's edge: its error belongs to its caller.
        except Exception as error:  # noqa: BLE001
            ticket.fail(error)
        ticket.deliver()

    def _commit(self, batch: list["_Ticket[object]"]) -> None:
        for ticket in batch:
            telemetry.took("store.wait", time.perf_counter() - ticket.arrived)
        try:
            with telemetry.stage("store.commit"), mapped_errors(self._path):
                self._connection.execute("BEGIN IMMEDIATE")
                for ticket in batch:
                    self._attempt(ticket, shares=len(batch) > 1)
                if self._connection.in_transaction:
                    self._connection.execute("COMMIT")
        # The thread's edge: whatever happened must reach the callers, or they would wait for ever.
        except BaseException as error:  # noqa: BLE001
            self._roll_back()
            for ticket in batch:
                ticket.fail(error)
        self.commits += 1
        self.jobs += len(batch)
        for ticket in batch:
            ticket.deliver()

    def _attempt(self, ticket: "_Ticket[object]", *, shares: bool) -> None:
        # Who has the transaction for itself needs no way back within it, for which each page would be kept as it was.
        if shares:
            self._connection.execute("SAVEPOINT job")
        try:
            with mapped_errors(self._path):
                ticket.result = ticket.job(self._connection)
        # A job's edge: its error belongs to its caller; the other jobs of the batch go on.
        except Exception as error:
            if not self._connection.in_transaction:
                # SQLite gave up the whole transaction (disk full, I/O error): nobody's write stands.
                raise
            ticket.fail(error)
            self._connection.execute("ROLLBACK TO job" if shares else "ROLLBACK")
        if shares:
            self._connection.execute("RELEASE job")

    def _roll_back(self) -> None:
        # A broken disk may refuse this too; the thread must live to tell the callers.
        with suppress(apsw.Error):
            if self._connection.in_transaction:
                self._connection.execute("ROLLBACK")


class _Ticket(Generic[T]):
    """A job, and the caller who waits for it."""

    def __init__(self, job: Job[T], loop: asyncio.AbstractEventLoop, *, alone: bool) -> None:
        self.job = job
        self.alone = alone
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
