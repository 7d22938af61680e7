"""Translates points, filters and errors to and from Qdrant Edge."""

from array import array
from collections.abc import Generator
from contextlib import contextmanager
from functools import lru_cache
from hashlib import blake2b
from pathlib import Path
from typing import cast

import qdrant_edge as edge

from scrubjay.errors import IndexUnavailable
from scrubjay.model.passage import Point, Vector
from scrubjay.model.query import Filter
from scrubjay.vectors.payload import AT, FACETS, TENANT, Between, Condition, conditions_of, payload_of

_ALL = Filter()
# The engine searches an index in one pass: waking up its other threads takes as much CPU time as a thousand points.
_SEARCH_THREADS = 1


@contextmanager
def edge_errors(action: str) -> Generator[None]:
    """Map the errors of Edge: bare `Exception`s, and panics, whose class is not importable."""
    try:
        yield
    except BaseException as error:
        if not isinstance(error, Exception) and type(error).__name__ != "PanicException":
            raise
        raise IndexUnavailable(
            f"the vector index failed to {action}",
            hint="It is rebuilt from the store",
            cause=str(error)[:300],
        ) from error


def create_shard(folder: Path, *, dimension: int, links_from: int, exact_up_to: int) -> edge.EdgeShard:
    """Create an empty shard with indexes on all fields of filters."""
    # Without the write-ahead log, which would cost a third of the disk and half of the insert rate: the change log
    # is replayed from the last flush.
    config = edge.EdgeConfig(
        vectors=_vectors(dimension),
        hnsw_config=edge.HnswIndexConfig(
            m=16, ef_construct=100, full_scan_threshold=_kilobytes(exact_up_to, dimension=dimension)
        ),
        optimizers=edge.EdgeOptimizersConfig(
            default_segment_number=1, indexing_threshold=_kilobytes(links_from, dimension=dimension)
        ),
        max_search_threads=_SEARCH_THREADS,
        wal_enabled=False,
    )
    shard = edge.EdgeShard.create(str(folder), config)
    # Graph links for a payload field make optimising several times slower: only those of the tenant are worth it.
    for field, schema in (
        (TENANT, edge.KeywordIndexParams(is_tenant=True, enable_hnsw=True)),
        (FACETS, edge.IntegerIndexParams(lookup=True, range=False, enable_hnsw=False)),
        (AT, edge.IntegerIndexParams(lookup=False, range=True, enable_hnsw=False)),
    ):
        shard.update(edge.UpdateOperation.create_field_index(field, schema))
    return shard


def load_shard(folder: Path, *, dimension: int) -> edge.EdgeShard:
    """Open a shard; what is not named here stays as it was created."""
    config = edge.EdgeConfig(vectors=_vectors(dimension), max_search_threads=_SEARCH_THREADS, wal_enabled=False)
    return edge.EdgeShard.load(str(folder), config)


def edge_point(point: Point) -> edge.Point:
    """Return a point as Edge stores it."""
    payload = payload_of(point)
    numbers = [facet_number(text) for text in cast("list[str]", payload[FACETS])]
    return edge.Point(point.id, _floats(point.vector), {**payload, FACETS: numbers})


def edge_query(vector: Vector, filter: edge.Filter, *, limit: int, ef: int, exact: bool) -> edge.QueryRequest:
    """Return the request for the nearest points that pass a filter."""
    # A filter makes holes in the graph: ACORN and a wider search look past neighbours that do not pass.
    filtered = len(filter.must or ()) > 1
    params = edge.SearchParams(
        hnsw_ef=max(limit, 2 * ef if filtered else ef),
        exact=exact,
        acorn=edge.AcornSearchParams(enable=filtered),
    )
    return edge.QueryRequest(limit=limit, query=edge.Query.Nearest(_floats(vector)), filter=filter, params=params)


def edge_filter(space: str, filter: Filter) -> edge.Filter:
    """Return a filter in the types of Edge."""
    return _whole_space(space) if filter == _ALL else _filter(space, filter)


# Every write searches its whole space.
@lru_cache(maxsize=256)
def _whole_space(space: str) -> edge.Filter:
    return _filter(space, _ALL)


def _filter(space: str, filter: Filter) -> edge.Filter:
    return edge.Filter(must=[_condition(condition) for condition in conditions_of(space, filter)])


def _condition(condition: Condition) -> edge.FieldCondition:
    if isinstance(condition, Between):
        return edge.FieldCondition(key=condition.field, range=edge.RangeFloat(gte=condition.since, lt=condition.until))
    is_number = condition.field == FACETS
    first, *others = values = [facet_number(text) if is_number else text for text in condition.texts]
    # Its list is of texts or of numbers, and this one is too.
    match = edge.MatchAny(cast("list[str]", values)) if others else edge.MatchValue(first)
    return edge.FieldCondition(key=condition.field, match=match)


# Most points have the facets of others.
@lru_cache(maxsize=8_192)
def facet_number(facet: str) -> int:
    """Return a facet as a number, which the engine takes in for a third of what a text costs, and tests faster.

    That any two of a million facets have the same number has a chance of one in ten millions.
    """
    return int.from_bytes(blake2b(facet.encode(), digest_size=8).digest()) >> 1


def _floats(vector: Vector) -> list[float]:
    """Return a vector as the engine reads it fastest: without an object of Python for each number beforehand."""
    return cast("list[float]", array("f", vector.tobytes()))


def _vectors(dimension: int) -> edge.EdgeVectorParams:
    return edge.EdgeVectorParams(
        size=dimension, distance=edge.Distance.Cosine, datatype=edge.VectorStorageDatatype.Turbo8
    )  # fmt: skip


def _kilobytes(points: int, *, dimension: int) -> int:
    # Thresholds of Edge are in KB of stored vectors; Turbo8 takes a byte for each dimension.
    return max(1, points * dimension // 1024)
