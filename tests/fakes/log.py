"""The change log of the fake store."""

from scrubjay.model.change import Action, Change
from scrubjay.ports import Run
from tests.fakes.state import Housed

_NOT_UNDOABLE = frozenset({Action.EMBEDDED, Action.PURGED, Action.IMPORTED})


class FakeLog(Housed):
    """The port `ChangeLog`."""

    async def changes(self, *, after: int, limit: int) -> list[Change]:
        """Changes in order."""
        return [change for change in self._house.changes if change.seq > after][:limit]

    async def changes_in(self, space: str, *, after: int, limit: int) -> list[Change]:
        """Changes of one space in order."""
        return [change for change in self._house.changes if change.space == space and change.place > after][:limit]

    async def last_place(self, space: str) -> int:
        """How many changes a space has seen."""
        return self._house.last_place(space)

    async def last_seq(self) -> int:
        """The number of the newest change."""
        return self._house.last_seq

    async def last_run(self, space: str, *, agent: str) -> Run | None:
        """The newest run of an agent that can be undone."""
        for change in reversed(self._house.changes):
            if (
                (change.space, change.agent) == (space, agent)
                and change.action not in _NOT_UNDOABLE
                and not self._is_settled(change)
            ):
                return await self.run(space, change.run)
        return None

    async def run(self, space: str, run: str) -> Run | None:
        """The newest run of that id or name: one that was undone ends there, and the name begins anew."""
        changes = [change for change in self._house.changes if (change.space, change.run) == (space, run)]
        if not changes:
            return None
        newest = changes[-1]
        same = [change for change in changes if self._series(change) == self._series(newest)]
        return Run(id=run, agent=newest.agent, changes=tuple(same))

    def _series(self, change: Change) -> tuple[str, int]:
        return change.agent, sum(seq < change.seq for seq in self._undoings(change))

    def _is_settled(self, change: Change) -> bool:
        is_undoing = any((space, origin.run) == (change.space, change.run) for space, origin, _ in self._house.undoings)
        return is_undoing or any(seq > change.seq for seq in self._undoings(change))

    def _undoings(self, change: Change) -> list[int]:
        return [
            seq for space, origin, seq in self._house.undoings if (space, origin.undoes) == (change.space, change.run)
        ]
