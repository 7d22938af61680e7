"""Numbers and keys that several modules of this store use in their rows."""

from collections.abc import Iterable

import apsw

from scrubjay.model.memory import State
from scrubjay.storage.rows import STATE_NUMBERS, id_bytes, id_text

# Every text that begins with a prefix sorts before the prefix followed by this character.
LAST_CHARACTER = "\U0010ffff"
# More than there are states, so that later ones need no new numbers.
_LEXICONS_PER_SPACE = 16


def marks(values: Iterable[object]) -> str:
    """Return as many question marks as there are values."""
    return ",".join("?" for _ in values)


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
