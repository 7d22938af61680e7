"""Lines of versions that grow: those that need no longer be whole are told by the ones after them."""

import asyncio
from collections.abc import Sequence
from itertools import pairwise

from scrubjay.storage.body_cache import folded
from scrubjay.storage.codec import Encoded
from scrubjay.storage.postgres.bodies import Bodies
from scrubjay.storage.postgres.commit.plan import VersionRow
from scrubjay.storage.postgres.delta_chains import Body
from scrubjay.storage.postgres.query import Work

# So many are done while a thread would still be waking up.
_FEW = 16

Changed = list[tuple[Body, Encoded]]


async def fold(
    work: Work, bodies: Bodies, versions: Sequence[VersionRow], packed: Sequence[Encoded], *, before: Sequence[Body]
) -> tuple[list[Encoded], Changed]:
    """New versions as they are to be stored, and what changes of the last ones before them."""
    await bodies.load_within(work, [*before, *(Body(one, "", 0) for one in packed)])
    if len(versions) <= _FEW:
        return _folded(bodies, versions, packed, before)
    return await asyncio.to_thread(_folded, bodies, versions, packed, before)


def _folded(
    bodies: Bodies, versions: Sequence[VersionRow], packed: Sequence[Encoded], before: Sequence[Body]
) -> tuple[list[Encoded], Changed]:
    fresh, changed = list(packed), list[tuple[Body, Encoded]]()
    lines: dict[str, list[Body]] = {}
    for body in before:
        lines.setdefault(body.memory_id, []).append(body)
    places: dict[str, list[int]] = {}
    for place, row in enumerate(versions):
        places.setdefault(row.memory_id, []).append(place)
    for memory_id, theirs in places.items():
        old = lines.get(memory_id, [])
        new = [Body(fresh[place], memory_id, versions[place].version.number) for place in theirs]
        line = [*old, *new]
        if any(one.version >= other.version for one, other in pairwise(line)):
            continue
        told = folded([(body.kept, bodies.plain(body)) for body in line[:-1]] + [(line[-1].kept, None)])
        for place, one in zip(theirs, told[len(old) :], strict=True):
            fresh[place] = one
        changed += [(body, one) for body, one in zip(old, told, strict=False) if one is not body.encoded]
    return fresh, changed
