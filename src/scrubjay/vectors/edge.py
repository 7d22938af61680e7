"""A vector index on one shard of Qdrant Edge: Qdrant's engine inside our process.

Every call of the engine holds the interpreter's lock, so calls are kept short and follow each other
with a pause for the event loop. Only `optimise` takes long: it is for a process that does nothing else.
"""

import asyncio
import shutil
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import ClassVar, Self

import qdrant_edge as edge

from scrubjay.errors import IndexUnavailable
from scrubjay.model.passage import Point, Vector
from scrubjay.model.query import Filter
from scrubjay.vectors.edge_codec import create_shard, edge_errors, edge_filter, edge_point, edge_query
from scrubjay.vectors.meta import Meta, is_unflushed, mark_unflushed, read_meta, write_meta
from scrubjay.vectors.validate import require_sound

_SHARD = "shard"
# About ten milliseconds of the engine's time.
_SLICE = 100


@dataclass(frozen=True, slots=True, kw_only=True)
class Tuning:
    """Chosen by measurement at 100,000 points of 384 numbers."""

    # How wide the graph is searched: .99 of the hundred nearest real sentences, in 0.6 ms.
    ef: int = 128
    # Points that pass a filter are scanned up to this many: exact, and faster than a walk around the others.
    exact_up_to: int = 40_000
    # Optimising builds a graph from this many points on; fewer are scanned in a millisecond.
    links_from: int = 10_000
    flush_every: int = 500
    spare_bytes: int = 64 * 1024 * 1024


_DEFAULT = Tuning()


