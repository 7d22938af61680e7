"""The known fields of a note's frontmatter: read them all, and rewrite the lines of the fields that changed."""

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from datetime import datetime
from typing import cast

from scrubjay.errors import InvalidInput, NoteUnreadable
from scrubjay.lazy import dataclass
from scrubjay.model.identity import is_id
from scrubjay.model.timestamps import parse_moment, to_iso
from scrubjay.notes.markdown.frontmatter import parse_frontmatter
from scrubjay.notes.markdown.note import Note
from scrubjay.notes.markdown.yaml_values import (
    Frontmatter,
    FrontmatterEntry,
    Other,
    Scalar,
    Value,
    flow_list,
    quote_double,
    quote_single,
    scalar,
)

__all__ = [
    "ParsedFields", "comment_out_foreign", "is_valid_extra", "new_frontmatter", "read_fields", "update_frontmatter",
]  # fmt: skip

_YES = frozenset({"true", "yes", "on", "y"})
_NO = frozenset({"false", "no", "off", "n"})
_HASHED = re.compile(r"#\S+(?:\s+#\S+)*")
_FENCE = re.compile(r"^---[ \t]*$", re.MULTILINE)
_PROBE = "id: x\n"
# The types of the fields of a note.
_FieldValue = str | bool | datetime | None | tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class ParsedFields:
    """The note of a frontmatter, the names of the fields that it sets, and warnings about invalid values."""

    note: Note
    set_fields: frozenset[str]
    warnings: tuple[str, ...]


def read_fields(head: Frontmatter) -> ParsedFields:
    """Read the fields of a frontmatter; a value of the wrong type is skipped with a warning."""
    values: dict[str, _FieldValue] = {}
    warnings: list[str] = []
    extra: list[str] = []
    # The first line of the file is the opening delimiter.
    line = 2
    for entry in head.entries:
        field = _BY_KEY.get(entry.key)
        if field is None:
            extra.append(entry.text)
        else:
            try:
                values[field.key] = field.read(entry.value)
            except _WrongType as wrong:
                at = line + entry.lead.count("\n")
                warnings.append(f"line {at}: {field.key} should be {wrong}; the line stays, and its value is ignored")
        line += entry.text.count("\n")
    # A byte order mark belongs to the start of a text: elsewhere it is no valid YAML.
    text = "".join([*extra, head.tail]).replace("\r\n", "\n").removeprefix("\ufeff")
    note = replace(Note(extra=text if text.strip() else ""), **values)
    return ParsedFields(note=note, set_fields=frozenset(values), warnings=tuple(warnings))


def new_frontmatter(note: Note) -> str:
    """Return the lines of a new frontmatter."""
    # A stored note shows its lists even if they are empty, so that people see where to add items.
    lists = {"tags", "links"} if note.id else set[str]()
    lines = [_line(field, field.of(note)) for field in _FIELDS if field.of(note) or field.key in lists]
    return "".join(lines) + note.extra


def update_frontmatter(note: Note, *, was: Note, head: Frontmatter) -> str:
    """Return the lines of a frontmatter with the changed fields rewritten and all other lines unchanged."""
    changed = {field.key: field for field in _FIELDS if field.of(note) != field.of(was)}
    if not changed and note.extra == was.extra:
        return head.raw
    others, tail = _foreign_lines(note, was=was, head=head)
    lines: list[tuple[str, str]] = []
    for entry in head.entries:
        if entry.key in changed:
            lines.append((entry.key, entry.lead + _changed_lines(entry, changed.pop(entry.key), note)))
        elif entry.key in _BY_KEY:
            lines.append((entry.key, entry.text))
        elif (at := next((at for at, (key, _) in enumerate(others) if key == entry.key), -1)) >= 0:
            # Entries that now precede it come along: the note determines their order.
            lines += others[: at + 1]
            del others[: at + 1]
    for field in _FIELDS:
        if field.key in changed and field.of(note):
            # After the nearest preceding field, else at the top.
            before = {item.key for item in _FIELDS[: _FIELDS.index(field)]}
            place = max((at + 1 for at, (key, _) in enumerate(lines) if key in before), default=0)
            lines.insert(place, (field.key, _line(field, field.of(note))))
    return "".join([*(text for _, text in [*lines, *others]), tail])


def is_valid_extra(extra: str) -> bool:
    """Return whether a text can follow the known fields: whole lines of YAML without any known key."""
    if not extra:
        return True
    if not extra.endswith("\n") or not extra.strip() or "\r" in extra or _FENCE.search(extra):
        return False
    try:
        head = parse_frontmatter(_PROBE + extra)
    except NoteUnreadable:
        return False
    own, *others = head.entries or (None,)
    is_separate = own is not None and own.text == _PROBE and not head.is_odd
    return is_separate and not any(entry.key in _BY_KEY for entry in others)


def comment_out_foreign(head: Frontmatter) -> str:
    """Return the foreign values under our keys, as the comments that they become in our files."""
    pairs = ((entry, _BY_KEY.get(entry.key)) for entry in head.entries)
    return "".join(
        _comment_out(entry) for entry, field in pairs if field is not None and not field.is_ours(entry.value)
    )


class _WrongType(ValueError):
    """A value of the wrong type for its field; the message names the expected type."""


@dataclass(frozen=True, slots=True, kw_only=True)
class _Field:
    """A known key with the reader and the writer of its value.

    `ids`: its values are ids of memories. Other programs use the same keys for their own numbers or addresses.
    """

    key: str
    read: Callable[[Value], _FieldValue]
    write: Callable[[_FieldValue], str]
    items: Callable[[Sequence[str]], tuple[str, ...]] = tuple
    ids: bool = False

    def of(self, note: Note) -> _FieldValue:
        """Return the value of this field in a note."""
        return cast("_FieldValue", getattr(note, self.key))

    def is_ours(self, value: Value) -> bool:
        """Return whether we can store a value; any other value would be lost if its line were rewritten."""
        try:
            content = self.read(value)
        except _WrongType:
            return False
        ids = (content,) if isinstance(content, str) else content if isinstance(content, tuple) else ()
        return not self.ids or all(is_id(item) for item in ids if item)


