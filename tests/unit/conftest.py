"""Stores for tests, and the write and read paths over them."""

from collections.abc import AsyncIterator

import pytest
from tests.new_files import NewStores, new_stores
from tests.unit.harness import Harness

from scrubjay.storage.sqlite import SqliteStore


@pytest.fixture
async def new_store() -> AsyncIterator[NewStores]:
    """Open an empty store with each call."""
    async with new_stores() as stores:
        yield stores


@pytest.fixture
def store(new_store: NewStores) -> SqliteStore:
    return new_store()


@pytest.fixture
def harness(store: SqliteStore) -> Harness:
    """The write and read paths over a store."""
    return Harness(store=store)
