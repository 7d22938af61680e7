"""One statement must not flood the list of conflicts: of each only so many wait at a time."""

from collections import Counter
from collections.abc import Sequence
from typing import Protocol

from scrubjay.model.conflict import PENDING_COLLECTION, Conflict, parse_conflict
from scrubjay.model.document import Document
from scrubjay.model.memory import Memory, State

__all__ = ["PendingCollections", "bearable"]

_MOST_WAITING = 10
_MOST_READ = 2_000

# A memory and the key of one of its statements.
_End = tuple[str, str]


class PendingCollections(Protocol):
    """Where conflicts are kept, and what they are about."""

    async def document(self, space: str, collection: str, key: str) -> Document | None:
        """One paper."""
        ...

    async def documents_about(self, space: str, collection: str, ids: Sequence[str], *, limit: int) -> list[Document]:
        """The papers about some memories."""
        ...

    async def get(self, space: str, ids: Sequence[str]) -> dict[str, Memory]:
        """The memories that exist, by id."""
        ...


async def bearable(conflicts: Sequence[Conflict], *, documents: PendingCollections, space: str) -> tuple[Conflict, ...]:
    """Those of some new conflicts, the first of them, of whose statements not too many wait already."""
    if not conflicts:
        return ()
    ids = list(dict.fromkeys(end for conflict in conflicts for end in (conflict.memory, conflict.other)))
    found = await documents.documents_about(space, PENDING_COLLECTION, ids, limit=_MOST_READ)
    waiting = [one for one in map(parse_conflict, found) if one is not None]
    if _fullest([*waiting, *conflicts]) <= _MOST_WAITING:
        return tuple(conflicts)
    # What lies in the trash, say, waits for nobody.
    known = await documents.get(space, list(dict.fromkeys(end for one in waiting for end in (one.memory, one.other))))
    live = {memory.id for memory in known.values() if memory.state is State.LIVE}
    counts = Counter(end for one in waiting if {one.memory, one.other} <= live for end in _ends(one))
    kept: list[Conflict] = []
    for one in conflicts:
        if all(counts[end] < _MOST_WAITING for end in _ends(one)):
            counts.update(_ends(one))
            kept.append(one)
    return tuple(kept)


def _fullest(conflicts: Sequence[Conflict]) -> int:
    return max(Counter(end for conflict in conflicts for end in _ends(conflict)).values())


def _ends(conflict: Conflict) -> tuple[_End, _End]:
    return (conflict.memory, conflict.statement), (conflict.other, conflict.against)
