"""`RemoteEngine`: the verbs of the engine and of notes, executed by a daemon."""

import base64
import os
from collections.abc import AsyncIterator, Mapping, Sequence
from datetime import datetime
from pathlib import Path

from scrubjay.graph.jsonl import FORMATS
from scrubjay.model.branch import Branches, BranchMerged
from scrubjay.model.conflict import ConflictDetails, Resolved, Scan
from scrubjay.model.draft import Caller, Draft, Edit, Selection
from scrubjay.model.fact import Extracted
from scrubjay.model.job import Job
from scrubjay.model.memory import MAIN, Json, Memory
from scrubjay.model.query import Question, SearchText, TextsFound
from scrubjay.model.relation import LINK, Network
from scrubjay.model.results import (
    Context,
    DoctorReport,
    History,
    Outcome,
    ReadResult,
    Recalled,
    Related,
    Remembered,
    Status,
    Undone,
    Written,
)
from scrubjay.model.rules import Rules
from scrubjay.model.tags import TagPreview, TagTable
from scrubjay.model.token import NewToken, Token, TokenRequest
from scrubjay.model.transfer import Imported, Lines, Progress
from scrubjay.notes import results
from scrubjay.notes.attachments.results import Attached, NoteAttachments, Orphans
from scrubjay.notes.requests import NoteDraft, NoteEdit, NoteSearch, NotesSelection
from scrubjay.notes.results import NotesExported, NotesImported
from scrubjay.rpc.client import RpcClient, Transport


