"""A vector index on a Qdrant server or cluster, which several of our servers use at the same time.

How far it has come is written in the collection itself, after the points that it is true of. An index without such a
mark, or with the mark of another store, is not whole and answers nothing.
"""

import asyncio
import secrets
from collections.abc import AsyncGenerator, Sequence
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, replace
from typing import Self

from qdrant_client import AsyncQdrantClient, models

from scrubjay.errors import IndexUnavailable
from scrubjay.model.passage import Point, Vector
from scrubjay.model.query import Filter
from scrubjay.vectors.qdrant_address import QdrantPlace
from scrubjay.vectors.qdrant_codec import Mark, Series, mark_of, number_of, qdrant_errors, qdrant_filter
from scrubjay.vectors.qdrant_connection import QdrantConnection, QdrantServerConnection
from scrubjay.vectors.qdrant_layout import ServerTuning, prepare, size_of
from scrubjay.vectors.validate import require_sound

# About fifteen milliseconds of work for the client, who holds everybody up meanwhile.
_PUT_AT_ONCE = 64
_DELETE_AT_ONCE = 2_000
# Nobody waits longer for a recall; who writes can wait.
_READ_SECONDS = 2
_WRITE_SECONDS = 30
_ROOM_FOR_BUILDS = 1 << 52


@dataclass(frozen=True, slots=True, kw_only=True)
class Standing:
    """How far the index has come: None when it is not whole, and `why` not. `wished` when it is to be built anew."""

    cursor: int | None
    wished: bool = False
    why: str = ""
    is_foreign: bool = False


