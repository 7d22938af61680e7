"""Read frontmatter with a full YAML parser, for files that the simple patterns do not cover.

Only the parser's events are used: no objects are built, no aliases are followed, and nesting uses no stack.
"""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace

from scrubjay.notes.markdown.note import unreadable
from scrubjay.notes.markdown.yaml_events import YamlEvent, parse_events
from scrubjay.notes.markdown.yaml_values import OTHER, FrontmatterEntry, Frontmatter, Scalar, Value

__all__ = ["read_by_parser"]

_BLOCKS = ("|", ">")
_BREAKS = re.compile(r"[ \t]*\r?\n\s*")


def parse_full_yaml(text: str, *, first: int = 2) -> Frontmatter:
    """Read the entries of a frontmatter with the parser alone; raises NoteUnreadable."""
    signs = list(parse_events(text, first=first))
    if not signs or _is_empty(signs[0]):
        return Frontmatter(raw=text, tail=text)
    root = signs[0]
    if root.kind != "map" or root.anchor:
        raise unreadable("the frontmatter does not consist of `key: value` lines", line=_line(text, root.start, first))
    pairs = list(_pairs(text, signs[1:-1], first=first))
    _refuse_aliases(pairs, text, first=first)
    indent = text[_line_start(text, root.start) : root.start]
    if root.is_flow:
        lines = [_as_line(pair, text) for pair in pairs]
        plain = "".join([text[: root.start].rstrip(" "), *lines, text[signs[-1].end :].lstrip()])
        return _read_rewritten(text, plain, signs, first=first) if pairs else Frontmatter(raw=text, tail=plain, is_odd=True)
    if indent:
        plain = re.sub(rf"^ {{1,{len(indent)}}}", "", text, flags=re.MULTILINE)
        return _read_rewritten(text, plain, signs, first=first)
    for pair in pairs:
        if _line_start(text, pair.key.start) != pair.key.start:
            raise unreadable(
                "a key of the frontmatter does not begin its line", line=_line(text, pair.key.start, first)
            )
    return _as_written(pairs, text)


def _is_empty(root: YamlEvent) -> bool:
    # An anchor without a value is not empty: it would apply to the entries written after it.
    return root.kind == "scalar" and not (root.text or root.style or root.anchor)


def _read_rewritten(text: str, plain: str, signs: Sequence[YamlEvent], *, first: int) -> Frontmatter:
    """Read a rewritten text with one key per line, after checking that it is equivalent to the original."""
    rewritten = list(parse_events(plain, first=first))
    is_same = [(sign.kind, sign.text) for sign in rewritten] == [(sign.kind, sign.text) for sign in signs]
    if not is_same or rewritten[0].is_flow or _line_start(plain, rewritten[0].start) != rewritten[0].start:
        raise unreadable("the frontmatter does not consist of `key: value` lines", line=first)
    return replace(parse_full_yaml(plain, first=first), raw=text, is_odd=True)


def _as_line(pair: "_Pair", text: str) -> str:
    key = text[pair.key.start : pair.key.end]
    return _BREAKS.sub(" ", f"{key}: {text[pair.value.start : pair.end]}".rstrip()) + "\n"


@dataclass(slots=True, kw_only=True)
class _Pair:
    """A key of the outermost mapping and the first event of its value; `texts` if that is a list of scalars."""

    key: YamlEvent
    value: YamlEvent
    end: int
    texts: tuple[Scalar, ...] | None = None
    anchors: set[str] = field(default_factory=set[str])
    aliases: set[str] = field(default_factory=set[str])

    @property
    def read(self) -> Value:
        """Return the value."""
        if self.value.kind == "scalar":
            return Scalar(self.value.text, is_plain=not self.value.style)
        return OTHER if self.texts is None else self.texts


def _pairs(text: str, signs: Sequence[YamlEvent], *, first: int) -> Iterator[_Pair]:
    at = 0
    while at < len(signs):
        key = signs[at]
        if key.kind != "scalar" or key.anchor or key.style in _BLOCKS:
            raise unreadable("a key of the frontmatter is not a text", line=_line(text, key.start, first))
        whole = signs[at + 1 : _after(signs, at + 1)]
        yield _Pair(
            key=key,
            value=whole[0],
            # For a missing value, the parser may skip empty lines before it reports the end.
            end=key.end if whole[0].start == whole[-1].end else _last(whole),
            texts=_texts(whole),
            anchors={sign.anchor for sign in whole if sign.anchor and sign.kind != "alias"},
            aliases={sign.anchor for sign in whole if sign.kind == "alias"},
        )
        at += 1 + len(whole)


def _after(signs: Sequence[YamlEvent], at: int) -> int:
    """Return the position after the value that begins at `at`."""
    depth = 0
    while True:
        depth += {"map": 1, "list": 1, "end": -1}.get(signs[at].kind, 0)
        at += 1
        if not depth:
            return at


def _last(signs: Sequence[YamlEvent]) -> int:
    """Return the end of a value's text; the parser reports the end of a block only where the next one begins."""
    opened: list[YamlEvent] = []
    last = signs[0].start
    for sign in signs:
        if sign.kind in ("map", "list"):
            opened.append(sign)
        elif sign.kind != "end" or opened.pop().is_flow:
            last = sign.end
    return last


def _texts(signs: Sequence[YamlEvent]) -> tuple[Scalar, ...] | None:
    items = signs[1:-1]
    if signs[0].kind != "list" or any(sign.kind != "scalar" for sign in items):
        return None
    return tuple(Scalar(sign.text, is_plain=not sign.style) for sign in items)


def _refuse_aliases(pairs: Sequence[_Pair], text: str, *, first: int) -> None:
    """Refuse aliases of another key's value: they would break if that key were removed."""
    for pair in pairs:
        if pair.aliases - pair.anchors:
            raise unreadable(
                f"the key {pair.key.text[:80]!r} takes its value from a YAML alias",
                line=_line(text, pair.key.start, first),
                hint="Write the value out",
            )


def _as_written(pairs: Sequence[_Pair], text: str) -> Frontmatter:
    """Split a text into keys with their lines; the comments above a key belong to it."""
    starts = [_line_start(text, pair.key.start) for pair in pairs]
    entries: list[FrontmatterEntry] = []
    lead = text[: starts[0]] if starts else ""
    for pair, start, end in zip(pairs, starts, [*starts[1:], len(text)], strict=True):
        own = _own_end(pair, text, end)
        spans = pair.value.kind == "scalar" and pair.value.style not in _BLOCKS
        spans = spans or (pair.value.kind == "list" and pair.value.is_flow)
        entries.append(
            FrontmatterEntry(
                key=pair.key.text,
                raw=text[start:own],
                value=pair.read,
                lead=lead,
                start=pair.value.start - start if spans else 0,
                end=pair.end - start if spans else 0,
            )
        )
        lead = text[own:end]
    return Frontmatter(raw=text, entries=tuple(entries), tail=lead if entries else text)


def _own_end(pair: _Pair, text: str, end: int) -> int:
    """Return the end of an entry's lines; trailing comments and empty lines belong to the next entry."""
    own = end
    while (above := _line_start(text, own - 1)) >= pair.end and above > pair.key.start:
        line = text[above:own].strip()
        if line and not line.startswith("#"):
            break
        own = above
    return own


def _line_start(text: str, at: int) -> int:
    return text.rfind("\n", 0, max(at, 0)) + 1


def _line(text: str, at: int, first: int) -> int:
    return first + text.count("\n", 0, at)
