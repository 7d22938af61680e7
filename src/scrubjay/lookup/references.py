"""References: wherever an id is accepted, a name, a title or half a title is too."""

from collections.abc import Sequence
from typing import Generic, TypeVar

from scrubjay.errors import Ambiguous, BodyDamaged, NotFound
from scrubjay.model.checks import require_text, require_texts
from scrubjay.model.memory import Memory, State
from scrubjay.model.results import Missing
from scrubjay.ports import Handle, MemoryReader

S = TypeVar("S", bound=MemoryReader)
_SUGGESTIONS = 3
_OTHER_STATES = tuple(state for state in State if state is not State.BRANCHED)


class TolerantReader(Generic[S]):
    """Reads the memories that can be read and records the others: one damaged body must not hide the rest."""

    def __init__(self, store: S, *, space: str) -> None:
        self.store = store
        self.space = space
        self.problems: dict[str, str] = {}

    async def get(self, ids: Sequence[str]) -> list[Memory]:
        """Return the readable memories, in order."""
        if not ids:
            return []
        try:
            return list((await self.store.get(self.space, ids)).values())
        except BodyDamaged:
            return [memory for memory_id in ids for memory in await self._get_one(memory_id)]

    async def _get_one(self, memory_id: str) -> list[Memory]:
        try:
            return list((await self.store.get(self.space, [memory_id])).values())
        except BodyDamaged as error:
            self.problems[memory_id] = str(error)
            return []


async def resolve(store: MemoryReader, ref: str, *, space: str, state: State | None = None) -> Memory:
    """Return the one memory of a reference, or raise an error that helps."""
    memory_id = await _resolve_id(store, ref, space=space, state=state)
    if memory_id is not None:
        memories = await store.get(space, [memory_id])
        if memory_id in memories:
            return memories[memory_id]
    raise await not_found(store, ref, space=space)


async def space_of(store: MemoryReader, ref: str, *, spaces: Sequence[str]) -> str:
    """Return the first space in which a reference matches a memory, else the first of all."""
    if len(spaces) > 1:
        for space in spaces:
            if await _handles(store, ref, space=space, state=None):
                return space
    return spaces[0]


async def resolve_all(
    store: MemoryReader, refs: Sequence[str], *, space: str, state: State | None = None
) -> tuple[list[Memory], list[Missing]]:
    """Return the memories of references, in order and once each, and the references without one."""
    ids, missing = await resolve_ids(store, refs, space=space, state=state)
    return list((await store.get(space, ids)).values()), missing


async def resolve_ids(
    store: MemoryReader, refs: Sequence[str], *, space: str, state: State | None = None
) -> tuple[list[str], list[Missing]]:
    """Return the ids of references, in order, and the references without a memory; it reads no body."""
    ids: list[str] = []
    missing: list[Missing] = []
    # Each is looked up once, however often it is given.
    for ref in dict.fromkeys(require_texts(refs, field="ids")):
        memory_id = await _resolve_id(store, ref, space=space, state=state)
        if memory_id is None:
            missing.append(Missing(ref=ref, suggestions=await store.nearest(space, ref, limit=_SUGGESTIONS)))
        else:
            ids.append(memory_id)
    return list(dict.fromkeys(ids)), missing


async def not_found(store: MemoryReader, ref: str, *, space: str) -> NotFound:
    """Return the error for a reference without a memory, with the nearest names."""
    return Missing(ref=ref, suggestions=await store.nearest(space, ref, limit=_SUGGESTIONS)).error


async def _resolve_id(store: MemoryReader, ref: str, *, space: str, state: State | None) -> str | None:
    handles = await _handles(store, ref, space=space, state=state)
    if len(handles) > 1:
        names = tuple(f"{handle.name} ({handle.id})" for handle in handles)
        raise Ambiguous(
            f"{len(handles)} memories are called {ref[:100]!r}",
            hint=f"Give the id of one: {', '.join(names)}",
            ref=ref[:200],
            matches=tuple(handle.id for handle in handles),
        )
    return handles[0].id if handles else None


async def _handles(store: MemoryReader, ref: str, *, space: str, state: State | None) -> tuple[Handle, ...]:
    """Return the handles that match. A branch is matched by its own id only: its name is that of its memory."""
    handles = await store.find(space, require_text(ref, field="id"), state=state)
    if all(handle.state is State.LIVE for handle in handles) or handles[0].id == ref.lower():
        return handles
    if all(handle.state is State.BRANCHED for handle in handles):
        # A memory of another state may match less exactly.
        return await _first_in(_OTHER_STATES if state is None else (), store, ref, space=space)
    others = tuple(handle for handle in handles if handle.state is not State.BRANCHED)
    if len(others) > 1:
        # A dropped branch is in the trash beside the memory, under the same name.
        readable = await TolerantReader(store, space=space).get([handle.id for handle in others])
        dropped = {memory.id for memory in readable if memory.trunk}
        return tuple(handle for handle in others if handle.id not in dropped) or others
    return others


async def _first_in(states: Sequence[State], store: MemoryReader, ref: str, *, space: str) -> tuple[Handle, ...]:
    for state in states:
        if handles := await _handles(store, ref, space=space, state=state):
            return handles
    return ()
