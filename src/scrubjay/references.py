"""Wherever an id is taken, a name, a title or half a title works too."""

from collections.abc import Sequence

from scrubjay.errors import Ambiguous, NotFound
from scrubjay.model.memory import Memory, State
from scrubjay.model.results import Missing
from scrubjay.ports import RecordStore

_SUGGESTIONS = 3


async def resolve(store: RecordStore, ref: str, *, space: str, state: State | None = None) -> Memory:
    """The one memory that answers to a reference, or an error that helps."""
    memory_id = await _resolve_id(store, ref, space=space, state=state)
    if memory_id is not None:
        found = await store.get(space, [memory_id])
        if memory_id in found:
            return found[memory_id]
    raise await not_found(store, ref, space=space)


async def resolve_all(
    store: RecordStore, refs: Sequence[str], *, space: str, state: State | None = None
) -> tuple[list[Memory], list[Missing]]:
    """The memories that answer, in order and once each, and the references that nobody answers to."""
    ids: list[str] = []
    missing: list[Missing] = []
    for ref in refs:
        memory_id = await _resolve_id(store, ref, space=space, state=state)
        if memory_id is None:
            missing.append(Missing(ref=ref, suggestions=await store.nearest(space, ref, limit=_SUGGESTIONS)))
        else:
            ids.append(memory_id)
    found = await store.get(space, ids)
    return list(found.values()), missing


async def not_found(store: RecordStore, ref: str, *, space: str) -> NotFound:
    """The error for a reference nobody answers to, with the nearest names."""
    names = await store.nearest(space, ref, limit=_SUGGESTIONS)
    hint = f"Did you mean {' or '.join(names)}?" if names else "Find it with `recall`"
    return NotFound(f"no memory answers to {ref[:100]!r}", hint=hint, ref=ref[:200], suggestions=names)


async def _resolve_id(store: RecordStore, ref: str, *, space: str, state: State | None) -> str | None:
    handles = await store.find(space, ref, state=state)
    if len(handles) > 1:
        names = tuple(f"{handle.name} ({handle.id})" for handle in handles)
        raise Ambiguous(
            f"{len(handles)} memories answer to {ref[:100]!r}",
            hint=f"Say which by id: {', '.join(names)}",
            ref=ref[:200],
            matches=tuple(handle.id for handle in handles),
        )
    return handles[0].id if handles else None
