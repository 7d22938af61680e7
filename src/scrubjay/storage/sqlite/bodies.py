"""Bodies of versions: compressed on the way in, verified on the way out, with a dictionary for each space."""

import threading
import time
from collections.abc import Generator, Sequence
from contextlib import closing, nullcontext, suppress
from functools import partial

import apsw

from scrubjay.errors import BodyDamaged
from scrubjay.model.memory import Memory
from scrubjay.model.snapshot import to_body
from scrubjay.model.version import Version
from scrubjay.storage.body_cache import (
    BATCH,
    SAMPLES,
    WHOLE_VERSIONS,
    BodyCache,
    StoredVersion,
    damaged_memory,
    extend_chain,
    is_training_due,
    with_accesses,
)
from scrubjay.storage.codec import Dictionary, Encoded, Encoding, encode, generic_dictionary, pack
from scrubjay.storage.rows import id_text
from scrubjay.storage.sql_files import read_statements
from scrubjay.storage.sqlite.rows import purges

# The columns that `read_memory` needs, in order.
MEMORY_COLUMNS = """
    m.no, m.id, s.name, m.version, m.last_accessed, m.access_count,
    v.encoding, v.dictionary_no, v.checksum, v.size, v.body
"""
MEMORY_TABLES = """
    memories m JOIN spaces s ON s.no = m.space_no JOIN versions v ON v.memory_no = m.no AND v.number = m.version
"""

# The columns of a version that `unpack` needs, in order.
BODY_COLUMNS = "number, encoding, dictionary_no, checksum, size, body"

Row = tuple[int, bytes, str, int, int | None, int, int, int, bytes, int, bytes]
RowWithoutAccesses = tuple[int, bytes, str, int, int, int, bytes, int, bytes]
Accesses = tuple[int | None, int]
"""When a memory was accessed last, and how often."""
_SQL = read_statements("sqlite/bodies")
# The most rows in the cache, and the most bytes that the body of one of them may have.
_CACHED_ROWS = 4_096
_CACHED_BYTES = 8 * 1024


