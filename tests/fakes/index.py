"""A vector index that compares everything with everything."""

from collections.abc import Sequence

import numpy as np

from scrubjay.errors import InvalidInput
from scrubjay.model.passage import Point, Vector
from scrubjay.model.query import Filter, facet
from scrubjay.model.timestamps import to_micros


class FakeIndex:
    """Finds the nearest points by brute force."""

    def __init__(self, *, dimension: int = 64) -> None:
        self._dimension = dimension
        self._points: dict[int, Point] = {}
        self._cursor = 0

    @property
    def cursor(self) -> int:
        """The last change that was applied."""
        return self._cursor

    async def apply(self, points: Sequence[Point], stale: Sequence[int], *, cursor: int) -> None:
        """Remove the stale points, then add the new ones; a bad vector raises an error before anything changes."""
        for point in points:
            _require_sound(point.vector, dimension=self._dimension)
        for number in stale:
            self._points.pop(number, None)
        self._points.update({point.id: point for point in points})
        self._cursor = cursor

    async def search(self, space: str, vector: Vector, filter: Filter, *, limit: int) -> list[tuple[int, float]]:
        """Return (passage number, cosine), best first."""
        _require_sound(vector, dimension=self._dimension)
        results = [
            (point.id, _cosine(vector, point.vector))
            for point in self._points.values()
            if point.space == space and point_passes(point, filter)
        ]
        return sorted(results, key=lambda hit: (-hit[1], hit[0]))[:limit]

    async def close(self) -> None:
        """Do nothing."""


def point_passes(point: Point, filter: Filter) -> bool:
    """Return whether a point passes a filter."""
    held = set(point.facets)
    return (
        facet("state", filter.state) in held
        and all(held.intersection(group) for group in filter.facet_groups)
        and (filter.since is None or point.at >= to_micros(filter.since))
        and (filter.until is None or point.at < to_micros(filter.until))
    )


def _require_sound(vector: Vector, *, dimension: int) -> None:
    if vector.shape != (dimension,):
        raise InvalidInput(f"a vector of this index has {dimension} numbers, not {vector.shape}", dimension=dimension)
    if not bool(np.isfinite(vector).all()):
        raise InvalidInput("a vector holds a number that is not finite")


def _cosine(vector: Vector, other: Vector) -> float:
    lengths = float(np.linalg.norm(vector)) * float(np.linalg.norm(other))
    return float(np.dot(vector, other)) / lengths if lengths else 0.0
