"""The end of the change log that a shared index has not applied yet, searched in this process instead."""

import asyncio
from collections.abc import Callable, Sequence
from contextlib import suppress
from typing import Self

import numpy as np
from numpy.typing import NDArray

from scrubjay.errors import IndexUnavailable
from scrubjay.indexing.follower import WITHOUT_POINTS, max_passages_before
from scrubjay.indexing.protocol import IndexSource
from scrubjay.lazy import dataclass
from scrubjay.model.change import Change
from scrubjay.model.passage import PASSAGES_PER_MEMORY, Point, Vector, cosine_similarities, is_valid_vector
from scrubjay.model.query import Filter, facet
from scrubjay.model.timestamps import to_micros
from scrubjay.ports import BatchSearcher, PassageSearcher

Hits = list[tuple[int, float]]

_PAGE = 500
# A transaction has few changes since the last search.
_FEW_CHANGES = 100
# The nearest passages that are searched for beforehand: twice what the gate and the conflict check ask for, since some
# may be changed meanwhile.
_READY = 16
_ALL = Filter()
# Long memories have many passages: this many are expected on average.
_PASSAGES = 8


@dataclass(frozen=True, slots=True, kw_only=True)
class ChangedMemory:
    """The current points of a changed memory, its last change, and how many passages of it the index may hold."""

    space: str
    seq: int
    indexed: int
    points: tuple[Point, ...]


