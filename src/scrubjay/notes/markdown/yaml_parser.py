"""Parse frontmatter with a full YAML parser, for files that the simple patterns do not cover.

Only the parser's events are used: no objects are built, no aliases are followed, and nesting uses no stack. Limits
protect against hostile input.
"""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import NamedTuple

from ruamel.yaml import YAML
from ruamel.yaml.error import MarkedYAMLError
from ruamel.yaml.events import (
    AliasEvent,
    CollectionEndEvent,
    CollectionStartEvent,
    DocumentEndEvent,
    DocumentStartEvent,
    Event,
    MappingStartEvent,
    NodeEvent,
    ScalarEvent,
)
from ruamel.yaml.reader import ReaderError

from scrubjay.notes.markdown.note import UNREADABLE_HINT, unreadable
from scrubjay.notes.markdown.yaml_values import OTHER, Frontmatter, FrontmatterEntry, Scalar, Value

__all__ = ["parse_full_yaml"]

_BLOCKS = ("|", ">")
_BREAKS = re.compile(r"[ \t]*\r?\n\s*")
_MAX_BYTES = 64 * 1024
_MAX_EVENTS = 5_000
_MAX_BRACKETS = 200
_MAX_ALIASES = 100
_MAX_DEPTH = 40
_BRACKETS = re.compile(r"[\[{]")
_SPACES = re.compile(r"\s+")
_QUOTE_HINT = (
    f"Quote values that contain `: ` or ` #` or begin with a symbol, and use spaces, not tabs. {UNREADABLE_HINT}"
)


class _Event(NamedTuple):
    """An event and its position in the text: a scalar, an alias, the start of a map or list, or an end."""

    kind: str
    start: int
    end: int
    text: str = ""
    style: str = ""
    anchor: str = ""
    is_flow: bool = False


def parse_full_yaml(text: str, *, first: int = 2) -> Frontmatter:
    """Parse the entries of a frontmatter with the parser alone; raises NoteUnreadable."""
    events = list(_parse_events(text, first=first))
    root = events[0] if events else None
    # An anchor without a value is not empty: it would apply to the entries written after it.
    if root is None or (root.kind == "scalar" and not (root.text or root.style or root.anchor)):
        return Frontmatter(raw=text, tail=text)
    if root.kind != "map" or root.anchor:
        raise unreadable("the frontmatter does not consist of `key: value` lines", line=_line(text, root.start, first))
    pairs = list(_pairs(text, events[1:-1], first=first))
    _refuse_aliases(pairs, text, first=first)
    indent = text[_line_start(text, root.start) : root.start]
    if root.is_flow:
        lines = (
            f"{text[pair.key.start : pair.key.end]}: {text[pair.value.start : pair.end]}".rstrip() for pair in pairs
        )
        joined = "".join(f"{_BREAKS.sub(' ', line)}\n" for line in lines)
        plain = text[: root.start].rstrip(" ") + joined + text[events[-1].end :].lstrip()
        if not pairs:
            return Frontmatter(raw=text, tail=plain, is_odd=True)
        return _parse_rewritten(text, plain, events, first=first)
    if indent:
        plain = re.sub(rf"^ {{1,{len(indent)}}}", "", text, flags=re.MULTILINE)
        return _parse_rewritten(text, plain, events, first=first)
    for pair in pairs:
        if _line_start(text, pair.key.start) != pair.key.start:
            raise unreadable(
                "a key of the frontmatter does not begin its line", line=_line(text, pair.key.start, first)
            )
    return _split_lines(pairs, text)


def _parse_rewritten(text: str, plain: str, events: Sequence[_Event], *, first: int) -> Frontmatter:
    """Parse a rewritten text with a key per line, after checking that it is equivalent to the original."""
    rewritten = list(_parse_events(plain, first=first))
    is_same = [(event.kind, event.text) for event in rewritten] == [(event.kind, event.text) for event in events]
    if not is_same or rewritten[0].is_flow or _line_start(plain, rewritten[0].start) != rewritten[0].start:
        raise unreadable("the frontmatter does not consist of `key: value` lines", line=first)
    return replace(parse_full_yaml(plain, first=first), raw=text, is_odd=True)


@dataclass(slots=True, kw_only=True)
class _Pair:
    """A key of the outermost mapping and the first event of its value; `texts` if that is a list of scalars."""

    key: _Event
    value: _Event
    end: int
    texts: tuple[Scalar, ...] | None = None
    anchors: set[str] = field(default_factory=set[str])
    aliases: set[str] = field(default_factory=set[str])

    @property
    def parsed(self) -> Value:
        """The value as a scalar or a list, if it is either."""
        if self.value.kind == "scalar":
            return Scalar(self.value.text, is_plain=not self.value.style)
        return OTHER if self.texts is None else self.texts


def _pairs(text: str, events: Sequence[_Event], *, first: int) -> Iterator[_Pair]:
    at = 0
    while at < len(events):
        key = events[at]
        if key.kind != "scalar" or key.anchor or key.style in _BLOCKS:
            raise unreadable("a key of the frontmatter is not a text", line=_line(text, key.start, first))
        whole = events[at + 1 : _value_end(events, at + 1)]
        items = whole[1:-1]
        is_list = whole[0].kind == "list" and all(event.kind == "scalar" for event in items)
        yield _Pair(
            key=key,
            value=whole[0],
            # For a missing value, the parser may skip empty lines before it reports the end.
            end=key.end if whole[0].start == whole[-1].end else _text_end(whole),
            texts=tuple(Scalar(event.text, is_plain=not event.style) for event in items) if is_list else None,
            anchors={event.anchor for event in whole if event.anchor and event.kind != "alias"},
            aliases={event.anchor for event in whole if event.kind == "alias"},
        )
        at += 1 + len(whole)


