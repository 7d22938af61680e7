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
from scrubjay.model.draft import Edit
from scrubjay.model.memory import MAIN, State
from scrubjay.model.selection import Selection
from scrubjay.notes.disk.ledger import Agreed
from scrubjay.notes.page.naming import link_target
from scrubjay.notes.syncing.ahead import Ahead
from scrubjay.notes.syncing.clashing import settle_up
from scrubjay.notes.syncing.hands import Glance, Hands, Opened, has_file, last_path
from scrubjay.notes.syncing.intake import Intake
from scrubjay.notes.syncing.linking import Links
from scrubjay.notes.syncing.marking import mark, marks_of, put, put_away
from scrubjay.notes.syncing.mirror import Mirror
from scrubjay.notes.syncing.reconcile import File, Kept, Step, decide
from scrubjay.notes.syncing.sheet import FILE
from scrubjay.notes.syncing.standing import Stance, is_note, stances

__all__ = ["Tended", "Tending"]

# Somebody may be faster again and again; what is left is looked at a while later.
_TRIES = 10
_AT_ONCE = 16
_SEVERAL = 4
_PAGE = 100

_LEAVING = (Step.TRASH, Step.REMOVE, Step.RESCUE, Step.DROP)

_Fresh = tuple[Opened, str]
"""A file that is to become a memory, and the id that this may have."""


@dataclass(slots=True, kw_only=True)
class Tended:
    """What is left to do: notes whose files are missing, or written to by others now, and who else is to be seen."""

    missing: set[str] = field(default_factory=set[str])
    busy: set[str] = field(default_factory=set[str])
    others: set[str] = field(default_factory=set[str])
    paths: set[str] = field(default_factory=set[str])

    def add(self, further: "Tended") -> None:
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
    rows: tuple[Agreed, ...] = ()


