"""The embedded Qdrant index, as it grows and once it has been optimised and opened again."""

from collections.abc import AsyncIterator, Sequence
from pathlib import Path

import pytest
from tests.conformance.suites import VectorIndexSuite
from tests.fakes.build import DIMENSION

from scrubjay.model.passage import Point
from scrubjay.vectors.edge import EdgeIndex, EdgeTuning

# So small that five hundred points have a graph, and that most filters use it.
SMALL = EdgeTuning(links_from=50, exact_up_to=20, ef=64)


class OptimisedIndex(EdgeIndex):
    """An index that rebuilds its graph after every change."""

    async def apply(self, points: Sequence[Point], stale: Sequence[int], *, cursor: int) -> None:
        await super().apply(points, stale, cursor=cursor)
        self.optimise()


class TestEdgeIndex(VectorIndexSuite):
    @pytest.fixture
    async def index(self, tmp_path: Path) -> AsyncIterator[EdgeIndex]:
        index = EdgeIndex.create(tmp_path / "index", store_id="s", model="m", dimension=DIMENSION, cursor=0)
        yield index
        await index.close()


class TestOptimisedEdgeIndex(VectorIndexSuite):
    @pytest.fixture
    async def index(self, tmp_path: Path) -> AsyncIterator[EdgeIndex]:
        index = OptimisedIndex.create(
            tmp_path / "index", store_id="s", model="m", dimension=DIMENSION, cursor=0, tuning=SMALL
        )
        yield index
        await index.close()
