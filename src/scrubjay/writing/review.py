"""The inbox: where what agents write waits until a person says whether it is kept."""

from collections.abc import Sequence
from dataclasses import replace

from scrubjay.errors import WrongState
from scrubjay.lookup.references import SoundReader
from scrubjay.model.change import Origin
from scrubjay.model.draft import Draft, Selection
from scrubjay.model.memory import Flag, Memory, Method, State
from scrubjay.model.query import Filter
from scrubjay.model.results import Outcome
from scrubjay.model.rules import Rules
from scrubjay.ports import RecordStore
from scrubjay.writing.delete import StateChange, move
from scrubjay.writing.recheck import ConflictChecker

__all__ = ["approve", "decline", "inbox", "must_wait", "put_aside", "require_no_review"]

_BY_AGENTS = (Method.AGENT, Method.AUTO)


def must_wait(draft: Draft, *, rules: Rules) -> bool:
    """Whether a draft becomes a memory only when a person says so."""
    return rules.review == "all" or (rules.review == "agents" and draft.source.method in _BY_AGENTS)


def require_no_review(draft: Draft, *, rules: Rules) -> None:
    """Raise WrongState where a draft would have to wait and what it becomes cannot."""
    if must_wait(draft, rules=rules):
        raise WrongState(
            "here what is written waits for a person's yes, and what belongs to a knowledge graph cannot wait",
            hint="Use `remember`, or set the rule `review` of this space to none",
            rule="review",
        )


def put_aside(draft: Draft, memories: Sequence[Memory]) -> tuple[Draft, tuple[Memory, ...]]:
    """A draft and its records as they wait: the flag stays on them until a person says yes."""
    told = draft.with_decision("review", "waiting").with_warning("it waits for a person's yes and is not found before")
    if draft.pinned:
        told = told.with_warning("it was not pinned: `revise` it so when it is approved")
    flags = tuple(dict.fromkeys((*draft.flags, Flag.UNAPPROVED)))
    return replace(told, flags=flags), tuple(
        replace(memory, state=State.WAITING, pinned=False, flags=flags) for memory in memories
    )


async def inbox(space: str, *, store: RecordStore, limit: int) -> tuple[Memory, ...]:
    """What waits, the latest first."""
    ids = await store.list_ids(space, Filter(state=State.WAITING), limit=limit)
    return tuple(await SoundReader(store, space=space).get(ids))


async def approve(
    selection: Selection,
    *,
    space: str,
    origin: Origin,
    store: RecordStore,
    conflict_checker: ConflictChecker | None = None,
) -> Outcome:
    """Make live what waited; under a name of its own if another has taken its name."""
    return await move(
        selection, StateChange.APPROVE, space=space, origin=origin, store=store, conflict_checker=conflict_checker
    )


async def decline(selection: Selection, *, space: str, origin: Origin, store: RecordStore) -> Outcome:
    """Put what waited into the trash."""
    return await move(selection, StateChange.DECLINE, space=space, origin=origin, store=store)
