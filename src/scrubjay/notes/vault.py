"""The vault: one folder of notes that is kept in step with one space of a store."""

import asyncio
import logging
from collections import Counter
from collections.abc import AsyncGenerator, Awaitable, Iterable, Mapping, Sequence
from contextlib import AsyncExitStack, asynccontextmanager, suppress
from pathlib import Path

from scrubjay.engine import Engine
from scrubjay.errors import ScrubjayError, StoreError, VaultUnavailable
from scrubjay.locking import FileLock
from scrubjay.model.change import Action, Change
from scrubjay.notes.attachments.service import Attachments
from scrubjay.notes.files.folder import ATTACHMENTS, TEMPLATES, Folder
from scrubjay.notes.files.ledger import Ledger, LedgerEntry
from scrubjay.notes.files.watch import EVERYTHING, watching
from scrubjay.notes.markdown.naming import link_target
from scrubjay.notes.markdown.note import Link
from scrubjay.notes.results import NotesSynced
from scrubjay.notes.sync.context import SyncContext, has_file
from scrubjay.notes.sync.reconciler import PendingWork, Reconciler
from scrubjay.notes.sync.scan import VANISHED, drift_of, look_through, missing_too_many, newcomers, unsettled, unwritten
from scrubjay.ports import Progress
from scrubjay.ports.cluster import ClusterStore, settled_position

__all__ = ["Vault", "open_vault"]

_log = logging.getLogger(__name__)
_PAGE = 500
_PAGES = 20
# So many notes are brought in step before others get their turn.
_CHUNK = 64
# An editor that saves by renaming has no file for a moment.
_GRACE = 1.0
# A program may keep a file open for as long as it runs.
_BUSY = 2.0
# Somebody else may write to the store; whoever writes here says so.
_LOOK = 5.0
_RETRY = 5.0
_UNSEEN = frozenset({Action.EMBEDDED})
_NO_NOTES = (TEMPLATES, ATTACHMENTS)
_TOO_MANY = (
    "{count} of {total} files have vanished at once: nothing was put into the trash. Bring them back, or confirm with "
    "`scrubjay notes sync --deletions`"
)


