"""The work of the leading server: bring the shared index to the end of the change log, or rebuild it."""

from collections.abc import Sequence

from scrubjay import telemetry
from scrubjay.errors import IndexUnavailable
from scrubjay.indexing.follower import Follower
from scrubjay.indexing.protocol import IndexSource, RemoteIndex
from scrubjay.lazy import dataclass
from scrubjay.model.passage import Point, Vector, is_valid_vector
from scrubjay.model.query import Filter
from scrubjay.ports import Profile
from scrubjay.ports.cluster import settled_position

_PAGE = 1_000


@dataclass(frozen=True, slots=True, kw_only=True)
class SharedIndexPolicy:
    """When to check the log, how long to pause, and how much to search without the index. Times are in seconds."""

    # The log is read at least this often, in case a notification is lost.
    poll: float = 2.0
    # The pause of the leader after a failure; it doubles with each further failure.
    first_retry: float = 0.5
    max_retry: float = 30.0
    # Writes of a former leader may arrive after those of the next one: this many changes are applied again.
    overlap: int = 500
    # This many changes are searched in the log while the index has not applied them.
    max_unapplied: int = 2_000
    # From this many changes on, ask whether the index has applied them meanwhile.
    refresh_from: int = 20
    # A search waits for the build of an index of up to this many points.
    await_up_to: int = 2_000
    # The time without searches after a failure; it doubles with each further failure.
    first_pause: float = 1.0
    max_pause: float = 5.0


class SharedIndexUpdater:
    """Updates the index during one term of leadership; it assumes nothing about earlier terms."""

    def __init__(self, store: IndexSource, index: RemoteIndex, profile: Profile, *, policy: SharedIndexPolicy) -> None:
        self._store = store
        self._index = index
        self._model = profile.model
        self._policy = policy
        self._tolerant = _TolerantIndex(index, dimension=profile.dimension)
        self._follower = Follower(store, self._tolerant, profile.model)
        self._last_cursor: int | None = None
        self._has_built = False
        self.is_building = False

    async def update(self) -> None:
        """Build a missing index, and apply new changes. Raises IndexUnavailable, or the errors of the store."""
        current = await self._index.read_state(check_layout=self._last_cursor is None)
        newest = await self._store.last_seq()
        if current.is_foreign and self._has_built:
            raise IndexUnavailable(
                "another store uses the same collection on Qdrant",
                hint="Give each store a collection of its own: SCRUBJAY_QDRANT_COLLECTION",
            )
        if current.cursor is None or current.cursor > newest:
            await self._build(keep=False)
        elif current.rebuild_requested:
            await self._build(keep=True)
        elif current.cursor != self._last_cursor:
            self._index.rewind(self._policy.overlap)
        await self._follower.catch_up()
        self._last_cursor = self._index.cursor

    async def _build(self, *, keep: bool) -> None:
        self.is_building, self._last_cursor = True, None
        try:
            with telemetry.stage("index.build"):
                # Changes that are committed meanwhile have higher numbers, and are followed from here. The settled
                # position may exceed the newest change, because numbers of failed transactions stay unused.
                start = min(await settled_position(self._store), await self._store.last_seq())
                await self._index.begin_build(keep=keep)
                after = -1
                while page := await self._store.points(self._model, after=after, limit=_PAGE):
                    await self._tolerant.apply(page, [], cursor=self._index.cursor)
                    after = page[-1].id
                    if keep:
                        # The old index still serves searches, and must not fall behind.
                        await self._follower.catch_up()
                await self._index.finish_build(cursor=self._index.cursor if keep else start)
                self._has_built = True
        finally:
            self.is_building = False


class _TolerantIndex:
    """Leaves out invalid vectors, so that one of them does not block the whole index."""

    def __init__(self, index: RemoteIndex, *, dimension: int) -> None:
        self._index = index
        self._dimension = dimension

    @property
    def cursor(self) -> int:
        return self._index.cursor

    async def apply(self, points: Sequence[Point], stale: Sequence[int], *, cursor: int) -> None:
        valid = [point for point in points if is_valid_vector(point.vector, dimension=self._dimension)]
        await self._index.apply(valid, stale, cursor=cursor)

    async def search(self, space: str, vector: Vector, filter: Filter, *, limit: int) -> list[tuple[int, float]]:
        return await self._index.search(space, vector, filter, limit=limit)

    async def close(self) -> None:
        await self._index.close()
