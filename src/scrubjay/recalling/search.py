"""The one thing recall needs of a vector index."""

from typing import Protocol

from scrubjay.model.passage import Vector
from scrubjay.model.query import Filter


class Searcher(Protocol):
    """Finds the passages nearest to a vector."""

    async def search(self, space: str, vector: Vector, filter: Filter, *, limit: int) -> list[tuple[int, float]]:
        """(passage number, cosine), best first."""
        ...
