"""The SQLite store passes every suite of a record store."""

from collections.abc import AsyncIterator
from pathlib import Path

import pytest
from tests.new_files import new_file

from scrubjay.ports import RecordStore
from scrubjay.stores.sqlite import SqliteStore
from scrubjay.testing.conformance import (
    ChangeLogSuite,
    ConcurrencySuite,
    DurabilitySuite,
    InventorySuite,
    LexiconSuite,
    OpenStore,
    PapersSuite,
    RecordsSuite,
    ShelfSuite,
    SpacesSuite,
    TokensSuite,
    UpkeepSuite,
)


@pytest.fixture
async def store(tmp_path: Path) -> AsyncIterator[RecordStore]:
    opened = await SqliteStore.open(new_file(tmp_path / "memory.db"))
    yield opened
    await opened.close()


@pytest.fixture
def open_store() -> OpenStore:
    async def opened(path: Path) -> RecordStore:
        return await SqliteStore.open(path)

    return opened


class TestRecords(RecordsSuite):
    pass


class TestLexicon(LexiconSuite):
    pass


class TestShelf(ShelfSuite):
    pass


class TestChangeLog(ChangeLogSuite):
    pass


class TestPapers(PapersSuite):
    pass


class TestTokens(TokensSuite):
    pass


class TestInventory(InventorySuite):
    pass


class TestUpkeep(UpkeepSuite):
    pass


class TestSpaces(SpacesSuite):
    pass


class TestConcurrency(ConcurrencySuite):
    pass


class TestDurability(DurabilitySuite):
    pass
