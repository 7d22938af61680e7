"""The stored vectors: half precision, one for each text of a space, whatever shares it."""

import json
from collections.abc import Sequence
from datetime import datetime
from functools import lru_cache

import apsw
import numpy as np

from scrubjay.errors import InvalidInput
from scrubjay.model.change import Action
from scrubjay.model.passage import PASSAGES_PER_MEMORY, Point, Vector
from scrubjay.model.query import facet
from scrubjay.ports import Embedded
from scrubjay.stores.rows import STATES, id_bytes, id_text
from scrubjay.stores.sqlite.log import append_change
from scrubjay.stores.sqlite.rows import marks, space_number

# Cosines of half-precision vectors differ from exact ones in the fourth digit, at half the size.
_STORED = np.float16
_POINT_COLUMNS = "p.id, p.date, s.name, m.facets, m.state, v.vector"
_POINT_TABLES = f"""passages p JOIN memories m ON m.no = p.id / {PASSAGES_PER_MEMORY} JOIN spaces s ON s.no = m.space_no
    JOIN vectors v ON v.space_no = m.space_no AND v.model_no = ? AND v.hash = p.hash"""
_SHARERS = f"""SELECT m.no, m.id, m.version, m.passages FROM passages p
    JOIN memories m ON m.no = p.id / {PASSAGES_PER_MEMORY} WHERE p.hash = ? AND p.space_no = ?"""
_NAMED = "SELECT no, id, version, passages FROM memories WHERE id = ? AND space_no = ?"


def shelve(
    connection: apsw.Connection,
    space_no: int,
    run_no: int,
    embedded: Embedded,
    *,
    at: datetime,
    memory_ids: Sequence[str] = (),
    written: Sequence[str] = (),
) -> None:
    """Store vectors, and log which memories have them now so that indexes take them in.

    A memory that was stored without a vector gets one when another with the same text does. What was written in
    the same commit has its own entry in the log.
    """
    fresh = _put_vectors(connection, space_no, embedded)
    rows = [row for digest in fresh for row in connection.execute(_SHARERS, (digest, space_no))]
    rows += [row for one in memory_ids for row in connection.execute(_NAMED, (id_bytes(one), space_no))]
    skip = {id_bytes(one) for one in written}
    for number, memory_id, version, passages in dict.fromkeys(rows):
        if memory_id not in skip:
            append_change(
                connection, space_no=space_no, run_no=run_no, number=number, memory_id=id_text(memory_id),
                action=Action.EMBEDDED, version=version, base=version, passages_before=passages, at=at,
            )  # fmt: skip


def vectors(connection: apsw.Connection, space: str, model: str, hashes: Sequence[bytes]) -> dict[bytes, Vector]:
    """Stored vectors by text hash."""
    space_no, model_no = space_number(connection, space), model_number(connection, model)
    if space_no is None or model_no is None or not hashes:
        return {}
    distinct = list(dict.fromkeys(hashes))
    rows = connection.execute(
        f"SELECT hash, vector FROM vectors WHERE space_no = ? AND model_no = ? AND hash IN ({marks(distinct)})",
        (space_no, model_no, *distinct),
    ).fetchall()
    return _by_hash(rows)


def embedded_among(connection: apsw.Connection, space: str, model: str, hashes: Sequence[bytes]) -> set[bytes]:
    """Which texts have a vector."""
    space_no, model_no = space_number(connection, space), model_number(connection, model)
    if space_no is None or model_no is None or not hashes:
        return set()
    rows = connection.execute(
        f"SELECT hash FROM vectors WHERE space_no = ? AND model_no = ? AND hash IN ({marks(hashes)})",
        (space_no, model_no, *hashes),
    )
    return {bytes(digest) for (digest,) in rows}


def shelved(connection: apsw.Connection, space: str, model: str, *, after: bytes, limit: int) -> dict[bytes, Vector]:
    """Vectors of a space in the order of their hashes, from after one on."""
    rows = connection.execute(
        """SELECT hash, vector FROM vectors WHERE space_no = ? AND model_no = ? AND hash > ? ORDER BY hash LIMIT ?""",
        (space_number(connection, space), model_number(connection, model), after, limit),
    ).fetchall()
    return _by_hash(rows)


def without_vectors(connection: apsw.Connection, model: str, *, limit: int) -> list[tuple[str, str]]:
    """(space, id) of memories with a passage that the model has not embedded."""
    rows = connection.execute(
        f"""SELECT DISTINCT s.name, m.id FROM passages p JOIN memories m ON m.no = p.id / {PASSAGES_PER_MEMORY}
            JOIN spaces s ON s.no = m.space_no
            WHERE NOT EXISTS (SELECT 1 FROM vectors v
              WHERE v.space_no = m.space_no AND v.model_no = ? AND v.hash = p.hash)
            LIMIT ?""",
        (model_number(connection, model) or 0, limit),
    )
    return [(str(space), id_text(memory_id)) for space, memory_id in rows]


