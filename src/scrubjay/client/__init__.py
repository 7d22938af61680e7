"""`MemoryClient`: the verbs for Python programs, done by the daemon or by an engine opened in this process."""

from types import TracebackType
from typing import TYPE_CHECKING

from scrubjay.client.health import ClientHealth
from scrubjay.client.knowledge import ClientKnowledge
from scrubjay.client.memories import ClientMemories
from scrubjay.client.notes import ClientNotes
from scrubjay.client.space_admin import ClientSpaceAdmin
from scrubjay.client.versions import ClientVersions
from scrubjay.model.draft import Caller

if TYPE_CHECKING:
    from scrubjay.engine import Engine
    from scrubjay.notes.service import Notes
    from scrubjay.rpc.engine import RemoteEngine

__all__ = ["MemoryClient"]


class MemoryClient(ClientMemories, ClientVersions, ClientKnowledge, ClientNotes, ClientSpaceAdmin, ClientHealth):
    """One space of one memory. Use it as an async context manager.

    It talks to the daemon of the data folder when one runs, else it opens the store itself. With `url` it talks to a
    server over HTTP, and shows it the `token`; with `path` it opens the store in that folder, whoever else does.
    """

    @classmethod
    def over(cls, engine: "Engine", who: Caller, *, notes: "Notes | None" = None) -> "MemoryClient":
        """A client over an engine and notes that somebody else has opened, and closes."""
        return _Borrowing(engine, who, notes)


class _Borrowing(MemoryClient):
    """A client that is open as long as its engine is."""

    def __init__(self, engine: "Engine", who: Caller, notes: "Notes | None") -> None:
        self._who = who
        self._engine = self._lent = engine
        self._notes = notes

    async def _noting(self) -> "Notes | RemoteEngine":
        """The desk that was lent too."""
        if self._notes is None:
            from scrubjay.notes.service import Notes  # noqa: PLC0415 - for the few who keep notes

            self._notes = Notes(engine=self._lent)
        return self._notes

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Leave the engine to its owner."""
