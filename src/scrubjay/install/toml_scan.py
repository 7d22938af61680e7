"""Where the statements of a TOML document stand. What they mean is left to the standard library."""

import re
import tomllib
from collections.abc import Iterator
from dataclasses import dataclass

from scrubjay.install.syntax import Place
from scrubjay.model.memory import Json

_TOKEN = re.compile(
    r"""
    (?P<space>[ \t]++) | (?P<newline>\r?\n) | (?P<comment>\#[^\r\n]*+)
    | (?P<string>\"{3}(?:[^\\]|\\.)*?\"{3,5} | '{3}.*?'{3,5} | "(?:[^"\\\r\n]++|\\.)*+" | '[^'\r\n]*+')
    | (?P<open>[\[{]) | (?P<close>[\]}]) | (?P<comma>,) | (?P<equals>=) | (?P<other>[^][{},="'\#\s]++ | .)
    """,
    re.VERBOSE | re.DOTALL,
)


@dataclass(frozen=True, slots=True)
class Statement:
    """A table's header or an assignment; `path` has all keys from the root, `under` those of the table it is in.

    `end` is before spaces and a comment that follow; `value` is where the value begins, or -1 of a header.
    """

    path: Place
    under: Place
    start: int
    value: int
    end: int

    @property
    def is_header(self) -> bool:
        """Whether it opens a table."""
        return self.value < 0


@dataclass(frozen=True, slots=True)
class _Mark:
    kind: str
    start: int
    end: int
    depth: int


def statements(text: str) -> list[Statement]:
    """The statements of a document that the standard library could read, in order."""
    reported: list[Statement] = []
    under: Place = ()
    for marks in _split(list(_marks(text, 0, len(text))), at="newline", depth=0):
        start, end = marks[0].start, marks[-1].end
        if marks[0].kind == "open":
            under = _keys(text[start:end])
            reported.append(Statement(under, under, start, -1, end))
        else:
            key, value = _assignment(text, marks)
            reported.append(Statement((*under, *key), under, start, value, end))
    return reported


def members(text: str, start: int, end: int) -> list[Statement]:
    """The assignments within an inline table; their paths begin there."""
    reported: list[Statement] = []
    inside = list(_marks(text, start + 1, end - 1))
    for marks in _split([item for item in inside if item.kind != "newline"], at="comma", depth=0):
        key, value = _assignment(text, marks)
        reported.append(Statement(key, (), marks[0].start, value, marks[-1].end))
    return reported


def _marks(text: str, start: int, end: int) -> Iterator[_Mark]:
    """All but spaces and comments, with how deep in brackets each stands."""
    depth = 0
    for results in _TOKEN.finditer(text, start, end):
        kind = results.lastgroup or ""
        depth -= kind == "close"
        if kind not in ("space", "comment"):
            yield _Mark(kind, results.start(), results.end(), depth)
        depth += kind == "open"


def _split(marks: list[_Mark], *, at: str, depth: int) -> Iterator[list[_Mark]]:
    part: list[_Mark] = []
    for mark in marks:
        if mark.kind == at and mark.depth == depth:
            if part:
                yield part
            part = []
        else:
            part.append(mark)
    if part:
        yield part


def _assignment(text: str, marks: list[_Mark]) -> tuple[Place, int]:
    """The keys of an assignment, and where its value begins."""
    index = next(index for index, item in enumerate(marks) if item.kind == "equals" and item.depth == 0)
    return _keys(f"{text[marks[0].start : marks[index].start]} = 0"), marks[index + 1].start


def _keys(statement: str) -> Place:
    """The keys that one statement names."""
    reported: list[str] = []
    value: Json = tomllib.loads(statement)
    while isinstance(value, dict) and value:
        ((key, value),) = value.items()
        reported.append(key)
        if isinstance(value, list):
            value = value[0]
    return tuple(reported)