class Vault:
    """Keeps a folder and a space in step. Where another process does so already, `follows` is False."""

    def __init__(self, context: SyncContext, *, lock: FileLock) -> None:
        self.root = context.folder.root
        self.space = context.space
        self._context = context
        self._lock = lock
        self._tending = Reconciler(context)
        self._turn = asyncio.Lock()
        # Files that are being looked at may be those that are missed elsewhere.
        self._looking = asyncio.Lock()
        self._stir = asyncio.Event()
        self._missing: dict[str, float] = {}
        self._busy: dict[str, float] = {}
        self._misses = asyncio.Event()
        self._since = context.now
        self._first = asyncio.Lock()
        self._is_ready = False

    @property
    def follows(self) -> bool:
        """Whether it is this process that keeps both in step."""
        return self._lock.held

    @property
    def attachments(self) -> Attachments | None:
        """The files that the notes embed."""
        return self._context.attachments

    @property
    def _ledger(self) -> Ledger:
        return self._context.ledger

    async def settle(self, ids: Sequence[str]) -> None:
        """Bring the files of some memories in step now; what keeps a file from it is among the `problems`."""
        if not self.follows or not ids:
            return
        fresh = ids if self._is_ready else await self._made_since(ids)
        if len(fresh) < len(ids):
            await self._ready()
            fresh = ids
        async with self._turn:
            left = await self._tending.tend(fresh)
        self._expect(left)

    async def paths_of(self, ids: Sequence[str]) -> Mapping[str, Path]:
        """Where the files of some memories are; those without one are left out."""
        rows = await self._context.do(self._context.rows, ids)
        return {id_: self.root / rows[id_].path for id_ in ids if id_ in rows and has_file(rows[id_])}

    async def at(self, path: str) -> str:
        """The id of the note whose file is at a path within the folder, or nothing."""
        found = await self._context.do(self._ledger.at, path)
        return found.memory_id if found is not None and has_file(found) else ""

    async def count(self) -> int:
        """How many notes have a file."""
        return await self._context.do(lambda: sum(has_file(one) for one in self._ledger.all()))

    async def wanted(self) -> tuple[tuple[str, Link], ...]:
        """The links to notes that do not exist, with the ids of those who have them."""
        return tuple(await self._context.do(self._ledger.wanted))

    async def names(self) -> tuple[str, ...]:
        """What links call the files that there are: their paths, and their names."""
        targets = await self._context.do(lambda: [link_target(one.path) for one in self._ledger.all() if has_file(one)])
        return tuple(dict.fromkeys(name for target in targets for name in (target, target.rpartition("/")[2])))

    async def problems(self) -> tuple[str, ...]:
        """Files that were left alone, and why."""
        found = await self._context.do(self._ledger.problems)
        return tuple(f"{one.path}: {one.what}" for one in found)

    async def drift(self) -> tuple[str, ...]:
        """In what store and folder differ, in words, without changing anything."""
        try:
            async with self._turn:
                return await drift_of(self._context)
        except VaultUnavailable as error:
            return (str(error),)

    async def sync(self, *, progress: Progress | None = None, deletions: bool = False) -> NotesSynced:
        """Compare all that there is on both sides and bring it in step.

        `deletions`: also where most files have vanished, the memories of the missing ones go into the trash.
        """
        before = Counter(self._context.tally)
        checked = await self._caught_up(progress=progress, deletions=deletions) if self.follows else 0
        done = self._context.tally - before
        return NotesSynced(
            folder=str(self.root), checked=checked, taken=done["taken"], created=done["created"],
            written=done["written"], trashed=done["trashed"], moved=done["moved"], conflicts=done["conflicts"],
            problems=await self.problems(),
        )  # fmt: skip

    def nudge(self) -> None:
        """Something was written to the store: look at once."""
        self._stir.set()

    async def run(self) -> None:
        """Compare everything, then follow both sides until cancelled; never ends by itself.

        Where another process keeps both in step, it waits until that one ends.
        """
        while not self.follows:
            await asyncio.sleep(_RETRY)
            await self._context.do(self._take_over)
        async with AsyncExitStack() as ears, asyncio.TaskGroup() as tasks:
            if isinstance(self._context.store, ClusterStore):
                await ears.enter_async_context(self._context.store.listening(self.nudge))
            tasks.create_task(self._follow_store())
            tasks.create_task(self._follow_folder())
            tasks.create_task(self._follow_losses())

    async def _ready(self) -> None:
        """Compare both sides before anything is written where no ledger tells which files there are."""
        if self._is_ready:
            return
        async with self._first:
            if not self._is_ready and await self._is_behind(await settled_position(self._context.store)):
                await self._caught_up(waits=True)
            self._is_ready = True

    async def _is_behind(self, newest: int) -> bool:
        """Whether the ledger is new, or of a store that knew more than this one does."""
        return not 0 < await self._context.do(lambda: self._ledger.cursor) <= newest

    async def _made_since(self, ids: Sequence[str]) -> list[str]:
        """Those of some memories that are younger than this vault: no file can be theirs already."""
        found = await self._context.store.get(self.space, ids)
        return [id_ for id_ in ids if id_ in found and found[id_].created_at >= self._since]

    def _take_over(self) -> None:
        """Keep both in step from now on, if nobody else does."""
        if self._lock.acquire(exclusive=True):
            self._ledger.close()
            self._context.ledger = Ledger.open(self._ledger.path, of=self._ledger.of)
            self._context.folder.sweep()

    async def follow(self) -> None:
        """Take what is new in the change log of the store to the files."""
        while True:
            after = await self._context.do(lambda: self._ledger.cursor)
            page = await self._changes(after=after)
            if not page:
                return
            seen = [one for one in page if one.space == self.space and one.action not in _UNSEEN]
            ids = dict.fromkeys(one.memory_id for one in seen)
            edges = [one.relation for one in seen if one.relation is not None]
            ids |= dict.fromkeys(end for edge in edges for end in (edge.source, edge.target))
            await self._tend(await self._trunks(list(ids)), takes=False)
            await self._context.do(self._ledger.set_cursor, page[-1].seq)

    async def attend(self, paths: Iterable[str]) -> None:
        """Look at files that may have changed, come or gone, and at what follows from that."""
        waiting = sorted(set(paths))
        if self.attachments is not None and (files := [one for one in waiting if not one.casefold().endswith(".md")]):
            await self.attachments.appeared(files)
        waiting = [one for one in waiting if one.partition("/")[0].casefold() not in _NO_NOTES]
        for start in range(0, len(waiting), _CHUNK):
            async with self._turn:
                left = await self._tending.attend(waiting[start : start + _CHUNK])
            self._expect(left)
        await self.follow()

    async def _caught_up(
        self, *, progress: Progress | None = None, deletions: bool = False, waits: bool = False
    ) -> int:
        """Both sides compared as a whole: first the files, since whatever they say is to be kept.

        `waits`: files that are missing are given a while to come back.
        """
        start = await settled_position(self._context.store)
        is_behind = await self._is_behind(start)
        found = await look_through(self._context)
        await self._context.do(self._ledger.no_problem, *found.over)
        missing = set(found.missing)
        for number in range(0, len(found.paths), _CHUNK):
            async with self._turn:
                left = await self._tending.attend(found.paths[number : number + _CHUNK], alone=True)
            missing |= left.missing
            self._expect(PendingWork(busy=left.busy))
            if progress is not None:
                progress(min(number + _CHUNK, len(found.paths)), len(found.paths))
        if waits:
            self._expect(PendingWork(missing=missing))
        else:
            await self._lost(sorted(missing), deletions=deletions)
        for odd in found.odd:
            await self._context.problem(odd.path, odd.why)
        async with self._turn:
            await self._tending.welcome()
        await self._tend(await unsettled(self._context))
        async for ids in unwritten(self._context):
            await self._tend(ids)
        if self.attachments is not None:
            await self.attachments.follow()
        if is_behind:
            await self._tend(await self._context.do(lambda: [one.memory_id for one in self._ledger.all()]))
            await self._context.do(self._ledger.set_cursor, start)
        await self.follow()
        self._is_ready = True
        return found.checked

    async def _lost(self, ids: Sequence[str], *, deletions: bool) -> None:
        """Put memories into the trash whose files were deleted, unless so many are gone that it cannot be meant."""
        rows = await self._context.do(self._context.rows, ids)
        gone = await self._context.do(self._gone, rows)
        if not gone:
            return
        total = await self.count() + sum(not has_file(rows[one]) for one in gone)
        all_gone = len(gone)
        if len(gone) > 1 and not deletions:
            # They may come in portions.
            all_gone = max(all_gone, len((await look_through(self._context)).missing))
        if missing_too_many(all_gone, of=total) and not deletions:
            await self._context.problem(VANISHED, _TOO_MANY.format(count=all_gone, total=total))
            return
        await self._context.do(self._ledger.no_problem, VANISHED)
        await self._tend(gone, trash=True)

    def _gone(self, rows: Mapping[str, LedgerEntry]) -> list[str]:
        """Those whose files are not there; raises VaultUnavailable when the folder is not."""
        look = self._context.folder.look
        return [one for one, row in rows.items() if not has_file(row) or look(row.path) is None]

    async def _tend(self, ids: Sequence[str], *, trash: bool = False, takes: bool = True) -> None:
        for start in range(0, len(ids), _CHUNK):
            async with self._turn:
                left = await self._tending.tend(ids[start : start + _CHUNK], trash=trash, takes=takes)
            self._expect(left)

    async def _changes(self, *, after: int) -> list[Change]:
        """What is new, several pages at once: whoever is in many of them is looked at once."""
        found = page = await self._context.store.changes(after=after, limit=_PAGE)
        while len(page) == _PAGE and len(found) < _PAGES * _PAGE:
            page = await self._context.store.changes(after=page[-1].seq, limit=_PAGE)
            found = [*found, *page]
        return found

    async def _trunks(self, ids: Sequence[str]) -> list[str]:
        """The memories themselves: what happened to a branch happened to its memory."""
        found = await self._context.store.get(self.space, ids) if ids else {}
        return list(dict.fromkeys(found[id_].trunk or id_ if id_ in found else id_ for id_ in ids))

    def _expect(self, left: PendingWork) -> None:
        """Look again after a while at notes whose files are missing, or that somebody else writes to."""
        now = asyncio.get_running_loop().time()
        for one in left.missing:
            self._missing.setdefault(one, now + _GRACE)
        for one in left.busy:
            self._busy.setdefault(one, now + _BUSY)
        if left.missing or left.busy:
            self._misses.set()

    async def _follow_store(self) -> None:
        while True:
            with suppress(TimeoutError):
                async with asyncio.timeout(_LOOK):
                    await self._stir.wait()
            self._stir.clear()
            await self._endured(self._ready())
            await self._endured(self.follow())

    async def _follow_folder(self) -> None:
        async for paths in watching(self.root):
            async with self._looking:
                await self._endured(self._caught_up_again() if EVERYTHING in paths else self.attend(paths))

    async def _caught_up_again(self) -> None:
        async with self._first:
            await self._caught_up(waits=True)

    async def _follow_losses(self) -> None:
        while True:
            await self._misses.wait()
            await asyncio.sleep(_GRACE)
            gone, busy = _due(self._missing), _due(self._busy)
            if not self._missing and not self._busy:
                self._misses.clear()
            if gone:
                async with self._looking:
                    await self._endured(self._missed(gone))
            await self._endured(self._tend(busy, takes=False))

    async def _missed(self, ids: Sequence[str]) -> None:
        """Put away what is lost, after a look at the files that have come: what was moved is among them."""
        await self.attend(await newcomers(self._context))
        await self._lost(ids, deletions=False)

    async def _endured(self, work: Awaitable[object]) -> None:
        """What cannot be done now is done at the next look: neither side loses anything but time."""
        try:
            await work
        except (VaultUnavailable, StoreError) as error:
            _log.warning("the notes cannot be kept in step", extra={"fields": {"error": str(error)}})
            await asyncio.sleep(_RETRY)
        except ScrubjayError as error:
            _log.warning("a note cannot be kept in step", extra={"fields": {"error": str(error)}})


