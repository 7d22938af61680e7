"""JSON configuration files, with or without comments: values are set and removed in the text, and the rest stays.

The parser records the position of every value, and accepts comments and trailing commas.
"""

import json
import re
from collections.abc import Iterator

from scrubjay.install.syntax import InvalidSyntax, KeyPath, NotEditable, ServerEntry, leaves, newline_of
from scrubjay.lazy import dataclass
from scrubjay.model.memory import Json

_BLANKS = " \t"
_SPACE = " \t\r\n"
_UNIT = "  "
_TRIVIA = re.compile(r"(?:[ \t\r\n]++|//[^\r\n]*+|/\*.*?\*/)*+", re.DOTALL)
_COMMENT = re.compile(r"//[^\r\n]*+|/\*.*?\*/", re.DOTALL)
_STRING = re.compile(r'"(?:[^"\\\x00-\x1f]++|\\.)*+"')
_PLAIN = re.compile(r"true|false|null|-?(?:0|[1-9][0-9]*+)(?:\.[0-9]++)?(?:[eE][+-]?[0-9]++)?")
_MAX_DEPTH = 100


@dataclass(frozen=True, slots=True)
class JsonNode:
    """A value and its position; an object has `members`, in their order and with duplicates."""

    start: int
    end: int
    value: Json
    members: "tuple[JsonMember, ...] | None" = None


@dataclass(frozen=True, slots=True)
class JsonMember:
    """A key and its value; `comma` is the position of the comma after it, or -1."""

    key: str
    start: int
    value: JsonNode
    comma: int = -1


@dataclass(frozen=True, slots=True)
class JsonSyntax:
    """The format of most clients."""

    name: str = "JSON"

    def parse(self, text: str) -> dict[str, Json]:
        """Return the value of the document."""
        root = parse(text)
        value = {} if root is None else root.value
        if not isinstance(value, dict):
            raise NotEditable("the document is not an object", path=())
        return value

    def find(self, text: str, path: KeyPath) -> ServerEntry | None:
        """Return the entry at a path."""
        node = _node_at(parse(text), path)
        if node is None:
            return None
        if not isinstance(node.value, dict):
            raise NotEditable("is not an object", path=path)
        return node.value

    def merge(self, text: str, path: KeyPath, entry: ServerEntry, *, drop: tuple[str, ...] = ()) -> str:
        """Return the text with the values of an entry at a path and without the keys to drop; the rest stays."""
        if self.find(text, path) is None:
            return set_value(text, path, dict(entry))
        for key in drop:
            text = remove(text, (*path, key))
        for keys, value in leaves(entry).items():
            text = set_value(text, (*path, *keys), value)
        return text

    def remove(self, text: str, path: KeyPath) -> str:
        """Return the text without the entry at a path."""
        return remove(text, path)

    def render(self, path: KeyPath, entry: ServerEntry) -> str:
        """Return a document that contains only the entry."""
        return set_value("", path, dict(entry))


def parse(text: str) -> JsonNode | None:
    """Return the value of a document; None if it contains only comments. Raises InvalidSyntax."""
    reader = _Parser(text)
    start = reader.skip(0)
    if start == len(text):
        return None
    root = reader.value(start, depth=0)
    end = reader.skip(root.end)
    if end != len(text):
        raise reader.error(end, "text after the end of the document")
    return root


def set_value(text: str, path: KeyPath, value: Json) -> str:
    """Return the text with a value at a path; missing objects on the path are created."""
    root = parse(text)
    if root is None:
        gap = "" if not text or text.endswith("\n") else newline_of(text)
        return set_value(f"{text}{gap}{{}}{newline_of(text)}", path, value)
    node = root
    for depth, key in enumerate(path):
        member = _member(node, key, path=path[: depth + 1])
        if member is None:
            for inner in reversed(path[depth + 1 :]):
                value = {inner: value}
            return _add_member(text, root, node, key, value)
        node = member.value
    if node.value == value:
        return text
    rendered = _render(value, indent=_indent_of_line(text, node.start), unit=_unit_of(text, root), text=text)
    return text[: node.start] + rendered + text[node.end :]


def remove(text: str, path: KeyPath) -> str:
    """Return the text without the member at a path; the object that contains it stays."""
    parent = _node_at(parse(text), path[:-1])
    member = None if parent is None else _member(parent, path[-1], path=path)
    if parent is None or parent.members is None or member is None:
        return text
    if len(parent.members) == 1 and not _has_comment(text, parent):
        return text[: parent.start] + "{}" + text[parent.end :]
    return _remove_member(text, parent, parent.members.index(member))


