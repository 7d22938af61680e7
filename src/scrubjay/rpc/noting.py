"""The verbs of notes, asked of a daemon."""

from scrubjay.model.draft import Caller
from scrubjay.model.transfer import Progress
from scrubjay.notes import results
from scrubjay.notes.requests import NoteDraft, NoteEdit, NoteSearch
from scrubjay.rpc.carrying import Carrying


class Noting(Carrying):
    """The verbs of notes."""

    async def write_note(self, draft: NoteDraft, *, who: Caller) -> results.NoteWritten:
        """Write a new note."""
        return await self._write("write_note", results.NoteWritten, who, draft=draft)

    async def read_note(self, identifier: str, *, who: Caller, format: str = "markdown") -> results.NoteRead:
        """A note, with its content in a format."""
        return await self._told("read_note", results.NoteRead, who, identifier=identifier, format=format)

    async def edit_note(self, id: str, edit: NoteEdit, *, who: Caller) -> results.NoteChanged:
        """Change a note."""
        return await self._write("edit_note", results.NoteChanged, who, id=id, edit=edit)

    async def search_notes(self, request: NoteSearch, *, who: Caller) -> results.NotesFound:
        """Notes by their words."""
        return await self._told("search_notes", results.NotesFound, who, request=request)

    async def link_notes(
        self, source_id: str, target_id: str, *, who: Caller, link_text: str = ""
    ) -> results.NoteLinked:
        """Link two notes with each other."""
        return await self._write(
            "link_notes", results.NoteLinked, who, source_id=source_id, target_id=target_id, link_text=link_text
        )

    async def unlink_notes(self, source_id: str, target_id: str, *, who: Caller) -> results.NoteLinked:
        """Take the link between two notes away."""
        return await self._write("unlink_notes", results.NoteLinked, who, source_id=source_id, target_id=target_id)

    async def current_date(self, *, format: str = "iso", timezone: str = "") -> results.CurrentDate:
        """The date and time of now, where the daemon is."""
        return await self._told("current_date", results.CurrentDate, Caller(), format=format, timezone=timezone)

    async def review_note(self, id: str, *, who: Caller) -> results.NoteReviewed:
        """Note that somebody has looked through a note."""
        return await self._write("review_note", results.NoteReviewed, who, id=id)

    async def due_notes(self, *, who: Caller, days: int = 90, limit: int = 20, category: str = "") -> results.DueNotes:
        """The notes that nobody has looked through for so many days."""
        return await self._told("due_notes", results.DueNotes, who, days=days, limit=limit, category=category)

    async def backlinks(self, id: str, *, who: Caller) -> results.Backlinks:
        """The notes that link to one."""
        return await self._told("backlinks", results.Backlinks, who, id=id)

    async def broken_links(self, *, who: Caller, limit: int = 100) -> results.BrokenLinks:
        """The links that lead to no note."""
        return await self._told("broken_links", results.BrokenLinks, who, limit=limit)

    async def note_categories(self, *, who: Caller) -> results.Categories:
        """The categories of notes and how many are in each."""
        return await self._told("note_categories", results.Categories, who)

    async def note_templates(self, *, who: Caller) -> results.Templates:
        """The forms that a new note can begin with."""
        return await self._told("note_templates", results.Templates, who)

    async def sync_notes(
        self, *, who: Caller, deletions: bool = False, adopt: bool = False, progress: Progress | None = None
    ) -> results.NotesSynced:
        """Compare the store with the whole folder and bring them in step."""
        return await self._write(
            "sync_notes", results.NotesSynced, who, progress=progress, deletions=deletions, adopt=adopt
        )
