"""The bodies of versions: packed on the way in, checked on the way out, with a dictionary per space."""

import threading
import time
from collections.abc import Iterator
from contextlib import suppress
from copy import deepcopy
from dataclasses import replace
from functools import lru_cache

import apsw

from scrubjay.errors import BodyDamaged
from scrubjay.model.memory import Memory
from scrubjay.model.moment import from_micros
from scrubjay.model.snapshot import from_body, to_body
from scrubjay.stores.codec import Dictionary, Encoded, Encoding, decode, encode, generic_dictionary
from scrubjay.stores.sqlite.meta import purges
from scrubjay.stores.sqlite.rows import id_text

# A first dictionary pays off early; after that one for every tenfold growth is enough.
_FIRST_TRAINING = 200
_GROWTH = 10
_SAMPLES = 2000
_BATCH = 500
# Who is found often is unpacked once: so many bodies of at most so many bytes.
_UNPACKED = 2048
_SMALL = 8 * 1024

# The columns that `read_memory` needs, in order.
MEMORY_COLUMNS = """
    m.no, m.id, s.name, m.version, m.last_accessed, m.access_count,
    v.encoding, v.dictionary, v.sha256, v.size, v.body
"""
MEMORY_TABLES = """
    memories m JOIN spaces s ON s.no = m.space_no JOIN versions v ON v.memory_no = m.no AND v.number = m.version
"""

Row = tuple[int, bytes, str, int, int | None, int, int, int, bytes, int, bytes]


