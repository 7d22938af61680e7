"""The exact scan, over a store that holds the points of the index."""

from collections.abc import Sequence

import pytest
from tests.conformance.suites import VectorIndexSuite
from tests.fakes import FakeStore
from tests.fakes.build import DIMENSION, MODEL
from tests.fakes.index import point_passes

from scrubjay.model.passage import Point
from scrubjay.model.query import Filter
from scrubjay.vectors.scan import ScanIndex


class PointStore(FakeStore):
    """A store with only points."""

    def __init__(self) -> None:
        super().__init__()
        self.stored: dict[int, Point] = {}
        self.seq = 0

    async def last_seq(self) -> int:
        return self.seq

    async def matching_passages(self, space: str, filter: Filter) -> Sequence[int]:
        return [point.id for point in self.stored.values() if point.space == space and point_passes(point, filter)]


class WritableScanIndex(ScanIndex):
    """A scan whose store holds all applied points."""

    def __init__(self, vector_store: PointStore) -> None:
        super().__init__(vector_store, MODEL, dimension=DIMENSION)
        self._vector_store = vector_store

    async def apply(self, points: Sequence[Point], stale: Sequence[int], *, cursor: int) -> None:
        await super().apply(points, stale, cursor=cursor)
        for number in stale:
            self._vector_store.stored.pop(number, None)
        self._vector_store.stored.update({point.id: point for point in points})
        self._vector_store.seq = cursor


class TestScanIndex(VectorIndexSuite):
    @pytest.fixture
    def index(self) -> ScanIndex:
        return WritableScanIndex(PointStore())