def points(connection: apsw.Connection, model: str, *, after: int, limit: int) -> list[Point]:
    """Embedded passages by number, from after one on."""
    rows = connection.execute(
        f"SELECT {_POINT_COLUMNS} FROM {_POINT_TABLES} WHERE p.id > ? ORDER BY p.id LIMIT ?",
        (model_number(connection, model) or 0, after, limit),
    ).fetchall()
    return _points(rows)


def points_of(connection: apsw.Connection, model: str, numbers: Sequence[int]) -> list[Point]:
    """Embedded passages of some memories."""
    model_no = model_number(connection, model) or 0
    rows: list[tuple[int, int, str, str, int, bytes]] = []
    for number in numbers:
        first = number * PASSAGES_PER_MEMORY
        rows += connection.execute(
            f"SELECT {_POINT_COLUMNS} FROM {_POINT_TABLES} WHERE p.id >= ? AND p.id < ? ORDER BY p.id",
            (model_no, first, first + PASSAGES_PER_MEMORY),
        ).fetchall()
    return _points(rows)


def point_count(connection: apsw.Connection, model: str) -> int:
    """How many points an index of the model holds."""
    model_no = model_number(connection, model) or 0
    return int(connection.execute(f"SELECT count(*) FROM {_POINT_TABLES}", (model_no,)).fetchall()[0][0])


def drop_unused(connection: apsw.Connection, space_no: int, hashes: Sequence[bytes]) -> None:
    """Delete vectors of a space whose text no passage has any more."""
    for digest in dict.fromkeys(hashes):
        shared = connection.execute(
            "SELECT 1 FROM passages WHERE hash = ? AND space_no = ? LIMIT 1", (digest, space_no)
        ).fetchone()
        if shared is None:
            connection.execute("DELETE FROM vectors WHERE space_no = ? AND hash = ?", (space_no, digest))


def model_number(connection: apsw.Connection, model: str) -> int | None:
    """The number of a model that has embedded something here."""
    row = connection.execute("SELECT no FROM models WHERE name = ?", (model,)).fetchone()
    return None if row is None else int(row[0])


def _put_vectors(connection: apsw.Connection, space_no: int, embedded: Embedded) -> list[bytes]:
    """Store vectors that are not there yet; returns the hashes of those."""
    model_no = _make_model(connection, embedded)
    fresh: list[bytes] = []
    for digest, vector in embedded.vectors.items():
        connection.execute(
            "INSERT OR IGNORE INTO vectors(space_no, model_no, hash, vector) VALUES(?, ?, ?, ?)",
            (space_no, model_no, digest, _packed(vector, embedded.dimension)),
        )
        if connection.changes():
            fresh.append(digest)
    return fresh


def _make_model(connection: apsw.Connection, embedded: Embedded) -> int:
    connection.execute(
        "INSERT OR IGNORE INTO models(name, dimension) VALUES(?, ?)", (embedded.model, embedded.dimension)
    )
    row = connection.execute("SELECT no, dimension FROM models WHERE name = ?", (embedded.model,)).fetchall()[0]
    if int(row[1]) != embedded.dimension:
        raise InvalidInput(
            f"model {embedded.model!r} has {row[1]} dimensions in this store, the embedder gives {embedded.dimension}",
            hint="Name the changed model differently in SCRUBJAY_EMBEDDING_MODEL",
            model=embedded.model,
        )
    return int(row[0])


def _packed(vector: Vector, dimension: int) -> bytes:
    if vector.shape != (dimension,) or not np.isfinite(vector).all():
        raise InvalidInput(f"a vector must be {dimension} finite numbers")
    return vector.astype(_STORED).tobytes()


def _unpacked(data: bytes) -> Vector:
    return np.frombuffer(data, dtype=_STORED).astype(np.float32)


def _by_hash(rows: Sequence[tuple[bytes, bytes]]) -> dict[bytes, Vector]:
    if not rows:
        return {}
    # Unpacked in one piece: one by one, most of the time would go into making arrays.
    matrix = _unpacked(b"".join(data for _, data in rows)).reshape(len(rows), -1)
    return {digest: vector for (digest, _), vector in zip(rows, matrix, strict=True)}


def _points(rows: Sequence[tuple[int, int, str, str, int, bytes]]) -> list[Point]:
    return [
        Point(id=number, space=space, vector=_unpacked(data), facets=_labels(facets, state), at=date)
        for number, date, space, facets, state, data in rows
    ]


@lru_cache(maxsize=1000)
def _labels(facets: str, state: int) -> tuple[str, ...]:
    return (*json.loads(facets), facet("state", STATES[state]))
