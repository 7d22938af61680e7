"""From the files to the store: create and revise memories from the files that users write and edit."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace

from scrubjay.errors import FileChanged, InvalidInput, KeyReused, StaleVersion
from scrubjay.lookup.branches import branch_id, branches_of
from scrubjay.model.caller import Caller
from scrubjay.model.draft import Draft
from scrubjay.model.media import ATTACHMENT
from scrubjay.model.memory import MAIN, Json, Memory, Method, Source
from scrubjay.notes.files.ledger import LedgerEntry
from scrubjay.notes.import_.write import BatchWriter
from scrubjay.notes.markdown.aliases import with_aliases
from scrubjay.notes.markdown.naming import PATH_KEY, stem_of
from scrubjay.notes.markdown.note import Note
from scrubjay.notes.sync.conflicts import save_time, store_as_branch
from scrubjay.notes.sync.context import AGENT, NoteFile, SyncContext, has_file
from scrubjay.notes.sync.links import LinkSync
from scrubjay.notes.sync.mapping import FRONTMATTER_KEY, edit_between, merge_notes, note_of
from scrubjay.notes.sync.plain import created_in, folder_of, tags_of, view_of
from scrubjay.notes.sync.state import NoteState, load_state
from scrubjay.notes.sync.to_files import FileWriter

__all__ = ["FileReader"]

# How many versions to search for the one that a file shows, if the ledger was lost.
_MAX_VERSIONS = 100
_MAX_MESSAGE = 1_000


class FileReader:
    """Applies the files of one vault to the store."""

    def __init__(self, context: SyncContext, *, links: LinkSync, writer: FileWriter) -> None:
        self._context = context
        self._links = links
        self._writer = writer

    async def merge(self, state: NoteState, file: NoteFile) -> None:
        """Merge the changes of file and store; if they conflict, store the file's note as a branch."""
        base = await self._load_base(state.require_entry())
        plain = self._context.is_plain(file)
        state = replace(state, entry=replace(state.require_entry(), plain=plain))
        who = self._context.new_caller()
        if base is None:
            await self._branch_off(state, view_of(file.page, state.note, plain=plain), file, who=who)
            return
        base_note = note_of(base, now=self._context.now)
        file_note = view_of(file.page, base_note, plain=plain)
        merged, conflicts = merge_notes(base_note, state.note, file_note)
        if conflicts:
            await self._branch_off(state, file_note, file, base=base.content, who=who)
            return
        edit = edit_between(state.require_shown(), state.note, merged, message=_edit_message(file))
        if edit is not None:
            if state.branch != MAIN:
                # The times decide which of two differing versions is the newer.
                edit = replace(edit, at=save_time(file.info, after=base.updated_at, now=self._context.now))
            await self._context.engine.apply_edit(state.id, edit, who=who)
            self._context.counts["taken"] += 1
        await self._finish(state, merged, file, base=base.content, who=who, view=file_note)

    async def update_file(
        self, state: NoteState, file: NoteFile | None, *, broken: Mapping[str, Collection[str]] | None = None
    ) -> None:
        """Write the store's changes to the file, which is unchanged or does not exist.

        `broken`: the links of new notes are relations already, but for those with these keys, by the ids of the notes.
        """
        note = state.note
        base = await self._load_base(state.entry) if state.entry is not None else None
        before, view = base.content if base else "", None
        if file is None and state.is_plain:
            file = await self._context.run_blocking(self._take_back, state)
        if file is not None:
            if base is None:
                # The store does not have the version that the file shows, as after a restore from a backup.
                await self.merge(state, file)
                return
            base_note = note_of(base, now=self._context.now)
            # Content that the store never received, such as a secret, stays in the file.
            view = view_of(file.page, base_note, plain=state.is_plain)
            note, _ = merge_notes(base_note, note, view)
        shown = state.require_shown()
        if before != shown.content:
            was_linked, who = base is not None and bool(state.neighbours), self._context.new_caller()
            unresolved = broken.get(state.id, ()) if broken is not None and state.entry is None else None
            if await self._links.apply_text_links(
                shown, path=state.path, before=before, was_linked=was_linked, who=who, broken=unresolved
            ):
                state = await self._reload(state)
        await self._context.update_embeds(state.require_shown(), before=before)
        await self._writer.write(state, note, file, is_news=True, view=view)

    def _take_back(self, state: NoteState) -> NoteFile | None:
        """Return the plain file of a restored note, if it is still in the trash. Blocks."""
        is_back = self._context.folder.take_from_trash(state.path, over=state.require_entry().digest)
        return self._context.read_file(state.path) if is_back else None

    async def create_memory(self, file: NoteFile, *, requested_id: str = "") -> str:
        """Create a memory from a new file and return its id; return an empty text if the file has no content yet."""
        if file.is_blank:
            return ""
        plain = self._context.is_plain(file)
        draft = _draft(file, requested_id=requested_id, plain=plain, max_tags=self._context.engine.limits.tags)
        try:
            written = await self._context.engine.remember(draft, who=self._context.new_caller())
        except KeyReused:
            # The file was renamed after an interrupted sync.
            written = None
        # The memory that an identical file became may have another file by now.
        entry = await self._context.run_blocking(self._context.ledger.get, written.id) if written else None
        if written is None or (entry is not None and has_file(entry) and entry.path != file.path):
            draft = replace(draft, idempotency_key="")
            written = await self._context.engine.remember(draft, who=self._context.new_caller())
        if not written.id:
            raise InvalidInput(f"the note was not stored: {'; '.join(written.warnings)}")
        self._context.counts["created"] += 1
        return written.id

    async def create_memories(self, files: Sequence[NoteFile]) -> list[str]:
        """Create memories from many new plain files at once, and return their ids; an empty text where there is none.

        They are embedded together, and compared with other memories by a job afterwards. After an interruption, the
        path in their metadata tells which files have one.
        """
        context = self._context
        max_tags = context.engine.limits.tags
        drafts = {
            file.path: _draft(file, requested_id="", plain=True, max_tags=max_tags)
            for file in files
            if not file.is_blank
        }
        writer = BatchWriter(context.engine, who=context.new_caller())
        stored = await writer.store(drafts)
        context.needs_scan |= writer.needs_scan
        for path, result in stored.items():
            if result.id:
                context.counts["created"] += 1
            else:
                await context.record_problem(path, result.problem)
        return [stored[file.path].id if file.path in stored else "" for file in files]

    async def complete_file(self, memory_id: str, file: NoteFile) -> None:
        """Add the stored fields to a new file whose memory was created."""
        state = await load_state(memory_id, context=self._context)
        plain = self._context.is_plain(file)
        entry = replace(replace(state, entry=None).new_entry(file.info, file.digest), links=(), plain=plain)
        # An empty digest makes sure that the entry is written, even if the file needs no change.
        state = replace(state, entry=replace(entry, digest=b""))
        note = view_of(file.page, state.note, plain=plain)
        try:
            await self._finish(state, note, file, base="", who=self._context.new_caller(), is_new=True, view=note)
        except FileChanged:
            # The file is being written: record which note it belongs to, and check it again later.
            await self._context.run_blocking(self._context.ledger.put, entry)
            raise

    async def adopt(self, state: NoteState, file: NoteFile) -> None:
        """Take over the file of a memory that has no file in the ledger: the ledger was lost, or the sync crashed."""
        memory = state.require_memory()
        shown, version = await self._find_version(memory, file) or (memory, 0)
        state = replace(state, shown=shown)
        entry = state.new_entry(file.info, b"")
        if state.entry is not None:
            # The file may have come back with another name.
            entry = replace(entry, auto_named=state.entry.auto_named and file.path == state.path)
        # Without the former links we cannot tell that one was removed.
        await self.merge(replace(state, entry=replace(entry, version=version, links=())), file)

    async def rescue(self, state: NoteState, file: NoteFile) -> None:
        """Store the edited file of an inactive memory as a version of it, and remove the file."""
        memory = state.require_memory()
        stored = note_of(memory, now=self._context.now)
        view = view_of(file.page, stored, plain=state.is_plain)
        edit = edit_between(memory, stored, view, message=_edit_message(file))
        if edit is not None:
            await self._context.engine.apply_edit(state.id, edit, who=self._context.new_caller())
            self._context.counts["taken"] += 1
        await self._writer.remove_file(await load_state(state.id, context=self._context), file)

    async def _branch_off(self, state: NoteState, note: Note, file: NoteFile, *, base: str = "", who: Caller) -> None:
        """Store the file's note as a branch, which the file shows from then on."""
        fork_version = await self._find_fork(state)
        branch = await store_as_branch(
            state.require_memory(), note, fork_version=fork_version, info=file.info, context=self._context, who=who
        )
        await self._finish(replace(state, shown=branch), note, file, base=base, who=who, is_news=False, view=note)

    async def _find_fork(self, state: NoteState) -> int:
        """Return the version of main that the file is based on."""
        entry, memory = state.require_entry(), state.require_memory()
        if entry.branch == MAIN:
            return min(max(entry.version, 1), memory.version)
        id_ = branch_id(state.id, entry.branch)
        branch = (await self._context.reader.get(self._context.space, [id_])).get(id_)
        return branch.forked if branch is not None else memory.version

    async def _finish(
        self,
        state: NoteState,
        note: Note,
        file: NoteFile,
        *,
        base: str,
        who: Caller,
        is_news: bool | None = None,
        is_new: bool = False,
        view: Note | None = None,
    ) -> None:
        """Apply the links of a file whose text has been stored, and write the store's news to the file.

        `is_new`: the state was loaded after the last write to the store.
        """
        entry, shown = state.require_entry(), state.require_shown()
        if is_news is None:
            is_news = (entry.branch, entry.version) != (state.branch, shown.version)
        is_linked = await self._links.apply_file_links(
            state.id, file.note, base=base, entry=entry,
            has_frontmatter_links="links" in file.page.set_fields and not state.is_plain,
            # Without a digest, the ledger does not know which links the file had before.
            is_list_new=is_new or bool(entry.digest), who=who,
        )  # fmt: skip
        current = state if is_new and not is_linked else await self._reload(state)
        await self._context.update_embeds(current.require_shown(), before=base)
        if is_new and current.is_plain:
            await self._writer.record_unchanged(current, file)
            return
        await self._writer.write(current, note, file, is_news=is_news, view=view)

    async def _reload(self, state: NoteState) -> NoteState:
        """Load the state of a note again; its file shows the same branch as before."""
        id_ = state.require_shown().id
        shown = (await self._context.reader.get(self._context.space, [id_])).get(id_)
        if shown is None:
            raise StaleVersion("the memory was purged meanwhile", hint="Try again")
        current = await load_state(state.id, context=self._context)
        return replace(current, shown=shown, entry=state.entry)

    async def _load_base(self, entry: LedgerEntry) -> Memory | None:
        """Return the version of the memory at the last sync."""
        id_ = entry.memory_id if entry.branch == MAIN else branch_id(entry.memory_id, entry.branch)
        version = await self._context.reader.version(self._context.space, id_, entry.version)
        return None if version is None else version.memory

    async def _find_version(self, memory: Memory, file: NoteFile) -> tuple[Memory, int] | None:
        """Return the branch and version that a file shows, or else the one with the file's time of last change."""
        by_time: tuple[Memory, int] | None = None
        for branch in [memory, *await branches_of(self._context.reader, [memory])]:
            for version in await self._context.reader.versions(self._context.space, branch.id, limit=_MAX_VERSIONS):
                stored = note_of(version.memory, now=self._context.now)
                view = view_of(file.page, stored, plain=self._context.is_plain(file))
                if edit_between(version.memory, stored, view, message="") is None:
                    return branch, version.number
                if by_time is None and stored.updated_at == file.note.updated_at:
                    by_time = branch, version.number
        return by_time


def _edit_message(file: NoteFile) -> str:
    return f"edited in {file.path}"[:_MAX_MESSAGE]


def _draft(file: NoteFile, *, requested_id: str, plain: bool, max_tags: int) -> Draft:
    """Return the draft of a new file; its key prevents a second memory if the sync is interrupted."""
    note, info = file.note, file.info
    metadata: dict[str, Json] = {PATH_KEY: file.path} if plain else {}
    if note.extra:
        metadata = with_aliases(metadata | {FRONTMATTER_KEY: note.extra}, before="", after=note.extra)
    return Draft(
        text=note.content,
        id=requested_id,
        title=note.title or stem_of(file.path),
        # A memory of that kind has no file of its own.
        kind="" if note.kind == ATTACHMENT else note.kind,
        observations=tuple(observation for observation in note.observations if observation.strip()),
        tags=tags_of(file.page)[:max_tags] if plain else note.tags,
        category=note.category or folder_of(file.path),
        intent="new",
        fixed=True,
        pinned=note.pinned,
        source=Source(method=Method.FILE, agent=AGENT, at=created_in(file.page) if plain else note.created_at),
        metadata=metadata,
        idempotency_key=f"file {file.digest.hex()} {info.inode} {info.mtime_ns}",
    )
