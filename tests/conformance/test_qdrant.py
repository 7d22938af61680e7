"""An index on Qdrant: on the client's local mode, and on a server if one is configured."""

from collections.abc import AsyncIterator

import pytest
from tests.conformance.suites import VectorIndexSuite
from tests.qdrant import GROUNDS, a_ground

from scrubjay.vectors.qdrant import QdrantIndex


class TestQdrantIndex(VectorIndexSuite):
    @pytest.fixture(params=GROUNDS)
    async def index(self, request: pytest.FixtureRequest) -> AsyncIterator[QdrantIndex]:
        async with a_ground(str(request.param)) as ground:
            index = await ground.whole_index()
            yield index
            await index.close()
