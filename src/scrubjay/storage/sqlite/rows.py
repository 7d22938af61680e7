"""Numbers, keys and counters that several modules of this store use."""

from collections.abc import Sized

import apsw

from scrubjay.model.memory import State
from scrubjay.storage.rows import STATE_NUMBERS, id_bytes, id_text

# Every text that begins with a prefix sorts before the prefix followed by this character.
LAST_CHARACTER = "\U0010ffff"
# More than there are states, so that later ones need no new numbers.
_LEXICONS_PER_SPACE = 16
# The counters of `meta`: all purges, and those that were cleaned up after.
_PURGES, _CLEANED = "purges", "cleaned"


def marks(values: Sized) -> str:
    """Return as many question marks as there are values."""
    return ",".join("?" * len(values))


def space_number(connection: apsw.Connection, space: str) -> int | None:
    """Return the number of a space, if anything was ever stored in it."""
    row = connection.execute("SELECT no FROM spaces WHERE name = ?", (space,)).fetchone()
    return None if row is None else int(row[0])


def run_key(run: str) -> str | bytes:
    """Return the stored form of a run: its name, or the bytes of its id, which almost every run has."""
    raw = id_bytes(run)
    return raw if raw and id_text(raw) == run else run


def run_name(key: str | bytes) -> str:
    """Return the name or id of a run from its stored form."""
    return key if isinstance(key, str) else id_text(key)


def lexicon_number(space_no: int, state: State) -> int:
    """Return the number of the lexicon, which counts the terms of one state of one space."""
    return space_no * _LEXICONS_PER_SPACE + STATE_NUMBERS[state]


def space_of_lexicon(lexicon_no: int) -> int:
    """Return the number of the space that a lexicon belongs to."""
    return lexicon_no // _LEXICONS_PER_SPACE


def purges(connection: apsw.Connection) -> int:
    """Return the number of purges. Data that was read before the last one may hold purged words."""
    return _counter(connection, _PURGES)


def note_purge(connection: apsw.Connection) -> None:
    """Count a purge, in its own transaction: until `note_cleaned`, there is something to clean up."""
    _set_counter(connection, _PURGES, purges(connection) + 1)


def is_unclean(connection: apsw.Connection) -> bool:
    """Return whether a purge is running, or was interrupted, before its words were out of every file."""
    return purges(connection) != _counter(connection, _CLEANED)


def note_cleaned(connection: apsw.Connection, *, purges: int) -> None:
    """Record that nothing is left of the first `purges` purges."""
    _set_counter(connection, _CLEANED, purges)


def _counter(connection: apsw.Connection, key: str) -> int:
    row = connection.execute("SELECT value FROM meta WHERE key = ?", (key,)).fetchone()
    return 0 if row is None else int(row[0])


def _set_counter(connection: apsw.Connection, key: str, number: int) -> None:
    connection.execute("INSERT OR REPLACE INTO meta VALUES(?, ?)", (key, number))