def _comment_out(entry: FrontmatterEntry) -> str:
    # We cannot interpret the user's value, but we must not lose it.
    return "".join(f"# {line}" for line in entry.raw.splitlines(keepends=True))


def _foreign_lines(note: Note, *, was: Note, head: Frontmatter) -> tuple[list[tuple[str, str]], str]:
    """Return the foreign keys with their lines, and the lines after the last key."""
    old = [(entry.key, entry.text) for entry in head.entries if entry.key not in _BY_KEY]
    if note.extra == was.extra:
        return old, head.tail
    now = parse_frontmatter(note.extra)
    # Equal lines may differ in their line endings.
    same = {text.replace("\r\n", "\n"): text for _, text in old}
    return [(entry.key, same.get(entry.text, entry.text)) for entry in now.entries], now.tail


def _line(field: _Field, value: _FieldValue) -> str:
    return f"{field.key}: {field.write(value)}\n"


def _changed_lines(entry: FrontmatterEntry, field: _Field, note: Note) -> str:
    """Return the lines of an entry with a new value in the style of the old one."""
    value = field.of(note)
    if value is None or value == "":
        return ""
    if not field.is_ours(entry.value):
        return _comment_out(entry) + _line(field, value)
    if isinstance(entry.value, tuple) and not entry.end and isinstance(value, tuple) and value:
        return _list_lines(entry, field.items(value))
    if not entry.end:
        return _line(field, value)
    text = field.write(value)
    if isinstance(value, str) and isinstance(entry.value, Scalar) and not entry.value.is_plain:
        text = (quote_single if entry.raw[entry.start] == "'" else quote_double)(value)
    gap = " " if entry.raw[entry.start - 1] == ":" else ""
    return entry.raw[: entry.start] + gap + text + entry.raw[entry.end :]


def _list_lines(entry: FrontmatterEntry, items: Sequence[str]) -> str:
    """Return a list with an item per line; the lines of unchanged items stay as they are."""
    first, *lines = entry.raw.splitlines(keepends=True)
    values = entry.value if isinstance(entry.value, tuple) else ()
    whole = len(lines) == len(values) and all(line.lstrip().startswith("- ") for line in lines)
    old = {item.text: line for item, line in zip(values, lines, strict=True)} if whole else dict[str, str]()
    indent = lines[0][: len(lines[0]) - len(lines[0].lstrip())] if whole else "  "
    return (first if whole else f"{entry.key}:\n") + "".join(
        old.get(item) or f"{indent}- {scalar(item)}\n" for item in items
    )


# ---- the fields, with their readers and writers ----


def _text(value: Value) -> str:
    if not isinstance(value, Scalar):
        raise _WrongType("a text")
    return "" if value.is_null else value.text


def _moment(value: Value) -> datetime | None:
    if isinstance(value, Scalar) and value.is_null:
        return None
    try:
        return parse_moment(_text(value), field="")
    except (InvalidInput, _WrongType):
        raise _WrongType("a time such as 2024-01-15T10:30:00Z") from None


def _flag(value: Value) -> bool:
    word = _text(value).casefold()
    if word not in _YES | _NO and word:
        raise _WrongType("true or false")
    return word in _YES


def _ids(value: Value) -> tuple[str, ...]:
    if isinstance(value, Other):
        raise _WrongType("a list of texts")
    if isinstance(value, Scalar):
        return tuple(part for item in value.text.split(",") if (part := item.strip())) if not value.is_null else ()
    return tuple(item.text for item in value if not item.is_null)


def _tags(value: Value) -> tuple[str, ...]:
    """Read tags, also in the forms that Obsidian accepts: `a, b`, and with a hash before each."""
    if isinstance(value, Scalar) and _HASHED.fullmatch(value.text):
        return tuple(item.strip(",").removeprefix("#") for item in value.text.split())
    return tuple(tag.removeprefix("#") for tag in _ids(value))


def _escape_hashes(tags: Sequence[str]) -> tuple[str, ...]:
    # The reader removes a hash.
    return tuple(f"#{tag}" if tag.startswith("#") else tag for tag in tags)


_FIELDS: tuple[_Field, ...] = (
    _Field(key="id", read=_text, write=lambda value: scalar(cast("str", value)), ids=True),
    _Field(key="title", read=_text, write=lambda value: scalar(cast("str", value))),
    _Field(
        key="tags",
        read=_tags,
        write=lambda value: flow_list(_escape_hashes(cast("tuple[str, ...]", value))),
        items=_escape_hashes,
    ),
    _Field(key="category", read=_text, write=lambda value: scalar(cast("str", value))),
    _Field(key="created_at", read=_moment, write=lambda value: to_iso(cast("datetime", value))),
    _Field(key="updated_at", read=_moment, write=lambda value: to_iso(cast("datetime", value))),
    _Field(key="last_reviewed", read=_moment, write=lambda value: to_iso(cast("datetime", value))),
    _Field(key="links", read=_ids, write=lambda value: flow_list(cast("tuple[str, ...]", value)), ids=True),
    _Field(key="kind", read=_text, write=lambda value: scalar(cast("str", value))),
    _Field(key="pinned", read=_flag, write=lambda value: "true" if value else "false"),
)
_BY_KEY: Mapping[str, _Field] = {field.key: field for field in _FIELDS}