class Tending:
    """Brings the notes of one vault in step. One call at a time."""

    def __init__(self, hands: Hands) -> None:
        self._hands = hands
        self._links = Links(hands)
        self._mirror = Mirror(hands)
        self._intake = Intake(hands, links=self._links, mirror=self._mirror)

    async def tend(self, ids: Iterable[str], *, trash: bool = False, deep: bool = False, takes: bool = True) -> Tended:
        """Bring some notes in step, and those that link them; `trash`: what has no file any more was deleted.

        Without `takes` what changed in files alone is left to whoever watches them, who waits until it is whole.
        """
        left = Tended()
        looks = Counter[str]()
        how = _How(trash=trash, deep=deep, takes=takes)
        waiting = list(dict.fromkeys(ids))
        while waiting:
            for start in range(0, len(waiting), _PAGE):
                await self._page(waiting[start : start + _PAGE], left, how)
            looks.update(waiting)
            # Also who was looked at before something that it links was called otherwise.
            waiting = sorted(one for one in left.others if looks[one] < _TRIES)
            left.others.clear()
            if left.paths:
                paths, left.paths = left.paths, set()
                left.add(await self.attend(paths))
        return left

    async def attend(self, paths: Iterable[str], *, alone: bool = False) -> Tended:
        """Look at files that may have changed, come or gone; `alone`: whoever links them is looked at later."""
        left = Tended()
        ids: list[str] = []
        fresh: list[_Fresh] = []
        displaced: list[str] = []
        for sight in await self._hands.do(self._read_all, list(dict.fromkeys(paths))):
            try:
                found = await self._sorted(sight, left)
            except (VaultUnavailable, StoreError):
                raise
            except ScrubjayError as error:
                await self._hands.problem(sight.path, str(error))
                continue
            if isinstance(found, tuple):
                fresh.append(found)
                # Another note may have been there.
                displaced += [one.memory_id for one in sight.rows]
            else:
                ids += found
                displaced += [one.memory_id for one in sight.rows if one.memory_id not in found]
        changed = await self._taken_in(fresh)
        left.add(await self.tend(ids, deep=True))
        left.add(await self.tend(displaced))
        if not alone:
            left.add(await self.tend({*changed, *left.others}.difference(ids)))
        left.others.clear()
        return left

    async def welcome(self) -> Tended:
        """Link what came to be while nobody looked with all that wanted it."""
        return await self.tend(await self._links.welcome_all())

    async def _page(self, ids: Sequence[str], left: Tended, how: _How) -> None:
        """Bring some notes in step, of which it is asked at once where they stand."""
        ahead = Ahead(self._hands)
        idle = set[str]()
        if len(ids) >= _SEVERAL:
            found = await ahead.look(ids)
            idle = idle if how.deep else await self._idle(found.values())
        for one in ids:
            if one in idle and one not in left.others:
                continue
            left.others.discard(one)
            await self._guarded(one, left, how, ahead)

    async def _idle(self, found: Iterable[Stance]) -> set[str]:
        """Those of some notes of which nothing has changed: so many are looked at that most are."""
        same = [one for one in found if one.agreed and has_file(one.agreed) and one.kept is Kept.SAME]
        return await self._hands.do(self._unchanged, same) if same else set()

    def _unchanged(self, some: Iterable[Stance]) -> set[str]:
        look = self._hands.folder.look
        return {one.id for one in some if look(one.known.path) == one.known.seen}

    async def _guarded(self, memory_id: str, left: Tended, how: _How, ahead: Ahead) -> None:
        """Bring one note in step; what is wrong with it is noted, and holds up no other."""
        path, why = memory_id, "it is being changed too fast"
        for _ in range(_TRIES):
            try:
                stance = await ahead.stance(memory_id)
            except BodyDamaged as error:
                await self._hands.problem(path, str(error))
                return
            path = last_path(stance.agreed) if stance.agreed else memory_id
            try:
                await self._one(stance, left, how)
            except (FileChanged, StaleVersion, NameTaken) as error:
                how = replace(how, deep=True)
                if stance.agreed is None and stance.memory is not None and is_note(stance.memory):
                    # There is a file where ours would be: it may be ours.
                    left.paths.add(stance.path)
                    return
                if error.fields.get("busy"):
                    why = str(error)
                    break
                continue
            except (VaultUnavailable, StoreError):
                raise
            except ScrubjayError as error:
                await self._hands.problem(path, str(error))
            return
        left.busy.add(memory_id)
        await self._hands.problem(path, why)

    async def _one(self, stance: Stance, left: Tended, how: _How) -> None:
        if stance.agreed and stance.record and await self._links.retarget(stance.record, marks_of(stance.agreed)):
            stance = (await stances([stance.id], hands=self._hands))[stance.id]
        glance = Glance(file=File.MISSING)
        if stance.agreed is not None and has_file(stance.agreed):
            # What is to be written is read first.
            reads = how.deep or stance.kept in (Kept.CHANGED, Kept.RELABELLED)
            glance = await self._hands.do(self._hands.glance, stance.agreed, deep=reads)
        if glance.file is File.CHANGED and glance.opened is not None and glance.opened.own not in ("", stance.id):
            # Another note is where this one was.
            left.paths.add(stance.known.path)
            stance = replace(stance, agreed=await self._hands.do(put_away, stance.known, hands=self._hands))
            glance = Glance(file=File.MISSING)
        step = decide(agreed=stance.agreed is not None, file=glance.file, kept=stance.kept)
        if stance.agreed and stance.memory and stance.agreed.branch not in (MAIN, stance.branch):
            await settle_up(stance.memory, stance.agreed.branch, store=self._hands.store)
        await self._do(step, stance, glance, left, how)
        after = self._mirror.written(stance)
        if step is not Step.NOTHING:
            await self._tell_others(stance, after, left)
            # One that was away already, or may be back in a moment, is no news to anybody.
            is_told = after == stance.agreed and (step is Step.DROP or (step is Step.TRASH and not how.trash))
            left.others |= set(stance.neighbours if step in _LEAVING and not is_told else ())

    async def _do(self, step: Step, stance: Stance, glance: Glance, left: Tended, how: _How) -> None:
        match step:
            case Step.NOTHING:
                if glance.opened is not None:
                    await self._mirror.note(stance, glance.opened)
            case Step.TAKE if not how.takes:
                pass
            case Step.WRITE if glance.file is File.MISSING and _had_file(stance) and not how.trash:
                # It may have been moved, and is found in a moment: there must not be two of it.
                left.missing.add(stance.id)
            case Step.WRITE:
                await self._write(stance, glance)
            case Step.TAKE | Step.JOIN if glance.opened is not None:
                await self._intake.join(stance, glance.opened)
            case Step.TRASH:
                if not how.trash:
                    left.missing.add(stance.id)
                else:
                    await self._trash(stance)
            case Step.REMOVE:
                await self._mirror.take_away(stance, glance.opened)
            case Step.RESCUE if glance.opened is not None:
                await self._rescue(stance, glance.opened, left)
            case Step.CREATE:
                await self._hands.do(self._hands.ledger.drop, stance.id)
                left.paths.add(stance.known.path)
            case Step.DROP:
                await self._mirror.let_go(stance)
            case _:  # pragma: no cover - files that nobody knows of are not looked for by their memories
                raise AssertionError(step)

    async def _write(self, stance: Stance, glance: Glance) -> None:
        opened = glance.opened
        if glance.file is File.SAME and opened is None:
            opened = await self._hands.do(self._hands.read, stance.known.path)
            if opened is None or opened.digest != stance.known.digest:
                raise FileChanged("it was changed meanwhile", path=stance.known.path)
        try:
            await self._intake.show(stance, opened)
        except FileChanged:
            if stance.agreed is None or stance.agreed.named_by_us or opened is not None:
                raise
            # Another file has the name that it had.
            await self._intake.show(replace(stance, agreed=replace(stance.agreed, named_by_us=True)), None)

    async def _rescue(self, stance: Stance, opened: Opened, left: Tended) -> None:
        if stance.own.state in (State.TRASHED, State.ARCHIVED):
            await self._intake.rescue(stance, opened)
            return
        # It became part of another: what was written since is a note of its own.
        await self._hands.do(self._hands.ledger.drop, stance.id)
        left.paths.add(stance.known.path)

    async def _trash(self, stance: Stance) -> None:
        """The file was deleted. Of a note that file and store see differently, only what the file said goes."""
        engine, path = self._hands.engine, last_path(stance.known)
        if stance.branch != MAIN:
            await engine.drop_branch(stance.id, stance.branch, who=self._hands.who())
            raise StaleVersion(f"{path} was deleted", hint="Look again")
        reason = f"its file {path} was deleted"[:500]
        await engine.forget(Selection(refs=(stance.id,), reason=reason), who=self._hands.who())
        self._hands.tally["trashed"] += 1
        await self._mirror.let_go((await stances([stance.id], hands=self._hands))[stance.id])

    async def _sorted(self, sight: _Sight, left: Tended) -> list[str] | _Fresh:
        """The memories that a path is about, or a file that is to become one, with the id that it may have."""
        opened = sight.opened
        if isinstance(opened, ScrubjayError):
            raise opened
        if opened is None:
            return [one.memory_id for one in sight.rows]
        own = opened.own
        if sight.rows and own in ("", sight.rows[0].memory_id):
            return [sight.rows[0].memory_id]
        claimed = await self._claimed(opened, left) if own else None
        if claimed is not None:
            return claimed
        is_free = own and not await self._hands.store.get(self._hands.space, [own])
        return opened, own if is_free else ""

    def _read_all(self, paths: Sequence[str]) -> list[_Sight]:
        """Files with what was agreed on about them; of folders that are gone, about all that was in them."""
        ledger, found = self._hands.ledger, list[_Sight]()
        rows = ledger.at_many(paths)
        for path in paths:
            try:
                opened = self._hands.read(path) if path.casefold().endswith(".md") else None
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

    async def _claimed(self, opened: Opened, left: Tended) -> list[str] | None:
        """What the id in a file's frontmatter leads to; None where the file is a note of its own."""
        own, path = opened.own, opened.path
        stance = (await stances([own], hands=self._hands))[own]
        if stance.memory is None or stance.memory.trunk:
            return None
        agreed = stance.agreed
        if agreed is not None and has_file(agreed) and is_note(stance.memory):
            if await self._hands.do(self._is_there, agreed, opened):
                # A copy.
                return None
            await self._hands.do(self._follow, stance, opened)
            self._hands.tally["moved"] += 1
            await self._renamed(stance, path)
            await self._tell_others(stance, replace(agreed, path=path), left)
            return [own]
        step = decide(agreed=False, file=File.CHANGED, kept=stance.kept)
        if step is Step.RESTORE and stance.memory.state in (State.TRASHED, State.ARCHIVED):
            await self._hands.engine.restore(Selection(refs=(own,), reason=f"{path} is back"), who=self._hands.who())
            stance = (await stances([own], hands=self._hands))[own]
        if stance.memory is None or not is_note(stance.memory):
            return None
        if stance.agreed is not None and stance.neighbours:
            await self._hands.do(mark, stance.agreed, stance.neighbours, hands=self._hands)
        await self._intake.adopt(stance, opened)
        await self._tell_others(stance, self._mirror.written(stance), left)
        return [own]

    async def _renamed(self, stance: Stance, path: str) -> None:
        """A title that was the file's name goes with it."""
        old, new = (link_target(one).rpartition("/")[2] for one in (stance.known.path, path))
        if old != new and stance.shown.title == old and not stance.known.named_by_us:
            edit = Edit(fields={"title": new}, message=f"renamed to {path}"[:500], branch=stance.branch, source=FILE)
            await self._hands.engine.revise(stance.id, edit, who=self._hands.who())

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
                    await self._hands.problem(opened.path, str(error))
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
                    await self._hands.problem(opened.path, str(error))

        changed: list[str] = []
        # Of two with one id the first has it.
        named = {known_as: opened.path for opened, known_as in reversed(fresh)}
        wishes = [(opened, known_as if named[known_as] == opened.path else "") for opened, known_as in fresh]
        taken = [one for one in await asyncio.gather(*(make(*one) for one in wishes)) if one is not None]
        # All are there before the first is completed: they may link each other.
        await asyncio.gather(*(complete(*one) for one in taken))
        made = await self._hands.store.get(self._hands.space, [one for one, _ in taken]) if taken else {}
        for memory_id, opened in taken:
            if memory_id in made:
                changed += [memory_id, *await self._links.welcome(made[memory_id], opened.path)]
        return changed

    async def _tell_others(self, stance: Stance, after: Agreed | None, left: Tended) -> None:
        """Who links a note that is called otherwise now, is gone or has come back, is looked at next."""
        before = stance.agreed
        was, now = (one if one is not None and has_file(one) else None for one in (before, after))
        if (was and (was.path, was.title, was.aliases)) == (now and (now.path, now.title, now.aliases)):
            return
        left.others |= set(stance.neighbours)
        if now is not None and stance.memory is not None:
            # Whoever has waited for a note of this name.
            left.others |= set(await self._links.welcome(stance.memory, now.path))

    def _is_there(self, agreed: Agreed, other: Opened) -> bool:
        """Whether a note's file is where it was agreed on to be, and is another than one that was found elsewhere."""
        seen = self._hands.folder.look(agreed.path)
        # Where case does not count, a file is found under its former name, too.
        if seen is None or (seen.inode == other.seen.inode and not self._hands.folder.is_spelled(agreed.path)):
            return False
        return self._hands.owner(agreed.path) in ("", agreed.memory_id)

    def _follow(self, stance: Stance, opened: Opened) -> None:
        """Write down that a note's file was moved: by its author, unless somebody was cut off who gave it its name."""
        own = replace(stance, agreed=None).path
        moved = replace(stance.known, path=opened.path, named_by_us=stance.known.named_by_us and opened.path == own)
        put(moved, before=stance.known, neighbours=stance.neighbours, hands=self._hands)


def _had_file(stance: Stance) -> bool:
    return stance.agreed is not None and has_file(stance.agreed)
