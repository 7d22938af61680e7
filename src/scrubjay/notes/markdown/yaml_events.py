"""The events of a YAML parser as plain data, with limits against hostile input."""

import re
from collections.abc import Iterator
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

__all__ = ["YamlEvent", "signs_of"]

_LARGEST = 64 * 1024
_MOST_EVENTS = 5_000
_MOST_BRACKETS = 200
_MOST_ALIASES = 100
_DEEPEST = 40
_BRACKETS = re.compile(r"[\[{]")
_SPACES = re.compile(r"\s+")
_QUOTE = f"Quote values that contain `: ` or ` #` or begin with a symbol, and use spaces, not tabs. {UNREADABLE_HINT}"


class YamlEvent(NamedTuple):
    """An event and its position in the text: a scalar, an alias, the start of a map or list, or an end."""

    kind: str
    start: int
    end: int
    text: str = ""
    style: str = ""
    anchor: str = ""
    is_flow: bool = False


def parse_events(text: str, *, first: int) -> Iterator[YamlEvent]:
    """Yield the events of a document; `first` is the number of its first line. Raises NoteUnreadable."""
    _refuse_bombs(text, first=first)
    depth = aliases = 0
    for number, event in enumerate(_events(text, first=first)):
        line = first + event.start_mark.line
        _refuse_tags(event, line=line)
        sign = _sign(event)
        if not sign:
            continue
        depth += {"map": 1, "list": 1, "end": -1}.get(sign.kind, 0)
        aliases += sign.kind == "alias"
        if number > _MOST_EVENTS or aliases > _MOST_ALIASES:
            raise unreadable("the frontmatter has too many values", line=line)
        if depth > _DEEPEST:
            raise unreadable(f"the frontmatter is nested deeper than {_DEEPEST} levels", line=line)
        yield sign


def _refuse_bombs(text: str, *, first: int) -> None:
    """Refuse oversized input before parsing it."""
    if len(text.encode("utf-8", "surrogatepass")) > _LARGEST:
        raise unreadable(f"the frontmatter is larger than {_LARGEST // 1024} KB", line=first)
    for number, line in enumerate(text.split("\n"), start=first):
        if len(_BRACKETS.findall(line)) > _MOST_BRACKETS:
            raise unreadable(f"the frontmatter has more than {_MOST_BRACKETS} brackets in a line", line=number)


def _events(text: str, *, first: int) -> Iterator[Event]:
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
        raise unreadable(reason[:300], line=first + (mark.line if mark else 0), hint=_QUOTE) from None


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


def _sign(event: Event) -> YamlEvent | None:
    if isinstance(event, CollectionEndEvent):
        return YamlEvent("end", event.start_mark.index, event.end_mark.index)
    if not isinstance(event, NodeEvent):
        return None
    start, end, anchor = event.start_mark.index, event.end_mark.index, event.anchor or ""
    if isinstance(event, AliasEvent):
        return YamlEvent("alias", start, end, anchor=anchor)
    if isinstance(event, ScalarEvent):
        return YamlEvent("scalar", start, end, text=_join_surrogates(event.value), style=event.style or "", anchor=anchor)
    if isinstance(event, CollectionStartEvent):
        kind = "map" if isinstance(event, MappingStartEvent) else "list"
        return YamlEvent(kind, start, end, anchor=anchor, is_flow=bool(event.flow_style))
    return None


def _join_surrogates(text: str) -> str:
    """Join surrogate pairs, as JSON writes them; a lone surrogate becomes the replacement character."""
    return text if text.isascii() else text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")
