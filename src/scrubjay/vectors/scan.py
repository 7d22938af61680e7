"""An exact scan over the stored vectors: for a process that holds no index, and for encrypted stores."""

import asyncio
from collections.abc import Sequence
from typing import Protocol

from scrubjay.model.passage import Point, Vector
from scrubjay.model.query import Filter, facet
from scrubjay.ports import ChangeLog, VectorStore
from scrubjay.ports.cluster import settled_position
from scrubjay.vectors.rows import Rows
from scrubjay.vectors.validate import is_sound, require_sound

_PAGE = 1_000
# A scan of fewer rows is over before a thread has begun.
_THREAD_FROM = 20_000


class Source(VectorStore, ChangeLog, Protocol):
    """What a scan needs of a store."""


class ScanIndex:
    """A `VectorIndex` in memory that reads a store by itself: all of it first, then what changes."""

    def __init__(self, store: Source, model: str, *, dimension: int) -> None:
        self._store = store
        self._model = model
        self._dimension = dimension
        self._rows: Rows | None = None
        self._cursor = 0
        self._following = asyncio.Lock()

    @property
    def cursor(self) -> int:
        """The last change it has applied."""
        return self._cursor

    @property
    def points(self) -> int:
        """How many points it holds."""
        return 0 if self._rows is None else len(self._rows)

    async def apply(self, points: Sequence[Point], stale: Sequence[int], *, cursor: int) -> None:
        """Remove the stale points and put the new ones, as for any index; it need not be told of changes."""
        for point in points:
            require_sound(point.vector, dimension=self._dimension)
        async with self._following:
            rows = self._rows or await self._read_all()
            rows.drop(stale)
            rows.put(points)
            self._cursor = cursor

    async def search(self, space: str, vector: Vector, filter: Filter, *, limit: int) -> list[tuple[int, float]]:
        """(passage number, cosine), best first, after everything that is committed has been read."""
        require_sound(vector, dimension=self._dimension)
        async with self._following:
            rows = await self._caught_up()
        if limit < 1:
            return []
        passing = None if filter.is_empty else await self._store.matching_passages(space, filter)
        state = facet("state", filter.state)
        places = rows.places_at(space, state) if passing is None else rows.places_of(passing)
        results = rows.snapshot()
        if places.size < _THREAD_FROM:
            return results.nearest(places, vector, limit=limit)
        return await asyncio.to_thread(results.nearest, places, vector, limit=limit)

    async def close(self) -> None:
        """Let go of the vectors; the next search reads them again."""
        self._rows = None

    async def _caught_up(self) -> Rows:
        rows = self._rows
        behind = await self._store.last_seq() - self._cursor
        # A store that was replaced, or grew by more than is known, is read anew.
        if rows is None or behind < 0 or behind > _PAGE + len(rows):
            return await self._read_all()
        while behind > 0:
            changes = await self._store.changes(after=self._cursor, limit=_PAGE)
            if not changes:
                break
            numbers = list(dict.fromkeys(change.number for change in changes))
            points = await self._store.points_of(self._model, numbers)
            rows.drop_memories(numbers)
            rows.put(self._sound(points))
            self._cursor = changes[-1].seq
            behind -= len(changes)
        return rows

    async def _read_all(self) -> Rows:
        rows = Rows(dimension=self._dimension)
        # What changes while we read is read again from here.
        cursor = await settled_position(self._store)
        after = -1
        while page := await self._store.points(self._model, after=after, limit=_PAGE):
            rows.put(self._sound(page))
            after = page[-1].id
        self._rows, self._cursor = rows, cursor
        return rows

    def _sound(self, points: Sequence[Point]) -> list[Point]:
        # One unusable vector must not keep all others from being found.
        return [point for point in points if is_sound(point.vector, dimension=self._dimension)]
