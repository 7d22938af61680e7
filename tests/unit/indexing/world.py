"""A store, and keepers of its index, small enough that everything happens within a test."""

from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import ClassVar

from tests.fakes import FakeEmbedder, FakeStore
from tests.fakes.build import (
    DIMENSION,
    MODEL,
    a_commit,
    a_memory,
    a_rewrite,
    an_origin,
    revised,
    vector_of,
    vectors_for,
)
from tests.fakes.index import point_passes

from scrubjay.errors import IndexUnavailable
from scrubjay.indexing.build import build_generation
from scrubjay.indexing.generation import Policy
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
# An index keeps vectors in a byte for each number.
CLOSE = 0.01


class Brittle(EdgeIndex):
    """An index that breaks when it is told to, whichever generation it is."""

    broken: ClassVar[bool] = False

    async def search(self, space: str, vector: Vector, filter: Filter, *, limit: int) -> list[tuple[int, float]]:
        if Brittle.broken:
            raise IndexUnavailable("broken on purpose")
        return await super().search(space, vector, filter, limit=limit)


class Unkeepable(EdgeIndex):
    """An index that can be made, and opened, and not flushed from then on."""

    def flush(self) -> None:
        if self._whole_on_disk:
            raise IndexUnavailable("no flushing today")
        super().flush()


@dataclass(kw_only=True)
class World:
    """One store and one folder. `builds` counts what would be done by a child process."""

    folder: Path
    store: RecordStore = field(default_factory=FakeStore)
    embedder: FakeEmbedder = field(default_factory=FakeEmbedder)
    kind: type[EdgeIndex] = EdgeIndex
    builds: int = 0

    def keeper(
        self, *, policy: Policy | None = None, build: Build | None = None, in_memory: bool = False
    ) -> LocalIndex:
        means = LocalIndexParts(
            profile=self.embedder.profile, kind=self.kind, scan=self._scan, build=build or self.build
        )
        return LocalIndex(self.store, means, folder=None if in_memory else self.folder, policy=policy)

    async def build(self, target: Path) -> None:
        self.builds += 1
        await build_generation(self.store, self.kind, target, model=MODEL, dimension=DIMENSION)

    async def remember(self, *texts: str, space: str = "default", **fields: str) -> list[Memory]:
        kind, entity = fields.get("kind", "note"), fields.get("entity", "")
        # Other processes write too, and names are unique.
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

    async def require_true(self, keeper: LocalIndex, *, filter: Filter = EVERYTHING, space: str = "default") -> int:
        """A search finds all that a comparison with every stored point finds; returns how much that is."""
        points = [
            point
            for point in await self.store.points(MODEL, after=-1, limit=10**6)
            if point.space == space and point_passes(point, filter)
        ]
        true = {point.id: float(QUERY @ point.vector) for point in points}
        results = dict(await keeper.search(space, QUERY, filter, limit=10**6))
        assert set(results) == set(true)
        assert all(abs(cosine - true[number]) < CLOSE for number, cosine in results.items())
        return len(results)

    def generations(self) -> list[str]:
        return sorted(path.name for path in self.folder.glob("gen-*"))

    def _scan(self, profile: Profile) -> VectorIndex:
        return ScanIndex(self.store, profile.model, dimension=profile.dimension)


async def kind_of(keeper: LocalIndex) -> str:
    return str((await keeper.describe())["kind"])


async def generation_of(keeper: LocalIndex) -> str:
    return str((await keeper.describe())["generation"])


async def problem_of(keeper: LocalIndex) -> str:
    return str((await keeper.describe())["problem"])
