"""Each note brought in step, whichever side has changed: the one place where it is decided and done."""

import asyncio
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace

from scrubjay.errors import (
    BodyDamaged,
    FileChanged,
    NameTaken,
    ScrubjayError,
    StaleVersion,
    StoreError,
    VaultUnavailable,
)
from scrubjay.model.draft import Edit, Selection
from scrubjay.model.memory import MAIN, State
from scrubjay.notes.files.ledger import LedgerEntry
from scrubjay.notes.markdown.naming import link_target
from scrubjay.notes.sync.conflicts import settle_up
from scrubjay.notes.sync.context import Glance, Opened, SyncContext, has_file, last_path
from scrubjay.notes.sync.dirty import mark, marks_of, put, put_away
from scrubjay.notes.sync.from_files import Intake
from scrubjay.notes.sync.links import Links
from scrubjay.notes.sync.mapping import FILE
from scrubjay.notes.sync.prefetch import Ahead
from scrubjay.notes.sync.reconcile import File, Kept, Step, decide
from scrubjay.notes.sync.state import NoteState, is_note, note_states
from scrubjay.notes.sync.to_files import Mirror

__all__ = ["PendingWork", "Reconciler"]

# Somebody may be faster again and again; what is left is looked at a while later.
_TRIES = 10
_AT_ONCE = 16
_SEVERAL = 4
_PAGE = 100

_LEAVING = (Step.TRASH, Step.REMOVE, Step.RESCUE, Step.DROP)

_Fresh = tuple[Opened, str]
"""A file that is to become a memory, and the id that this may have."""


@dataclass(slots=True, kw_only=True)
class PendingWork:
    """What is left to do: notes whose files are missing, or written to by others now, and who else is to be seen."""

    missing: set[str] = field(default_factory=set[str])
    busy: set[str] = field(default_factory=set[str])
    others: set[str] = field(default_factory=set[str])
    paths: set[str] = field(default_factory=set[str])

    def add(self, further: "PendingWork") -> None:
        """Leave also what another look has left for later."""
        self.missing |= further.missing
        self.busy |= further.busy


@dataclass(frozen=True, slots=True, kw_only=True)
class _How:
    """How notes are looked at, see `Tending.tend`."""

    trash: bool
    deep: bool
    takes: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class _Sight:
    """A path: the file that is there or what keeps it from being read, and what was agreed on about it."""

    path: str
    opened: Opened | ScrubjayError | None
    rows: tuple[LedgerEntry, ...] = ()


