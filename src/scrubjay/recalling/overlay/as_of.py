"""Memories as they were: which have changed since a moment, and what each of them was then."""

import uuid
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime

from scrubjay.errors import BodyDamaged
from scrubjay.lookup.references import SoundReader
from scrubjay.model.memory import Memory, State
from scrubjay.model.query import Filter
from scrubjay.model.version import Version

# Pages grow, since the farther back a moment is, the more has changed since.
_FIRST_PAGE, _LARGEST_PAGE, _GROWTH = 256, 16_384, 4
_AT_ONCE = 500
_TIME_BITS = 48


@dataclass(frozen=True, slots=True, kw_only=True)
class Bygone:
    """What has changed since a moment: each as it was then, None where there was nothing. `unread` were too many.

    `read` has those that were looked up. `last` has, by its state now, the one that changed the longest ago: those
    after it in a listing have not changed.
    """

    then: dict[str, Memory | None]
    read: dict[str, Memory | None] = field(default_factory=dict[str, Memory | None])
    last: dict[State, str]
    unread: int = 0


async def bygone(
    at: datetime,
    *,
    states: Iterable[State],
    most: int,
    reader: SoundReader,
    known: Mapping[str, Memory | None] | None = None,
) -> Bygone:
    """The memories in some states now that have changed since a moment, as they were at it; no more than `most`.

    What is `known` is not read again.
    """
    known = known or {}
    changed = {state: await _changed_since(at, state=state, reader=reader) for state in states}
    ids = [one for several in changed.values() for one in several]
    chosen = ids
    if len(ids) > most:
        chosen = sorted(ids, key=lambda one: (_is_made_after(one, at), one not in known))[:most]
    read = {one: known[one] for one in chosen if one in known}
    read |= await as_they_were([one for one in chosen if one not in known], at=at, reader=reader)
    left_out = set(ids).difference(chosen)
    return Bygone(
        then=dict.fromkeys(ids) | read,
        read=read,
        last={state: several[-1] for state, several in changed.items() if several},
        unread=sum(not _is_made_after(one, at) for one in left_out),
    )


async def as_they_were(ids: Sequence[str], *, at: datetime, reader: SoundReader) -> dict[str, Memory | None]:
    """Memories at a moment, by id; None where one was not there yet, or cannot be read."""
    found: dict[str, Memory | None] = dict.fromkeys(ids)
    for start in range(0, len(ids), _AT_ONCE):
        versions = await _versions(ids[start : start + _AT_ONCE], at=at, reader=reader)
        found |= {one: version.memory for one, version in versions.items() if version.memory.created_at <= at}
    return found


async def _versions(ids: Sequence[str], *, at: datetime, reader: SoundReader) -> dict[str, Version]:
    try:
        return await reader.store.versions_at(reader.space, ids, at=at)
    except BodyDamaged as error:
        if len(ids) == 1:
            reader.problems[ids[0]] = str(error)
            return {}
    # The damaged among them are found by halves.
    half = len(ids) // 2
    first = await _versions(ids[:half], at=at, reader=reader)
    return first | await _versions(ids[half:], at=at, reader=reader)


async def _changed_since(at: datetime, *, state: State, reader: SoundReader) -> list[str]:
    """The ids in a state that were updated after a moment, newest first."""
    changed: list[str] = []
    size = _FIRST_PAGE
    while True:
        after = changed[-1] if changed else None
        page = await reader.store.list_ids(reader.space, Filter(state=state), limit=size, after=after)
        count = await _count_after(at, page, reader=reader)
        changed += page[:count]
        if count < len(page) or len(page) < size:
            return changed
        size = min(size * _GROWTH, _LARGEST_PAGE)


async def _count_after(at: datetime, ids: Sequence[str], *, reader: SoundReader) -> int:
    """How many of some ids, newest first, were updated after a moment; most often all or none."""
    low, high = 0, len(ids)
    probe = 0
    while low < high:
        if await _is_updated_after(at, ids[probe], reader=reader):
            low = probe + 1
        else:
            high = probe
        # The first, then the last, then what is halfway between those that are known.
        probe = len(ids) - 1 if low == 1 and high == len(ids) else (low + high) // 2
    return low


async def _is_updated_after(at: datetime, memory_id: str, *, reader: SoundReader) -> bool:
    # One that cannot be read counts as changed: it is told as a problem where the changed are read.
    return all(memory.updated_at > at for memory in await reader.get([memory_id]))


def _is_made_after(memory_id: str, at: datetime) -> bool:
    """Whether an id tells that its memory is newer than a moment: ids begin with the milliseconds of their making."""
    return uuid.UUID(memory_id).int >> (128 - _TIME_BITS) > at.timestamp() * 1000
