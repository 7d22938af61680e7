"""Conflicts: a note that was changed differently in its file and in the store keeps both versions until a decision.

The file's version becomes a branch of the memory, and the file shows that branch until the conflict is resolved.
"""

from contextlib import suppress
from dataclasses import replace
from datetime import datetime

from scrubjay.conflicts.repository import counterpart, delete_conflict, is_decided
from scrubjay.detection.statement import DisputedStatement, needs_decision
from scrubjay.engine import Engine
from scrubjay.errors import StaleVersion
from scrubjay.lookup.branches import branch_id, branches_of
from scrubjay.model.caller import Caller
from scrubjay.model.conflict import PENDING_COLLECTION, ConflictRecord, ConflictType, Strategy, parse_conflict
from scrubjay.model.memory import Memory, State
from scrubjay.model.requests import BranchRequest
from scrubjay.model.timestamps import from_micros
from scrubjay.notes.files.tree import FileInfo
from scrubjay.notes.markdown.note import Note
from scrubjay.notes.sync.context import AGENT, SyncContext
from scrubjay.notes.sync.mapping import edit_between, note_of

__all__ = ["discard_conflict", "is_undecided", "save_time", "store_as_branch"]

_BRANCH_PREFIX = "file-"


async def is_undecided(memory: Memory, branch: Memory, *, engine: Engine) -> bool:
    """Whether the conflict about a branch that a file shows still needs a decision."""
    if branch.state is not State.BRANCHED:
        return False
    pending = await _pending(memory, branch, engine=engine)
    if pending is None:
        return False
    resolution = await counterpart(pending, documents=engine.documents)
    if resolution is not None and is_decided(pending, resolution):
        return False
    # A branch that was merged into main adds nothing to the main of that time.
    base = await engine.reader.version(memory.space, memory.id, branch.forked)
    # A file may have been saved long before it was read.
    now = max(branch.updated_at, branch.last_confirmed or branch.updated_at)
    return base is None or needs_decision(
        DisputedStatement(memory=base.memory), DisputedStatement(memory=branch), now=now
    )


async def discard_conflict(memory: Memory, branch_name: str, *, engine: Engine) -> None:
    """Discard the conflict of a branch that was merged or dropped."""
    id_ = branch_id(memory.id, branch_name)
    branch = (await engine.reader.get(memory.space, [id_])).get(id_)
    if branch is None:
        return
    pending = await _pending(memory, branch, engine=engine)
    if pending is not None:
        await delete_conflict(pending, documents=engine.documents)


async def store_as_branch(
    memory: Memory, note: Note, *, fork_version: int, info: FileInfo, context: SyncContext, who: Caller
) -> Memory:
    """Store a file's note as a branch of its memory, file a conflict, and return the branch."""
    branch = await _find_unfinished(memory, note, fork_version=fork_version, context=context)
    branch = branch or await _create_branch(memory, fork_version, path=info.path, context=context, who=who)
    edit = edit_between(branch, note_of(branch, now=context.now), note, message=f"edited in {info.path}")
    if edit is not None:
        base = await context.reader.version(context.space, memory.id, fork_version)
        saved = save_time(info, after=base.memory.updated_at if base else None, now=context.now)
        await context.engine.apply_edit(memory.id, replace(edit, at=saved), who=who)
    branch = (await context.reader.get(context.space, [branch.id]))[branch.id]
    with suppress(StaleVersion):
        # After a crash, the conflict may have been filed already.
        await context.engine.documents.put_document(
            _conflict(memory, branch, context=context).document(at=context.now), base=None
        )
    context.counts["conflicts"] += 1
    return branch


def save_time(info: FileInfo, *, after: datetime | None, now: datetime) -> datetime | None:
    """Return when a file was saved, or None if its time is implausible: before its base version, or in the future."""
    saved = from_micros(info.mtime_ns // 1000)
    return saved if after is not None and after <= saved <= now else None


async def _find_unfinished(memory: Memory, note: Note, *, fork_version: int, context: SyncContext) -> Memory | None:
    """Return the branch that an interrupted sync created for this file, before its conflict was filed."""
    for branch in await branches_of(context.reader, [memory]):
        if not branch.branch.startswith(_BRANCH_PREFIX) or branch.forked != fork_version:
            continue
        if await is_undecided(memory, branch, engine=context.engine):
            continue
        current = note_of(branch, now=context.now)
        base = await context.reader.version(context.space, memory.id, fork_version)
        is_unchanged = base is not None and replace(note_of(base.memory, now=context.now), updated_at=None) == replace(
            current, updated_at=None
        )
        if is_unchanged or edit_between(branch, current, note, message="") is None:
            return branch
    return None


async def _create_branch(
    memory: Memory, fork_version: int, *, path: str, context: SyncContext, who: Caller
) -> Memory:  # fmt: skip
    number = 1
    while await context.reader.get(context.space, [branch_id(memory.id, f"{_BRANCH_PREFIX}{number}")]):
        number += 1
    name = f"{_BRANCH_PREFIX}{number}"
    await context.engine.branch(
        BranchRequest(id=memory.id, name=name, description=f"the content of {path}"[:500], at=fork_version), who=who
    )
    id_ = branch_id(memory.id, name)
    return (await context.reader.get(context.space, [id_]))[id_]


async def _pending(memory: Memory, branch: Memory, *, engine: Engine) -> ConflictRecord | None:
    id_ = _conflict(memory, branch).id
    return parse_conflict(await engine.documents.document(memory.space, PENDING_COLLECTION, id_))


def _conflict(memory: Memory, branch: Memory, *, context: SyncContext | None = None) -> ConflictRecord:
    return ConflictRecord(
        space=memory.space, type=ConflictType.CONTRADICTION, memory=memory.id, other=branch.id, confidence=1.0,
        suggested=Strategy.MERGE, detected_at=context.now if context else branch.updated_at, detected_by=AGENT,
    )  # fmt: skip
