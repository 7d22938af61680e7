"""How our points, filters and errors look to Qdrant Edge; nothing else speaks its language."""

from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path

import qdrant_edge as edge

from scrubjay.errors import IndexUnavailable
from scrubjay.model.passage import Point, Vector
from scrubjay.model.query import Filter
from scrubjay.vectors.payload import AT, FACETS, HOME, Between, Condition, conditions_of, payload_of


@contextmanager
def edge_errors(doing: str) -> Generator[None]:
    """Map all that Edge raises: bare `Exception`s, and panics, which Python code cannot name."""
    try:
        yield
    except BaseException as error:
        if not isinstance(error, Exception) and type(error).__name__ != "PanicException":
            raise
        raise IndexUnavailable(
            f"the vector index failed to {doing}", hint="It will be rebuilt from the store", cause=str(error)[:300]
        ) from error


def create_shard(folder: Path, *, dimension: int, links_from: int, exact_up_to: int) -> edge.EdgeShard:
    """An empty shard with indexes on all that a filter may name."""
    # The write-ahead log is off: we replay the change log from the last flush, and our own lock keeps
    # others out. It would cost a third of the disk and half of the insert rate.
    config = edge.EdgeConfig(
        vectors=edge.EdgeVectorParams(
            size=dimension, distance=edge.Distance.Cosine, datatype=edge.VectorStorageDatatype.Turbo8
        ),
        hnsw_config=edge.HnswIndexConfig(
            m=16, ef_construct=100, full_scan_threshold=_kilobytes(exact_up_to, dimension=dimension)
        ),
        optimizers=edge.EdgeOptimizersConfig(
            default_segment_number=1, indexing_threshold=_kilobytes(links_from, dimension=dimension)
        ),
        wal_enabled=False,
    )
    shard = edge.EdgeShard.create(str(folder), config)
    # Links for a payload field make optimising several times slower: only the tenant's pay for themselves.
    for field, schema in (
        (HOME, edge.KeywordIndexParams(is_tenant=True, enable_hnsw=True)),
        (FACETS, edge.KeywordIndexParams(enable_hnsw=False)),
        (AT, edge.IntegerIndexParams(lookup=False, range=True, enable_hnsw=False)),
    ):
        shard.update(edge.UpdateOperation.create_field_index(field, schema))
    return shard


def edge_point(point: Point) -> edge.Point:
    """A point as Edge keeps it."""
    return edge.Point(point.id, point.vector.tolist(), payload_of(point))


def edge_query(vector: Vector, passing: edge.Filter, *, limit: int, ef: int, exact: bool) -> edge.QueryRequest:
    """The nearest points among those that pass."""
    # A filter leaves holes in the graph: ACORN looks past neighbours that do not pass, and a wider
    # search finds what lies behind them.
    filtered = len(passing.must or ()) > 1
    params = edge.SearchParams(
        hnsw_ef=max(limit, 2 * ef if filtered else ef),
        exact=exact,
        acorn=edge.AcornSearchParams(enable=filtered),
    )
    return edge.QueryRequest(limit=limit, query=edge.Query.Nearest(vector.tolist()), filter=passing, params=params)


def edge_filter(space: str, filter: Filter) -> edge.Filter:
    """A filter as Edge understands it."""
    return edge.Filter(must=[_condition(condition) for condition in conditions_of(space, filter)])


def _condition(one: Condition) -> edge.FieldCondition:
    if isinstance(one, Between):
        return edge.FieldCondition(key=one.field, range=edge.RangeFloat(gte=one.since, lt=one.until))
    first, *others = one.texts
    return edge.FieldCondition(
        key=one.field, match=edge.MatchAny(list(one.texts)) if others else edge.MatchValue(first)
    )


def _kilobytes(points: int, *, dimension: int) -> int:
    # Edge counts its thresholds in KB of stored vectors; Turbo8 takes a byte for each number.
    return max(1, points * dimension // 1024)
