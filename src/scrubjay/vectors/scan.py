"""An exact scan of the stored vectors, for encrypted stores and for processes that hold no index."""

import asyncio
from collections.abc import Iterable, Sequence
from typing import Protocol, TypeVar

import numpy as np
from numpy.typing import NDArray

from scrubjay.lazy import dataclass
from scrubjay.model.passage import (
    PASSAGES_PER_MEMORY,
    Point,
    Vector,
    cosine_similarities,
    is_valid_vector,
    require_valid_vector,
)
from scrubjay.model.query import Facet, Filter, facet
from scrubjay.ports import ChangeLog, VectorStore
from scrubjay.ports.cluster import settled_position

RowNumbers = NDArray[np.intp]
_Number = TypeVar("_Number", np.int64, np.int32, np.float32)

_PAGE = 1_000
# A scan of fewer rows takes less time than starting a thread.
_THREAD_FROM = 20_000
_STATE = facet("state", "")
_DELETED = -1
_MIN_ROWS = 256
# Above this share of the rows, multiplying all of them is faster than gathering the selected ones.
_GATHER_UP_TO = 0.25


class ScanSource(VectorStore, ChangeLog, Protocol):
    """The parts of a store that a scan reads."""


class ScanIndex:
    """A `VectorIndex` in memory that reads the store by itself: everything first, then the changes."""

    def __init__(self, store: ScanSource, model: str, *, dimension: int) -> None:
        self._store = store
        self._model = model
        self._dimension = dimension
        self._rows: VectorRows | None = None
        self._cursor = 0
        self._following = asyncio.Lock()

    @property
    def cursor(self) -> int:
        """The last change that is applied."""
        return self._cursor

    @property
    def points(self) -> int:
        """The number of points."""
        return 0 if self._rows is None else len(self._rows)

    async def apply(self, points: Sequence[Point], stale: Sequence[int], *, cursor: int) -> None:
        """Delete the stale points and add the new ones, as every index does; a scan also reads changes by itself."""
        for point in points:
            require_valid_vector(point.vector, dimension=self._dimension)
        async with self._following:
            rows = self._rows or await self._read_all()
            rows.delete(stale)
            rows.put(points)
            self._cursor = cursor

    async def search(self, space: str, vector: Vector, filter: Filter, *, limit: int) -> list[tuple[int, float]]:
        """Return (passage number, cosine), best first, after reading everything that is committed."""
        require_valid_vector(vector, dimension=self._dimension)
        async with self._following:
            rows = await self._catch_up()
        if limit < 1:
            return []
        passing = None if filter.is_empty else await self._store.matching_passages(space, filter)
        state = facet("state", filter.state)
        selected = rows.of_space(space, state) if passing is None else rows.of_points(passing)
        snapshot = rows.snapshot()
        if selected.size < _THREAD_FROM:
            return snapshot.nearest(selected, vector, limit=limit)
        return await asyncio.to_thread(snapshot.nearest, selected, vector, limit=limit)

    async def close(self) -> None:
        """Free the vectors; the next search reads them again."""
        self._rows = None

    async def _catch_up(self) -> "VectorRows":
        rows = self._rows
        behind = await self._store.last_seq() - self._cursor
        # A replaced store, or one that has more than doubled, is read from the start.
        if rows is None or behind < 0 or behind > _PAGE + len(rows):
            return await self._read_all()
        while behind > 0:
            changes = await self._store.changes(after=self._cursor, limit=_PAGE)
            if not changes:
                break
            numbers = list(dict.fromkeys(change.number for change in changes))
            points = await self._store.points_of(self._model, numbers)
            rows.delete_memories(numbers)
            rows.put(self._valid(points))
            self._cursor = changes[-1].seq
            behind -= len(changes)
        return rows

    async def _read_all(self) -> "VectorRows":
        rows = VectorRows(dimension=self._dimension)
        # Changes that are committed meanwhile are read again from here.
        cursor = await settled_position(self._store)
        after = -1
        while page := await self._store.points(self._model, after=after, limit=_PAGE):
            rows.put(self._valid(page))
            after = page[-1].id
        self._rows, self._cursor = rows, cursor
        return rows

    def _valid(self, points: Sequence[Point]) -> list[Point]:
        # One invalid vector must not make the whole store unsearchable.
        return [point for point in points if is_valid_vector(point.vector, dimension=self._dimension)]