def _node_at(node: JsonNode | None, path: KeyPath) -> JsonNode | None:
    for depth, key in enumerate(path):
        member = None if node is None else _member(node, key, path=path[: depth + 1])
        node = None if member is None else member.value
    return node


def _member(node: JsonNode, key: str, *, path: KeyPath) -> JsonMember | None:
    """Return the member with a key; raises NotEditable for a duplicate key or a value that is not an object."""
    if node.members is None:
        raise NotEditable("is not an object" if len(path) > 1 else "the document is not an object", path=path[:-1])
    same = [member for member in node.members if member.key == key]
    if len(same) > 1:
        raise NotEditable(f"occurs {len(same)} times", path=path)
    return same[0] if same else None


def _add_member(text: str, root: JsonNode, node: JsonNode, key: str, value: Json) -> str:
    """Return the text with a new last member of an object, in the layout of the others."""
    members = node.members or ()
    flat = _is_flat(text, root, node)
    unit = _unit_of(text, root)
    base = _indent_of_line(text, node.start)
    indent = _indent_of_members(text, node, default=base + unit)
    quoted = json.dumps(key, ensure_ascii=False)
    rendered = json.dumps(value, ensure_ascii=False) if flat else _render(value, indent=indent, unit=unit, text=text)
    gap = " " if flat else newline_of(text) + indent
    inner = node.start + 1
    if not members and not text[inner : node.end - 1].strip(_SPACE):
        opening, closing = ("", "") if flat else (gap, newline_of(text) + base)
        return f"{text[:inner]}{opening}{quoted}: {rendered}{closing}{text[node.end - 1 :]}"
    comma_missing = bool(members) and members[-1].comma < 0
    behind = inner if not members else members[-1].value.end if comma_missing else members[-1].comma + 1
    # After the last comment, which belongs to the members before it.
    at = max([behind, *(end for _, end in _comments(text, behind, node.end - 1))])
    follows = "," if members and not comma_missing else ""
    between = ("," if comma_missing else "") + text[behind:at]
    return f"{text[:behind]}{between}{gap}{quoted}: {rendered}{follows}{text[at:]}"


def _remove_member(text: str, parent: JsonNode, index: int) -> str:
    members = parent.members or ()
    member = members[index]
    end = member.value.end
    comma = member.comma if member.comma >= 0 else members[index - 1].comma if index else -1
    tail = text[end:] if comma < end else text[end:comma] + text[comma + 1 :]
    start = len(text[: member.start].rstrip(_SPACE))
    own_line = "\n" in text[start : member.start] or "\r" in text[start : member.start]
    rest = tail.lstrip(_BLANKS)
    behind = members[index - 1].value.end if index else parent.start + 1
    in_comment = any(text.startswith("//", at) and last == start for at, last in _comments(text, behind, start))
    if own_line and not rest.startswith(("\n", "\r")) and (in_comment or not rest.startswith("}")):
        # The line has other content: it must not move up, least of all into a comment.
        start, tail = member.start, rest
    head = text[:start] if comma < 0 or comma >= end else text[:comma] + text[comma + 1 : start]
    return head + tail


def _has_comment(text: str, node: JsonNode) -> bool:
    """Return whether an object has comments between its members."""
    at = node.start + 1
    for member in node.members or ():
        if any(_comments(text, at, member.start)):
            return True
        at = member.value.end
    return any(_comments(text, at, node.end - 1))


def _comments(text: str, start: int, end: int) -> Iterator[tuple[int, int]]:
    """Yield the positions of comments in a range that contains only comments, spaces and commas."""
    at = start
    while at < end:
        comment = None if text[at] in _SPACE else _COMMENT.match(text, at, end)
        if comment is None:
            at += 1
        else:
            yield at, comment.end()
            at = comment.end()


def _is_flat(text: str, root: JsonNode, node: JsonNode) -> bool:
    """Return whether an object is on one line; an empty one may grow, unless the document is on one line."""
    inside = text[node.start : node.end]
    if "\n" in inside or "\r" in inside:
        return False
    return bool(inside[1:-1].strip(_SPACE)) or (node is not root and "\n" not in text[root.start : root.end])


