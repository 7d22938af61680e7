"""The exact scan, over a store that holds the points of the index."""

from collections.abc import AsyncIterator, Sequence
from functools import cached_property

import pytest
from tests.conformance.suites import VectorIndexSuite
from tests.fakes.build import DIMENSION, MODEL, point_passes
from tests.new_files import new_stores

from scrubjay.model.passage import Point
from scrubjay.model.query import Filter
from scrubjay.storage.sqlite import SqliteStore
from scrubjay.vectors.scan import ScanIndex


class PointStore(SqliteStore):
    """A store with only points."""

    seq = 0

    @cached_property
    def stored(self) -> dict[int, Point]:
        return {}

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
    async def index(self) -> AsyncIterator[ScanIndex]:
        async with new_stores() as stores:
            yield WritableScanIndex(stores(PointStore))
