"""The vault: one folder of notes that is kept in sync with one space of a store."""

import asyncio
import logging
from collections import Counter
from collections.abc import AsyncGenerator, Awaitable, Collection, Iterable, Mapping, Sequence
from contextlib import AsyncExitStack, asynccontextmanager, suppress
from pathlib import Path

from scrubjay.engine import Engine
from scrubjay.errors import ScrubjayError, StoreError, VaultUnavailable
from scrubjay.locking import FileLock
from scrubjay.model.caller import Caller
from scrubjay.model.change import Action, Change
from scrubjay.model.memory import Memory
from scrubjay.model.notes import NotesSynced
from scrubjay.model.requests import RulesRequest, ScanLaterRequest
from scrubjay.notes.attachments.service import Attachments
from scrubjay.notes.files.folder import ATTACHMENTS, TEMPLATES, Folder
from scrubjay.notes.files.ledger import Ledger
from scrubjay.notes.files.watch import EVERYTHING, watch_folder
from scrubjay.notes.markdown.naming import link_target
from scrubjay.notes.markdown.note import Link
from scrubjay.notes.markdown.wiki import key_of
from scrubjay.notes.sync.context import SyncContext, has_file
from scrubjay.notes.sync.reconciler import PendingWork, Reconciler
from scrubjay.notes.sync.scan import (
    FOLDER_PROBLEM,
    describe_drift,
    find_blank_files,
    find_new_files,
    find_unfinished,
    find_unwritten,
    is_mass_deletion,
    scan_folder,
)
from scrubjay.ports import Progress
from scrubjay.ports.cluster import ClusterStore, settled_position

__all__ = ["Vault", "open_vault"]

_log = logging.getLogger(__name__)
_PAGE = 500
_MAX_PAGES = 20
# So many notes are synchronized before other callers get their turn.
_CHUNK = 64
# An editor that saves by renaming has no file for a moment.
_MISSING_DELAY = 1.0
# A program may keep a file open for as long as it runs.
_BUSY_DELAY = 2.0
# Other processes may write to the store; writers in this process call `wake`.
_POLL_SECONDS = 5.0
_RETRY_SECONDS = 5.0
_IGNORED_ACTIONS = frozenset({Action.EMBEDDED})
_FOLDERS_WITHOUT_NOTES = (TEMPLATES, ATTACHMENTS)
_MASS_DELETION = (
    "{count} of {total} files are missing at once: no memory was put into the trash. Bring the files back, or confirm "
    "with `scrubjay notes sync --deletions`"
)


