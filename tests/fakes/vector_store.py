"""The vectors of the fake store."""

from collections.abc import Iterator, Sequence

from scrubjay.model.passage import Point, Vector, passage_id
from scrubjay.model.query import Filter, facet, facets_of
from scrubjay.model.timestamps import to_micros
from tests.fakes.state import Entry, FakePart, SpaceState


class FakeVectorStore(FakePart):
    """The reading half of the port `VectorStore`."""

    async def vectors(self, space: str, model: str, hashes: Sequence[bytes]) -> dict[bytes, Vector]:
        """Return stored vectors by text hash."""
        stored = self._state.space(space).vectors
        return {key: stored[model, key] for key in hashes if (model, key) in stored}

    async def embedded(self, space: str, model: str, hashes: Sequence[bytes]) -> set[bytes]:
        """Return the texts that have a vector."""
        return set(await self.vectors(space, model, hashes))

    async def without_vectors(self, model: str, *, limit: int) -> list[tuple[str, str]]:
        """Return (space, memory id) of memories that lack a vector."""
        lacking = [
            (entry.number, space, entry.memory.id)
            for space, space_state in self._state.spaces.items()
            for entry in space_state.entries.values()
            if any((model, passage.hash) not in space_state.vectors for passage in entry.passages)
        ]
        return [(space, memory_id) for _, space, memory_id in sorted(lacking)[:limit]]

    async def points(self, model: str, *, after: int, limit: int) -> list[Point]:
        """Return all embedded passages of all spaces, by number."""
        results = [point for point in self._all_points(model) if point.id > after]
        return sorted(results, key=lambda point: point.id)[:limit]

    async def points_of(self, model: str, numbers: Sequence[int]) -> list[Point]:
        """Return the embedded passages of some memories."""
        expected = set(numbers)
        results = [
            point
            for space_state in self._state.spaces.values()
            for entry in space_state.entries.values()
            if entry.number in expected
            for point in _points(entry, space_state, model=model)
        ]
        return sorted(results, key=lambda point: point.id)

    async def point_count(self, model: str) -> int:
        """Return the number of points of a model."""
        return sum(1 for _ in self._all_points(model))

    async def matching_passages(self, space: str, filter: Filter) -> Sequence[int]:
        """Return the numbers of all passages that pass a filter."""
        entries = self._state.space(space).passing(filter)
        return sorted(passage_id(entry.number, passage.ordinal) for entry in entries for passage in entry.passages)

    def _all_points(self, model: str) -> Iterator[Point]:
        for space_state in self._state.spaces.values():
            for entry in space_state.entries.values():
                yield from _points(entry, space_state, model=model)


def _points(entry: Entry, space_state: SpaceState, *, model: str) -> Iterator[Point]:
    memory = entry.memory
    for passage in entry.passages:
        vector = space_state.vectors.get((model, passage.hash))
        if vector is not None:
            yield Point(
                id=passage_id(entry.number, passage.ordinal),
                space=memory.space,
                vector=vector,
                facets=(*facets_of(memory), facet("state", memory.state)),
                at=to_micros(memory.date),
            )
