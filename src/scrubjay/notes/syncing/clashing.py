"""A note that was changed in its file and in the store, each in its own way: both are kept, and somebody decides.

What the file says becomes a branch of the memory, and the file shows that branch until it is decided.
"""

from contextlib import suppress
from dataclasses import replace
from datetime import datetime

from scrubjay.branches import branch_id, branches_of
from scrubjay.errors import StaleVersion
from scrubjay.model.conflict import PENDING_DRAWER, Conflict, ConflictType, Strategy, sound
from scrubjay.model.draft import Caller
from scrubjay.model.memory import Memory, State
from scrubjay.model.moment import from_micros
from scrubjay.notes.disk.seen import Seen
from scrubjay.notes.page.note import Note
from scrubjay.notes.syncing.hands import AGENT, Hands
from scrubjay.notes.syncing.sheet import edit_of, sheet_of
from scrubjay.ports import RecordStore
from scrubjay.resolving.docket import counterpart, discard, is_decided
from scrubjay.resolving.ends import End, both_hold

__all__ = ["is_open", "saved_at", "set_apart", "settle_up"]

_PREFIX = "file-"


async def is_open(memory: Memory, line: Memory, *, store: RecordStore) -> bool:
    """Whether it is still to be decided what becomes of a branch that a file shows."""
    if line.state is not State.BRANCHED:
        return False
    waiting = sound(await store.paper(memory.space, PENDING_DRAWER, _conflict(memory, line).id))
    if waiting is None:
        return False
    settled = await counterpart(waiting, papers=store)
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
    waiting = sound(await store.paper(memory.space, PENDING_DRAWER, _conflict(memory, line).id))
    if waiting is not None:
        await discard(waiting, papers=store)


async def set_apart(memory: Memory, said: Note, *, at: int, seen: Seen, hands: Hands, who: Caller) -> Memory:
    """Keep what a file says on a branch of its memory, begun at a version; tells the branch. The conflict waits."""
    path = seen.path
    line = await _known(memory, said, at=at, hands=hands)
    line = line or await _begun(memory, at=at, path=path, hands=hands, who=who)
    told = sheet_of(line, now=hands.now)
    edit = edit_of(line, told, said, message=f"edited in {path}")
    if edit is not None:
        base = await hands.store.version(hands.space, memory.id, at)
        saved = saved_at(seen, after=base.memory.updated_at if base else None, now=hands.now)
        await hands.engine.revise(memory.id, replace(edit, at=saved), who=who)
    line = (await hands.store.get(hands.space, [line.id]))[line.id]
    with suppress(StaleVersion):
        # Who was cut off after this finds it filed.
        await hands.store.file_paper(_conflict(memory, line, hands=hands).paper(at=hands.now), base=None)
    hands.tally["conflicts"] += 1
    return line


def saved_at(seen: Seen, *, after: datetime | None, now: datetime) -> datetime | None:
    """When a file was saved by its own time, unless that cannot be: before what it was made of, or in the future."""
    saved = from_micros(seen.mtime_ns // 1000)
    return saved if after is not None and after <= saved <= now else None


async def _known(memory: Memory, said: Note, *, at: int, hands: Hands) -> Memory | None:
    """The branch that somebody who was cut off has begun, and which nobody has seen yet."""
    for line in await branches_of(hands.store, [memory]):
        if not line.branch.startswith(_PREFIX) or line.forked != at or await is_open(memory, line, store=hands.store):
            continue
        told = sheet_of(line, now=hands.now)
        base = await hands.store.version(hands.space, memory.id, at)
        as_begun = base is not None and replace(sheet_of(base.memory, now=hands.now), updated_at=None) == replace(
            told, updated_at=None
        )
        if as_begun or edit_of(line, told, said, message="") is None:
            return line
    return None


async def _begun(memory: Memory, *, at: int, path: str, hands: Hands, who: Caller) -> Memory:
    number = 1
    while await hands.store.get(hands.space, [branch_id(memory.id, f"{_PREFIX}{number}")]):
        number += 1
    name = f"{_PREFIX}{number}"
    await hands.engine.branch(memory.id, name, who=who, description=f"what {path} said"[:500], at=at)
    place = branch_id(memory.id, name)
    return (await hands.store.get(hands.space, [place]))[place]


def _conflict(memory: Memory, line: Memory, *, hands: Hands | None = None) -> Conflict:
    return Conflict(
        space=memory.space, type=ConflictType.CONTRADICTION, memory=memory.id, other=line.id, confidence=1.0,
        suggested=Strategy.MERGE, detected_at=hands.now if hands else line.updated_at, detected_by=AGENT,
    )  # fmt: skip