def _value_end(events: Sequence[_Event], at: int) -> int:
    """Return the position after the value that begins at `at`."""
    depth = 0
    while True:
        depth += {"map": 1, "list": 1, "end": -1}.get(events[at].kind, 0)
        at += 1
        if not depth:
            return at


def _text_end(events: Sequence[_Event]) -> int:
    """Return the end of a value's text; the parser reports the end of a block only where the next one begins."""
    opened: list[_Event] = []
    last = events[0].start
    for event in events:
        if event.kind in ("map", "list"):
            opened.append(event)
        elif event.kind != "end" or opened.pop().is_flow:
            last = event.end
    return last


def _refuse_aliases(pairs: Sequence[_Pair], text: str, *, first: int) -> None:
    """Refuse aliases of another key's value: they would break if that key were removed."""
    for pair in pairs:
        if pair.aliases - pair.anchors:
            raise unreadable(
                f"the key {pair.key.text[:80]!r} takes its value from a YAML alias",
                line=_line(text, pair.key.start, first),
                hint="Write the value out",
            )


def _split_lines(pairs: Sequence[_Pair], text: str) -> Frontmatter:
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
                value=pair.parsed,
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


def _parse_events(text: str, *, first: int) -> Iterator[_Event]:
    """Yield the events of a document; `first` is the number of its first line. Raises NoteUnreadable."""
    _refuse_large_input(text, first=first)
    depth = aliases = 0
    for number, raw_event in enumerate(_raw_events(text, first=first)):
        line = first + raw_event.start_mark.line
        _refuse_tags(raw_event, line=line)
        event = _convert(raw_event)
        if not event:
            continue
        depth += {"map": 1, "list": 1, "end": -1}.get(event.kind, 0)
        aliases += event.kind == "alias"
        if number > _MAX_EVENTS or aliases > _MAX_ALIASES:
            raise unreadable("the frontmatter has too many values", line=line)
        if depth > _MAX_DEPTH:
            raise unreadable(f"the frontmatter is nested deeper than {_MAX_DEPTH} levels", line=line)
        yield event


def _refuse_large_input(text: str, *, first: int) -> None:
    """Refuse input that would take long to parse."""
    if len(text.encode("utf-8", "surrogatepass")) > _MAX_BYTES:
        raise unreadable(f"the frontmatter is larger than {_MAX_BYTES // 1024} KB", line=first)
    for number, line in enumerate(text.split("\n"), start=first):
        if len(_BRACKETS.findall(line)) > _MAX_BRACKETS:
            raise unreadable(f"the frontmatter has more than {_MAX_BRACKETS} brackets in a line", line=number)


def _raw_events(text: str, *, first: int) -> Iterator[Event]:
    try:
        yield from YAML(typ="safe", pure=True).parse(text)
    except (ValueError, OverflowError):
        # A code point out of range.
        raise unreadable("the frontmatter has an escape that is not a character", line=first) from None
    except ReaderError as error:
        line = first + text.count("\n", 0, error.position)
        raise unreadable(f"the frontmatter has the character U+{error.character:04X}", line=line) from None
    except MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        reason = _SPACES.sub(" ", f"the frontmatter is not valid YAML: {error.problem or error.context}")
        raise unreadable(reason[:300], line=first + (mark.line if mark else 0), hint=_QUOTE_HINT) from None


def _refuse_tags(event: Event, *, line: int) -> None:
    if isinstance(event, DocumentStartEvent) and (event.explicit or event.version or event.tags):
        raise unreadable("the frontmatter is more than one YAML document", line=line)
    if isinstance(event, DocumentEndEvent) and event.explicit:
        raise unreadable("the frontmatter is more than one YAML document", line=line)
    tag = str(event.tag) if isinstance(event, ScalarEvent | CollectionStartEvent) and event.tag else ""
    if tag:
        raise unreadable(
            f"the frontmatter has the YAML tag {tag[:80]!r}", line=line, hint="Write the value without a tag"
        )


def _convert(event: Event) -> _Event | None:
    if isinstance(event, CollectionEndEvent):
        return _Event("end", event.start_mark.index, event.end_mark.index)
    if not isinstance(event, NodeEvent):
        return None
    start, end, anchor = event.start_mark.index, event.end_mark.index, event.anchor or ""
    if isinstance(event, AliasEvent):
        return _Event("alias", start, end, anchor=anchor)
    if isinstance(event, ScalarEvent):
        return _Event("scalar", start, end, text=_join_surrogates(event.value), style=event.style or "", anchor=anchor)
    if isinstance(event, CollectionStartEvent):
        kind = "map" if isinstance(event, MappingStartEvent) else "list"
        return _Event(kind, start, end, anchor=anchor, is_flow=bool(event.flow_style))
    return None


def _join_surrogates(text: str) -> str:
    """Join surrogate pairs, as JSON writes them; a lone surrogate becomes the replacement character."""
    return text if text.isascii() else text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")
