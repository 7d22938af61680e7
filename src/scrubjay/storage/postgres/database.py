"""The connections of a store: transactions with a role, a space and a time limit, retried after a lost connection."""

import asyncio
import random
import time
from collections.abc import AsyncGenerator, Awaitable, Callable, Sequence
from contextlib import asynccontextmanager, suppress
from typing import LiteralString, NamedTuple, Self, TypeVar, cast

import psycopg
from psycopg import errors
from psycopg.pq import ExecStatus
from psycopg.rows import TupleRow
from psycopg_pool import AsyncConnectionPool

from scrubjay import telemetry
from scrubjay.errors import StoreError
from scrubjay.storage.postgres.connection import Address, ConnectionAdapters, is_conflict, is_lost, mapped_errors

T = TypeVar("T")
Row = TupleRow
Rows = list[TupleRow]
SERVER_ROLE = "scrubjay_server"
# The role that sees all spaces: row-level security does not apply to it.
UNRESTRICTED_ROLE = "scrubjay_keeper"
SPACE_LOCKS = 0x534A_0001
# Its settings end with the transaction: a pooler may give the connection to another client after that.
_BEGIN_TRANSACTION = "SELECT scrubjay.begin_transaction(%s, %s, %s, %s)"
_MAX_CONFLICTS = 10
_FIRST_PAUSE = 0.02
_MAX_PAUSE = 0.5


class SqlQuery(NamedTuple):
    """A statement and the values of its placeholders."""

    statement: str
    values: Sequence[object] = ()


_BEGIN = SqlQuery("BEGIN ISOLATION LEVEL READ COMMITTED")
_SAVEPOINT = SqlQuery("SAVEPOINT job")
# Several statements in one message are a transaction without BEGIN; each sees the commits before it.
_BEGIN_READING = SqlQuery("SET TRANSACTION ISOLATION LEVEL READ COMMITTED")
# Commits of one space run one after the other; those of different spaces do not wait for each other.
_LOCK_SPACE = SqlQuery("SELECT pg_advisory_xact_lock(%s, scrubjay.current_space())", (SPACE_LOCKS,))


class Transaction:
    """A transaction in progress."""

    def __init__(self, connection: psycopg.AsyncConnection, prefetched: list[Rows], *, space_no: int) -> None:
        self._connection = connection
        # The rows of the queries that were sent in one message with the beginning of the transaction.
        self.prefetched = prefetched
        self.space_no = space_no
        # Set before the commit, empty if nothing was written: the server can be asked later how it ended.
        self.number: str | None = None
        # A query that finds a row if the transaction was committed: after a crash, another may have the same number.
        self.proof: SqlQuery | None = None
        # A statement that is sent in one message with the COMMIT.
        self.last: SqlQuery | None = None

    async def rows(self, statement: str, *values: object) -> Rows:
        """Return the rows of a statement."""
        cursor = self._connection.cursor(binary=True)
        await cursor.execute(cast("LiteralString", statement), values)
        return await cursor.fetchall()

    async def execute(self, statement: str, *values: object) -> int:
        """Run a statement, and return how many rows it changed."""
        cursor = self._connection.cursor(binary=True)
        await cursor.execute(cast("LiteralString", statement), values)
        return cursor.rowcount

    async def end(self) -> None:
        """Commit, after the last statement if there is one."""
        if self.last is None:
            await self._connection.execute("COMMIT")
            return
        # If the statement fails the server does not go on to the commit.
        async with self._connection.pipeline():
            await self.execute(self.last.statement, *self.last.values)
            await self._connection.execute("COMMIT")


Job = Callable[[Transaction], Awaitable[T]]


