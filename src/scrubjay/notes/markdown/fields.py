"""The fields of a note in its frontmatter: which there are, in which order, and how each is read and written."""

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

__all__ = ["FIELDS", "Field", "Told", "WrongKind"]

_YES = frozenset({"true", "yes", "on", "y"})
_NO = frozenset({"false", "no", "off", "n"})
_HASHED = re.compile(r"#\S+(?:\s+#\S+)*")

# What a field of a note can be.
Told = str | bool | datetime | None | tuple[str, ...]


class WrongKind(ValueError):
    """A value that is none for its field; says what would be."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Field:
    """A key that we know: how its value is read, and how it is written; nothing is written of what is not told.

    `ids`: it names memories. Others have keys that are called so too, for numbers or addresses of their own.
    """

    key: str
    read: Callable[[Value], Told]
    write: Callable[[Told], str]
    items: Callable[[Sequence[str]], tuple[str, ...]] = tuple
    ids: bool = False

    def of(self, note: Note) -> Told:
        """What a note tells of it."""
        return cast("Told", getattr(note, self.key))

    def is_ours(self, value: Value) -> bool:
        """Whether a value says something that we keep; what else is written there would be lost with its line."""
        try:
            reported = self.read(value)
        except WrongKind:
            return False
        named = (reported,) if isinstance(reported, str) else reported if isinstance(reported, tuple) else ()
        return not self.ids or all(is_id(item) for item in named if item)


def _text(value: Value) -> str:
    if not isinstance(value, Scalar):
        raise WrongKind("a text")
    return "" if value.is_null else value.text


def _moment(value: Value) -> datetime | None:
    if isinstance(value, Scalar) and value.is_null:
        return None
    try:
        return parse_moment(_text(value), field="")
    except (InvalidInput, WrongKind):
        raise WrongKind("a time such as 2024-01-15T10:30:00Z") from None


def _flag(value: Value) -> bool:
    word = _text(value).casefold()
    if word not in _YES | _NO and word:
        raise WrongKind("true or false")
    return word in _YES


def _ids(value: Value) -> tuple[str, ...]:
    if isinstance(value, Other):
        raise WrongKind("a list of texts")
    if isinstance(value, Scalar):
        return tuple(part for item in value.text.split(",") if (part := item.strip())) if not value.is_null else ()
    return tuple(item.text for item in value if not item.is_null)


def _tags(value: Value) -> tuple[str, ...]:
    """Also as Obsidian lets them be written: `a, b`, and with a hash before each."""
    if isinstance(value, Scalar) and _HASHED.fullmatch(value.text):
        return tuple(item.strip(",").removeprefix("#") for item in value.text.split())
    return tuple(id_.removeprefix("#") for id_ in _ids(value))


def _hashed(tags: Sequence[str]) -> tuple[str, ...]:
    # One hash is taken off when it is read.
    return tuple(f"#{tag}" if tag.startswith("#") else tag for tag in tags)


FIELDS: tuple[Field, ...] = (
    Field(key="id", read=_text, write=lambda one: scalar(cast("str", one)), ids=True),
    Field(key="title", read=_text, write=lambda one: scalar(cast("str", one))),
    Field(key="tags", read=_tags, write=lambda one: flow_list(_hashed(cast("tuple[str, ...]", one))), items=_hashed),
    Field(key="category", read=_text, write=lambda one: scalar(cast("str", one))),
    Field(key="created_at", read=_moment, write=lambda one: to_iso(cast("datetime", one))),
    Field(key="updated_at", read=_moment, write=lambda one: to_iso(cast("datetime", one))),
    Field(key="last_reviewed", read=_moment, write=lambda one: to_iso(cast("datetime", one))),
    Field(key="links", read=_ids, write=lambda one: flow_list(cast("tuple[str, ...]", one)), ids=True),
    Field(key="kind", read=_text, write=lambda one: scalar(cast("str", one))),
    Field(key="pinned", read=_flag, write=lambda one: "true" if one else "false"),
)
