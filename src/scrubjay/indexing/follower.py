"""Applies the change log to a vector index."""

import asyncio
from collections.abc import Callable, Sequence

from scrubjay import telemetry
from scrubjay.errors import IndexUnavailable, InvalidInput
from scrubjay.indexing.protocol import IndexSource
from scrubjay.model.change import Action, Change
from scrubjay.model.passage import Point, passage_id
from scrubjay.ports import VectorIndex

_PAGE = 500
# A commit has one or two changes, and one of `remember_many` a hundred.
_JUST_COMMITTED = 128
# Relations are not in the index.
WITHOUT_POINTS = {Action.RELATED, Action.UNRELATED}


class Follower:
    """Applies changes to an index, in order, a page at a time; concurrent callers share the work.

    `on_purge` is called before a purge is applied: an index that only hides deleted points must be replaced. After it
    `has_purged` is true.
    """

    def __init__(
        self, store: IndexSource, index: VectorIndex, model: str, *, on_purge: Callable[[], None] | None = None
    ) -> None:
        self._store = store
        self._index = index
        self._model = model
        self._on_purge = on_purge
        self.has_purged = False
        self._turn = asyncio.Lock()
        self._readings = 0

    async def lag(self) -> int:
        """Return how many changes the index is behind; negative if it is ahead of the store."""
        return await self._store.last_seq() - self._index.cursor

    async def catch_up(self, *, at_most: int | None = None) -> None:
        """Apply everything that was committed before the call.

        Raises IndexUnavailable if that is more than `at_most` changes, or if the index is ahead of the store.
        """
        target = await self._store.last_seq()
        lag = target - self._index.cursor
        if at_most is not None and not 0 <= lag <= at_most:
            raise IndexUnavailable("the vector index is too far from the state of its store", lag=lag)
        while self._index.cursor < target:
            async with self._turn:
                with telemetry.stage("index.follow"):
                    if self._index.cursor < target and not await self._apply_page(target):
                        return

    async def follow(self, *, at_most: int | None = None) -> None:
        """Apply what was just committed: there is something, so that the store is not asked first whether there is."""
        readings_before = self._readings
        async with self._turn:
            # Another caller may have read it meanwhile.
            if self._readings > readings_before:
                return
            with telemetry.stage("index.follow"):
                applied = await self._apply_page(self._index.cursor + _JUST_COMMITTED)
        if applied == _JUST_COMMITTED:
            await self.catch_up(at_most=at_most)

    async def close(self) -> None:
        """Close the index after the page that is being applied."""
        async with self._turn:
            await self._index.close()

    async def _apply_page(self, target: int) -> int:
        """Apply the next changes; return how many there were."""
        limit = min(_PAGE, target - self._index.cursor)
        self._readings += 1
        changes = await self._store.changes(after=self._index.cursor, limit=limit)
        if not changes:
            return 0
        if any(change.action is Action.PURGED for change in changes):
            if self._on_purge:
                self._on_purge()
            self.has_purged = True
        before = max_passages_before(changes)
        points = await self._store.points_of(self._model, list(before))
        try:
            await self._index.apply(points, _stale(before, points), cursor=changes[-1].seq)
        except InvalidInput as error:
            raise IndexUnavailable("the index rejects a vector of the store", cause=str(error)) from error
        return len(changes)


def max_passages_before(changes: Sequence[Change]) -> dict[int, int]:
    """Return, by the number of the memory, the most passages that it had before any of the changes."""
    counts: dict[int, int] = {}
    for change in changes:
        if change.action not in WITHOUT_POINTS:
            counts[change.number] = max(counts.get(change.number, 0), change.passages_before)
    return counts


def _stale(before: dict[int, int], points: Sequence[Point]) -> list[int]:
    """Return the numbers of the passages that no longer exist."""
    fresh = {point.id for point in points}
    old = (passage_id(number, ordinal) for number, count in before.items() for ordinal in range(count))
    return [passage for passage in old if passage not in fresh]
