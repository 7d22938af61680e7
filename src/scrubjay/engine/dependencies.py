"""The interfaces of the index and the job runner of an engine."""

from collections.abc import Sequence
from typing import Protocol

from scrubjay.model.job import Job
from scrubjay.model.passage import Vector
from scrubjay.model.query import Filter


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


class JobRunner(Protocol):
    """Runs the jobs that a write queues."""

    async def take(self, jobs: Sequence[Job], *, waits: bool) -> None:
        """Run jobs later, or now if the caller waits for them."""
        ...