class Reconciler:
    """Brings the notes of one vault in step. One call at a time."""

    def __init__(self, context: SyncContext) -> None:
        self._context = context
        self._links = Links(context)
        self._mirror = Mirror(context)
        self._intake = Intake(context, links=self._links, mirror=self._mirror)

    async def tend(
        self, ids: Iterable[str], *, trash: bool = False, deep: bool = False, takes: bool = True
    ) -> PendingWork:
        """Bring some notes in step, and those that link them; `trash`: what has no file any more was deleted.

        Without `takes` what changed in files alone is left to whoever watches them, who waits until it is whole.
        """
        left = PendingWork()
        looks = Counter[str]()
        how = _How(trash=trash, deep=deep, takes=takes)
        waiting = list(dict.fromkeys(ids))
        while waiting:
            for start in range(0, len(waiting), _PAGE):
                await self._page(waiting[start : start + _PAGE], left, how)
            looks.update(waiting)
            # Also who was looked at before something that it links was called otherwise.
            waiting = sorted(other for other in left.others if looks[other] < _TRIES)
            left.others.clear()
            if left.paths:
                paths, left.paths = left.paths, set()
                left.add(await self.attend(paths))
        return left

    async def attend(self, paths: Iterable[str], *, alone: bool = False) -> PendingWork:
        """Look at files that may have changed, come or gone; `alone`: whoever links them is looked at later."""
        left = PendingWork()
        ids: list[str] = []
        fresh: list[_Fresh] = []
        displaced: list[str] = []
        for sight in await self._context.do(self._read_all, list(dict.fromkeys(paths))):
            try:
                found = await self._sorted(sight, left)
            except (VaultUnavailable, StoreError):
                raise
            except ScrubjayError as error:
                await self._context.problem(sight.path, str(error))
                continue
            if isinstance(found, tuple):
                fresh.append(found)
                # Another note may have been there.
                displaced += [row.memory_id for row in sight.rows]
            else:
                ids += found
                displaced += [row.memory_id for row in sight.rows if row.memory_id not in found]
        changed = await self._taken_in(fresh)
        left.add(await self.tend(ids, deep=True))
        left.add(await self.tend(displaced))
        if not alone:
            left.add(await self.tend({*changed, *left.others}.difference(ids)))
        left.others.clear()
        return left

    async def welcome(self) -> PendingWork:
        """Link what came to be while nobody looked with all that wanted it."""
        return await self.tend(await self._links.welcome_all())

    async def _page(self, ids: Sequence[str], left: PendingWork, how: _How) -> None:
        """Bring some notes in step, of which it is asked at once where they stand."""
        ahead = Ahead(self._context)
        idle = set[str]()
        if len(ids) >= _SEVERAL:
            found = await ahead.look(ids)
            idle = idle if how.deep else await self._idle(found.values())
        for id_ in ids:
            if id_ in idle and id_ not in left.others:
                continue
            left.others.discard(id_)
            await self._guarded(id_, left, how, ahead)

    async def _idle(self, found: Iterable[NoteState]) -> set[str]:
        """Those of some notes of which nothing has changed: so many are looked at that most are."""
        same = [one for one in found if one.agreed and has_file(one.agreed) and one.kept is Kept.SAME]
        return await self._context.do(self._unchanged, same) if same else set()

    def _unchanged(self, some: Iterable[NoteState]) -> set[str]:
        look = self._context.folder.look
        return {one.id for one in some if look(one.known.path) == one.known.seen}

    async def _guarded(self, memory_id: str, left: PendingWork, how: _How, ahead: Ahead) -> None:
        """Bring one note in step; what is wrong with it is noted, and holds up no other."""
        path, why = memory_id, "it is being changed too fast"
        for _ in range(_TRIES):
            try:
                state = await ahead.state(memory_id)
            except BodyDamaged as error:
                await self._context.problem(path, str(error))
                return
            path = last_path(state.agreed) if state.agreed else memory_id
            try:
                await self._one(state, left, how)
            except (FileChanged, StaleVersion, NameTaken) as error:
                how = replace(how, deep=True)
                if state.agreed is None and state.memory is not None and is_note(state.memory):
                    # There is a file where ours would be: it may be ours.
                    left.paths.add(state.path)
                    return
                if error.fields.get("busy"):
                    why = str(error)
                    break
                continue
            except (VaultUnavailable, StoreError):
                raise
            except ScrubjayError as error:
                await self._context.problem(path, str(error))
            return
        left.busy.add(memory_id)
        await self._context.problem(path, why)

    async def _one(self, state: NoteState, left: PendingWork, how: _How) -> None:
        if state.agreed and state.record and await self._links.retarget(state.record, marks_of(state.agreed)):
            state = (await note_states([state.id], context=self._context))[state.id]
        glance = Glance(file=File.MISSING)
        if state.agreed is not None and has_file(state.agreed):
            # What is to be written is read first.
            reads = how.deep or state.kept in (Kept.CHANGED, Kept.RELABELLED)
            glance = await self._context.do(self._context.glance, state.agreed, deep=reads)
        if glance.file is File.CHANGED and glance.opened is not None and glance.opened.own not in ("", state.id):
            # Another note is where this one was.
            left.paths.add(state.known.path)
            state = replace(state, agreed=await self._context.do(put_away, state.known, context=self._context))
            glance = Glance(file=File.MISSING)
        step = decide(agreed=state.agreed is not None, file=glance.file, kept=state.kept)
        if state.agreed and state.memory and state.agreed.branch not in (MAIN, state.branch):
            await settle_up(state.memory, state.agreed.branch, store=self._context.store)
        await self._do(step, state, glance, left, how)
        after = self._mirror.written(state)
        if step is not Step.NOTHING:
            await self._tell_others(state, after, left)
            # One that was away already, or may be back in a moment, is no news to anybody.
            is_told = after == state.agreed and (step is Step.DROP or (step is Step.TRASH and not how.trash))
            left.others |= set(state.neighbours if step in _LEAVING and not is_told else ())

    async def _do(self, step: Step, state: NoteState, glance: Glance, left: PendingWork, how: _How) -> None:
        match step:
            case Step.NOTHING:
                if glance.opened is not None:
                    await self._mirror.note(state, glance.opened)
            case Step.TAKE if not how.takes:
                pass
            case Step.WRITE if glance.file is File.MISSING and _had_file(state) and not how.trash:
                # It may have been moved, and is found in a moment: there must not be two of it.
                left.missing.add(state.id)
            case Step.WRITE:
                await self._write(state, glance)
            case Step.TAKE | Step.JOIN if glance.opened is not None:
                await self._intake.join(state, glance.opened)
            case Step.TRASH:
                if not how.trash:
                    left.missing.add(state.id)
                else:
                    await self._trash(state)
            case Step.REMOVE:
                await self._mirror.take_away(state, glance.opened)
            case Step.RESCUE if glance.opened is not None:
                await self._rescue(state, glance.opened, left)
            case Step.CREATE:
                await self._context.do(self._context.ledger.drop, state.id)
                left.paths.add(state.known.path)
            case Step.DROP:
                await self._mirror.let_go(state)
            case _:  # pragma: no cover - files that nobody knows of are not looked for by their memories
                raise AssertionError(step)

    async def _write(self, state: NoteState, glance: Glance) -> None:
        opened = glance.opened
        if glance.file is File.SAME and opened is None:
            opened = await self._context.do(self._context.read, state.known.path)
            if opened is None or opened.digest != state.known.digest:
                raise FileChanged("it was changed meanwhile", path=state.known.path)
        try:
            await self._intake.show(state, opened)
        except FileChanged:
            if state.agreed is None or state.agreed.named_by_us or opened is not None:
                raise
            # Another file has the name that it had.
            await self._intake.show(replace(state, agreed=replace(state.agreed, named_by_us=True)), None)

    async def _rescue(self, state: NoteState, opened: Opened, left: PendingWork) -> None:
        if state.own.state in (State.TRASHED, State.ARCHIVED):
            await self._intake.rescue(state, opened)
            return
        # It became part of another: what was written since is a note of its own.
        await self._context.do(self._context.ledger.drop, state.id)
        left.paths.add(state.known.path)

    async def _trash(self, state: NoteState) -> None:
        """The file was deleted. Of a note that file and store see differently, only what the file said goes."""
        engine, path = self._context.engine, last_path(state.known)
        if state.branch != MAIN:
            await engine.drop_branch(state.id, state.branch, who=self._context.who())
            raise StaleVersion(f"{path} was deleted", hint="Look again")
        reason = f"its file {path} was deleted"[:500]
        await engine.forget(Selection(refs=(state.id,), reason=reason), who=self._context.who())
        self._context.tally["trashed"] += 1
        await self._mirror.let_go((await note_states([state.id], context=self._context))[state.id])

    async def _sorted(self, sight: _Sight, left: PendingWork) -> list[str] | _Fresh:
        """The memories that a path is about, or a file that is to become one, with the id that it may have."""
        opened = sight.opened
        if isinstance(opened, ScrubjayError):
            raise opened
        if opened is None:
            return [row.memory_id for row in sight.rows]
        own = opened.own
        if sight.rows and own in ("", sight.rows[0].memory_id):
            return [sight.rows[0].memory_id]
        claimed = await self._claimed(opened, left) if own else None
        if claimed is not None:
            return claimed
        is_free = own and not await self._context.store.get(self._context.space, [own])
        return opened, own if is_free else ""

    def _read_all(self, paths: Sequence[str]) -> list[_Sight]:
        """Files with what was agreed on about them; of folders that are gone, about all that was in them."""
        ledger, found = self._context.ledger, list[_Sight]()
        rows = ledger.at_many(paths)
        for path in paths:
            try:
                opened = self._context.read(path) if path.casefold().endswith(".md") else None
            except VaultUnavailable:
                raise
            except ScrubjayError as error:
                found.append(_Sight(path=path, opened=error))
                continue
            own = [rows[path]] if path in rows else []
            if opened is None:
                ledger.no_problem(path)
                own += ledger.under(path)
            found.append(_Sight(path=path, opened=opened, rows=tuple(own)))
        return found

    async def _claimed(self, opened: Opened, left: PendingWork) -> list[str] | None:
        """What the id in a file's frontmatter leads to; None where the file is a note of its own."""
        own, path = opened.own, opened.path
        state = (await note_states([own], context=self._context))[own]
        if state.memory is None or state.memory.trunk:
            return None
        agreed = state.agreed
        if agreed is not None and has_file(agreed) and is_note(state.memory):
            if await self._context.do(self._is_there, agreed, opened):
                # A copy.
                return None
            await self._context.do(self._follow, state, opened)
            self._context.tally["moved"] += 1
            await self._renamed(state, path)
            await self._tell_others(state, replace(agreed, path=path), left)
            return [own]
        step = decide(agreed=False, file=File.CHANGED, kept=state.kept)
        if step is Step.RESTORE and state.memory.state in (State.TRASHED, State.ARCHIVED):
            await self._context.engine.restore(
                Selection(refs=(own,), reason=f"{path} is back"), who=self._context.who()
            )
            state = (await note_states([own], context=self._context))[own]
        if state.memory is None or not is_note(state.memory):
            return None
        if state.agreed is not None and state.neighbours:
            await self._context.do(mark, state.agreed, state.neighbours, context=self._context)
        await self._intake.adopt(state, opened)
        await self._tell_others(state, self._mirror.written(state), left)
        return [own]

    async def _renamed(self, state: NoteState, path: str) -> None:
        """A title that was the file's name goes with it."""
        old, new = (link_target(one).rpartition("/")[2] for one in (state.known.path, path))
        if old != new and state.shown.title == old and not state.known.named_by_us:
            edit = Edit(fields={"title": new}, message=f"renamed to {path}"[:500], branch=state.branch, source=FILE)
            await self._context.engine.revise(state.id, edit, who=self._context.who())

    async def _taken_in(self, fresh: Sequence[_Fresh]) -> list[str]:
        """Make memories of new files, several at once so that they are embedded together; tells whom to look at."""
        gate = asyncio.Semaphore(_AT_ONCE)

        async def make(opened: Opened, known_as: str) -> tuple[str, Opened] | None:
            async with gate:
                try:
                    made = await self._intake.create(opened, known_as=known_as)
                except (VaultUnavailable, StoreError):
                    raise
                except ScrubjayError as error:
                    await self._context.problem(opened.path, str(error))
                    return None
                return (made, opened) if made else None

        async def complete(memory_id: str, opened: Opened) -> None:
            async with gate:
                try:
                    await self._intake.complete(memory_id, opened)
                except (FileChanged, StaleVersion):
                    changed.append(memory_id)
                except (VaultUnavailable, StoreError):
                    raise
                except ScrubjayError as error:
                    await self._context.problem(opened.path, str(error))

        changed: list[str] = []
        # Of two with one id the first has it.
        named = {known_as: opened.path for opened, known_as in reversed(fresh)}
        wishes = [(opened, known_as if named[known_as] == opened.path else "") for opened, known_as in fresh]
        taken = [one for one in await asyncio.gather(*(make(*wish) for wish in wishes)) if one is not None]
        # All are there before the first is completed: they may link each other.
        await asyncio.gather(*(complete(*one) for one in taken))
        made = await self._context.store.get(self._context.space, [one for one, _ in taken]) if taken else {}
        for memory_id, opened in taken:
            if memory_id in made:
                changed += [memory_id, *await self._links.welcome(made[memory_id], opened.path)]
        return changed

    async def _tell_others(self, state: NoteState, after: LedgerEntry | None, left: PendingWork) -> None:
        """Who links a note that is called otherwise now, is gone or has come back, is looked at next."""
        before = state.agreed
        was, now = (one if one is not None and has_file(one) else None for one in (before, after))
        if (was and (was.path, was.title, was.aliases)) == (now and (now.path, now.title, now.aliases)):
            return
        left.others |= set(state.neighbours)
        if now is not None and state.memory is not None:
            # Whoever has waited for a note of this name.
            left.others |= set(await self._links.welcome(state.memory, now.path))

    def _is_there(self, agreed: LedgerEntry, other: Opened) -> bool:
        """Whether a note's file is where it was agreed on to be, and is another than one that was found elsewhere."""
        seen = self._context.folder.look(agreed.path)
        # Where case does not count, a file is found under its former name, too.
        if seen is None or (seen.inode == other.seen.inode and not self._context.folder.is_spelled(agreed.path)):
            return False
        return self._context.owner(agreed.path) in ("", agreed.memory_id)

    def _follow(self, state: NoteState, opened: Opened) -> None:
        """Write down that a note's file was moved: by its author, unless somebody was cut off who gave it its name."""
        own = replace(state, agreed=None).path
        moved = replace(state.known, path=opened.path, named_by_us=state.known.named_by_us and opened.path == own)
        put(moved, before=state.known, neighbours=state.neighbours, context=self._context)


def _had_file(state: NoteState) -> bool:
    return state.agreed is not None and has_file(state.agreed)
