"""A note that was changed in its file and in the store, each in its own way: both are kept, and somebody decides.

What the file says becomes a branch of the memory, and the file shows that branch until it is decided.
"""

from contextlib import suppress
from dataclasses import replace
from datetime import datetime

from scrubjay.conflicts.repository import counterpart, discard, is_decided
from scrubjay.conflicts.statement import End, both_hold
from scrubjay.errors import StaleVersion
from scrubjay.lookup.branches import branch_id, branches_of
from scrubjay.model.conflict import PENDING_COLLECTION, Conflict, ConflictType, Strategy, parse_conflict
from scrubjay.model.draft import Caller
from scrubjay.model.memory import Memory, State
from scrubjay.model.timestamps import from_micros
from scrubjay.notes.files.entries import Seen
from scrubjay.notes.markdown.note import Note
from scrubjay.notes.sync.context import AGENT, SyncContext
from scrubjay.notes.sync.mapping import edit_of, sheet_of
from scrubjay.ports import RecordStore

__all__ = ["is_open", "saved_at", "set_apart", "settle_up"]

_PREFIX = "file-"


async def is_open(memory: Memory, line: Memory, *, store: RecordStore) -> bool:
    """Whether it is still to be decided what becomes of a branch that a file shows."""
    if line.state is not State.BRANCHED:
        return False
    waiting = parse_conflict(await store.document(memory.space, PENDING_COLLECTION, _conflict(memory, line).id))
    if waiting is None:
        return False
    settled = await counterpart(waiting, documents=store)
    if settled is not None and is_decided(waiting, settled):
        return False
    # Merged into main, it has nothing more to say than main had then.
    base = await store.version(memory.space, memory.id, line.forked)
    # A file may have been saved long before it was read.
    now = max(line.updated_at, line.last_confirmed or line.updated_at)
    return base is None or both_hold(End(memory=base.memory), End(memory=line), now=now)


async def settle_up(memory: Memory, branch: str, *, store: RecordStore) -> None:
    """Throw away the conflict of a branch that was merged or dropped: there is nothing to decide any more."""
    place = branch_id(memory.id, branch)
    line = (await store.get(memory.space, [place])).get(place)
    if line is None:
        return
    waiting = parse_conflict(await store.document(memory.space, PENDING_COLLECTION, _conflict(memory, line).id))
    if waiting is not None:
        await discard(waiting, documents=store)


async def set_apart(memory: Memory, said: Note, *, at: int, seen: Seen, context: SyncContext, who: Caller) -> Memory:
    """Keep what a file says on a branch of its memory, begun at a version; tells the branch. The conflict waits."""
    path = seen.path
    line = await _known(memory, said, at=at, context=context)
    line = line or await _begun(memory, at=at, path=path, context=context, who=who)
    told = sheet_of(line, now=context.now)
    edit = edit_of(line, told, said, message=f"edited in {path}")
    if edit is not None:
        base = await context.store.version(context.space, memory.id, at)
        saved = saved_at(seen, after=base.memory.updated_at if base else None, now=context.now)
        await context.engine.revise(memory.id, replace(edit, at=saved), who=who)
    line = (await context.store.get(context.space, [line.id]))[line.id]
    with suppress(StaleVersion):
        # Who was cut off after this finds it filed.
        await context.store.put_document(_conflict(memory, line, context=context).document(at=context.now), base=None)
    context.tally["conflicts"] += 1
    return line


def saved_at(seen: Seen, *, after: datetime | None, now: datetime) -> datetime | None:
    """When a file was saved by its own time, unless that cannot be: before what it was made of, or in the future."""
    saved = from_micros(seen.mtime_ns // 1000)
    return saved if after is not None and after <= saved <= now else None


async def _known(memory: Memory, said: Note, *, at: int, context: SyncContext) -> Memory | None:
    """The branch that somebody who was cut off has begun, and which nobody has seen yet."""
    for line in await branches_of(context.store, [memory]):
        if not line.branch.startswith(_PREFIX) or line.forked != at or await is_open(memory, line, store=context.store):
            continue
        told = sheet_of(line, now=context.now)
        base = await context.store.version(context.space, memory.id, at)
        as_begun = base is not None and replace(sheet_of(base.memory, now=context.now), updated_at=None) == replace(
            told, updated_at=None
        )
        if as_begun or edit_of(line, told, said, message="") is None:
            return line
    return None


async def _begun(memory: Memory, *, at: int, path: str, context: SyncContext, who: Caller) -> Memory:
    number = 1
    while await context.store.get(context.space, [branch_id(memory.id, f"{_PREFIX}{number}")]):
        number += 1
    name = f"{_PREFIX}{number}"
    await context.engine.branch(memory.id, name, who=who, description=f"what {path} said"[:500], at=at)
    place = branch_id(memory.id, name)
    return (await context.store.get(context.space, [place]))[place]


def _conflict(memory: Memory, line: Memory, *, context: SyncContext | None = None) -> Conflict:
    return Conflict(
        space=memory.space, type=ConflictType.CONTRADICTION, memory=memory.id, other=line.id, confidence=1.0,
        suggested=Strategy.MERGE, detected_at=context.now if context else line.updated_at, detected_by=AGENT,
    )  # fmt: skip
