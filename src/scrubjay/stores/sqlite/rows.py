"""What the modules of this store ask of rows."""

from collections.abc import Iterable

import apsw

from scrubjay.model.memory import State
from scrubjay.stores.rows import STATE_NUMBERS, STATES


def marks(values: Iterable[object]) -> str:
    """As many question marks as values."""
    return ",".join("?" for _ in values)


def space_number(connection: apsw.Connection, space: str) -> int | None:
    """The number of a space, if anything was ever stored in it."""
    row = connection.execute("SELECT no FROM spaces WHERE name = ?", (space,)).fetchone()
    return None if row is None else int(row[0])


def lexicon_number(space_no: int, state: State) -> int:
    """Each state of each space has word statistics of its own."""
    return space_no * len(STATES) + STATE_NUMBERS[state]
