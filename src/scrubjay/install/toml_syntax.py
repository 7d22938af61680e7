"""TOML configuration files: statements are found, added and removed in the text, and the rest stays.

A library that reads and writes whole documents would attach the comments before the next table to our entry.
"""

import json
import re
import tomllib
from collections.abc import Iterator

from scrubjay.install.syntax import InvalidSyntax, KeyPath, NotEditable, ServerEntry, newline_of
from scrubjay.lazy import dataclass
from scrubjay.model.memory import Json

_BARE = frozenset("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_-")
_TOKEN = re.compile(
    r"""
    (?P<space>[ \t]++) | (?P<newline>\r?\n) | (?P<comment>\#[^\r\n]*+)
    | (?P<string>\"{3}(?:[^\\]|\\.)*?\"{3,5} | '{3}.*?'{3,5} | "(?:[^"\\\r\n]++|\\.)*+" | '[^'\r\n]*+')
    | (?P<open>[\[{]) | (?P<close>[\]}]) | (?P<comma>,) | (?P<equals>=) | (?P<other>[^][{},="'\#\s]++ | .)
    """,
    re.VERBOSE | re.DOTALL,
)


@dataclass(frozen=True, slots=True)
class TomlStatement:
    """A table header or an assignment; `path` has all keys from the root, `table` those of its table.

    `end` is before trailing spaces and a comment; `value` is the start of the value, or -1 for a header.
    """

    path: KeyPath
    table: KeyPath
    start: int
    value: int
    end: int

    @property
    def is_header(self) -> bool:
        """Whether it opens a table."""
        return self.value < 0

    def contains(self, path: KeyPath) -> bool:
        """Return whether a path leads into the value of this assignment."""
        return not self.is_header and len(self.path) < len(path) and path[: len(self.path)] == self.path


@dataclass(frozen=True, slots=True)
class _Token:
    kind: str
    start: int
    end: int
    depth: int


@dataclass(frozen=True, slots=True)
class TomlSyntax:
    """The format of Codex."""

    name: str = "TOML"

    def parse(self, text: str) -> dict[str, Json]:
        """Return the value of the document."""
        try:
            return tomllib.loads(text)
        except ValueError as error:  # Also for a number with more digits than Python reads.
            raise InvalidSyntax(str(error)) from None
        except RecursionError:
            raise InvalidSyntax("nested too deeply") from None

    def find(self, text: str, path: KeyPath) -> ServerEntry | None:
        """Return the entry at a path."""
        value: Json = self.parse(text)
        for depth, key in enumerate(path, start=1):
            if isinstance(value, dict) and key not in value:
                return None
            value = value[key] if isinstance(value, dict) else None
            if not isinstance(value, dict):
                raise NotEditable("is not a table", path=path[:depth])
        return value if isinstance(value, dict) else None

    def merge(self, text: str, path: KeyPath, entry: ServerEntry, *, drop: tuple[str, ...] = ()) -> str:
        """Return the text with the values of an entry at a path and without the keys to drop; the rest stays."""
        existing = self.find(text, path)
        if existing is None and not any(statement.contains(path) for statement in statements(text)):
            return _add_table(text, path, entry)
        for key in drop:
            text = self.remove(text, (*path, key))
        for key, value in entry.items():
            if existing is None or existing.get(key) != value:
                text = _set_value(text, (*path, key), value)
        return text

    def remove(self, text: str, path: KeyPath) -> str:
        """Return the text without the value at a path, and without the blank line before each removed table."""
        self.parse(text)
        for section in reversed(list(_sections(text))):
            if section[0].is_header and section[0].path[: len(path)] == path:
                text = _remove_lines(text, section[0].start, section[-1].end, blank_before=True)
                continue
            for statement in reversed(section):
                if statement.is_header:
                    continue
                if statement.path[: len(path)] == path:
                    text = _remove_lines(text, statement.start, statement.end)
                elif statement.contains(path):
                    inner = _remove_inline(text[statement.value : statement.end], path[len(statement.path) :])
                    text = text[: statement.value] + inner + text[statement.end :]
        return text

    def render(self, path: KeyPath, entry: ServerEntry) -> str:
        """Return a document that contains only the entry."""
        return _add_table("", path, entry)


def statements(text: str) -> list[TomlStatement]:
    """Return the statements of a valid document, in order."""
    parsed: list[TomlStatement] = []
    table: KeyPath = ()
    for tokens in _split(list(_tokens(text, 0, len(text))), at="newline", depth=0):
        start, end = tokens[0].start, tokens[-1].end
        if tokens[0].kind == "open":
            table = _keys(text[start:end])
            parsed.append(TomlStatement(table, table, start, -1, end))
        else:
            key, value = _assignment(text, tokens)
            parsed.append(TomlStatement((*table, *key), table, start, value, end))
    return parsed


def _inline_members(text: str) -> list[TomlStatement]:
    """Return the assignments of an inline table; their paths start there."""
    members: list[TomlStatement] = []
    inside = list(_tokens(text, 1, len(text) - 1))
    for tokens in _split([token for token in inside if token.kind != "newline"], at="comma", depth=0):
        key, value = _assignment(text, tokens)
        members.append(TomlStatement(key, (), tokens[0].start, value, tokens[-1].end))
    return members


