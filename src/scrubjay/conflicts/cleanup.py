"""Throwing away what is left of conflicts about which there is nothing to decide any more."""

from collections.abc import Sequence

from scrubjay.conflicts.repository import all_in, counterpart, discard, is_decided
from scrubjay.conflicts.statement import ends_of, standing
from scrubjay.model.conflict import PENDING_COLLECTION, Conflict
from scrubjay.ports import RecordStore

__all__ = ["sweep"]

_PAGE = 200


async def sweep(*, space: str, store: RecordStore) -> int:
    """Throw away the conflicts of a space whose statements are gone, and what was left in the wrong drawer.

    Who was cut off while a conflict was settled, or while that was undone, leaves it in both.
    """
    waiting = await all_in(PENDING_COLLECTION, space=space, documents=store)
    count = 0
    for start in range(0, len(waiting), _PAGE):
        for conflict in await _over(waiting[start : start + _PAGE], space=space, store=store):
            await discard(conflict, documents=store)
            count += 1
    return count


async def _over(waiting: Sequence[Conflict], *, space: str, store: RecordStore) -> list[Conflict]:
    """Of some that wait, those that nobody can decide; and of those in both drawers the one that does not count."""
    ids = dict.fromkeys(end for one in waiting for end in (one.memory, one.other))
    stand = await standing(ids, space=space, store=store)
    over: list[Conflict] = []
    for conflict in waiting:
        settled = await counterpart(conflict, documents=store)
        if settled is not None and is_decided(conflict, settled):
            over.append(conflict)
            continue
        over += [settled] if settled is not None else []
        over += [conflict] if ends_of(conflict, stand) is None else []
    return over
