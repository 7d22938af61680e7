"""Connections to the database file, SQLite's errors as ours, and the threads that read."""

import asyncio
import os
import threading
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractContextManager, suppress
from itertools import count
from pathlib import Path
from types import TracebackType
from typing import Concatenate, ParamSpec, TypeVar

import apsw

from scrubjay.errors import DiskFull, ScrubjayError, StoreBusy, StoreDamaged, StoreError, StoreReadOnly, WrongKey
from scrubjay.storage.sqlite.rows import StoreConnection
from scrubjay.storage.sqlite.schema import applied

P = ParamSpec("P")
T = TypeVar("T")
# How long a writer waits for another process before it gives up, and its first and longest single wait.
_BUSY_SECONDS = 30.0
_FIRST_WAIT = 0.001
_MAX_WAIT = 0.25
# The size of the statement cache: a commit has some fifty, and those with a question mark for each value vary.
_CACHED_STATEMENTS = 512
_MAGIC = b"SQLite format 3\x00"
_HEADER_BYTES = 100
_MIN_PAGE_BYTES = 512
_RESTORE = "Restore a backup with `scrubjay backup restore FILE`"


def connect(path: Path, *, key: str = "", cache_mb: int = 8) -> apsw.Connection:
    """Open a connection with durable settings; raise an error that explains what is wrong with the file."""
    with mapped_errors(path):
        # With a write-ahead log, a process has the file open, or was killed.
        wal = path.with_name(path.name + "-wal")
        has_log = wal.exists() and wal.stat().st_size > 0
        if not has_log:
            _refuse_truncated(path)
        make_private(path)
        connection = StoreConnection(str(path), statementcachesize=_CACHED_STATEMENTS)
        connection.set_busy_handler(_busy_handler())
        # A file that is refused must stay as it is: if it has a log, closing would write the log into it.
        connection.config(apsw.SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, int(has_log))
        if key:
            connection.pragma("key", key)
        try:
            applied(connection, path)
            connection.config(apsw.SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, 0)
            _use_write_ahead_log(connection)
        except apsw.NotADBError:
            connection.close()
            raise _not_readable(path, key) from None
        except BaseException:
            connection.close()
            raise
        for name, value in (
            ("synchronous", "full"),
            ("secure_delete", "on"),
            ("temp_store", "memory"),
            ("cache_size", -cache_mb * 1024),
            ("trusted_schema", "off"),
        ):
            connection.pragma(name, value)
        # Otherwise SQLite prepares a statement with a limit again each time, in case another number has a better plan.
        connection.config(apsw.SQLITE_DBCONFIG_ENABLE_QPSG, 1)
        return connection


def make_private(path: Path) -> None:
    """Create the file of a new store for its owner alone; SQLite gives the files beside it the same permissions."""
    # If this fails, opening fails too, with a better message.
    with suppress(OSError):
        os.close(os.open(path, os.O_RDWR | os.O_CREAT | os.O_EXCL, 0o600))


def mapped_errors(path: Path) -> AbstractContextManager[None]:
    """Translate every error of the driver into one of ours, with a hint."""
    return _MappedErrors(path)


class _MappedErrors:
    # Not a generator: each of a write's many reads passes through here.
    __slots__ = ("_path",)

    def __init__(self, path: Path) -> None:
        self._path = path

    def __enter__(self) -> None:
        return None

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if isinstance(error, apsw.Error | OSError) and not isinstance(error, ScrubjayError):
            raise _store_error(error, self._path) from error


def _store_error(error: apsw.Error | OSError, path: Path) -> ScrubjayError:
    if isinstance(error, apsw.BusyError | apsw.LockedError):
        return StoreBusy(
            f"another process has been writing to {path} for {_BUSY_SECONDS:.0f} s",
            hint="Try again; if that does not help, look for a process that hangs with this file open",
            path=str(path),
        )
    if isinstance(error, apsw.FullError):
        return DiskFull(
            f"no room left to write {path}; nothing was changed", hint="Free some space and try again", path=str(path)
        )
    if isinstance(error, apsw.ReadOnlyError | apsw.CantOpenError | apsw.PermissionsError | apsw.AuthError | OSError):
        return StoreReadOnly(
            f"{path} cannot be opened for writing",
            hint="Check the folder's permissions, or choose another folder with --data or SCRUBJAY_HOME",
            path=str(path),
        )
    if isinstance(error, apsw.CorruptError | apsw.NotADBError):
        return StoreDamaged(f"{path} is damaged: {error}", hint=_RESTORE, path=str(path))
    return StoreError(f"{path}: {error}", hint="Run `scrubjay doctor`", path=str(path))


