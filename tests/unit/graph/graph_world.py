"""A graph, and the other tools over the same store."""

from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field

from tests.unit.harness import SPACE, Harness

from scrubjay.graph.entity import Entity, EntityRelation
from scrubjay.graph.knowledge import KnowledgeGraph
from scrubjay.graph.nodes import GraphPosition, GraphWalk
from scrubjay.model.memory import Method, Source
from scrubjay.recalling.text_cache import TextCaches


async def _nothing() -> None:
    """Do nothing after a commit."""


@dataclass(kw_only=True)
class GraphHarness:
    """A graph, the other tools over the same store, and shortcuts to both."""

    harness: Harness
    text_caches: TextCaches = field(default_factory=TextCaches)
    after_commit: Callable[[], Awaitable[None]] = _nothing

    @property
    def graph(self) -> KnowledgeGraph:
        return KnowledgeGraph(
            context=self.harness.context, text_caches=self.text_caches, clock=self.harness.clock, space=SPACE,
            origin=self.harness.origin(),
            source=Source(method=Method.AGENT, agent="tester"), after_commit=self.after_commit, project="garden",
        )  # fmt: skip

    async def create(self, *names: str) -> None:
        """Create entities with only a name and a type."""
        await self.graph.create_entities([Entity(name=name, type="thing") for name in names])

    async def relate(self, *links: tuple[str, str, str]) -> None:
        await self.graph.create_relations([link(*ends) for ends in links])

    async def entities(self) -> list[Entity]:
        return [item for item in await walk_items(await self.graph.walk_all()) if isinstance(item, Entity)]

    async def names(self) -> list[str]:
        return [entity.name for entity in await self.entities()]

    async def links(self) -> list[EntityRelation]:
        return [item for item in await walk_items(await self.graph.walk_all()) if isinstance(item, EntityRelation)]

    async def walk_named(self, *names: str) -> list[Entity | EntityRelation]:
        return await walk_items(await self.graph.walk_named(names))

    async def walk_matching(self, query: str) -> list[Entity | EntityRelation]:
        walk, _ = await self.graph.walk_matching(query)
        return await walk_items(walk)


async def walk_items(walk: GraphWalk) -> list[Entity | EntityRelation]:
    return [item async for _, item in walk.items(GraphPosition())]


def link(source: str, target: str, kind: str = "knows") -> EntityRelation:
    return EntityRelation(source=source, target=target, type=kind)
