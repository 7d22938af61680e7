"""Which memories are told otherwise than they stand on main now, read and taken apart to be ranked."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime

from scrubjay.lookup.branches import presented
from scrubjay.lookup.references import SoundReader
from scrubjay.model.branch import normalize_branch_name
from scrubjay.model.change import Action
from scrubjay.model.memory import MAIN, Memory, State
from scrubjay.model.query import Filter, Question
from scrubjay.model.timestamps import to_iso
from scrubjay.ports import RecordStore
from scrubjay.recalling.collapse import passes
from scrubjay.recalling.overlay.as_of import as_they_were, bygone
from scrubjay.recalling.overlay.overlay import Overlay, OverlayKey, OverlayReader, Overlays
from scrubjay.recalling.overlay.passages import take_apart

# So many memories are ranked one by one rather than searched for.
FEW = 500
# So many that have changed since are read, and so many with a branch of one name.
_MOST_READ = 5_000
_AT_ONCE = 200
# After more changes than these, or such as these, what was read before is read again.
_MOST_CHANGES = 2_000
_OF_THE_PAST = frozenset({Action.PURGED, Action.IMPORTED})


async def open_reader(
    question: Question,
    *,
    space: str,
    store: RecordStore,
    now: datetime,
    asides: Overlays,
    most: int = _MOST_READ,
) -> OverlayReader:
    """Whoever reads one space as a question wants it told; no more than `most` memories otherwise than they are."""
    branch = normalize_branch_name(question.branch) if question.filter.state is State.LIVE else MAIN
    if question.as_of is None and branch in (MAIN, ""):
        return OverlayReader(store, space=space)
    # On a branch of now, what is told ends with time; what was told then does not.
    key = question.as_of and OverlayKey(space, question.as_of, branch, repr(question.filter))
    place = await store.last_place(space)
    kept = asides.get(key, place=place) if key else None
    if kept is not None:
        return OverlayReader(store, space=space, aside=kept)
    reader = OverlayReader(store, space=space)
    before = await _before(key, place=place, asides=asides, store=store) if key else _Before()
    aside = await _set_aside(question, branch, now=now, most=most, reader=reader, before=before)
    if key and not reader.problems:
        asides.put(key, aside, place=place)
    opened = OverlayReader(store, space=space, aside=aside)
    opened.problems |= reader.problems
    return opened


@dataclass(frozen=True, slots=True, kw_only=True)
class _Before:
    """What was set aside before for the same moment, and whether the same memories passed the filter."""

    aside: Overlay = field(default_factory=Overlay)
    is_same: bool = False


async def _before(key: OverlayKey, *, place: int, asides: Overlays, store: RecordStore) -> _Before:
    """What was kept and still holds: what is done after a moment does not change what was at it."""
    kept = asides.like(key)
    if kept is None:
        return _Before()
    of, then, aside = kept
    changes = await store.changes_in(key.space, after=then, limit=_MOST_CHANGES + 1) if then != place else []
    if len(changes) > _MOST_CHANGES or any(change.action in _OF_THE_PAST for change in changes):
        return _Before()
    # A clock may be behind, and a write take its time.
    late = {change.memory_id for change in changes if change.at <= key.at}
    read = {one: memory for one, memory in aside.read.items() if one not in late} if late else aside.read
    return _Before(aside=replace(aside, read=read), is_same=of == key)


async def _set_aside(
    question: Question, branch: str, *, now: datetime, most: int, reader: SoundReader, before: _Before
) -> Overlay:
    aside = Overlay()
    if question.as_of is not None:
        known = before.aside.read
        aside = await _then(question.filter, at=question.as_of, most=most, reader=reader, known=known)
    if branch not in (MAIN, ""):
        aside = await _on_branch(branch, aside, most=most, reader=reader)
    told, passed = before.aside.told, {passage.memory_id for passage in before.aside.passages}

    def is_wanted(memory: Memory) -> bool:
        if before.is_same and told.get(memory.id) is memory and memory.id in passed:
            return True
        return passes(memory, question.filter, now=now)

    there = [memory for memory in aside.told.values() if memory is not None and is_wanted(memory)]
    return await take_apart(aside, there, before=before.aside)


async def _then(
    filter: Filter, *, at: datetime, most: int, reader: SoundReader, known: Mapping[str, Memory | None]
) -> Overlay:
    """All that has changed since a moment as it was at it; and who has not, if these are few."""
    # A branch is another line of a memory: what becomes of it changes nothing on main.
    states = [state for state in State if state is not State.BRANCHED]
    past = await bygone(at, states=states, most=most, reader=reader, known=known)
    last = past.last.get(filter.state)
    others = await reader.store.list_ids(reader.space, filter, limit=FEW + 1, after=last)
    degraded: tuple[str, ...] = ()
    if past.unread:
        degraded = (f"{past.unread:,} more memories have changed since {to_iso(at)} than are read as they were",)
    among = tuple(others) if len(others) <= FEW else None
    return Overlay(told=past.then, read=past.read, at=at, after=last, among=among, degraded=degraded)


async def _on_branch(branch: str, aside: Overlay, *, most: int, reader: SoundReader) -> Overlay:
    """The memories that have a branch of this name as they are on it; at a moment of the past, as they were."""
    wanted = Filter(state=State.BRANCHED, branch=branch)
    ids = await reader.store.list_ids(reader.space, wanted, limit=most + 1)
    lines = await _lines(ids[:most], at=aside.at, reader=reader)
    # One that was dropped since is among what has changed.
    dropped = [memory for memory in aside.told.values() if memory is not None and memory.state is State.BRANCHED]
    # A facet is spelled without regard to case, and a name is not.
    shown = {line.trunk: presented(line) for line in (*lines, *dropped) if line.branch == branch}
    main = OverlayReader(reader.store, space=reader.space, aside=aside)
    live: set[str] = set()
    trunks = list(shown)
    for start in range(0, len(trunks), _AT_ONCE):
        some = await main.get(trunks[start : start + _AT_ONCE])
        live |= {memory.id for memory in some if memory.state is State.LIVE}
    told = {**aside.told, **{trunk: memory for trunk, memory in shown.items() if trunk in live}}
    degraded = aside.degraded
    if not live:
        aside = replace(aside, lacks=branch)
    if len(ids) > most:
        why = f"more than {most:,} memories have the branch {branch[:100]!r}: the others are told as on main"
        degraded = (*degraded, why)
    return replace(aside, told=told, degraded=degraded)


async def _lines(ids: Sequence[str], *, at: datetime | None, reader: SoundReader) -> list[Memory]:
    found: list[Memory] = []
    for start in range(0, len(ids), _AT_ONCE):
        some = ids[start : start + _AT_ONCE]
        if at is None:
            found += await reader.get(some)
        else:
            then = await as_they_were(some, at=at, reader=reader)
            found += [line for line in then.values() if line is not None and line.state is State.BRANCHED]
    return found
