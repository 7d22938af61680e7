"""The suites that depend on the layout of tables, on tables that are partitioned by space."""

from collections.abc import AsyncIterator

import pytest
from tests.conformance.suites import ChangeLogSuite, SpacesSuite, TransferSuite, VectorStoreSuite
from tests.postgres import a_database, address_of

from scrubjay.ports import RecordStore
from scrubjay.storage.postgres import PostgresStore


@pytest.fixture
async def store() -> AsyncIterator[RecordStore]:
    async with a_database(partitions=3) as name:
        opened = await PostgresStore.open(address_of(name))
        yield opened
        await opened.close()


class TestVectorStore(VectorStoreSuite):
    pass


class TestChangeLog(ChangeLogSuite):
    pass


class TestSpaces(SpacesSuite):
    pass


class TestTransfer(TransferSuite):
    pass
