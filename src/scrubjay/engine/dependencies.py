"""What an engine works with: its store, and the interfaces of its index and its job runner."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Protocol

from scrubjay.model.caller import Caller
from scrubjay.model.checks import require_own_look
from scrubjay.model.job import Job
from scrubjay.model.passage import Vector
from scrubjay.model.query import Filter
from scrubjay.ports import ChangeLog, DocumentStore, MemoryReader, RecordStore


@dataclass(frozen=True, slots=True, kw_only=True)
class StoreOwner:
    """Owns a store. Other packages see only these parts of it, and write memories with the verbs of the engine."""

    _store: RecordStore = field(repr=False)
    # The spaces that were seen to exist.
    _spaces: set[str] = field(default_factory=set[str], repr=False)

    async def require_own_look(self, who: Caller) -> None:
        """Raise NameTaken for a new space whose name looks like that of another one.

        Only to a caller of all spaces: to others it would reveal that the other one exists.
        """
        if not who.any_space or who.space in self._spaces:
            return
        names = await self._store.spaces()
        self._spaces.update(names)
        if who.space not in names:
            require_own_look(who.space, names, field="space")

    @property
    def reader(self) -> MemoryReader:
        """The memories, for reading."""
        return self._store

    @property
    def documents(self) -> DocumentStore:
        """The documents besides the memories, such as jobs and open conflicts."""
        return self._store

    @property
    def change_log(self) -> ChangeLog:
        """The changes of all spaces, for followers."""
        return self._store


@dataclass(frozen=True, slots=True, kw_only=True)
class PlainFile:
    """A file or folder in clear beside an encrypted store: where and what it is, and what to do about it."""

    path: Path
    what: str
    advice: str

    def __str__(self) -> str:
        return f"{self.path} ({self.what})"


class EngineIndex(Protocol):
    """A vector index that follows the store."""

    async def search(self, space: str, vector: Vector, filter: Filter, *, limit: int) -> list[tuple[int, float]]:
        """Return the passages nearest to a vector."""
        ...

    async def open(self) -> None:
        """Open the index; raises EmbeddingUnavailable without a model."""
        ...

    async def after_commit(self) -> None:
        """Apply the newest commits."""
        ...

    async def after_purge(self) -> None:
        """Remove purged points physically, not only from results."""
        ...

    async def rebuild(self) -> None:
        """Build the index again."""
        ...

    async def lag(self) -> int:
        """Return the number of changes that it has not applied."""
        ...

    async def describe(self) -> dict[str, str | int | bool]:
        """Return its kind and its progress."""
        ...

    async def close(self) -> None:
        """Release its resources."""
        ...


class Curator(Protocol):
    """Carries out the verbs of curation, which use those of the engine."""

    async def mark_undone(self, run: str, *, space: str) -> None:
        """Note that a run was taken back, if it is one of curation."""
        ...


class JobRunner(Protocol):
    """Runs the jobs that a write queues."""

    async def take(self, jobs: Sequence[Job], *, waits: bool) -> None:
        """Run jobs later, or now if the caller waits for them."""
        ...
