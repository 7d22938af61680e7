"""What every format of a configuration can do for us: find an entry, merge one in, take one out."""

from collections.abc import Mapping
from typing import Protocol

from scrubjay.model.memory import Json

Entry = Mapping[str, Json]
Place = tuple[str, ...]
"""The keys that lead to a value, outermost first."""


class Unreadable(Exception):
    """The text is not of its format. `line` and `column` count from 1; 0 is unknown."""

    def __init__(self, what: str, *, line: int = 0, column: int = 0) -> None:
        super().__init__(what)
        self.what = what
        self.line = line
        self.column = column


class Unfit(Exception):
    """The text is of its format, but an entry cannot stand where it should."""

    def __init__(self, what: str, *, place: Place) -> None:
        super().__init__(what)
        self.what = what
        self.place = place


class Syntax(Protocol):
    """A format; all of these raise Unreadable and Unfit."""

    @property
    def name(self) -> str:
        """What people call it."""
        ...

    def value(self, text: str) -> dict[str, Json]:
        """All that the text says."""
        ...

    def found(self, text: str, place: Place) -> Entry | None:
        """The entry that stands at a place."""
        ...

    def merged(self, text: str, place: Place, entry: Entry, *, drop: tuple[str, ...]) -> str:
        """The text with an entry's own values at a place, and without some keys; all else is left as it is."""
        ...

    def without(self, text: str, place: Place) -> str:
        """The text without the entry at a place."""
        ...

    def shown(self, place: Place, entry: Entry) -> str:
        """The entry alone, as it would stand in an empty file."""
        ...


def leaves(entry: Entry, *, above: Place = ()) -> dict[Place, Json]:
    """Each value of an entry by the keys that lead to it; lists are values."""
    reported: dict[Place, Json] = {}
    for key, value in entry.items():
        if isinstance(value, dict):
            reported |= leaves(value, above=(*above, key))
        else:
            reported[*above, key] = value
    return reported


def spelled(place: Place) -> str:
    """A place as people write it."""
    return ".".join(place)
