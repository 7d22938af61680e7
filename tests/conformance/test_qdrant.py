"""An index on Qdrant: on the client's local mode, and on a server if one is configured."""

from collections.abc import AsyncIterator

import pytest
from tests.conformance.suites import VectorIndexSuite
from tests.qdrant import QDRANT_BACKENDS, qdrant_backend

from scrubjay.vectors.qdrant import QdrantIndex


class TestQdrantIndex(VectorIndexSuite):
    @pytest.fixture(params=QDRANT_BACKENDS)
    async def index(self, request: pytest.FixtureRequest) -> AsyncIterator[QdrantIndex]:
        async with qdrant_backend(str(request.param)) as qdrant:
            index = await qdrant.complete_index()
            yield index
            await index.close()
