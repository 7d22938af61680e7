"""`MemoryClient`: the verbs for Python programs, executed by a daemon or by an engine in this process."""

import asyncio
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Self

from scrubjay.client.coerce import (
    Moment,
    absolute_path,
    as_moment,
    as_refs,
    as_source,
    as_state,
    as_tuple,
    line_source,
    read_bytes,
)
from scrubjay.client.connect import BorrowedConnection, Connection
from scrubjay.errors import InvalidInput, NotAllowed
from scrubjay.graph.jsonl import FORMATS
from scrubjay.model.branch import Branches, BranchMerged
from scrubjay.model.conflict import ConflictDetails, Resolved, Scan
from scrubjay.model.draft import Caller, Draft, Edit, Selection
from scrubjay.model.fact import Extracted
from scrubjay.model.job import Job
from scrubjay.model.memory import MAIN, Json, Memory, Source
from scrubjay.model.query import Filter, Question
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
from scrubjay.model.transfer import Imported, Progress
from scrubjay.notes import results
from scrubjay.notes.attachments.results import Attached, NoteAttachments, Orphans
from scrubjay.notes.requests import NoteDraft, NoteEdit, NoteSearch, NotesSelection
from scrubjay.notes.results import NotesExported, NotesImported
from scrubjay.rpc.engine import RemoteEngine
from scrubjay.settings import Settings

if TYPE_CHECKING:
    from scrubjay.engine import Engine
    from scrubjay.notes.service import Notes


