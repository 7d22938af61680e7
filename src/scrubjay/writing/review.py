"""The inbox: where what agents write waits until a person says whether it is kept."""

from scrubjay.model.change import Origin
from scrubjay.model.draft import Draft
from scrubjay.model.memory import Memory, Method, State
from scrubjay.model.query import Filter
from scrubjay.model.results import Outcome
from scrubjay.model.rules import Rules
from scrubjay.ports import RecordStore
from scrubjay.references import SoundReader
from scrubjay.writing.dispose import Move, Selection, move

__all__ = ["approve", "decline", "inbox", "must_wait"]

_BY_AGENTS = (Method.AGENT, Method.AUTO)


def must_wait(draft: Draft, *, rules: Rules) -> bool:
    """Whether a draft becomes a memory only when a person says so."""
    return rules.review == "all" or (rules.review == "agents" and draft.source.method in _BY_AGENTS)


async def inbox(space: str, *, store: RecordStore, limit: int) -> tuple[Memory, ...]:
    """What waits, the latest first."""
    ids = await store.list_ids(space, Filter(state=State.WAITING), limit=limit)
    return tuple(await SoundReader(store, space=space).get(ids))


async def approve(selection: Selection, *, space: str, origin: Origin, store: RecordStore) -> Outcome:
    """Make live what waited; under a name of its own if another has taken its name."""
    return await move(selection, Move.APPROVE, space=space, origin=origin, store=store)


async def decline(selection: Selection, *, space: str, origin: Origin, store: RecordStore) -> Outcome:
    """Put what waited into the trash."""
    return await move(selection, Move.DECLINE, space=space, origin=origin, store=store)