class Database:
    """Runs queries and transactions on a pool of connections, each in one space or, without row-level security, in all.

    `unrestricted` takes the role that sees all spaces.
    """

    def __init__(self, address: Address) -> None:
        self.address = address
        # Parsing the address takes longer than some queries do.
        self._shown = address.shown
        self._pool = AsyncConnectionPool(
            address.conninfo(address.url),
            kwargs={
                "autocommit": True,
                "prepare_threshold": None,
                "context": ConnectionAdapters(),
            },
            min_size=min(2, address.connections),
            max_size=address.connections,
            timeout=address.patience,
            open=False,
        )
        self._writes = _SpaceWrites()
        # Each needs a second connection at times.
        self._transactions = asyncio.Semaphore(max(1, address.connections // 2))
        self._running = 0
        self._idle = asyncio.Event()
        self._idle.set()
        self._closed = False
        self._unwatch = telemetry.gauge("write_queue", lambda: float(self._pool.get_stats().get("requests_waiting", 0)))

    @classmethod
    async def open(cls, address: Address) -> Self:
        """Open the pool of connections."""
        database = cls(address)
        await database._pool.open()
        return database

    @property
    def in_use(self) -> int:
        """The number of connections in use."""
        stats = self._pool.get_stats()
        return stats.get("pool_size", 0) - stats.get("pool_available", 0)

    async def read(
        self, *queries: SqlQuery, space: str | None = None, unrestricted: bool = False, seconds: int | None = None
    ) -> list[Rows]:
        """Return the rows of each query; all are sent in one message and run in one transaction."""

        async def attempt() -> list[Rows]:
            async with self._connection() as connection:
                first = self.begin_query(space, unrestricted=unrestricted, seconds=seconds)
                return await execute_together(connection, [_BEGIN_READING, first, *queries], skipped=2)

        async with self._in_progress():
            return await self._retry(attempt)

    async def rows(self, statement: str, *values: object, space: str | None = None, unrestricted: bool = False) -> Rows:
        """Return the rows of one query."""
        (rows,) = await self.read(SqlQuery(statement, values), space=space, unrestricted=unrestricted)
        return rows

    async def write(
        self,
        job: Job[T],
        *,
        space: str | None = None,
        prefetch: Sequence[SqlQuery] = (),
        unrestricted: bool = False,
        create_space: bool = False,
        seconds: int | None = None,
    ) -> T:
        """Run a job in a transaction, with retries, and return its result once it is durable.

        No other transaction writes to the space meanwhile. The queries of `prefetch` run before the job begins.
        """
        queries = [_BEGIN, self.begin_query(space, unrestricted=unrestricted, create=create_space, seconds=seconds)]
        if space is not None:
            queries.append(_LOCK_SPACE)

        async def attempt() -> T:
            async with self._connection() as connection:
                try:
                    begun, *rest = await execute_together(connection, [*queries, *prefetch], skipped=1)
                    transaction = Transaction(connection, rest[len(queries) - 2 :], space_no=int(begun[0][0]))
                    result = await job(transaction)
                    if transaction.number is None:
                        # Before the transaction ends, so that its outcome can be queried.
                        rows = await transaction.rows("SELECT coalesce(pg_current_xact_id_if_assigned()::text, '')")
                        transaction.number = str(rows[0][0])
                except BaseException:
                    await _roll_back(connection)
                    raise
                await self._commit(connection, transaction, space=space)
                return result

        async with self._writes.shared(space), self._in_progress():
            with telemetry.stage("store.commit"):
                return await self._retry(attempt)

    @asynccontextmanager
    async def transaction(self, space: str) -> AsyncGenerator["TransactionDatabase"]:
        """Yield a transaction that writes to a space; an error in the block rolls it back.

        Other writes of this process to the space wait without a connection: those that waited for the lock with one
        could take all connections, and the block needs some for its own searches.
        """
        async with self._transactions, self._writes.alone(space), self._in_progress(), self._connection() as connection:
            try:
                begin = self.begin_query(space, unrestricted=False, create=True, seconds=None)
                begun, *_ = await execute_together(connection, [_BEGIN, begin, _LOCK_SPACE], skipped=1)
                transaction = Transaction(connection, [], space_no=int(begun[0][0]))
                database = TransactionDatabase(self, connection)
                yield database
                rows = await transaction.rows("SELECT coalesce(pg_current_xact_id_if_assigned()::text, '')")
                transaction.number, transaction.proof = str(rows[0][0]), database.proof
            except BaseException:
                await _roll_back(connection)
                raise
            await self._commit(connection, transaction, space=space)

    async def close(self) -> None:
        """Wait for the work in progress, then close every connection."""
        if self._closed:
            return
        self._closed = True
        with suppress(TimeoutError):
            async with asyncio.timeout(self.address.statement_seconds):
                await self._idle.wait()
        await self._pool.close()
        self._unwatch()

    def begin_query(
        self, space: str | None, *, unrestricted: bool, seconds: int | None, create: bool = False
    ) -> SqlQuery:
        """Return the query that gives a transaction its role, its space and its time limit."""
        milliseconds = 1000 * (self.address.statement_seconds if seconds is None else seconds)
        role = UNRESTRICTED_ROLE if unrestricted else SERVER_ROLE
        return SqlQuery(_BEGIN_TRANSACTION, (role, str(milliseconds), space, create))

    @asynccontextmanager
    async def _connection(self) -> AsyncGenerator[psycopg.AsyncConnection]:
        connection = await self._pool.getconn()
        try:
            yield connection
        finally:
            await self._pool.putconn(connection)

    @asynccontextmanager
    async def _in_progress(self) -> AsyncGenerator[None]:
        if self._closed:
            raise StoreError("the store is closed", hint="Open it again")
        self._running += 1
        self._idle.clear()
        try:
            with mapped_errors(self._shown):
                yield
        finally:
            self._running -= 1
            if not self._running:
                self._idle.set()

    async def _retry(self, attempt: Callable[[], Awaitable[T]]) -> T:
        """Retry after a conflict or a lost connection."""
        deadline = time.monotonic() + self.address.patience
        tries = 0
        while True:
            try:
                return await attempt()
            except psycopg.Error as error:
                tries += 1
                was_lost = is_lost(error) and time.monotonic() < deadline
                if not was_lost and not (is_conflict(error) and tries <= _MAX_CONFLICTS):
                    raise
                telemetry.count("store_retries", why="lost" if was_lost else "conflict")
                if was_lost:
                    # The other connections of the pool have most likely broken too.
                    with suppress(TimeoutError):
                        async with asyncio.timeout(self.address.patience):
                            await self._pool.check()
            await asyncio.sleep(random.uniform(0.5, 1) * min(_MAX_PAUSE, _FIRST_PAUSE * 2 ** min(tries, 8)))  # noqa: S311

    async def _commit(
        self, connection: psycopg.AsyncConnection, transaction: Transaction, *, space: str | None
    ) -> None:
        try:
            await transaction.end()
        except psycopg.Error as error:
            await _roll_back(connection)
            # The connection broke before the answer came: the database knows whether the commit happened.
            if not is_lost(error) or (transaction.number and not await self._was_committed(transaction, space)):
                raise

    async def _was_committed(self, transaction: Transaction, space: str | None) -> bool:
        """Return whether a transaction was committed although its answer was lost."""
        if not await self._has_status_committed(transaction.number or ""):
            return False
        return transaction.proof is None or bool((await self.read(transaction.proof, space=space))[0])

    async def _has_status_committed(self, number: str) -> bool:
        """Return whether the server has a transaction as committed; waits while it is still in progress."""
        deadline = time.monotonic() + self.address.patience
        while True:
            try:
                async with self._connection() as connection:
                    ((((status,),),)) = await execute_together(
                        connection, [SqlQuery("SELECT pg_xact_status(%s::xid8)", (number,))]
                    )
                if status != "in progress":
                    return status == "committed"
            except errors.InvalidParameterValue:
                # The number is not assigned yet: the server crashed, and the transaction that had it is gone.
                return False
            except psycopg.Error:
                pass
            if time.monotonic() > deadline:
                raise StoreError(
                    "the connection broke during a commit, and the server does not say how it ended",
                    hint="Read what you wrote before you write it again",
                    transaction=number,
                )
            await asyncio.sleep(_FIRST_PAUSE)


class TransactionDatabase(Database):
    """Runs queries and writes in a transaction that is already open; each write in a savepoint."""

    def __init__(self, database: Database, connection: psycopg.AsyncConnection) -> None:
        self.address = database.address
        self.proof: SqlQuery | None = None
        self._database = database
        self._open_connection = connection
        self._turn = asyncio.Lock()

    async def read(
        self, *queries: SqlQuery, space: str | None = None, unrestricted: bool = False, seconds: int | None = None
    ) -> list[Rows]:
        """Return the rows of each query."""
        first = self._database.begin_query(space, unrestricted=unrestricted, seconds=seconds)
        async with self._turn:
            return await execute_together(self._open_connection, [first, *queries], skipped=1)

    async def write(
        self,
        job: Job[T],
        *,
        space: str | None = None,
        prefetch: Sequence[SqlQuery] = (),
        unrestricted: bool = False,
        create_space: bool = False,
        seconds: int | None = None,
    ) -> T:
        """Run a job; if it fails, its own changes are rolled back."""
        first = self._database.begin_query(space, unrestricted=unrestricted, create=create_space, seconds=seconds)
        async with self._turn:
            connection = self._open_connection
            begun, *rest = await execute_together(connection, [_SAVEPOINT, first, *prefetch], skipped=1)
            transaction = Transaction(connection, rest, space_no=int(begun[0][0]))
            try:
                result = await job(transaction)
                if transaction.last is not None:
                    await transaction.execute(transaction.last.statement, *transaction.last.values)
            except BaseException:
                if not connection.closed:
                    await connection.execute("ROLLBACK TO job")
                raise
            await connection.execute("RELEASE job")
            self.proof = transaction.proof or self.proof
            return result


class _SpaceWrites:
    """The writes of this process to each space: many at a time, or one transaction alone."""

    def __init__(self) -> None:
        self._shared: dict[str, int] = {}
        self._alone: set[str] = set()
        self._changed = asyncio.Condition()

    @asynccontextmanager
    async def shared(self, space: str | None) -> AsyncGenerator[None]:
        """Wait for a transaction that is alone in the space."""
        if space is None:
            yield
            return
        if space in self._alone:
            async with self._changed:
                await self._changed.wait_for(lambda: space not in self._alone)
        self._shared[space] = self._shared.get(space, 0) + 1
        try:
            yield
        finally:
            self._shared[space] -= 1
            if not self._shared[space]:
                del self._shared[space]
                if self._alone:
                    async with self._changed:
                        self._changed.notify_all()

    @asynccontextmanager
    async def alone(self, space: str) -> AsyncGenerator[None]:
        """Wait for all other writes to the space, and make later ones wait."""
        async with self._changed:
            await self._changed.wait_for(lambda: space not in self._alone)
        self._alone.add(space)
        try:
            async with self._changed:
                await self._changed.wait_for(lambda: space not in self._shared)
            yield
        finally:
            self._alone.discard(space)
            async with self._changed:
                self._changed.notify_all()


async def execute_together(
    connection: psycopg.AsyncConnection, queries: Sequence[SqlQuery], *, skipped: int = 0
) -> list[Rows]:
    """Send queries as one message and return the rows of each; without BEGIN they are a transaction of their own.

    The rows of the first `skipped` queries are left out.
    """
    # The driver writes the values into the text: only so can one message hold several statements. Texts of users must
    # not be among them, except as keys, because a server's log quotes statements that fail.
    cursor = psycopg.AsyncClientCursor(connection)
    text = ";".join(query.statement for query in queries)
    await cursor.execute(cast("LiteralString", text), [value for query in queries for value in query.values])
    results: list[Rows] = []
    for _ in range(skipped):
        cursor.nextset()
    more: bool | None = True
    while more:
        # Not `cursor.description`: it takes long to build.
        has_rows = cursor.pgresult is not None and cursor.pgresult.status == ExecStatus.TUPLES_OK
        results.append(await cursor.fetchall() if has_rows else [])
        more = cursor.nextset()
    return results


async def _roll_back(connection: psycopg.AsyncConnection) -> None:
    # A lost connection has nothing to roll back.
    with suppress(psycopg.Error):
        if not connection.closed:
            await connection.rollback()
