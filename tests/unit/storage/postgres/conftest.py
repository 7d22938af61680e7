"""A database for each test, stores on it, and raw SQL."""

from collections.abc import AsyncIterator, Awaitable, Callable

import psycopg
import pytest
from psycopg.rows import TupleRow
from tests.postgres import a_database, address_of, shared_server

from scrubjay.storage.postgres import PostgresStore
from scrubjay.storage.postgres.database import Database

Raw = Callable[..., Awaitable[list[TupleRow]]]


@pytest.fixture
async def name() -> AsyncIterator[str]:
    """The name of a database with the newest schema."""
    async with a_database() as made:
        yield made


@pytest.fixture
async def empty() -> AsyncIterator[str]:
    """The name of a database with nothing in it."""
    async with a_database(empty=True) as made:
        yield made


@pytest.fixture
async def store(name: str) -> AsyncIterator[PostgresStore]:
    opened = await PostgresStore.open(address_of(name))
    yield opened
    await opened.close()


@pytest.fixture
async def database(name: str) -> AsyncIterator[Database]:
    opened = await Database.open(address_of(name))
    yield opened
    await opened.close()


@pytest.fixture
async def raw(name: str) -> AsyncIterator[Raw]:
    """Return the rows of a statement that runs as a superuser."""
    async with await psycopg.AsyncConnection.connect(shared_server().url(name), autocommit=True) as connection:

        async def run(statement: str, *values: object) -> list[TupleRow]:
            cursor = await connection.execute(statement.encode(), values or None)
            return await cursor.fetchall() if cursor.description else []

        yield run
