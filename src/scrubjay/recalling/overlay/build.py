"""Build the overlay of a question: find the memories that differ from main now, and read the versions to show."""

import uuid
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import field, replace
from datetime import datetime

from scrubjay.errors import BodyDamaged
from scrubjay.lazy import dataclass
from scrubjay.lookup.branches import public_record
from scrubjay.lookup.references import TolerantReader
from scrubjay.model.branch import normalize_branch_name
from scrubjay.model.change import Action
from scrubjay.model.memory import MAIN, Memory, State
from scrubjay.model.query import Filter
from scrubjay.model.requests import RecallRequest
from scrubjay.model.timestamps import to_iso
from scrubjay.model.version import Version
from scrubjay.ports import RecordStore
from scrubjay.recalling.collapse import passes
from scrubjay.recalling.overlay.overlay import Overlay, OverlayCache, OverlayKey, OverlayReader
from scrubjay.recalling.overlay.passages import add_passages

# Up to so many memories are all ranked instead of searched for.
MAX_EXHAUSTIVE = 500
# An overlay reads at most so many changed memories, and so many records of branches.
_MAX_OVERLAID = 5_000
_BRANCH_BATCH, _VERSION_BATCH = 200, 500
# After more changes than this, or after actions that rewrite the past, a cached overlay is useless.
_MAX_CHANGES = 2_000
_PAST_CHANGING = frozenset({Action.PURGED, Action.IMPORTED})
# Pages grow, since the further back a moment is, the more has changed since.
_FIRST_PAGE, _LARGEST_PAGE, _GROWTH = 256, 16_384, 4
_TIME_BITS = 48


@dataclass(frozen=True, slots=True, kw_only=True)
class ChangedMemories:
    """The memories that have changed since a moment, each as it was then: None where it did not exist.

    `versions` has only those that were read; `unread_count` others were too many. `oldest` has, for each current state,
    the memory that changed the longest ago: all after it in a listing are unchanged.
    """

    memories: dict[str, Memory | None]
    versions: dict[str, Memory | None] = field(default_factory=dict[str, Memory | None])
    oldest: dict[State, str]
    unread_count: int = 0


async def open_reader(
    question: RecallRequest,
    *,
    space: str,
    store: RecordStore,
    now: datetime,
    cache: OverlayCache,
    max_memories: int = _MAX_OVERLAID,
) -> OverlayReader:
    """Return the reader of a space for a question, with an overlay of at most `max_memories` memories."""
    branch = normalize_branch_name(question.branch) if question.filter.state is State.LIVE else MAIN
    if question.as_of is None and branch in (MAIN, ""):
        return OverlayReader(store, space=space)
    # The current state of a branch expires with time; the state at a past moment does not.
    key = question.as_of and OverlayKey(space, question.as_of, branch, repr(question.filter))
    place = await store.last_place(space)
    cached = cache.get(key, place=place) if key else None
    if cached is not None:
        return OverlayReader(store, space=space, overlay=cached)
    reader = OverlayReader(store, space=space)
    previous = await _find_previous(key, place=place, cache=cache, store=store) if key else _Previous()
    overlay = await _build(question, branch, now=now, max_memories=max_memories, reader=reader, previous=previous)
    if key and not reader.problems:
        cache.put(key, overlay, place=place)
    opened = OverlayReader(store, space=space, overlay=overlay)
    opened.problems |= reader.problems
    return opened