class RemoteEngine:
    """The verbs of a daemon, with the signatures of `Engine` and `Notes`.

    Verbs that change nothing are repeated and answered offline by `read`; `call` repeats verbs that may run twice,
    `call_once` does not, and `write` finds out whether a lost call was committed.
    """

    def __init__(self, transport: Transport) -> None:
        self._client = RpcClient(transport)

    async def outcome(self, runs: Sequence[str], *, who: Caller) -> dict[str, bool]:
        """Return for each run whether it committed a change."""
        return await self._client.outcome(runs, who=who)

    async def close(self) -> None:
        """Close the connection."""
        await self._client.close()

    async def remember(self, draft: Draft, *, who: Caller) -> Remembered:
        """Store a text once, under every entity it is about."""
        return await self._client.write("remember", Remembered, who, draft=draft)

    async def recall(self, question: Question, *, who: Caller, cursor: str = "") -> Recalled:
        """Find the memories that answer a question."""
        return await self._client.read("recall", Recalled, who, question=question, cursor=cursor)

    async def search_text(self, request: SearchText, *, who: Caller) -> TextsFound:
        """Find memories by words, prefixes and phrases."""
        return await self._client.call("search_text", TextsFound, who, request=request)

    async def read(
        self,
        refs: Sequence[str],
        *,
        who: Caller,
        format: str = "markdown",
        version: int | None = None,
        branch: str = "",
        as_of: datetime | None = None,
    ) -> ReadResult:
        """Return whole memories by id, name or title, as they are or as they were."""
        return await self._client.read(
            "read", ReadResult, who, refs=refs, format=format, version=version, branch=branch, as_of=as_of
        )

    async def revise(self, ref: str, edit: Edit, *, who: Caller) -> Written:
        """Change a memory; the previous state remains as a version."""
        return await self._client.write("revise", Written, who, ref=ref, edit=edit)

    async def forget(self, selection: Selection, *, who: Caller) -> Outcome:
        """Move memories to the trash."""
        return await self._client.write("forget", Outcome, who, selection=selection)

    async def restore(self, selection: Selection, *, who: Caller) -> Outcome:
        """Restore memories from the trash."""
        return await self._client.write("restore", Outcome, who, selection=selection)

    async def purge(self, selection: Selection, *, who: Caller) -> Outcome:
        """Destroy memories in the trash."""
        return await self._client.write("purge", Outcome, who, selection=selection)

    async def relate(
        self,
        source: str,
        target: str,
        *,
        who: Caller,
        relation: str = LINK,
        text: str = "",
        strength: float = 0.5,
        metadata: Mapping[str, Json] | None = None,
    ) -> Related:
        """Set a relation between two memories."""
        return await self._client.write(
            "relate", Related, who, source=source, target=target, relation=relation, text=text, strength=strength,
            metadata=metadata,
        )  # fmt: skip

    async def unrelate(self, source: str, target: str, *, who: Caller, relation: str = LINK) -> Related:
        """Remove a relation."""
        return await self._client.write("unrelate", Related, who, source=source, target=target, relation=relation)

    async def undo(self, *, who: Caller, run: str = "", idempotency_key: str = "") -> Undone:
        """Undo the last run of this agent, or a named one."""
        return await self._client.write("undo", Undone, who, run=run, idempotency_key=idempotency_key)

    async def rules(self, *, who: Caller) -> Rules:
        """Return the rules of a space."""
        return await self._client.call("rules", Rules, who)

    async def set_rules(self, changes: Mapping[str, Json], *, who: Caller) -> Rules:
        """Change rules of a space; null restores a default."""
        # Repeating it is harmless.
        return await self._client.call("set_rules", Rules, who, changes=changes)

    async def tags(self, *, who: Caller, limit: int = 200) -> TagTable:
        """Return the tags of a space with their counts, and their synonyms."""
        return await self._client.call("tags", TagTable, who, limit=limit)

    async def add_synonyms(self, tag: str, variants: Sequence[str], *, who: Caller) -> TagTable:
        """Make other words synonyms of a tag."""
        return await self._client.call("add_synonyms", TagTable, who, tag=tag, variants=variants)

    async def remove_synonyms(self, variants: Sequence[str], *, who: Caller) -> TagTable:
        """Remove synonyms: the words become tags of their own again."""
        return await self._client.call("remove_synonyms", TagTable, who, variants=variants)

    async def preview_tags(self, tags: Sequence[str], *, who: Caller, text: str = "") -> TagPreview:
        """Preview the normalization of tags, and suggest tags for a text."""
        return await self._client.call("preview_tags", TagPreview, who, tags=tags, text=text)

    async def inbox(self, *, who: Caller, limit: int = 50) -> tuple[Memory, ...]:
        """Return the memories that wait for approval, newest first."""
        return await self._client.call("inbox", tuple[Memory, ...], who, limit=limit)

    async def approve(self, selection: Selection, *, who: Caller) -> Outcome:
        """Approve waiting memories."""
        return await self._client.write("approve", Outcome, who, selection=selection)

    async def decline(self, selection: Selection, *, who: Caller) -> Outcome:
        """Move waiting memories to the trash."""
        return await self._client.write("decline", Outcome, who, selection=selection)

    async def jobs(self, *, who: Caller, limit: int = 50) -> tuple[Job, ...]:
        """Return queued and finished jobs, newest first."""
        return await self._client.call("jobs", tuple[Job, ...], who, limit=limit)

    async def retry_job(self, job_id: str, *, who: Caller) -> Job:
        """Run a failed job again."""
        return await self._client.call("retry_job", Job, who, job_id=job_id)

    async def cancel_job(self, job_id: str, *, who: Caller) -> Job:
        """Cancel a job."""
        return await self._client.call_once("cancel_job", Job, who, job_id=job_id)

    async def status(self, *, who: Caller) -> Status:
        """Return health and sizes."""
        return await self._client.call("status", Status, who)

    async def doctor(self, *, who: Caller, deep: bool = False, repair: bool = False) -> DoctorReport:
        """Check everything, after repairing what can be repaired if `repair` is set."""
        return await self._client.call_once("doctor", DoctorReport, who, deep=deep, repair=repair)

    async def backup(self, target: Path, *, progress: Progress | None = None) -> Path:
        """Copy the store to a file on the daemon's machine while it is in use; returns the path of the copy."""
        # The daemon has another working folder.
        path = os.path.abspath(target)  # noqa: ASYNC240, PTH100 - touches no file
        return await self._client.call_once("backup", Path, Caller(), progress=progress, target=path)

    async def create_token(self, request: TokenRequest) -> NewToken:
        """Create a token for access over HTTP; only this answer contains its secret."""
        return await self._client.call_once("create_token", NewToken, Caller(), request=request)

    async def tokens(self) -> tuple[Token, ...]:
        """Return all tokens, oldest first, including expired and revoked ones."""
        return await self._client.call("tokens", tuple[Token, ...], Caller())

    async def revoke_token(self, ref: str) -> Token:
        """Revoke a token by its id or name, at once and for good."""
        # Repeating it is harmless.
        return await self._client.call("revoke_token", Token, Caller(), ref=ref)

    def export(
        self,
        *,
        who: Caller,
        format: str = FORMATS[0],
        include: Sequence[str] = (),
        progress: Progress | None = None,
    ) -> AsyncIterator[str]:
        """Return the lines of an export: the whole space, or its knowledge graph in the reference server's format."""
        # A daemon of an earlier version does not have the argument.
        sections = {"include": tuple(include)} if include else {}
        return self._client.pull("export", who, progress=progress, format=format, **sections)

    async def import_(
        self, lines: Lines, *, who: Caller, with_sections: bool = True, progress: Progress | None = None
    ) -> Imported:
        """Import an export, or a file of the reference knowledge-graph server; `embed_missing` adds the vectors."""
        del with_sections  # The daemon decides: it accepts them from callers at its socket.
        return await self._client.push("import_", Imported, who, lines=lines(), progress=progress)

    async def embed_missing(self, *, progress: Progress | None = None) -> int:
        """Embed texts without a vector; returns their number."""
        return await self._client.call_once("embed_missing", int, Caller(), progress=progress)

    async def history(
        self, ref: str, *, who: Caller, limit: int = 20, before: int | None = None, branch: str = ""
    ) -> History:
        """Return the versions of a memory."""
        return await self._client.read("history", History, who, ref=ref, limit=limit, before=before, branch=branch)

    async def diff(self, ref: str, *, who: Caller, versions: Sequence[int | str], branch: str = "") -> History:
        """Compare two versions; the name of a branch means its newest version."""
        return await self._client.read("diff", History, who, ref=ref, versions=versions, branch=branch)

    async def revert(
        self, ref: str, *, who: Caller, to: int, message: str = "", branch: str = "", idempotency_key: str = ""
    ) -> Written:
        """Restore an earlier version as a new one."""
        return await self._client.write(
            "revert", Written, who, ref=ref, to=to, message=message, branch=branch, idempotency_key=idempotency_key
        )

    async def commit(
        self, ref: str, *, who: Caller, message: str, branch: str = "", idempotency_key: str = ""
    ) -> Written:
        """Create a version with a message and unchanged content."""
        return await self._client.write(
            "commit", Written, who, ref=ref, message=message, branch=branch, idempotency_key=idempotency_key
        )

    async def branch(
        self, ref: str, name: str, *, who: Caller, description: str = "", at: int | None = None, switch: bool = False
    ) -> Branches:
        """Create a branch of a memory."""
        return await self._client.write(
            "branch", Branches, who, ref=ref, name=name, description=description, at=at, switch=switch
        )

    async def branches(self, ref: str, *, who: Caller) -> Branches:
        """Return the branches of a memory."""
        return await self._client.call("branches", Branches, who, ref=ref)

    async def switch(self, ref: str, name: str, *, who: Caller) -> Branches:
        """Make another branch the current one of a memory."""
        # Repeating it is harmless.
        return await self._client.call("switch", Branches, who, ref=ref, name=name)

    async def drop_branch(self, ref: str, name: str, *, who: Caller) -> Branches:
        """Move a branch to the trash."""
        return await self._client.write("drop_branch", Branches, who, ref=ref, name=name)

    async def merge_branch(
        self,
        ref: str,
        name: str,
        *,
        who: Caller,
        into: str = MAIN,
        prefer: str = "",
        message: str = "",
        idempotency_key: str = "",
    ) -> BranchMerged:
        """Merge a branch into another; conflicts are reported, and then nothing is written."""
        return await self._client.write(
            "merge_branch", BranchMerged, who, ref=ref, name=name, into=into, prefer=prefer, message=message,
            idempotency_key=idempotency_key,
        )  # fmt: skip

    async def graph(
        self,
        refs: Sequence[str],
        *,
        who: Caller,
        depth: int = 1,
        types: Sequence[str] = (),
        direction: str = "both",
        limit: int = 200,
        as_of: datetime | None = None,
    ) -> Network:
        """Return the memories that relations connect to the given ones."""
        return await self._client.call(
            "graph", Network, who, refs=refs, depth=depth, types=types, direction=direction, limit=limit, as_of=as_of
        )

    async def path(
        self,
        source: str,
        target: str,
        *,
        who: Caller,
        types: Sequence[str] = (),
        direction: str = "both",
        most: int = 6,
        as_of: datetime | None = None,
    ) -> Network:
        """Return a shortest path from one memory to another."""
        return await self._client.call(
            "path", Network, who, source=source, target=target, types=types, direction=direction, most=most,
            as_of=as_of,
        )  # fmt: skip

    async def conflicts(
        self, *, who: Caller, status: str = "pending", ref: str = "", limit: int = 50
    ) -> tuple[ConflictDetails, ...]:
        """Return the conflicts of a space, or of one memory."""
        return await self._client.call(
            "conflicts", tuple[ConflictDetails, ...], who, status=status, ref=ref, limit=limit
        )

    async def probe_conflicts(
        self, drafts: Sequence[Draft], *, who: Caller, threshold: float = 0.5
    ) -> tuple[tuple[ConflictDetails, ...], ...]:
        """Return the conflicts that each draft would have if it were stored."""
        kind = tuple[tuple[ConflictDetails, ...], ...]
        return await self._client.call("probe_conflicts", kind, who, drafts=drafts, threshold=threshold)

    async def scan_conflicts(self, *, who: Caller, limit: int = 50, progress: Progress | None = None) -> Scan:
        """Scan the whole space for conflicts."""
        return await self._client.call_once("scan_conflicts", Scan, who, progress=progress, limit=limit)

    async def scan_later(self, *, who: Caller, after: int = 0) -> Job:
        """Queue a scan of the whole space after a delay in seconds; a waiting scan is reused."""
        return await self._client.call("scan_later", Job, who, after=after)

    async def resolve_conflict(
        self,
        conflict_id: str,
        *,
        who: Caller,
        strategy: str = "auto",
        notes: str = "",
        branch: str = "",
        idempotency_key: str = "",
    ) -> Resolved:
        """Resolve a conflict; `undo` takes it back."""
        return await self._client.write(
            "resolve_conflict", Resolved, who, conflict_id=conflict_id, strategy=strategy, notes=notes, branch=branch,
            idempotency_key=idempotency_key,
        )  # fmt: skip

    async def extract(
        self,
        text: str,
        *,
        who: Caller,
        session: str = "",
        store: bool = True,
        format: str = "auto",
        method: str = "auto",
        project: str = "",
        me: str = "",
        trusted: bool = True,
        progress: Progress | None = None,
    ) -> Extracted:
        """Extract the facts of a conversation, and store them."""
        return await self._client.write(
            "extract", Extracted, who, progress=progress, text=text, session=session, store=store, format=format,
            method=method, project=project, me=me, trusted=trusted,
        )  # fmt: skip

    async def context(self, *, who: Caller, session: str = "", project: str = "", max_tokens: int = 1500) -> Context:
        """Return the context for the start of a session."""
        return await self._client.call("context", Context, who, session=session, project=project, max_tokens=max_tokens)

    async def create_entities(self, entities: Sequence[Mapping[str, Json]], *, who: Caller) -> dict[str, Json]:
        """Create or update entities by name."""
        return await self._client.write("create_entities", dict[str, Json], who, entities=entities)

    async def update_entity(self, ref: str, changes: Mapping[str, Json], *, who: Caller) -> dict[str, Json]:
        """Change fields of an entity."""
        return await self._client.write("update_entity", dict[str, Json], who, ref=ref, changes=changes)

    async def search_nodes(self, query: str, *, who: Caller, limit: int = 10) -> dict[str, Json]:
        """Find entities by name, type and meaning; pinned ones come first."""
        return await self._client.call("search_nodes", dict[str, Json], who, query=query, limit=limit)

    async def get_memory_status(self, *, who: Caller) -> dict[str, Json]:
        """Return counts by type and tier, sizes and versions."""
        return await self._client.call("get_memory_status", dict[str, Json], who)

    async def write_note(self, draft: NoteDraft, *, who: Caller) -> results.NoteWritten:
        """Write a new note."""
        return await self._client.write("write_note", results.NoteWritten, who, draft=draft)

    async def read_note(self, identifier: str, *, who: Caller, format: str = "markdown") -> results.NoteRead:
        """Return a note, with its content in a format."""
        return await self._client.call("read_note", results.NoteRead, who, identifier=identifier, format=format)

    async def edit_note(self, id: str, edit: NoteEdit, *, who: Caller) -> results.NoteChanged:
        """Change a note."""
        return await self._client.write("edit_note", results.NoteChanged, who, id=id, edit=edit)

    async def search_notes(self, request: NoteSearch, *, who: Caller) -> results.NotesFound:
        """Find notes by their words."""
        return await self._client.call("search_notes", results.NotesFound, who, request=request)

    async def link_notes(
        self, source_id: str, target_id: str, *, who: Caller, link_text: str = ""
    ) -> results.NoteLinked:
        """Link two notes with each other."""
        return await self._client.write(
            "link_notes", results.NoteLinked, who, source_id=source_id, target_id=target_id, link_text=link_text
        )

    async def unlink_notes(self, source_id: str, target_id: str, *, who: Caller) -> results.NoteLinked:
        """Remove the link between two notes."""
        return await self._client.write(
            "unlink_notes", results.NoteLinked, who, source_id=source_id, target_id=target_id
        )

    async def current_date(self, *, format: str = "iso", timezone: str = "") -> results.CurrentDate:
        """Return the current date and time."""
        return await self._client.call("current_date", results.CurrentDate, Caller(), format=format, timezone=timezone)

    async def review_note(self, id: str, *, who: Caller) -> results.NoteReviewed:
        """Mark a note as reviewed."""
        return await self._client.write("review_note", results.NoteReviewed, who, id=id)

    async def due_notes(self, *, who: Caller, days: int = 90, limit: int = 20, category: str = "") -> results.DueNotes:
        """Return the notes that were not reviewed for a number of days."""
        return await self._client.call("due_notes", results.DueNotes, who, days=days, limit=limit, category=category)

    async def backlinks(self, id: str, *, who: Caller) -> results.Backlinks:
        """Return the notes that link to a note."""
        return await self._client.call("backlinks", results.Backlinks, who, id=id)

    async def broken_links(self, *, who: Caller, limit: int = 100) -> results.BrokenLinks:
        """Return the links without a target note."""
        return await self._client.call("broken_links", results.BrokenLinks, who, limit=limit)

    async def note_categories(self, *, who: Caller) -> results.Categories:
        """Return the categories of notes with their counts."""
        return await self._client.call("note_categories", results.Categories, who)

    async def note_templates(self, *, who: Caller) -> results.Templates:
        """Return the templates for new notes."""
        return await self._client.call("note_templates", results.Templates, who)

    async def sync_notes(
        self, *, who: Caller, deletions: bool = False, adopt: bool = False, progress: Progress | None = None
    ) -> results.NotesSynced:
        """Synchronize the store with the whole folder of notes."""
        return await self._client.write(
            "sync_notes", results.NotesSynced, who, progress=progress, deletions=deletions, adopt=adopt
        )

    async def attach_file(
        self, note: str, name: str, data: str | bytes, *, who: Caller, caption: str = ""
    ) -> Attached:  # fmt: skip
        """Attach data to a note."""
        text = data if isinstance(data, str) else base64.b64encode(data).decode("ascii")
        return await self._client.write("attach_file", Attached, who, note=note, name=name, data=text, caption=caption)

    async def attach_path(self, note: str, path: str, *, who: Caller, caption: str = "", name: str = "") -> Attached:
        """Attach a file of the machine that the daemon runs on."""
        return await self._client.write("attach_path", Attached, who, note=note, path=path, caption=caption, name=name)

    async def note_attachments(self, note: str, *, who: Caller) -> NoteAttachments:
        """Return the attachments of a note."""
        return await self._client.call("note_attachments", NoteAttachments, who, note=note)

    async def orphaned_files(self, *, who: Caller) -> Orphans:
        """Return attachments that no note embeds, and unknown files."""
        return await self._client.call("orphaned_files", Orphans, who)

    async def export_notes(
        self,
        target: str,
        selection: NotesSelection,
        *,
        who: Caller,
        format: str = "md",
        progress: Progress | None = None,
    ) -> NotesExported:
        """Export notes to a file or folder."""
        return await self._client.write(
            "export_notes", NotesExported, who, progress=progress, target=target, selection=selection, format=format
        )

    async def import_notes(
        self, folder: str, *, who: Caller, category: str = "", dry_run: bool = False, progress: Progress | None = None
    ) -> NotesImported:
        """Import a folder of Markdown files."""
        return await self._client.write(
            "import_notes", NotesImported, who, progress=progress, folder=folder, category=category, dry_run=dry_run
        )
