"""Where many notes stand, asked for at once and told one by one, as far as nothing has touched them since."""

from collections.abc import Mapping, Sequence

from scrubjay.errors import BodyDamaged
from scrubjay.model.memory import MAIN
from scrubjay.notes.syncing.hands import Hands
from scrubjay.notes.syncing.standing import Stance, stances

__all__ = ["Ahead"]

# When more has happened meanwhile, each is asked for by itself.
_MOST_CHANGES = 200


class Ahead:
    """The stances of some notes. What is done about one may change where others stand: those are asked for anew."""

    def __init__(self, hands: Hands) -> None:
        self._hands = hands
        self._known: dict[str, Stance] = {}
        self._changed: set[str] = set()
        self._place = 0

    async def look(self, ids: Sequence[str]) -> Mapping[str, Stance]:
        """Ask where some notes stand; where one cannot be read, each is asked for by itself later."""
        self._hands.ledger.touched.clear()
        self._changed.clear()
        self._place = await self._hands.store.last_place(self._hands.space)
        try:
            self._known = await stances(ids, hands=self._hands)
        except BodyDamaged:
            self._known = {}
        return dict(self._known)

    async def stance(self, memory_id: str) -> Stance:
        """Where a note stands now; raises BodyDamaged."""
        known = self._known.pop(memory_id, None)
        if known is not None:
            await self._heed()
            if self._still_stands(known):
                return known
        return (await stances([memory_id], hands=self._hands))[memory_id]

    async def _heed(self) -> None:
        """Note what the store was told since it was asked."""
        store, space = self._hands.store, self._hands.space
        if await store.last_place(space) == self._place:
            return
        changes = await store.changes_in(space, after=self._place, limit=_MOST_CHANGES)
        if len(changes) == _MOST_CHANGES:
            self._known.clear()
        for change in changes:
            self._changed.add(change.memory_id)
            self._changed |= {change.relation.source, change.relation.target} if change.relation else set[str]()
            self._place = change.place

    def _still_stands(self, stance: Stance) -> bool:
        # Of a branch that a file shows, also what was decided about it counts, which no change tells.
        is_plain = stance.agreed is None or stance.agreed.branch == MAIN
        # Of what is agreed on about others only what they are called counts, and then this one is touched as well.
        is_untouched = stance.id not in self._hands.ledger.touched
        return is_plain and is_untouched and self._changed.isdisjoint((stance.id, *stance.neighbours))
