"""The connections of a store: transactions with a role, a space and a time limit, retried after a lost connection."""

import asyncio
import random
import time
from collections.abc import AsyncGenerator, Awaitable, Callable, Sequence
from contextlib import asynccontextmanager, suppress
from typing import Self, TypeVar

import psycopg
from psycopg import errors
from psycopg_pool import AsyncConnectionPool

from scrubjay import telemetry
from scrubjay.errors import StoreError
from scrubjay.storage.postgres.adapters import Adapting
from scrubjay.storage.postgres.address import Address
from scrubjay.storage.postgres.errors import is_conflict, is_lost, mapped_errors
from scrubjay.storage.postgres.query import Ask, Rows, Work, ask_together

T = TypeVar("T")
Job = Callable[[Work], Awaitable[T]]
SERVER = "scrubjay_server"
KEEPER = "scrubjay_keeper"
SPACE_LOCKS = 0x534A_0001
_BEGIN = Ask("BEGIN ISOLATION LEVEL READ COMMITTED")
# Several statements in one message are a transaction without BEGIN; each sees the commits before it.
_BEGIN_READING = Ask("SET TRANSACTION ISOLATION LEVEL READ COMMITTED")
# Commits of one space run one after the other; those of different spaces do not wait for each other.
_ONE_AT_A_TIME = Ask("SELECT pg_advisory_xact_lock(%s, scrubjay.current_space())", (SPACE_LOCKS,))
# Its settings end with the transaction: a pooler may give the connection to another client after that.
_PREAMBLE = "SELECT scrubjay.begin_transaction(%s, %s, %s, %s)"
_MOST_CONFLICTS = 10
_FIRST_NAP = 0.02
_LONGEST_NAP = 0.5