class MemoryClient:
    """One space of one memory. Use it as an async context manager.

    It talks to the daemon of the data folder if one runs, else it opens the store itself. With `url` it talks to a
    server over HTTP and sends the `token`; with `path` it opens the store in that folder, even if others use it.
    """

    def __init__(
        self,
        *,
        path: str | Path | None = None,
        url: str = "",
        token: str | None = None,
        space: str | None = None,
        agent: str | None = None,
        run: str = "",
        settings: Settings | None = None,
    ) -> None:
        if path and url:
            raise InvalidInput("a client needs a folder or an address, not both", hint="Give path or url", field="url")
        chosen = settings or Settings.load(home=str(path) if path else None, space=space, agent=agent)
        chosen = chosen.with_overrides(token=token)
        home = str(path) if path else chosen.home
        self._settings = replace(chosen, home=home, space=space or chosen.space, agent=agent or chosen.agent)
        self._who = Caller(space=self._settings.space, agent=self._settings.agent, run=run)
        names_space = space is not None or self._settings.space != Settings().space
        self._connection: Connection | BorrowedConnection = Connection(
            settings=self._settings, url=url, alone=path is not None, names_space=names_space
        )

    @classmethod
    def over(cls, engine: "Engine", who: Caller, *, notes: "Notes | None" = None) -> "MemoryClient":
        """Return a client over an engine and notes that another owner opened and closes."""
        return _BorrowingClient(engine, who, notes)

    async def __aenter__(self) -> Self:
        await self._connection.open()
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self._connection.close()

    async def remember(
        self,
        text: str,
        *,
        title: str = "",
        kind: str = "",
        name: str = "",
        entities: Sequence[str] = (),
        observations: Sequence[str] = (),
        tags: Sequence[str] = (),
        category: str = "",
        project: str = "",
        scope: str = "",
        session_hint: str = "",
        intent: str = "auto",
        pinned: bool = False,
        expires_at: Moment = None,
        remind_at: Moment = None,
        source: Source | Mapping[str, Json] | None = None,
        metadata: Mapping[str, Json] | None = None,
        idempotency_key: str = "",
        dry_run: bool = False,
        wait_for_llm: bool = False,
    ) -> Remembered:
        """Store a text once, under every entity it is about; the result says what was done."""
        draft = Draft(
            text=text, title=title, kind=kind, name=name, entities=as_tuple(entities), tags=as_tuple(tags),
            observations=as_tuple(observations), category=category, project=project, scope=scope,
            session_hint=session_hint, intent=intent, pinned=pinned, metadata={} if metadata is None else metadata,
            expires_at=as_moment(expires_at, "expires_at"), remind_at=as_moment(remind_at, "remind_at"),
            source=as_source(source, agent=self._who.agent), idempotency_key=idempotency_key, dry_run=dry_run,
            wait_for_llm=wait_for_llm,
        )  # fmt: skip
        return await self._engine.remember(draft, who=self._who)

    async def recall(
        self,
        query: str = "",
        *,
        limit: int = 8,
        entity: str = "",
        kind: str = "",
        category: str = "",
        tags: Sequence[str] = (),
        any_tags: Sequence[str] = (),
        project: str = "",
        scope: str = "",
        tier: str = "",
        session: str = "",
        agent: str = "",
        trust: str = "",
        contains: str = "",
        metadata: Mapping[str, Json] | None = None,
        since: Moment = None,
        until: Moment = None,
        state: str = "live",
        around: int = 0,
        max_tokens: int = 1500,
        detail: str = "concise",
        cursor: str = "",
        explain: bool = False,
        today: Moment = None,
        as_of: Moment = None,
        branch: str = MAIN,
    ) -> Recalled:
        """Find the memories that answer a question; without one, the most recent.

        `contains` is a literal text, ignoring case. `around` adds memories of the same session before and after each
        hit. `today` is the day that "yesterday" and "in March" refer to, by default now. `as_of` recalls the state at a
        time in the past; memories with the `branch` are read as they are on it.
        """
        conditions = Filter(
            entity=entity, kind=kind, category=category, tags=as_tuple(tags), any_tags=as_tuple(any_tags),
            project=project, scope=scope, tier=tier, session=session, agent=agent, trust=trust,
            metadata={} if metadata is None else metadata, since=as_moment(since, "since"),
            until=as_moment(until, "until"), state=as_state(state),
        )  # fmt: skip
        question = Question(
            query=query, filter=conditions, limit=limit, max_tokens=max_tokens, detail=detail, explain=explain,
            contains=contains, around=around, today=as_moment(today, "today"), as_of=as_moment(as_of, "as_of"),
            branch=branch,
        )  # fmt: skip
        return await self._engine.recall(question, who=self._who, cursor=cursor)

    async def read(
        self, ids: str | Sequence[str], *, format: str = "markdown", version: int | None = None, branch: str = "",
        as_of: Moment = None,
    ) -> ReadResult:  # fmt: skip
        """Return whole memories by id, name or title; missing ones are named, with suggestions.

        Without a branch each is read on its current one.
        """
        return await self._engine.read(
            as_refs(ids), who=self._who, format=format, version=version, branch=branch,
            as_of=as_moment(as_of, "as_of"),
        )  # fmt: skip

    async def revise(
        self,
        id: str,
        *,
        add_observations: Sequence[str] = (),
        remove_observations: Sequence[str] = (),
        message: str = "",
        expected_version: int | None = None,
        idempotency_key: str = "",
        branch: str = "",
        source: Source | Mapping[str, Json] | None = None,
        **fields: Json,
    ) -> Written:
        """Change fields of a memory; the previous state remains as a version.

        `source` is the source of the added observations.
        """
        edit = Edit(
            fields=fields, add_observations=as_tuple(add_observations),
            remove_observations=as_tuple(remove_observations), message=message, expected_version=expected_version,
            idempotency_key=idempotency_key, branch=branch,
            source=as_source(source, agent=self._who.agent) if source is not None else None,
        )  # fmt: skip
        return await self._engine.revise(id, edit, who=self._who)

    async def forget(
        self, ids: str | Sequence[str] = (), *, filter: Filter | None = None, group: bool = False, reason: str = "",
        dry_run: bool = False,
    ) -> Outcome:  # fmt: skip
        """Move memories to the trash; `restore` brings them back."""
        selection = Selection(refs=as_refs(ids), filter=filter, group=group, reason=reason, dry_run=dry_run)
        return await self._engine.forget(selection, who=self._who)

    async def restore(
        self, ids: str | Sequence[str] = (), *, filter: Filter | None = None, group: bool = False, reason: str = "",
        dry_run: bool = False, branch: str = "",
    ) -> Outcome:  # fmt: skip
        """Restore memories from the trash, or, by its name, a dropped branch of them."""
        selection = Selection(
            refs=as_refs(ids), filter=filter, group=group, reason=reason, dry_run=dry_run, branch=branch
        )
        return await self._engine.restore(selection, who=self._who)

    async def purge(
        self, ids: str | Sequence[str] = (), *, filter: Filter | None = None, group: bool = False, reason: str = "",
        dry_run: bool = False,
    ) -> Outcome:  # fmt: skip
        """Destroy memories in the trash, with every version and every trace of their text."""
        selection = Selection(refs=as_refs(ids), filter=filter, group=group, reason=reason, dry_run=dry_run)
        return await self._engine.purge(selection, who=self._who)

    async def relate(
        self, source: str, target: str, *, relation: str = LINK, text: str = "", strength: float = 0.5,
        metadata: Mapping[str, Json] | None = None,
    ) -> Related:  # fmt: skip
        """Relate two memories; both ends show a link."""
        return await self._engine.relate(
            source, target, who=self._who, relation=relation, text=text, strength=strength, metadata=metadata
        )

    async def unrelate(self, source: str, target: str, *, relation: str = LINK) -> Related:
        """Remove a relation."""
        return await self._engine.unrelate(source, target, who=self._who, relation=relation)

    async def history(
        self, id: str, *, limit: int = 20, before: int | None = None, diff: Sequence[int | str] | None = None,
        branch: str = "",
    ) -> History:  # fmt: skip
        """Return the versions of a memory, newest first; with `diff=[a, b]`, compare two.

        The name of a branch means its newest version.
        """
        if diff is not None:
            return await self._engine.diff(id, who=self._who, versions=diff, branch=branch)
        return await self._engine.history(id, who=self._who, limit=limit, before=before, branch=branch)

    async def revert(
        self, id: str, *, to: int, message: str = "", branch: str = "", idempotency_key: str = ""
    ) -> Written:
        """Restore an earlier version as a new one."""
        return await self._engine.revert(
            id, who=self._who, to=to, message=message, branch=branch, idempotency_key=idempotency_key
        )

    async def undo(self, *, run: str = "", idempotency_key: str = "") -> Undone:
        """Undo the last change of this agent, or a named run."""
        return await self._engine.undo(who=self._who, run=run, idempotency_key=idempotency_key)

    async def commit(self, id: str, *, message: str, branch: str = "", idempotency_key: str = "") -> Written:
        """Create a version with a message and unchanged content."""
        return await self._engine.commit(
            id, who=self._who, message=message, branch=branch, idempotency_key=idempotency_key
        )

    async def branch(
        self, id: str, name: str, *, description: str = "", at: int | None = None, switch: bool = False
    ) -> Branches:
        """Create a branch of a memory; main does not show its changes."""
        return await self._engine.branch(id, name, who=self._who, description=description, at=at, switch=switch)

    async def branches(self, id: str) -> Branches:
        """Return the branches of a memory, and the current one."""
        return await self._engine.branches(id, who=self._who)

    async def switch(self, id: str, name: str) -> Branches:
        """Make another branch the current one of a memory."""
        return await self._engine.switch(id, name, who=self._who)

    async def drop_branch(self, id: str, name: str) -> Branches:
        """Move a branch to the trash."""
        return await self._engine.drop_branch(id, name, who=self._who)

    async def merge_branch(
        self, id: str, name: str, *, into: str = MAIN, prefer: str = "", message: str = "", idempotency_key: str = ""
    ) -> BranchMerged:
        """Merge a branch into another; conflicts are reported, and then nothing is written.

        `prefer` resolves conflicts: `ours` takes the value of `into`, `theirs` that of the branch.
        """
        return await self._engine.merge_branch(
            id, name, who=self._who, into=into, prefer=prefer, message=message, idempotency_key=idempotency_key
        )

    async def related(
        self, id: str, *, types: Sequence[str] = (), direction: str = "both", limit: int = 200, as_of: Moment = None
    ) -> Network:
        """Return the memories that relations of a memory lead to."""
        return await self.graph(id, depth=1, types=types, direction=direction, limit=limit, as_of=as_of)

    async def graph(
        self, ids: str | Sequence[str], *, depth: int = 1, types: Sequence[str] = (), direction: str = "both",
        limit: int = 200, as_of: Moment = None,
    ) -> Network:  # fmt: skip
        """Return the memories that relations connect to the given ones, up to `depth` steps away."""
        return await self._engine.graph(
            as_refs(ids), who=self._who, depth=depth, types=as_tuple(types), direction=direction, limit=limit,
            as_of=as_moment(as_of, "as_of"),
        )  # fmt: skip

    async def path(
        self, source: str, target: str, *, types: Sequence[str] = (), direction: str = "both", most: int = 6,
        as_of: Moment = None,
    ) -> Network:  # fmt: skip
        """Return a shortest path from one memory to another, of at most `most` steps."""
        return await self._engine.path(
            source, target, who=self._who, types=as_tuple(types), direction=direction, most=most,
            as_of=as_moment(as_of, "as_of"),
        )  # fmt: skip

    async def conflicts(self, *, status: str = "pending", id: str = "", limit: int = 50) -> tuple[ConflictDetails, ...]:
        """Return the conflicts of the space, or of one memory."""
        return await self._engine.conflicts(who=self._who, status=status, ref=id, limit=limit)

    async def probe_conflicts(
        self, drafts: Sequence[Draft], *, threshold: float = 0.5
    ) -> tuple[tuple[ConflictDetails, ...], ...]:
        """Return the conflicts that each draft would have if it were stored."""
        return await self._engine.probe_conflicts(drafts, who=self._who, threshold=threshold)

    async def scan_conflicts(self, *, limit: int = 50, progress: Progress | None = None) -> Scan:
        """Scan the whole space for conflicts."""
        return await self._engine.scan_conflicts(who=self._who, limit=limit, progress=progress)

    async def scan_later(self, *, after: int = 0) -> Job:
        """Have the daemon scan the whole space after a delay in seconds."""
        return await self._engine.scan_later(who=self._who, after=after)

    async def resolve_conflict(
        self, id: str, *, strategy: str = "auto", notes: str = "", branch: str = "", idempotency_key: str = ""
    ) -> Resolved:
        """Resolve a conflict; `undo` takes it back."""
        return await self._engine.resolve_conflict(
            id, who=self._who, strategy=strategy, notes=notes, branch=branch, idempotency_key=idempotency_key
        )

    async def extract(
        self, text: str, *, session: str = "", store: bool = True, format: str = "auto", method: str = "auto",
        project: str = "", me: str = "", trusted: bool = True, progress: Progress | None = None,
    ) -> Extracted:  # fmt: skip
        """Extract the facts of a conversation, and store them.

        `me` is the speaker who is the user, if the log does not say so. Statements of other speakers count as read in a
        document; unless the text is `trusted`, so do all statements.
        """
        return await self._engine.extract(
            text, who=self._who, session=session, store=store, format=format, method=method, project=project, me=me,
            trusted=trusted, progress=progress,
        )  # fmt: skip

    async def context(self, *, session: str = "", project: str = "", max_tokens: int = 1500) -> Context:
        """Return the context for the start of a session."""
        return await self._engine.context(who=self._who, session=session, project=project, max_tokens=max_tokens)

    async def create_entities(self, entities: Sequence[Mapping[str, Json]]) -> dict[str, Json]:
        """Create or update entities by name; an invalid one does not affect the others."""
        return await self._engine.create_entities(entities, who=self._who)

    async def update_entity(self, id: str, changes: Mapping[str, Json]) -> dict[str, Json]:
        """Change fields of an entity."""
        return await self._engine.update_entity(id, changes, who=self._who)

    async def search_nodes(self, query: str, *, limit: int = 10) -> dict[str, Json]:
        """Find entities by name, type and meaning; pinned ones come first."""
        return await self._engine.search_nodes(query, who=self._who, limit=limit)

    async def get_memory_status(self) -> dict[str, Json]:
        """Return counts by type and tier, sizes and versions."""
        return await self._engine.get_memory_status(who=self._who)

    async def write_note(
        self, title: str, content: str = "", *, tags: Sequence[str] = (), category: str = "", template: str = "",
        project: str = "", source: Source | Mapping[str, Json] | None = None, idempotency_key: str = "",
    ) -> results.NoteWritten:  # fmt: skip
        """Write a new note; similar ones are reported, and never merged with it."""
        draft = NoteDraft(
            title=title, content=content, tags=as_tuple(tags), category=category, template=template, project=project,
            source=as_source(source, agent=self._who.agent), idempotency_key=idempotency_key,
        )  # fmt: skip
        return await (await self._notes()).write_note(draft, who=self._who)

    async def read_note(self, identifier: str, *, format: str = "markdown") -> results.NoteRead:
        """Return a note by id, title, name or file name, with its content as `markdown`, `plain` or `json`."""
        return await (await self._notes()).read_note(identifier, who=self._who, format=format)

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
        """Change a note; omitted fields keep their values, and the previous state remains as a version."""
        edit = NoteEdit(
            title=title, content=content, tags=None if tags is None else as_tuple(tags), category=category,
            expected_version=expected_version, message=message, idempotency_key=idempotency_key,
        )  # fmt: skip
        return await (await self._notes()).edit_note(id, edit, who=self._who)

    async def search_notes(
        self, query: str, *, limit: int = 10, category: str = "", tags: Sequence[str] = (), semantic: bool = False
    ) -> results.NotesFound:
        """Find notes by words, `"phrases"` and `prefixes*`; with `semantic` also by meaning."""
        request = NoteSearch(query=query, limit=limit, category=category, tags=as_tuple(tags), semantic=semantic)
        return await (await self._notes()).search_notes(request, who=self._who)

    async def link_notes(self, source_id: str, target_id: str, *, link_text: str = "") -> results.NoteLinked:
        """Link two notes with each other; the default text of a link is the title of the other note."""
        return await (await self._notes()).link_notes(source_id, target_id, who=self._who, link_text=link_text)

    async def unlink_notes(self, source_id: str, target_id: str) -> results.NoteLinked:
        """Remove the link between two notes, at both ends."""
        return await (await self._notes()).unlink_notes(source_id, target_id, who=self._who)

    async def current_date(self, *, format: str = "iso", timezone: str = "") -> results.CurrentDate:
        """Return the current date and time as `iso`, `locale`, `timestamp` or `date_only`."""
        return await (await self._notes()).current_date(format=format, timezone=timezone)

    async def review_note(self, id: str) -> results.NoteReviewed:
        """Mark a note as reviewed."""
        return await (await self._notes()).review_note(id, who=self._who)

    async def due_notes(self, *, days: int = 90, limit: int = 20, category: str = "") -> results.DueNotes:
        """Return the notes that were not reviewed for a number of days."""
        return await (await self._notes()).due_notes(who=self._who, days=days, limit=limit, category=category)

    async def backlinks(self, id: str) -> results.Backlinks:
        """Return the notes that link to a note."""
        return await (await self._notes()).backlinks(id, who=self._who)

    async def broken_links(self, *, limit: int = 100) -> results.BrokenLinks:
        """Return the links without a target note, with suggestions."""
        return await (await self._notes()).broken_links(who=self._who, limit=limit)

    async def note_categories(self) -> results.Categories:
        """Return the categories of notes with their counts."""
        return await (await self._notes()).note_categories(who=self._who)

    async def note_templates(self) -> results.Templates:
        """Return the templates for new notes."""
        return await (await self._notes()).note_templates(who=self._who)

    async def sync_notes(
        self, *, deletions: bool = False, adopt: bool = False, progress: Progress | None = None
    ) -> results.NotesSynced:
        """Synchronize the store with the whole folder of notes."""
        return await (await self._notes()).sync_notes(
            who=self._who, deletions=deletions, adopt=adopt, progress=progress
        )

    async def export_notes(
        self, target: str | Path, *, refs: Sequence[str] = (), format: str = "md", category: str = "",
        tags: Sequence[str] = (), progress: Progress | None = None,
    ) -> NotesExported:  # fmt: skip
        """Export notes as `md`, `json`, `csv`, `html` or `pdf`: the named ones, else all of a category and with tags.

        The target is a file, a folder or a .zip, which is complete when this returns.
        """
        selection = NotesSelection(refs=as_tuple(refs), category=category, tags=as_tuple(tags))
        return await (await self._notes()).export_notes(
            absolute_path(target), selection, who=self._who, format=format, progress=progress
        )

    async def import_notes(
        self, folder: str | Path, *, category: str = "", dry_run: bool = False, progress: Progress | None = None
    ) -> NotesImported:
        """Import a folder of Markdown files, such as an Obsidian vault, without writing to it.

        A repeated import writes only new and changed notes. `category` is the parent of the categories of subfolders.
        """
        return await (await self._notes()).import_notes(
            absolute_path(folder), who=self._who, category=category, dry_run=dry_run, progress=progress
        )

    async def attach_file(self, note: str, name: str, data: str | bytes, *, caption: str = "") -> Attached:
        """Attach bytes, or text in base64, to a note: stored next to it and embedded in it."""
        return await (await self._notes()).attach_file(note, name, data, who=self._who, caption=caption)

    async def attach_path(self, note: str, path: str | Path, *, caption: str = "", name: str = "") -> Attached:
        """Attach a file of this machine to a note; a remote server receives its bytes."""
        file = Path(absolute_path(path))
        if self._connection.is_remote:
            data = await asyncio.to_thread(read_bytes, file, limit=self._settings.max_attachment_bytes)
            return await self.attach_file(note, name or file.name, data, caption=caption)
        notes = await self._notes()
        return await notes.attach_path(note, str(file), who=self._who, caption=caption, name=name)

    async def note_attachments(self, note: str) -> NoteAttachments:
        """Return the attachments of a note."""
        return await (await self._notes()).note_attachments(note, who=self._who)

    async def orphaned_files(self) -> Orphans:
        """Return attachments that no note embeds or without a file, and unknown files."""
        return await (await self._notes()).orphaned_files(who=self._who)

    async def rules(self) -> Rules:
        """Return the rules of the space."""
        return await self._engine.rules(who=self._who)

    async def set_rules(self, **changes: Json) -> Rules:
        """Change rules of the space, such as `gate="report"`; None restores a default."""
        return await self._engine.set_rules(changes, who=self._who)

    async def tags(self, *, limit: int = 200) -> TagTable:
        """Return the tags of the space with their counts, and their synonyms."""
        return await self._engine.tags(who=self._who, limit=limit)

    async def add_synonyms(self, tag: str, variants: Sequence[str]) -> TagTable:
        """Make other words synonyms of a tag."""
        return await self._engine.add_synonyms(tag, as_tuple(variants), who=self._who)

    async def remove_synonyms(self, variants: Sequence[str]) -> TagTable:
        """Remove synonyms: the words become tags of their own again."""
        return await self._engine.remove_synonyms(as_tuple(variants), who=self._who)

    async def preview_tags(self, tags: Sequence[str], *, text: str = "") -> TagPreview:
        """Preview the normalization of tags, and suggest tags for a text."""
        return await self._engine.preview_tags(as_tuple(tags), who=self._who, text=text)

    async def inbox(self, *, limit: int = 50) -> tuple[Memory, ...]:
        """Return the memories that wait for approval."""
        return await self._engine.inbox(who=self._who, limit=limit)

    async def approve(self, ids: str | Sequence[str], *, reason: str = "", dry_run: bool = False) -> Outcome:
        """Approve waiting memories."""
        selection = Selection(refs=as_refs(ids), reason=reason, dry_run=dry_run)
        return await self._engine.approve(selection, who=self._who)

    async def decline(self, ids: str | Sequence[str], *, reason: str = "", dry_run: bool = False) -> Outcome:
        """Move waiting memories to the trash."""
        selection = Selection(refs=as_refs(ids), reason=reason, dry_run=dry_run)
        return await self._engine.decline(selection, who=self._who)

    async def jobs(self, *, limit: int = 50) -> tuple[Job, ...]:
        """Return queued and finished jobs."""
        return await self._engine.jobs(who=self._who, limit=limit)

    async def retry_job(self, job_id: str) -> Job:
        """Run a failed job again."""
        return await self._engine.retry_job(job_id, who=self._who)

    async def cancel_job(self, job_id: str) -> Job:
        """Cancel a job."""
        return await self._engine.cancel_job(job_id, who=self._who)

    async def status(self) -> Status:
        """Return health, sizes, backends and degraded parts."""
        return await (await self._notes()).status(who=self._who)

    async def doctor(self, *, deep: bool = False, repair: bool = False) -> DoctorReport:
        """Check everything; `repair` first repairs what it can."""
        return await (await self._notes()).doctor(who=self._who, deep=deep, repair=repair)

    async def backup(self, target: str | Path, *, progress: Progress | None = None) -> Path:
        """Copy the store to a file while it is in use, and verify the copy."""
        return await self._engine.backup(Path(target), progress=progress)

    def export(
        self, *, format: str = FORMATS[0], include: Sequence[str] = (), progress: Progress | None = None
    ) -> AsyncIterator[str]:
        """Return all memories with their versions as JSON Lines; `kg` is the format of the reference graph server.

        `include` adds sections: `documents`, `answers` (of idempotency keys) and `vectors`.
        """
        return self._engine.export(who=self._who, format=format, include=include, progress=progress)

    async def import_lines(
        self, lines: Sequence[str] | Path, *, progress: Progress | None = None, embed: bool = True
    ) -> Imported:
        """Import an export; everything is checked before anything is stored."""
        imported = await self._engine.import_(line_source(lines), who=self._who, progress=progress)
        if embed:
            # A server on which this client may not embed does it by itself.
            with suppress(NotAllowed):
                await self._engine.embed_missing(progress=progress)
        return imported

    @property
    def _engine(self) -> "Engine | RemoteEngine":
        return self._connection.engine

    async def _notes(self) -> "Notes | RemoteEngine":
        return await self._connection.notes()


class _BorrowingClient(MemoryClient):
    """A client that does not own its engine."""

    def __init__(self, engine: "Engine", who: Caller, notes: "Notes | None") -> None:
        self._who = who
        self._settings = Settings()
        self._connection = BorrowedConnection(engine, notes)
