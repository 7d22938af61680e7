"""The bodies of versions: packed on the way in, checked on the way out, with a dictionary per space."""

import threading
import time
from collections.abc import Iterator
from contextlib import suppress

import apsw

from scrubjay.errors import BodyDamaged
from scrubjay.model.memory import Memory
from scrubjay.model.snapshot import to_body
from scrubjay.stores.codec import Dictionary, Encoded, Encoding, encode, generic_dictionary
from scrubjay.stores.packing import BATCH, SAMPLES, Unpacking, damaged_memory, is_training_due
from scrubjay.stores.rows import id_text
from scrubjay.stores.sqlite.meta import purges

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
        self._unpacking = Unpacking()

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
            good = self._last_good(connection, number, version)
            raise damaged_memory(error, memory_id=memory_id, space=space, version=version, last_good=good) from error

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
        return self._unpacking.memory(
            encoded, self._dictionary(connection, encoded.dictionary), memory_id=memory_id, space=space,
            version=version, accessed=accessed, count=count,
        )  # fmt: skip

    def forget_unpacked(self) -> None:
        """Keep nothing of what was unpacked: some of it has been purged."""
        self._unpacking.forget()

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
        return is_training_due(bodies, trained_on)

    def samples(self, connection: apsw.Connection, space: str) -> tuple[list[bytes], int]:
        """Plain bodies to learn from, spread over the whole space, and how many purges there were before."""
        rows = connection.execute(
            """SELECT v.encoding, v.dictionary, v.sha256, v.size, v.body
               FROM memories m JOIN versions v ON v.memory_no = m.no AND v.number = m.version
               WHERE m.space_no = (SELECT no FROM spaces WHERE name = ?) ORDER BY (m.no * 7919) % 10007 LIMIT ?""",
            (space, SAMPLES),
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
            (*after, int(Encoding.FLAGGED), BATCH),
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
