"""Compares the index with an exact scan of the stored vectors, with real questions."""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from benchmarks.figures import Nearness
from benchmarks.memories import CALLER, FILTERS
from scrubjay.engine import Engine
from scrubjay.model.passage import Point, Vector
from scrubjay.model.query import Filter
from scrubjay.ports import RecordStore

_PAGE = 2_000
_FEW, _MANY = 10, 100


async def compare_with_scan(engine: Engine, store: RecordStore, questions: Sequence[str]) -> Nearness:
    """Return the share of the nearest passages that the index finds, with and without a filter."""
    profile = await engine.embedder.profile()
    vectors = [await engine.embedder.embed_query(question) for question in questions]
    points = await _all_points(store, profile.model)
    filter_ = FILTERS["14 %"]
    (facet,) = filter_.facet_groups[0]
    passing = [point for point in points if facet in point.facets]
    return Nearness(
        questions=len(vectors),
        at_10=await _share(engine, vectors, points, Filter(), count=_FEW),
        at_100=await _share(engine, vectors, points, Filter(), count=_MANY),
        filtered_at_10=await _share(engine, vectors, passing, filter_, count=_FEW),
    )


async def _all_points(store: RecordStore, model: str) -> list[Point]:
    points: list[Point] = []
    while page := await store.points(model, after=points[-1].id if points else -1, limit=_PAGE):
        points += page
    return points


async def _share(
    engine: Engine, vectors: Sequence[Vector], points: Sequence[Point], filter: Filter, *, count: int
) -> float:
    matrix = np.stack([point.vector for point in points])
    matrix /= np.linalg.norm(matrix, axis=1, keepdims=True)
    numbers: NDArray[np.int64] = np.array([point.id for point in points], dtype=np.int64)
    count = min(count, len(points))
    shares: list[float] = []
    for vector in vectors:
        cosines = matrix @ vector
        truth = {int(number) for number in numbers[np.argpartition(-cosines, count - 1)[:count]]}
        neighbours = {number for number, _ in await engine.index.search(CALLER.space, vector, filter, limit=count)}
        shares.append(len(truth & neighbours) / count)
    return sum(shares) / len(shares)
