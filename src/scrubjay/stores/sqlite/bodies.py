"""The bodies of versions: packed on the way in, checked on the way out, with a dictionary per space."""

import threading
import time
from collections.abc import Generator, Iterator, Sequence
from contextlib import closing, suppress
from functools import partial

import apsw

from scrubjay.errors import BodyDamaged
from scrubjay.model.memory import Memory
from scrubjay.model.snapshot import to_body
from scrubjay.stores.codec import Dictionary, Encoded, Encoding, encode, generic_dictionary, pack
from scrubjay.stores.packing import (
    BATCH,
    SAMPLES,
    WHOLE_AT_THE_END,
    Kept,
    Unpacking,
    damaged_memory,
    folded,
    is_training_due,
)
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

# What is kept of a version, in order.
KEPT = "number, encoding, dictionary, sha256, size, body"

Row = tuple[int, bytes, str, int, int | None, int, int, int, bytes, int, bytes]


class Bodies:
    """Reads and writes bodies; keeps the dictionaries it has met in memory, and the small bodies it unpacked last."""

    def __init__(self) -> None:
        self._known: dict[int, Dictionary] = {}
        self._lock = threading.Lock()
        self._unpacking = Unpacking()

    def pack(self, connection: apsw.Connection, memory: Memory, *, space_no: int) -> Encoded:
        """A memory's body, packed with the newest sound dictionary of its space."""
        return encode(to_body(memory), dictionary=self._newest_dictionary(connection, space_no))

    def fold(self, connection: apsw.Connection, memory_no: int, *, number: int) -> None:
        """Before a version of this number is added: tell the one that need no longer be whole by the one after it."""
        rows = connection.execute(
            f"SELECT {KEPT} FROM versions WHERE memory_no = ? ORDER BY number DESC LIMIT {WHOLE_AT_THE_END}",
            (memory_no,),
        ).fetchall()
        if len(rows) < WHOLE_AT_THE_END or int(rows[0][0]) >= number:
            return
        line = [_kept(row) for row in reversed(rows)]
        plain = [self._sound(connection, memory_no, kept) for kept in line]
        # As if the one that follows were there already.
        packed = folded([*zip(line, plain, strict=True), (line[-1], None)])[0]
        if packed is not line[0].encoded:
            _store(connection, memory_no, Kept(line[0].number, packed))

    def read_memory(self, connection: apsw.Connection, row: Row) -> Memory:
        """The memory of a row of MEMORY_COLUMNS; a damaged one is named, with its last good version."""
        number, raw_id, space, version, accessed, count, *packed = row
        memory_id = id_text(raw_id)
        try:
            return self.unpack(
                connection, [version, *packed], memory_no=number, memory_id=memory_id, space=space, accessed=accessed,
                count=count,
            )  # fmt: skip
        except BodyDamaged as error:
            good = self._last_good(connection, number, version)
            raise damaged_memory(error, memory_id=memory_id, space=space, version=version, last_good=good) from error

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
        """The memory that (number, encoding, dictionary, sha256, size, body) of a version hold."""
        kept = _kept(packed)
        with closing(self._newer(connection, memory_no, kept)) as newer:
            return self._unpacking.memory(
                kept, dictionaries=partial(self._dictionary, connection), memory_id=memory_id, space=space,
                newer=newer, accessed=accessed, count=count,
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
            """SELECT m.space_no, v.memory_no, v.number, v.encoding, v.dictionary, v.sha256, v.size, v.body
               FROM versions v JOIN memories m ON m.no = v.memory_no
               WHERE (v.memory_no, v.number) > (?, ?)
                 AND (v.encoding = ? OR v.dictionary IN (SELECT no FROM dictionaries WHERE tainted = 1))
               ORDER BY v.memory_no, v.number LIMIT ?""",
            (*after, int(Encoding.FLAGGED), BATCH),
        ).fetchall()
        for space_no, memory_no, *packed in rows:
            self._repack(connection, int(space_no), int(memory_no), _kept(packed))
        return (int(rows[-1][1]), int(rows[-1][2])) if rows else None

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

    def _repack(self, connection: apsw.Connection, space_no: int, memory_no: int, kept: Kept) -> None:
        plain = self._sound(connection, memory_no, kept)
        if plain is None:
            # It can never be read again, with or without its dictionary, which may hold words that were purged.
            connection.execute(
                "UPDATE versions SET dictionary = 0 WHERE memory_no = ? AND number = ?", (memory_no, kept.number)
            )
            return
        # The same bytes to the letter: an older version may be told by what it differs in from them.
        fresh = pack(plain, dictionary=self._newest_dictionary(connection, space_no))
        _store(connection, memory_no, Kept(kept.number, fresh))

    def _sound(self, connection: apsw.Connection, memory_no: int, kept: Kept) -> bytes | None:
        """The plain bytes of a version, unless it is damaged."""
        with suppress(BodyDamaged), closing(self._newer(connection, memory_no, kept)) as newer:
            return self._unpacking.plain(kept, dictionaries=partial(self._dictionary, connection), newer=newer)
        return None

    def _newer(self, connection: apsw.Connection, memory_no: int, kept: Kept) -> Generator[Kept]:
        """The versions after one, in their order; asked for only if somebody wants to know."""
        rows = connection.execute(
            f"SELECT {KEPT} FROM versions WHERE memory_no = ? AND number > ? ORDER BY number", (memory_no, kept.number)
        )
        with closing(rows):
            for row in rows:
                yield _kept(row)

    def _plain_bodies(self, connection: apsw.Connection, rows: apsw.Cursor) -> Iterator[bytes]:
        for encoding, dictionary, _, _, data in rows:
            # A damaged body teaches nothing, and must not keep the others from being packed.
            with suppress(BodyDamaged):
                if encoding != Encoding.DELTA:
                    is_packed = encoding == Encoding.ZSTD
                    yield self._dictionary(connection, dictionary).decompress(data) if is_packed else data

    def _newest_dictionary(self, connection: apsw.Connection, space_no: int) -> Dictionary:
        # Asked anew for each write: another process may have purged, and so replaced, the one in memory.
        row = connection.execute(
            "SELECT max(no) FROM dictionaries WHERE space_no = ? AND tainted = 0", (space_no,)
        ).fetchone()
        return self._dictionary(connection, row[0] if row else None)

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
            f"SELECT {KEPT} FROM versions WHERE memory_no = ? AND number < ? ORDER BY number DESC",
            (number, version),
        )
        with closing(rows):
            older = (kept for kept in map(_kept, rows) if self._sound(connection, number, kept) is not None)
            return next((kept.number for kept in older), None)


def _kept(row: Sequence[int | bytes]) -> Kept:
    number, encoding, dictionary, sha256, size, data = row
    return Kept(int(number), Encoded(bytes(data), Encoding(encoding), int(dictionary), bytes(sha256), int(size)))


def _store(connection: apsw.Connection, memory_no: int, kept: Kept) -> None:
    """Put a version that is packed in another way in the place of what it was."""
    packed = kept.encoded
    connection.execute(
        "UPDATE versions SET encoding=?, dictionary=?, sha256=?, size=?, body=? WHERE memory_no=? AND number=?",
        (int(packed.encoding), packed.dictionary, packed.sha256, packed.size, packed.data, memory_no, kept.number),
    )