class UnappliedChanges:
    """Reads the log once for all concurrent searches, and drops the changes that the index has applied."""

    def __init__(self, store: IndexSource, model: str, *, max_changes: int) -> None:
        self._store = store
        self._model = model
        self._max_changes = max_changes
        self._turn = asyncio.Lock()
        self._readings = 0
        self._after = 0
        self._until = 0
        self._changed: dict[int, ChangedMemory] = {}

    def __len__(self) -> int:
        return len(self._changed)

    async def since(self, cursor: int) -> dict[int, ChangedMemory]:
        """Return the memories that have changed after a position in the log, by their number.

        Raises IndexUnavailable if there are too many to compare each.
        """
        readings_before = self._readings
        async with self._turn:
            # A reading that began after this call, while it waited for the lock, includes all changes.
            is_fresh = self._readings > readings_before and cursor >= self._after
            self._drop_up_to(cursor)
            if not is_fresh:
                self._readings += 1
                await self._read_on(cursor)
            return dict(self._changed)

    async def _read_on(self, cursor: int) -> None:
        while changes := await self._store.changes(after=self._until, limit=_PAGE):
            await self._read(changes)
            indexed = sum(memory.indexed for memory in self._changed.values())
            if len(self._changed) > self._max_changes or indexed > self._max_changes * _PASSAGES:
                self._drop_all(cursor)
                raise IndexUnavailable(
                    f"the vector index is more than {self._max_changes} changes behind",
                    hint="It catches up by itself; `scrubjay status` shows its progress",
                    reason="behind",
                )
            if len(changes) < _PAGE:
                break

    def _drop_up_to(self, cursor: int) -> None:
        # A rebuilt index may begin earlier than the one before.
        if cursor < self._after:
            self._drop_all(cursor)
        self._changed = {number: memory for number, memory in self._changed.items() if memory.seq > cursor}
        self._after, self._until = cursor, max(cursor, self._until)

    def _drop_all(self, cursor: int) -> None:
        self._changed = {}
        self._after = self._until = cursor

    async def _read(self, changes: Sequence[Change]) -> None:
        last = {change.number: change for change in changes if change.action not in WITHOUT_POINTS}
        points = await self._store.points_of(self._model, list(last)) if last else []
        before = max_passages_before(changes)
        by_memory: dict[int, list[Point]] = {}
        for point in points:
            by_memory.setdefault(point.id // PASSAGES_PER_MEMORY, []).append(point)
        for number, change in last.items():
            own, existing = tuple(by_memory.get(number, ())), self._changed.get(number)
            indexed = max(before[number], len(own), existing.indexed if existing else 0)
            self._changed[number] = ChangedMemory(space=change.space, seq=change.seq, indexed=indexed, points=own)
        self._until = changes[-1].seq


class TransactionIndex:
    """An index together with the changes of an open transaction to a space, which are searched in this process.

    `place` is the last change of the space before the transaction, `model` the one whose vectors the index holds.
    """

    def __init__(self, index: PassageSearcher, store: IndexSource, *, model: str, space: str, place: int) -> None:
        self._index = index
        self._store = store
        self._model = model
        self._space = space
        self._place = place
        # The changed memories, and how many passages of each the index may hold.
        self._changed: dict[int, int] = {}
        self._points: list[Point] = []
        self._matrix: NDArray[np.float32] | None = None
        # What the index has for some vectors: nothing else is committed to the space meanwhile.
        self._hits: dict[bytes, Hits] = {}

    @classmethod
    async def open(
        cls, index: PassageSearcher, store: IndexSource, *, model: str, space: str, vectors: Sequence[Vector] = ()
    ) -> Self:
        """Return the index as a transaction sees it that has changed nothing yet; it will be asked for `vectors`."""
        opened = cls(index, store, model=model, space=space, place=await store.last_place(space))
        if isinstance(index, BatchSearcher):
            # If it fails, each search reports that.
            with suppress(IndexUnavailable):
                hits = await index.search_many(space, vectors, _ALL, limit=_READY)
                opened._hits = {vector.tobytes(): own for vector, own in zip(vectors, hits, strict=True)}
        return opened

    async def search(self, space: str, vector: Vector, filter: Filter, *, limit: int) -> Hits:
        """Return (passage number, cosine), best first, including everything that the transaction has changed."""
        await self._read_changes(dimension=len(vector))
        is_whole = filter == _ALL and space == self._space
        ready = self._hits.get(vector.tobytes()) if is_whole else None
        hits = self._unchanged(ready or ())
        # With fewer than were searched for, these are all that the index has.
        if ready is None or (len(hits) < limit and len(ready) >= _READY):
            hidden = sum(self._changed.values())
            hits = self._unchanged(await self._index.search(space, vector, filter, limit=limit + hidden))
        # What is farther away than enough hits of the index is not among the nearest of both.
        least = hits[limit - 1][1] if len(hits) >= limit else -1.0
        return sorted((*hits, *self._nearest(space, vector, filter, limit=limit, least=least)), key=_rank)[:limit]

    async def after_commit(self) -> None:
        """Do nothing: every search reads the changes itself."""

    def _unchanged(self, hits: Sequence[tuple[int, float]]) -> Hits:
        return [hit for hit in hits if hit[0] // PASSAGES_PER_MEMORY not in self._changed]

    async def _read_changes(self, *, dimension: int) -> None:
        is_last = False
        while not is_last:
            changes = await self._store.changes_in(self._space, after=self._place, limit=_FEW_CHANGES)
            is_last = len(changes) < _FEW_CHANGES
            if not changes:
                return
            before = max_passages_before(changes)
            for number, count in before.items():
                # Its first change counts: the index knows nothing of the later ones.
                self._changed.setdefault(number, count)
            points = [point for point in self._points if point.id // PASSAGES_PER_MEMORY not in before]
            is_longer = len(points) == len(self._points)
            added = [
                point
                for point in await self._store.points_of(self._model, list(before))
                if is_valid_vector(point.vector, dimension=dimension)
            ]
            self._points = [*points, *added]
            self._matrix = _append(self._matrix if is_longer else None, self._points, added)
            self._place = changes[-1].place

    def _nearest(self, space: str, vector: Vector, filter: Filter, *, limit: int, least: float) -> Hits:
        if self._matrix is None or not self._points:
            return []
        cosines = cosine_similarities(self._matrix[: len(self._points)], vector).clip(-1.0, 1.0)
        near = np.flatnonzero(cosines >= least)
        if not near.size:
            return []
        numbers = np.array([self._points[at].id for at in near])
        passes = _test(space, filter)
        hits: Hits = []
        for row in near[np.lexsort((numbers, -cosines[near]))]:
            if len(hits) == limit:
                break
            point = self._points[int(row)]
            if passes(point):
                hits.append((point.id, float(cosines[row])))
        return hits


def count_hidden(changed: dict[int, ChangedMemory], space: str) -> int:
    """Return how many outdated points of a space a search of the index may return."""
    return sum(memory.indexed for memory in changed.values() if memory.space == space)


def overlay(
    hits: Hits, changed: dict[int, ChangedMemory], *, space: str, vector: Vector, filter: Filter, limit: int
) -> Hits:
    """Replace the hits of an index for changed memories by their current points."""
    if not changed:
        return hits[:limit]
    merged = [hit for hit in hits if hit[0] // PASSAGES_PER_MEMORY not in changed]
    dimension, passes = len(vector), _test(space, filter)
    current = [
        point
        for memory in changed.values()
        for point in memory.points
        if passes(point) and is_valid_vector(point.vector, dimension=dimension)
    ]
    merged += _score(current, vector)
    return sorted(merged, key=_rank)[:limit]


def _rank(hit: tuple[int, float]) -> tuple[float, int]:
    return -hit[1], hit[0]


def _append(
    matrix: NDArray[np.float32] | None, points: Sequence[Point], added: Sequence[Point]
) -> NDArray[np.float32] | None:
    """Return a matrix with the unit vectors of all points; without one, or if it is full, make a larger one."""
    if not points:
        return None
    start = len(points) - len(added)
    if matrix is None or len(matrix) < len(points):
        larger = np.zeros((2 * len(points), len(points[0].vector)), dtype=np.float32)
        if matrix is None:
            start = 0
        else:
            larger[:start] = matrix[:start]
        matrix = larger
    for row, point in enumerate(points[start:], start):
        matrix[row] = point.vector / (np.linalg.norm(point.vector) or 1.0)
    return matrix


def _test(space: str, filter: Filter) -> Callable[[Point], bool]:
    """Return the test whether a point passes a filter."""
    groups = [frozenset([facet("state", filter.state)]), *map(frozenset, filter.facet_groups)]
    since, until = (None if moment is None else to_micros(moment) for moment in (filter.since, filter.until))

    def passes(point: Point) -> bool:
        return (
            point.space == space
            and not any(group.isdisjoint(point.facets) for group in groups)
            and (since is None or point.at >= since)
            and (until is None or point.at < until)
        )

    return passes


def _score(points: Sequence[Point], vector: Vector) -> Hits:
    if not points:
        return []
    matrix = np.stack([point.vector for point in points])
    lengths = np.linalg.norm(matrix, axis=1) * np.linalg.norm(vector)
    cosines = cosine_similarities(matrix, vector) / np.where(lengths > 0, lengths, 1)
    return [(point.id, max(-1.0, min(1.0, float(cosine)))) for point, cosine in zip(points, cosines, strict=True)]
