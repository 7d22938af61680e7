"""JSON configurations, with or without comments: values are set and removed in the text, and nothing else is."""

import json
from dataclasses import dataclass

from scrubjay.install.jsonc import Member, Node, comments, parse
from scrubjay.install.syntax import Entry, Place, Unfit, leaves
from scrubjay.model.memory import Json

_BLANKS = " \t"
_SPACE = " \t\r\n"
_UNIT = "  "


@dataclass(frozen=True, slots=True)
class JsonText:
    """The format of most clients."""

    name: str = "JSON"

    def value(self, text: str) -> dict[str, Json]:
        """All that the text says."""
        root = parse(text)
        value = {} if root is None else root.value
        if not isinstance(value, dict):
            raise Unfit("the document is no object", place=())
        return value

    def found(self, text: str, place: Place) -> Entry | None:
        """The entry that stands at a place."""
        node = _node_at(parse(text), place)
        if node is None:
            return None
        if not isinstance(node.value, dict):
            raise Unfit("is no object", place=place)
        return node.value

    def merged(self, text: str, place: Place, entry: Entry, *, drop: tuple[str, ...] = ()) -> str:
        """The text with an entry's own values at a place, and without some keys; all else is left as it is."""
        if self.found(text, place) is None:
            return set_value(text, place, dict(entry))
        for key in drop:
            text = remove(text, (*place, key))
        for keys, value in leaves(entry).items():
            text = set_value(text, (*place, *keys), value)
        return text

    def without(self, text: str, place: Place) -> str:
        """The text without the entry at a place."""
        return remove(text, place)

    def shown(self, place: Place, entry: Entry) -> str:
        """The entry alone, as it would stand in an empty file."""
        return set_value("", place, dict(entry))


def set_value(text: str, place: Place, value: Json) -> str:
    """The text with a value at a place; objects on the way are made where they are missing."""
    root = parse(text)
    if root is None:
        gap = "" if not text or text.endswith("\n") else _newline_of(text)
        return set_value(f"{text}{gap}{{}}{_newline_of(text)}", place, value)
    node = root
    for depth, key in enumerate(place):
        member = _member(node, key, place=place[: depth + 1])
        if member is None:
            for inner in reversed(place[depth + 1 :]):
                value = {inner: value}
            return _with_member(text, root, node, key, value)
        node = member.value
    if node.value == value:
        return text
    written = _written(value, indent=_indent_of_line(text, node.start), unit=_unit_of(text, root), text=text)
    return text[: node.start] + written + text[node.end :]


def remove(text: str, place: Place) -> str:
    """The text without the member at a place; the object that it was in stays."""
    holder = _node_at(parse(text), place[:-1])
    member = None if holder is None else _member(holder, place[-1], place=place)
    if holder is None or holder.members is None or member is None:
        return text
    if len(holder.members) == 1 and not _has_comment(text, holder):
        return text[: holder.start] + "{}" + text[holder.end :]
    return _without_member(text, holder, holder.members.index(member))


def _node_at(node: Node | None, place: Place) -> Node | None:
    for depth, key in enumerate(place):
        member = None if node is None else _member(node, key, place=place[: depth + 1])
        node = None if member is None else member.value
    return node


def _member(node: Node, key: str, *, place: Place) -> Member | None:
    """The one member of that key; raises Unfit where it cannot be told which, or where there can be none."""
    if node.members is None:
        raise Unfit("is no object" if len(place) > 1 else "the document is no object", place=place[:-1])
    same = [member for member in node.members if member.key == key]
    if len(same) > 1:
        raise Unfit(f"stands there {len(same)} times", place=place)
    return same[0] if same else None


