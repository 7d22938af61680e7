"""`conflicts`: what waits for a decision, and what had one."""

import re
from collections.abc import AsyncIterator, Iterable, Mapping, Sequence
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from itertools import islice

from scrubjay.conflicts.auto_strategy import suggested_now
from scrubjay.conflicts.repository import counterpart, is_decided
from scrubjay.conflicts.statement import both_hold, ends_of, standing
from scrubjay.detection.describe import describe
from scrubjay.errors import InvalidInput
from scrubjay.lookup.branches import trunk_of
from scrubjay.lookup.references import resolve
from scrubjay.model.checks import require_integer, require_text
from scrubjay.model.conflict import (
    PENDING_COLLECTION,
    SETTLED_COLLECTION,
    Conflict,
    ConflictDetails,
    ConflictStatus,
    parse_conflict,
)
from scrubjay.model.document import Document
from scrubjay.model.memory import Memory, State
from scrubjay.ports import RecordStore

__all__ = ["conflicts", "require_status", "told"]

_ALL = "all"
_ID = re.compile(r"c-[0-9a-f]+")
# Of those that wait some are over, which is seen only when the memories are read: pages grow, as more of them are.
_FIRST_PAGE, _LARGEST_PAGE, _GROWTH = 20, 500, 2
_AT_LEAST = 8
_MOST = 1_000
_MOST_OF_ONE = 2_000
# So many versions are looked through for what a memory said before a conflict was resolved.
_LOOKED_THROUGH = 50
# What was merged may have been merged further; longer chains are a mistake.
_MOST_STEPS = 8
_LONG_AGO = datetime.min.replace(tzinfo=UTC)
_MOMENT = timedelta(microseconds=1)


async def conflicts(
    *, status: str, ref: str, limit: int, now: datetime, space: str, store: RecordStore
) -> tuple[ConflictDetails, ...]:
    """The conflicts of a space, or of one memory, the newest first; or the one that `ref` is the id of."""
    wanted = require_status(status)
    require_integer(limit, field="limit", most=_MOST)
    if named := await _named(require_text(ref, field="id"), space=space, store=store):
        # In the moment in which it is settled it is there twice.
        return (await told([one for one in named if one.status in wanted], now=now, space=space, store=store))[:1]
    collections = [PENDING_COLLECTION] if ConflictStatus.PENDING in wanted else []
    collections += [SETTLED_COLLECTION] if wanted - {ConflictStatus.PENDING} else []
    if ref:
        memory = await trunk_of(store, await resolve(store, ref, space=space))
        pages = _about(memory, collections=collections, store=store)
    else:
        pages = _latest(collections, first=limit, space=space, store=store)
    shown: list[ConflictDetails] = []
    async for page in pages:
        rest = iter([one for one in page if one.status in wanted])
        while len(shown) < limit and (some := list(islice(rest, max(limit - len(shown), _AT_LEAST)))):
            shown += await told(some, now=now, space=space, store=store)
        if len(shown) >= limit:
            break
    return tuple(shown[:limit])


async def told(
    found: Sequence[Conflict], *, now: datetime, space: str, store: RecordStore
) -> tuple[ConflictDetails, ...]:
    """Conflicts with the words of both ends; those that are over, or whose words are gone, are left out.

    Who reads changes nothing: `sweep` throws away what is over for good.
    """
    ids = dict.fromkeys(end for one in found for end in (one.memory, one.other))
    stand = await standing(ids, space=space, store=store)
    # What a settled one was about stays where it was, merged or not.
    were = await store.get(space, [end for one in found if _is_settled(one) for end in (one.memory, one.other)])
    shown = [
        await _told_settled(one, were, store=store)
        if _is_settled(one)
        else await _told_waiting(one, stand, now=now, store=store)
        for one in found
    ]
    return tuple(one for one in shown if one is not None)


def require_status(status: str) -> frozenset[ConflictStatus]:
    """Which conflicts are asked for."""
    if status == _ALL:
        return frozenset(ConflictStatus)
    try:
        return frozenset({ConflictStatus(status)})
    except ValueError:
        allowed = (*(one.value for one in ConflictStatus), _ALL)
        raise InvalidInput(
            f"status must be one of {', '.join(allowed)}, not {str(status)[:40]!r}", field="status", allowed=allowed
        ) from None


async def _named(ref: str, *, space: str, store: RecordStore) -> list[Conflict]:
    if not _ID.fullmatch(ref):
        return []
    documents = [
        await store.document(space, collection, ref) for collection in (PENDING_COLLECTION, SETTLED_COLLECTION)
    ]
    return [one for one in map(parse_conflict, documents) if one is not None]


