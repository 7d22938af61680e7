"""How our points, filters and errors look to Qdrant Edge; nothing else speaks its language."""

from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path

import qdrant_edge as edge

from scrubjay.errors import IndexUnavailable
from scrubjay.model.moment import to_micros
from scrubjay.model.passage import Point, Vector
from scrubjay.model.query import Facet, Filter, facet

_STATE = facet("state", "")


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
        ("home", edge.KeywordIndexParams(is_tenant=True, enable_hnsw=True)),
        ("facets", edge.KeywordIndexParams(enable_hnsw=False)),
        ("at", edge.IntegerIndexParams(lookup=False, range=True, enable_hnsw=False)),
    ):
        shard.update(edge.UpdateOperation.create_field_index(field, schema))
    return shard


def edge_point(point: Point) -> edge.Point:
    """A point as Edge keeps it. Space and state are one field: every search asks for both."""
    state = next((one for one in point.facets if one.startswith(_STATE)), _STATE)
    return edge.Point(
        point.id,
        point.vector.tolist(),
        {
            "home": _home(point.space, state),
            "facets": [_text(one) for one in point.facets if one != state],
            "at": point.at,
        },
    )


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


def edge_filter(space: str, wanted: Filter) -> edge.Filter:
    """A filter as Edge understands it."""
    must: list[edge.ConditionType] = [
        edge.FieldCondition(key="home", match=edge.MatchValue(_home(space, facet("state", wanted.state))))
    ]
    must += [
        edge.FieldCondition(
            key="facets",
            match=edge.MatchValue(_text(group[0])) if len(group) == 1 else edge.MatchAny([_text(one) for one in group]),
        )
        for group in wanted.facet_groups
    ]
    if wanted.since is not None or wanted.until is not None:
        since = None if wanted.since is None else float(to_micros(wanted.since))
        until = None if wanted.until is None else float(to_micros(wanted.until))
        must.append(edge.FieldCondition(key="at", range=edge.RangeFloat(gte=since, lt=until)))
    return edge.Filter(must=must)


def _home(space: str, state: Facet) -> str:
    return _text(f"{state}/{space}")


def _text(text: str) -> str:
    # Edge refuses half of a surrogate pair, which a Python string can hold.
    return text if text.isascii() else text.encode("utf-8", "replace").decode("utf-8")


def _kilobytes(points: int, *, dimension: int) -> int:
    # Edge counts its thresholds in KB of stored vectors; Turbo8 takes a byte for each number.
    return max(1, points * dimension // 1024)
