"""What an index on disk must offer to be kept here."""

from pathlib import Path
from typing import Protocol

from scrubjay.ports import ChangeLog, VectorIndex, VectorStore


class Source(VectorStore, ChangeLog, Protocol):
    """The side of a store that indexes are made from."""

    @property
    def store_id(self) -> str:
        """Changes when the store is restored from elsewhere."""
        ...


class DiskIndex(VectorIndex, Protocol):
    """A vector index on disk."""

    @property
    def points(self) -> int:
        """How many points it holds."""
        ...

    @property
    def added(self) -> int:
        """How many points were put since it was last optimised."""
        ...

    @property
    def was_cut_off(self) -> bool:
        """Whether the process that held it before ended without closing it."""
        ...

    def flush(self) -> None:
        """Make durable what was applied, then the cursor that says so."""
        ...

    def optimise(self) -> None:
        """Make searching fast, however long it takes."""
        ...

    def abandon(self) -> None:
        """Let go without making anything durable."""
        ...


class IndexKind(Protocol):
    """A way to make and open such indexes. Both raise IndexUnavailable."""

    @property
    def name(self) -> str:
        """What `status` calls it."""
        ...

    def create(self, folder: Path, *, store_id: str, model: str, dimension: int, cursor: int) -> DiskIndex:
        """An empty index that is nothing yet until it is flushed or closed."""
        ...

    def load(self, folder: Path, *, store_id: str, model: str, dimension: int) -> DiskIndex:
        """The index in a folder, if it is whole and of this store, model and dimension."""
        ...