def _with_member(text: str, root: Node, node: Node, key: str, value: Json) -> str:
    """The text with a new last member of an object, laid out as the others are."""
    members = node.members or ()
    flat = _is_flat(text, root, node)
    unit = _unit_of(text, root)
    base = _indent_of_line(text, node.start)
    indent = _indent_of_members(text, node, default=base + unit)
    spelled = json.dumps(key, ensure_ascii=False)
    written = json.dumps(value, ensure_ascii=False) if flat else _written(value, indent=indent, unit=unit, text=text)
    gap = " " if flat else _newline_of(text) + indent
    inner = node.start + 1
    if not members and not text[inner : node.end - 1].strip(_SPACE):
        opening, closing = ("", "") if flat else (gap, _newline_of(text) + base)
        return f"{text[:inner]}{opening}{spelled}: {written}{closing}{text[node.end - 1 :]}"
    comma_missing = bool(members) and members[-1].comma < 0
    behind = inner if not members else members[-1].value.end if comma_missing else members[-1].comma + 1
    # After the last comment, so that what it is about stays before it.
    at = max([behind, *(end for _, end in comments(text, behind, node.end - 1))])
    follows = "," if members and not comma_missing else ""
    between = ("," if comma_missing else "") + text[behind:at]
    return f"{text[:behind]}{between}{gap}{spelled}: {written}{follows}{text[at:]}"


def _without_member(text: str, holder: Node, index: int) -> str:
    members = holder.members or ()
    member = members[index]
    end = member.value.end
    comma = member.comma if member.comma >= 0 else members[index - 1].comma if index else -1
    tail = text[end:] if comma < end else text[end:comma] + text[comma + 1 :]
    start = len(text[: member.start].rstrip(_SPACE))
    own_line = "\n" in text[start : member.start] or "\r" in text[start : member.start]
    rest = tail.lstrip(_BLANKS)
    behind = members[index - 1].value.end if index else holder.start + 1
    in_comment = any(text.startswith("//", item) and last == start for item, last in comments(text, behind, start))
    if own_line and not rest.startswith(("\n", "\r")) and (in_comment or not rest.startswith("}")):
        # Something else goes on in this line: it must not move up, least of all into a comment.
        start, tail = member.start, rest
    head = text[:start] if comma < 0 or comma >= end else text[:comma] + text[comma + 1 : start]
    return head + tail


def _has_comment(text: str, node: Node) -> bool:
    """Whether an object has comments among its members, not within them."""
    at = node.start + 1
    for item in node.members or ():
        if any(comments(text, at, item.start)):
            return True
        at = item.value.end
    return any(comments(text, at, node.end - 1))


def _is_flat(text: str, root: Node, node: Node) -> bool:
    """Whether an object is written in one line; an empty one may grow, unless the whole document is in one line."""
    inside = text[node.start : node.end]
    if "\n" in inside or "\r" in inside:
        return False
    return bool(inside[1:-1].strip(_SPACE)) or (node is not root and "\n" not in text[root.start : root.end])


def _newline_of(text: str) -> str:
    at = text.find("\n")
    return "\r\n" if at > 0 and text[at - 1] == "\r" else "\n"


def _indent_of_line(text: str, at: int) -> str:
    line = text[text.rfind("\n", 0, at) + 1 : at]
    return line[: len(line) - len(line.lstrip(_BLANKS))]


def _indent_of_members(text: str, node: Node, *, default: str) -> str:
    for member in reversed(node.members or ()):
        line = text[text.rfind("\n", 0, member.start) + 1 : member.start]
        if not line.strip(_BLANKS) and "\n" in text[node.start : member.start]:
            return line
    return default


def _unit_of(text: str, root: Node) -> str:
    return _indent_of_members(text, root, default=_UNIT) or _UNIT


def _written(value: Json, *, indent: str, unit: str, text: str) -> str:
    """A value as people lay it out: objects over several lines, all else in one."""
    if not isinstance(value, dict) or not value:
        return json.dumps(value, ensure_ascii=False)
    inner, newline = indent + unit, _newline_of(text)
    lines = [
        f"{inner}{json.dumps(key, ensure_ascii=False)}: {_written(item, indent=inner, unit=unit, text=text)}"
        for key, item in value.items()
    ]
    return "{" + newline + f",{newline}".join(lines) + newline + indent + "}"
