"""The vectors of PostgreSQL: scanned, and searched by an index from the first point on."""

from collections.abc import AsyncIterator

import pytest
from tests.conformance.suites import VectorIndexSuite
from tests.postgres import a_database, address_of, builds_an_index
from tests.unit.vectors.pgvector_points import EAGER, WritablePgvectorIndex, put_points

from scrubjay.storage.postgres import PostgresStore


@pytest.fixture
async def store() -> AsyncIterator[PostgresStore]:
    async with a_database() as name:
        opened = await PostgresStore.open(address_of(name))
        yield opened
        await opened.close()


class TestExact(VectorIndexSuite):
    @pytest.fixture
    async def index(self, store: PostgresStore) -> AsyncIterator[WritablePgvectorIndex]:
        index = WritablePgvectorIndex(store)
        yield index
        await index.close()


@builds_an_index
class TestIndexed(VectorIndexSuite):
    @pytest.fixture
    async def index(self, store: PostgresStore) -> AsyncIterator[WritablePgvectorIndex]:
        index = WritablePgvectorIndex(store, tuning=EAGER)
        # There can be no index before the model is stored.
        await put_points(store, "default", [])
        await index.open()
        await index.settle()
        assert (await index.describe())["kind"] == "hnsw"
        yield index
        await index.close()