class VectorRows:
    """Points by number, as rows of a matrix. Rows are never overwritten: deleted ones stay until the matrix grows."""

    def __init__(self, *, dimension: int) -> None:
        self._numbers: NDArray[np.int64] = np.zeros(_MIN_ROWS, dtype=np.int64)
        self._groups: NDArray[np.int32] = np.full(_MIN_ROWS, _DELETED, dtype=np.int32)
        self._vectors: NDArray[np.float32] = np.zeros((_MIN_ROWS, dimension), dtype=np.float32)
        self._used = 0
        self._row_of: dict[int, int] = {}
        self._group_codes: dict[tuple[str, Facet], int] = {}

    def __len__(self) -> int:
        return len(self._row_of)

    def put(self, points: Sequence[Point]) -> None:
        """Add points, or replace those of the same number."""
        self._reserve(len(points))
        for point in points:
            self.delete((point.id,))
            row = self._used
            state = next((facet for facet in point.facets if facet.startswith(_STATE)), _STATE)
            self._numbers[row] = point.id
            self._vectors[row] = _normalise(point.vector)
            self._groups[row] = self._group_codes.setdefault((point.space, state), len(self._group_codes))
            self._row_of[point.id] = row
            self._used += 1

    def delete(self, numbers: Iterable[int]) -> None:
        """Delete points by number; missing ones are ignored."""
        for number in numbers:
            row = self._row_of.pop(number, None)
            if row is not None:
                self._groups[row] = _DELETED

    def delete_memories(self, numbers: Iterable[int]) -> None:
        """Delete all points of memories, by the numbers of the memories."""
        used = self._numbers[: self._used]
        points = used[np.isin(used // PASSAGES_PER_MEMORY, np.fromiter(numbers, dtype=np.int64))]
        self.delete(int(number) for number in points)

    def snapshot(self) -> "RowSnapshot":
        """Return the current rows."""
        return RowSnapshot(self._numbers[: self._used], self._vectors[: self._used])

    def of_space(self, space: str, state: Facet) -> RowNumbers:
        """Return the rows of a space and state."""
        code = self._group_codes.get((space, state), len(self._group_codes))
        return np.flatnonzero(self._groups[: self._used] == code)

    def of_points(self, numbers: Sequence[int]) -> RowNumbers:
        """Return the rows of points, by number; missing ones are left out."""
        return np.array([self._row_of[number] for number in numbers if number in self._row_of], dtype=np.intp)

    def _reserve(self, count: int) -> None:
        if self._used + count <= len(self._numbers):
            return
        rows = np.flatnonzero(self._groups[: self._used] != _DELETED)
        size = max(_MIN_ROWS, 2 * (len(rows) + count))
        # Allocate new arrays instead of moving rows: another thread may still read a snapshot.
        self._numbers = _copy_rows(self._numbers, rows, size=size)
        self._groups = _copy_rows(self._groups, rows, size=size)
        self._vectors = _copy_rows(self._vectors, rows, size=size)
        self._used = len(rows)
        self._row_of = {int(number): row for row, number in enumerate(self._numbers[: self._used])}


@dataclass(frozen=True, slots=True)
class RowSnapshot:
    """The rows at one moment. Later rows are added behind them, so that a thread can read on."""

    numbers: NDArray[np.int64]
    vectors: NDArray[np.float32]

    def nearest(self, rows: RowNumbers, vector: Vector, *, limit: int) -> list[tuple[int, float]]:
        """Return (passage number, cosine) of the nearest among the given rows, best first."""
        if not rows.size:
            return []
        if rows.size > len(self.numbers) * _GATHER_UP_TO:
            cosines = cosine_similarities(self.vectors, vector)[rows]
        else:
            cosines = cosine_similarities(self.vectors[rows], vector)
        if rows.size > limit:
            # All that are as near as the last: the numbers decide between them, and not their rows.
            best = cosines >= np.partition(cosines, -limit)[-limit]
            rows, cosines = rows[best], cosines[best]
        numbers = self.numbers[rows]
        order = np.lexsort((numbers, -cosines))[:limit]
        return [(int(numbers[at]), max(-1.0, min(1.0, float(cosines[at])))) for at in order]


def _copy_rows(old: NDArray[_Number], rows: RowNumbers, *, size: int) -> NDArray[_Number]:
    new = np.zeros((size, *old.shape[1:]), dtype=old.dtype)
    new[: len(rows)] = old[rows]
    return new


def _normalise(vector: Vector) -> Vector:
    length = float(np.linalg.norm(vector))
    return vector / np.float32(length) if length else vector
