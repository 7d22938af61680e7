"""What was merged, on the ways back: a part and the memory it was merged into go together, or stay as they are."""

from collections.abc import Mapping
from dataclasses import replace

from scrubjay.lookup.branches import branch_of
from scrubjay.model.change import Action, Origin
from scrubjay.model.memory import Memory, State
from scrubjay.model.results import Written
from scrubjay.ports import RecordStore, Write
from scrubjay.text.passages import passages_of
from scrubjay.text.slug import add_suffix

# A part that is given back is as alive as what it was part of.
_GIVEN_BACK = (State.LIVE, State.TRASHED, State.ARCHIVED)
# What being merged and given back changes of a part, and what counts only how it is used.
_NOT_ITS_OWN = (
    "state", "merged_into", "name", "version", "updated_at", "access_count", "last_accessed", "last_confirmed",
    "last_reviewed",
)  # fmt: skip
_LOOKED_THROUGH = 50


async def parts_after(
    memory: Memory, reverted: Memory, *, origin: Origin, store: RecordStore
) -> tuple[list[Write], list[str]]:
    """What a revert makes of parts, and what is to be told of it."""
    back = await _given_back(memory, reverted, origin=origin, store=store)
    again, changed = await _merged_again(memory, reverted, origin=origin, store=store)
    remarks = [f"given back: {', '.join(part.memory.name for part in back)}"] if back else []
    remarks += [f"merged again: {', '.join(part.memory.name for part in again)}"] if again else []
    remarks += [f"{name!r} was changed since and stays by itself, so some is said twice" for name in changed]
    return [*back, *again], remarks


async def drop_torn(
    writes: dict[str, Write], current: Mapping[str, Memory], *, space: str, store: RecordStore
) -> list[str]:
    """Take out of what goes back the memories that would lose what they are part of, or their parts; says which."""
    owners = [one.merged_into for one in current.values()] + [write.memory.merged_into for write in writes.values()]
    parts = [part.id for one in current.values() for part in one.merged]
    parts += [part.id for write in writes.values() for part in write.memory.merged]
    others = [fromkey for fromkey in dict.fromkeys((*owners, *parts)) if fromkey and fromkey not in current]
    now = {**current, **(await store.get(space, others) if others else {})}
    skipped: list[str] = []
    while torn := [memory_id for memory_id in writes if _is_torn(memory_id, writes, now)]:
        for memory_id in torn:
            name = writes.pop(memory_id).memory.name
            skipped.append(f"{name!r} goes together with what was merged, of which something was changed since")
    return skipped


def rewrite(memory: Memory, *, base: int, action: Action, message: str) -> Write:
    """A further version of a memory."""
    return Write(memory=memory, base=base, action=action, passages=passages_of(memory), message=message)


def told(write: Write) -> Written:
    """What became of a memory, as callers know it: a branch by the id of the memory it is one of."""
    memory = write.memory
    return Written(
        action="undone",
        id=memory.trunk or memory.id,
        name=memory.name,
        version=memory.version,
        branch=branch_of(memory),
    )


async def _given_back(memory: Memory, reverted: Memory, *, origin: Origin, store: RecordStore) -> list[Write]:
    """The memories that were merged into one after the version it goes back to: they stand by themselves again."""
    if memory.state not in _GIVEN_BACK:
        return []
    kept = {part.id for part in reverted.merged}
    gone = [part.id for part in memory.merged if part.id not in kept]
    found = (await store.get(memory.space, gone)).values() if gone else ()
    writes: list[Write] = []
    for part in found:
        if part.state is not State.MERGED or part.merged_into != memory.id:
            continue
        taken = await store.find(memory.space, part.name, state=State.LIVE)
        name = add_suffix(part.name, part.id) if any(handle.name == part.name for handle in taken) else part.name
        back = replace(
            part, state=memory.state, merged_into="", name=name, version=part.version + 1,
            updated_at=max(origin.at, part.updated_at),
        )  # fmt: skip
        action = Action.RESTORED if memory.state is State.LIVE else Action.REVERTED
        writes.append(rewrite(back, base=part.version, action=action, message=f"no longer part of {memory.name}"))
    return writes


async def _merged_again(
    memory: Memory, reverted: Memory, *, origin: Origin, store: RecordStore
) -> tuple[list[Write], list[str]]:
    """The memories that stand by themselves and are part of the version it goes to; then those changed since."""
    had = {part.id for part in memory.merged}
    wanted = [part.id for part in reverted.merged if part.id not in had] if memory.state is State.LIVE else []
    found = (await store.get(memory.space, wanted)).values() if wanted else ()
    writes: list[Write] = []
    changed: list[str] = []
    for part in found:
        if part.state is not State.LIVE:
            continue
        if not await _is_as_merged(part, memory.id, store=store):
            changed.append(part.name)
            continue
        again = replace(
            part, state=State.MERGED, merged_into=memory.id, version=part.version + 1,
            updated_at=max(origin.at, part.updated_at),
        )  # fmt: skip
        message = f"part of {memory.name} again"
        writes.append(rewrite(again, base=part.version, action=Action.MERGED, message=message))
    return writes, changed


async def _is_as_merged(part: Memory, owner: str, *, store: RecordStore) -> bool:
    """Whether a memory says what it said when it was part of another."""
    for version in await store.versions(part.space, part.id, limit=_LOOKED_THROUGH):
        then = version.memory
        if then.state is State.MERGED and then.merged_into == owner:
            return replace(then, **{name: getattr(part, name) for name in _NOT_ITS_OWN}) == part
    return False


def _is_torn(memory_id: str, writes: Mapping[str, Write], now: Mapping[str, Memory]) -> bool:
    """Whether going back would leave a part without what it is part of, or a text both there and elsewhere."""

    def later(one: str) -> Memory | None:
        return writes[one].memory if one in writes else now.get(one)

    before, after = now[memory_id], writes[memory_id].memory
    if before.trunk:
        # What was merged was merged on main; a branch only says the same.
        return False
    for owner in {one.merged_into for one in (before, after) if one.state is State.MERGED}:
        whole = later(owner)
        if whole is not None and _has(whole, memory_id) != _is_part(after, owner):
            return True
    moved = {part.id for part in before.merged} ^ {part.id for part in after.merged}
    parts = [part for part in map(later, moved) if part is not None]
    # What lies in the trash is no part of anything, and nothing is lost with it.
    return any(_has(after, part.id) != _is_part(part, memory_id) for part in parts if part.state is not State.TRASHED)


def _has(whole: Memory, part_id: str) -> bool:
    return any(part.id == part_id for part in whole.merged)


def _is_part(memory: Memory, owner: str) -> bool:
    return memory.state is State.MERGED and memory.merged_into == owner
