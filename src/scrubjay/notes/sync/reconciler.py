"""The flow of the sync: bring notes in sync, one batch after the other, until no follow-up batch is left.

A batch is a list of notes or a list of paths. For each note, we load its state, check its file, look up the step in the
table of this package, and perform it. A batch may cause follow-ups: a renamed note causes a batch of the notes that
link to it, and a file of another note at its path causes a batch of that path. A path leads to the note of its file, or
to a new memory, and so to batches of notes. Follow-ups run before the batches that wait, depth first.
"""

import asyncio
from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import field, replace

from scrubjay.errors import (
    BodyDamaged,
    FileChanged,
    NameTaken,
    ScrubjayError,
    StaleVersion,
    StoreError,
    VaultUnavailable,
)
from scrubjay.lazy import dataclass
from scrubjay.model.change import Action
from scrubjay.model.memory import MAIN, Json, State
from scrubjay.model.query import Filter
from scrubjay.model.requests import DropBranchRequest, Edit, ForgetRequest, RestoreRequest
from scrubjay.notes.files.ledger import LedgerEntry
from scrubjay.notes.markdown.naming import PATH_KEY, stem_of
from scrubjay.notes.sync import FileChange, MemoryChange, Step, decide
from scrubjay.notes.sync.conflicts import discard_conflict
from scrubjay.notes.sync.context import FileCheck, NoteFile, SyncContext, has_file, last_path
from scrubjay.notes.sync.dirty import mark_neighbours, put_entry, put_without_file, renamed_notes
from scrubjay.notes.sync.from_files import FileReader
from scrubjay.notes.sync.links import LinkSync
from scrubjay.notes.sync.mapping import FILE_SOURCE
from scrubjay.notes.sync.plain import folder_of, is_same_text
from scrubjay.notes.sync.state import NoteState, StatePrefetch, is_note, load_state
from scrubjay.notes.sync.to_files import FileWriter

__all__ = ["PendingWork", "Reconciler"]

# Another writer may win again and again; the rest is left for later.
_MAX_ATTEMPTS = 10
_MAX_CONCURRENT = 16
# From this number of notes on, load their states at once.
_MIN_PREFETCH = 4
_PAGE = 100
# From this number of plain files on, as when a vault is adopted, their memories are stored together.
_MIN_BATCH = 8

_REMOVING_STEPS = (Step.TRASH, Step.REMOVE, Step.RESCUE, Step.FORGET)


@dataclass(slots=True, kw_only=True)
class PendingWork:
    """Notes to check again later: their files are missing, or another program is writing to them."""

    missing: set[str] = field(default_factory=set[str])
    busy: set[str] = field(default_factory=set[str])


@dataclass(frozen=True, slots=True, kw_only=True)
class _Options:
    """How to reconcile a batch of notes, see `Reconciler.reconcile_notes`; `read_files`: even with unchanged times."""

    trash_missing: bool = False
    accept_edits: bool = True
    read_files: bool = False
    broken: Mapping[str, Collection[str]] | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class _NoteBatch:
    """Notes to reconcile; `rounds` counts how often each has been reconciled in this chain of batches."""

    ids: Sequence[str]
    options: _Options = field(default_factory=_Options)
    rounds: Counter[str] = field(default_factory=Counter[str])


@dataclass(frozen=True, slots=True, kw_only=True)
class _PathBatch:
    """Paths to reconcile; without `with_linked`, the notes that link to them are left for later."""

    paths: Sequence[str]
    with_linked: bool = True


_Batch = _NoteBatch | _PathBatch


@dataclass(slots=True, kw_only=True)
class _Effects:
    """The effects of a batch: linked notes and paths for follow-up batches, and work for later."""

    pending: PendingWork
    linked: set[str] = field(default_factory=set[str])
    paths: set[str] = field(default_factory=set[str])


