"""Stores for the tests of whatever works over any of them."""

from collections.abc import AsyncIterator
from pathlib import Path

import pytest
from tests.fakes import FakeStore
from tests.new_files import new_file
from tests.unit.harness import Harness

from scrubjay.ports import RecordStore
from scrubjay.storage.sqlite import SqliteStore


@pytest.fixture(params=["fake", "sqlite"])
async def any_store(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncIterator[RecordStore]:
    if request.param == "fake":
        yield FakeStore()
        return
    opened = await SqliteStore.open(new_file(tmp_path / "memory.db"), readers=1)
    yield opened
    await opened.close()


@pytest.fixture
def harness(any_store: RecordStore) -> Harness:
    """The write and read paths over each store."""
    return Harness(store=any_store)


@pytest.fixture
def quick() -> Harness:
    """The same over the store in memory, where the store is not the point."""
    return Harness(store=FakeStore())
