"""`undo`: take back a whole run by new versions. No version is rewritten."""

import asyncio
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import replace
from itertools import islice
from typing import cast

from scrubjay.errors import NameTaken, NotFound, StaleVersion
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
# So many memories are restored in one commit; users' writes wait for it. A large run takes several.
_MAX_MEMORIES = 50
# So many are compared before others get a turn.
_TURN = 10
_MAX_ATTEMPTS = 5
Begin = Callable[[str], Awaitable[None]]
_UNVERSIONED = (Action.EMBEDDED, Action.PURGED, Action.IMPORTED, Action.RELATED, Action.UNRELATED)


async def undo(
    *, run: str, agent: str, space: str, origin: Origin, store: RecordStore, key: str = "", begin: Begin | None = None
) -> Undone:
    """Take back a named run, or the last one of this agent; leave alone what others changed since.

    An agent's token takes back only its own runs; those of others do not exist for it. A large run is taken back in
    several commits, so that others can write in between: `begin` is called with its id first. After a kill it is not
    undone yet, and the same call goes on.
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
    undoing = _Undoing(undone, space=space, origin=replace(origin, undoes=undone.id), store=store)
    if len(undoing.waiting) > _MAX_MEMORIES and begin is not None:
        await begin(undone.id)
    return await undoing.finish(request)


class _Undoing:
    """An undo in progress: the memories that wait to be restored, the newest change first, and what became of others.

    The newest first, so that a name is free before it is restored.
    """

    def __init__(self, run: Run, *, space: str, origin: Origin, store: RecordStore) -> None:
        self.waiting: dict[str, list[Change]] = {}
        for change in run.changes:
            if change.action not in _UNVERSIONED:
                self.waiting.setdefault(change.memory_id, []).append(change)
        self.waiting = dict(reversed(self.waiting.items()))
        self._run = run
        self._space = space
        self._origin = origin
        self._store = store
        self._done: list[Written] = []
        self._skipped: list[str] = []

    async def finish(self, request: IdempotentRequest) -> Undone:
        """Restore all memories, and then the relations."""
        attempts = 0
        while True:
            current = await self._next_memories()
            writes, restored, skipped = await self._restore(current)
            is_last = len(self.waiting) == len(current)
            edges, skipped_edges = (
                await _restore_edges(self._run, space=self._space, store=self._store) if is_last else ([], [])
            )
            commit = Commit(
                space=self._space, origin=replace(self._origin, is_partial=not is_last), writes=tuple(writes),
                edges=tuple(edges),
            )  # fmt: skip
            answer = Undone(run=self._run.id, done=tuple(map(written, restored)), skipped=(*skipped, *skipped_edges))
            if is_last:
                answer = replace(answer, done=(*self._done, *answer.done), skipped=(*self._skipped, *answer.skipped))
            try:
                answer = await _commit(commit, answer, request if is_last else IdempotentRequest(), store=self._store)
            except StaleVersion:
                # One of them was changed a moment ago.
                attempts += 1
                if attempts == _MAX_ATTEMPTS:
                    raise
                continue
            attempts = 0
            if is_last:
                return answer
            self._done += answer.done
            self._skipped += answer.skipped
            for memory_id in current:
                del self.waiting[memory_id]
            await asyncio.sleep(0)

    async def _next_memories(self) -> dict[str, Memory | None]:
        """Return the next memories by id, and those that they are merged with: these change together, or not at all."""
        ids = list(islice(self.waiting, _MAX_MEMORIES))
        current: dict[str, Memory | None] = {}
        while ids:
            memories = await self._store.get(self._space, ids)
            current |= {memory_id: memories.get(memory_id) for memory_id in ids}
            linked = (
                other
                for memory in memories.values()
                for other in (memory.merged_into, *(part.id for part in memory.merged))
            )
            ids = [other for other in dict.fromkeys(linked) if other in self.waiting and other not in current]
        return current

    async def _restore(self, current: Mapping[str, Memory | None]) -> tuple[list[Write], list[Memory], list[str]]:
        """Return the writes that restore memories, those that are restored already, and why others are not."""
        writes: dict[str, Write] = {}
        restored: list[Memory] = []
        skipped: list[str] = []
        # In the order of the changes, as the remarks name them.
        for memory_id in reversed([*current]):
            memory, changes = current[memory_id], self.waiting[memory_id]
            # A former branch of the same name is another branch, and is not restored.
            base = None if changes[0].action is Action.BRANCHED else changes[0].base
            if memory is None:
                skipped.append(f"{memory_id} was purged")
            elif await _is_unchanged(memory, changes[-1].version, store=self._store):
                writes[memory_id] = await _restore(memory, base, origin=self._origin, store=self._store)
            elif not self._run.is_undone and await _is_restored(memory, changes[-1], base, store=self._store):
                restored.append(memory)
            else:
                skipped.append(f"{memory.name!r} was changed since, to version {memory.version}")
            if len(writes) % _TURN == 0:
                await asyncio.sleep(0)
        present = {memory_id: memory for memory_id, memory in current.items() if memory is not None}
        skipped += await drop_inconsistent(writes, present, space=self._space, store=self._store)
        return list(writes.values())[::-1], restored, skipped


def _from_json(answer: Mapping[str, Json]) -> Undone:
    done = cast("list[dict[str, Json]]", answer["done"])
    return Undone(
        run=str(answer["run"]),
        done=tuple(map(Written.from_json, done)),
        skipped=tuple(cast("list[str]", answer["skipped"])),
    )


async def _is_unchanged(memory: Memory, number: int, *, store: RecordStore) -> bool:
    """Check that a memory is as it was at a version: unchanged since, or with all later changes undone."""
    if memory.version == number:
        return True
    version = await _record_at(memory, number, store=store)
    return replace(version, **{name: getattr(memory, name) for name in _NOT_COMPARED}) == memory


async def _is_restored(memory: Memory, last: Change, base: int | None, *, store: RecordStore) -> bool:
    """Check that an undo that was interrupted has restored a memory already."""
    (newest,) = await store.versions(memory.space, memory.id, limit=1)
    if newest.action != Action.UNDONE or memory.version != last.version + 1:
        return False
    if base is None:
        earlier = replace(await _record_at(memory, last.version, store=store), state=State.TRASHED)
    else:
        earlier = await _record_at(memory, base, store=store)
    return replace(earlier, **{name: getattr(memory, name) for name in _NOT_COMPARED}) == memory


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
    before = answer.done
    for attempt in range(len(commit.writes) + 1):
        answer = replace(answer, done=(*before, *(written(write.memory) for write in commit.writes)))
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
