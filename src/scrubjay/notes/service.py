"""The note verbs: each changes the store, and its files are in sync before it returns."""

import asyncio
import logging
from collections.abc import AsyncGenerator, AsyncIterator, Generator, Iterable, Mapping, Sequence
from contextlib import AsyncExitStack, asynccontextmanager, contextmanager
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from scrubjay.engine import Engine
from scrubjay.errors import Ambiguous, InvalidInput, NotFound, ScrubjayError
from scrubjay.lazy import dataclass
from scrubjay.lookup.references import resolve
from scrubjay.model import notes as results
from scrubjay.model.attachments import Attached, Attachment, NoteAttachments, Orphans
from scrubjay.model.caller import Caller
from scrubjay.model.checks import require_integer, require_text, require_texts
from scrubjay.model.draft import Draft
from scrubjay.model.labels import mark_of_all
from scrubjay.model.media import ATTACHMENT
from scrubjay.model.memory import MAIN, Json, Memory, Source, State
from scrubjay.model.notes import NoteDownload, NotesAdopted, NotesExported, NotesImported, require_export_format
from scrubjay.model.relation import LINK
from scrubjay.model.requests import (
    AdoptNotesRequest,
    AttachFileRequest,
    AttachPathRequest,
    BacklinksRequest,
    BrokenLinksRequest,
    CurrentDateRequest,
    DoctorRequest,
    DueNotesRequest,
    Edit,
    EditNoteRequest,
    ExportNotesRequest,
    ImportNotesRequest,
    LinkNotesRequest,
    NoteAttachmentsRequest,
    NoteCategoriesRequest,
    NoteTemplatesRequest,
    OrphanedFilesRequest,
    PurgeRequest,
    ReadNoteRequest,
    ReadRequest,
    ReviewNoteRequest,
    SearchNotesRequest,
    StatusRequest,
    SyncNotesRequest,
    UnlinkNotesRequest,
    UnrelateRequest,
    WriteNoteRequest,
)
from scrubjay.model.results import Check, DoctorReport, Outcome, Related, Similar, Status
from scrubjay.notes.markdown import templates
from scrubjay.notes.markdown.naming import SUFFIX, file_name, id_in, link_target
from scrubjay.notes.markdown.note import Link, Note
from scrubjay.notes.markdown.sections import link_syntax
from scrubjay.notes.queries import search
from scrubjay.notes.queries.links import find_backlinks, find_broken_links, ids_by_alias, link_request
from scrubjay.notes.render import normalize_category, render_date, render_note
from scrubjay.notes.sync.mapping import FRONTMATTER_KEY
from scrubjay.notes.vault_provider import VaultProvider
from scrubjay.ports import Progress
from scrubjay.text.slug import slug
from scrubjay.writing.validate import text

if TYPE_CHECKING:
    from scrubjay.notes.attachments.service import Attachments
    from scrubjay.notes.export.exporter import Exporter
    from scrubjay.notes.vault import Vault

__all__ = ["Notes"]

_log = logging.getLogger(__name__)
_SEARCH_HINT = "Find it with `search_notes` or `GET /api/v1/notes/search`"
_EMPTY_HINT = "Give it some content; to remove it, delete its file, or `scrubjay forget` it"
_ATTACHMENTS_HINT = "List those of a note: `GET /api/v1/notes/{id}/attachments`, or `scrubjay notes attachments`"
_PLAIN = "; they are plain files, which the key of the store does not protect"
_MAX_LISTED = 5
# The number of similar names to compare before a part of a title counts as unique.
_MAX_NAMES = 50
_MIN_WORDS = 2


