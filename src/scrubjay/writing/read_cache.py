"""What one write asks of the index and the store: asked once, though several stages want to know it."""

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass, field

from scrubjay.detection.candidates import Grounds
from scrubjay.detection.neighbours import Searcher
from scrubjay.model.memory import Memory
from scrubjay.model.passage import StoredPassage, Vector
from scrubjay.model.query import Filter

__all__ = ["ReadCache"]

_ALL = Filter()
_Near = list[tuple[int, float]]


@dataclass(frozen=True, slots=True, kw_only=True)
class ReadCache:
    """Store and index in one moment; whoever looks again later makes another one."""

    store: Grounds
    index: Searcher
    _near: dict[tuple[str, bytes, int], asyncio.Future[_Near]] = field(
        default_factory=dict[tuple[str, bytes, int], "asyncio.Future[_Near]"], init=False
    )
    _memories: dict[str, Memory | None] = field(default_factory=dict[str, Memory | None], init=False)
    _passages: dict[int, StoredPassage | None] = field(default_factory=dict[int, StoredPassage | None], init=False)

    async def search(self, space: str, vector: Vector, filter: Filter, *, limit: int) -> _Near:
        """(passage number, cosine), best first; the whole space is searched once for each vector."""
        if filter != _ALL:
            return await self.index.search(space, vector, filter, limit=limit)
        key = space, vector.tobytes(), limit
        if key not in self._near:
            self._near[key] = asyncio.ensure_future(self.index.search(space, vector, filter, limit=limit))
        return list(await self._near[key])

    async def get(self, space: str, ids: Sequence[str]) -> dict[str, Memory]:
        """The memories that exist, by id, each read once."""
        missing = [id_ for id_ in ids if id_ not in self._memories]
        if missing:
            self._memories.update(dict.fromkeys(missing) | await self.store.get(space, missing))
        return {id_: memory for id_ in ids if (memory := self._memories.get(id_)) is not None}

    async def stored_passages(self, space: str, ids: Sequence[int], *, around: int = 0) -> list[StoredPassage]:
        """Passages by number, each read once."""
        if around:
            return await self.store.stored_passages(space, ids, around=around)
        missing = [id_ for id_ in ids if id_ not in self._passages]
        if missing:
            read = await self.store.stored_passages(space, missing)
            self._passages.update(dict.fromkeys(missing) | {one.id: one for one in read})
        return [passage for fromkey in dict.fromkeys(ids) if (passage := self._passages.get(fromkey)) is not None]

    async def list_ids(self, space: str, filter: Filter, *, limit: int, after: str | None = None) -> list[str]:
        """Ids that pass a filter, most recently updated first."""
        return await self.store.list_ids(space, filter, limit=limit, after=after)

    async def passage_numbers(self, space: str, memory_ids: Sequence[str]) -> list[int]:
        """The numbers of all passages of some memories."""
        return await self.store.passage_numbers(space, memory_ids)

    async def vectors(self, space: str, model: str, hashes: Sequence[bytes]) -> dict[bytes, Vector]:
        """Stored vectors by text hash."""
        return await self.store.vectors(space, model, hashes)

    async def lexical_candidates(
        self, space: str, terms: Sequence[str], filter: Filter, *, limit: int
    ) -> list[tuple[int, float]]:
        """(passage number, weight) of passages that have some of the terms, best first."""
        return await self.store.lexical_candidates(space, terms, filter, limit=limit)
