"""The stored conflicts: documents in one collection while they are pending, and in another once they are settled.

A conflict moves by being written to the one and then deleted from the other. A crash in between leaves it in both; the
next reader corrects that.
"""

import difflib
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import replace

from scrubjay.detection.statement import find_statements, load_current
from scrubjay.errors import NotFound, StaleVersion, WrongState
from scrubjay.lookup.branches import branch_id
from scrubjay.model.conflict import (
    PENDING_COLLECTION,
    RESOLUTIONS_COLLECTION,
    SETTLED_COLLECTION,
    ConflictRecord,
    ConflictStatus,
    parse_conflict,
)
from scrubjay.model.memory import MAIN
from scrubjay.model.results import Undone
from scrubjay.ports import DocumentStore, RecordStore
from scrubjay.workers import offload

__all__ = [
    "counterpart", "delete_conflict", "delete_obsolete", "is_decided", "list_conflicts", "pending_or_raise", "reopen",
]  # fmt: skip

_PAGE = 500
_CLEANUP_PAGE = 200
_SUGGESTIONS = 3


async def list_conflicts(collection: str, *, space: str, documents: DocumentStore) -> list[ConflictRecord]:
    """Return all conflicts of a collection that can be read."""
    conflicts: list[ConflictRecord] = []
    after = ""
    while page := await documents.documents(space, collection, after=after, limit=_PAGE):
        conflicts += [conflict for document in page if (conflict := parse_conflict(document)) is not None]
        after = page[-1].key
    return conflicts


async def delete_conflict(conflict: ConflictRecord, *, documents: DocumentStore) -> None:
    """Delete the documents of a conflict."""
    await documents.delete_document(conflict.space, conflict.collection, conflict.id)
    if conflict.run:
        await documents.delete_document(conflict.space, RESOLUTIONS_COLLECTION, f"{conflict.run}/{conflict.id}")


async def delete_obsolete(*, space: str, store: RecordStore) -> int:
    """Delete the pending conflicts whose statements are gone, and those left in the wrong collection; count them."""
    pending = await list_conflicts(PENDING_COLLECTION, space=space, documents=store)
    count = 0
    for start in range(0, len(pending), _CLEANUP_PAGE):
        for conflict in await _obsolete(pending[start : start + _CLEANUP_PAGE], space=space, store=store):
            await delete_conflict(conflict, documents=store)
            count += 1
    return count


async def counterpart(conflict: ConflictRecord, *, documents: DocumentStore) -> ConflictRecord | None:
    """Return the same conflict in the other collection."""
    collection = SETTLED_COLLECTION if conflict.collection == PENDING_COLLECTION else PENDING_COLLECTION
    return parse_conflict(await documents.document(conflict.space, collection, conflict.id))


def is_decided(pending: ConflictRecord, settled: ConflictRecord) -> bool:
    """Check whether the settled one of both collections counts: it is neither undone nor out of date."""
    if settled.resolved_at is None:
        return False
    is_reopened = pending.resolved_at == settled.resolved_at
    is_found_again = settled.status is ConflictStatus.RESOLVED and pending.detected_at > settled.resolved_at
    return not is_reopened and not is_found_again


async def pending_or_raise(conflict_id: str, *, space: str, documents: DocumentStore) -> ConflictRecord:
    """Return the pending conflict of an id, or raise an error that helps."""
    pending = parse_conflict(await documents.document(space, PENDING_COLLECTION, conflict_id))
    if pending is not None:
        settled = await counterpart(pending, documents=documents)
        if settled is not None and is_decided(pending, settled):
            await delete_conflict(pending, documents=documents)
            raise _settled_error(settled)
        if settled is not None and settled.resolved_at is not None:
            # The decision is undone or out of date.
            await delete_conflict(settled, documents=documents)
        return pending
    settled = parse_conflict(await documents.document(space, SETTLED_COLLECTION, conflict_id))
    if settled is not None:
        raise _settled_error(settled)
    ids = [document.key for document in await documents.latest_documents(space, PENDING_COLLECTION, limit=_PAGE)]
    near = tuple(difflib.get_close_matches(conflict_id, ids, n=_SUGGESTIONS, cutoff=0.5))
    hint = f"Did you mean {' or '.join(near)}?" if near else "`conflicts` lists the pending ones"
    raise NotFound(f"there is no conflict {conflict_id[:100]!r}", hint=hint, ref=conflict_id[:200], suggestions=near)


