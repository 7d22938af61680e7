"""Merged records in `revert` and `undo`: a part and its whole change together, or not at all."""

from collections.abc import Mapping
from dataclasses import replace
from datetime import datetime

from scrubjay.lookup.branches import branch_of
from scrubjay.model.change import Action, Origin
from scrubjay.model.memory import Memory, State
from scrubjay.model.results import Written
from scrubjay.ports import RecordStore, Write
from scrubjay.text.passages import passages_of
from scrubjay.text.slug import add_suffix

# A separated part gets the state of its whole.
_SEPARABLE = (State.LIVE, State.TRASHED, State.ARCHIVED)
# The fields that merging and separating change, and those that only record its use.
_NOT_COMPARED = (
    "state", "merged_into", "name", "version", "updated_at", "access_count", "last_accessed", "last_confirmed",
    "last_reviewed",
)  # fmt: skip
_MAX_VERSIONS = 50


async def revert_parts(
    memory: Memory, reverted: Memory, *, origin: Origin, store: RecordStore
) -> tuple[list[Write], list[str]]:
    """Return the writes that separate and merge parts for a revert, and remarks for the caller."""
    separated = await _separate(memory, reverted, origin=origin, store=store)
    merged, changed = await _merge_again(memory, reverted, origin=origin, store=store)
    remarks = [f"separated again: {', '.join(part.memory.name for part in separated)}"] if separated else []
    remarks += [f"merged again: {', '.join(part.memory.name for part in merged)}"] if merged else []
    remarks += [
        f"{name!r} was changed since and stays separate, so that both have some of the text" for name in changed
    ]
    return [*separated, *merged], remarks


async def drop_inconsistent(
    writes: dict[str, Write], current: Mapping[str, Memory], *, space: str, store: RecordStore
) -> list[str]:
    """Drop the writes that would separate a part from its whole on one side only; return the reasons."""
    owners = [memory.merged_into for memory in current.values()] + [
        write.memory.merged_into for write in writes.values()
    ]
    parts = [part.id for memory in current.values() for part in memory.merged]
    parts += [part.id for write in writes.values() for part in write.memory.merged]
    others = [memory_id for memory_id in dict.fromkeys((*owners, *parts)) if memory_id and memory_id not in current]
    now = {**current, **(await store.get(space, others) if others else {})}
    skipped: list[str] = []
    while inconsistent := [memory_id for memory_id in writes if _is_inconsistent(memory_id, writes, now)]:
        for memory_id in inconsistent:
            name = writes.pop(memory_id).memory.name
            skipped.append(f"{name!r} was merged with a memory that was changed since")
    return skipped


def version_write(
    memory: Memory, *, base: int, action: Action, message: str, at: datetime | None = None
) -> Write:  # fmt: skip
    """Return the write of a memory's next version."""
    return Write(memory=memory, base=base, action=action, passages=passages_of(memory), message=message, at=at)


def written(memory: Memory) -> Written:
    """Return a restored memory as callers see it: a branch has the id of its memory."""
    return Written(
        action="undone",
        id=memory.trunk or memory.id,
        name=memory.name,
        version=memory.version,
        branch=branch_of(memory),
    )


async def _separate(memory: Memory, reverted: Memory, *, origin: Origin, store: RecordStore) -> list[Write]:
    """Return the writes of the records that were merged after the target version: they become memories again."""
    if memory.state not in _SEPARABLE:
        return []
    remaining = {part.id for part in reverted.merged}
    ids = [part.id for part in memory.merged if part.id not in remaining]
    parts = (await store.get(memory.space, ids)).values() if ids else ()
    writes: list[Write] = []
    for part in parts:
        if part.state is not State.MERGED or part.merged_into != memory.id:
            continue
        taken = await store.find(memory.space, part.name, state=State.LIVE)
        name = add_suffix(part.name, part.id) if any(handle.name == part.name for handle in taken) else part.name
        separated = replace(
            part, state=memory.state, merged_into="", name=name, version=part.version + 1,
            updated_at=max(origin.at, part.updated_at),
        )  # fmt: skip
        action = Action.RESTORED if memory.state is State.LIVE else Action.REVERTED
        writes.append(
            version_write(separated, base=part.version, action=action, message=f"no longer part of {memory.name}")
        )
    return writes


async def _merge_again(
    memory: Memory, reverted: Memory, *, origin: Origin, store: RecordStore
) -> tuple[list[Write], list[str]]:
    """Return the writes of separate memories that the target version contains, and the names of those changed since."""
    current = {part.id for part in memory.merged}
    ids = [part.id for part in reverted.merged if part.id not in current] if memory.state is State.LIVE else []
    parts = (await store.get(memory.space, ids)).values() if ids else ()
    writes: list[Write] = []
    changed: list[str] = []
    for part in parts:
        if part.state is not State.LIVE:
            continue
        if not await _is_unchanged(part, memory.id, store=store):
            changed.append(part.name)
            continue
        merged = replace(
            part, state=State.MERGED, merged_into=memory.id, version=part.version + 1,
            updated_at=max(origin.at, part.updated_at),
        )  # fmt: skip
        message = f"part of {memory.name} again"
        writes.append(version_write(merged, base=part.version, action=Action.MERGED, message=message))
    return writes, changed


async def _is_unchanged(part: Memory, owner: str, *, store: RecordStore) -> bool:
    """Check that a memory is as it was when it was part of another."""
    for version in await store.versions(part.space, part.id, limit=_MAX_VERSIONS):
        then = version.memory
        if then.state is State.MERGED and then.merged_into == owner:
            return replace(then, **{name: getattr(part, name) for name in _NOT_COMPARED}) == part
    return False


def _is_inconsistent(memory_id: str, writes: Mapping[str, Write], now: Mapping[str, Memory]) -> bool:
    """Check whether a write would leave a part without its whole, or a text in both."""

    def future(other: str) -> Memory | None:
        return writes[other].memory if other in writes else now.get(other)

    before, after = now[memory_id], writes[memory_id].memory
    if before.trunk:
        # Merges happen on main; a branch only has the same text.
        return False
    for owner in {record.merged_into for record in (before, after) if record.state is State.MERGED}:
        whole = future(owner)
        if whole is not None and _has(whole, memory_id) != _is_part(after, owner):
            return True
    moved = {part.id for part in before.merged} ^ {part.id for part in after.merged}
    parts = [part for part in map(future, moved) if part is not None]
    # A memory in the trash is no part, and nothing is lost with it.
    return any(_has(after, part.id) != _is_part(part, memory_id) for part in parts if part.state is not State.TRASHED)


def _has(whole: Memory, part_id: str) -> bool:
    return any(part.id == part_id for part in whole.merged)


def _is_part(memory: Memory, owner: str) -> bool:
    return memory.state is State.MERGED and memory.merged_into == owner
