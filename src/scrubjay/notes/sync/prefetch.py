"""Where many notes stand, asked for at once and told one by one, as far as nothing has touched them since."""

from collections.abc import Mapping, Sequence

from scrubjay.errors import BodyDamaged
from scrubjay.model.memory import MAIN
from scrubjay.notes.sync.context import SyncContext
from scrubjay.notes.sync.state import NoteState, note_states

__all__ = ["Ahead"]

# When more has happened meanwhile, each is asked for by itself.
_MOST_CHANGES = 200


class Ahead:
    """The stances of some notes. What is done about one may change where others stand: those are asked for anew."""

    def __init__(self, context: SyncContext) -> None:
        self._context = context
        self._known: dict[str, NoteState] = {}
        self._changed: set[str] = set()
        self._place = 0

    async def look(self, ids: Sequence[str]) -> Mapping[str, NoteState]:
        """Ask where some notes stand; where one cannot be read, each is asked for by itself later."""
        self._context.ledger.touched.clear()
        self._changed.clear()
        self._place = await self._context.store.last_place(self._context.space)
        try:
            self._known = await note_states(ids, context=self._context)
        except BodyDamaged:
            self._known = {}
        return dict(self._known)

    async def state(self, memory_id: str) -> NoteState:
        """Where a note stands now; raises BodyDamaged."""
        known = self._known.pop(memory_id, None)
        if known is not None:
            await self._heed()
            if self._still_stands(known):
                return known
        return (await note_states([memory_id], context=self._context))[memory_id]

    async def _heed(self) -> None:
        """Note what the store was told since it was asked."""
        store, space = self._context.store, self._context.space
        if await store.last_place(space) == self._place:
            return
        changes = await store.changes_in(space, after=self._place, limit=_MOST_CHANGES)
        if len(changes) == _MOST_CHANGES:
            self._known.clear()
        for change in changes:
            self._changed.add(change.memory_id)
            self._changed |= {change.relation.source, change.relation.target} if change.relation else set[str]()
            self._place = change.place

    def _still_stands(self, state: NoteState) -> bool:
        # Of a branch that a file shows, also what was decided about it counts, which no change tells.
        is_plain = state.agreed is None or state.agreed.branch == MAIN
        # Of what is agreed on about others only what they are called counts, and then this one is touched as well.
        is_untouched = state.id not in self._context.ledger.touched
        return is_plain and is_untouched and self._changed.isdisjoint((state.id, *state.neighbours))
