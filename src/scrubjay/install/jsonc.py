"""Reads JSON with comments and trailing commas, and remembers where everything stands.

Configurations are edited as text, so that what we do not change stays as it is, to the byte.
"""

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass

from scrubjay.install.syntax import Unreadable
from scrubjay.model.memory import Json

_SPACE = " \t\r\n"
_TRIVIA = re.compile(r"(?:[ \t\r\n]++|//[^\r\n]*+|/\*.*?\*/)*+", re.DOTALL)
_COMMENT = re.compile(r"//[^\r\n]*+|/\*.*?\*/", re.DOTALL)
_STRING = re.compile(r'"(?:[^"\\\x00-\x1f]++|\\.)*+"')
_PLAIN = re.compile(r"true|false|null|-?(?:0|[1-9][0-9]*+)(?:\.[0-9]++)?(?:[eE][+-]?[0-9]++)?")
_DEEPEST = 100


@dataclass(frozen=True, slots=True)
class Node:
    """A value and where it stands; `members` only of an object, in their order and with all that stand twice."""

    start: int
    end: int
    value: Json
    members: "tuple[Member, ...] | None" = None


@dataclass(frozen=True, slots=True)
class Member:
    """A key and its value; `comma` is where the comma after it stands, or -1."""

    key: str
    start: int
    value: Node
    comma: int = -1


def parse(text: str) -> Node | None:
    """The value of a document; None when there is nothing in it but comments. Raises Unreadable."""
    reader = _Reader(text)
    start = reader.skip(0)
    if start == len(text):
        return None
    root = reader.value(start, depth=0)
    end = reader.skip(root.end)
    if end != len(text):
        raise reader.trouble(end, "something after the end")
    return root


def comments(text: str, start: int, end: int) -> Iterator[tuple[int, int]]:
    """Where the comments stand in what holds nothing else."""
    at = start
    while at < end:
        if text[at] in _SPACE:
            at += 1
        elif (results := _COMMENT.match(text, at, end)) is not None:
            yield at, results.end()
            at = results.end()
        else:
            at += 1  # A comma.


class _Reader:
    def __init__(self, text: str) -> None:
        self._text = text

    def skip(self, at: int) -> int:
        """The next place that is neither space nor comment."""
        results = _TRIVIA.match(self._text, at)
        return results.end() if results is not None else at

    def trouble(self, at: int, what: str) -> Unreadable:
        line = self._text.count("\n", 0, at) + 1
        column = at - (self._text.rfind("\n", 0, at) + 1) + 1
        return Unreadable(what, line=line, column=column)

    def value(self, at: int, *, depth: int) -> Node:
        if depth > _DEEPEST:
            raise self.trouble(at, f"more than {_DEEPEST} levels")
        head = self._text[at : at + 1]
        if head == "{":
            return self._object(at, depth=depth)
        if head == "[":
            return self._array(at, depth=depth)
        if head == '"':
            value, end = self._string(at)
            return Node(at, end, value)
        results = _PLAIN.match(self._text, at)
        if results is None:
            raise self.trouble(at, "a value is missing" if head in ("", "}", "]", ",", ":") else f"no value: {head!r}")
        return Node(at, results.end(), _plain_value(results[0]))

    def _object(self, at: int, *, depth: int) -> Node:
        start = at
        members: list[Member] = []
        at = self.skip(at + 1)
        while self._text[at : at + 1] != "}":
            if self._text[at : at + 1] != '"':
                raise self.trouble(at, "a key in double quotes or the end of the object is missing")
            key, after = self._string(at)
            colon = self.skip(after)
            if self._text[colon : colon + 1] != ":":
                raise self.trouble(colon, "a colon is missing")
            value = self.value(self.skip(colon + 1), depth=depth + 1)
            comma, next_at = self._comma(value.end, closing="}")
            members.append(Member(key, at, value, comma))
            at = next_at
        return Node(start, at + 1, {member.key: member.value.value for member in members}, tuple(members))

    def _array(self, at: int, *, depth: int) -> Node:
        start = at
        values: list[Json] = []
        at = self.skip(at + 1)
        while self._text[at : at + 1] != "]":
            value = self.value(at, depth=depth + 1)
            values.append(value.value)
            _, at = self._comma(value.end, closing="]")
        return Node(start, at + 1, values)

    def _comma(self, at: int, *, closing: str) -> tuple[int, int]:
        """Where the comma after a value stands, or -1, and where to go on."""
        at = self.skip(at)
        if self._text[at : at + 1] == ",":
            return at, self.skip(at + 1)
        if self._text[at : at + 1] != closing:
            raise self.trouble(at, f"a comma or {closing!r} is missing")
        return -1, at

    def _string(self, at: int) -> tuple[str, int]:
        results = _STRING.match(self._text, at)
        if results is None:
            raise self.trouble(at, "a string that does not end on its line")
        if "\\" not in results[0]:
            return results[0][1:-1], results.end()
        try:
            return json.loads(results[0]), results.end()
        except ValueError:
            raise self.trouble(at, "a string with an escape that there is not") from None


def _plain_value(text: str) -> Json:
    try:
        return json.loads(text)
    except ValueError:
        return text  # More digits than Python reads: only ever compared.
