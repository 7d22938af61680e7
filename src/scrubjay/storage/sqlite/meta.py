"""Counters that the store keeps about itself: purges, and how many of them were cleaned up."""

import apsw

_PURGES = "purges"
_CLEANED = "cleaned"


def purges(connection: apsw.Connection) -> int:
    """Return the number of purges. Data that was read before the last one may hold purged words."""
    return _read(connection, _PURGES)


def note_purge(connection: apsw.Connection) -> None:
    """Count a purge, in its own transaction: until `note_cleaned`, there is something to clean up."""
    _write(connection, _PURGES, purges(connection) + 1)


def is_unclean(connection: apsw.Connection) -> bool:
    """Return whether a purge is running, or was interrupted, before its words were out of every file."""
    return purges(connection) != _read(connection, _CLEANED)


def note_cleaned(connection: apsw.Connection, *, purges: int) -> None:
    """Record that nothing is left of the first `purges` purges."""
    _write(connection, _CLEANED, purges)


def _read(connection: apsw.Connection, key: str) -> int:
    row = connection.execute("SELECT value FROM meta WHERE key = ?", (key,)).fetchone()
    return 0 if row is None else int(row[0])


def _write(connection: apsw.Connection, key: str, number: int) -> None:
    connection.execute("INSERT OR REPLACE INTO meta VALUES(?, ?)", (key, number))
