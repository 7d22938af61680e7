"""How our points, filters, marks and errors look to a Qdrant server."""

import hashlib
import re
from collections.abc import Generator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import cast
from uuid import UUID

from qdrant_client import models
from qdrant_client.common.client_exceptions import QdrantException
from qdrant_client.http.exceptions import ApiException, ResponseHandlingException, UnexpectedResponse

from scrubjay.errors import IndexUnavailable
from scrubjay.model.passage import Point, Vector
from scrubjay.model.query import Filter
from scrubjay.vectors.payload import Between, Condition, conditions_of, payload_of

BUILD = "build"
_FORMAT = 1
_NUMBERS = 1 << 64
_LONGEST_NAME = 64


@dataclass(frozen=True, slots=True, kw_only=True)
class Series:
    """The points of one model: they have a vector of their own name, and ids that are no other model's."""

    model: str
    dimension: int
    _key: int = field(init=False)

    def __post_init__(self) -> None:
        digest = hashlib.sha256(f"{self.dimension}/{self.model}".encode("utf-8", "replace")).digest()
        object.__setattr__(self, "_key", int.from_bytes(digest[:8]))

    @property
    def name(self) -> str:
        """The name of the vector: readable, and free of what a server refuses in names."""
        readable = re.sub(r"[^a-z0-9.]+", "-", self.model.lower()).strip("-.")[:_LONGEST_NAME]
        return f"{readable}-{self.dimension}-{self._key:016x}"

    @property
    def mark_id(self) -> str:
        """Where it is written how far this index has come."""
        return self.id_of(_NUMBERS - 1)

    @property
    def wish_id(self) -> str:
        """What somebody leaves who wants the index built anew."""
        return self.id_of(_NUMBERS - 2)

    def id_of(self, number: int) -> str:
        """A passage's number as an id of the server's."""
        return str(UUID(int=self._key * _NUMBERS + number))

    def point(self, point: Point, *, build: int) -> models.PointStruct:
        """A point as the server keeps it."""
        vector = cast("list[float]", point.vector.tolist())
        return models.PointStruct(
            id=self.id_of(point.id), vector={self.name: vector}, payload={**payload_of(point), BUILD: build}
        )

    @property
    def all_points(self) -> models.Filter:
        """All points of this model, and none of the marks, which have no vector."""
        return models.Filter(must=[models.HasVectorCondition(has_vector=self.name)])

    def not_of(self, build: int) -> models.Filter:
        """The points that were left by other builds."""
        of_build = models.FieldCondition(key=BUILD, match=models.MatchValue(value=build))
        return models.Filter(must=[models.HasVectorCondition(has_vector=self.name)], must_not=[of_build])

    def query(self, vector: Vector, passing: models.Filter, *, limit: int) -> models.QueryRequest:
        """The nearest points among those that pass."""
        nearest = cast("list[float]", vector.tolist())
        return models.QueryRequest(query=nearest, using=self.name, filter=passing, limit=limit, with_payload=False)

    def mark_query(self) -> models.QueryRequest:
        """The mark, asked for along with something else."""
        its_own = models.Filter(must=[models.HasIdCondition(has_id=[self.mark_id])])
        return models.QueryRequest(filter=its_own, limit=1, with_payload=True)


@dataclass(frozen=True, slots=True, kw_only=True)
class Mark:
    """What an index on a server says of itself. Without one it is not whole."""

    store_id: str
    cursor: int
    build: int

    def point(self, series: Series) -> models.PointStruct:
        """The mark as a point without a vector, which no search finds."""
        payload: dict[str, str | int] = {
            "format": _FORMAT,
            "store": self.store_id,
            "model": series.model,
            "dimension": series.dimension,
            "cursor": self.cursor,
            BUILD: self.build,
        }
        return models.PointStruct(id=series.mark_id, vector={}, payload=payload)


def mark_of(found: Sequence[models.Record | models.ScoredPoint], series: Series) -> Mark | None:
    """The mark among some points, if it is there and one of ours."""
    payload = next((item.payload for item in found if str(item.id) == series.mark_id), None) or {}
    cursor, build = payload.get("cursor"), payload.get(BUILD)
    if payload.get("format") != _FORMAT or not isinstance(cursor, int) or not isinstance(build, int):
        return None
    return Mark(store_id=str(payload.get("store")), cursor=cursor, build=build)


def number_of(found: models.ScoredPoint) -> int:
    """The passage's number of a point."""
    return UUID(str(found.id)).int % _NUMBERS


def qdrant_filter(space: str, filter: Filter) -> models.Filter:
    """A filter as the server understands it."""
    return models.Filter(must=[_condition(condition) for condition in conditions_of(space, filter)])


@contextmanager
def qdrant_errors(doing: str) -> Generator[None]:
    """Map all that the client raises; `reason` tells what kind of failure it is."""
    try:
        yield
    except UnexpectedResponse as error:
        raise _refusal(error, doing) from error
    except (ResponseHandlingException, TimeoutError) as error:
        source = error.source if isinstance(error, ResponseHandlingException) else error
        raise IndexUnavailable(
            "Qdrant cannot be reached",
            hint="Check that it runs, and SCRUBJAY_QDRANT_URL; the index catches up by itself",
            reason="unreachable",
            cause=f"{type(source).__name__}: {source}"[:300],
        ) from error
    # Without a server, and for what it would not even send, the client raises ValueError.
    except (ApiException, QdrantException, ValueError) as error:
        raise IndexUnavailable(f"Qdrant failed to {doing}", reason="failed", cause=str(error)[:300]) from error


def _refusal(error: UnexpectedResponse, doing: str) -> IndexUnavailable:
    status = error.status_code or 0
    if status in (401, 403):
        return IndexUnavailable(
            "Qdrant refuses our key",
            hint="Set SCRUBJAY_QDRANT_KEY to one that may read and write the collection",
            reason="refused",
            status=status,
        )
    if status == 404:  # noqa: PLR2004
        return IndexUnavailable("the collection on Qdrant is not there", reason="missing", status=status)
    cause = error.content[:300].decode("utf-8", "replace")
    return IndexUnavailable(f"Qdrant failed to {doing}", reason="failed", status=status, cause=cause)


def _condition(one: Condition) -> models.FieldCondition:
    if isinstance(one, Between):
        return models.FieldCondition(key=one.field, range=models.Range(gte=one.since, lt=one.until))
    first, *others = one.texts
    match = models.MatchAny(any=list(one.texts)) if others else models.MatchValue(value=first)
    return models.FieldCondition(key=one.field, match=match)