async def read_changed_since(
    as_of: datetime,
    *,
    states: Iterable[State],
    max_memories: int,
    reader: TolerantReader[RecordStore],
    cached: Mapping[str, Memory | None] | None = None,
) -> ChangedMemories:
    """Return the memories with these current states that have changed since a moment, as they were then.

    At most `max_memories` are read, and those in `cached` are not read again.
    """
    cached = cached or {}
    changed = {state: await _list_changed_since(as_of, state=state, reader=reader) for state in states}
    ids = [memory_id for ids_in_state in changed.values() for memory_id in ids_in_state]
    chosen = ids
    if len(ids) > max_memories:
        chosen = sorted(ids, key=lambda memory_id: (_is_created_after(memory_id, as_of), memory_id not in cached))
        chosen = chosen[:max_memories]
    versions = {memory_id: cached[memory_id] for memory_id in chosen if memory_id in cached}
    missing = [memory_id for memory_id in chosen if memory_id not in cached]
    versions |= await _read_versions_at(missing, as_of=as_of, reader=reader)
    left_out = set(ids).difference(chosen)
    return ChangedMemories(
        memories=dict.fromkeys(ids) | versions,
        versions=versions,
        oldest={state: ids_in_state[-1] for state, ids_in_state in changed.items() if ids_in_state},
        unread_count=sum(not _is_created_after(memory_id, as_of) for memory_id in left_out),
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class _Previous:
    """A cached overlay of the same moment, and whether it is of the same filter and branch."""

    overlay: Overlay = field(default_factory=Overlay)
    has_same_key: bool = False


async def _find_previous(key: OverlayKey, *, place: int, cache: OverlayCache, store: RecordStore) -> _Previous:
    """Return the part of a cached overlay that still holds: later changes do not affect an earlier moment."""
    cached = cache.find_similar(key)
    if cached is None:
        return _Previous()
    cached_key, cached_place, overlay = cached
    changes = (
        await store.changes_in(key.space, after=cached_place, limit=_MAX_CHANGES + 1) if cached_place != place else []
    )
    if len(changes) > _MAX_CHANGES or any(change.action in _PAST_CHANGING for change in changes):
        return _Previous()
    # Another writer's clock may be behind, or its write may have taken long.
    late = {change.memory_id for change in changes if change.at <= key.as_of}
    versions = overlay.main_versions
    if late:
        versions = {memory_id: memory for memory_id, memory in versions.items() if memory_id not in late}
    return _Previous(overlay=replace(overlay, main_versions=versions), has_same_key=cached_key == key)


async def _build(
    question: RecallRequest,
    branch: str,
    *,
    now: datetime,
    max_memories: int,
    reader: TolerantReader[RecordStore],
    previous: _Previous,
) -> Overlay:
    overlay = Overlay()
    if question.as_of is not None:
        overlay = await _build_as_of(
            question.filter, as_of=question.as_of, max_memories=max_memories, reader=reader,
            cached=previous.overlay.main_versions,
        )  # fmt: skip
    if branch not in (MAIN, ""):
        overlay = await _add_branch(branch, overlay, max_memories=max_memories, reader=reader)
    previous_memories = previous.overlay.memories
    previously_passed = {passage.memory_id for passage in previous.overlay.passages}

    def is_eligible(memory: Memory) -> bool:
        is_same = previous.has_same_key and previous_memories.get(memory.id) is memory
        return (is_same and memory.id in previously_passed) or passes(memory, question.filter, now=now)

    eligible = [memory for memory in overlay.memories.values() if memory is not None and is_eligible(memory)]
    return await add_passages(overlay, eligible, previous=previous.overlay)


async def _build_as_of(
    filter: Filter,
    *,
    as_of: datetime,
    max_memories: int,
    reader: TolerantReader[RecordStore],
    cached: Mapping[str, Memory | None],
) -> Overlay:
    """Return the overlay of a moment; if few memories are unchanged, it names all of them."""
    # Changes of a branch do not change the memory on main.
    states = [state for state in State if state is not State.BRANCHED]
    changed = await read_changed_since(as_of, states=states, max_memories=max_memories, reader=reader, cached=cached)
    oldest = changed.oldest.get(filter.state)
    unchanged = await reader.store.list_ids(reader.space, filter, limit=MAX_EXHAUSTIVE + 1, after=oldest)
    degraded: tuple[str, ...] = ()
    if changed.unread_count:
        reason = f"{changed.unread_count:,} of the memories that have changed since {to_iso(as_of)} are left out"
        degraded = (f"{reason}: at most {max_memories:,} are read",)
    return Overlay(
        memories=changed.memories,
        main_versions=changed.versions,
        as_of=as_of,
        unchanged_after=oldest,
        unchanged_ids=tuple(unchanged) if len(unchanged) <= MAX_EXHAUSTIVE else None,
        degraded=degraded,
    )


async def _add_branch(
    branch: str, overlay: Overlay, *, max_memories: int, reader: TolerantReader[RecordStore]
) -> Overlay:
    """Add the memories that have a branch of this name, as they are on it, or as they were at the overlay's moment."""
    ids = await reader.store.list_ids(reader.space, Filter(state=State.BRANCHED, branch=branch), limit=max_memories + 1)
    records = await _read_branch_records(ids[:max_memories], as_of=overlay.as_of, reader=reader)
    # A branch that was dropped since is among the changed memories.
    dropped = [memory for memory in overlay.memories.values() if memory is not None and memory.state is State.BRANCHED]
    # Facets ignore case, and names of branches do not.
    branched = {record.trunk: public_record(record) for record in (*records, *dropped) if record.branch == branch}
    main = OverlayReader(reader.store, space=reader.space, overlay=overlay)
    live: set[str] = set()
    trunks = list(branched)
    for start in range(0, len(trunks), _BRANCH_BATCH):
        memories = await main.get(trunks[start : start + _BRANCH_BATCH])
        live |= {memory.id for memory in memories if memory.state is State.LIVE}
    degraded = overlay.degraded
    if len(ids) > max_memories:
        reason = (
            f"more than {max_memories:,} memories have the branch {branch[:100]!r}: the others are shown as on main"
        )
        degraded = (*degraded, reason)
    return replace(
        overlay,
        memories={**overlay.memories, **{trunk: memory for trunk, memory in branched.items() if trunk in live}},
        missing_branch="" if live else branch,
        degraded=degraded,
    )


async def _read_branch_records(
    ids: Sequence[str], *, as_of: datetime | None, reader: TolerantReader[RecordStore]
) -> list[Memory]:
    records: list[Memory] = []
    for start in range(0, len(ids), _BRANCH_BATCH):
        batch = ids[start : start + _BRANCH_BATCH]
        if as_of is None:
            records += await reader.get(batch)
        else:
            versions = await _read_versions_at(batch, as_of=as_of, reader=reader)
            records += [record for record in versions.values() if record is not None and record.state is State.BRANCHED]
    return records


async def _read_versions_at(
    ids: Sequence[str], *, as_of: datetime, reader: TolerantReader[RecordStore]
) -> dict[str, Memory | None]:
    """Return memories at a moment, by id; None where one did not exist yet or cannot be read."""
    memories: dict[str, Memory | None] = dict.fromkeys(ids)
    for start in range(0, len(ids), _VERSION_BATCH):
        versions = await _read_sound_versions(ids[start : start + _VERSION_BATCH], as_of=as_of, reader=reader)
        memories |= {
            memory_id: version.memory for memory_id, version in versions.items() if version.memory.created_at <= as_of
        }
    return memories


async def _read_sound_versions(
    ids: Sequence[str], *, as_of: datetime, reader: TolerantReader[RecordStore]
) -> dict[str, Version]:
    try:
        return await reader.store.versions_at(reader.space, ids, at=as_of)
    except BodyDamaged as error:
        if len(ids) == 1:
            reader.problems[ids[0]] = str(error)
            return {}
    # Halving finds the damaged ones.
    half = len(ids) // 2
    first = await _read_sound_versions(ids[:half], as_of=as_of, reader=reader)
    return first | await _read_sound_versions(ids[half:], as_of=as_of, reader=reader)


async def _list_changed_since(as_of: datetime, *, state: State, reader: TolerantReader[RecordStore]) -> list[str]:
    """Return the ids in a state that were updated after a moment, newest first."""
    changed: list[str] = []
    size = _FIRST_PAGE
    while True:
        after = changed[-1] if changed else None
        page = await reader.store.list_ids(reader.space, Filter(state=state), limit=size, after=after)
        count = await _count_updated_after(as_of, page, reader=reader)
        changed += page[:count]
        if count < len(page) or len(page) < size:
            return changed
        size = min(size * _GROWTH, _LARGEST_PAGE)


async def _count_updated_after(as_of: datetime, ids: Sequence[str], *, reader: TolerantReader[RecordStore]) -> int:
    """Return how many of some ids, newest first, were updated after a moment; mostly all or none."""
    low, high = 0, len(ids)
    probe = 0
    while low < high:
        # A memory that cannot be read counts as changed; reading its version then reports the problem.
        if all(memory.updated_at > as_of for memory in await reader.get([ids[probe]])):
            low = probe + 1
        else:
            high = probe
        # Probe the first, then the last, then bisect.
        probe = len(ids) - 1 if low == 1 and high == len(ids) else (low + high) // 2
    return low


def _is_created_after(memory_id: str, as_of: datetime) -> bool:
    """Return whether a memory is newer than a moment: its id begins with the milliseconds of its creation."""
    return uuid.UUID(memory_id).int >> (128 - _TIME_BITS) > as_of.timestamp() * 1000