class QdrantIndex:
    """A `VectorIndex` of one store and model in a collection of many."""

    def __init__(
        self, line: QdrantConnection, place: QdrantPlace, *, store_id: str, series: Series, tuning: ServerTuning | None
    ) -> None:
        self._line = line
        self._place = place
        self._store_id = store_id
        self._series = series
        self._tuning = tuning
        self._mark = Mark(store_id=store_id, cursor=0, build=0)
        self._is_whole = False

    @classmethod
    def at(cls, place: QdrantPlace, *, line: QdrantConnection, store_id: str, model: str, dimension: int) -> Self:
        """The index on a server. It may be down, and may come back."""
        series = Series(model=model, dimension=dimension)
        # The stand-in has no indexes and nothing to tune.
        tuning = None if place.is_local else ServerTuning()
        return cls(line, place, store_id=store_id, series=series, tuning=tuning)

    @staticmethod
    def line_to(place: QdrantPlace) -> QdrantConnection:
        """The way there, which several may share."""
        return QdrantServerConnection(place)

    @property
    def cursor(self) -> int:
        """The last change that it has applied, as far as is known here."""
        return self._mark.cursor

    @property
    def name(self) -> str:
        """What `status` calls it."""
        return "qdrant"

    @property
    def title(self) -> str:
        """What tells this index from all others on the server."""
        return f"{self._place.collection}/{self._series.name}"

    @property
    def labels(self) -> dict[str, str]:
        """Where it is, for `status`."""
        return {"url": self._place.shown_url, "collection": self._place.collection, "vector": self._series.name}

    async def look(self, *, closely: bool = False) -> Standing:
        """Read how far it has come; `closely` also looks at how the collection was made."""
        try:
            async with self._asking("tell how far it has come", seconds=_READ_SECONDS) as client:
                ids = [self._series.mark_id, self._series.wish_id]
                results = await client.retrieve(self._place.collection, ids, timeout=_READ_SECONDS)
                fits = not closely or await size_of(client, self._place, self._series) == self._series.dimension
        except IndexUnavailable as error:
            if await self._is_gone(error):
                self._is_whole = False
                return Standing(cursor=None, why="the collection on Qdrant is not there")
            raise
        wished = any(str(item.id) == self._series.wish_id for item in results)
        mark = mark_of(results, self._series)
        why = self._take(mark) if fits else "the vectors on Qdrant are of another size"
        is_foreign = mark is not None and mark.store_id != self._store_id
        return Standing(cursor=None if why else self._mark.cursor, wished=wished, why=why, is_foreign=is_foreign)

    async def begin(self, *, keep: bool) -> None:
        """Start to build it anew. With `keep` the old one goes on answering until it is replaced, point by point."""
        async with self._asking("make room for the index", seconds=4 * _WRITE_SECONDS) as client:
            await prepare(client, self._place, self._series, self._tuning)
        self._mark = replace(self._mark, build=secrets.randbelow(_ROOM_FOR_BUILDS))
        self._is_whole = keep and self._is_whole
        if not keep:
            await self._delete([self._series.mark_id])

    async def finish(self, *, cursor: int) -> None:
        """Remove what the build before has left, and say that the index is whole."""
        async with self._asking("remove what is old", seconds=4 * _WRITE_SECONDS) as client:
            others = models.FilterSelector(filter=self._series.not_of(self._mark.build))
            await client.delete(self._place.collection, others, wait=True, timeout=4 * _WRITE_SECONDS)
        await self._delete([self._series.wish_id])
        self._is_whole = True
        await self._put_mark(cursor)

    async def wish(self) -> None:
        """Have whoever leads build it anew."""
        async with self._asking("take a wish", seconds=_WRITE_SECONDS) as client:
            wish = models.PointStruct(id=self._series.wish_id, vector={}, payload={})
            await client.upsert(self._place.collection, [wish], wait=True, timeout=_WRITE_SECONDS)

    def step_back(self, count: int) -> None:
        """Have the last changes applied once more."""
        self._mark = replace(self._mark, cursor=max(0, self._mark.cursor - count))

    async def apply(self, points: Sequence[Point], stale: Sequence[int], *, cursor: int) -> None:
        """Remove the stale points, put the new ones, and remember the log position they bring it to."""
        for point in points:
            require_sound(point.vector, dimension=self._series.dimension)
        await self._delete([self._series.id_of(number) for number in stale])
        for start in range(0, len(points), _PUT_AT_ONCE):
            slice_ = points[start : start + _PUT_AT_ONCE]
            await self._put([self._series.point(point, build=self._mark.build) for point in slice_])
        # Half an index must not look whole.
        if self._is_whole:
            await self._put_mark(cursor)

    async def search(self, space: str, vector: Vector, filter: Filter, *, limit: int) -> list[tuple[int, float]]:
        """(passage number, cosine), best first; never fewer than pass the filter, up to the limit."""
        require_sound(vector, dimension=self._series.dimension)
        if limit < 1:
            return []
        request = self._series.query(vector, qdrant_filter(space, filter), limit=limit)
        results = await self._query(request, exact=False)
        # A walk through the graph may miss points that a filter leaves lonely; a scan does not.
        if self._tuning and len(results) < limit:
            results = await self._query(request, exact=True)
        return sorted(results, key=lambda hit: (-hit[1], hit[0]))

    async def count(self) -> int:
        """How many points it has, more or less: to count them exactly takes as long as there are many."""
        async with self._asking("count", seconds=_READ_SECONDS) as client:
            answer = await client.count(
                self._place.collection, count_filter=self._series.all_points, exact=False, timeout=_READ_SECONDS
            )
        return answer.count

    async def close(self) -> None:
        """Let go; what was applied is durable already."""
        await self._line.close()

    async def _is_gone(self, error: IndexUnavailable) -> bool:
        """Whether a failure means that there is no collection; the client's stand-in has no other way to say so."""
        if error.fields.get("reason") not in ("missing", "failed"):
            return False
        with suppress(IndexUnavailable):
            async with self._asking("tell of its collections", seconds=_READ_SECONDS) as client:
                return not await client.collection_exists(self._place.collection)
        return False

    async def _query(self, request: models.QueryRequest, *, exact: bool) -> list[tuple[int, float]]:
        if self._tuning and request.filter and request.limit:
            params = self._tuning.params(request.filter, limit=request.limit, exact=exact)
            request = request.model_copy(update={"params": params})
        try:
            async with self._asking("search", seconds=_READ_SECONDS) as client:
                results, marks = await client.query_batch_points(
                    self._place.collection, [request, self._series.mark_query()], timeout=_READ_SECONDS
                )
        except IndexUnavailable as error:
            if await self._is_gone(error):
                raise IndexUnavailable("the collection on Qdrant is not there", reason="missing") from error
            raise
        if why := self._take(mark_of(marks.points, self._series)):
            raise IndexUnavailable(why, hint="It is built by whichever server leads", reason="missing")
        # Vectors in half precision may come out a little nearer than the same.
        return [(number_of(point), max(-1.0, min(1.0, point.score))) for point in results.points]

    def _take(self, mark: Mark | None) -> str:
        """Believe a mark that was read; tells why not."""
        self._is_whole = mark is not None and mark.store_id == self._store_id
        if mark is None:
            return "the vector index on Qdrant is not built yet"
        if not self._is_whole:
            return "the vector index on Qdrant is of another store"
        self._mark = mark
        return ""

    async def _put_mark(self, cursor: int) -> None:
        mark = replace(self._mark, cursor=cursor)
        await self._put([mark.point(self._series)])
        self._mark = mark

    async def _put(self, points: list[models.PointStruct]) -> None:
        async with self._asking("take points", seconds=_WRITE_SECONDS) as client:
            await client.upsert(self._place.collection, points, wait=True, timeout=_WRITE_SECONDS)

    async def _delete(self, ids: Sequence[str]) -> None:
        for start in range(0, len(ids), _DELETE_AT_ONCE):
            gone = models.PointIdsList(points=list(ids[start : start + _DELETE_AT_ONCE]))
            async with self._asking("remove points", seconds=_WRITE_SECONDS) as client:
                await client.delete(self._place.collection, gone, wait=True, timeout=_WRITE_SECONDS)

    @asynccontextmanager
    async def _asking(self, doing: str, *, seconds: float) -> AsyncGenerator[AsyncQdrantClient]:
        with qdrant_errors(doing):
            client = await self._line.client()
            async with asyncio.timeout(seconds):
                yield client