def _indent_of_line(text: str, at: int) -> str:
    line = text[text.rfind("\n", 0, at) + 1 : at]
    return line[: len(line) - len(line.lstrip(_BLANKS))]


def _indent_of_members(text: str, node: JsonNode, *, default: str) -> str:
    for member in reversed(node.members or ()):
        line = text[text.rfind("\n", 0, member.start) + 1 : member.start]
        if not line.strip(_BLANKS) and "\n" in text[node.start : member.start]:
            return line
    return default


def _unit_of(text: str, root: JsonNode) -> str:
    return _indent_of_members(text, root, default=_UNIT) or _UNIT


def _render(value: Json, *, indent: str, unit: str, text: str) -> str:
    """Return a value as text: objects on several lines, the rest on one."""
    if not isinstance(value, dict) or not value:
        return json.dumps(value, ensure_ascii=False)
    inner, newline = indent + unit, newline_of(text)
    lines = [
        f"{inner}{json.dumps(key, ensure_ascii=False)}: {_render(item, indent=inner, unit=unit, text=text)}"
        for key, item in value.items()
    ]
    return "{" + newline + f",{newline}".join(lines) + newline + indent + "}"


class _Parser:
    def __init__(self, text: str) -> None:
        self._text = text

    def skip(self, at: int) -> int:
        """Return the next position after spaces and comments."""
        trivia = _TRIVIA.match(self._text, at)
        return trivia.end() if trivia is not None else at

    def error(self, at: int, problem: str) -> InvalidSyntax:
        line = self._text.count("\n", 0, at) + 1
        column = at - (self._text.rfind("\n", 0, at) + 1) + 1
        return InvalidSyntax(problem, line=line, column=column)

    def value(self, at: int, *, depth: int) -> JsonNode:
        if depth > _MAX_DEPTH:
            raise self.error(at, f"more than {_MAX_DEPTH} levels")
        head = self._text[at : at + 1]
        if head == "{":
            return self._object(at, depth=depth)
        if head == "[":
            return self._array(at, depth=depth)
        if head == '"':
            value, end = self._string(at)
            return JsonNode(at, end, value)
        plain = _PLAIN.match(self._text, at)
        if plain is None:
            is_missing = head in ("", "}", "]", ",", ":")
            raise self.error(at, "a value is missing" if is_missing else f"a value cannot start with {head!r}")
        try:
            return JsonNode(at, plain.end(), json.loads(plain[0]))
        except ValueError:
            # A number with more digits than Python reads: it is only compared.
            return JsonNode(at, plain.end(), plain[0])

    def _object(self, at: int, *, depth: int) -> JsonNode:
        start = at
        members: list[JsonMember] = []
        at = self.skip(at + 1)
        while self._text[at : at + 1] != "}":
            if self._text[at : at + 1] != '"':
                raise self.error(at, "a key in double quotes or the end of the object is missing")
            key, after = self._string(at)
            colon = self.skip(after)
            if self._text[colon : colon + 1] != ":":
                raise self.error(colon, "a colon is missing")
            value = self.value(self.skip(colon + 1), depth=depth + 1)
            comma, next_at = self._comma(value.end, closing="}")
            members.append(JsonMember(key, at, value, comma))
            at = next_at
        return JsonNode(start, at + 1, {member.key: member.value.value for member in members}, tuple(members))

    def _array(self, at: int, *, depth: int) -> JsonNode:
        start = at
        values: list[Json] = []
        at = self.skip(at + 1)
        while self._text[at : at + 1] != "]":
            value = self.value(at, depth=depth + 1)
            values.append(value.value)
            _, at = self._comma(value.end, closing="]")
        return JsonNode(start, at + 1, values)

    def _comma(self, at: int, *, closing: str) -> tuple[int, int]:
        """Return the position of the comma after a value, or -1, and that of the next token."""
        at = self.skip(at)
        if self._text[at : at + 1] == ",":
            return at, self.skip(at + 1)
        if self._text[at : at + 1] != closing:
            raise self.error(at, f"a comma or {closing!r} is missing")
        return -1, at

    def _string(self, at: int) -> tuple[str, int]:
        string = _STRING.match(self._text, at)
        if string is None:
            raise self.error(at, "a string does not end on its line")
        if "\\" not in string[0]:
            return string[0][1:-1], string.end()
        try:
            return json.loads(string[0]), string.end()
        except ValueError:
            raise self.error(at, "a string contains an invalid escape") from None
