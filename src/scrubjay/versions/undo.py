"""`undo`: take back a whole run by new versions. No version is rewritten."""

from collections.abc import Mapping
from dataclasses import replace
from typing import cast

from scrubjay.errors import NameTaken, NotFound
from scrubjay.idempotency import IdempotentRequest, idempotent_request
from scrubjay.lookup.branches import version_of
from scrubjay.model.change import Action, Change, Origin
from scrubjay.model.checks import require_text
from scrubjay.model.memory import Json, Memory, State
from scrubjay.model.results import Undone, Written
from scrubjay.ports import Commit, Edge, RecordStore, Run, Write
from scrubjay.text.passages import passages_of
from scrubjay.text.slug import add_suffix
from scrubjay.versions.merged_parts import drop_inconsistent, version_write, written

# A difference in these fields is no change of a memory.
_NOT_COMPARED = ("version", "updated_at", "access_count", "last_accessed")
_UNVERSIONED = (Action.EMBEDDED, Action.PURGED, Action.IMPORTED, Action.RELATED, Action.UNRELATED)


async def undo(*, run: str, agent: str, space: str, origin: Origin, store: RecordStore, key: str = "") -> Undone:
    """Take back a named run, or the last one of this agent; leave alone what others changed since.

    An agent's token takes back only its own runs; those of others do not exist for it.
    """
    request = idempotent_request(key, {"verb": "undo", "run": run, "agent": agent})
    if (earlier := await request.find_answer(store, space=space)) is not None:
        return _from_json(earlier)
    undone = await store.run(space, run) if require_text(run, field="run") else await store.last_run(space, agent=agent)
    if undone is None or (origin.is_agent and undone.agent != agent):
        # The same request may have taken it back a moment ago.
        if (earlier := await request.find_answer(store, space=space)) is not None:
            return _from_json(earlier)
        raise NotFound(
            f"there is no run {run!r}" if run else "there is nothing to undo",
            hint="`history` shows what happened to a memory",
            run=run,
        )
    writes, skipped = await _restore_memories(undone, space=space, origin=origin, store=store)
    edges, skipped_edges = await _restore_edges(undone, space=space, store=store)
    commit = Commit(space=space, origin=replace(origin, undoes=undone.id), writes=tuple(writes), edges=tuple(edges))
    return await _commit(
        commit, Undone(run=undone.id, done=(), skipped=(*skipped, *skipped_edges)), request, store=store
    )


def _from_json(answer: Mapping[str, Json]) -> Undone:
    done = cast("list[dict[str, Json]]", answer["done"])
    return Undone(
        run=str(answer["run"]),
        done=tuple(map(Written.from_json, done)),
        skipped=tuple(cast("list[str]", answer["skipped"])),
    )


async def _restore_memories(
    run: Run, *, space: str, origin: Origin, store: RecordStore
) -> tuple[list[Write], list[str]]:
    touched: dict[str, list[Change]] = {}
    for change in run.changes:
        if change.action not in _UNVERSIONED:
            touched.setdefault(change.memory_id, []).append(change)
    current = await store.get(space, list(touched))
    writes: dict[str, Write] = {}
    skipped: list[str] = []
    for memory_id, changes in touched.items():
        memory = current.get(memory_id)
        if memory is None:
            skipped.append(f"{memory_id} was purged")
        elif not await _is_unchanged(memory, changes[-1].version, store=store):
            skipped.append(f"{memory.name!r} was changed since, to version {memory.version}")
        else:
            # A former branch of the same name is another branch, and is not restored.
            base = None if changes[0].action is Action.BRANCHED else changes[0].base
            writes[memory_id] = await _restore(memory, base, origin=origin, store=store)
    skipped += await drop_inconsistent(writes, current, space=space, store=store)
    # The newest first, so that a name is free before it is restored.
    return list(writes.values())[::-1], skipped


async def _is_unchanged(memory: Memory, number: int, *, store: RecordStore) -> bool:
    """Check that a memory is as it was at a version: unchanged since, or with all later changes undone."""
    if memory.version == number:
        return True
    version = await _record_at(memory, number, store=store)
    return replace(version, **{name: getattr(memory, name) for name in _NOT_COMPARED}) == memory


async def _restore(memory: Memory, base: int | None, *, origin: Origin, store: RecordStore) -> Write:
    if base is None:
        earlier = replace(memory, state=State.TRASHED)
    else:
        earlier = await _record_at(memory, base, store=store)
    restored = replace(earlier, **{name: getattr(memory, name) for name in _NOT_COMPARED})
    restored = replace(restored, version=memory.version + 1)
    message = "undo of its creation" if base is None else f"undo, back to version {base}"
    # The clock may have been set back.
    at = max(origin.at, memory.updated_at)
    if base is not None and earlier.updated_at == memory.updated_at:
        # What did not count as an update is taken back without one.
        return version_write(restored, base=memory.version, action=Action.UNDONE, message=message, at=at)
    restored = replace(restored, updated_at=at)
    return version_write(restored, base=memory.version, action=Action.UNDONE, message=message)


async def _record_at(memory: Memory, number: int, *, store: RecordStore) -> Memory:
    """Return a record at one of its own versions, as stored."""
    version = await store.version(memory.space, memory.id, number)
    return (version or await version_of(memory, number, store=store)).memory


async def _restore_edges(run: Run, *, space: str, store: RecordStore) -> tuple[list[Edge], list[str]]:
    changes = [(change, change.relation) for change in run.changes if change.relation is not None]
    # The state of each edge after the run: its last change counts.
    left = {edge.key: edge if change.action is Action.RELATED else None for change, edge in changes}
    current = {edge.key: edge for edge in await store.relations(space, [source for source, _, _ in left])}
    touched = [key for key, edge in left.items() if current.get(key) != edge]
    edges = [
        Edge(relation=edge, present=change.action is Action.UNRELATED)
        for change, edge in reversed(changes)
        if edge.key not in touched
    ]
    return edges, [
        f"the relation {kind!r} of {source} to {target} was changed since" for source, kind, target in touched
    ]


async def _commit(commit: Commit, answer: Undone, request: IdempotentRequest, *, store: RecordStore) -> Undone:
    """Store the restored memories; one whose name was taken meanwhile gets a name of its own."""
    for attempt in range(len(commit.writes) + 1):
        answer = replace(answer, done=tuple(map(written, commit.writes)))
        stored: dict[str, Json] = {
            "run": answer.run, "done": [memory.as_json for memory in answer.done], "skipped": list(answer.skipped),
        }  # fmt: skip
        try:
            earlier = request.earlier_answer(await store.commit(replace(commit, once=request.record(stored))))
        except NameTaken as error:
            if attempt == len(commit.writes):
                raise
            name = error.fields["name"]
            writes = tuple(_rename(write) if write.memory.name == name else write for write in commit.writes)
            commit = replace(commit, writes=writes)
        else:
            return answer if earlier is None else _from_json(earlier)
    raise AssertionError  # pragma: no cover - the last attempt returns or raises


def _rename(write: Write) -> Write:
    if write.memory.state is not State.LIVE:
        return write
    renamed = replace(write.memory, name=add_suffix(write.memory.name, write.memory.id))
    return replace(write, memory=renamed, passages=passages_of(renamed))