class Readers:
    """A few threads with a connection each. Every job sees one consistent state of the store."""

    def __init__(self, path: Path, *, key: str, count: int) -> None:
        self._path = path
        self._key = key
        self._pool = ThreadPoolExecutor(max_workers=count, thread_name_prefix="scrubjay-reader")
        self._local = threading.local()
        self._connections: list[apsw.Connection] = []
        self._loop_connection: apsw.Connection | None = None
        self._closed = False

    async def run(self, job: Callable[[apsw.Connection], T]) -> T:
        """Run a job inside a read transaction."""
        if self._closed:
            raise StoreError("the store is closed", hint="Open it again")
        return await asyncio.get_running_loop().run_in_executor(self._pool, self._run_in_thread, job)

    async def run_long(self, job: Callable[[apsw.Connection], T]) -> T:
        """Run a job that reads much, like any other."""
        return await self.run(job)

    def run_now(self, job: Callable[Concatenate[apsw.Connection, P], T], *arguments: P.args, **options: P.kwargs) -> T:
        """Run a job on the event loop: for a few rows, which take less time than to wake up a thread."""
        if self._closed:
            raise StoreError("the store is closed", hint="Open it again")
        with mapped_errors(self._path):
            if self._loop_connection is None:
                self._loop_connection = self._connect()
            return _run_reading(self._loop_connection, job, *arguments, **options)

    def run_one(self, job: Callable[Concatenate[apsw.Connection, P], T], *arguments: P.args, **options: P.kwargs) -> T:
        """Run a job of one statement on the event loop: it sees one state without a transaction around it."""
        if self._closed:
            raise StoreError("the store is closed", hint="Open it again")
        # Not `mapped_errors`, which takes longer: each of a write's many reads passes through here.
        try:
            if self._loop_connection is None:
                self._loop_connection = self._connect()
            return job(self._loop_connection, *arguments, **options)
        except (apsw.Error, OSError) as error:
            if isinstance(error, ScrubjayError):
                raise
            raise _store_error(error, self._path) from error

    def stop(self) -> None:
        """Run no other job, and close the connection of the event loop, on whose thread this is called.

        Another thread could find that connection in use.
        """
        self._closed = True
        if self._loop_connection is not None:
            self._loop_connection.close()

    def close(self) -> None:
        """Wait for running jobs and close the connections."""
        self._closed = True
        self._pool.shutdown()
        for connection in self._connections:
            connection.close()

    def _run_in_thread(self, job: Callable[[apsw.Connection], T]) -> T:
        with mapped_errors(self._path):
            if not hasattr(self._local, "connection"):
                self._local.connection = self._connect()
            return _run_reading(self._local.connection, job)

    def _connect(self) -> apsw.Connection:
        connection = connect(self._path, key=self._key)
        connection.pragma("query_only", 1)
        self._connections.append(connection)
        return connection


def _run_reading(
    connection: apsw.Connection, job: Callable[Concatenate[apsw.Connection, P], T], *arguments: P.args,
    **options: P.kwargs,
) -> T:  # fmt: skip
    connection.execute("BEGIN")
    try:
        return job(connection, *arguments, **options)
    finally:
        if connection.in_transaction:
            connection.execute("COMMIT")


def _busy_handler() -> Callable[[int], bool]:
    started_at = 0.0

    def wait(attempt: int) -> bool:
        nonlocal started_at
        if attempt == 0:
            started_at = time.monotonic()
        if time.monotonic() - started_at > _BUSY_SECONDS:
            return False
        time.sleep(min(_FIRST_WAIT * 2 ** min(attempt, 16), _MAX_WAIT))
        return True

    return wait


def _use_write_ahead_log(connection: apsw.Connection) -> None:
    # Two processes that open a new file at once would wait for each other: SQLite refuses one without its busy handler.
    wait = _busy_handler()
    for attempt in count():
        try:
            connection.pragma("journal_mode", "wal")
        except apsw.BusyError:
            if not wait(attempt):
                raise
        else:
            return


def _refuse_truncated(path: Path) -> None:
    # SQLite notices a missing tail only when it reads one of the lost pages, which may be long after the first write.
    if not path.exists() or path.stat().st_size == 0:
        return
    if path.stat().st_size < _MIN_PAGE_BYTES:
        # SQLite would treat a file this short as empty and overwrite it.
        raise StoreDamaged(f"{path} is truncated: {path.stat().st_size} bytes are there", hint=_RESTORE, path=str(path))
    with path.open("rb") as file:
        header = file.read(_HEADER_BYTES)
    if not header.startswith(_MAGIC) or len(header) < _HEADER_BYTES:
        return
    page_size = int.from_bytes(header[16:18], "big")
    expected = (65536 if page_size == 1 else page_size) * int.from_bytes(header[28:32], "big")
    actual = path.stat().st_size
    if actual < expected:
        raise StoreDamaged(
            f"{path} is truncated: {actual} of {expected} bytes are there", hint=_RESTORE, path=str(path)
        )


def _not_readable(path: Path, key: str) -> ScrubjayError:
    with path.open("rb") as file:
        is_plain = file.read(len(_MAGIC)) == _MAGIC
    if is_plain:
        return WrongKey(f"{path} is not encrypted, but a key was given", hint="Open it without a key", path=str(path))
    if key:
        return WrongKey(
            f"the key does not open {path}, or the file is damaged",
            hint="Check the key file or SCRUBJAY_KEY; if the key is right, restore a backup",
            path=str(path),
        )
    return WrongKey(
        f"{path} is encrypted, or not a Scrubjay store",
        hint="Give the key with SCRUBJAY_KEY_FILE or SCRUBJAY_KEY; if it never had one, restore a backup",
        path=str(path),
    )
