"""A database for each test, who may enter it, and raw SQL about what is in it."""

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
    """Rows of a statement, asked by one who may do everything."""
    async with await psycopg.AsyncConnection.connect(shared_server().url(name), autocommit=True) as connection:

        async def ask(statement: str, *values: object) -> list[TupleRow]:
            cursor = await connection.execute(statement.encode(), values or None)
            return await cursor.fetchall() if cursor.description else []

        yield ask