class Bodies:
    """Reads and writes bodies; keeps the dictionaries it has met in memory, and the small bodies it unpacked last."""

    def __init__(self) -> None:
        self._known: dict[int, Dictionary] = {}
        self._lock = threading.Lock()
        # By all of what is stored, so that a body that was changed on the disk is never taken for the one before.
        self._unpacked = lru_cache(maxsize=_UNPACKED)(_unpacked)

    def pack(self, connection: apsw.Connection, memory: Memory, *, space_no: int) -> Encoded:
        """A memory's body, packed with the newest sound dictionary of its space."""
        # Asked anew for each write: another process may have purged, and so replaced, the one in memory.
        row = connection.execute(
            "SELECT max(no) FROM dictionaries WHERE space_no = ? AND tainted = 0", (space_no,)
        ).fetchone()
        return encode(to_body(memory), dictionary=self._dictionary(connection, row[0] if row else None))

    def read_memory(self, connection: apsw.Connection, row: Row) -> Memory:
        """The memory of a row of MEMORY_COLUMNS; a damaged one is named, with its last good version."""
        number, raw_id, space, version, accessed, count, *packed = row
        memory_id = id_text(raw_id)
        try:
            return self.unpack(
                connection, packed, memory_id=memory_id, space=space, version=version, accessed=accessed, count=count
            )
        except BodyDamaged as error:
            raise self._damaged(connection, number, memory_id, space, version, error) from error

    def unpack(
        self,
        connection: apsw.Connection,
        packed: list[int | bytes],
        *,
        memory_id: str,
        space: str,
        version: int,
        accessed: int | None = None,
        count: int = 0,
    ) -> Memory:
        """The memory that (encoding, dictionary, sha256, size, body) hold."""
        encoding, dictionary, sha256, size, data = packed
        encoded = Encoded(bytes(data), Encoding(encoding), int(dictionary), bytes(sha256), int(size))
        unpacked = self._unpacked if encoded.size <= _SMALL else _unpacked
        memory = unpacked(encoded, self._dictionary(connection, encoded.dictionary), memory_id, space, version)
        read = None if accessed is None else from_micros(accessed)
        # What a caller does to the one thing that can be changed is nobody else's matter.
        own = deepcopy(memory.metadata) if memory.metadata else memory.metadata
        return replace(memory, last_accessed=read, access_count=count, metadata=own)

    def forget_unpacked(self) -> None:
        """Keep nothing of what was unpacked: some of it has been purged."""
        self._unpacked.cache_clear()

    def training_due(self, connection: apsw.Connection, space: str) -> bool:
        """Whether the space has outgrown its dictionary."""
        row = connection.execute(
            """SELECT s.bodies, (SELECT d.bodies FROM dictionaries d WHERE d.space_no = s.no AND d.tainted = 0
               ORDER BY d.no DESC LIMIT 1) FROM spaces s WHERE s.name = ?""",
            (space,),
        ).fetchone()
        if row is None:
            return False
        bodies, trained_on = row
        return bodies >= (_FIRST_TRAINING if trained_on is None else trained_on * _GROWTH)

    def samples(self, connection: apsw.Connection, space: str) -> tuple[list[bytes], int]:
        """Plain bodies to learn from, spread over the whole space, and how many purges there were before."""
        rows = connection.execute(
            """SELECT v.encoding, v.dictionary, v.sha256, v.size, v.body
               FROM memories m JOIN versions v ON v.memory_no = m.no AND v.number = m.version
               WHERE m.space_no = (SELECT no FROM spaces WHERE name = ?) ORDER BY (m.no * 7919) % 10007 LIMIT ?""",
            (space, _SAMPLES),
        )
        return list(self._plain_bodies(connection, rows)), purges(connection)

    def keep_dictionary(self, connection: apsw.Connection, *, space: str, data: bytes, learned_after: int) -> None:
        """Make a trained dictionary the space's newest, unless a purge came after its samples were read."""
        if purges(connection) != learned_after:
            return
        connection.execute(
            """INSERT INTO dictionaries(space_no, data, created_at, bodies)
               SELECT no, ?, ?, bodies FROM spaces WHERE name = ?""",
            (data, time.time_ns() // 1000, space),
        )

    def repack(self, connection: apsw.Connection, *, after: tuple[int, int]) -> tuple[int, int] | None:
        """Repack a batch of bodies that are flagged or need a tainted dictionary; returns where to go on, if at all."""
        rows = connection.execute(
            """SELECT v.memory_no, v.number, m.space_no, v.encoding, v.dictionary, v.sha256, v.size, v.body
               FROM versions v JOIN memories m ON m.no = v.memory_no
               WHERE (v.memory_no, v.number) > (?, ?)
                 AND (v.encoding = ? OR v.dictionary IN (SELECT no FROM dictionaries WHERE tainted = 1))
               ORDER BY v.memory_no, v.number LIMIT ?""",
            (*after, int(Encoding.FLAGGED), _BATCH),
        ).fetchall()
        for memory_no, number, space_no, *packed in rows:
            self._repack(connection, int(memory_no), int(number), int(space_no), packed)
        return (int(rows[-1][0]), int(rows[-1][1])) if rows else None

    def drop_tainted(self, connection: apsw.Connection) -> int:
        """Forget tainted dictionaries that no body needs any more."""
        gone = connection.execute(
            """DELETE FROM dictionaries WHERE tainted = 1
               AND no NOT IN (SELECT DISTINCT dictionary FROM versions) RETURNING no"""
        ).fetchall()
        with self._lock:
            for (number,) in gone:
                self._known.pop(int(number), None)
        return len(gone)

    def _repack(
        self, connection: apsw.Connection, memory_no: int, number: int, space_no: int, packed: list[int | bytes]
    ) -> None:
        try:
            memory = self.unpack(connection, packed, memory_id="", space="", version=number)
        except BodyDamaged:
            # It can never be read again, with or without its dictionary, which may hold words that were purged.
            connection.execute(
                "UPDATE versions SET dictionary = 0 WHERE memory_no = ? AND number = ?", (memory_no, number)
            )
            return
        fresh = self.pack(connection, memory, space_no=space_no)
        connection.execute(
            "UPDATE versions SET encoding=?, dictionary=?, sha256=?, size=?, body=? WHERE memory_no=? AND number=?",
            (fresh.encoding, fresh.dictionary, fresh.sha256, fresh.size, fresh.data, memory_no, number),
        )

    def _plain_bodies(self, connection: apsw.Connection, rows: apsw.Cursor) -> Iterator[bytes]:
        for encoding, dictionary, _, _, data in rows:
            # A damaged body teaches nothing, and must not keep the others from being packed.
            with suppress(BodyDamaged):
                yield self._dictionary(connection, dictionary).decompress(data) if encoding == Encoding.ZSTD else data

    def _dictionary(self, connection: apsw.Connection, number: int | None) -> Dictionary:
        if not number:
            return generic_dictionary()
        with self._lock:
            if number not in self._known:
                row = connection.execute("SELECT data FROM dictionaries WHERE no = ?", (number,)).fetchone()
                if row is None:
                    raise BodyDamaged(f"dictionary {number} is missing")
                self._known[number] = Dictionary(number, row[0])
            return self._known[number]

    def _damaged(
        self,
        connection: apsw.Connection,
        number: int,
        memory_id: str,
        space: str,
        version: int,
        error: BodyDamaged,
    ) -> BodyDamaged:
        good = self._last_good(connection, number, version)
        hint = (
            f"Go back with `scrubjay revert {memory_id} --to {good}`"
            if good
            else "No older version is sound; restore it from a backup"
        )
        return BodyDamaged(
            f"memory {memory_id} (version {version}): {error.message}",
            hint=hint,
            memory_id=memory_id,
            space=space,
            version=version,
            last_good_version=good,
        )

    def _last_good(self, connection: apsw.Connection, number: int, version: int) -> int | None:
        rows = connection.execute(
            """SELECT number, encoding, dictionary, sha256, size, body FROM versions
               WHERE memory_no = ? AND number < ? ORDER BY number DESC""",
            (number, version),
        )
        for older, *packed in rows:
            try:
                self.unpack(connection, packed, memory_id="", space="", version=int(older))
            except BodyDamaged:
                continue
            return int(older)
        return None


def _unpacked(encoded: Encoded, dictionary: Dictionary, memory_id: str, space: str, version: int) -> Memory:
    body = decode(encoded, dictionary=dictionary)
    return from_body(body, memory_id=memory_id, space=space, version=version)
