"""The content of a memory's Markdown file as plain data, and the error for a file that is not a note."""

from datetime import datetime

from scrubjay.errors import NoteUnreadable
from scrubjay.lazy import dataclass

__all__ = ["UNREADABLE_HINT", "Link", "Note", "unreadable"]

UNREADABLE_HINT = "Correct the file in an editor; until then, the file and the stored note stay unchanged"


@dataclass(frozen=True, slots=True, kw_only=True)
class Link:
    """A link as written, `[[target|text]]`; the target is a file's name or path without `.md`, a title or an id."""

    target: str
    text: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Note:
    """A note. An empty field, or None, means that the file does not set it.

    `links` are the ids in the frontmatter, `linked` the lines of the links section; links in the content stay in
    `content`. `extra` is frontmatter with unknown keys: whole lines of YAML, in order.
    """

    id: str = ""
    title: str = ""
    tags: tuple[str, ...] = ()
    category: str = ""
    kind: str = ""
    pinned: bool = False
    created_at: datetime | None = None
    updated_at: datetime | None = None
    last_reviewed: datetime | None = None
    links: tuple[str, ...] = ()
    extra: str = ""
    content: str = ""
    observations: tuple[str, ...] = ()
    linked: tuple[Link, ...] = ()


def unreadable(reason: str, *, line: int, hint: str = UNREADABLE_HINT) -> NoteUnreadable:
    """Return the error for a file that is not a note, with the reason and the line."""
    return NoteUnreadable(f"line {line}: {reason}", hint=hint, line=line, reason=reason)
