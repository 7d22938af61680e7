"""What a Markdown file of a memory says: pure data, without a store and without a disk."""

from dataclasses import dataclass
from datetime import datetime

__all__ = ["Link", "Note"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Link:
    """A link as written, `[[target|text]]`; the target is a file's name or path without `.md`, a title or an id."""

    target: str
    text: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Note:
    """A note. An empty field, or None, is one that the file does not tell.

    `links` are the ids in the frontmatter, `linked` the lines of the section of links; what is linked in the content
    stands there. `extra` is the frontmatter that we know nothing of: whole lines of YAML, in their order.
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