class Vault:
    """Keeps a folder and a space in sync. `is_active` is False while another process does so."""

    def __init__(self, context: SyncContext, *, lock: FileLock) -> None:
        self.root = context.folder.root
        self.space = context.space
        self._context = context
        self._lock = lock
        self._reconciler = Reconciler(context)
        self._reconciling = asyncio.Lock()
        # A file that is missing in one place may be among those being processed.
        self._checking_files = asyncio.Lock()
        self._store_changed = asyncio.Event()
        # The ids of notes to check again, with the time.
        self._missing: dict[str, float] = {}
        self._busy: dict[str, float] = {}
        self._has_pending = asyncio.Event()
        self._opened_at = context.now
        self._scanning = asyncio.Lock()
        self._is_ready = False

    @property
    def is_active(self) -> bool:
        """Whether this process keeps folder and space in sync."""
        return self._lock.held

    @property
    def copy(self) -> Path | None:
        """The archive of the notes of other programs that was made when this vault adopted their folder, just now."""
        return self.root / self._context.folder.copy if self._context.folder.copy else None

    @property
    def attachments(self) -> Attachments | None:
        """The files that the notes embed."""
        return self._context.attachments

    @property
    def _ledger(self) -> Ledger:
        return self._context.ledger

    async def sync_notes(self, ids: Sequence[str], *, broken: Mapping[str, Collection[str]] | None = None) -> None:
        """Synchronize the files of memories now; obstacles are listed by `problems`.

        `broken`: an import has related the notes; of each, the keys of the links that name no note.
        """
        if not self.is_active or not ids:
            return
        if not self._is_ready:
            # A memory that is younger than this vault cannot have a file already.
            memories = await self._context.reader.get(self.space, ids)
            new = [id_ for id_ in ids if id_ in memories and memories[id_].created_at >= self._opened_at]
            if len(new) < len(ids):
                await self._prepare()
        async with self._reconciling:
            pending = await self._reconciler.reconcile_notes(ids, broken=broken)
        self._schedule(pending)

    async def paths_of(self, ids: Sequence[str]) -> Mapping[str, Path]:
        """Return the paths of the files of memories, without those that have none."""
        entries = await self._context.run_blocking(self._context.get_entries, ids)
        return {id_: self.root / entries[id_].path for id_ in ids if id_ in entries and has_file(entries[id_])}

    async def find_id(self, path: str) -> str:
        """Return the id of the note whose file has this path in the folder, or an empty text."""
        entry = await self._context.run_blocking(self._ledger.at_path, path)
        return entry.memory_id if entry is not None and has_file(entry) else ""

    async def count_files(self) -> int:
        """Return the number of notes that have a file."""
        return await self._context.run_blocking(lambda: sum(has_file(entry) for entry in self._ledger.all()))

    async def taken_paths(self) -> set[str]:
        """Return the keys of the paths of all notes."""
        return await self._context.run_blocking(
            lambda: {key_of(entry.path) for entry in self._ledger.all() if has_file(entry)}
        )

    @property
    def linked(self) -> int:
        """The number of links that files have made since this vault was opened."""
        return self._context.counts["linked"]

    def take_warnings(self) -> tuple[str, ...]:
        """Return the warnings about adopted files, and clear them."""
        warnings, self._context.warnings = tuple(sorted(self._context.warnings)), []
        return warnings

    async def blank_files(self) -> tuple[str, ...]:
        """Return the files that have no content yet, and therefore no memory."""
        return await find_blank_files(self._context)

    async def missing_links(self) -> tuple[tuple[str, Link], ...]:
        """Return the links to notes that do not exist, with the ids of the notes that contain them."""
        return tuple(await self._context.run_blocking(self._ledger.missing_links))

    async def link_names(self) -> tuple[str, ...]:
        """Return the names by which links name the existing files: their paths and their file names."""
        targets = await self._context.run_blocking(
            lambda: [link_target(entry.path) for entry in self._ledger.all() if has_file(entry)]
        )
        return tuple(dict.fromkeys(name for target in targets for name in (target, target.rpartition("/")[2])))

    async def problems(self) -> tuple[str, ...]:
        """Return the files that were not synchronized, and why."""
        problems = await self._context.run_blocking(self._ledger.problems)
        return tuple(f"{problem.path}: {problem.message}" for problem in problems)

    async def drift(self) -> tuple[str, ...]:
        """Describe the differences between store and folder, without changing anything."""
        try:
            async with self._reconciling:
                return await describe_drift(self._context)
        except VaultUnavailable as error:
            return (str(error),)

    async def sync(
        self, *, progress: Progress | None = None, deletions: bool = False, author: Caller | None = None
    ) -> NotesSynced:  # fmt: skip
        """Compare both sides completely and synchronize them.

        `deletions`: trash the memories of missing files even if most files are missing. `author`: what the files change
        in the store is its work, in its run, so that one `undo` takes it back.
        """
        before = Counter(self._context.counts)
        self._context.author = author
        try:
            checked = await self._sync_all(progress=progress, deletions=deletions) if self.is_active else 0
        finally:
            self._context.author = None
        counts = self._context.counts - before
        return NotesSynced(
            folder=str(self.root), checked=checked, taken=counts["taken"], created=counts["created"],
            written=counts["written"], trashed=counts["trashed"], moved=counts["moved"],
            removed=counts["removed"], conflicts=counts["conflicts"], problems=await self.problems(),
        )  # fmt: skip

    async def sync_changes(self) -> None:
        """Apply the new changes in the store's log to the files."""
        while True:
            after = await self._context.run_blocking(lambda: self._ledger.cursor)
            changes = await self._read_changes(after=after)
            if not changes:
                return
            relevant = [
                change for change in changes if change.space == self.space and change.action not in _IGNORED_ACTIONS
            ]
            ids = dict.fromkeys(change.memory_id for change in relevant)
            relations = [change.relation for change in relevant if change.relation is not None]
            ids |= dict.fromkeys(end for relation in relations for end in (relation.source, relation.target))
            # A change of a branch is a change of its memory.
            memories = await self._context.reader.get(self.space, list(ids)) if ids else {}
            trunks = dict.fromkeys(memories[id_].trunk or id_ if id_ in memories else id_ for id_ in ids)
            await self._reconcile_notes(list(trunks), accept_edits=False)
            if any(change.action is Action.PURGED for change in relevant):
                # Before the cursor moves on: a caller that sees it there relies on this.
                await self._context.run_blocking(self._ledger.erase_removed)
            await self._context.run_blocking(self._ledger.set_cursor, changes[-1].seq)

    async def erase_purged(self, purged: Iterable[Memory]) -> None:
        """Remove the files of purged memories now, with every trace of them in the ledger."""
        if self.attachments is not None:
            await self.attachments.erase(purged)
        if not self.is_active:
            return
        if not self._is_ready:
            await self._prepare()
        await self.sync_changes()

    async def sync_paths(self, paths: Iterable[str]) -> None:
        """Synchronize files that may have been changed, created or removed, and the notes that this affects."""
        changed = sorted(set(paths))
        files = [path for path in changed if not path.casefold().endswith(".md")]
        if self.attachments is not None and files:
            await self.attachments.appeared(files)
        notes = [
            path
            for path in changed
            if path.partition("/")[0].casefold() not in _FOLDERS_WITHOUT_NOTES
            and not self._context.folder.is_template(path)
        ]
        for start in range(0, len(notes), _CHUNK):
            async with self._reconciling:
                pending = await self._reconciler.reconcile_paths(notes[start : start + _CHUNK])
            self._schedule(pending)
        await self.sync_changes()

    def wake(self) -> None:
        """Look for changes at once: something was written to the store."""
        self._store_changed.set()

    async def run(self) -> None:
        """Compare both sides completely, then follow their changes until cancelled.

        While another process keeps them in sync, wait until it ends.
        """
        while not self.is_active:
            await asyncio.sleep(_RETRY_SECONDS)
            await self._context.run_blocking(self._take_over)
        async with AsyncExitStack() as listeners, asyncio.TaskGroup() as tasks:
            if isinstance(log := self._context.engine.change_log, ClusterStore):
                await listeners.enter_async_context(log.listening(self.wake))
            tasks.create_task(self._follow_store())
            tasks.create_task(self._follow_folder())
            tasks.create_task(self._follow_pending())

    async def _prepare(self) -> None:
        """Compare both sides before the first write if the ledger does not know which files exist."""
        async with self._scanning:
            if not self._is_ready and await self._is_ledger_behind(
                await settled_position(self._context.engine.change_log)
            ):
                await self._sync_all(waits=True)
            self._is_ready = True

    async def _is_ledger_behind(self, newest: int) -> bool:
        """Whether the ledger is new, or comes from a store with later changes than this one has."""
        return not 0 < await self._context.run_blocking(lambda: self._ledger.cursor) <= newest

    def _take_over(self) -> None:
        """Become the active process if no other one is. Blocks."""
        if self._lock.acquire(exclusive=True):
            self._ledger.close()
            self._context.ledger = Ledger.open(self._ledger.path, owner=self._ledger.owner, key=self._ledger.key)
            self._context.folder.sweep()

    async def _sync_all(
        self, *, progress: Progress | None = None, deletions: bool = False, waits: bool = False
    ) -> int:  # fmt: skip
        """Compare both sides completely, the files first, so that no edit is lost; return the number of files.

        `waits`: give missing files some time to come back.
        """
        start = await settled_position(self._context.engine.change_log)
        is_ledger_behind = await self._is_ledger_behind(start)
        result = await scan_folder(self._context)
        await self._context.run_blocking(self._ledger.clear_problems, *result.obsolete_problems)
        # If files are missing, new ones may be their moved notes, and these go on being meant at their former paths.
        with self._reconciler.expecting(() if result.missing else result.paths):
            missing = {*result.missing, *await self._reconcile_paths(result.paths, progress=progress)}
        if waits:
            self._schedule(PendingWork(missing=missing))
        else:
            await self._trash_missing(sorted(missing), deletions=deletions)
        for entry in result.skipped:
            await self._context.record_problem(entry.path, entry.reason)
        async with self._reconciling:
            await self._reconciler.connect_new_notes()
        await self._scan_later()
        await self._reconcile_notes(await find_unfinished(self._context))
        async for ids in find_unwritten(self._context):
            await self._reconcile_notes(ids)
        if self.attachments is not None:
            await self.attachments.follow()
        if is_ledger_behind:
            all_ids = await self._context.run_blocking(lambda: [entry.memory_id for entry in self._ledger.all()])
            await self._reconcile_notes(all_ids)
            await self._context.run_blocking(self._ledger.set_cursor, start)
        await self.sync_changes()
        self._is_ready = True
        return result.checked

    async def _scan_later(self) -> None:
        """Let a job look for conflicts of memories that were stored together."""
        engine, who = self._context.engine, self._context.new_caller()
        if self._context.needs_scan and (await engine.rules(RulesRequest(), who=who)).conflicts != "off":
            await engine.scan_later(ScanLaterRequest(), who=who)
        self._context.needs_scan = False

    async def _trash_missing(self, ids: Sequence[str], *, deletions: bool) -> None:
        """Trash the memories of deleted files, unless so many are missing that it is probably a mistake."""
        entries = await self._context.run_blocking(self._context.get_entries, ids)
        stat = self._context.folder.stat

        def find_missing() -> list[str]:
            # Raise VaultUnavailable if the whole folder is missing.
            return [id_ for id_, entry in entries.items() if not has_file(entry) or stat(entry.path) is None]

        missing = await self._context.run_blocking(find_missing)
        if not missing:
            return
        total = await self.count_files() + sum(not has_file(entries[id_]) for id_ in missing)
        count = len(missing)
        if count > 1 and not deletions:
            # A mass deletion may arrive in portions.
            count = max(count, len((await scan_folder(self._context)).missing))
        if is_mass_deletion(count, total=total) and not deletions:
            await self._context.record_problem(FOLDER_PROBLEM, _MASS_DELETION.format(count=count, total=total))
            return
        await self._context.run_blocking(self._ledger.clear_problems, FOLDER_PROBLEM)
        await self._reconcile_notes(missing, trash_missing=True)

    async def _reconcile_paths(self, paths: Sequence[str], *, progress: Progress | None) -> set[str]:
        """Reconcile all changed files of a scan, without the notes that link to them; return the missing notes."""
        missing: set[str] = set()
        for start in range(0, len(paths), _CHUNK):
            async with self._reconciling:
                pending = await self._reconciler.reconcile_paths(paths[start : start + _CHUNK], with_linked=False)
            missing |= pending.missing
            self._schedule(PendingWork(busy=pending.busy))
            if progress is not None:
                progress(min(start + _CHUNK, len(paths)), len(paths))
        return missing

    async def _reconcile_notes(
        self, ids: Sequence[str], *, trash_missing: bool = False, accept_edits: bool = True
    ) -> None:
        for start in range(0, len(ids), _CHUNK):
            async with self._reconciling:
                pending = await self._reconciler.reconcile_notes(
                    ids[start : start + _CHUNK], trash_missing=trash_missing, accept_edits=accept_edits
                )
            self._schedule(pending)

    async def _read_changes(self, *, after: int) -> list[Change]:
        """Read several pages of new changes, so that a memory with many changes is synchronized once."""
        changes = page = await self._context.engine.change_log.changes(after=after, limit=_PAGE)
        while len(page) == _PAGE and len(changes) < _MAX_PAGES * _PAGE:
            page = await self._context.engine.change_log.changes(after=page[-1].seq, limit=_PAGE)
            changes = [*changes, *page]
        return changes

    def _schedule(self, pending: PendingWork) -> None:
        """Check notes again after a delay: their files are missing, or another program is writing to them."""
        now = asyncio.get_running_loop().time()
        for id_ in pending.missing:
            self._missing.setdefault(id_, now + _MISSING_DELAY)
        for id_ in pending.busy:
            self._busy.setdefault(id_, now + _BUSY_DELAY)
        if pending.missing or pending.busy:
            self._has_pending.set()

    async def _follow_store(self) -> None:
        while True:
            with suppress(TimeoutError):
                async with asyncio.timeout(_POLL_SECONDS):
                    await self._store_changed.wait()
            self._store_changed.clear()
            if not self._is_ready:
                await self._log_errors(self._prepare())
            await self._log_errors(self.sync_changes())

    async def _follow_folder(self) -> None:
        async for paths in watch_folder(self.root):
            async with self._checking_files:
                await self._log_errors(self._rescan() if EVERYTHING in paths else self.sync_paths(paths))

    async def _rescan(self) -> None:
        async with self._scanning:
            await self._sync_all(waits=True)

    async def _follow_pending(self) -> None:
        while True:
            await self._has_pending.wait()
            await asyncio.sleep(_MISSING_DELAY)
            missing, busy = _pop_due(self._missing), _pop_due(self._busy)
            if not self._missing and not self._busy:
                self._has_pending.clear()
            if missing:
                async with self._checking_files:
                    await self._log_errors(self._sync_missing(missing))
            await self._log_errors(self._reconcile_notes(busy, accept_edits=False))

    async def _sync_missing(self, ids: Sequence[str]) -> None:
        """Trash the notes of missing files, after a search for moved files among the new ones."""
        await self.sync_paths(await find_new_files(self._context))
        await self._trash_missing(ids, deletions=False)

    async def _log_errors(self, work: Awaitable[object]) -> None:
        """Log an error instead of raising it: the next round tries again, and only time is lost."""
        try:
            await work
        except (VaultUnavailable, StoreError) as error:
            _log.warning("the notes cannot be synchronized", extra={"fields": {"error": str(error)}})
            await asyncio.sleep(_RETRY_SECONDS)
        except ScrubjayError as error:
            _log.warning("a note cannot be synchronized", extra={"fields": {"error": str(error)}})


