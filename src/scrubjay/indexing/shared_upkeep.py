"""What the server that leads does: bring the shared index to where the log is, whatever that takes."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from scrubjay import telemetry
from scrubjay.errors import IndexUnavailable
from scrubjay.indexing.follower import Follower
from scrubjay.indexing.protocol import Source
from scrubjay.indexing.shared_protocol import RemoteIndex
from scrubjay.model.passage import Point, Vector
from scrubjay.model.query import Filter
from scrubjay.ports import Profile
from scrubjay.ports.cluster import settled_position

_PAGE = 1_000


@dataclass(frozen=True, slots=True, kw_only=True)
class SharedPolicy:
    """When to look, how long to rest, and how much is searched without the index."""

    # The log is read at least so often, in case nobody rings.
    poll: float = 2.0
    first_nap: float = 0.5
    longest_nap: float = 30.0
    # What a server does that has lost the lead a moment ago may come after what the next has done.
    overlap: int = 500
    longest_tail: int = 2_000
    # From this many changes on it is worth asking whether the index has applied them meanwhile.
    refresh_from: int = 20
    # A search waits for an index of so few points to be built.
    await_up_to: int = 2_000
    first_rest: float = 1.0
    longest_rest: float = 5.0


class Upkeep:
    """One term of leadership. Nothing is taken for granted that was so in an earlier one."""

    def __init__(self, store: Source, index: RemoteIndex, profile: Profile, *, policy: SharedPolicy) -> None:
        self._store = store
        self._index = index
        self._model = profile.model
        self._policy = policy
        self._follower = Follower(store, _Tolerant(index, dimension=profile.dimension), profile.model)
        self._sound = _Tolerant(index, dimension=profile.dimension)
        self._left_at: int | None = None
        self._has_built = False
        self.is_building = False

    async def round(self) -> None:
        """Build what is not there, and apply what is new. Raises IndexUnavailable, or what the store raises."""
        current = await self._index.look(closely=self._left_at is None)
        newest = await self._store.last_seq()
        if current.is_foreign and self._has_built:
            raise IndexUnavailable(
                "another store uses the same collection on Qdrant",
                hint="Give each store a collection of its own: SCRUBJAY_QDRANT_COLLECTION",
            )
        if current.cursor is None or current.cursor > newest:
            await self._build(keep=False)
        elif current.wished:
            await self._build(keep=True)
        elif current.cursor != self._left_at:
            self._index.step_back(self._policy.overlap)
        await self._follower.catch_up()
        self._left_at = self._index.cursor

    async def _build(self, *, keep: bool) -> None:
        self.is_building, self._left_at = True, None
        try:
            with telemetry.stage("index.build"):
                # What is committed while we read has a later number, and is followed from here.
                # No more than the newest, though: numbers may have been taken that nothing came of.
                start = min(await settled_position(self._store), await self._store.last_seq())
                await self._index.begin(keep=keep)
                after = -1
                while page := await self._store.points(self._model, after=after, limit=_PAGE):
                    await self._sound.apply(page, [], cursor=self._index.cursor)
                    after = page[-1].id
                    if keep:
                        # The old index goes on answering, and must not fall behind.
                        await self._follower.catch_up()
                await self._index.finish(cursor=self._index.cursor if keep else start)
                self._has_built = True
        finally:
            self.is_building = False


class _Tolerant:
    """An index that leaves out what it would refuse: one unusable vector must not keep all others from being found."""

    def __init__(self, index: RemoteIndex, *, dimension: int) -> None:
        self._index = index
        self._dimension = dimension

    @property
    def cursor(self) -> int:
        return self._index.cursor

    async def apply(self, points: Sequence[Point], stale: Sequence[int], *, cursor: int) -> None:
        sound = [
            point for point in points if point.vector.shape == (self._dimension,) and np.isfinite(point.vector).all()
        ]
        await self._index.apply(sound, stale, cursor=cursor)

    async def search(self, space: str, vector: Vector, filter: Filter, *, limit: int) -> list[tuple[int, float]]:
        return await self._index.search(space, vector, filter, limit=limit)

    async def close(self) -> None:
        await self._index.close()
