"""The stored vectors: one for each text of a space, however many memories share it.

Vectors of texts that no passage has any more are in a table of their own, quantized: only recall of an earlier moment
needs them. When a passage has the text again, its quantized vector is good enough.
"""

import json
from collections.abc import Collection, Iterable, Mapping, Sequence
from functools import lru_cache

import apsw
import numpy as np
from numpy.typing import NDArray

from scrubjay.model.passage import PASSAGES_PER_MEMORY, Point, Vector
from scrubjay.model.query import facet
from scrubjay.ports import Embedded
from scrubjay.storage.rows import STATES, id_text
from scrubjay.storage.sqlite.rows import marks, read_model, space_number

_POINT_COLUMNS = "p.id, p.date, s.name, m.facets, m.state, v.vector"
_POINT_TABLES = f"""passages p JOIN memories m ON m.no = p.id / {PASSAGES_PER_MEMORY} JOIN spaces s ON s.no = m.space_no
    JOIN vectors v ON v.space_no = m.space_no AND v.model_no = ? AND v.hash = p.hash"""
_TABLES = ("vectors", "historical_vectors")
_INSERT = "INSERT OR IGNORE INTO vectors(no, space_no, model_no, hash, vector) VALUES(?, ?, ?, ?, ?)"
# Cosines of half-precision vectors differ from exact ones in the fourth digit, at half the size; those of quantized
# ones in the third, at a sixth of it.
_HALF = np.dtype(np.float16)
_BITS = 5
_STEPS = (1 << _BITS - 1) - 1
# Eight steps of five bits are packed into one 64-bit number, of which five bytes are stored.
_GROUP = 8
_SHIFTS = np.arange(_GROUP, dtype=np.uint64) * np.uint64(_BITS)
_GROUP_TYPE = np.dtype("<u8")


def insert_vectors(
    connection: apsw.Connection,
    space_no: int,
    embedded: Embedded,
    vectors: Mapping[bytes, Vector],
    *,
    free: Sequence[int] = (),
) -> None:
    """Insert vectors, into free rows first, unless a text has one again."""
    model_no, _ = read_model(connection, embedded.model)
    if not model_no:
        connection.execute("INSERT INTO models(name, dimension) VALUES(?, ?)", (embedded.model, embedded.dimension))
        model_no = connection.last_insert_rowid()
    free_rows = list(free)
    if not free_rows:
        connection.executemany(
            _INSERT, [(None, space_no, model_no, digest, pack_vector(vector)) for digest, vector in vectors.items()]
        )
        return
    for digest, vector in vectors.items():
        data = pack_vector(vector)
        connection.execute(_INSERT, (free_rows[-1] if free_rows else None, space_no, model_no, digest, data))
        if connection.changes():
            del free_rows[-1:]


def retire_vectors(connection: apsw.Connection, space_no: int, hashes: Iterable[bytes]) -> list[int]:
    """Quantize the vectors of texts that no passage has any more, and move them; return the rows that this frees."""
    unused = [digest for digest in sorted(hashes) if not _is_used(connection, space_no, digest)]
    deleted = [(digest, *row) for digest in unused for row in _delete(connection, "vectors", space_no, digest)]
    for dimension in {row[-1] for row in deleted}:
        rows = [row for row in deleted if row[-1] == dimension]
        quantized = quantize([row[-2] for row in rows], dimension)
        connection.executemany(
            "INSERT OR IGNORE INTO historical_vectors(space_no, model_no, hash, vector) VALUES(?, ?, ?, ?)",
            [(space_no, row[2], row[0], data) for row, data in zip(rows, quantized, strict=True)],
        )
    return [number for _, number, *_ in deleted]


def restore_vectors(connection: apsw.Connection, space_no: int, hashes: Collection[bytes]) -> None:
    """Move the vectors of texts that a passage has again back to those that indexes are built from."""
    any_stored = "SELECT 1 FROM historical_vectors WHERE space_no = ? AND model_no IN (SELECT no FROM models) LIMIT 1"
    # Of several texts none is looked for where there are no such vectors, as in most spaces.
    if len(hashes) > 1 and connection.execute(any_stored, (space_no,)).fetchone() is None:
        return
    for digest in hashes:
        for _, model_no, data, _ in _delete(connection, "historical_vectors", space_no, digest):
            connection.execute(_INSERT, (None, space_no, model_no, digest, data))


def vectors(connection: apsw.Connection, space: str, model: str, hashes: Sequence[bytes]) -> dict[bytes, Vector]:
    """Return stored vectors by text hash."""
    space_no, (model_no, dimension) = space_number(connection, space), read_model(connection, model)
    if space_no is None or not hashes:
        return {}
    distinct = list(dict.fromkeys(hashes))
    rows = connection.execute(
        f"SELECT hash, vector FROM all_vectors WHERE space_no = ? AND model_no = ? AND hash IN ({marks(distinct)})",
        (space_no, model_no, *distinct),
    ).fetchall()
    return _by_hash(rows, dimension)


