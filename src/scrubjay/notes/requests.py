"""What the verbs of notes are asked."""

from dataclasses import dataclass

from scrubjay.model.memory import Source

__all__ = ["NoteDraft", "NoteEdit", "NoteSearch", "NotesSelection"]


@dataclass(frozen=True, slots=True, kw_only=True)
class NoteDraft:
    """A note on its way in. With a template it begins with that, and its content follows.

    Without a source it is the caller who says it.
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
    """Changes to one note; what is None stays as it is."""

    title: str | None = None
    content: str | None = None
    tags: tuple[str, ...] | None = None
    category: str | None = None
    expected_version: int | None = None
    message: str = ""
    idempotency_key: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class NoteSearch:
    """Words, `"a phrase"`, `begin*`, in a category and with all of some tags; with `semantic` what means it, too."""

    query: str
    limit: int = 10
    category: str = ""
    tags: tuple[str, ...] = ()
    semantic: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class NotesSelection:
    """Which notes: those that are named, else all of a category and with all of some tags."""

    refs: tuple[str, ...] = ()
    category: str = ""
    tags: tuple[str, ...] = ()