def _tokens(text: str, start: int, end: int) -> Iterator[_Token]:
    """Yield all tokens except spaces and comments, with the depth of their brackets."""
    depth = 0
    for match in _TOKEN.finditer(text, start, end):
        kind = match.lastgroup or ""
        depth -= kind == "close"
        if kind not in ("space", "comment"):
            yield _Token(kind, match.start(), match.end(), depth)
        depth += kind == "open"


def _split(tokens: list[_Token], *, at: str, depth: int) -> Iterator[list[_Token]]:
    part: list[_Token] = []
    for token in tokens:
        if token.kind == at and token.depth == depth:
            if part:
                yield part
            part = []
        else:
            part.append(token)
    if part:
        yield part


def _assignment(text: str, tokens: list[_Token]) -> tuple[KeyPath, int]:
    """Return the keys of an assignment, and the start of its value."""
    index = next(index for index, token in enumerate(tokens) if token.kind == "equals" and token.depth == 0)
    return _keys(f"{text[tokens[0].start : tokens[index].start]} = 0"), tokens[index + 1].start


def _keys(statement: str) -> KeyPath:
    """Return the keys of a statement; the standard library parses them."""
    keys: list[str] = []
    value: Json = tomllib.loads(statement)
    while isinstance(value, dict) and value:
        ((key, value),) = value.items()
        keys.append(key)
        if isinstance(value, list):
            value = value[0]
    return tuple(keys)


def _sections(text: str) -> Iterator[list[TomlStatement]]:
    """Yield each header with its assignments; those before the first header come first."""
    section: list[TomlStatement] = []
    for statement in statements(text):
        if statement.is_header and section:
            yield section
            section = []
        section.append(statement)
    if section:
        yield section


def _add_table(text: str, path: KeyPath, entry: ServerEntry) -> str:
    """Return the text with a new table at its end; a text without a final newline stays so."""
    newline = newline_of(text)
    lines = [f"[{_key(path)}]", *(f"{_key((key,))} = {_render(value)}" for key, value in entry.items())]
    block = newline.join(lines)
    if not text:
        return block + newline
    return text + newline + block + newline if text.endswith("\n") else text + newline * 2 + block


def _set_value(text: str, path: KeyPath, value: Json) -> str:
    """Return the text with a value in an existing table, in whatever style that is written."""
    table = path[:-1]
    for statement in statements(text):
        if statement.path == path and not statement.is_header:
            return text[: statement.value] + _render(value) + text[statement.end :]
        if statement.contains(path):
            inner = _set_inline(text[statement.value : statement.end], path[len(statement.path) :], value)
            return text[: statement.value] + inner + text[statement.end :]
    for section in _sections(text):
        if section[0].is_header and section[0].path == table:
            return _add_line(text, section[-1], f"{_key(path[-1:])} = {_render(value)}")
    dotted = [
        statement
        for statement in statements(text)
        if statement.path[: len(table)] == table and len(statement.table) < len(table)
    ]
    if dotted:
        return _add_line(text, dotted[-1], f"{_key(path[len(dotted[-1].table) :])} = {_render(value)}")
    return _add_table(text, table, {path[-1]: value})


def _add_line(text: str, after: TomlStatement, line: str) -> str:
    start = text.rfind("\n", 0, after.start) + 1
    indent = text[start : after.start]
    end = text.find("\n", after.end) + 1
    newline = newline_of(text)
    if not end:
        return text + newline + indent + line
    return text[:end] + indent + line + newline + text[end:]


def _remove_lines(text: str, start: int, end: int, *, blank_before: bool = False) -> str:
    """Return the text without the lines of a range; a text without a final newline stays so."""
    start = text.rfind("\n", 0, start) + 1
    end = text.find("\n", end) + 1
    if blank_before and start:
        before = text.rfind("\n", 0, start - 1) + 1
        start = start if text[before:start].strip() else before
    if end:
        return text[:start] + text[end:]
    return text[:start].removesuffix("\n").removesuffix("\r")


def _set_inline(text: str, path: KeyPath, value: Json) -> str:
    """Return an inline table with a value."""
    if not text.startswith("{"):
        raise NotEditable("is not a table", path=path[:-1])
    members = _inline_members(text)
    for member in members:
        if member.path == path:
            return text[: member.value] + _render(value) + text[member.end :]
        if member.contains(path):
            inner = _set_inline(text[member.value : member.end], path[len(member.path) :], value)
            return text[: member.value] + inner + text[member.end :]
    added = f"{_key(path)} = {_render(value)}"
    return f"{text[: members[-1].end]}, {added}{text[members[-1].end :]}" if members else f"{{ {added} }}"


def _remove_inline(text: str, path: KeyPath) -> str:
    """Return an inline table without the value at a path."""
    members = _inline_members(text) if text.startswith("{") else []
    for index in reversed(range(len(members))):
        member = members[index]
        if member.contains(path):
            inner = _remove_inline(text[member.value : member.end], path[len(member.path) :])
            text = text[: member.value] + inner + text[member.end :]
        elif member.path[: len(path)] == path:
            is_last = index == len(_inline_members(text)) - 1
            start = members[index - 1].end if is_last and index else member.start
            text = text[:start] + text[member.end if is_last else members[index + 1].start :]
    return text


def _key(path: KeyPath) -> str:
    return ".".join(key if key and _BARE.issuperset(key) else _render(key) for key in path)


def _render(value: Json) -> str:
    if isinstance(value, list):
        return f"[{', '.join(map(_render, value))}]"
    # TOML has the escapes of JSON; only DEL must be escaped as well.
    return json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007f")
