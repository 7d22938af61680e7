"""What each format of a configuration file offers: find an entry, merge it, remove it."""

from collections.abc import Mapping
from typing import Protocol

from scrubjay.model.memory import Json

ServerEntry = Mapping[str, Json]
KeyPath = tuple[str, ...]
"""The keys that lead to a value, outermost first."""


class InvalidSyntax(Exception):
    """The text does not have its format. `line` and `column` count from 1; 0 means unknown."""

    def __init__(self, problem: str, *, line: int = 0, column: int = 0) -> None:
        super().__init__(problem)
        self.problem = problem
        self.line = line
        self.column = column


class NotEditable(Exception):
    """The text has its format, but an entry cannot be at its path."""

    def __init__(self, problem: str, *, path: KeyPath) -> None:
        super().__init__(problem)
        self.problem = problem
        self.path = path


class Syntax(Protocol):
    """A format; every method raises InvalidSyntax and NotEditable."""

    @property
    def name(self) -> str:
        """The name of the format."""
        ...

    def parse(self, text: str) -> dict[str, Json]:
        """Return the value of the document."""
        ...

    def find(self, text: str, path: KeyPath) -> ServerEntry | None:
        """Return the entry at a path."""
        ...

    def merge(self, text: str, path: KeyPath, entry: ServerEntry, *, drop: tuple[str, ...]) -> str:
        """Return the text with the values of an entry at a path and without the keys to drop; the rest stays."""
        ...

    def remove(self, text: str, path: KeyPath) -> str:
        """Return the text without the entry at a path."""
        ...

    def render(self, path: KeyPath, entry: ServerEntry) -> str:
        """Return a document that contains only the entry."""
        ...


def leaves(entry: ServerEntry, *, above: KeyPath = ()) -> dict[KeyPath, Json]:
    """Return each value of an entry by its path; a list is a value."""
    values: dict[KeyPath, Json] = {}
    for key, value in entry.items():
        if isinstance(value, dict):
            values |= leaves(value, above=(*above, key))
        else:
            values[*above, key] = value
    return values


def dotted(path: KeyPath) -> str:
    """Return a path for a message, with dots between its keys."""
    return ".".join(path)


def newline_of(text: str) -> str:
    """Return the line ending of a text: that of its first line."""
    at = text.find("\n")
    return "\r\n" if at > 0 and text[at - 1] == "\r" else "\n"