def embedded_among(connection: apsw.Connection, space: str, model: str, hashes: Sequence[bytes]) -> set[bytes]:
    """Return the hashes of those texts that have a vector."""
    space_no, (model_no, _) = space_number(connection, space), read_model(connection, model)
    if space_no is None or not hashes:
        return set()
    rows = connection.execute(
        f"SELECT hash FROM all_vectors WHERE space_no = ? AND model_no = ? AND hash IN ({marks(hashes)})",
        (space_no, model_no, *hashes),
    )
    return {bytes(digest) for (digest,) in rows}


def models(connection: apsw.Connection) -> dict[str, int]:
    """Return the models that have embedded something, and the dimension of their vectors."""
    return {str(name): int(size) for name, size in connection.execute("SELECT name, dimension FROM models ORDER BY no")}


def stored_vectors(
    connection: apsw.Connection, space: str, model: str, *, after: bytes, limit: int
) -> dict[bytes, Vector]:
    """Return vectors of a space in the order of their hashes."""
    model_no, dimension = read_model(connection, model)
    rows = connection.execute(
        "SELECT hash, vector FROM all_vectors WHERE space_no = ? AND model_no = ? AND hash > ? ORDER BY hash LIMIT ?",
        (space_number(connection, space), model_no, after, limit),
    ).fetchall()
    return _by_hash(rows, dimension)


def drop_vectors(connection: apsw.Connection, *, space: str, model: str, hashes: Sequence[bytes]) -> None:
    """Delete vectors of texts by one model."""
    keys = [(space_number(connection, space), read_model(connection, model)[0], digest) for digest in hashes]
    for table in _TABLES:
        connection.executemany(f"DELETE FROM {table} WHERE space_no = ? AND model_no = ? AND hash = ?", keys)


def without_vectors(connection: apsw.Connection, model: str, *, limit: int, space: str) -> list[tuple[str, str]]:
    """Return (space, id) of memories with a passage that the model has not embedded."""
    rows = connection.execute(
        f"""SELECT DISTINCT s.name, m.id FROM passages p JOIN memories m ON m.no = p.id / {PASSAGES_PER_MEMORY}
            JOIN spaces s ON s.no = m.space_no
            WHERE (? = '' OR s.name = ?) AND NOT EXISTS (SELECT 1 FROM vectors v
              WHERE v.space_no = m.space_no AND v.model_no = ? AND v.hash = p.hash)
            LIMIT ?""",
        (space, space, read_model(connection, model)[0], limit),
    )
    return [(str(space), id_text(memory_id)) for space, memory_id in rows]


def points(connection: apsw.Connection, model: str, *, after: int, limit: int) -> list[Point]:
    """Return embedded passages in the order of their ids."""
    model_no, dimension = read_model(connection, model)
    rows = connection.execute(
        f"SELECT {_POINT_COLUMNS} FROM {_POINT_TABLES} WHERE p.id > ? ORDER BY p.id LIMIT ?", (model_no, after, limit)
    ).fetchall()
    return _points(rows, dimension)


def points_of(connection: apsw.Connection, model: str, numbers: Sequence[int]) -> list[Point]:
    """Return the embedded passages of some memories."""
    model_no, dimension = read_model(connection, model)
    ranges = [(model_no, no * PASSAGES_PER_MEMORY, (no + 1) * PASSAGES_PER_MEMORY) for no in numbers]
    rows: list[tuple[int, int, str, str, int, bytes]] = connection.executemany(
        f"SELECT {_POINT_COLUMNS} FROM {_POINT_TABLES} WHERE p.id >= ? AND p.id < ? ORDER BY p.id", ranges
    ).fetchall()
    return _points(rows, dimension)


def point_count(connection: apsw.Connection, model: str) -> int:
    """Return how many points an index of the model holds."""
    model_no, _ = read_model(connection, model)
    return int(connection.execute(f"SELECT count(*) FROM {_POINT_TABLES}", (model_no,)).fetchall()[0][0])


def delete_unused(connection: apsw.Connection, space_no: int, hashes: Sequence[bytes]) -> None:
    """Delete vectors of a space whose text no passage has any more."""
    for digest in dict.fromkeys(hashes):
        if not _is_used(connection, space_no, digest):
            for table in _TABLES:
                _delete(connection, table, space_no, digest)


def _is_used(connection: apsw.Connection, space_no: int, digest: bytes) -> bool:
    """Return whether a passage of the space has a text."""
    rows = connection.execute("SELECT 1 FROM passages WHERE hash = ? AND space_no = ? LIMIT 1", (digest, space_no))
    return rows.fetchone() is not None


def _delete(connection: apsw.Connection, table: str, space_no: int, digest: bytes) -> list[tuple[int, int, bytes, int]]:
    """Delete the vectors of a text from a table; return (number, model number, vector, dimension) of each."""
    condition = "space_no = ? AND model_no IN (SELECT no FROM models) AND hash = ?"
    rows = connection.execute(
        f"""SELECT no, model_no, vector, (SELECT dimension FROM models WHERE models.no = model_no)
            FROM {table} WHERE {condition}""",
        (space_no, digest),
    ).fetchall()
    if rows:
        connection.execute(f"DELETE FROM {table} WHERE {condition}", (space_no, digest))
    return rows


