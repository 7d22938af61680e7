"""TOML configurations: statements are found, added and cut in the text, and all else stays as it is.

A library that reads and writes whole documents takes the comments before the next table for ours.
"""

import json
import tomllib
from collections.abc import Iterator
from dataclasses import dataclass

from scrubjay.install.syntax import Entry, Place, Unfit, Unreadable
from scrubjay.install.toml_scan import Statement, members, statements
from scrubjay.model.memory import Json

_BARE = frozenset("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_-")


@dataclass(frozen=True, slots=True)
class TomlText:
    """The format of Codex."""

    name: str = "TOML"

    def value(self, text: str) -> dict[str, Json]:
        """All that the text says."""
        return _read(text)

    def found(self, text: str, place: Place) -> Entry | None:
        """The entry that stands at a place."""
        value: Json = _read(text)
        for depth, key in enumerate(place, start=1):
            if isinstance(value, dict) and key not in value:
                return None
            value = value[key] if isinstance(value, dict) else None
            if not isinstance(value, dict):
                raise Unfit("is no table", place=place[:depth])
        return value if isinstance(value, dict) else None

    def merged(self, text: str, place: Place, entry: Entry, *, drop: tuple[str, ...] = ()) -> str:
        """The text with an entry's own values at a place, and without some keys; all else is left as it is."""
        existing = self.found(text, place)
        if existing is None and not any(_reaches(statement, place) for statement in statements(text)):
            return _with_table(text, place, entry)
        for key in drop:
            text = self.without(text, (*place, key))
        for key, value in entry.items():
            if existing is None or existing.get(key) != value:
                text = _with_value(text, (*place, key), value)
        return text

    def without(self, text: str, place: Place) -> str:
        """The text without what stands at a place, and without the blank line before each table that goes."""
        _read(text)
        for section in reversed(list(_sections(text))):
            if section[0].is_header and section[0].path[: len(place)] == place:
                text = _without_lines(text, section[0].start, section[-1].end, blank_before=True)
                continue
            for item in reversed(section):
                if item.is_header:
                    continue
                if item.path[: len(place)] == place:
                    text = _without_lines(text, item.start, item.end)
                elif _reaches(item, place):
                    inner = _inline_without(text[item.value : item.end], place[len(item.path) :])
                    text = text[: item.value] + inner + text[item.end :]
        return text

    def shown(self, place: Place, entry: Entry) -> str:
        """The entry alone, as it would stand in an empty file."""
        return _with_table("", place, entry)


def _read(text: str) -> dict[str, Json]:
    try:
        return tomllib.loads(text)
    except ValueError as error:  # Also for a number with more digits than Python reads.
        raise Unreadable(str(error)) from None
    except RecursionError:
        raise Unreadable("nested too deeply") from None


def _reaches(one: Statement, place: Place) -> bool:
    """Whether an assignment's value holds a place within it."""
    return not one.is_header and len(one.path) < len(place) and place[: len(one.path)] == one.path


def _sections(text: str) -> Iterator[list[Statement]]:
    """Each header with the assignments under it; those before the first header by themselves."""
    section: list[Statement] = []
    for statement in statements(text):
        if statement.is_header and section:
            yield section
            section = []
        section.append(statement)
    if section:
        yield section


def _with_table(text: str, place: Place, entry: Entry) -> str:
    """The text with a new table at its end, and no line break at the end if it had none."""
    newline = _newline_of(text)
    lines = [f"[{_key(place)}]", *(f"{_key((key,))} = {_written(value)}" for key, value in entry.items())]
    block = newline.join(lines)
    if not text:
        return block + newline
    return text + newline + block + newline if text.endswith("\n") else text + newline * 2 + block


def _with_value(text: str, place: Place, value: Json) -> str:
    """The text with a value in a table that is there already, in whatever way that is written."""
    table = place[:-1]
    for item in statements(text):
        if item.path == place and not item.is_header:
            return text[: item.value] + _written(value) + text[item.end :]
        if _reaches(item, place):
            inner = _inline_with(text[item.value : item.end], place[len(item.path) :], value)
            return text[: item.value] + inner + text[item.end :]
    for section in _sections(text):
        if section[0].is_header and section[0].path == table:
            return _with_line(text, section[-1], f"{_key(place[-1:])} = {_written(value)}")
    dotted = [
        statement
        for statement in statements(text)
        if statement.path[: len(table)] == table and len(statement.under) < len(table)
    ]
    if dotted:
        return _with_line(text, dotted[-1], f"{_key(place[len(dotted[-1].under) :])} = {_written(value)}")
    return _with_table(text, table, {place[-1]: value})


def _with_line(text: str, after: Statement, line: str) -> str:
    start = text.rfind("\n", 0, after.start) + 1
    indent = text[start : after.start]
    end = text.find("\n", after.end) + 1
    newline = _newline_of(text)
    if not end:
        return text + newline + indent + line
    return text[:end] + indent + line + newline + text[end:]


def _without_lines(text: str, start: int, end: int, *, blank_before: bool = False) -> str:
    """The text without the lines from one place to another, and still without a line break at its end."""
    start = text.rfind("\n", 0, start) + 1
    end = text.find("\n", end) + 1
    if blank_before and start:
        before = text.rfind("\n", 0, start - 1) + 1
        start = start if text[before:start].strip() else before
    if end:
        return text[:start] + text[end:]
    return text[:start].removesuffix("\n").removesuffix("\r")


def _inline_with(text: str, place: Place, value: Json) -> str:
    """An inline table with a value."""
    if not text.startswith("{"):
        raise Unfit("is no table", place=place[:-1])
    inside = members(text, 0, len(text))
    for item in inside:
        if item.path == place:
            return text[: item.value] + _written(value) + text[item.end :]
        if _reaches(item, place):
            inner = _inline_with(text[item.value : item.end], place[len(item.path) :], value)
            return text[: item.value] + inner + text[item.end :]
    added = f"{_key(place)} = {_written(value)}"
    return f"{text[: inside[-1].end]}, {added}{text[inside[-1].end :]}" if inside else f"{{ {added} }}"


def _inline_without(text: str, place: Place) -> str:
    """An inline table without what stands at a place."""
    inside = members(text, 0, len(text)) if text.startswith("{") else []
    for index in reversed(range(len(inside))):
        item = inside[index]
        if _reaches(item, place):
            inner = _inline_without(text[item.value : item.end], place[len(item.path) :])
            text = text[: item.value] + inner + text[item.end :]
        elif item.path[: len(place)] == place:
            is_last = index == len(members(text, 0, len(text))) - 1
            start = inside[index - 1].end if is_last and index else item.start
            text = text[:start] + text[item.end if is_last else inside[index + 1].start :]
    return text


def _newline_of(text: str) -> str:
    at = text.find("\n")
    return "\r\n" if at > 0 and text[at - 1] == "\r" else "\n"


def _key(place: Place) -> str:
    return ".".join(key if key and _BARE.issuperset(key) else _written(key) for key in place)


def _written(value: Json) -> str:
    if isinstance(value, list):
        return f"[{', '.join(map(_written, value))}]"
    # JSON's escapes are TOML's too; only DEL may not stand by itself.
    return json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007f")
