"""`MemoryClient`: the verbs for Python programs, done by the daemon or by an engine opened in this process."""

from types import TracebackType

from scrubjay.client.customs import Customs
from scrubjay.client.keeping import Keeping
from scrubjay.client.knowledge import Knowledge
from scrubjay.client.memories import Memories
from scrubjay.client.past import Past
from scrubjay.engine import Engine
from scrubjay.model.draft import Caller

__all__ = ["MemoryClient"]


class MemoryClient(Memories, Past, Knowledge, Customs, Keeping):
    """One space of one memory. Use it as an async context manager.

    It talks to the daemon of the data folder when one runs, else it opens the store itself. With `url` it talks to a
    server over HTTP, and shows it the `token`; with `path` it opens the store in that folder, whoever else does.
    """

    @classmethod
    def over(cls, engine: Engine, who: Caller) -> "MemoryClient":
        """A client over an engine that somebody else has opened, and closes."""
        return _Borrowing(engine, who)


class _Borrowing(MemoryClient):
    """A client that is open as long as its engine is."""

    def __init__(self, engine: Engine, who: Caller) -> None:
        self._who = who
        self._engine = engine

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Leave the engine to its owner."""