class Database:
    """Runs queries and transactions on a pool of connections, each for one space or, as the keeper, for all spaces."""

    def __init__(self, address: Address) -> None:
        self.address = address
        # Parsing the address takes longer than some queries do.
        self._shown = address.shown
        self._pool = AsyncConnectionPool(
            address.line_to(address.url),
            kwargs={
                "autocommit": True,
                "prepare_threshold": None,
                "context": Adapting(),
            },
            min_size=min(2, address.connections),
            max_size=address.connections,
            timeout=address.patience,
            open=False,
        )
        self._busy = 0
        self._idle = asyncio.Event()
        self._idle.set()
        self._closed = False
        self._unwatch = telemetry.gauge("write_queue", self._waiting)

    @classmethod
    async def open(cls, address: Address) -> Self:
        """Open the pool of connections."""
        database = cls(address)
        await database._pool.open()
        return database

    async def read(
        self, *asks: Ask, space: str | None = None, keeper: bool = False, seconds: int | None = None
    ) -> list[Rows]:
        """Return the rows of each query; all are sent in one message and run in one transaction."""

        async def attempt() -> list[Rows]:
            async with self._connection() as connection:
                opening = self._preamble(space, keeper=keeper, seconds=seconds)
                return await ask_together(connection, [_BEGIN_READING, opening, *asks], skipped=2)

        async with self._working():
            return await self._patiently(attempt)

    async def rows(self, statement: str, *values: object, space: str | None = None, keeper: bool = False) -> Rows:
        """Return the rows of one query."""
        (rows,) = await self.read(Ask(statement, values), space=space, keeper=keeper)
        return rows

    async def write(
        self,
        job: Job[T],
        *,
        space: str | None = None,
        opening: Sequence[Ask] = (),
        keeper: bool = False,
        make: bool = False,
        seconds: int | None = None,
    ) -> T:
        """Run a job in a transaction, with retries, and return its result once it is durable.

        No other transaction writes to the space meanwhile. The queries of `opening` run before the job begins.
        """
        asks = [_BEGIN, self._preamble(space, keeper=keeper, make=make, seconds=seconds)]
        if space is not None:
            asks.append(_ONE_AT_A_TIME)

        async def attempt() -> T:
            async with self._connection() as connection:
                try:
                    preamble, *rest = await ask_together(connection, [*asks, *opening], skipped=1)
                    work = Work(connection, rest[len(asks) - 2 :], space_no=int(preamble[0][0]))
                    result = await job(work)
                    await _note_transaction(work)
                except BaseException:
                    await _roll_back(connection)
                    raise
                await self._commit(connection, work, space=space)
                return result

        async with self._working():
            with telemetry.stage("store.commit"):
                return await self._patiently(attempt)

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

    def _preamble(self, space: str | None, *, keeper: bool, seconds: int | None, make: bool = False) -> Ask:
        milliseconds = 1000 * (self.address.statement_seconds if seconds is None else seconds)
        return Ask(_PREAMBLE, (KEEPER if keeper else SERVER, str(milliseconds), space, make))

    @asynccontextmanager
    async def _connection(self) -> AsyncGenerator[psycopg.AsyncConnection]:
        connection = await self._pool.getconn()
        try:
            yield connection
        finally:
            await self._pool.putconn(connection)

    @asynccontextmanager
    async def _working(self) -> AsyncGenerator[None]:
        if self._closed:
            raise StoreError("the store is closed", hint="Open it again")
        self._busy += 1
        self._idle.clear()
        try:
            with mapped_errors(self._shown):
                yield
        finally:
            self._busy -= 1
            if not self._busy:
                self._idle.set()

    async def _patiently(self, attempt: Callable[[], Awaitable[T]]) -> T:
        """Retry after a conflict or a lost connection."""
        deadline = time.monotonic() + self.address.patience
        tries = 0
        while True:
            try:
                return await attempt()
            except psycopg.Error as error:
                tries += 1
                has_lost = is_lost(error) and time.monotonic() < deadline
                if not has_lost and not (is_conflict(error) and tries <= _MOST_CONFLICTS):
                    raise
                telemetry.count("store_retries", why="lost" if has_lost else "conflict")
                if has_lost:
                    # The other connections of the pool have most likely broken too.
                    with suppress(TimeoutError):
                        async with asyncio.timeout(self.address.patience):
                            await self._pool.check()
            await asyncio.sleep(random.uniform(0.5, 1) * min(_LONGEST_NAP, _FIRST_NAP * 2 ** min(tries, 8)))  # noqa: S311

    async def _commit(self, connection: psycopg.AsyncConnection, work: Work, *, space: str | None) -> None:
        try:
            await work.end()
        except psycopg.Error as error:
            await _roll_back(connection)
            # The connection broke before the answer came: the database knows whether the commit happened.
            if not is_lost(error) or (work.transaction and not await self._has_happened(work, work.transaction, space)):
                raise

    async def _has_happened(self, work: Work, transaction: str, space: str | None) -> bool:
        """Tell whether a transaction was committed whose answer was lost."""
        if not await self._has_committed(transaction):
            return False
        return work.proof is None or bool((await self.read(work.proof, space=space))[0])

    async def _has_committed(self, transaction: str) -> bool:
        """Tell how a transaction ended whose answer was lost; waits for it if it is still in progress."""
        deadline = time.monotonic() + self.address.patience
        while True:
            try:
                async with self._connection() as connection:
                    ((((status,),),)) = await ask_together(
                        connection, [Ask("SELECT pg_xact_status(%s::xid8)", (transaction,))]
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
                    transaction=transaction,
                )
            await asyncio.sleep(_FIRST_NAP)

    @property
    def in_use(self) -> int:
        """The number of connections in use."""
        stats = self._pool.get_stats()
        return stats.get("pool_size", 0) - stats.get("pool_available", 0)

    def _waiting(self) -> float:
        return float(self._pool.get_stats().get("requests_waiting", 0))


async def _note_transaction(work: Work) -> None:
    """Read the number of the transaction before it ends, so that its outcome can be queried."""
    if work.transaction is None:
        rows = await work.rows("SELECT coalesce(pg_current_xact_id_if_assigned()::text, '')")
        work.transaction = str(rows[0][0])


async def _roll_back(connection: psycopg.AsyncConnection) -> None:
    # A lost connection has nothing to roll back.
    with suppress(psycopg.Error):
        if not connection.closed:
            await connection.rollback()
