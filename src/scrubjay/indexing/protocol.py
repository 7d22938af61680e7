"""The interfaces of the indexes that are maintained here: on disk, and on a server that several processes share."""

from collections.abc import Callable
from contextlib import AbstractAsyncContextManager
from pathlib import Path
from typing import Protocol

from scrubjay.ports import BatchSearcher, ChangeLog, PassageSearcher, VectorIndex, VectorStore
from scrubjay.ports.cluster import Leadership

Candidacy = AbstractAsyncContextManager[Leadership]
"""Runs for the leadership of some work while the block lasts."""
CommitListener = Callable[[Callable[[], None]], AbstractAsyncContextManager[None]]
"""Calls a function soon after any server has committed, while the block lasts."""


class IndexSource(VectorStore, ChangeLog, Protocol):
    """The parts of a store that an index is built from."""

    @property
    def store_id(self) -> str:
        """The id of the store; it changes when the store is restored from a backup."""
        ...


class SettlingIndex(PassageSearcher, Protocol):
    """An index that is built in the background."""

    async def open(self) -> None:
        """Start a missing build."""
        ...

    async def settle(self) -> None:
        """Wait for a running build."""
        ...

    async def after_commit(self) -> None:
        """Apply the newest commits."""
        ...

    async def describe(self) -> dict[str, str | int | bool]:
        """Return its kind and its progress."""
        ...


class DiskIndex(VectorIndex, BatchSearcher, Protocol):
    """A vector index on disk."""

    @property
    def points(self) -> int:
        """The number of points."""
        ...

    @property
    def added(self) -> int:
        """The number of points added since the index was last optimised."""
        ...

    @property
    def was_interrupted(self) -> bool:
        """Whether the last process that used the index ended without closing it."""
        ...

    def flush(self) -> None:
        """Make the applied changes durable, then the cursor."""
        ...

    def optimise(self) -> None:
        """Make searches fast, however long it takes."""
        ...

    def abandon(self) -> None:
        """Close the index without making anything durable."""
        ...


class IndexKind(Protocol):
    """Creates and loads indexes of one kind. Both methods raise IndexUnavailable."""

    @property
    def name(self) -> str:
        """The name in `status`."""
        ...

    def create(self, folder: Path, *, store_id: str, model: str, dimension: int, cursor: int) -> DiskIndex:
        """Create an empty index; it does not count as complete until it is flushed or closed."""
        ...

    def load(self, folder: Path, *, store_id: str, model: str, dimension: int) -> DiskIndex:
        """Load the index in a folder, if it is complete and belongs to this store, model and dimension."""
        ...


class IndexState(Protocol):
    """The state of a remote index, as the server reports it."""

    @property
    def cursor(self) -> int | None:
        """The last change that is applied; None if there is no complete index of this store."""
        ...

    @property
    def is_foreign(self) -> bool:
        """Whether the index belongs to another store."""
        ...

    @property
    def rebuild_requested(self) -> bool:
        """Whether a server has requested a rebuild."""
        ...

    @property
    def problem(self) -> str:
        """Why there is no complete index; empty if there is one."""
        ...


class RemoteIndex(VectorIndex, Protocol):
    """An index on a server. Every request raises IndexUnavailable if the server does not answer."""

    @property
    def name(self) -> str:
        """The kind of the index, for `status`."""
        ...

    @property
    def full_name(self) -> str:
        """A name that no other index on the server has."""
        ...

    @property
    def labels(self) -> dict[str, str]:
        """The location of the index, for `status`; without secrets."""
        ...

    async def read_state(self, *, check_layout: bool = False) -> IndexState:
        """Read the state, and set `cursor` to it; `check_layout` also verifies the configuration of the collection."""
        ...

    async def begin_build(self, *, keep: bool) -> None:
        """Start a rebuild; with `keep` the old index stays complete meanwhile, and `apply` moves its cursor."""
        ...

    async def finish_build(self, *, cursor: int) -> None:
        """Remove the points of earlier builds, and mark the index as complete."""
        ...

    async def request_rebuild(self) -> None:
        """Ask the leading server to rebuild the index."""
        ...

    async def clear(self) -> None:
        """Remove all points of the model, and mark the index as missing."""
        ...

    def rewind(self, count: int) -> None:
        """Move the cursor back, so that the last changes are applied again."""
        ...

    async def count(self) -> int:
        """Return the number of points."""
        ...
