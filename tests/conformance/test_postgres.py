"""The PostgreSQL store passes every suite of a record store."""

from collections.abc import AsyncIterator
from contextlib import AsyncExitStack
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
from tests.postgres import a_database, address_of, stamp

from scrubjay.ports import RecordStore
from scrubjay.storage.postgres import PostgresStore, restore_backup


@pytest.fixture
async def store() -> AsyncIterator[RecordStore]:
    async with a_database() as name:
        opened = await PostgresStore.open(address_of(name))
        yield opened
        await opened.close()


@pytest.fixture
async def open_store() -> AsyncIterator[OpenStore]:
    """Open the database of a path; a path to a backup becomes a database with its content."""
    databases: dict[Path, str] = {}
    async with AsyncExitStack() as stack:

        async def opened(path: Path) -> RecordStore:
            if path not in databases:
                is_backup = path.is_file()
                databases[path] = await stack.enter_async_context(a_database(empty=is_backup))
                if is_backup:
                    await restore_backup(address_of(databases[path]), path)
                else:
                    await stamp(databases[path])
            return await PostgresStore.open(address_of(databases[path]))

        yield opened


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
