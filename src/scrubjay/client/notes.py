"""Memories as notes, with a file for each where there is a folder of them."""

from collections.abc import Mapping, Sequence

from scrubjay.client.coerce import as_tuple
from scrubjay.client.notes_io import ClientNotesIO
from scrubjay.model.memory import Json, Source
from scrubjay.model.transfer import Progress
from scrubjay.notes import results
from scrubjay.notes.requests import NoteDraft, NoteEdit, NoteSearch


class ClientNotes(ClientNotesIO):
    """Memories as notes, with a file for each where there is a folder of them."""

    async def write_note(
        self,
        title: str,
        content: str = "",
        *,
        tags: Sequence[str] = (),
        category: str = "",
        template: str = "",
        project: str = "",
        source: Source | Mapping[str, Json] | None = None,
        idempotency_key: str = "",
    ) -> results.NoteWritten:
        """Write a new note; what is like it is told, and never merged with it."""
        draft = NoteDraft(
            title=title, content=content, tags=as_tuple(tags), category=category, template=template, project=project,
            source=self._source(source), idempotency_key=idempotency_key,
        )  # fmt: skip
        return await (await self._noting()).write_note(draft, who=self._who)

    async def read_note(self, identifier: str, *, format: str = "markdown") -> results.NoteRead:
        """A note by id, title, name or file name, with its content as `markdown`, `plain` or `json`."""
        return await (await self._noting()).read_note(identifier, who=self._who, format=format)

    async def edit_note(
        self,
        id: str,
        *,
        title: str | None = None,
        content: str | None = None,
        tags: Sequence[str] | None = None,
        category: str | None = None,
        expected_version: int | None = None,
        message: str = "",
        idempotency_key: str = "",
    ) -> results.NoteChanged:
        """Change a note; what is not given stays as it is, and the state before stays a version."""
        edit = NoteEdit(
            title=title, content=content, tags=None if tags is None else as_tuple(tags), category=category,
            expected_version=expected_version, message=message, idempotency_key=idempotency_key,
        )  # fmt: skip
        return await (await self._noting()).edit_note(id, edit, who=self._who)

    async def search_notes(
        self, query: str, *, limit: int = 10, category: str = "", tags: Sequence[str] = (), semantic: bool = False
    ) -> results.NotesFound:
        """Notes by their words: `"a phrase"`, `begin*`; with `semantic` by their meaning too."""
        asked = NoteSearch(query=query, limit=limit, category=category, tags=as_tuple(tags), semantic=semantic)
        return await (await self._noting()).search_notes(asked, who=self._who)

    async def link_notes(self, source_id: str, target_id: str, *, link_text: str = "") -> results.NoteLinked:
        """Link two notes with each other; the text is what the link shows, unless that is the other's title."""
        return await (await self._noting()).link_notes(source_id, target_id, who=self._who, link_text=link_text)

    async def unlink_notes(self, source_id: str, target_id: str) -> results.NoteLinked:
        """Take the link between two notes away, from both ends."""
        return await (await self._noting()).unlink_notes(source_id, target_id, who=self._who)

    async def current_date(self, *, format: str = "iso", timezone: str = "") -> results.CurrentDate:
        """The date and time of now: `iso`, `locale`, `timestamp` or `date_only`."""
        return await (await self._noting()).current_date(format=format, timezone=timezone)

    async def review_note(self, id: str) -> results.NoteReviewed:
        """Note that somebody has looked through a note."""
        return await (await self._noting()).review_note(id, who=self._who)

    async def due_notes(self, *, days: int = 90, limit: int = 20, category: str = "") -> results.DueNotes:
        """The notes that nobody has looked through for so many days."""
        return await (await self._noting()).due_notes(who=self._who, days=days, limit=limit, category=category)

    async def backlinks(self, id: str) -> results.Backlinks:
        """The notes that link to one."""
        return await (await self._noting()).backlinks(id, who=self._who)

    async def broken_links(self, *, limit: int = 100) -> results.BrokenLinks:
        """The links that lead to no note, and which may be meant."""
        return await (await self._noting()).broken_links(who=self._who, limit=limit)

    async def note_categories(self) -> results.Categories:
        """The categories of notes and how many are in each."""
        return await (await self._noting()).note_categories(who=self._who)

    async def note_templates(self) -> results.Templates:
        """The forms that a new note can begin with."""
        return await (await self._noting()).note_templates(who=self._who)

    async def sync_notes(
        self, *, deletions: bool = False, adopt: bool = False, progress: Progress | None = None
    ) -> results.NotesSynced:
        """Compare the store with the whole folder and bring them in step."""
        return await (await self._noting()).sync_notes(
            who=self._who, deletions=deletions, adopt=adopt, progress=progress
        )
