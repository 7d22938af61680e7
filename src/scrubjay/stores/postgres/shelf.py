"""The stored vectors: half precision, one for each text of a space, whatever shares it."""

import json
from collections.abc import Sequence
from functools import lru_cache

import numpy as np

from scrubjay.model.passage import Point, Vector
from scrubjay.model.query import facet
from scrubjay.stores.postgres.asking import Ask, Row, Rows, Work
from scrubjay.stores.postgres.database import Database
from scrubjay.stores.rows import STATES

# How the extension sends a vector: two numbers of two bytes, then each component, highest byte first.
_HEAD = 4
_SENT = np.dtype(">f2")
_SURVEY_SECONDS = 1800
_POINT_COLUMNS = "p.id, p.date, s.name, m.facets, m.state, scrubjay.bytes_of(v.vector)"
_POINT_TABLES = """scrubjay.passages p
    JOIN scrubjay.memories m ON m.space_no = p.space_no AND m.no = p.id / 65536
    JOIN scrubjay.spaces s ON s.no = p.space_no
    JOIN scrubjay.vectors v ON v.space_no = p.space_no AND v.hash = p.hash
      AND v.model_no = (SELECT no FROM scrubjay.models WHERE name = %s)"""


async def vectors(database: Database, space: str, model: str, hashes: Sequence[bytes]) -> dict[bytes, Vector]:
    """Stored vectors by text hash."""
    rows = await database.rows(
        "SELECT * FROM scrubjay.vectors_1(%s, %s::bytea[])", model, list(dict.fromkeys(hashes)), space=space,
    )  # fmt: skip
    return _by_hash(rows)


async def shelved(database: Database, space: str, model: str, *, after: bytes, limit: int) -> dict[bytes, Vector]:
    """Vectors of a space in the order of their hashes, from after one on."""
    rows = await database.rows(
        """SELECT v.hash, scrubjay.bytes_of(v.vector) FROM scrubjay.vectors v
           WHERE v.space_no = scrubjay.here() AND v.hash > %s
             AND v.model_no = (SELECT no FROM scrubjay.models WHERE name = %s) ORDER BY v.hash LIMIT %s""",
        after, model, limit, space=space,
    )  # fmt: skip
    return _by_hash(rows)


async def embedded_among(database: Database, space: str, model: str, hashes: Sequence[bytes]) -> set[bytes]:
    """Which texts have a vector."""
    statement = "SELECT scrubjay.embedded_1(%s, %s::bytea[])"
    return {bytes(digest) for (digest,) in await database.rows(statement, model, list(hashes), space=space)}


async def without_vectors(database: Database, model: str, *, limit: int) -> list[tuple[str, str]]:
    """(space, id) of memories with a passage that the model has not embedded."""
    lacking = Ask(
        """SELECT DISTINCT s.name, p.memory_id FROM scrubjay.passages p JOIN scrubjay.spaces s ON s.no = p.space_no
           WHERE NOT EXISTS (SELECT 1 FROM scrubjay.vectors v WHERE v.space_no = p.space_no AND v.hash = p.hash
             AND v.model_no = (SELECT no FROM scrubjay.models WHERE name = %s)) LIMIT %s""",
        (model, limit),
    )
    # It looks at every passage of the store, and nobody waits for it.
    (rows,) = await database.read(lacking, keeper=True, seconds=_SURVEY_SECONDS)
    return [(str(space), str(memory_id)) for space, memory_id in rows]


async def points(database: Database, model: str, *, after: int, limit: int) -> list[Point]:
    """Embedded passages of all spaces by number, from after one on."""

    async def job(work: Work) -> Rows:
        return await work.rows(
            f"SELECT {_POINT_COLUMNS} FROM {_POINT_TABLES} WHERE p.id > %s ORDER BY p.id LIMIT %s", model, after, limit
        )

    return _points(await database.write(job, keeper=True))


async def points_of(database: Database, model: str, numbers: Sequence[int]) -> list[Point]:
    """Embedded passages of some memories."""
    if not numbers:
        return []
    statement = "SELECT * FROM scrubjay.points_of_1(%s, %s::bigint[])"
    return _points(await database.rows(statement, model, list(numbers), keeper=True))


async def point_count(database: Database, model: str) -> int:
    """How many points an index of the model holds."""
    rows = await database.rows(f"SELECT count(*) FROM {_POINT_TABLES}", model, keeper=True)
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
