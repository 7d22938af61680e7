"""A vector index on a Qdrant server or cluster, which several servers use at the same time.

Its progress is a checkpoint in the collection itself, written after the points that it covers. An index without a
checkpoint, or with that of another store, is incomplete and answers no search.
"""

import asyncio
import secrets
from collections.abc import AsyncGenerator, Sequence
from contextlib import asynccontextmanager, suppress
from dataclasses import replace
from typing import Protocol, Self

from qdrant_client import AsyncQdrantClient, models

from scrubjay.errors import IndexUnavailable
from scrubjay.lazy import dataclass
from scrubjay.model.passage import Point, Vector, require_valid_vector
from scrubjay.model.query import Filter
from scrubjay.vectors.qdrant_address import QdrantAddress
from scrubjay.vectors.qdrant_codec import (
    Checkpoint,
    ModelNamespace,
    checkpoint_of,
    number_of,
    qdrant_errors,
    qdrant_filter,
)
from scrubjay.vectors.qdrant_collection import QdrantTuning, prepare_collection, vector_size

# About fifteen milliseconds of work for the client, which blocks the event loop.
_PUT_AT_ONCE = 64
_DELETE_AT_ONCE = 2_000
# A recall does not wait longer; a write can.
_READ_SECONDS = 2
_WRITE_SECONDS = 30
_MAX_BUILD = 1 << 52
# For requests without a limit of their own.
_CLIENT_SECONDS = 30


@dataclass(frozen=True, slots=True, kw_only=True)
class QdrantState:
    """The progress of the index. `cursor` is None if it is incomplete, and `problem` says why."""

    cursor: int | None
    rebuild_requested: bool = False
    problem: str = ""
    is_foreign: bool = False


class QdrantConnection(Protocol):
    """A connection to a server."""

    async def client(self) -> AsyncQdrantClient:
        """Return the client, whether the server answers or not."""
        ...

    async def close(self) -> None:
        """Close the connection."""
        ...