class EdgeIndex:
    """A `VectorIndex` in a folder of its own, which this process must be the only one to hold."""

    name: ClassVar[str] = "edge"

    def __init__(self, folder: Path, shard: edge.EdgeShard, meta: Meta, *, tuning: Tuning) -> None:
        self._folder = folder
        self._shard = shard
        self._meta = meta
        self._tuning = tuning
        self._unflushed = 0
        self._whole_on_disk = False
        self._has_graph = False
        self.was_cut_off = False

    @classmethod
    def create(
        cls, folder: Path, *, store_id: str, model: str, dimension: int, cursor: int, tuning: Tuning = _DEFAULT
    ) -> Self:
        """An empty index; until its first flush, nothing on disk counts."""
        try:
            folder.mkdir(parents=True)
        except OSError as error:
            raise IndexUnavailable("the folder of the vector index cannot be made", cause=str(error)) from error
        _require_room(folder, tuning.spare_bytes)
        with edge_errors("begin"):
            shard = create_shard(
                folder / _SHARD,
                dimension=dimension,
                links_from=tuning.links_from,
                exact_up_to=tuning.exact_up_to,
            )
        meta = Meta(store_id=store_id, model=model, dimension=dimension, cursor=cursor)
        return cls(folder, shard, meta, tuning=tuning)

    @classmethod
    def load(cls, folder: Path, *, store_id: str, model: str, dimension: int, tuning: Tuning = _DEFAULT) -> Self:
        """The index in a folder; raises IndexUnavailable when it is missing, damaged or of something else."""
        meta = read_meta(folder)
        meta.require_fit(store_id=store_id, model=model, dimension=dimension)
        with edge_errors("open"):
            shard = edge.EdgeShard.load(str(folder / _SHARD))
            info = shard.info()
        index = cls(folder, shard, meta, tuning=tuning)
        index.was_cut_off = is_unflushed(folder)
        # The engine opens some damaged files without a word and has lost what was in them.
        if info.points_count != meta.points and not index.was_cut_off:
            index.abandon()
            raise IndexUnavailable("the vector index is damaged", points=info.points_count, expected=meta.points)
        index._whole_on_disk = True
        index._has_graph = info.indexed_vectors_count > 0
        return index

    @property
    def cursor(self) -> int:
        """The last change it has applied."""
        return self._meta.cursor

    @property
    def points(self) -> int:
        """How many points it holds."""
        with edge_errors("count"):
            return self._shard.info().points_count

    @property
    def added(self) -> int:
        """How many points were put since it was last optimised."""
        return self._meta.added

    async def apply(self, points: Sequence[Point], stale: Sequence[int], *, cursor: int) -> None:
        """Remove the stale points, put the new ones, and remember the log position they bring it to."""
        for point in points:
            require_sound(point.vector, dimension=self._meta.dimension)
        if points or stale:
            self._note_change()
        for start in range(0, len(stale), _SLICE):
            self._update(edge.UpdateOperation.delete_points(list(stale[start : start + _SLICE])))
            await _pause(start + _SLICE < len(stale))
        for start in range(0, len(points), _SLICE):
            slice_ = points[start : start + _SLICE]
            self._update(edge.UpdateOperation.upsert_points([edge_point(point) for point in slice_]))
            await _pause(start + _SLICE < len(points))
        self._meta = replace(self._meta, cursor=cursor, added=self._meta.added + len(points))
        self._unflushed += len(points) + len(stale)
        if self._whole_on_disk and self._unflushed >= self._tuning.flush_every:
            self.flush()

    async def search(self, space: str, vector: Vector, filter: Filter, *, limit: int) -> list[tuple[int, float]]:
        """(passage number, cosine), best first; never fewer than pass the filter, up to the limit."""
        require_sound(vector, dimension=self._meta.dimension)
        if limit < 1:
            return []
        passing = edge_filter(space, filter)
        results = self._query(vector, passing, limit=limit, exact=False)
        # A walk through the graph may miss points that a filter leaves lonely; a scan does not.
        if self._has_graph and len(results) < min(limit, self.points):
            results = self._query(vector, passing, limit=limit, exact=True)
        return sorted(results, key=lambda hit: (-hit[1], hit[0]))

    def flush(self) -> None:
        """Make durable what was applied, then the cursor that says so."""
        with edge_errors("flush"):
            self._shard.flush()
            write_meta(self._folder, replace(self._meta, points=self._shard.info().points_count))
        self._unflushed = 0
        self._whole_on_disk = True

    def optimise(self) -> None:
        """Build the graph that makes searching fast. Stops the whole process until it is done."""
        with edge_errors("optimise"):
            self._shard.optimize()
            self._has_graph = self._shard.info().indexed_vectors_count > 0
        self._meta = replace(self._meta, added=0)

    async def close(self) -> None:
        """Make what was applied durable and let go."""
        try:
            self.flush()
        finally:
            self.abandon()

    def abandon(self) -> None:
        """Let go without making anything durable."""
        with suppress(IndexUnavailable), edge_errors("close"):
            self._shard.close()

    def _query(self, vector: Vector, passing: edge.Filter, *, limit: int, exact: bool) -> list[tuple[int, float]]:
        request = edge_query(vector, passing, limit=limit, ef=self._tuning.ef, exact=exact)
        with edge_errors("search"):
            # Compressed vectors may come out a little nearer than the same.
            return [(int(str(hit.id)), max(-1.0, min(1.0, hit.score))) for hit in self._shard.query(request)]

    def _update(self, operation: edge.UpdateOperation) -> None:
        _require_room(self._folder, self._tuning.spare_bytes)
        with edge_errors("take changes"):
            self._shard.update(operation)

    def _note_change(self) -> None:
        if self._whole_on_disk and not self._unflushed:
            with edge_errors("take changes"):
                mark_unflushed(self._folder)


def _require_room(folder: Path, spare_bytes: int) -> None:
    # The engine writes through memory maps: on a full disk that is a bus error, which ends the process.
    try:
        free = shutil.disk_usage(folder).free
    except OSError as error:
        raise IndexUnavailable("the folder of the vector index is gone", cause=str(error)) from error
    if free < spare_bytes:
        raise IndexUnavailable("too little room on the disk for the vector index", free=free, needed=spare_bytes)


async def _pause(more: bool) -> None:
    if more:
        await asyncio.sleep(0)
