"""What the store notes about itself: how often it was purged, and how often it was cleaned up after that."""

import apsw

_PURGES = "purges"
_CLEANED = "cleaned"


def purges(connection: apsw.Connection) -> int:
    """How many purges there were. What was read before the last of them may hold purged words."""
    return _number(connection, _PURGES)


def note_purge(connection: apsw.Connection) -> None:
    """Count a purge, in the transaction that makes it: from now on there is something to clean up."""
    _note(connection, _PURGES, purges(connection) + 1)


def is_unclean(connection: apsw.Connection) -> bool:
    """Whether a purge was cut off, or is under way, before its words were out of every file."""
    return purges(connection) != _number(connection, _CLEANED)


def note_cleaned(connection: apsw.Connection, *, purges: int) -> None:
    """Say that nothing is left of the first so many purges."""
    _note(connection, _CLEANED, purges)


def _number(connection: apsw.Connection, key: str) -> int:
    row = connection.execute("SELECT value FROM meta WHERE key = ?", (key,)).fetchone()
    return 0 if row is None else int(row[0])


def _note(connection: apsw.Connection, key: str, number: int) -> None:
    connection.execute("INSERT OR REPLACE INTO meta VALUES(?, ?)", (key, number))
