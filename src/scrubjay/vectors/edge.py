"""A vector index on one shard of Qdrant Edge, the Qdrant engine inside this process.

Every call of the engine holds the interpreter lock, so calls are short and the event loop runs between them. Only
`optimise` takes long: call it in a process of its own.
"""

import asyncio
import json
import os
import shutil
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import asdict, fields, replace
from operator import itemgetter
from pathlib import Path
from typing import ClassVar, Self, cast

import qdrant_edge as edge

from scrubjay.errors import IndexUnavailable
from scrubjay.lazy import dataclass
from scrubjay.model.passage import Point, Vector, require_valid_vector
from scrubjay.model.query import Filter
from scrubjay.vectors.edge_codec import create_shard, edge_errors, edge_filter, edge_point, edge_query, load_shard

Hits = list[tuple[int, float]]

FORMAT = 2
_SHARD = "shard"
_META = "scrubjay.json"
_UNFLUSHED = "unflushed"
# About ten milliseconds of work for the engine.
_SLICE = 100
# Searches that the engine runs at once: other callers wait meanwhile.
_SEARCHED_TOGETHER = 10


@dataclass(frozen=True, slots=True, kw_only=True)
class EdgeTuning:
    """Chosen by measurement at 100,000 points of 384 dimensions."""

    # The width of the graph search: .99 of the hundred nearest real sentences, in 0.6 ms.
    ef: int = 128
    # Up to this many points that pass a filter are scanned: exact, and faster than a graph search around the others.
    exact_up_to: int = 40_000
    # Optimising builds a graph from this many points on; a scan of fewer takes a millisecond.
    links_from: int = 10_000
    flush_every: int = 500
    spare_bytes: int = 64 * 1024 * 1024


_DEFAULT = EdgeTuning()


@dataclass(frozen=True, slots=True, kw_only=True)
class EdgeMeta:
    """The metadata file of an index on disk; `added` counts the points added since it was last optimised."""

    store_id: str
    model: str
    dimension: int
    cursor: int
    points: int = 0
    added: int = 0
    format: int = FORMAT

    def require_match(self, *, store_id: str, model: str, dimension: int) -> None:
        """Raise IndexUnavailable for an index of another store, model, dimension or format."""
        compared = (
            ("format", self.format, FORMAT),
            ("store", self.store_id, store_id),
            ("model", self.model, model),
            ("dimension", self.dimension, dimension),
        )
        for name, actual, expected in compared:
            if actual != expected:
                raise IndexUnavailable(f"the vector index belongs to another {name}", found=actual, wanted=expected)