async def reopen(undone: Undone, *, space: str, store: RecordStore) -> tuple[str, ...]:
    """Make the conflicts pending again that an undone run had resolved; return their ids.

    All memories of a conflict that the run had changed must have been restored, else the decision remains.
    """
    run = undone.run
    changes = await store.run(space, run)
    restored = {
        written.id if written.branch == MAIN else branch_id(written.id, written.branch) for written in undone.done
    }
    not_restored = {change.memory_id for change in changes.changes} - restored if changes else set[str]()
    prefix = f"{run}/"
    reopened: list[str] = []
    after = prefix
    while page := await store.documents(space, RESOLUTIONS_COLLECTION, after=after, limit=_PAGE):
        for document in page:
            if document.value.get("run") != run:
                continue
            conflict_id = str(document.value.get("conflict"))
            conflict = parse_conflict(await store.document(space, SETTLED_COLLECTION, conflict_id))
            if conflict is not None and not_restored & {conflict.memory, conflict.other}:
                continue
            if conflict is not None and conflict.run == run:
                await _make_pending(conflict, documents=store)
                reopened.append(conflict.id)
            else:
                await store.delete_document(space, RESOLUTIONS_COLLECTION, document.key)
        after = page[-1].key
        if not after.startswith(prefix):
            break
    return tuple(reopened)


async def _obsolete(pending: Sequence[ConflictRecord], *, space: str, store: RecordStore) -> list[ConflictRecord]:
    """Return the pending conflicts without statements, and of those in both collections the one that does not count."""
    ids = dict.fromkeys(memory_id for conflict in pending for memory_id in (conflict.memory, conflict.other))
    memories = await load_current(ids, space=space, store=store)
    obsolete: list[ConflictRecord] = []
    for conflict in pending:
        settled = await counterpart(conflict, documents=store)
        if settled is not None and is_decided(conflict, settled):
            obsolete.append(conflict)
            continue
        obsolete += [settled] if settled is not None else []
        sides = [memories[side].characters for side in (conflict.memory, conflict.other) if side in memories]
        statements = await offload(sum(sides), find_statements, conflict, memories)
        obsolete += [conflict] if statements is None else []
    return obsolete


async def _make_pending(conflict: ConflictRecord, *, documents: DocumentStore) -> None:
    # It keeps the time of its resolution, which distinguishes it from one that was settled but not deleted.
    pending = replace(conflict, status=ConflictStatus.PENDING, strategy=None, notes="", resolved_by="", run="")
    # It may have been detected again meanwhile, and be pending already.
    with suppress(StaleVersion):
        await documents.put_document(pending.document(at=conflict.detected_at), base=None)
    await delete_conflict(conflict, documents=documents)


def _settled_error(conflict: ConflictRecord) -> WrongState:
    how = conflict.status.value if conflict.strategy is None else f"{conflict.status.value} by `{conflict.strategy}`"
    by = f" by {conflict.resolved_by}" if conflict.resolved_by else ""
    on = f" on {conflict.resolved_at:%Y-%m-%d %H:%M}" if conflict.resolved_at else ""
    hint = (
        f"`undo` of run {conflict.run} makes it pending again" if conflict.run else "`conflicts` lists the pending ones"
    )
    return WrongState(
        f"conflict {conflict.id} was {how}{by}{on}",
        hint=hint,
        conflict=conflict.id,
        strategy=conflict.strategy.value if conflict.strategy else "",
        run=conflict.run,
    )