@dataclass(frozen=True, slots=True, kw_only=True)
class Notes:
    """Memories as notes. Without `vaults`, and in other spaces than theirs, notes have no files."""

    engine: Engine
    vaults: VaultProvider | None = None

    # ---- write and read ----

    async def write_note(self, request: WriteNoteRequest, *, who: Caller) -> results.NoteWritten:
        """Write a new note; similar notes are listed, and never merged with it."""
        title = _require_title(request.title)
        note = await self._fill_template(request, space=who.space)
        written = await self.engine.remember(
            Draft(
                text=note.content, title=title, tags=(*request.tags, *note.tags),
                category=normalize_category(request.category) or normalize_category(note.category),
                project=request.project, kind=note.kind, pinned=note.pinned, intent="new", fixed=True,
                source=request.source or Source(agent=who.agent), idempotency_key=request.idempotency_key,
                metadata={FRONTMATTER_KEY: note.extra} if note.extra else {},
            ),
            who=who,
        )  # fmt: skip
        memory = (await self.engine.reader.get(who.space, [written.id])).get(written.id) if written.id else None
        # A memory that waits for approval is not a note yet.
        is_live = memory is not None and memory.state is State.LIVE
        paths, warnings = await self._sync_files([written.id] if is_live else [], space=who.space)
        return results.NoteWritten(
            action=written.action, id=written.id, name=written.name, title=memory.title if memory else title.strip(),
            file_path=paths.get(written.id, ""), created_at=memory.created_at if memory else None,
            version=written.version, category=memory.category if memory else "", tags=written.tags,
            conflicts=written.conflicts, warnings=(*written.warnings, *warnings),
            similar=await self._add_identical(memory, written.similar) if memory else (),
        )  # fmt: skip

    async def read_note(self, request: ReadNoteRequest, *, who: Caller) -> results.NoteRead:
        """Return a note by id, title, name, file name or half of a title, with its content in a format."""
        identifier = request.identifier
        if not identifier.strip():
            raise InvalidInput("the identifier is empty", hint="Give the id or the title of a note", field="identifier")
        ref = await self._resolve(identifier, who=who)
        answer = await self.engine.read(ReadRequest(ids=(ref,), format="json"), who=who)
        if not answer.memories:
            raise _not_found(identifier, answer.missing[0].suggestions)
        memory = answer.memories[0]
        own_id = memory.trunk or memory.id
        ends = [
            relation.target if relation.source == own_id else relation.source
            for relation in answer.relations
            if relation.type == LINK and own_id in (relation.source, relation.target)
        ]
        links = await self._filter_live(dict.fromkeys(ends), space=memory.space)
        path = (await self._paths([memory.id], space=memory.space)).get(memory.id, "")
        return await asyncio.to_thread(
            render_note, memory, links=links, path=path, format=request.format, now=self.engine.clock.now()
        )

    async def edit_note(self, request: EditNoteRequest, *, who: Caller) -> results.NoteChanged:
        """Change a note; fields without a value stay the same, and the state before stays a version."""
        memory_edit = Edit(
            fields=self._changed_fields(request), expected_version=request.expected_version, message=request.message,
            idempotency_key=request.idempotency_key,
        )  # fmt: skip
        with _errors_about():
            written = await self.engine.apply_edit(await self._resolve(request.id, who=who), memory_edit, who=who)
        memory = await self._load(written.id, branch=written.branch, who=who)
        paths, warnings = await self._sync_files([written.id], space=who.space)
        return results.NoteChanged(
            success=True, action=written.action, id=written.id, name=written.name, title=memory.label,
            updated_at=memory.updated_at, file_path=paths.get(written.id, ""), version=written.version,
            conflicts=written.conflicts, warnings=(*written.warnings, *warnings),
        )  # fmt: skip

    async def search_notes(self, request: SearchNotesRequest, *, who: Caller) -> results.NotesFound:
        """Find notes by words; with `semantic`, by meaning too."""
        request = replace(request, category=normalize_category(request.category))
        answer = await search.find_notes(request, engine=self.engine, who=who)
        paths = await self._paths([hit.id for hit in answer.results], space=who.space)
        return replace(answer, results=tuple(replace(hit, file_path=paths.get(hit.id, "")) for hit in answer.results))

    async def current_date(self, request: CurrentDateRequest, *, who: Caller) -> results.CurrentDate:
        """Return the current date and time."""
        return render_date(self.engine.clock.now(), format=request.format, timezone=request.timezone)

    # ---- links ----

    async def link_notes(self, request: LinkNotesRequest, *, who: Caller) -> results.NoteLinked:
        """Link two notes with each other; `link_text` replaces the other note's title as the text of the link."""
        source, target = [await self._resolve(ref, who=who) for ref in (request.source_id, request.target_id)]
        with _errors_about():
            related = await self._link(source, target, text=request.link_text, who=who)
        paths, warnings = await self._sync_files([related.source, related.target], space=who.space)
        link = Link(
            target=await self._link_target(related.target, paths, space=who.space),
            text=" ".join(request.link_text.split()) or related.target_name,
        )
        return replace(await self._note_linked(related, who=who), markdown_link=link_syntax(link), warnings=warnings)

    async def unlink_notes(self, request: UnlinkNotesRequest, *, who: Caller) -> results.NoteLinked:
        """Remove the link between two notes, from both ends."""
        source, target = [await self._resolve(ref, who=who) for ref in (request.source_id, request.target_id)]
        with _errors_about():
            related = await self.engine.unrelate(UnrelateRequest(source=source, target=target), who=who)
        _, warnings = await self._sync_files([related.source, related.target], space=who.space)
        return replace(await self._note_linked(related, who=who), warnings=warnings)

    async def backlinks(self, request: BacklinksRequest, *, who: Caller) -> results.Backlinks:
        """Return the notes that link to a note."""
        ref = await self._resolve(request.id, who=who)
        handles = await self.engine.reader.find(who.space, ref)
        paths = await self._paths([handle.id for handle in handles], space=who.space)
        targets = [link_target(path) for path in paths.values()]
        names = [*targets, *(target.rpartition("/")[2] for target in targets)]
        with _errors_about():
            answer = await find_backlinks(ref, engine=self.engine, space=who.space, names=names)
        paths = await self._paths([backlink.id for backlink in answer.backlinks], space=who.space)
        backlinks = (replace(backlink, file_path=paths.get(backlink.id, "")) for backlink in answer.backlinks)
        return replace(answer, backlinks=tuple(backlinks))

    async def broken_links(self, request: BrokenLinksRequest, *, who: Caller) -> results.BrokenLinks:
        """Return the links to notes that do not exist, with suggestions."""
        vault = await self._vault(who.space)
        answer = await find_broken_links(
            engine=self.engine, space=who.space, missing_links=await vault.missing_links() if vault else (),
            file_names=await vault.link_names() if vault else (),
            limit=require_integer(request.limit, field="limit", most=self.engine.limits.results),
        )  # fmt: skip
        paths = await self._paths([link.id for link in answer.links], space=who.space)
        links = (replace(link, file_path=paths.get(link.id, "")) for link in answer.links)
        return results.BrokenLinks(links=tuple(links))

    # ---- reviews, categories, templates ----

    async def review_note(self, request: ReviewNoteRequest, *, who: Caller) -> results.NoteReviewed:
        """Record a review of a note."""
        with _errors_about():
            written = await search.mark_reviewed(await self._resolve(request.id, who=who), engine=self.engine, who=who)
        memory = await self._load(written.id, branch=written.branch, who=who)
        paths, _ = await self._sync_files([written.id], space=who.space)
        return results.NoteReviewed(
            success=True, id=written.id, title=memory.label, last_reviewed=memory.last_reviewed or memory.updated_at,
            file_path=paths.get(written.id, ""), version=written.version,
        )  # fmt: skip

    async def due_notes(self, request: DueNotesRequest, *, who: Caller) -> results.DueNotes:
        """Return the notes without a review for a number of days."""
        answer = await search.find_due_notes(
            engine=self.engine, space=who.space, days=request.days,
            limit=require_integer(request.limit, field="limit", most=self.engine.limits.results),
            category=normalize_category(request.category),
        )  # fmt: skip
        paths = await self._paths([note.id for note in answer.notes], space=who.space)
        return results.DueNotes(notes=tuple(replace(note, file_path=paths.get(note.id, "")) for note in answer.notes))

    async def note_categories(self, request: NoteCategoriesRequest, *, who: Caller) -> results.Categories:
        """Return the categories of notes with the numbers of notes in each, alone and with subcategories."""
        tree = await search.category_tree(engine=self.engine, space=who.space)
        nodes = (node for root in tree for node in root.flatten())
        categories = (
            results.Category(path=node.path, name=node.name, notes=node.notes, total=node.total) for node in nodes
        )
        return results.Categories(categories=tuple(categories))

    async def note_templates(self, request: NoteTemplatesRequest, *, who: Caller) -> results.Templates:
        """Return the templates for new notes."""
        folder = self._folder(who.space)
        names = await asyncio.to_thread(templates.template_names, folder) if folder else tuple(templates.BUILT_IN)
        return results.Templates(
            templates=tuple(results.Template(name=name, built_in=name in templates.BUILT_IN) for name in names),
            folder=str(folder / templates.FOLDER) if folder else "",
        )

    # ---- attachments: they need the folder of the space's notes ----

    async def attach_file(self, request: AttachFileRequest, *, who: Caller) -> Attached:
        """Attach the caller's data to a note."""
        if not request.name.strip():
            raise InvalidInput("a file needs a name", hint="Give a name, such as picture.png", field="name")
        attachments = await self._attachments(who)
        ref = await self._resolve(request.note, who=who)
        with _errors_about():
            attached = await attachments.attach(
                ref, data=request.data, name=request.name, caption=request.caption, who=who
            )
        return await self._sync_attached(attached)

    async def attach_path(self, request: AttachPathRequest, *, who: Caller) -> Attached:
        """Attach a file of this machine to a note; only its owner may do this, since it may be any file."""
        attachments = await self._attachments(who)
        ref = await self._resolve(request.note, who=who)
        with _errors_about():
            attached = await attachments.attach(
                ref, path=request.path, name=request.name, caption=request.caption, who=who
            )
        return await self._sync_attached(attached)

    async def note_attachments(self, request: NoteAttachmentsRequest, *, who: Caller) -> NoteAttachments:
        """Return the files that a note embeds."""
        attachments = await self._attachments(who, make=False)
        ref = await self._resolve(request.note, who=who)
        with _errors_about():
            memory_id = await attachments.note(ref)
        return NoteAttachments(note=memory_id, attachments=await attachments.attachments_of(memory_id, who=who))

    async def orphaned_files(self, request: OrphanedFilesRequest, *, who: Caller) -> Orphans:
        """Return attachments that no note embeds or whose file is missing, and files that no attachment records."""
        attachments = await self._attachments(who, make=False)
        assert self.vaults is not None
        # Before the first note, there is no folder yet, and no file in it.
        is_empty = await self.vaults.vault() is None and not self.vaults.problem
        return Orphans(orphans=()) if is_empty else await attachments.orphans()

    @asynccontextmanager
    async def attachment_content(
        self, ref: str, *, who: Caller
    ) -> AsyncGenerator[tuple[Attachment, AsyncIterator[bytes]]]:
        """Open an attachment, and yield it with an iterator over its bytes."""
        attachments = await self._attachments(who, make=False)
        async with AsyncExitStack() as stack:
            with _errors_about("attachment", hint=_ATTACHMENTS_HINT):
                content = await stack.enter_async_context(attachments.content(ref, who=who))
            yield content

    # ---- export and import ----

    async def export_notes(
        self, request: ExportNotesRequest, *, who: Caller, progress: Progress | None = None
    ) -> NotesExported:  # fmt: skip
        """Write notes to a file or folder of this machine; only its owner may do this, since it may be any place."""
        if request.refs and (request.category or request.tags):
            raise InvalidInput("name notes, or a category and tags", hint="Leave one of them out", field="category")
        refs = tuple([await self._resolve(ref, who=who) for ref in request.refs])
        request = replace(request, refs=refs, category=normalize_category(request.category))
        return await (await self._exporter(who)).export(request, progress=progress)

    async def export_note(self, ref: str, *, who: Caller, format: str = "md") -> NoteDownload:
        """Return one note as a file to download."""
        require_export_format(format)
        return await (await self._exporter(who)).download(await self._resolve(ref, who=who), format=format)

    async def import_notes(
        self, request: ImportNotesRequest, *, who: Caller, progress: Progress | None = None
    ) -> NotesImported:  # fmt: skip
        """Import a folder of Markdown, such as an Obsidian vault; the folder itself is never changed."""
        from scrubjay.notes.import_.importer import Importer  # noqa: PLC0415 - few callers import

        vault = await self._vault(who.space, make=not request.dry_run)
        importer = Importer(
            self.engine, who=who, vault=vault, largest=self.vaults.largest_attachment if self.vaults else 0
        )
        return await importer.import_folder(
            request.folder, category=normalize_category(request.category), dry_run=request.dry_run, progress=progress
        )

    async def adopt_notes(
        self, request: AdoptNotesRequest, *, who: Caller, progress: Progress | None = None
    ) -> NotesAdopted:  # fmt: skip
        """Make a folder with notes of other programs the folder of this space's notes; its files stay as they are."""
        from scrubjay.notes import adoption  # noqa: PLC0415 - few callers adopt

        vaults = self._require_vaults(who.space)
        await asyncio.to_thread(adoption.require_adoptable, request.folder, vaults=vaults)
        if request.dry_run:
            return await adoption.plan(
                request.folder, engine=self.engine, who=who, by_title=vaults.naming != "id", progress=progress
            )
        return await adoption.adopt(request.folder, vaults=vaults, who=who, progress=progress)

    # ---- sync and health ----

    async def sync_notes(
        self, request: SyncNotesRequest, *, who: Caller, progress: Progress | None = None
    ) -> results.NotesSynced:  # fmt: skip
        """Synchronize the store with the whole folder; `deletions` confirms that many files were deleted.

        `adopt`: take over the folder from another store.
        """
        vaults = self._require_vaults(who.space)
        vault = await vaults.require(adopt=request.adopt)
        synced = await vault.sync(progress=progress, deletions=request.deletions)
        # Report the folder as the user has named it, which may be a link to the real one.
        return replace(synced, folder=str(vaults.folder), problems=(*vaults.take_news(), *synced.problems))

    async def purge(self, request: PurgeRequest, *, who: Caller) -> Outcome:
        """Destroy memories in the trash, with their files and their traces in the ledger."""
        if (vault := await self._vault(who.space)) is None or request.dry_run:
            return await self.engine.purge(request, who=who)
        planned = (await self.engine.purge(replace(request, dry_run=True), who=who)).done
        doomed = await self.engine.reader.get(who.space, [written.id for written in planned])
        outcome = await self.engine.purge(request, who=who)
        if outcome.done:
            try:
                await vault.erase_purged(doomed.values())
            except ScrubjayError as error:
                # The memories are destroyed; the next sync removes the rest.
                _log.warning("purged notes are not erased yet", extra={"fields": {"error": error.code}})
        return outcome

    async def status(self, request: StatusRequest, *, who: Caller) -> Status:
        """Return health and sizes, including those of the folder of notes."""
        status = await self.engine.status(request, who=who)
        return replace(status, vault=await self._vault_status(self.vaults)) if self.vaults is not None else status

    async def doctor(self, request: DoctorRequest, *, who: Caller) -> DoctorReport:
        """Check everything, and first repair it if requested."""
        repair_error = ""
        if request.repair and self.vaults is not None and (vault := await self.vaults.vault()) is not None:
            try:
                await vault.sync()
            except ScrubjayError as error:
                repair_error = str(error)
        report = await self.engine.doctor(request, who=who)
        check = await self._check_vault(self.vaults, repair_error) if self.vaults is not None else None
        return replace(report, checks=(*report.checks, check)) if check is not None else report

    async def _vault_status(self, vaults: VaultProvider) -> dict[str, str | int | bool]:
        vault = await vaults.vault()
        if vault is None:
            return {"path": str(vaults.folder), "problem": vaults.problem} if vaults.problem else {}
        return {
            "path": str(vaults.folder), "space": vaults.space, "files": await vault.count_files(),
            "problems": len(await vault.problems()), "follows": vault.is_active,
        }  # fmt: skip

    async def _check_vault(self, vaults: VaultProvider, repair_error: str) -> Check | None:
        """Check the folder of notes; return None if there is none."""
        vault = await vaults.vault()
        if vault is None:
            problem = vaults.problem
            return Check(name="notes", ok=False, detail=problem, fix="Follow its hint") if problem else None
        problems = [*([repair_error] if repair_error else []), *(await vault.problems()), *(await vault.drift())]
        rest = len(problems) - _MAX_LISTED
        listed = "; ".join(problems[:_MAX_LISTED]) + (f"; and {rest} more" if rest > 0 else "")
        count = await vault.count_files()
        files = "1 file" if count == 1 else f"{count:,} files"
        return Check(
            name="notes",
            ok=not problems,
            detail=listed or f"{files} in {vaults.folder}, in sync{_PLAIN if self.engine.is_encrypted else ''}",
            fix="`scrubjay doctor --repair` synchronizes them; correct the files that it names" if problems else "",
        )

    # ---- references ----

    async def _resolve(self, identifier: str, *, who: Caller) -> str:
        """Return a reference that the engine finds, also for a link, a path, an alias or half of a title."""
        ref = require_text(identifier, field="identifier").strip()
        if ref.startswith("[[") and ref.endswith("]]"):
            ref = ref[2:-2].partition("|")[0].partition("#")[0].strip()
        stem = link_target(ref).rpartition("/")[2]
        if stem != ref and (own_id := await self._find_by_path(ref, space=who.space)):
            return own_id
        if not ref or any([await self.engine.reader.find(space, ref) for space in who.spaces]):
            return ref
        if own_id := id_in(stem) or await self._find_by_alias(ref, who=who):
            return own_id
        if stem != ref and any([await self.engine.reader.find(space, stem) for space in who.spaces]):
            return stem
        return await self._find_by_words(ref, who=who) or stem

    async def _find_by_alias(self, ref: str, *, who: Caller) -> str:
        """Return the id of the note with an alias, from the first of the caller's spaces that has one."""
        for space in who.spaces:
            ids = await ids_by_alias(ref, engine=self.engine, space=space)
            if len(ids) > 1:
                raise Ambiguous(
                    f"{len(ids)} notes have the alias {ref[:100]!r}", hint=f"Give the id of one: {', '.join(ids)}",
                    ref=ref[:200], matches=ids,
                )  # fmt: skip
            if ids:
                return ids[0]
        return ""

    async def _find_by_path(self, path: str, *, space: str) -> str:
        """Return the id of the note whose file has a path, in the folder or absolute."""
        vault = await self._vault(space)
        if vault is None:
            return ""
        relative = path.removeprefix(f"{vault.root}/")
        return await vault.find_id(relative) or await vault.find_id(f"{link_target(relative)}{SUFFIX}")

    async def _find_by_words(self, identifier: str, *, who: Caller) -> str:
        """Return the name of the only note whose title has all of these words, if they are at least half of it."""
        words = set(slug(identifier).split("-"))
        if len(words) < _MIN_WORDS:
            return ""
        names = await self.engine.reader.nearest(who.space, identifier, limit=_MAX_NAMES)
        matches = [parts for name in names if words <= set(parts := name.split("-"))]
        return "-".join(matches[0]) if len(matches) == 1 and len(words) * 2 >= len(matches[0]) else ""

    # ---- files ----

    @property
    def _folder_hint(self) -> str:
        if self.vaults is None and self.engine.is_encrypted:
            return (
                "the store is encrypted, and a folder is not: name one with --notestore_path or "
                "SCRUBJAY_NOTESTORE_PATH if its files may be plain"
            )
        return "only the server's own space has a folder"

    def _require_vaults(self, space: str) -> VaultProvider:
        if self.vaults is None or self.vaults.space != space:
            raise InvalidInput(
                f"the space {space!r} has no folder of notes",
                hint=f"Its notes are in the store alone; {self._folder_hint}",
                field="space",
            )
        return self.vaults

    def _folder(self, space: str) -> Path | None:
        return self.vaults.folder if self.vaults is not None and self.vaults.space == space else None

    async def _vault(self, space: str, *, make: bool = False) -> "Vault | None":
        if self.vaults is None or self.vaults.space != space:
            return None
        return await self.vaults.vault(make=make)

    async def _paths(self, ids: Sequence[str], *, space: str) -> Mapping[str, str]:
        """Return the paths of the files of notes, by their ids."""
        vault = await self._vault(space) if ids else None
        if vault is None:
            return {}
        return {memory_id: str(path) for memory_id, path in (await vault.paths_of(ids)).items()}

    async def _sync_files(self, ids: Sequence[str], *, space: str) -> tuple[Mapping[str, str], tuple[str, ...]]:
        """Write the files of stored notes; return their paths by id, and a warning for a file that was not written."""
        vault = await self._vault(space, make=True) if ids else None
        if vault is None:
            problem = self.vaults.problem if ids and self.vaults is not None and self.vaults.space == space else ""
            return {}, (f"the note is stored, but has no file: {problem}",) if problem else ()
        news = self.vaults.take_news() if self.vaults is not None else ()
        try:
            await vault.sync_notes(ids)
        except ScrubjayError as error:
            warning = f"the note is stored, but its file is not in sync yet: {error}"
            return await self._paths(ids, space=space), (*news, warning)
        paths = await self._paths(ids, space=space)
        missing = [id_ for id_ in ids if id_ not in paths]
        if not missing or not vault.is_active:
            return paths, news
        problems = [problem for problem in await vault.problems() if any(memory_id in problem for memory_id in missing)]
        warning = f"the note is stored, but its file is not: {'; '.join(problems) or 'run `scrubjay doctor`'}"
        return paths, (*news, warning)

    async def _sync_attached(self, attached: Attached) -> Attached:
        """Write the embed to the note's file before the result is returned."""
        if self.vaults is not None and (vault := await self.vaults.vault()) is not None:
            await vault.sync_notes([attached.note])
        return attached

    async def _attachments(self, who: Caller, *, make: bool = True) -> "Attachments":
        # Only callers that attach files load the readers of documents.
        from scrubjay.notes.attachments.service import Attachments  # noqa: PLC0415

        if self.vaults is None or self.vaults.space != who.space:
            raise InvalidInput(
                f"the space {who.space!r} has no folder of notes to keep files in",
                hint=self._folder_hint[0].upper() + self._folder_hint[1:],
                field="space",
            )
        vault = await (self.vaults.require() if make else self.vaults.vault())
        if vault is not None and vault.attachments is not None:
            return vault.attachments
        return Attachments(
            self.engine, root=self.vaults.folder, space=self.vaults.space, largest=self.vaults.largest_attachment
        )

    async def _exporter(self, who: Caller) -> "Exporter":
        from scrubjay.notes.export.exporter import Exporter  # noqa: PLC0415 - few callers export

        return Exporter(self.engine, who=who, vault=await self._vault(who.space))

    async def _link_target(self, memory_id: str, paths: Mapping[str, str], *, space: str) -> str:
        """Return the target of a link to a note."""
        if memory_id in paths and self.vaults is not None:
            return link_target(paths[memory_id].removeprefix(f"{self.vaults.folder}/"))
        memory = (await self.engine.reader.get(space, [memory_id]))[memory_id]
        return link_target(file_name(category=memory.category, title=memory.label, id=memory.id))

    # ---- memories ----

    async def _load(self, memory_id: str, *, branch: str, who: Caller) -> Memory:
        """Return a memory as it is on a branch."""
        if branch == MAIN:
            return (await self.engine.reader.get(who.space, [memory_id]))[memory_id]
        return (await self.engine.read(ReadRequest(ids=(memory_id,), format="json", branch=branch), who=who)).memories[
            0
        ]

    async def _filter_live(self, ids: Iterable[str], *, space: str) -> tuple[str, ...]:
        """Return the ids of the live memories among these."""
        memories = await self.engine.reader.get(space, list(ids)) if ids else {}
        return tuple(memory.id for memory in memories.values() if memory.state is State.LIVE)

    async def _add_identical(self, memory: Memory, similar: tuple[Similar, ...]) -> tuple[Similar, ...]:
        """Add the notes with the same content to the similar ones; that needs no vectors."""
        seen = {memory.id, *(other.id for other in similar)}
        identical = [
            id_ for id_ in await self.engine.reader.same_content(memory.space, memory.content) if id_ not in seen
        ]
        others = await self.engine.reader.get(memory.space, identical[:_MAX_LISTED]) if identical else {}
        return (
            *similar,
            *(
                Similar(id=other.id, name=other.name, similarity=1.0, mark=mark_of_all(other))
                for other in others.values()
            ),
        )

    async def _link(self, source: str, target: str, *, text: str, who: Caller) -> Related:
        """Link two notes; the text is that of the source, also if the other note has linked them before."""
        memories = [await resolve(self.engine.reader, ref, space=who.space) for ref in (source, target)]
        ids = [memory.trunk or memory.id for memory in memories]
        relations = await self.engine.reader.relations(who.space, ids)
        ends = [tuple(ids), tuple(reversed(ids))]
        existing = next(
            (item for item in relations if item.type == LINK and (item.source, item.target) in ends), None
        )  # fmt: skip
        related = await self.engine.relate(link_request(*ids, relation=existing, text=text), who=who)
        if related.source == ids[0]:
            return related
        return Related(
            action=related.action, source=related.target, source_name=related.target_name, target=related.source,
            target_name=related.source_name, source_links=related.target_links, target_links=related.source_links,
        )  # fmt: skip

    async def _note_linked(self, related: Related, *, who: Caller) -> results.NoteLinked:
        links: dict[str, list[str]] = {}
        for end, relations in ((related.source, related.source_links), (related.target, related.target_links)):
            others = (
                relation.target if relation.source == end else relation.source
                for relation in relations
                if relation.type == LINK
            )
            links[end] = list(dict.fromkeys(others))
        all_ids = dict.fromkeys((*links[related.source], *links[related.target]))
        live = set(await self._filter_live(all_ids, space=who.space))
        return results.NoteLinked(
            success=True, action=related.action, source_id=related.source, source_title=related.source_name,
            source_links=tuple(id_ for id_ in links[related.source] if id_ in live), target_id=related.target,
            target_title=related.target_name,
            target_links=tuple(id_ for id_ in links[related.target] if id_ in live),
        )  # fmt: skip

    def _changed_fields(self, edit: EditNoteRequest) -> dict[str, Json]:
        """Return the fields of the memory that an edit of a note changes."""
        fields: dict[str, Json] = {}
        if edit.title is not None:
            fields["title"] = _require_title(edit.title)
        if edit.content is not None:
            fields["content"] = text(edit.content, field="content", limit=self.engine.limits.text_bytes)
        if edit.tags is not None:
            fields["tags"] = list(require_texts(edit.tags, field="tags"))
        if edit.category is not None:
            fields["category"] = normalize_category(edit.category)
        return fields

    async def _fill_template(self, draft: WriteNoteRequest, *, space: str) -> Note:
        """Return a new note: the template, if the draft names one, followed by the content."""
        content = text(draft.content, field="content", limit=self.engine.limits.text_bytes)
        note = Note()
        if draft.template:
            template = await self._load_template(require_text(draft.template, field="template"), space=space)
            filled = templates.fill_template(template, title=draft.title, now=self.engine.clock.now().astimezone())
            note = templates.note_from_template(filled)
            if note.content.strip():
                content = f"{note.content.rstrip()}\n\n{content}" if content.strip() else note.content
        if not content.strip():
            raise InvalidInput(
                "a note needs content", hint="Give content, or a template to begin with", field="content"
            )
        # A memory of that kind has no file of its own.
        return replace(note, content=content, kind="" if note.kind == ATTACHMENT else note.kind)

    async def _load_template(self, name: str, *, space: str) -> str:
        folder = self._folder(space)
        if folder is not None:
            return await asyncio.to_thread(templates.template_text, folder, name)
        if name not in templates.BUILT_IN:
            names = ", ".join(templates.BUILT_IN)
            raise NotFound(f"there is no template {name[:100]!r}", hint=f"Choose one of {names}", ref=name[:200])
        return templates.BUILT_IN[name]


@contextmanager
def _errors_about(kind: str = "note", *, hint: str = _SEARCH_HINT) -> Generator[None]:
    """Reword errors about memories as errors about notes, with hints that name verbs of notes."""
    try:
        yield
    except NotFound as error:
        ref, names = error.fields.get("ref"), error.fields.get("suggestions")
        if isinstance(ref, str) and isinstance(names, tuple):
            raise _not_found(ref, names, kind=kind, hint=hint) from error
        raise
    except InvalidInput as error:
        if "`forget`" not in error.hint:
            raise
        raise InvalidInput(error.message.replace("memory", kind), hint=_EMPTY_HINT, **error.fields) from error


def _not_found(
    identifier: str, suggestions: Sequence[str], *, kind: str = "note", hint: str = _SEARCH_HINT
) -> NotFound:  # fmt: skip
    """Return the error for a missing note, with the most similar names."""
    hint = f"Did you mean {' or '.join(suggestions)}?" if suggestions else hint
    return NotFound(
        f"no {kind} is called {identifier[:100]!r}", hint=hint, ref=identifier[:200], suggestions=tuple(suggestions)
    )


def _require_title(title: str) -> str:
    if not require_text(title, field="title").strip():
        raise InvalidInput("a note needs a title", field="title")
    return title
