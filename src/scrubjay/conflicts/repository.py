"""The conflicts as they are kept: on papers, in one drawer while they wait and in another when they are settled.

A paper is moved by filing it in the one and then throwing it away in the other. Who is cut off in between leaves it in
both, and whoever looks next puts that right.
"""

import difflib
from contextlib import suppress
from dataclasses import replace

from scrubjay.errors import NotFound, StaleVersion, WrongState
from scrubjay.lookup.branches import branch_id
from scrubjay.model.change import Origin
from scrubjay.model.conflict import PENDING_COLLECTION, SETTLED_COLLECTION, Conflict, ConflictStatus, parse_conflict
from scrubjay.model.document import Document
from scrubjay.model.memory import MAIN
from scrubjay.model.results import Undone
from scrubjay.ports import DocumentStore, RecordStore

__all__ = [
    "all_in", "counterpart", "discard", "is_decided", "pending_or_raise", "reopen", "settled_before", "told_by_run",
]  # fmt: skip

# What a run has resolved, by its name and the conflict's id.
_RUNS = "resolutions"
_PAGE = 500
_SUGGESTIONS = 3


async def all_in(collection: str, *, space: str, documents: DocumentStore) -> list[Conflict]:
    """All conflicts in a drawer that can be read."""
    found: list[Conflict] = []
    after = ""
    while page := await documents.documents(space, collection, after=after, limit=_PAGE):
        found += [conflict for document in page if (conflict := parse_conflict(document)) is not None]
        after = page[-1].key
    return found


async def discard(conflict: Conflict, *, documents: DocumentStore) -> None:
    """Throw a conflict's papers away."""
    await documents.delete_document(conflict.space, conflict.collection, conflict.id)
    if conflict.run:
        await documents.delete_document(conflict.space, _RUNS, f"{conflict.run}/{conflict.id}")


async def counterpart(conflict: Conflict, *, documents: DocumentStore) -> Conflict | None:
    """The same conflict in the other drawer."""
    collection = SETTLED_COLLECTION if conflict.collection == PENDING_COLLECTION else PENDING_COLLECTION
    return parse_conflict(await documents.document(conflict.space, collection, conflict.id))


def is_decided(waiting: Conflict, settled: Conflict) -> bool:
    """Whether of the same conflict in both drawers the settled one counts: it is neither undone nor out of date."""
    if settled.resolved_at is None:
        return False
    reopened = waiting.resolved_at == settled.resolved_at
    found_again = settled.status is ConflictStatus.RESOLVED and waiting.detected_at > settled.resolved_at
    return not reopened and not found_again


async def settled_before(conflict: Conflict, *, documents: DocumentStore) -> Conflict | None:
    """What was decided about a conflict that waits; None where that is undone or out of date, and then thrown away."""
    settled = await counterpart(conflict, documents=documents)
    if settled is None or is_decided(conflict, settled):
        return settled
    if settled.resolved_at is not None:
        await discard(settled, documents=documents)
    return None


async def pending_or_raise(conflict_id: str, *, space: str, documents: DocumentStore) -> Conflict:
    """The conflict that waits under an id, or an error that helps."""
    waiting = parse_conflict(await documents.document(space, PENDING_COLLECTION, conflict_id))
    if waiting is not None:
        settled = await settled_before(waiting, documents=documents)
        if settled is None:
            return waiting
        await discard(waiting, documents=documents)
        raise _is_settled(settled)
    settled = parse_conflict(await documents.document(space, SETTLED_COLLECTION, conflict_id))
    if settled is not None:
        raise _is_settled(settled)
    ids = [document.key for document in await documents.latest_documents(space, PENDING_COLLECTION, limit=_PAGE)]
    near = tuple(difflib.get_close_matches(conflict_id, ids, n=_SUGGESTIONS, cutoff=0.5))
    hint = f"Did you mean {' or '.join(near)}?" if near else "`conflicts` lists those that wait"
    raise NotFound(f"there is no conflict {conflict_id[:100]!r}", hint=hint, ref=conflict_id[:200], suggestions=near)


def told_by_run(conflict: Conflict, *, origin: Origin) -> Document:
    """The paper by which the undoing of a run finds what that has resolved."""
    return Document(
        space=conflict.space,
        collection=_RUNS,
        key=f"{origin.run}/{conflict.id}",
        value={
            "about": {"memory_id": conflict.memory, "other_id": conflict.other},
            "run": origin.run,
            "conflict": conflict.id,
        },
        at=origin.at,
    )


async def reopen(undone: Undone, *, space: str, store: RecordStore) -> tuple[str, ...]:
    """Have the conflicts wait again that a run resolved which was undone; tells their ids.

    All that a conflict is about and the run had changed must have gone back: else the decision stands.
    """
    run, documents = undone.run, store
    changes = await store.run(space, run)
    back = {one.id if one.branch == MAIN else branch_id(one.id, one.branch) for one in undone.done}
    left = {change.memory_id for change in changes.changes} - back if changes else set[str]()
    prefix = f"{run}/"
    opened: list[str] = []
    after = prefix
    while page := await documents.documents(space, _RUNS, after=after, limit=_PAGE):
        for document in (one for one in page if one.value.get("run") == run):
            conflict = parse_conflict(
                await documents.document(space, SETTLED_COLLECTION, str(document.value.get("conflict")))
            )
            if conflict is not None and left & {conflict.memory, conflict.other}:
                continue
            if conflict is not None and conflict.run == run:
                await _wait_again(conflict, documents=documents)
                opened.append(conflict.id)
            else:
                await documents.delete_document(space, _RUNS, document.key)
        after = page[-1].key
        if not after.startswith(prefix):
            break
    return tuple(opened)


async def _wait_again(conflict: Conflict, *, documents: DocumentStore) -> None:
    # The moment stays on it: so it is told from one that somebody settled and could not throw away.
    waiting = replace(conflict, status=ConflictStatus.PENDING, strategy=None, notes="", resolved_by="", run="")
    # It may have been found anew meanwhile, and wait already.
    with suppress(StaleVersion):
        await documents.put_document(waiting.document(at=conflict.detected_at), base=None)
    await discard(conflict, documents=documents)


def _is_settled(conflict: Conflict) -> WrongState:
    how = conflict.status.value if conflict.strategy is None else f"{conflict.status.value} by `{conflict.strategy}`"
    by = f" by {conflict.resolved_by}" if conflict.resolved_by else ""
    on = f" on {conflict.resolved_at:%Y-%m-%d %H:%M}" if conflict.resolved_at else ""
    return WrongState(
        f"conflict {conflict.id} was {how}{by}{on}",
        hint=f"`undo` of run {conflict.run} has it wait again" if conflict.run else "`conflicts` lists those that wait",
        conflict=conflict.id,
        strategy=conflict.strategy.value if conflict.strategy else "",
        run=conflict.run,
    )