class EdgeIndex:
    """A `VectorIndex` in a folder that no other process uses."""

    name: ClassVar[str] = "edge"

    def __init__(self, folder: Path, shard: edge.EdgeShard, meta: EdgeMeta, *, tuning: EdgeTuning) -> None:
        self._folder = folder
        self._shard = shard
        self._meta = meta
        self._cursor = meta.cursor
        self._added = meta.added
        self._tuning = tuning
        self._unflushed = 0
        self._is_on_disk = False
        self._has_graph = False
        self.was_interrupted = False

    @classmethod
    def create(
        cls, folder: Path, *, store_id: str, model: str, dimension: int, cursor: int, tuning: EdgeTuning = _DEFAULT
    ) -> Self:
        """Create an empty index; it exists on disk only after its first flush."""
        try:
            folder.mkdir(mode=0o700, parents=True)
        except OSError as error:
            raise IndexUnavailable("the folder of the vector index cannot be created", cause=str(error)) from error
        _require_space(folder, tuning.spare_bytes)
        with edge_errors("create its files"):
            shard = create_shard(
                folder / _SHARD,
                dimension=dimension,
                links_from=tuning.links_from,
                exact_up_to=tuning.exact_up_to,
            )
        meta = EdgeMeta(store_id=store_id, model=model, dimension=dimension, cursor=cursor)
        return cls(folder, shard, meta, tuning=tuning)

    @classmethod
    def load(cls, folder: Path, *, store_id: str, model: str, dimension: int, tuning: EdgeTuning = _DEFAULT) -> Self:
        """Load the index in a folder; raises IndexUnavailable if it is missing, damaged or belongs to another store."""
        meta = _read_meta(folder)
        meta.require_match(store_id=store_id, model=model, dimension=dimension)
        with edge_errors("open"):
            shard = load_shard(folder / _SHARD, dimension=dimension)
            info = shard.info()
        index = cls(folder, shard, meta, tuning=tuning)
        index.was_interrupted = (folder / _UNFLUSHED).exists()
        # The engine opens some damaged files without an error, and their points are lost.
        if info.points_count != meta.points and not index.was_interrupted:
            index.abandon()
            raise IndexUnavailable("the vector index is damaged", points=info.points_count, expected=meta.points)
        index._is_on_disk = True
        index._has_graph = info.indexed_vectors_count > 0
        return index

    @property
    def cursor(self) -> int:
        """The last change that is applied."""
        return self._cursor

    @property
    def points(self) -> int:
        """The number of points."""
        with edge_errors("count"):
            return self._shard.info().points_count

    @property
    def added(self) -> int:
        """The number of points added since the index was last optimised."""
        return self._added

    async def apply(self, points: Sequence[Point], stale: Sequence[int], *, cursor: int) -> None:
        """Delete the stale points, add the new ones, and move the cursor."""
        for point in points:
            require_valid_vector(point.vector, dimension=self._meta.dimension)
        if (points or stale) and self._is_on_disk and not self._unflushed:
            # The shard may now contain more points than its metadata counts.
            with edge_errors("apply changes"):
                (self._folder / _UNFLUSHED).touch()
        for start in range(0, len(stale), _SLICE):
            self._update(edge.UpdateOperation.delete_points(list(stale[start : start + _SLICE])))
            await _pause(start + _SLICE < len(stale))
        for start in range(0, len(points), _SLICE):
            slice_ = points[start : start + _SLICE]
            self._update(edge.UpdateOperation.upsert_points([edge_point(point) for point in slice_]))
            await _pause(start + _SLICE < len(points))
        self._cursor = cursor
        self._added += len(points)
        self._unflushed += len(points) + len(stale)
        if self._is_on_disk and self._unflushed >= self._tuning.flush_every:
            self.flush()

    async def search(self, space: str, vector: Vector, filter: Filter, *, limit: int) -> list[tuple[int, float]]:
        """Return (passage number, cosine), best first; never fewer than pass the filter, up to the limit."""
        require_valid_vector(vector, dimension=self._meta.dimension)
        if limit < 1:
            return []
        passing = edge_filter(space, filter)
        (hits,) = self._query([vector], passing, limit=limit, exact=False)
        return self._complete(hits, vector, passing, limit=limit)

    async def search_many(self, space: str, vectors: Sequence[Vector], filter: Filter, *, limit: int) -> list[Hits]:
        """Return the same for each of several vectors, with fewer calls of the engine."""
        passing = edge_filter(space, filter)
        results: list[Hits] = []
        for start in range(0, len(vectors), _SEARCHED_TOGETHER):
            slice_ = vectors[start : start + _SEARCHED_TOGETHER]
            for vector in slice_:
                require_valid_vector(vector, dimension=self._meta.dimension)
            hits_of = self._query(slice_, passing, limit=limit, exact=False)
            results += [
                self._complete(hits, vector, passing, limit=limit) for hits, vector in zip(hits_of, slice_, strict=True)
            ]
            await _pause(start + _SEARCHED_TOGETHER < len(vectors))
        return results

    def flush(self) -> None:
        """Make the applied changes durable, then the cursor."""
        with edge_errors("flush"):
            self._shard.flush()
            points = self._shard.info().points_count
            _write_meta(self._folder, replace(self._meta, cursor=self._cursor, points=points, added=self._added))
        self._unflushed = 0
        self._is_on_disk = True

    def optimise(self) -> None:
        """Build the graph that makes searches fast; blocks the whole process."""
        with edge_errors("optimise"):
            self._shard.optimize()
            self._has_graph = self._shard.info().indexed_vectors_count > 0
        self._added = 0

    async def close(self) -> None:
        """Make the applied changes durable, and close the shard."""
        try:
            self.flush()
        finally:
            self.abandon()

    def abandon(self) -> None:
        """Close the shard without making anything durable."""
        with suppress(IndexUnavailable), edge_errors("close"):
            self._shard.close()

    def _complete(self, hits: Hits, vector: Vector, passing: edge.Filter, *, limit: int) -> Hits:
        # A graph search may miss points that a filter isolates; a scan does not.
        if self._has_graph and len(hits) < limit and len(hits) < self.points:
            (hits,) = self._query([vector], passing, limit=limit, exact=True)
        # By number, and then by score, each without a call of Python.
        hits.sort(key=itemgetter(0))
        hits.sort(key=itemgetter(1), reverse=True)
        return hits

    def _query(self, vectors: Sequence[Vector], passing: edge.Filter, *, limit: int, exact: bool) -> list[Hits]:
        queries = [edge_query(vector, passing, limit=limit, ef=self._tuning.ef, exact=exact) for vector in vectors]
        with edge_errors("search"):
            # Compression may make the cosine of equal vectors exceed 1. Without a call for each hit.
            return [
                [
                    (
                        number if isinstance(number := hit.id, int) else int(str(number)),
                        score if -1.0 <= (score := hit.score) <= 1.0 else max(-1.0, min(1.0, score)),
                    )
                    for hit in hits
                ]
                for hits in self._shard.query_batch(edge.QueryBatchRequest(queries))
            ]

    def _update(self, operation: edge.UpdateOperation) -> None:
        _require_space(self._folder, self._tuning.spare_bytes)
        with edge_errors("apply changes"):
            self._shard.update(operation)


def _require_space(folder: Path, spare_bytes: int) -> None:
    # The engine writes through memory maps: a full disk causes a bus error, which kills the process.
    try:
        free = shutil.disk_usage(folder).free
    except OSError as error:
        raise IndexUnavailable("the folder of the vector index is gone", cause=str(error)) from error
    if free < spare_bytes:
        raise IndexUnavailable("too little space on the disk for the vector index", free=free, needed=spare_bytes)


async def _pause(more: bool) -> None:
    if more:
        await asyncio.sleep(0)


def _read_meta(folder: Path) -> EdgeMeta:
    try:
        content: object = json.loads((folder / _META).read_bytes())
    except (OSError, ValueError) as error:
        raise IndexUnavailable("there is no complete vector index", folder=str(folder)) from error
    values = cast("dict[str, object]", content) if isinstance(content, dict) else {}
    if any(type(values.get(field.name)) is not field.type for field in fields(EdgeMeta)):
        raise IndexUnavailable("the metadata of the vector index is invalid", folder=str(folder))
    return EdgeMeta(
        store_id=str(values["store_id"]),
        model=str(values["model"]),
        **{name: cast("int", values[name]) for name in ("dimension", "cursor", "points", "added", "format")},
    )


def _write_meta(folder: Path, meta: EdgeMeta) -> None:
    """Replace the metadata atomically and durably, and remove the mark of unflushed changes."""
    draft = folder / f"{_META}.new"
    with draft.open("w", encoding="utf-8") as file:
        json.dump(asdict(meta), file)
        file.flush()
        os.fsync(file.fileno())
    draft.replace(folder / _META)
    (folder / _UNFLUSHED).unlink(missing_ok=True)
