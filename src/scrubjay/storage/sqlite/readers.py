"""The readers: a few threads, each with a connection of its own."""

import asyncio
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import TypeVar

import apsw

from scrubjay.errors import StoreError
from scrubjay.storage.sqlite.connection import connect, mapped_errors

T = TypeVar("T")


class Readers:
    """Runs reading jobs; each sees one consistent state of the store."""

    def __init__(self, path: Path, *, key: str, count: int) -> None:
        self._path = path
        self._key = key
        self._pool = ThreadPoolExecutor(max_workers=count, thread_name_prefix="scrubjay-reader")
        self._local = threading.local()
        self._connections: list[apsw.Connection] = []
        self._at_hand: apsw.Connection | None = None
        self._closed = False

    async def run(self, job: Callable[[apsw.Connection], T]) -> T:
        """Run a job inside a read transaction."""
        if self._closed:
            raise StoreError("the store is closed", hint="Open it again")
        return await asyncio.get_running_loop().run_in_executor(self._pool, self._read, job)

    def glance(self, job: Callable[[apsw.Connection], T]) -> T:
        """Run a job here and now: for a look at a few rows, which is over before a thread would have woken up."""
        if self._closed:
            raise StoreError("the store is closed", hint="Open it again")
        with mapped_errors(self._path):
            if self._at_hand is None:
                self._at_hand = self._connect()
            return _read(self._at_hand, job)

    def close(self) -> None:
        """Wait for running jobs and close the connections."""
        self._closed = True
        self._pool.shutdown()
        for connection in self._connections:
            connection.close()

    def _read(self, job: Callable[[apsw.Connection], T]) -> T:
        with mapped_errors(self._path):
            if not hasattr(self._local, "connection"):
                self._local.connection = self._connect()
            return _read(self._local.connection, job)

    def _connect(self) -> apsw.Connection:
        connection = connect(self._path, key=self._key)
        connection.pragma("query_only", 1)
        self._connections.append(connection)
        return connection


def _read(connection: apsw.Connection, job: Callable[[apsw.Connection], T]) -> T:
    connection.execute("BEGIN")
    try:
        return job(connection)
    finally:
        if connection.in_transaction:
            connection.execute("COMMIT")
