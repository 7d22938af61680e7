"""The SQLite store passes every suite of a record store."""

from collections.abc import AsyncIterator
from pathlib import Path

import pytest
from tests.conformance.suites import (
    ChangeLogSuite,
    ConcurrencySuite,
    DocumentsSuite,
    DurabilitySuite,
    LexiconSuite,
    OpenStore,
    RecordsSuite,
    SpacesSuite,
    TokensSuite,
    TransferSuite,
    UpkeepSuite,
    VectorStoreSuite,
)
from tests.new_files import new_file

from scrubjay.ports import RecordStore
from scrubjay.storage.sqlite import SqliteStore


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


class TestVectorStore(VectorStoreSuite):
    pass


class TestChangeLog(ChangeLogSuite):
    pass


class TestDocuments(DocumentsSuite):
    pass


class TestTokens(TokensSuite):
    pass


class TestTransfer(TransferSuite):
    pass


class TestUpkeep(UpkeepSuite):
    pass


class TestSpaces(SpacesSuite):
    pass


class TestConcurrency(ConcurrencySuite):
    pass


class TestDurability(DurabilitySuite):
    pass
