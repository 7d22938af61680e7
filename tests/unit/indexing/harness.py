"""A store and local indexes of it, small enough for a test."""

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import ClassVar

from tests.fakes import FakeEmbedder
from tests.fakes.build import (
    DIMENSION,
    MODEL,
    a_commit,
    a_memory,
    a_rewrite,
    an_origin,
    point_passes,
    revised,
    vector_of,
    vectors_for,
)

from scrubjay.errors import IndexUnavailable
from scrubjay.indexing.build import build_generation
from scrubjay.indexing.generations import LocalIndexPolicy
from scrubjay.indexing.local_index import LocalIndex, LocalIndexParts
from scrubjay.model.change import Action
from scrubjay.model.identity import new_id
from scrubjay.model.memory import Memory, State
from scrubjay.model.passage import Vector
from scrubjay.model.query import Filter
from scrubjay.ports import Profile, RecordStore, VectorIndex
from scrubjay.vectors.edge import EdgeIndex
from scrubjay.vectors.scan import ScanIndex

EVERYTHING = Filter()

Build = Callable[[Path], Awaitable[None]]
QUERY = vector_of(b"a question")
# An index stores one byte for each dimension.
CLOSE = 0.01


class BreakableIndex(EdgeIndex):
    """An index that fails while `broken` is set, in every generation."""

    broken: ClassVar[bool] = False

    async def search(self, space: str, vector: Vector, filter: Filter, *, limit: int) -> list[tuple[int, float]]:
        if BreakableIndex.broken:
            raise IndexUnavailable("broken on purpose")
        return await super().search(space, vector, filter, limit=limit)

    async def search_many(
        self, space: str, vectors: Sequence[Vector], filter: Filter, *, limit: int
    ) -> list[list[tuple[int, float]]]:
        if BreakableIndex.broken:
            raise IndexUnavailable("broken on purpose")
        return await super().search_many(space, vectors, filter, limit=limit)


class UnflushableIndex(EdgeIndex):
    """An index that fails to flush once it is opened."""

    def flush(self) -> None:
        if self._is_on_disk:
            raise IndexUnavailable("cannot flush on purpose")
        super().flush()


@dataclass(kw_only=True)
class IndexHarness:
    """A store and a folder. `builds` counts the builds that a child process would do."""

    folder: Path
    store: RecordStore
    embedder: FakeEmbedder = field(default_factory=FakeEmbedder)
    kind: type[EdgeIndex] = EdgeIndex
    builds: int = 0

    def local_index(
        self, *, policy: LocalIndexPolicy | None = None, build: Build | None = None, in_memory: bool = False
    ) -> LocalIndex:
        parts = LocalIndexParts(
            profile=self.embedder.profile, kind=self.kind, scan=self._scan, build=build or self.build
        )
        return LocalIndex(self.store, parts, folder=None if in_memory else self.folder, policy=policy)

    async def build(self, target: Path) -> None:
        self.builds += 1
        await build_generation(self.store, self.kind, target, model=MODEL, dimension=DIMENSION)

    async def remember(self, *texts: str, space: str = "default", **fields: str) -> list[Memory]:
        kind, entity = fields.get("kind", "note"), fields.get("entity", "")
        # Names are unique, and other processes write too.
        memories = [a_memory(text, space=space, name=new_id(), kind=kind, entity=entity) for text in texts]
        await self.store.commit(a_commit(*memories, embedded=vectors_for(memories)))
        return memories

    async def revise(self, memory: Memory, content: str) -> Memory:
        new = revised(memory, content=content)
        await self.store.commit(a_commit(a_rewrite(new), embedded=vectors_for([new])))
        return new

    async def purge(self, memory: Memory) -> None:
        trashed = revised(memory, state=State.TRASHED)
        await self.store.commit(a_commit(a_rewrite(trashed, action=Action.TRASHED)))
        await self.store.purge(memory.space, [memory.id], origin=an_origin())

    async def check_search(self, index: LocalIndex, *, filter: Filter = EVERYTHING, space: str = "default") -> int:
        """Compare a search with an exact comparison of every stored point; returns the number of hits."""
        points = [
            point
            for point in await self.store.points(MODEL, after=-1, limit=10**6)
            if point.space == space and point_passes(point, filter)
        ]
        expected = {point.id: float(QUERY @ point.vector) for point in points}
        results = dict(await index.search(space, QUERY, filter, limit=10**6))
        assert set(results) == set(expected)
        assert all(abs(cosine - expected[number]) < CLOSE for number, cosine in results.items())
        return len(results)

    def generations(self) -> list[str]:
        return sorted(path.name for path in self.folder.glob("gen-*"))

    def _scan(self, profile: Profile) -> VectorIndex:
        return ScanIndex(self.store, profile.model, dimension=profile.dimension)


async def kind_of(index: LocalIndex) -> str:
    return str((await index.describe())["kind"])


async def generation_of(index: LocalIndex) -> str:
    return str((await index.describe())["generation"])


async def problem_of(index: LocalIndex) -> str:
    return str((await index.describe())["problem"])