async def _about(memory: Memory, *, collections: Sequence[str], store: RecordStore) -> AsyncIterator[list[Conflict]]:
    """All that is about one memory, or about one that became part of it."""
    ids = {memory.id: memory}
    parts = [memory]
    for _ in range(_MOST_STEPS):
        merged = dict.fromkeys(part.id for one in parts for part in one.merged if part.id not in ids)
        parts = list((await store.get(memory.space, list(merged))).values())
        ids |= {part.id: part for part in parts}
        if not parts:
            break
    documents = [
        document
        for collection in collections
        for document in await store.documents_about(memory.space, collection, list(ids), limit=_MOST_OF_ONE)
    ]
    yield _in_order(documents)


async def _latest(
    collections: Sequence[str], *, first: int, space: str, store: RecordStore
) -> AsyncIterator[list[Conflict]]:
    """All of some drawers, the newest first, a few at a time; of those that were found together the surest first."""
    size = min(max(first, _FIRST_PAGE), _LARGEST_PAGE)
    held: list[Document] = []
    read_to: dict[str, tuple[datetime, str] | None] = dict.fromkeys(collections)
    while read_to:
        for collection in [one for one, before in read_to.items() if _is_next(before, read_to)]:
            page = await store.latest_documents(space, collection, before=read_to[collection], limit=size)
            held += page
            if len(page) == size:
                read_to[collection] = page[-1].at, page[-1].key
            else:
                del read_to[collection]
        # Of the oldest that were read there may be more; a crowd of one moment is told in parts.
        horizon = max((before[0] for before in read_to.values() if before), default=_LONG_AGO)
        least = horizon if all(one.at <= horizon for one in held) else horizon + _MOMENT
        yield _in_order(one for one in held if one.at >= least)
        held = [one for one in held if one.at < least]
        size = min(size * _GROWTH, _LARGEST_PAGE)


def _is_next(before: tuple[datetime, str] | None, read_to: Mapping[str, tuple[datetime, str] | None]) -> bool:
    """Whether nobody else has more that is as new."""
    return before is None or before[0] == max(one[0] for one in read_to.values() if one)


def _in_order(documents: Iterable[Document]) -> list[Conflict]:
    found = [one for one in map(parse_conflict, documents) if one is not None]
    return sorted(found, key=_order, reverse=True)


async def _told_waiting(
    conflict: Conflict, stand: Mapping[str, Memory], *, now: datetime, store: RecordStore
) -> ConflictDetails | None:
    """A conflict that waits, in words; none where there is nothing to decide."""
    ends = ends_of(conflict, stand)
    # What lies in the trash, was superseded or became one may come back, and the conflict with it.
    if ends is None or not both_hold(*ends, now=now):
        return None
    settled = await counterpart(conflict, documents=store)
    if settled is not None and is_decided(conflict, settled):
        return None
    waiting = replace(conflict, resolved_at=None, suggested=suggested_now(conflict, *ends))
    return describe(waiting, ends[0].memory, ends[1].memory)


async def _told_settled(
    conflict: Conflict, were: Mapping[str, Memory], *, store: RecordStore
) -> ConflictDetails | None:
    """A conflict that was decided, in the words of then; none while one of its memories lies in the trash."""
    memory, other = were.get(conflict.memory), were.get(conflict.other)
    if memory is None or other is None:
        return None
    # Of two lines of one memory one may have been dropped for that very reason.
    if State.TRASHED in (memory.state, memory.state if other.trunk == memory.id else other.state):
        return None
    waiting = await counterpart(conflict, documents=store)
    if waiting is not None and not is_decided(waiting, conflict):
        return None
    shown = describe(conflict, memory, other)
    if shown is not None:
        return shown
    return describe(
        conflict, await _before(memory, conflict.run, store=store), await _before(other, conflict.run, store=store)
    )


async def _before(memory: Memory, run: str, *, store: RecordStore) -> Memory:
    """A memory as it was before a run changed it."""
    versions = await store.versions(memory.space, memory.id, limit=_LOOKED_THROUGH)
    changed = [place for place, version in enumerate(versions) if version.run == run]
    if not changed or changed[-1] + 1 >= len(versions):
        return memory
    return versions[changed[-1] + 1].memory


def _is_settled(conflict: Conflict) -> bool:
    return conflict.status is not ConflictStatus.PENDING


def _order(conflict: Conflict) -> tuple[datetime, float, str, str, str, str]:
    """The newest first; of those that were found by one write the surest, then the latest memories."""
    moment = (conflict.resolved_at if _is_settled(conflict) else None) or conflict.detected_at
    return moment, conflict.confidence, conflict.memory, conflict.other, conflict.statement, conflict.against
