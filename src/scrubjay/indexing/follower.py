"""Brings an index to where the change log is."""

import asyncio
from collections.abc import Callable, Sequence

from scrubjay import telemetry
from scrubjay.errors import IndexUnavailable, InvalidInput
from scrubjay.indexing.protocol import Source
from scrubjay.model.change import Action, Change
from scrubjay.model.passage import Point, passage_id
from scrubjay.ports import VectorIndex

_PAGE = 500
# Relations are not in the index.
_WITHOUT_POINTS = {Action.RELATED, Action.UNRELATED}


class Follower:
    """Applies changes to one index, in order, one page at a time, whoever asks.

    `on_purge` is called before a purge is applied: an index that only hides what it deletes must go.
    """

    def __init__(
        self, store: Source, index: VectorIndex, model: str, *, on_purge: Callable[[], None] | None = None
    ) -> None:
        self._store = store
        self._index = index
        self._model = model
        self._on_purge = on_purge
        self._turn = asyncio.Lock()

    async def lag(self) -> int:
        """How many changes the index is behind; negative when it knows of more than the store."""
        return await self._store.last_seq() - self._index.cursor

    async def catch_up(self, *, at_most: int | None = None) -> None:
        """Apply all that was committed before the call. Callers at the same time share the work.

        Raises IndexUnavailable when that is more than `at_most`, or when the index is ahead of the store.
        """
        target = await self._store.last_seq()
        lag = target - self._index.cursor
        if at_most is not None and not 0 <= lag <= at_most:
            raise IndexUnavailable("the vector index is far from where its store is", lag=lag)
        while self._index.cursor < target:
            async with self._turn:
                with telemetry.stage("index.follow"):
                    if self._index.cursor < target and not await self._apply_page(target):
                        return

    async def close(self) -> None:
        """Close the index once nothing is being applied."""
        async with self._turn:
            await self._index.close()

    async def _apply_page(self, target: int) -> bool:
        limit = min(_PAGE, target - self._index.cursor)
        changes = await self._store.changes(after=self._index.cursor, limit=limit)
        if not changes:
            return False
        if self._on_purge and any(change.action is Action.PURGED for change in changes):
            self._on_purge()
        before = _most_passages(changes)
        points = await self._store.points_of(self._model, list(before))
        try:
            await self._index.apply(points, _stale(before, points), cursor=changes[-1].seq)
        except InvalidInput as error:
            raise IndexUnavailable("the store holds a vector that the index refuses", cause=str(error)) from error
        return True


def _most_passages(changes: Sequence[Change]) -> dict[int, int]:
    """By memory, how many passages it had at most before one of the changes."""
    most: dict[int, int] = {}
    for change in changes:
        if change.action not in _WITHOUT_POINTS:
            most[change.number] = max(most.get(change.number, 0), change.passages_before)
    return most


def _stale(before: dict[int, int], points: Sequence[Point]) -> list[int]:
    """Numbers of passages that were there and are no more."""
    fresh = {point.id for point in points}
    were = (passage_id(number, ordinal) for number, count in before.items() for ordinal in range(count))
    return [item for item in were if item not in fresh]
