"""What the modules of this store ask of rows."""

from collections.abc import Iterable

import apsw

from scrubjay.model.memory import State
from scrubjay.stores.rows import STATE_NUMBERS, id_bytes, id_text

# What begins with a text comes before the text with this behind it.
LAST_CHARACTER = "\U0010ffff"
# There were four states when the numbers of lexicons were first given; those of later ones begin far above all these.
_FIRST_STATES = 4
_LATER = 1 << 40


def marks(values: Iterable[object]) -> str:
    """As many question marks as values."""
    return ",".join("?" for _ in values)


def space_number(connection: apsw.Connection, space: str) -> int | None:
    """The number of a space, if anything was ever stored in it."""
    row = connection.execute("SELECT no FROM spaces WHERE name = ?", (space,)).fetchone()
    return None if row is None else int(row[0])


def run_key(run: str) -> str | bytes:
    """What a run is kept under: its name, or the bytes of its id, which almost every run has and is most of its row."""
    raw = id_bytes(run)
    return raw if raw and id_text(raw) == run else run


def run_name(kept: str | bytes) -> str:
    """The name or id of a run, from what it is kept under."""
    return kept if isinstance(kept, str) else id_text(kept)


def lexicon_number(space_no: int, state: State) -> int:
    """Each state of each space has word statistics of its own."""
    later, number = divmod(STATE_NUMBERS[state], _FIRST_STATES)
    return later * _LATER + space_no * _FIRST_STATES + number


def space_of_lexicon(lexicon_no: int) -> int:
    """The number of the space that a lexicon is of."""
    return lexicon_no % _LATER // _FIRST_STATES
