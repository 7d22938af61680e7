"""Ways back: `revert` to a version, `undo` of a whole run. Both make new versions; nothing is rewritten."""

from collections.abc import Sequence
from dataclasses import replace

from scrubjay.errors import BodyDamaged, NotFound
from scrubjay.history.versions import version_of
from scrubjay.model.change import Action, Change, Origin
from scrubjay.model.memory import Memory, State
from scrubjay.model.results import Undone, Written
from scrubjay.ports import Commit, Edge, RecordStore, Run, Write
from scrubjay.references import resolve
from scrubjay.text.passages import passages_of

# What a revert leaves as it is: identity, life and use are not content.
_KEPT = (
    "id", "space", "created_at", "state", "merged_into", "version", "branch", "group",
    "last_accessed", "last_confirmed", "last_reviewed", "access_count",
)  # fmt: skip


async def revert(ref: str, *, to: int, message: str, space: str, origin: Origin, store: RecordStore) -> Written:
    """A new version with the content of an older one."""
    try:
        memory = await resolve(store, ref, space=space)
    except BodyDamaged as damaged:
        memory = await _stand_in(damaged, to, space=space, store=store)
    wanted = (await version_of(memory, to, store=store)).memory
    reverted = replace(wanted, **{name: getattr(memory, name) for name in _KEPT})
    reverted = replace(reverted, version=memory.version + 1, updated_at=origin.at)
    write = _write(reverted, base=memory.version, action=Action.REVERTED, message=message or f"back to version {to}")
    await store.commit(Commit(space=space, origin=origin, writes=(write,)))
    return Written(action="updated", id=memory.id, name=reverted.name, version=reverted.version)


async def undo(*, run: str, agent: str, space: str, origin: Origin, store: RecordStore) -> Undone:
    """Take back a named run, or the last one of this agent; what others changed since is left alone."""
    found = await store.run(space, run) if run else await store.last_run(space, agent=agent)
    if found is None:
        raise NotFound(
            f"there is no run {run!r}" if run else "there is nothing to undo",
            hint="`history` shows what happened to a memory",
            run=run,
        )
    writes, skipped = await _writes_back(found, space=space, origin=origin, store=store)
    edges = _edges_back(found.changes)
    commit = Commit(space=space, origin=replace(origin, undoes=found.id), writes=tuple(writes), edges=tuple(edges))
    await store.commit(commit)
    done = tuple(
        Written(action="undone", id=write.memory.id, name=write.memory.name, version=write.memory.version)
        for write in writes
    )
    return Undone(run=found.id, done=done, skipped=tuple(skipped))


async def _stand_in(damaged: BodyDamaged, to: int, *, space: str, store: RecordStore) -> Memory:
    """The version to go back to, in place of a newest one that cannot be read: reverting is its cure."""
    memory_id, number = str(damaged.fields["memory_id"]), damaged.fields["version"]
    sound = await store.version(space, memory_id, to)
    if sound is None or not isinstance(number, int):
        raise damaged
    return replace(sound.memory, version=number)


async def _writes_back(run: Run, *, space: str, origin: Origin, store: RecordStore) -> tuple[list[Write], list[str]]:
    touched: dict[str, list[Change]] = {}
    for change in run.changes:
        if change.relation is None and change.action not in (Action.EMBEDDED, Action.PURGED, Action.IMPORTED):
            touched.setdefault(change.memory_id, []).append(change)
    current = await store.get(space, list(touched))
    writes: list[Write] = []
    skipped: list[str] = []
    for memory_id, changes in touched.items():
        memory = current.get(memory_id)
        if memory is None:
            skipped.append(f"{memory_id} was purged")
        elif memory.version != changes[-1].version:
            skipped.append(f"{memory.name!r} was changed since, to version {memory.version}")
        else:
            writes.append(await _write_back(memory, changes[0].base, origin=origin, store=store))
    return writes, skipped


async def _write_back(memory: Memory, base: int | None, *, origin: Origin, store: RecordStore) -> Write:
    if base is None:
        earlier = replace(memory, state=State.TRASHED)
    else:
        earlier = (await version_of(memory, base, store=store)).memory
    restored = replace(
        earlier,
        version=memory.version + 1,
        updated_at=origin.at,
        access_count=memory.access_count,
        last_accessed=memory.last_accessed,
    )
    message = "undo of its creation" if base is None else f"undo, back to version {base}"
    return _write(restored, base=memory.version, action=Action.UNDONE, message=message)


def _edges_back(changes: Sequence[Change]) -> list[Edge]:
    return [
        Edge(relation=change.relation, present=change.action is Action.UNRELATED)
        for change in reversed(changes)
        if change.relation is not None
    ]


def _write(memory: Memory, *, base: int, action: Action, message: str) -> Write:
    return Write(memory=memory, base=base, action=action, passages=passages_of(memory), message=message)
