"""`conflicts`: what waits for a decision, and what had one."""

import re
from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime
from itertools import islice

from scrubjay.errors import InvalidInput
from scrubjay.model.conflict import PENDING_DRAWER, SETTLED_DRAWER, Conflict, ConflictStatus, ToldConflict
from scrubjay.model.given import require_text, require_whole
from scrubjay.model.memory import Memory
from scrubjay.ports import RecordStore
from scrubjay.references import resolve
from scrubjay.resolving.docket import all_in, discard, settled_before, sound
from scrubjay.resolving.ends import ends_of, standing
from scrubjay.writing.conflicting import tell

__all__ = ["conflicts", "require_status", "told"]

_ALL = "all"
_ID = re.compile(r"c-[0-9a-f]+")
_PAGE = 100
_MOST = 1_000
# So many versions are looked through for what a memory said before a conflict was resolved.
_LOOKED_THROUGH = 50


async def conflicts(*, status: str, ref: str, limit: int, space: str, store: RecordStore) -> tuple[ToldConflict, ...]:
    """The conflicts of a space, or of one memory, the newest first; or the one that `ref` is the id of."""
    wanted = require_status(status)
    require_whole(limit, field="limit", most=_MOST)
    if named := await _named(require_text(ref, field="id"), space=space, store=store):
        # In the moment in which it is settled it is there twice.
        return (await told([one for one in named if one.status in wanted], space=space, store=store))[:1]
    about = (await resolve(store, ref, space=space)).id if ref else ""
    found: list[Conflict] = []
    if ConflictStatus.PENDING in wanted:
        found += await all_in(PENDING_DRAWER, space=space, papers=store)
    if wanted - {ConflictStatus.PENDING}:
        found += [one for one in await all_in(SETTLED_DRAWER, space=space, papers=store) if one.status in wanted]
    found.sort(key=_order, reverse=True)
    shown: list[ToldConflict] = []
    rest = iter(found)
    # Of those that wait some are over, which is seen only when the memories are read.
    while len(shown) < limit and (page := list(islice(rest, _PAGE))):
        shown += await _told(page, about=about, space=space, store=store)
    return tuple(shown[:limit])


async def told(found: Sequence[Conflict], *, space: str, store: RecordStore) -> tuple[ToldConflict, ...]:
    """Conflicts with the words of both ends; those whose words are gone are left out."""
    return tuple(await _told(found, about="", space=space, store=store))


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
    papers = [await store.paper(space, drawer, ref) for drawer in (PENDING_DRAWER, SETTLED_DRAWER)]
    return [one for one in map(sound, papers) if one is not None]


async def _told(found: Sequence[Conflict], *, about: str, space: str, store: RecordStore) -> list[ToldConflict]:
    ids = dict.fromkeys(end for one in found for end in (one.memory, one.other))
    now = await standing(ids, space=space, store=store)
    if about:
        found = [one for one in found if about in _ids_of(one, now)]
    # What a settled one was about stays where it was, merged or not.
    were = await store.get(space, [end for one in found if _is_settled(one) for end in (one.memory, one.other)])
    shown: list[ToldConflict] = []
    for conflict in found:
        if _is_settled(conflict):
            one = await _told_settled(conflict, were, store=store)
        else:
            one = await _told_waiting(conflict, now, store=store)
        shown += [] if one is None else [one]
    return shown


async def _told_waiting(conflict: Conflict, now: dict[str, Memory], *, store: RecordStore) -> ToldConflict | None:
    """A conflict that waits, in words; one about which there is nothing to decide any more is thrown away."""
    ends = ends_of(conflict, now)
    if ends is None or await settled_before(conflict, papers=store) is not None:
        await discard(conflict, papers=store)
        return None
    first, second = ends
    # What lies in the trash, was superseded or became one may come back, and the conflict with it.
    if not (first.holds and second.holds) or first.is_same(second):
        return None
    return tell(replace(conflict, resolved_at=None), first.memory, second.memory)


async def _told_settled(conflict: Conflict, were: dict[str, Memory], *, store: RecordStore) -> ToldConflict | None:
    """A conflict that was decided, in the words of then; one whose memories were purged is thrown away."""
    memory, other = were.get(conflict.memory), were.get(conflict.other)
    if memory is None or other is None:
        await discard(conflict, papers=store)
        return None
    shown = tell(conflict, memory, other)
    if shown is not None:
        return shown
    return tell(
        conflict, await _before(memory, conflict.run, store=store), await _before(other, conflict.run, store=store)
    )


async def _before(memory: Memory, run: str, *, store: RecordStore) -> Memory:
    """A memory as it was before a run changed it."""
    versions = await store.versions(memory.space, memory.id, limit=_LOOKED_THROUGH)
    changed = [place for place, version in enumerate(versions) if version.run == run]
    if not changed or changed[-1] + 1 >= len(versions):
        return memory
    return versions[changed[-1] + 1].memory


def _ids_of(conflict: Conflict, now: dict[str, Memory]) -> set[str]:
    ids = {conflict.memory, conflict.other}
    return ids | {now[one].id for one in ids if one in now}


def _is_settled(conflict: Conflict) -> bool:
    return conflict.status is not ConflictStatus.PENDING


def _order(conflict: Conflict) -> tuple[datetime, float, str, str, str, str]:
    """The newest first; of those that were found by one write the surest, then the latest memories."""
    moment = (conflict.resolved_at if _is_settled(conflict) else None) or conflict.detected_at
    return moment, conflict.confidence, conflict.memory, conflict.other, conflict.statement, conflict.against
