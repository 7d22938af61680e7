"""The change log of the fake store."""

from scrubjay.model.change import Action, Change
from scrubjay.ports import Run
from tests.fakes.state import FakePart

_NOT_UNDOABLE = frozenset({Action.EMBEDDED, Action.PURGED, Action.IMPORTED})


class FakeLog(FakePart):
    """The port `ChangeLog`."""

    async def changes(self, *, after: int, limit: int) -> list[Change]:
        """Return changes in order."""
        return [change for change in self._state.changes if change.seq > after][:limit]

    async def changes_in(self, space: str, *, after: int, limit: int) -> list[Change]:
        """Return changes of one space in order."""
        return [change for change in self._state.changes if change.space == space and change.place > after][:limit]

    async def last_place(self, space: str) -> int:
        """Return the number of changes of a space."""
        return self._state.last_place(space)

    async def last_seq(self) -> int:
        """Return the number of the newest change."""
        return self._state.last_seq

    async def last_run(self, space: str, *, agent: str) -> Run | None:
        """Return the newest run of an agent that can be undone."""
        for change in reversed(self._state.changes):
            if (
                (change.space, change.agent) == (space, agent)
                and change.action not in _NOT_UNDOABLE
                and not self._is_settled(change)
            ):
                return await self.run(space, change.run)
        return None

    async def run(self, space: str, run: str) -> Run | None:
        """Return the newest run with an id or name; after an undo the name begins a new run."""
        changes = [change for change in self._state.changes if (change.space, change.run) == (space, run)]
        if not changes:
            return None
        newest = changes[-1]
        same = [change for change in changes if self._series(change) == self._series(newest)]
        return Run(id=run, agent=newest.agent, changes=tuple(same))

    def _series(self, change: Change) -> tuple[str, int]:
        return change.agent, sum(seq < change.seq for seq in self._undoings(change))

    def _is_settled(self, change: Change) -> bool:
        is_undoing = any((space, origin.run) == (change.space, change.run) for space, origin, _ in self._state.undoings)
        return is_undoing or any(seq > change.seq for seq in self._undoings(change))

    def _undoings(self, change: Change) -> list[int]:
        return [
            seq for space, origin, seq in self._state.undoings if (space, origin.undoes) == (change.space, change.run)
        ]
