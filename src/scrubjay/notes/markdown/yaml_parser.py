"""Parse frontmatter with a full YAML parser, for files that the simple patterns do not cover.

The tree of nodes has the position of each value. No objects are built and no aliases are followed; limits protect
against hostile input.
"""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace

from ruamel.yaml import YAML
from ruamel.yaml.error import MarkedYAMLError
from ruamel.yaml.events import (
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

# The first line of a file is the opening delimiter.
_FIRST_LINE = 2
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
_NOT_PAIRS = "the frontmatter does not consist of `key: value` lines"


@dataclass(slots=True)
class _Node:
    """A value and its position in the text: a scalar, an alias, a list, or a map with its keys and values in turn."""

    kind: str
    start: int
    end: int
    line: int
    anchor: str
    text: str = ""
    style: str = ""
    is_flow: bool = False
    children: list["_Node"] = field(default_factory=list["_Node"])

    @property
    def pairs(self) -> Sequence[tuple["_Node", "_Node"]]:
        """The keys of a map with their values."""
        return list(zip(self.children[::2], self.children[1::2], strict=True))

    @property
    def value(self) -> Value:
        """The value as a scalar or a list, if it is either."""
        if self.kind == "scalar":
            return Scalar(self.text, is_plain=not self.style)
        is_list = self.kind == "list" and all(item.kind == "scalar" for item in self.children)
        return tuple(Scalar(item.text, is_plain=not item.style) for item in self.children) if is_list else OTHER

    @property
    def shape(self) -> tuple[str, str, object]:
        """The content without its layout."""
        return self.kind, self.text, [child.shape for child in self.children]

    def walk(self) -> Iterator["_Node"]:
        yield self
        for child in self.children:
            yield from child.walk()


def parse_full_yaml(text: str) -> Frontmatter:
    """Parse the entries of a frontmatter with the parser alone; raises NoteUnreadable."""
    root = _compose(text)
    # An anchor without a value is not empty: it would apply to the entries written after it.
    if root is None or (root.kind == "scalar" and not (root.text or root.style or root.anchor)):
        return Frontmatter(raw=text, tail=text)
    if root.kind != "map" or root.anchor:
        raise unreadable(_NOT_PAIRS, line=root.line)
    _refuse_keys_and_aliases(root)
    plain = _rewrite(text, root)
    if plain is None:
        return _split_lines(text, root)
    if not root.children:
        return Frontmatter(raw=text, tail=plain, is_odd=True)
    rewritten = _compose(plain)
    if rewritten is None or rewritten.shape != root.shape or _rewrite(plain, rewritten) is not None:
        raise unreadable(_NOT_PAIRS, line=_FIRST_LINE)
    return replace(_split_lines(plain, rewritten), raw=text, is_odd=True)


def _refuse_keys_and_aliases(root: _Node) -> None:
    """Refuse keys that are not texts, and aliases of another key's value: they would break if that key were removed."""
    for key, _ in root.pairs:
        if key.kind != "scalar" or key.anchor or key.style in _BLOCKS:
            raise unreadable("a key of the frontmatter is not a text", line=key.line)
    for key, value in root.pairs:
        nodes = list(value.walk())
        aliases = {node.anchor for node in nodes if node.kind == "alias"}
        if aliases - {node.anchor for node in nodes if node.kind != "alias"}:
            reason = f"the key {key.text[:80]!r} takes its value from a YAML alias"
            raise unreadable(reason, line=key.line, hint="Write the value out")


def _rewrite(text: str, root: _Node) -> str | None:
    """Return a text with each key at the beginning of a line; None if it already has this form."""
    if root.is_flow:
        lines = (f"{text[key.start : key.end]}: {text[value.start : _end(key, value)]}" for key, value in root.pairs)
        joined = "".join(f"{_BREAKS.sub(' ', line.rstrip())}\n" for line in lines)
        return text[: root.start].rstrip(" ") + joined + text[root.end :].lstrip()
    if indent := root.start - _line_start(text, root.start):
        return re.sub(rf"^ {{1,{indent}}}", "", text, flags=re.MULTILINE)
    for key, _ in root.pairs:
        if _line_start(text, key.start) != key.start:
            raise unreadable("a key of the frontmatter does not begin its line", line=key.line)
    return None


def _split_lines(text: str, root: _Node) -> Frontmatter:
    """Split a text into keys with their lines; the comments above a key belong to it."""
    entries: list[FrontmatterEntry] = []
    starts = [key.start for key, _ in root.pairs]
    lead = text[: starts[0]]
    for (key, value), next_start in zip(root.pairs, [*starts[1:], len(text)], strict=True):
        end = _end(key, value)
        own = next_start
        # Trailing comments and empty lines belong to the next entry.
        while (above := _line_start(text, own - 1)) >= end and above > key.start:
            line = text[above:own].strip()
            if line and not line.startswith("#"):
                break
            own = above
        spans = value.kind == "scalar" and value.style not in _BLOCKS
        spans = spans or (value.kind == "list" and value.is_flow)
        entries.append(
            FrontmatterEntry(
                key=key.text,
                raw=text[key.start : own],
                value=value.value,
                lead=lead,
                start=value.start - key.start if spans else 0,
                end=end - key.start if spans else 0,
            )
        )
        lead = text[own:next_start]
    return Frontmatter(raw=text, entries=tuple(entries), tail=lead)


def _end(key: _Node, value: _Node) -> int:
    """Return the end of a value's text; the parser reports the end of a block only where the next one begins."""
    if value.start == value.end:
        # For a missing value, the parser may skip empty lines before it reports the end.
        return key.end
    while value.children and not value.is_flow:
        value = value.children[-1]
    return value.end


def _line_start(text: str, at: int) -> int:
    return text.rfind("\n", 0, max(at, 0)) + 1


def _compose(text: str) -> _Node | None:
    """Return the tree of a document; raises NoteUnreadable."""
    root = None
    parents: list[_Node] = []
    aliases = 0
    for number, event in enumerate(_parse_events(text)):
        line = _FIRST_LINE + event.start_mark.line
        _refuse_tags_and_documents(event, line=line)
        if isinstance(event, CollectionEndEvent):
            parents.pop().end = event.end_mark.index
        elif isinstance(event, NodeEvent):
            node = _node(event, line=line)
            aliases += node.kind == "alias"
            if parents:
                parents[-1].children.append(node)
            root = root or node
            if isinstance(event, CollectionStartEvent):
                parents.append(node)
        if number > _MAX_EVENTS or aliases > _MAX_ALIASES:
            raise unreadable("the frontmatter has too many values", line=line)
        if len(parents) > _MAX_DEPTH:
            raise unreadable(f"the frontmatter is nested deeper than {_MAX_DEPTH} levels", line=line)
    return root


def _parse_events(text: str) -> Iterator[Event]:
    """Yield the events of a document that does not take long to parse; raises NoteUnreadable."""
    if len(text.encode("utf-8", "surrogatepass")) > _MAX_BYTES:
        raise unreadable(f"the frontmatter is larger than {_MAX_BYTES // 1024} KB", line=_FIRST_LINE)
    for number, line in enumerate(text.split("\n"), start=_FIRST_LINE):
        if len(_BRACKETS.findall(line)) > _MAX_BRACKETS:
            raise unreadable(f"the frontmatter has more than {_MAX_BRACKETS} brackets in a line", line=number)
    try:
        yield from YAML(typ="safe", pure=True).parse(text)
    except (ValueError, OverflowError):
        # A code point out of range.
        raise unreadable("the frontmatter has an escape that is not a character", line=_FIRST_LINE) from None
    except ReaderError as error:
        at = _FIRST_LINE + text.count("\n", 0, error.position)
        raise unreadable(f"the frontmatter has the character U+{error.character:04X}", line=at) from None
    except MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        reason = _SPACES.sub(" ", f"the frontmatter is not valid YAML: {error.problem or error.context}")
        raise unreadable(reason[:300], line=_FIRST_LINE + (mark.line if mark else 0), hint=_QUOTE_HINT) from None


def _refuse_tags_and_documents(event: Event, *, line: int) -> None:
    is_marked = isinstance(event, DocumentStartEvent | DocumentEndEvent) and event.explicit
    if is_marked or (isinstance(event, DocumentStartEvent) and (event.version or event.tags)):
        raise unreadable("the frontmatter is more than one YAML document", line=line)
    if isinstance(event, ScalarEvent | CollectionStartEvent) and event.tag:
        reason = f"the frontmatter has the YAML tag {str(event.tag)[:80]!r}"
        raise unreadable(reason, line=line, hint="Write the value without a tag")


def _node(event: NodeEvent, *, line: int) -> _Node:
    node = _Node("alias", event.start_mark.index, event.end_mark.index, line, event.anchor or "")
    if isinstance(event, ScalarEvent):
        node.kind, node.text, node.style = "scalar", _join_surrogates(event.value), event.style or ""
    elif isinstance(event, CollectionStartEvent):
        node.kind = "map" if isinstance(event, MappingStartEvent) else "list"
        node.is_flow = bool(event.flow_style)
    return node


def _join_surrogates(text: str) -> str:
    """Join surrogate pairs, as JSON writes them; a lone surrogate becomes the replacement character."""
    return text if text.isascii() else text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")
