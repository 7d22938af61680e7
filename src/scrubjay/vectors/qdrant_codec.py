"""Translates points, filters, checkpoints and errors to and from a Qdrant server."""

import hashlib
import re
from collections.abc import Generator, Sequence
from contextlib import contextmanager
from dataclasses import field
from typing import cast
from uuid import UUID

from qdrant_client import models
from qdrant_client.common.client_exceptions import QdrantException
from qdrant_client.http.exceptions import ApiException, ResponseHandlingException, UnexpectedResponse

from scrubjay.errors import IndexUnavailable
from scrubjay.lazy import dataclass
from scrubjay.model.passage import Point, Vector
from scrubjay.model.query import Filter
from scrubjay.vectors.payload import Between, Condition, conditions_of, payload_of

BUILD = "build"
_FORMAT = 1
_NUMBERS = 1 << 64
_MAX_NAME = 64


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelNamespace:
    """The points of one model in a collection: they have a vector name and ids of their own."""

    model: str
    dimension: int
    _key: int = field(init=False)

    def __post_init__(self) -> None:
        digest = hashlib.sha256(f"{self.dimension}/{self.model}".encode("utf-8", "replace")).digest()
        object.__setattr__(self, "_key", int.from_bytes(digest[:8]))

    @property
    def name(self) -> str:
        """The name of the vector: readable, and valid on the server."""
        readable = re.sub(r"[^a-z0-9.]+", "-", self.model.lower()).strip("-.")[:_MAX_NAME]
        return f"{readable}-{self.dimension}-{self._key:016x}"

    @property
    def checkpoint_id(self) -> str:
        """The id of the point that holds the checkpoint."""
        return self.id_of(_NUMBERS - 1)

    @property
    def rebuild_request_id(self) -> str:
        """The id of the point that requests a rebuild."""
        return self.id_of(_NUMBERS - 2)

    def id_of(self, number: int) -> str:
        """Return the id of a passage on the server."""
        return str(UUID(int=self._key * _NUMBERS + number))

    def point(self, point: Point, *, build: int) -> models.PointStruct:
        """Return a point as the server stores it."""
        vector = cast("list[float]", point.vector.tolist())
        return models.PointStruct(
            id=self.id_of(point.id), vector={self.name: vector}, payload={**payload_of(point), BUILD: build}
        )

    @property
    def all_points(self) -> models.Filter:
        """All points of this model; the checkpoint and the rebuild request have no vector."""
        return models.Filter(must=[models.HasVectorCondition(has_vector=self.name)])

    def other_builds(self, build: int) -> models.Filter:
        """Return the filter for the points of other builds."""
        of_build = models.FieldCondition(key=BUILD, match=models.MatchValue(value=build))
        return models.Filter(must=[models.HasVectorCondition(has_vector=self.name)], must_not=[of_build])

    def query(self, vector: Vector, filter: models.Filter, *, limit: int) -> models.QueryRequest:
        """Return the request for the nearest points that pass a filter."""
        nearest = cast("list[float]", vector.tolist())
        return models.QueryRequest(query=nearest, using=self.name, filter=filter, limit=limit, with_payload=False)

    def checkpoint_query(self) -> models.QueryRequest:
        """Return the request for the checkpoint, to send along with a search."""
        by_id = models.Filter(must=[models.HasIdCondition(has_id=[self.checkpoint_id])])
        return models.QueryRequest(filter=by_id, limit=1, with_payload=True)


@dataclass(frozen=True, slots=True, kw_only=True)
class Checkpoint:
    """The store and the progress of an index on a server. An index without a checkpoint is incomplete."""

    store_id: str
    cursor: int
    build: int

    def point(self, namespace: ModelNamespace) -> models.PointStruct:
        """Return the checkpoint as a point without a vector, which no search returns."""
        payload: dict[str, str | int] = {
            "format": _FORMAT,
            "store": self.store_id,
            "model": namespace.model,
            "dimension": namespace.dimension,
            "cursor": self.cursor,
            BUILD: self.build,
        }
        return models.PointStruct(id=namespace.checkpoint_id, vector={}, payload=payload)


def checkpoint_of(points: Sequence[models.Record | models.ScoredPoint], namespace: ModelNamespace) -> Checkpoint | None:
    """Return the checkpoint among points, if it is present and has a known format."""
    payload = next((point.payload for point in points if str(point.id) == namespace.checkpoint_id), None) or {}
    cursor, build = payload.get("cursor"), payload.get(BUILD)
    if payload.get("format") != _FORMAT or not isinstance(cursor, int) or not isinstance(build, int):
        return None
    return Checkpoint(store_id=str(payload.get("store")), cursor=cursor, build=build)


def number_of(point: models.ScoredPoint) -> int:
    """Return the number of the passage of a point."""
    return UUID(str(point.id)).int % _NUMBERS


def qdrant_filter(space: str, filter: Filter) -> models.Filter:
    """Return a filter in the types of the server."""
    return models.Filter(must=[_condition(condition) for condition in conditions_of(space, filter)])


@contextmanager
def qdrant_errors(action: str) -> Generator[None]:
    """Map the errors of the client; `reason` is the kind of failure."""
    try:
        yield
    except UnexpectedResponse as error:
        raise _response_error(error, action) from error
    except (ResponseHandlingException, TimeoutError) as error:
        source = error.source if isinstance(error, ResponseHandlingException) else error
        raise IndexUnavailable(
            "Qdrant cannot be reached",
            hint="Check that it runs, and SCRUBJAY_QDRANT_URL; the index catches up by itself",
            reason="unreachable",
            cause=f"{type(source).__name__}: {source}"[:300],
        ) from error
    # In its in-memory mode, and for requests that it refuses to send, the client raises ValueError.
    except (ApiException, QdrantException, ValueError) as error:
        raise IndexUnavailable(f"Qdrant failed to {action}", reason="failed", cause=str(error)[:300]) from error


def _response_error(error: UnexpectedResponse, action: str) -> IndexUnavailable:
    status = error.status_code or 0
    if status in (401, 403):
        return IndexUnavailable(
            "Qdrant rejects the API key",
            hint="Set SCRUBJAY_QDRANT_KEY to a key that may read and write the collection",
            reason="refused",
            status=status,
        )
    if status == 404:  # noqa: PLR2004
        return IndexUnavailable("the collection on Qdrant does not exist", reason="missing", status=status)
    cause = error.content[:300].decode("utf-8", "replace")
    return IndexUnavailable(f"Qdrant failed to {action}", reason="failed", status=status, cause=cause)


def _condition(condition: Condition) -> models.FieldCondition:
    if isinstance(condition, Between):
        return models.FieldCondition(key=condition.field, range=models.Range(gte=condition.since, lt=condition.until))
    first, *others = condition.texts
    match = models.MatchAny(any=list(condition.texts)) if others else models.MatchValue(value=first)
    return models.FieldCondition(key=condition.field, match=match)
