"""The requests of the note verbs."""

from dataclasses import dataclass

from scrubjay.model.memory import Source

__all__ = ["NoteDraft", "NoteEdit", "NoteSearch", "NotesSelection"]


@dataclass(frozen=True, slots=True, kw_only=True)
class NoteDraft:
    """A new note. With a template, it begins with that, and its content follows.

    Without a source, the caller is the source.
    """

    title: str
    content: str = ""
    tags: tuple[str, ...] = ()
    category: str = ""
    template: str = ""
    project: str = ""
    source: Source | None = None
    idempotency_key: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class NoteEdit:
    """Changes to one note; fields that are None stay the same."""

    title: str | None = None
    content: str | None = None
    tags: tuple[str, ...] | None = None
    category: str | None = None
    expected_version: int | None = None
    message: str = ""
    idempotency_key: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class NoteSearch:
    """Words, `"a phrase"` or `begin*`, in a category and with all of the tags; `semantic` also searches by meaning."""

    query: str
    limit: int = 10
    category: str = ""
    tags: tuple[str, ...] = ()
    semantic: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class NotesSelection:
    """A selection of notes: the given ones, else all in a category and with all of the tags."""

    refs: tuple[str, ...] = ()
    category: str = ""
    tags: tuple[str, ...] = ()
