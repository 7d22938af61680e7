"""The known frontmatter fields of a note, in order, with their readers and writers."""

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import cast

from scrubjay.errors import InvalidInput
from scrubjay.model.identity import is_id
from scrubjay.model.timestamps import parse_moment, to_iso
from scrubjay.notes.markdown.note import Note
from scrubjay.notes.markdown.yaml_values import Other, Scalar, Value, flow_list, scalar

__all__ = ["FIELDS", "Field", "FieldValue", "WrongType"]

_YES = frozenset({"true", "yes", "on", "y"})
_NO = frozenset({"false", "no", "off", "n"})
_HASHED = re.compile(r"#\S+(?:\s+#\S+)*")

# The types of the fields of a note.
FieldValue = str | bool | datetime | None | tuple[str, ...]


class WrongType(ValueError):
    """A value of the wrong type for its field; the message names the expected type."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Field:
    """A known key with the reader and the writer of its value.

    `ids`: its values are ids of memories. Other programs use the same keys for their own numbers or addresses.
    """

    key: str
    read: Callable[[Value], FieldValue]
    write: Callable[[FieldValue], str]
    items: Callable[[Sequence[str]], tuple[str, ...]] = tuple
    ids: bool = False

    def of(self, note: Note) -> FieldValue:
        """Return the value of this field in a note."""
        return cast("FieldValue", getattr(note, self.key))

    def is_ours(self, value: Value) -> bool:
        """Return whether we can store a value; any other value would be lost if its line were rewritten."""
        try:
            content = self.read(value)
        except WrongType:
            return False
        ids = (content,) if isinstance(content, str) else content if isinstance(content, tuple) else ()
        return not self.ids or all(is_id(item) for item in ids if item)


def _text(value: Value) -> str:
    if not isinstance(value, Scalar):
        raise WrongType("a text")
    return "" if value.is_null else value.text


def _moment(value: Value) -> datetime | None:
    if isinstance(value, Scalar) and value.is_null:
        return None
    try:
        return parse_moment(_text(value), field="")
    except (InvalidInput, WrongType):
        raise WrongType("a time such as 2024-01-15T10:30:00Z") from None


def _flag(value: Value) -> bool:
    word = _text(value).casefold()
    if word not in _YES | _NO and word:
        raise WrongType("true or false")
    return word in _YES


def _ids(value: Value) -> tuple[str, ...]:
    if isinstance(value, Other):
        raise WrongType("a list of texts")
    if isinstance(value, Scalar):
        return tuple(part for item in value.text.split(",") if (part := item.strip())) if not value.is_null else ()
    return tuple(item.text for item in value if not item.is_null)


def _tags(value: Value) -> tuple[str, ...]:
    """Read tags, also in the forms that Obsidian accepts: `a, b`, and with a hash before each."""
    if isinstance(value, Scalar) and _HASHED.fullmatch(value.text):
        return tuple(item.strip(",").removeprefix("#") for item in value.text.split())
    return tuple(id_.removeprefix("#") for id_ in _ids(value))


def _escape_hashes(tags: Sequence[str]) -> tuple[str, ...]:
    # The reader removes one hash.
    return tuple(f"#{tag}" if tag.startswith("#") else tag for tag in tags)


FIELDS: tuple[Field, ...] = (
    Field(key="id", read=_text, write=lambda value: scalar(cast("str", value)), ids=True),
    Field(key="title", read=_text, write=lambda value: scalar(cast("str", value))),
    Field(
        key="tags",
        read=_tags,
        write=lambda value: flow_list(_escape_hashes(cast("tuple[str, ...]", value))),
        items=_escape_hashes,
    ),
    Field(key="category", read=_text, write=lambda value: scalar(cast("str", value))),
    Field(key="created_at", read=_moment, write=lambda value: to_iso(cast("datetime", value))),
    Field(key="updated_at", read=_moment, write=lambda value: to_iso(cast("datetime", value))),
    Field(key="last_reviewed", read=_moment, write=lambda value: to_iso(cast("datetime", value))),
    Field(key="links", read=_ids, write=lambda value: flow_list(cast("tuple[str, ...]", value)), ids=True),
    Field(key="kind", read=_text, write=lambda value: scalar(cast("str", value))),
    Field(key="pinned", read=_flag, write=lambda value: "true" if value else "false"),
)