class QdrantIndex:
    """A `VectorIndex` of one store and model, in a collection that other models share."""

    def __init__(
        self,
        connection: QdrantConnection,
        address: QdrantAddress,
        *,
        store_id: str,
        namespace: ModelNamespace,
        tuning: QdrantTuning | None,
    ) -> None:
        self._connection = connection
        self._address = address
        self._store_id = store_id
        self._namespace = namespace
        self._tuning = tuning
        self._checkpoint = Checkpoint(store_id=store_id, cursor=0, build=0)
        self._is_complete = False

    @classmethod
    def at(
        cls, address: QdrantAddress, *, connection: QdrantConnection, store_id: str, model: str, dimension: int
    ) -> Self:
        """Return the index on a server, which may be down."""
        namespace = ModelNamespace(model=model, dimension=dimension)
        # The in-memory mode of the client has no indexes and nothing to tune.
        tuning = None if address.is_local else QdrantTuning()
        return cls(connection, address, store_id=store_id, namespace=namespace, tuning=tuning)

    @staticmethod
    def connect(address: QdrantAddress) -> QdrantConnection:
        """Return a connection that several indexes can share; it opens with the first request."""
        return QdrantServerConnection(address)

    @property
    def cursor(self) -> int:
        """The last change that is applied, as far as this process knows."""
        return self._checkpoint.cursor

    @property
    def name(self) -> str:
        """The kind of the index, for `status`."""
        return "qdrant"

    @property
    def full_name(self) -> str:
        """A name that no other index on the server has."""
        return f"{self._address.collection}/{self._namespace.name}"

    @property
    def labels(self) -> dict[str, str]:
        """The location of the index, for `status`."""
        return {"url": self._address.shown_url, "collection": self._address.collection, "vector": self._namespace.name}

    async def read_state(self, *, check_layout: bool = False) -> QdrantState:
        """Read the progress; `check_layout` also verifies the configuration of the collection."""
        namespace = self._namespace
        try:
            async with self._request("report its progress", seconds=_READ_SECONDS) as client:
                ids = [namespace.checkpoint_id, namespace.rebuild_request_id]
                records = await client.retrieve(self._address.collection, ids, timeout=_READ_SECONDS)
                fits = not check_layout or await vector_size(client, self._address, namespace) == namespace.dimension
        except IndexUnavailable as error:
            if await self._is_gone(error):
                self._is_complete = False
                return QdrantState(cursor=None, problem="the collection on Qdrant does not exist")
            raise
        checkpoint = checkpoint_of(records, namespace)
        problem = self._accept(checkpoint) if fits else "the vectors on Qdrant have another dimension"
        return QdrantState(
            cursor=None if problem else self._checkpoint.cursor,
            rebuild_requested=any(str(record.id) == namespace.rebuild_request_id for record in records),
            problem=problem,
            is_foreign=checkpoint is not None and checkpoint.store_id != self._store_id,
        )

    async def begin_build(self, *, keep: bool) -> None:
        """Start a rebuild. With `keep` the old index serves searches until it is replaced, point by point."""
        async with self._request("prepare the collection", seconds=4 * _WRITE_SECONDS) as client:
            await prepare_collection(client, self._address, self._namespace, self._tuning)
        self._checkpoint = replace(self._checkpoint, build=secrets.randbelow(_MAX_BUILD))
        self._is_complete = keep and self._is_complete
        if not keep:
            await self._delete([self._namespace.checkpoint_id])

    async def finish_build(self, *, cursor: int) -> None:
        """Remove the points of earlier builds, and mark the index as complete."""
        async with self._request("remove old points", seconds=4 * _WRITE_SECONDS) as client:
            others = models.FilterSelector(filter=self._namespace.other_builds(self._checkpoint.build))
            await client.delete(self._address.collection, others, wait=True, timeout=4 * _WRITE_SECONDS)
        await self._delete([self._namespace.rebuild_request_id])
        self._is_complete = True
        await self._put_checkpoint(cursor)

    async def clear(self) -> None:
        """Remove all points of the model, and mark the index as missing."""
        self._is_complete = False
        await self._delete([self._namespace.checkpoint_id, self._namespace.rebuild_request_id])
        async with self._request("remove its points", seconds=4 * _WRITE_SECONDS) as client:
            every = models.FilterSelector(filter=self._namespace.all_points)
            await client.delete(self._address.collection, every, wait=True, timeout=4 * _WRITE_SECONDS)

    async def request_rebuild(self) -> None:
        """Ask the leading server to rebuild the index."""
        async with self._request("store the rebuild request", seconds=_WRITE_SECONDS) as client:
            request = models.PointStruct(id=self._namespace.rebuild_request_id, vector={}, payload={})
            await client.upsert(self._address.collection, [request], wait=True, timeout=_WRITE_SECONDS)

    def rewind(self, count: int) -> None:
        """Move the cursor back, so that the last changes are applied again."""
        self._checkpoint = replace(self._checkpoint, cursor=max(0, self._checkpoint.cursor - count))

    async def apply(self, points: Sequence[Point], stale: Sequence[int], *, cursor: int) -> None:
        """Delete the stale points, add the new ones, and move the cursor."""
        for point in points:
            require_valid_vector(point.vector, dimension=self._namespace.dimension)
        await self._delete([self._namespace.id_of(number) for number in stale])
        for start in range(0, len(points), _PUT_AT_ONCE):
            slice_ = points[start : start + _PUT_AT_ONCE]
            await self._put([self._namespace.point(point, build=self._checkpoint.build) for point in slice_])
        # Half an index must not look complete.
        if self._is_complete:
            await self._put_checkpoint(cursor)

    async def search(self, space: str, vector: Vector, filter: Filter, *, limit: int) -> list[tuple[int, float]]:
        """Return (passage number, cosine), best first; never fewer than pass the filter, up to the limit."""
        require_valid_vector(vector, dimension=self._namespace.dimension)
        if limit < 1:
            return []
        request = self._namespace.query(vector, qdrant_filter(space, filter), limit=limit)
        hits = await self._query(request, exact=False)
        # A graph search may miss points that a filter isolates; a scan does not.
        if self._tuning and len(hits) < limit:
            hits = await self._query(request, exact=True)
        return sorted(hits, key=lambda hit: (-hit[1], hit[0]))

    async def count(self) -> int:
        """Return the approximate number of points: an exact count takes long for many points."""
        async with self._request("count", seconds=_READ_SECONDS) as client:
            result = await client.count(
                self._address.collection, count_filter=self._namespace.all_points, exact=False, timeout=_READ_SECONDS
            )
        return result.count

    async def close(self) -> None:
        """Close the connection; applied changes are durable already."""
        await self._connection.close()

    async def _is_gone(self, error: IndexUnavailable) -> bool:
        """Whether a failure means that the collection is missing; the in-memory mode reports no specific error."""
        if error.fields.get("reason") not in ("missing", "failed"):
            return False
        with suppress(IndexUnavailable):
            async with self._request("list its collections", seconds=_READ_SECONDS) as client:
                return not await client.collection_exists(self._address.collection)
        return False

    async def _query(self, request: models.QueryRequest, *, exact: bool) -> list[tuple[int, float]]:
        if self._tuning and request.filter and request.limit:
            params = self._tuning.params(request.filter, limit=request.limit, exact=exact)
            request = request.model_copy(update={"params": params})
        try:
            async with self._request("search", seconds=_READ_SECONDS) as client:
                nearest, checkpoints = await client.query_batch_points(
                    self._address.collection, [request, self._namespace.checkpoint_query()], timeout=_READ_SECONDS
                )
        except IndexUnavailable as error:
            if await self._is_gone(error):
                raise IndexUnavailable("the collection on Qdrant does not exist", reason="missing") from error
            raise
        if problem := self._accept(checkpoint_of(checkpoints.points, self._namespace)):
            raise IndexUnavailable(problem, hint="The leading server builds it by itself", reason="missing")
        # Half precision may make the cosine of equal vectors exceed 1.
        return [(number_of(point), max(-1.0, min(1.0, point.score))) for point in nearest.points]

    def _accept(self, checkpoint: Checkpoint | None) -> str:
        """Adopt a checkpoint from the server; returns why the index is unusable, if it is."""
        self._is_complete = checkpoint is not None and checkpoint.store_id == self._store_id
        if checkpoint is None:
            return "the vector index on Qdrant is not built yet"
        if not self._is_complete:
            return "the vector index on Qdrant belongs to another store"
        self._checkpoint = checkpoint
        return ""

    async def _put_checkpoint(self, cursor: int) -> None:
        checkpoint = replace(self._checkpoint, cursor=cursor)
        await self._put([checkpoint.point(self._namespace)])
        self._checkpoint = checkpoint

    async def _put(self, points: list[models.PointStruct]) -> None:
        async with self._request("store points", seconds=_WRITE_SECONDS) as client:
            await client.upsert(self._address.collection, points, wait=True, timeout=_WRITE_SECONDS)

    async def _delete(self, ids: Sequence[str]) -> None:
        for start in range(0, len(ids), _DELETE_AT_ONCE):
            selector = models.PointIdsList(points=list(ids[start : start + _DELETE_AT_ONCE]))
            async with self._request("delete points", seconds=_WRITE_SECONDS) as client:
                await client.delete(self._address.collection, selector, wait=True, timeout=_WRITE_SECONDS)

    @asynccontextmanager
    async def _request(self, action: str, *, seconds: float) -> AsyncGenerator[AsyncQdrantClient]:
        with qdrant_errors(action):
            client = await self._connection.client()
            async with asyncio.timeout(seconds):
                yield client


class QdrantServerConnection:
    """A client that is created with the first request, and reconnects by itself."""

    def __init__(self, address: QdrantAddress) -> None:
        self._address = address
        self._client: AsyncQdrantClient | None = None
        self._creating = asyncio.Lock()

    async def client(self) -> AsyncQdrantClient:
        """Return the client. Creating it takes a tenth of a second, for certificates, in a thread."""
        async with self._creating:
            if self._client is None:
                self._client = await asyncio.to_thread(self._create)
            return self._client

    async def close(self) -> None:
        """Close the client; the next request creates another."""
        client, self._client = self._client, None
        if client is not None:
            await client.close()

    def _create(self) -> AsyncQdrantClient:
        if self._address.is_local:
            return AsyncQdrantClient(self._address.url)
        # As a header: the client warns about a key without TLS, which is fine inside one machine.
        headers = {"api-key": self._address.key} if self._address.key else None
        return AsyncQdrantClient(
            url=self._address.url, headers=headers, timeout=_CLIENT_SECONDS, check_compatibility=False
        )