def _by_hash(rows: Sequence[tuple[bytes, bytes]], dimension: int) -> dict[bytes, Vector]:
    matrix = unpack_vectors([data for _, data in rows], dimension)
    return {digest: vector for (digest, _), vector in zip(rows, matrix, strict=True)}


def _points(rows: Sequence[tuple[int, int, str, str, int, bytes]], dimension: int) -> list[Point]:
    matrix = unpack_vectors([row[-1] for row in rows], dimension)
    return [
        Point(id=number, space=space, vector=vector, facets=_labels(facets, state), at=date)
        for (number, date, space, facets, state, _), vector in zip(rows, matrix, strict=True)
    ]


@lru_cache(maxsize=1000)
def _labels(facets: str, state: int) -> tuple[str, ...]:
    return (*json.loads(facets), facet("state", STATES[state]))


def pack_vector(vector: Vector) -> bytes:
    """Return a vector in half precision."""
    return vector.astype(_HALF).tobytes()


def quantize(stored: Sequence[bytes], dimension: int) -> list[bytes]:
    """Return stored vectors quantized; those that are quantized already, or would not be shorter, stay as they are.

    A quantized vector is the width of a step in half precision, then for each number how many steps it is above the
    lowest.
    """
    size = _HALF.itemsize * dimension
    halves = [data for data in stored if len(data) == size > _quantized_size(dimension)]
    if not halves:
        return list(stored)
    shorter = iter(_quantize(halves, dimension))
    return [next(shorter) if len(data) == size else data for data in stored]


def unpack_vectors(stored: Sequence[bytes], dimension: int) -> NDArray[np.float32]:
    """Return stored vectors as the rows of one matrix: an array for each would take most of the time.

    One of another length is damaged, and becomes a row of no numbers, which an index leaves out.
    """
    size = _HALF.itemsize * dimension
    if all(len(data) == size for data in stored):
        return np.frombuffer(b"".join(stored), _HALF).astype(np.float32).reshape(len(stored), dimension)
    matrix = np.empty((len(stored), dimension), np.float32)
    halves = [row for row, data in enumerate(stored) if len(data) == size]
    quantized = [row for row, data in enumerate(stored) if len(data) == _quantized_size(dimension) != size]
    matrix[[row for row, data in enumerate(stored) if len(data) not in (size, _quantized_size(dimension))]] = np.nan
    matrix[halves] = np.frombuffer(b"".join(stored[row] for row in halves), _HALF).reshape(len(halves), dimension)
    if quantized:
        matrix[quantized] = _dequantize([stored[row] for row in quantized], dimension)
    return matrix


def _quantize(stored: Sequence[bytes], dimension: int) -> list[bytes]:
    halves = np.frombuffer(b"".join(stored), _HALF).astype(np.float32).reshape(len(stored), dimension)
    signed = np.rint(halves * (_STEPS / _nonzero(np.abs(halves).max(axis=1, keepdims=True))))
    # The width that keeps the length of the vector.
    widths = np.sqrt(_squared_lengths(halves) / _nonzero(_squared_lengths(signed)))
    steps = np.zeros((len(stored), _padded_dimension(dimension)), _GROUP_TYPE)
    steps[:, :dimension] = signed + _STEPS
    groups = np.bitwise_or.reduce(steps.reshape(-1, _GROUP) << _SHIFTS, axis=1).view(np.uint8)
    rows = groups.reshape(len(stored), -1, _GROUP_TYPE.itemsize)[:, :, :_BITS]
    return [width.tobytes() + row.tobytes() for width, row in zip(widths.astype(_HALF), rows, strict=True)]


def _dequantize(stored: Sequence[bytes], dimension: int) -> NDArray[np.float32]:
    rows = np.frombuffer(b"".join(stored), np.uint8).reshape(len(stored), _quantized_size(dimension))
    widths = rows[:, : _HALF.itemsize].copy().view(_HALF).astype(np.float32)
    groups = np.zeros((len(stored), _padded_dimension(dimension) // _GROUP, _GROUP_TYPE.itemsize), np.uint8)
    groups[:, :, :_BITS] = rows[:, _HALF.itemsize :].reshape(len(stored), -1, _BITS)
    steps = (groups.view(_GROUP_TYPE) >> _SHIFTS) & np.uint64((1 << _BITS) - 1)
    signed = steps.reshape(len(stored), -1)[:, :dimension].astype(np.float32) - _STEPS
    # In half precision, so that a copy of the vector in another store is the same.
    return (signed * widths).astype(_HALF).astype(np.float32)


def _squared_lengths(rows: NDArray[np.float32]) -> NDArray[np.float32]:
    return np.einsum("ij,ij->i", rows, rows)


def _nonzero(values: NDArray[np.float32]) -> NDArray[np.float32]:
    """Return values to divide by: 1 in place of 0."""
    return values + (values == 0)


def _quantized_size(dimension: int) -> int:
    return _HALF.itemsize + _padded_dimension(dimension) // _GROUP * _BITS


def _padded_dimension(dimension: int) -> int:
    return -(-dimension // _GROUP) * _GROUP
