"""The vectors of the fake store."""

from collections.abc import Iterator, Sequence

from scrubjay.model.passage import Point, Vector, passage_id
from scrubjay.model.query import Filter, facet, facets_of
from scrubjay.model.timestamps import to_micros
from tests.fakes.state import Entry, Housed, Room


class FakeVectorStore(Housed):
    """The reading half of the port `VectorShelf`."""

    async def vectors(self, space: str, model: str, hashes: Sequence[bytes]) -> dict[bytes, Vector]:
        """Stored vectors by text hash."""
        kept = self._house.room(space).vectors
        return {key: kept[model, key] for key in hashes if (model, key) in kept}

    async def embedded(self, space: str, model: str, hashes: Sequence[bytes]) -> set[bytes]:
        """Which texts have a vector."""
        return set(await self.vectors(space, model, hashes))

    async def without_vectors(self, model: str, *, limit: int) -> list[tuple[str, str]]:
        """(space, memory id) of memories that lack a vector."""
        lacking = [
            (entry.number, space, entry.memory.id)
            for space, room in self._house.rooms.items()
            for entry in room.entries.values()
            if any((model, passage.hash) not in room.vectors for passage in entry.passages)
        ]
        return [(space, memory_id) for _, space, memory_id in sorted(lacking)[:limit]]

    async def points(self, model: str, *, after: int, limit: int) -> list[Point]:
        """All embedded passages of all spaces, by number."""
        found = [point for point in self._all_points(model) if point.id > after]
        return sorted(found, key=lambda point: point.id)[:limit]

    async def points_of(self, model: str, numbers: Sequence[int]) -> list[Point]:
        """The embedded passages of some memories."""
        wanted = set(numbers)
        found = [
            point
            for room in self._house.rooms.values()
            for entry in room.entries.values()
            if entry.number in wanted
            for point in _points(entry, room, model=model)
        ]
        return sorted(found, key=lambda point: point.id)

    async def point_count(self, model: str) -> int:
        """How many points an index of this model has."""
        return sum(1 for _ in self._all_points(model))

    async def matching_passages(self, space: str, filter: Filter) -> Sequence[int]:
        """Numbers of all passages that pass a filter."""
        entries = self._house.room(space).passing(filter)
        return sorted(passage_id(entry.number, passage.ordinal) for entry in entries for passage in entry.passages)

    def _all_points(self, model: str) -> Iterator[Point]:
        for room in self._house.rooms.values():
            for entry in room.entries.values():
                yield from _points(entry, room, model=model)


def _points(entry: Entry, room: Room, *, model: str) -> Iterator[Point]:
    memory = entry.memory
    for passage in entry.passages:
        vector = room.vectors.get((model, passage.hash))
        if vector is not None:
            yield Point(
                id=passage_id(entry.number, passage.ordinal),
                space=memory.space,
                vector=vector,
                facets=(*facets_of(memory), facet("state", memory.state)),
                at=to_micros(memory.date),
            )