def _pop_due(times: dict[str, float]) -> list[str]:
    """Remove and return the ids whose time has come."""
    now = asyncio.get_running_loop().time()
    due = [id_ for id_, time in times.items() if time <= now]
    for id_ in due:
        del times[id_]
    return due


@asynccontextmanager
async def open_vault(
    engine: Engine,
    *,
    folder: Path,
    ledger: Path,
    space: str,
    home: str = "",
    adopt: bool = False,
    attachments: Attachments | None = None,
    naming: str = "auto",
    key: str = "",
) -> AsyncGenerator[Vault]:
    """Open a vault, and create its folder if it is missing. `ledger` is the path of the ledger, which can be deleted.

    With a `key`, the ledger is encrypted; the notes are not, since people and their editors read them.

    The notes of another store are taken over if that store had the same `home`, or on `adopt`; both sides are then
    compared completely.
    """
    opened, store_id = Folder(folder), engine.reader.store_id
    vault_id = await asyncio.to_thread(opened.open, store_id=store_id, space=space, home=home, adopt=adopt)
    lock = opened.lock
    await asyncio.to_thread(lock.acquire, exclusive=True)
    try:
        owner = f"{store_id} {vault_id} {opened.root}"
        context = SyncContext(
            engine=engine, folder=opened, space=space, naming=naming,
            ledger=await asyncio.to_thread(Ledger.open, ledger, writable=lock.held, owner=owner, key=key),
            attachments=attachments or Attachments(engine, root=opened.root, space=space),
        )  # fmt: skip
        try:
            if lock.held:
                await context.run_blocking(opened.sweep)
            yield Vault(context, lock=lock)
        finally:
            if context.attachments is not None:
                await context.attachments.close()
            await context.run_blocking(context.ledger.close)
            context.executor.shutdown()
    finally:
        lock.release()
