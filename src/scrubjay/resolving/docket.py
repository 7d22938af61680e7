"""The conflicts as they are kept: on papers, in one drawer while they wait and in another when they are settled.

A paper is moved by filing it in the one and then throwing it away in the other. Who is cut off in between leaves it in
both, and whoever looks next puts that right.
"""

import difflib
from contextlib import suppress
from dataclasses import replace

from scrubjay.branches import branch_id
from scrubjay.errors import NotFound, StaleVersion, WrongState
from scrubjay.model.change import Origin
from scrubjay.model.conflict import PENDING_DRAWER, SETTLED_DRAWER, Conflict, ConflictStatus, sound
from scrubjay.model.memory import MAIN
from scrubjay.model.paper import Paper
from scrubjay.model.results import Undone
from scrubjay.ports import Papers, RecordStore

__all__ = [
    "all_in", "counterpart", "discard", "is_decided", "pending_or_raise", "reopen", "settled_before", "told_by_run",
]  # fmt: skip

# What a run has resolved, by its name and the conflict's id.
_RUNS = "resolutions"
_PAGE = 500
_SUGGESTIONS = 3


async def all_in(drawer: str, *, space: str, papers: Papers) -> list[Conflict]:
    """All conflicts in a drawer that can be read."""
    found: list[Conflict] = []
    after = ""
    while page := await papers.papers(space, drawer, after=after, limit=_PAGE):
        found += [conflict for paper in page if (conflict := sound(paper)) is not None]
        after = page[-1].key
    return found


async def discard(conflict: Conflict, *, papers: Papers) -> None:
    """Throw a conflict's papers away."""
    await papers.discard_paper(conflict.space, conflict.drawer, conflict.id)
    if conflict.run:
        await papers.discard_paper(conflict.space, _RUNS, f"{conflict.run}/{conflict.id}")


async def counterpart(conflict: Conflict, *, papers: Papers) -> Conflict | None:
    """The same conflict in the other drawer."""
    drawer = SETTLED_DRAWER if conflict.drawer == PENDING_DRAWER else PENDING_DRAWER
    return sound(await papers.paper(conflict.space, drawer, conflict.id))


def is_decided(waiting: Conflict, settled: Conflict) -> bool:
    """Whether of the same conflict in both drawers the settled one counts: it is neither undone nor out of date."""
    if settled.resolved_at is None:
        return False
    reopened = waiting.resolved_at == settled.resolved_at
    found_again = settled.status is ConflictStatus.RESOLVED and waiting.detected_at > settled.resolved_at
    return not reopened and not found_again


async def settled_before(conflict: Conflict, *, papers: Papers) -> Conflict | None:
    """What was decided about a conflict that waits; None where that is undone or out of date, and then thrown away."""
    settled = await counterpart(conflict, papers=papers)
    if settled is None or is_decided(conflict, settled):
        return settled
    if settled.resolved_at is not None:
        await discard(settled, papers=papers)
    return None


async def pending_or_raise(conflict_id: str, *, space: str, papers: Papers) -> Conflict:
    """The conflict that waits under an id, or an error that helps."""
    waiting = sound(await papers.paper(space, PENDING_DRAWER, conflict_id))
    if waiting is not None:
        settled = await settled_before(waiting, papers=papers)
        if settled is None:
            return waiting
        await discard(waiting, papers=papers)
        raise _is_settled(settled)
    settled = sound(await papers.paper(space, SETTLED_DRAWER, conflict_id))
    if settled is not None:
        raise _is_settled(settled)
    ids = [one.key for one in await papers.latest_papers(space, PENDING_DRAWER, limit=_PAGE)]
    near = tuple(difflib.get_close_matches(conflict_id, ids, n=_SUGGESTIONS, cutoff=0.5))
    hint = f"Did you mean {' or '.join(near)}?" if near else "`conflicts` lists those that wait"
    raise NotFound(f"there is no conflict {conflict_id[:100]!r}", hint=hint, ref=conflict_id[:200], suggestions=near)


def told_by_run(conflict: Conflict, *, origin: Origin) -> Paper:
    """The paper by which the undoing of a run finds what that has resolved."""
    return Paper(
        space=conflict.space,
        drawer=_RUNS,
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
    run, papers = undone.run, store
    changes = await store.run(space, run)
    back = {one.id if one.branch == MAIN else branch_id(one.id, one.branch) for one in undone.done}
    left = {one.memory_id for one in changes.changes} - back if changes else set[str]()
    prefix = f"{run}/"
    opened: list[str] = []
    after = prefix
    while page := await papers.papers(space, _RUNS, after=after, limit=_PAGE):
        for paper in (one for one in page if one.value.get("run") == run):
            conflict = sound(await papers.paper(space, SETTLED_DRAWER, str(paper.value.get("conflict"))))
            if conflict is not None and left & {conflict.memory, conflict.other}:
                continue
            if conflict is not None and conflict.run == run:
                await _wait_again(conflict, papers=papers)
                opened.append(conflict.id)
            else:
                await papers.discard_paper(space, _RUNS, paper.key)
        after = page[-1].key
        if not after.startswith(prefix):
            break
    return tuple(opened)


async def _wait_again(conflict: Conflict, *, papers: Papers) -> None:
    # The moment stays on it: so it is told from one that somebody settled and could not throw away.
    waiting = replace(conflict, status=ConflictStatus.PENDING, strategy=None, notes="", resolved_by="", run="")
    # It may have been found anew meanwhile, and wait already.
    with suppress(StaleVersion):
        await papers.file_paper(waiting.paper(at=conflict.detected_at), base=None)
    await discard(conflict, papers=papers)


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
