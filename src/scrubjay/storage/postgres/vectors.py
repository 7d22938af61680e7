"""The stored vectors: half precision, one for each distinct text of a space."""

import json
from collections.abc import Sequence
from functools import lru_cache

import numpy as np

from scrubjay.model.passage import Point, Vector
from scrubjay.model.query import facet
from scrubjay.storage.postgres.database import Database
from scrubjay.storage.postgres.query import Ask, Row, Rows, Work
from scrubjay.storage.postgres.sql_files import named_statements
from scrubjay.storage.rows import STATES

# The binary form of a vector: two numbers of two bytes, then each component, big-endian.
_HEAD = 4
_SENT = np.dtype(">f2")
# This query reads every passage of the store, and runs in the background.
_SURVEY_SECONDS = 1800
_SQL = named_statements("queries/vectors")


async def vectors(database: Database, space: str, model: str, hashes: Sequence[bytes]) -> dict[bytes, Vector]:
    """Return the vectors of texts, by hash."""
    rows = await database.rows(
        "SELECT * FROM scrubjay.get_vectors(%s, %s::bytea[])", model, list(dict.fromkeys(hashes)), space=space,
    )  # fmt: skip
    return _by_hash(rows)


async def stored_vectors(
    database: Database, space: str, model: str, *, after: bytes, limit: int
) -> dict[bytes, Vector]:
    """Return a page of the vectors of a space, by hash."""
    return _by_hash(await database.rows(_SQL["page"], after, model, limit, space=space))


async def embedded_among(database: Database, space: str, model: str, hashes: Sequence[bytes]) -> set[bytes]:
    """Return the hashes of those texts that have a vector."""
    statement = "SELECT scrubjay.embedded_hashes(%s, %s::bytea[])"
    return {bytes(digest) for (digest,) in await database.rows(statement, model, list(hashes), space=space)}


async def without_vectors(database: Database, model: str, *, limit: int) -> list[tuple[str, str]]:
    """Return (space, id) of memories with a passage that the model has not embedded."""
    query = Ask(_SQL["memories_without_vectors"], (model, limit))
    (rows,) = await database.read(query, keeper=True, seconds=_SURVEY_SECONDS)
    return [(str(space), str(memory_id)) for space, memory_id in rows]


async def points(database: Database, model: str, *, after: int, limit: int) -> list[Point]:
    """Return a page of the embedded passages of all spaces, by number."""

    async def job(work: Work) -> Rows:
        return await work.rows(_SQL["points"], model, after, limit)

    return _points(await database.write(job, keeper=True))


async def points_of(database: Database, model: str, numbers: Sequence[int]) -> list[Point]:
    """Return the embedded passages of memories."""
    if not numbers:
        return []
    statement = "SELECT * FROM scrubjay.points_of_memories(%s, %s::bigint[])"
    return _points(await database.rows(statement, model, list(numbers), keeper=True))


async def point_count(database: Database, model: str) -> int:
    """Return the number of points in an index of the model."""
    rows = await database.rows(_SQL["count_points"], model, keeper=True)
    return int(rows[0][0])


def _by_hash(rows: Sequence[Row]) -> dict[bytes, Vector]:
    if not rows:
        return {}
    matrix = _matrix([bytes(data) for _, data in rows])
    return {bytes(digest): vector for (digest, _), vector in zip(rows, matrix, strict=True)}


def _points(rows: Sequence[Row]) -> list[Point]:
    return [
        Point(id=number, space=space, vector=_matrix([bytes(data)])[0], facets=_labels(facets, state), at=date)
        for number, date, space, facets, state, data in rows
    ]


def _matrix(sent: Sequence[bytes]) -> Vector:
    joined = b"".join(data[_HEAD:] for data in sent)
    return np.frombuffer(joined, dtype=_SENT).astype(np.float32).reshape(len(sent), -1)


@lru_cache(maxsize=1000)
def _labels(facets: str, state: int) -> tuple[str, ...]:
    return (*json.loads(facets), facet("state", STATES[state]))