@dataclass(frozen=True, slots=True, kw_only=True)
class _PathContent:
    """A path: its file, or the error of reading it, and the ledger entries of the path."""

    path: str
    file: NoteFile | ScrubjayError | None
    entries: tuple[LedgerEntry, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class _NewFile:
    """A file that becomes a memory, and the id that the memory gets if it is free."""

    file: NoteFile
    requested_id: str


class Reconciler:
    """Brings the notes of one vault in sync. Its methods must not run concurrently."""

    def __init__(self, context: SyncContext) -> None:
        self._context = context
        self._links = LinkSync(context)
        self._writer = FileWriter(context)
        self._reader = FileReader(context, links=self._links, writer=self._writer)

    async def reconcile_notes(
        self,
        ids: Iterable[str],
        *,
        trash_missing: bool = False,
        accept_edits: bool = True,
        broken: Mapping[str, Collection[str]] | None = None,
    ) -> PendingWork:
        """Reconcile notes, and the notes that link to them.

        `trash_missing`: a missing file was deleted on purpose. Without `accept_edits`, leave edited files to the
        watcher, which waits until they are complete. `broken`: see `FileReader.update_file`.
        """
        options = _Options(trash_missing=trash_missing, accept_edits=accept_edits, broken=broken)
        return await self._run(_NoteBatch(ids=list(dict.fromkeys(ids)), options=options))

    async def reconcile_paths(self, paths: Iterable[str], *, with_linked: bool = True) -> PendingWork:
        """Reconcile files that may have been changed, created or removed."""
        return await self._run(_PathBatch(paths=list(dict.fromkeys(paths)), with_linked=with_linked))

    def expecting(self, paths: Iterable[str]) -> AbstractContextManager[None]:
        """Let links mean these files, although they are no notes yet: the order of reading must not matter."""
        return self._links.expecting(paths)

    async def connect_new_notes(self) -> PendingWork:
        """Resolve the missing links to notes that exist by now."""
        return await self.reconcile_notes(await self._links.connect_all_new_notes())

    async def _run(self, batch: _Batch) -> PendingWork:
        """Run a batch and its follow-ups."""
        pending = PendingWork()
        stack: list[_Batch] = [batch]
        while stack:
            batch = stack.pop()
            run = self._run_paths(batch, pending) if isinstance(batch, _PathBatch) else self._run_notes(batch, pending)
            stack += reversed(await run)
        return pending

    async def _run_notes(self, batch: _NoteBatch, pending: PendingWork) -> list[_Batch]:
        """Reconcile notes; return the batches of paths and of linked notes that follow."""
        effects = _Effects(pending=pending)
        for start in range(0, len(batch.ids), _PAGE):
            await self._reconcile_page(batch.ids[start : start + _PAGE], effects, batch.options)
        batch.rounds.update(batch.ids)
        # Include notes that were reconciled before a note that they link was renamed.
        linked = sorted(id_ for id_ in effects.linked if batch.rounds[id_] < _MAX_ATTEMPTS)
        follow_ups: list[_Batch] = [_PathBatch(paths=sorted(effects.paths))] if effects.paths else []
        return [*follow_ups, replace(batch, ids=linked)] if linked else follow_ups

    async def _run_paths(self, batch: _PathBatch, pending: PendingWork) -> list[_Batch]:
        """Find the notes of paths and create memories of new files; return the batches of notes that follow."""
        effects = _Effects(pending=pending)
        ids: list[str] = []
        new_files: list[_NewFile] = []
        displaced: list[str] = []
        for content in await self._context.run_blocking(self._read_paths, batch.paths):
            try:
                owner = await self._find_owner(content, effects)
            except (VaultUnavailable, StoreError):
                raise
            except ScrubjayError as error:
                await self._context.record_problem(content.path, str(error))
                continue
            # Another note may have had this path.
            if isinstance(owner, _NewFile):
                new_files.append(owner)
                displaced += [entry.memory_id for entry in content.entries]
            else:
                ids += owner
                displaced += [entry.memory_id for entry in content.entries if entry.memory_id not in owner]
        with self._links.expecting(new_file.file.path for new_file in new_files):
            changed = await self._create_memories(new_files)
        linked = sorted({*changed, *effects.linked}.difference(ids)) if batch.with_linked else []
        batches = [
            _NoteBatch(ids=list(dict.fromkeys(ids)), options=_Options(read_files=True)),
            _NoteBatch(ids=list(dict.fromkeys(displaced))),
            _NoteBatch(ids=linked),
        ]
        return [batch for batch in batches if batch.ids]

    # ---- notes ----

    async def _reconcile_page(self, ids: Sequence[str], effects: _Effects, options: _Options) -> None:
        """Reconcile notes whose states are loaded at once."""
        prefetch = StatePrefetch(self._context)
        unchanged = set[str]()
        if len(ids) >= _MIN_PREFETCH:
            states = await prefetch.load(ids)
            if not options.read_files:
                unchanged = await self._find_unchanged(states.values())
        for id_ in ids:
            if id_ in unchanged and id_ not in effects.linked:
                continue
            effects.linked.discard(id_)
            await self._reconcile_note(id_, effects, options, prefetch)

    async def _find_unchanged(self, states: Iterable[NoteState]) -> set[str]:
        """Return the notes that have changed on neither side: most, where many are checked."""
        same = [state for state in states if state.has_file and state.memory_change is MemoryChange.SAME]
        entries = [state.require_entry() for state in same]
        stat = self._context.folder.stat

        def compare() -> set[str]:
            return {entry.memory_id for entry in entries if stat(entry.path) == entry.file_info}

        return await self._context.run_blocking(compare) if entries else set()

    async def _reconcile_note(
        self, memory_id: str, effects: _Effects, options: _Options, prefetch: StatePrefetch
    ) -> None:
        """Reconcile one note, with retries; record a problem with it so that it does not hold up others."""
        path, problem = memory_id, "it is being changed too fast"
        for _ in range(_MAX_ATTEMPTS):
            try:
                state = await prefetch.get(memory_id)
            except BodyDamaged as error:
                await self._context.record_problem(path, str(error))
                return
            path = last_path(state.entry) if state.entry else memory_id
            try:
                await self._reconcile_state(state, effects, options)
            except (FileChanged, StaleVersion, NameTaken) as error:
                options = replace(options, read_files=True)
                if state.entry is None and state.memory is not None and is_note(state.memory):
                    # A file exists at the path of a new file: it may be the note's own.
                    effects.paths.add(state.path)
                    return
                if error.fields.get("busy"):
                    problem = str(error)
                    break
                continue
            except (VaultUnavailable, StoreError):
                raise
            except ScrubjayError as error:
                await self._context.record_problem(path, str(error))
            return
        effects.pending.busy.add(memory_id)
        await self._context.record_problem(path, problem)

    async def _reconcile_state(self, state: NoteState, effects: _Effects, options: _Options) -> None:
        if state.entry and state.shown and await self._links.rename_targets(state.shown, renamed_notes(state.entry)):
            state = await load_state(state.id, context=self._context)
        check = FileCheck(change=FileChange.MISSING)
        if state.has_file:
            # Read a file before it is written.
            read = options.read_files or state.memory_change in (MemoryChange.CHANGED, MemoryChange.RELINKED)
            check = await self._context.run_blocking(self._context.check_file, state.entry, read=read)
        is_changed = check.change is FileChange.CHANGED
        if is_changed and check.file is not None and check.file.note_id not in ("", state.id):
            # The file of another note has taken the path.
            entry = state.require_entry()
            effects.paths.add(entry.path)
            entry = await self._context.run_blocking(put_without_file, entry, context=self._context)
            state, check = replace(state, entry=entry), FileCheck(change=FileChange.MISSING)
        step = decide(has_entry=state.entry is not None, file=check.change, memory=state.memory_change)
        if state.entry and state.memory and state.entry.branch not in (MAIN, state.branch):
            await discard_conflict(state.memory, state.entry.branch, engine=self._context.engine)
        await self._perform(step, state, check, effects, options)
        entry = self._writer.pop_entry(state)
        if step is not Step.NOTHING:
            await self._notify_neighbours(state, entry, effects)
            # Without a new entry, the note was gone before, or may be back in a moment.
            is_postponed = step is Step.FORGET or (step is Step.TRASH and not options.trash_missing)
            if step in _REMOVING_STEPS and not (is_postponed and entry == state.entry):
                effects.linked |= set(state.neighbours)

    async def _perform(
        self, step: Step, state: NoteState, check: FileCheck, effects: _Effects, options: _Options
    ) -> None:
        file = check.file
        match step:
            case Step.NOTHING:
                if file is not None:
                    await self._writer.record_unchanged(state, file)
            case Step.READ if not options.accept_edits:
                pass
            case Step.WRITE if check.change is FileChange.MISSING and state.has_file and not options.trash_missing:
                # The file may have been moved: writing another one would make two files of one note.
                effects.pending.missing.add(state.id)
            case Step.WRITE:
                await self._write(state, check, broken=options.broken)
            case Step.READ | Step.MERGE if file is not None:
                await self._reader.merge(state, file)
            case Step.TRASH if not options.trash_missing:
                effects.pending.missing.add(state.id)
            case Step.TRASH:
                await self._trash(state)
            case Step.REMOVE if state.is_plain and not await self._is_forgotten(state):
                # Curation archived or merged the memory, or its creation was undone: the file is still the user's.
                pass
            case Step.REMOVE:
                await self._writer.remove_file(state, file)
            case Step.RESCUE if file and state.is_plain and await self._bring_back(state):
                await self._reader.merge(await load_state(state.id, context=self._context), file)
            case Step.RESCUE if file and state.require_memory().state in (State.TRASHED, State.ARCHIVED):
                await self._reader.rescue(state, file)
            case Step.CREATE | Step.RESCUE:
                # The memory was purged or merged into another: the edited file becomes a note of its own.
                await self._context.run_blocking(self._context.ledger.remove, state.id)
                effects.paths.add(state.require_entry().path)
            case Step.FORGET:
                await self._writer.forget_file(state)
            case _:  # pragma: no cover - files without an entry are found by their paths
                raise AssertionError(step)

    async def _write(self, state: NoteState, check: FileCheck, *, broken: Mapping[str, Collection[str]] | None) -> None:
        file, entry = check.file, state.entry
        if check.change is FileChange.SAME and file is None:
            entry = state.require_entry()
            file = await self._context.run_blocking(self._context.read_file, entry.path)
            if file is None or file.digest != entry.digest:
                raise FileChanged("the file has changed meanwhile", path=entry.path)
        try:
            await self._reader.update_file(state, file, broken=broken)
        except FileChanged:
            if entry is None or entry.auto_named or file is not None:
                raise
            # Another file has taken its former name.
            renamed = replace(state, entry=replace(entry, auto_named=True))
            await self._reader.update_file(renamed, None, broken=broken)

    async def _trash(self, state: NoteState) -> None:
        """Trash the memory of a deleted file; if file and store are in conflict, drop only the file's branch."""
        engine, path = self._context.engine, last_path(state.require_entry())
        if state.branch != MAIN:
            await engine.drop_branch(DropBranchRequest(id=state.id, name=state.branch), who=self._context.new_caller())
            raise StaleVersion(f"{path} was deleted", hint="Try again")
        reason = f"its file {path} was deleted"[:500]
        await engine.forget(ForgetRequest(ids=(state.id,), reason=reason), who=self._context.new_caller())
        self._context.counts["trashed"] += 1
        await self._writer.forget_file(await load_state(state.id, context=self._context))

    async def _is_forgotten(self, state: NoteState) -> bool:
        """Whether the memory of a note was put into the trash on purpose, or purged."""
        if state.memory is None:
            return True
        (newest,) = await self._context.reader.versions(self._context.space, state.id, limit=1)
        return state.memory.state is State.TRASHED and newest.action != Action.UNDONE

    async def _bring_back(self, state: NoteState) -> bool:
        """Restore the memory of a plain file that its author goes on with; return False if it stays away."""
        memory = state.require_memory()
        if memory.state not in (State.TRASHED, State.ARCHIVED) or await self._is_forgotten(state):
            return False
        request = RestoreRequest(ids=(state.id,), reason=f"{state.require_entry().path} was edited"[:500])
        await self._context.engine.restore(request, who=self._context.new_caller())
        return True

    async def _notify_neighbours(self, state: NoteState, entry: LedgerEntry | None, effects: _Effects) -> None:
        """Add the notes that link to a note to the follow-ups if its names have changed, or it came or went."""
        before, after = (
            (version.path, version.title, version.aliases) if version is not None and has_file(version) else None
            for version in (state.entry, entry)
        )
        if before == after:
            return
        effects.linked |= set(state.neighbours)
        if after is not None and state.memory is not None:
            # Include the notes that have a missing link to its new name.
            effects.linked |= set(await self._links.connect_new_note(state.memory, after[0]))

    # ---- paths ----

    def _read_paths(self, paths: Sequence[str]) -> list[_PathContent]:
        """Read files with their ledger entries; for a removed folder, return the entries of all files in it. Blocks."""
        ledger, contents = self._context.ledger, list[_PathContent]()
        by_path = ledger.at_paths(paths)
        for path in paths:
            try:
                file = self._context.read_file(path) if path.casefold().endswith(".md") else None
            except VaultUnavailable:
                raise
            except ScrubjayError as error:
                contents.append(_PathContent(path=path, file=error))
                continue
            entries = [by_path[path]] if path in by_path else []
            if file is None:
                ledger.clear_problems(path)
                entries += ledger.in_folder(path)
            contents.append(_PathContent(path=path, file=file, entries=tuple(entries)))
        return contents

    async def _find_owner(self, content: _PathContent, effects: _Effects) -> list[str] | _NewFile:
        """Return the ids of the memories that a path concerns, or the new file at it."""
        file, entries = content.file, content.entries
        if isinstance(file, ScrubjayError):
            raise file
        if file is None:
            return [entry.memory_id for entry in entries]
        id_ = file.note_id
        if entries and id_ in ("", entries[0].memory_id):
            return [entries[0].memory_id]
        if id_ and await self._claim(file, effects):
            return [id_]
        plain_id = await self._find_plain(file) if self._context.is_plain(file) else ""
        if plain_id and await self._claim(file, effects, id_=plain_id):
            return [plain_id]
        is_free = id_ and not await self._context.reader.get(self._context.space, [id_])
        return _NewFile(file=file, requested_id=id_ if is_free else "")

    async def _find_plain(self, file: NoteFile) -> str:
        """Return the id of the note whose plain file was moved, came back, or is not in the ledger any more."""
        ledger, reader, space = self._context.ledger, self._context.reader, self._context.space
        entries = await self._context.run_blocking(ledger.same_file, digest=file.digest, inode=file.info.inode)
        for entry in entries:
            if not entry.plain or (has_file(entry) and await self._context.run_blocking(self._is_copy, entry, file)):
                continue
            memory = (await reader.get(space, [entry.memory_id])).get(entry.memory_id)
            if memory is not None and is_same_text(file.page, memory, entry, digest=file.digest):
                return memory.id
        at_path = await reader.list_ids(space, Filter(metadata={PATH_KEY: file.path}), limit=_PAGE)
        same = await reader.same_content(space, file.note.content)
        ids = list(dict.fromkeys((*at_path, *same)))
        with_entry = await self._context.run_blocking(self._context.get_entries, ids)
        memories = await reader.get(space, [id_ for id_ in ids if id_ not in with_entry])
        matches = [
            id_ for id_ in ids if id_ in memories and is_note(memories[id_]) and PATH_KEY in memories[id_].metadata
        ]
        return matches[0] if matches and (matches[0] in at_path or len(matches) == 1) else ""

    async def _claim(self, file: NoteFile, effects: _Effects, *, id_: str = "") -> bool:
        """Connect a file with the memory whose id is in its frontmatter; return False if it is a note of its own."""
        id_, path = id_ or file.note_id, file.path
        state = await load_state(id_, context=self._context)
        if state.memory is None or state.memory.trunk:
            return False
        entry = state.entry
        if entry is not None and has_file(entry) and is_note(state.memory):
            if await self._context.run_blocking(self._is_copy, entry, file):
                return False
            await self._context.run_blocking(self._record_move, state, file)
            self._context.counts["moved"] += 1
            await self._retitle(state, path)
            await self._notify_neighbours(state, replace(entry, path=path), effects)
            return True
        step = decide(has_entry=False, file=FileChange.CHANGED, memory=state.memory_change)
        if step is Step.RESTORE and state.memory.state in (State.TRASHED, State.ARCHIVED):
            request = RestoreRequest(ids=(id_,), reason=f"{path} is back")
            await self._context.engine.restore(request, who=self._context.new_caller())
            state = await load_state(id_, context=self._context)
        if state.memory is None or not is_note(state.memory):
            return False
        if state.entry is not None and state.neighbours:
            await self._context.run_blocking(mark_neighbours, state.entry, state.neighbours, context=self._context)
        await self._reader.adopt(state, file)
        await self._notify_neighbours(state, self._writer.pop_entry(state), effects)
        return True

    def _is_copy(self, entry: LedgerEntry, file: NoteFile) -> bool:
        """Whether a note's file still exists at its path, so that a file elsewhere is a copy of it. Blocks."""
        info = self._context.folder.stat(entry.path)
        # On a file system that ignores case, a renamed file is found by its former name, too.
        is_renamed = info is not None and info.inode == file.info.inode
        if info is None or (is_renamed and not self._context.folder.has_exact_name(entry.path)):
            return False
        return self._context.read_note_id(entry.path) in ("", entry.memory_id)

    def _record_move(self, state: NoteState, file: NoteFile) -> None:
        """Record the new path of a note; it stays auto-named only with the name that we would choose. Blocks."""
        entry, default_path = state.require_entry(), replace(state, entry=None).path
        moved = replace(entry, path=file.path, auto_named=entry.auto_named and file.path == default_path)
        put_entry(moved, before=entry, neighbours=state.neighbours, context=self._context)

    async def _retitle(self, state: NoteState, path: str) -> None:
        """Change a title that was the file's name to the new name, and the category of a plain file to its folder."""
        entry, shown, fields = state.require_entry(), state.require_shown(), dict[str, Json]()
        if stem_of(entry.path) != stem_of(path) and shown.title == stem_of(entry.path) and not entry.auto_named:
            fields["title"] = stem_of(path)
        if PATH_KEY in shown.metadata:
            fields["metadata"] = {**shown.metadata, PATH_KEY: path}
            if entry.plain and shown.category == folder_of(entry.path) != folder_of(path):
                fields["category"] = folder_of(path)
        if fields:
            message = f"renamed to {path}"[:500]
            edit = Edit(fields=fields, message=message, branch=state.branch, source=FILE_SOURCE)
            await self._context.engine.apply_edit(state.id, edit, who=self._context.new_caller())

    async def _create_memories(self, new_files: Sequence[_NewFile]) -> list[str]:
        """Create memories of new files, several at once so that they are embedded together; return changed notes."""
        gate = asyncio.Semaphore(_MAX_CONCURRENT)
        # If two files have one id, the first gets it.
        first_paths = {new_file.requested_id: new_file.file.path for new_file in reversed(new_files)}
        requests = [
            (new_file.file, new_file.requested_id if first_paths[new_file.requested_id] == new_file.file.path else "")
            for new_file in new_files
        ]
        if len(requests) >= _MIN_BATCH and all(self._context.is_plain(file) for file, _ in requests):
            results = await self._reader.create_memories([file for file, _ in requests])
        else:
            results = await asyncio.gather(*(self._create_memory(*request, gate=gate) for request in requests))
        created = [(memory_id, file) for memory_id, (file, _) in zip(results, requests, strict=True) if memory_id]
        for memory_id, file in created:
            self._links.expect_id(file.path, memory_id)
        if self._context.author is not None:
            self._context.warnings += [
                f"{file.path}: {warning}"
                for _, file in created
                for warning in (*file.page.warnings, file.page.unreadable)
                if warning
            ]
        # All memories exist before the first file is completed, because they may link each other.
        completed = await asyncio.gather(*(self._complete_file(*pair, gate=gate) for pair in created))
        changed = [memory_id for (memory_id, _), is_complete in zip(created, completed, strict=True) if not is_complete]
        ids = [memory_id for memory_id, _ in created]
        memories = await self._context.reader.get(self._context.space, ids) if ids else {}
        for memory_id, file in created:
            if memory_id in memories:
                changed += [memory_id, *await self._links.connect_new_note(memories[memory_id], file.path)]
        return changed

    async def _create_memory(self, file: NoteFile, requested_id: str, *, gate: asyncio.Semaphore) -> str:
        async with gate:
            try:
                return await self._reader.create_memory(file, requested_id=requested_id)
            except (VaultUnavailable, StoreError):
                raise
            except ScrubjayError as error:
                await self._context.record_problem(file.path, str(error))
                return ""

    async def _complete_file(self, memory_id: str, file: NoteFile, *, gate: asyncio.Semaphore) -> bool:
        """Complete a new file; return False if it must be reconciled again."""
        async with gate:
            try:
                await self._reader.complete_file(memory_id, file)
            except (FileChanged, StaleVersion):
                return False
            except (VaultUnavailable, StoreError):
                raise
            except ScrubjayError as error:
                await self._context.record_problem(file.path, str(error))
            return True
