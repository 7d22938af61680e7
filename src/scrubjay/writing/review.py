"""The inbox: memories that agents write wait there until a person approves them."""

from collections.abc import Sequence
from dataclasses import replace

from scrubjay.errors import WrongState
from scrubjay.lookup.references import TolerantReader
from scrubjay.model.change import Origin
from scrubjay.model.draft import Draft
from scrubjay.model.memory import AGENT_METHODS, Flag, Memory, State
from scrubjay.model.query import Filter
from scrubjay.model.requests import Selection
from scrubjay.model.results import Outcome
from scrubjay.model.rules import Rules
from scrubjay.ports import RecordStore
from scrubjay.writing.delete import StateChange, move
from scrubjay.writing.recheck import ConflictChecker

__all__ = ["approve", "decline", "inbox", "must_wait", "put_into_inbox", "require_no_review"]


def must_wait(draft: Draft, *, rules: Rules) -> bool:
    """Check whether a person must approve a draft."""
    return rules.review == "all" or (rules.review == "agents" and draft.source.method in AGENT_METHODS)


def require_no_review(draft: Draft, *, rules: Rules) -> None:
    """Raise WrongState for a draft that must be approved, where its memory cannot wait."""
    if must_wait(draft, rules=rules):
        raise WrongState(
            "in this space a person approves what is written, and a knowledge graph cannot wait for that",
            hint="Use `remember`, or set the rule `review` of this space to none",
            rule="review",
        )


def put_into_inbox(draft: Draft, memories: Sequence[Memory]) -> tuple[Draft, tuple[Memory, ...]]:
    """Return a draft and its records as they wait; the flag stays on them until a person approves."""
    draft = draft.with_decision("review", "waiting").with_warning("it waits for approval and is not found before")
    if draft.pinned:
        draft = draft.with_warning("it was not pinned: pin it with `revise` after approval")
    flags = tuple(dict.fromkeys((*draft.flags, Flag.UNAPPROVED)))
    return replace(draft, flags=flags), tuple(
        replace(memory, state=State.WAITING, pinned=False, flags=flags) for memory in memories
    )


async def inbox(space: str, *, store: RecordStore, limit: int) -> tuple[Memory, ...]:
    """Return the memories that wait, the latest first."""
    ids = await store.list_ids(space, Filter(state=State.WAITING), limit=limit)
    return tuple(await TolerantReader(store, space=space).get(ids))


async def approve(
    selection: Selection,
    *,
    space: str,
    origin: Origin,
    store: RecordStore,
    conflict_checker: ConflictChecker | None = None,
) -> Outcome:
    """Make waiting memories live; one whose name is taken gets a name of its own."""
    return await move(
        selection, StateChange.APPROVE, space=space, origin=origin, store=store, conflict_checker=conflict_checker
    )


async def decline(selection: Selection, *, space: str, origin: Origin, store: RecordStore) -> Outcome:
    """Move waiting memories to the trash."""
    return await move(selection, StateChange.DECLINE, space=space, origin=origin, store=store)
