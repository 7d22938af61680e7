"""`undo` of a whole run. It makes new versions; nothing is rewritten."""

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
from scrubjay.versions.merged_parts import drop_torn, rewrite, told

# What says nothing about whether a memory was changed.
_COUNTED = ("version", "updated_at", "access_count", "last_accessed")
_WITHOUT_VERSION = (Action.EMBEDDED, Action.PURGED, Action.IMPORTED, Action.RELATED, Action.UNRELATED)


async def undo(*, run: str, agent: str, space: str, origin: Origin, store: RecordStore, key: str = "") -> Undone:
    """Take back a named run, or the last one of this agent; what others changed since is left alone."""
    ask = idempotent_request(key, {"verb": "undo", "run": run, "agent": agent})
    if (known := await ask.find_answer(store, space=space)) is not None:
        return _undone(known)
    found = await store.run(space, run) if require_text(run, field="run") else await store.last_run(space, agent=agent)
    if found is None:
        # Nothing may be left because the same request took it back a moment ago.
        if (known := await ask.find_answer(store, space=space)) is not None:
            return _undone(known)
        raise NotFound(
            f"there is no run {run!r}" if run else "there is nothing to undo",
            hint="`history` shows what happened to a memory",
            run=run,
        )
    writes, skipped = await _writes_back(found, space=space, origin=origin, store=store)
    edges, left = await _edges_back(found, space=space, store=store)
    commit = Commit(space=space, origin=replace(origin, undoes=found.id), writes=tuple(writes), edges=tuple(edges))
    return await _commit(commit, Undone(run=found.id, done=(), skipped=(*skipped, *left)), ask, store=store)


def _undone(kept: Mapping[str, Json]) -> Undone:
    """What was kept of an undo."""
    done = cast("list[dict[str, Json]]", kept["done"])
    return Undone(
        run=str(kept["run"]),
        done=tuple(map(Written.from_json, done)),
        skipped=tuple(cast("list[str]", kept["skipped"])),
    )


async def _writes_back(run: Run, *, space: str, origin: Origin, store: RecordStore) -> tuple[list[Write], list[str]]:
    touched: dict[str, list[Change]] = {}
    for change in run.changes:
        if change.action not in _WITHOUT_VERSION:
            touched.setdefault(change.memory_id, []).append(change)
    current = await store.get(space, list(touched))
    writes: dict[str, Write] = {}
    skipped: list[str] = []
    for memory_id, changes in touched.items():
        memory = current.get(memory_id)
        if memory is None:
            skipped.append(f"{memory_id} was purged")
        elif not await _is_as_left(memory, changes[-1].version, store=store):
            skipped.append(f"{memory.name!r} was changed since, to version {memory.version}")
        else:
            # A branch whose name was used before is another one: what was there before it stays where it is.
            base = None if changes[0].action is Action.BRANCHED else changes[0].base
            writes[memory_id] = await _write_back(memory, base, origin=origin, store=store)
    skipped += await drop_torn(writes, current, space=space, store=store)
    # The newest first, so that a name is free again before it is taken back.
    return list(writes.values())[::-1], skipped


async def _is_as_left(memory: Memory, number: int, *, store: RecordStore) -> bool:
    """Whether a memory is what it was at a version: nobody touched it since, or all that came since was undone."""
    if memory.version == number:
        return True
    left = await _as_it_was(memory, number, store=store)
    return replace(left, **{name: getattr(memory, name) for name in _COUNTED}) == memory


async def _write_back(memory: Memory, base: int | None, *, origin: Origin, store: RecordStore) -> Write:
    if base is None:
        earlier = replace(memory, state=State.TRASHED)
    else:
        earlier = await _as_it_was(memory, base, store=store)
    restored = replace(earlier, **{name: getattr(memory, name) for name in _COUNTED})
    restored = replace(restored, version=memory.version + 1, updated_at=max(origin.at, memory.updated_at))
    message = "undo of its creation" if base is None else f"undo, back to version {base}"
    return rewrite(restored, base=memory.version, action=Action.UNDONE, message=message)


async def _as_it_was(memory: Memory, number: int, *, store: RecordStore) -> Memory:
    """A record at one of its own versions, as it is kept."""
    found = await store.version(memory.space, memory.id, number)
    return (found or await version_of(memory, number, store=store)).memory


async def _edges_back(run: Run, *, space: str, store: RecordStore) -> tuple[list[Edge], list[str]]:
    changes = [(change, change.relation) for change in run.changes if change.relation is not None]
    # How the run left each edge: the last change of it counts.
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


async def _commit(commit: Commit, answer: Undone, ask: IdempotentRequest, *, store: RecordStore) -> Undone:
    """Store what goes back; a memory whose name was taken meanwhile comes back under a name of its own."""
    for attempt in range(len(commit.writes) + 1):
        answer = replace(answer, done=tuple(map(told, commit.writes)))
        kept: dict[str, Json] = {
            "run": answer.run, "done": [one.as_json for one in answer.done], "skipped": list(answer.skipped),
        }  # fmt: skip
        try:
            first = ask.first(await store.commit(replace(commit, once=ask.once(kept))))
        except NameTaken as error:
            if attempt == len(commit.writes):
                raise
            name = error.fields["name"]
            writes = tuple(_renamed(write) if write.memory.name == name else write for write in commit.writes)
            commit = replace(commit, writes=writes)
        else:
            return answer if first is None else _undone(first)
    raise AssertionError  # pragma: no cover - the last attempt returns or raises


def _renamed(write: Write) -> Write:
    if write.memory.state is not State.LIVE:
        return write
    named = replace(write.memory, name=add_suffix(write.memory.name, write.memory.id))
    return replace(write, memory=named, passages=passages_of(named))