class SqliteBodies:
    """Reads and writes bodies; caches dictionaries, and the small bodies that it decompressed last."""

    def __init__(self) -> None:
        self._dictionaries: dict[int, Dictionary] = {}
        self._lock = threading.Lock()
        self._cache = BodyCache()
        # By all that is stored of them but the accesses, so that a row that has changed on disk is read again.
        self._memories: dict[RowWithoutAccesses, tuple[Accesses, Memory]] = {}
        self._is_training_due = False

    def pack(self, connection: apsw.Connection, memories: Sequence[Memory], *, space_no: int) -> list[Encoded]:
        """Pack the bodies of memories with the newest untainted dictionary of their space, which they will be added to.

        The dictionary is looked up each time: another process may have purged, and so replaced, the cached one.
        """
        bodies, number, trained_on = connection.execute(_SQL["dictionary_age"], (space_no,)).fetchall()[0]
        self._is_training_due = is_training_due(bodies + len(memories), trained_on)
        dictionary = self._dictionary(connection, number)
        return [encode(to_body(memory), dictionary=dictionary) for memory in memories]

    def keep_written(self, version: Version, encoded: Encoded, *, memory_id: str) -> None:
        """Keep the memory of a version that is being written for its next reader."""
        self._cache.keep_written(version, encoded, memory_id=memory_id)

    def extend_chain(
        self, connection: apsw.Connection, memory_no: int, new: Sequence[StoredVersion], *, is_new: bool
    ) -> list[Encoded]:
        """Return how to store new versions; replace those that need no longer be whole by differences.

        `is_new`: the memory has no stored version.
        """
        if is_new and len(new) == 1:
            return [new[0].encoded]
        rows = connection.execute(
            f"SELECT {BODY_COLUMNS} FROM versions WHERE memory_no = ? ORDER BY number DESC LIMIT {WHOLE_VERSIONS}",
            (memory_no,),
        ).fetchall()
        stored = [_stored_version(row) for row in reversed(rows)]
        encoded = extend_chain(stored, new, plain=partial(self._plain_or_none, connection, memory_no))
        for version, packed in zip(stored, encoded, strict=False):
            if packed is not version.encoded:
                _update(connection, memory_no, StoredVersion(version.number, packed))
        return encoded[len(stored) :]

    def read_memory(self, connection: apsw.Connection, row: Row) -> Memory:
        """Return the memory of a row of MEMORY_COLUMNS; the error for a damaged one names its last good version."""
        number, raw_id, space, version, accessed, count, *packed = row
        key, accesses = (*row[:4], *row[6:]), (accessed, count)
        cached = self._memories.get(key)
        if cached is not None:
            cached_accesses, memory = cached
            if cached_accesses != accesses:
                memory = with_accesses(memory, accessed, count)
                self._memories[key] = accesses, memory
            return memory
        memory_id = id_text(raw_id)
        try:
            memory = self.unpack(
                connection, [version, *packed], memory_no=number, memory_id=memory_id, space=space, accessed=accessed,
                count=count,
            )  # fmt: skip
        except BodyDamaged as error:
            last_good = self._last_good_version(connection, number, version)
            raise damaged_memory(
                error, memory_id=memory_id, space=space, version=version, last_good=last_good
            ) from error
        if self.may_keep(row, memory):
            self._keep(key, accesses, memory)
        return memory

    def may_keep(self, row: Row, memory: Memory) -> bool:
        """Return whether the memory of a row may be kept for other readers."""
        *_, encoding, _, _, size, _ = row
        # A caller may change the metadata, and a difference depends on other rows.
        return size <= _CACHED_BYTES and not memory.metadata and encoding != Encoding.DELTA

    def unpack(
        self,
        connection: apsw.Connection,
        packed: Sequence[int | bytes],
        *,
        memory_no: int,
        memory_id: str = "",
        space: str = "",
        accessed: int | None = None,
        count: int = 0,
    ) -> Memory:
        """Return the memory of a row of BODY_COLUMNS."""
        version = _stored_version(packed)
        # Only a difference needs the versions after it.
        is_delta = version.encoded.encoding is Encoding.DELTA
        with closing(self._newer(connection, memory_no, version)) if is_delta else nullcontext(()) as newer:
            return self._cache.read_memory(
                version, dictionaries=partial(self._dictionary, connection), memory_id=memory_id, space=space,
                newer=newer, accessed=accessed, count=count,
            )  # fmt: skip

    def clear_cache(self) -> None:
        """Empty the cache of bodies, after a purge of some of them."""
        self._cache.clear()
        self._memories.clear()

    def take_training_due(self) -> bool:
        """Return, once, whether the bodies that were packed last outgrow the dictionary of their space."""
        is_due, self._is_training_due = self._is_training_due, False
        return is_due

    def samples(self, connection: apsw.Connection, space: str) -> tuple[list[bytes], int]:
        """Return plain bodies to train a dictionary on, and the number of purges before they were read."""
        samples: list[bytes] = []
        for encoding, dictionary_no, _, _, data in connection.execute(_SQL["sample"], (space, SAMPLES)):
            # A damaged body is left out, and must not prevent the training.
            with suppress(BodyDamaged):
                if encoding == Encoding.ZSTD:
                    samples.append(self._dictionary(connection, dictionary_no).decompress(data))
                elif encoding != Encoding.DELTA:
                    samples.append(data)
        return samples, purges(connection)

    def store_dictionary(self, connection: apsw.Connection, *, space: str, data: bytes, purges_before: int) -> None:
        """Store a trained dictionary as the space's newest, unless a purge followed the reading of its samples."""
        if purges(connection) != purges_before:
            return
        connection.execute(_SQL["insert_dictionary"], (data, time.time_ns() // 1000, space))

    def repack(self, connection: apsw.Connection, *, after: tuple[int, int]) -> tuple[int, int] | None:
        """Repack some bodies that are flagged or use a tainted dictionary; return where to continue, if at all."""
        rows = connection.execute(_SQL["bodies_to_repack"], (*after, int(Encoding.FLAGGED), BATCH)).fetchall()
        for space_no, memory_no, *packed in rows:
            self._repack(connection, int(space_no), int(memory_no), _stored_version(packed))
        return (int(rows[-1][1]), int(rows[-1][2])) if rows else None

    def drop_tainted(self, connection: apsw.Connection) -> int:
        """Delete tainted dictionaries that no body uses; return how many."""
        rows = connection.execute(_SQL["delete_unused_tainted"]).fetchall()
        with self._lock:
            for (number,) in rows:
                self._dictionaries.pop(int(number), None)
        return len(rows)

    def _repack(self, connection: apsw.Connection, space_no: int, memory_no: int, version: StoredVersion) -> None:
        plain = self._plain_or_none(connection, memory_no, version)
        if plain is None:
            # It can never be read again, with or without its dictionary, which may hold purged words.
            connection.execute(
                "UPDATE versions SET dictionary_no = 0 WHERE memory_no = ? AND number = ?", (memory_no, version.number)
            )
            return
        # The plain bytes stay the same: an older version may be stored as its difference from them.
        packed = pack(plain, dictionary=self._newest_dictionary(connection, space_no))
        _update(connection, memory_no, StoredVersion(version.number, packed))

    def _plain_or_none(self, connection: apsw.Connection, memory_no: int, version: StoredVersion) -> bytes | None:
        """Return the plain bytes of a version, or None if it is damaged."""
        with suppress(BodyDamaged), closing(self._newer(connection, memory_no, version)) as newer:
            return self._cache.decompress(version, dictionaries=partial(self._dictionary, connection), newer=newer)
        return None

    def _newer(self, connection: apsw.Connection, memory_no: int, version: StoredVersion) -> Generator[StoredVersion]:
        """Yield the versions after one in order; the query runs only if the first is needed."""
        rows = connection.execute(
            f"SELECT {BODY_COLUMNS} FROM versions WHERE memory_no = ? AND number > ? ORDER BY number",
            (memory_no, version.number),
        )
        with closing(rows):
            for row in rows:
                yield _stored_version(row)

    def _newest_dictionary(self, connection: apsw.Connection, space_no: int) -> Dictionary:
        # Read for each write: another process may have purged, and so replaced, the cached one.
        row = connection.execute(
            "SELECT max(no) FROM dictionaries WHERE space_no = ? AND tainted = 0", (space_no,)
        ).fetchone()
        return self._dictionary(connection, row[0] if row else None)

    def _dictionary(self, connection: apsw.Connection, number: int | None) -> Dictionary:
        if not number:
            return generic_dictionary()
        with self._lock:
            if number not in self._dictionaries:
                row = connection.execute("SELECT data FROM dictionaries WHERE no = ?", (number,)).fetchone()
                if row is None:
                    raise BodyDamaged(f"dictionary {number} is missing")
                self._dictionaries[number] = Dictionary(number, row[0])
            return self._dictionaries[number]

    def _keep(self, key: RowWithoutAccesses, accesses: Accesses, memory: Memory) -> None:
        """Keep the memory of a row: the next reads and writes ask for the same ones."""
        self._memories[key] = accesses, memory
        while len(self._memories) > _CACHED_ROWS:
            # Another thread may read at the same time.
            with suppress(RuntimeError, StopIteration):
                self._memories.pop(next(iter(self._memories)), None)

    def _last_good_version(self, connection: apsw.Connection, memory_no: int, version: int) -> int | None:
        rows = connection.execute(
            f"SELECT {BODY_COLUMNS} FROM versions WHERE memory_no = ? AND number < ? ORDER BY number DESC",
            (memory_no, version),
        )
        with closing(rows):
            for older in map(_stored_version, rows):
                if self._plain_or_none(connection, memory_no, older) is not None:
                    return older.number
        return None


def _stored_version(row: Sequence[int | bytes]) -> StoredVersion:
    """Return the version of a row of BODY_COLUMNS."""
    number, encoding, dictionary_no, checksum, size, data = row
    return StoredVersion(
        int(number), Encoded(bytes(data), Encoding(encoding), int(dictionary_no), bytes(checksum), int(size))
    )


def _update(connection: apsw.Connection, memory_no: int, version: StoredVersion) -> None:
    """Store a version that was packed again."""
    packed = version.encoded
    connection.execute(
        "UPDATE versions SET encoding=?, dictionary_no=?, checksum=?, size=?, body=? WHERE memory_no=? AND number=?",
        (int(packed.encoding), packed.dictionary, packed.sha256, packed.size, packed.data, memory_no, version.number),
    )
