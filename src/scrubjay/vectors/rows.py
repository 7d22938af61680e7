"""Vectors in memory, as rows of one matrix that grows."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

from scrubjay.model.passage import PASSAGES_PER_MEMORY, Point, Vector, cosine_similarities
from scrubjay.model.query import Facet, facet

Places = NDArray[np.intp]
_Number = TypeVar("_Number", np.int64, np.int32, np.float32)

_STATE = facet("state", "")
_GONE = -1
_SMALLEST = 256
# From this share on it is faster to multiply every row than to gather those that are wanted.
_GATHER_UP_TO = 0.25


@dataclass(frozen=True, slots=True)
class Snapshot:
    """Rows as they were at one moment. What is put later lies behind them, so a thread may read on."""

    numbers: NDArray[np.int64]
    vectors: NDArray[np.float32]

    def nearest(self, places: Places, vector: Vector, *, limit: int) -> list[tuple[int, float]]:
        """(passage number, cosine) of some rows, best first."""
        if not places.size:
            return []
        if places.size > len(self.numbers) * _GATHER_UP_TO:
            cosines = cosine_similarities(self.vectors, vector)[places]
        else:
            cosines = cosine_similarities(self.vectors[places], vector)
        if places.size > limit:
            best = np.argpartition(-cosines, limit - 1)[:limit]
            places, cosines = places[best], cosines[best]
        numbers = self.numbers[places]
        order = np.lexsort((numbers, -cosines))
        return [(int(numbers[at]), max(-1.0, min(1.0, float(cosines[at])))) for at in order]


class Rows:
    """Points by number. A row is never changed: what is replaced or gone is left behind until it is cleared."""

    def __init__(self, *, dimension: int) -> None:
        self._numbers: NDArray[np.int64] = np.zeros(_SMALLEST, dtype=np.int64)
        self._homes: NDArray[np.int32] = np.full(_SMALLEST, _GONE, dtype=np.int32)
        self._vectors: NDArray[np.float32] = np.zeros((_SMALLEST, dimension), dtype=np.float32)
        self._used = 0
        self._place_of: dict[int, int] = {}
        self._home_codes: dict[tuple[str, Facet], int] = {}

    def __len__(self) -> int:
        return len(self._place_of)

    def put(self, points: Sequence[Point]) -> None:
        """Add points, or replace those of the same number."""
        self._make_room(len(points))
        for point in points:
            self.drop((point.id,))
            place = self._used
            self._numbers[place] = point.id
            self._vectors[place] = _unit(point.vector)
            self._homes[place] = self._home_codes.setdefault((point.space, _state(point)), len(self._home_codes))
            self._place_of[point.id] = place
            self._used += 1

    def drop(self, numbers: Iterable[int]) -> None:
        """Remove the points of some numbers, if they are there."""
        for number in numbers:
            place = self._place_of.pop(number, None)
            if place is not None:
                self._homes[place] = _GONE

    def drop_memories(self, numbers: Iterable[int]) -> None:
        """Remove all points of some memories."""
        used = self._numbers[: self._used]
        touched = used[np.isin(used // PASSAGES_PER_MEMORY, np.fromiter(numbers, dtype=np.int64))]
        self.drop(int(number) for number in touched)

    def snapshot(self) -> Snapshot:
        """The rows as they are now."""
        return Snapshot(self._numbers[: self._used], self._vectors[: self._used])

    def places_at(self, space: str, state: Facet) -> Places:
        """Where the rows of one space and state are."""
        return np.flatnonzero(self._homes[: self._used] == self._home_codes.get((space, state), len(self._home_codes)))

    def places_of(self, numbers: Sequence[int]) -> Places:
        """Where the rows of some numbers are; those that are not there are left out."""
        results = [self._place_of[number] for number in numbers if number in self._place_of]
        return np.array(results, dtype=np.intp)

    def _make_room(self, count: int) -> None:
        if self._used + count <= len(self._numbers):
            return
        stored = np.flatnonzero(self._homes[: self._used] != _GONE)
        size = max(_SMALLEST, 2 * (len(stored) + count))
        # New arrays, never the old ones shifted: a snapshot may still be read.
        self._numbers = _grown(self._numbers, stored, size)
        self._homes = _grown(self._homes, stored, size)
        self._vectors = _grown(self._vectors, stored, size)
        self._used = len(stored)
        self._place_of = {int(number): place for place, number in enumerate(self._numbers[: self._used])}


def _grown(old: NDArray[_Number], kept: Places, size: int) -> NDArray[_Number]:
    new = np.zeros((size, *old.shape[1:]), dtype=old.dtype)
    new[: len(kept)] = old[kept]
    return new


def _unit(vector: Vector) -> Vector:
    length = float(np.linalg.norm(vector))
    return vector / np.float32(length) if length else vector


def _state(point: Point) -> Facet:
    return next((facet for facet in point.facets if facet.startswith(_STATE)), _STATE)