def _due(waiting: dict[str, float]) -> list[str]:
    """Take out what has waited long enough."""
    now = asyncio.get_running_loop().time()
    due = [one for one, at in waiting.items() if at <= now]
    for one in due:
        del waiting[one]
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
) -> AsyncGenerator[Vault]:
    """Open a vault, made where there is none. `ledger` is the file of what both sides agreed on; it can be deleted.

    The notes of another store become this one's if it was kept at the same `home`, or if `adopt` says so; everything is
    compared afresh then.
    """
    place, store_id = Folder(folder), engine.store.store_id
    own = await asyncio.to_thread(place.open, store_id=store_id, space=space, home=home, adopt=adopt)
    lock = place.lock
    await asyncio.to_thread(lock.acquire, exclusive=True)
    try:
        known = await asyncio.to_thread(Ledger.open, ledger, writes=lock.held, of=f"{store_id} {own} {place.root}")
        context = SyncContext(
            engine=engine, folder=place, ledger=known, space=space,
            attachments=attachments or Attachments(engine, root=place.root, space=space),
        )  # fmt: skip
        try:
            if lock.held:
                await context.do(place.sweep)
            yield Vault(context, lock=lock)
        finally:
            if context.attachments is not None:
                await context.attachments.close()
            await context.do(context.ledger.close)
            context.pool.shutdown()
    finally:
        lock.release()
