"""The verbs of notes, asked of a daemon."""

from collections.abc import Sequence

from scrubjay.model.draft import Caller
from scrubjay.model.memory import Source
from scrubjay.notes.results import (
    Backlinks,
    BrokenLinks,
    Categories,
    CurrentDate,
    DueNotes,
    NoteChanged,
    NoteLinked,
    NoteRead,
    NoteReviewed,
    NotesFound,
    NotesSynced,
    NoteWritten,
    Templates,
)
from scrubjay.ports import Progress
from scrubjay.remote.carrying import Carrying


class Noting(Carrying):
    """The verbs of notes."""

    async def write_note(
        self,
        title: str,
        content: str = "",
        *,
        who: Caller,
        tags: Sequence[str] = (),
        category: str = "",
        template: str = "",
        project: str = "",
        source: Source | None = None,
        idempotency_key: str = "",
    ) -> NoteWritten:
        """Write a new note."""
        return await self._write(
            "write_note", NoteWritten, who, title=title, content=content, tags=tags, category=category,
            template=template, project=project, source=source, idempotency_key=idempotency_key,
        )  # fmt: skip

    async def read_note(self, identifier: str, *, who: Caller, format: str = "markdown") -> NoteRead:
        """A note, with its content in a format."""
        return await self._told("read_note", NoteRead, who, identifier=identifier, format=format)

    async def edit_note(
        self,
        id: str,
        *,
        who: Caller,
        title: str | None = None,
        content: str | None = None,
        tags: Sequence[str] | None = None,
        category: str | None = None,
        expected_version: int | None = None,
        message: str = "",
        idempotency_key: str = "",
    ) -> NoteChanged:
        """Change a note."""
        return await self._write(
            "edit_note", NoteChanged, who, id=id, title=title, content=content, tags=tags, category=category,
            expected_version=expected_version, message=message, idempotency_key=idempotency_key,
        )  # fmt: skip

    async def search_notes(
        self,
        query: str,
        *,
        who: Caller,
        limit: int = 10,
        category: str = "",
        tags: Sequence[str] = (),
        semantic: bool = False,
    ) -> NotesFound:
        """Notes by their words."""
        return await self._told(
            "search_notes", NotesFound, who, query=query, limit=limit, category=category, tags=tags, semantic=semantic
        )

    async def link_notes(self, source_id: str, target_id: str, *, who: Caller, link_text: str = "") -> NoteLinked:
        """Link two notes with each other."""
        return await self._write(
            "link_notes", NoteLinked, who, source_id=source_id, target_id=target_id, link_text=link_text
        )

    async def unlink_notes(self, source_id: str, target_id: str, *, who: Caller) -> NoteLinked:
        """Take the link between two notes away."""
        return await self._write("unlink_notes", NoteLinked, who, source_id=source_id, target_id=target_id)

    async def current_date(self, *, format: str = "iso", timezone: str = "") -> CurrentDate:
        """The date and time of now, where the daemon is."""
        return await self._told("current_date", CurrentDate, Caller(), format=format, timezone=timezone)

    async def review_note(self, id: str, *, who: Caller) -> NoteReviewed:
        """Note that somebody has looked through a note."""
        return await self._write("review_note", NoteReviewed, who, id=id)

    async def due_notes(self, *, who: Caller, days: int = 90, limit: int = 20, category: str = "") -> DueNotes:
        """The notes that nobody has looked through for so many days."""
        return await self._told("due_notes", DueNotes, who, days=days, limit=limit, category=category)

    async def backlinks(self, id: str, *, who: Caller) -> Backlinks:
        """The notes that link to one."""
        return await self._told("backlinks", Backlinks, who, id=id)

    async def broken_links(self, *, who: Caller, limit: int = 100) -> BrokenLinks:
        """The links that lead to no note."""
        return await self._told("broken_links", BrokenLinks, who, limit=limit)

    async def note_categories(self, *, who: Caller) -> Categories:
        """The categories of notes and how many are in each."""
        return await self._told("note_categories", Categories, who)

    async def note_templates(self, *, who: Caller) -> Templates:
        """The forms that a new note can begin with."""
        return await self._told("note_templates", Templates, who)

    async def sync_notes(
        self, *, who: Caller, deletions: bool = False, adopt: bool = False, progress: Progress | None = None
    ) -> NotesSynced:
        """Compare the store with the whole folder and bring them in step."""
        return await self._write("sync_notes", NotesSynced, who, progress=progress, deletions=deletions, adopt=adopt)
