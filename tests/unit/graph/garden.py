"""A graph, and the other tools over the same store."""

from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field

from tests.unit.write_world import SPACE, Workshop

from scrubjay.graph.entity import Entity, Link
from scrubjay.graph.knowledge import KnowledgeGraph
from scrubjay.graph.walk import Place, Walk
from scrubjay.model.memory import Method, Source
from scrubjay.recalling.text_cache import TextCaches


async def _nothing() -> None:
    """Nobody follows."""


@dataclass(kw_only=True)
class Garden:
    """A graph, the other tools over the same store, and short ways to look at both."""

    shop: Workshop
    text_caches: TextCaches = field(default_factory=TextCaches)
    settled: Callable[[], Awaitable[None]] = _nothing

    @property
    def graph(self) -> KnowledgeGraph:
        return KnowledgeGraph(
            context=self.shop.context, text_caches=self.text_caches, clock=self.shop.clock, space=SPACE,
            origin=self.shop.origin(),
            source=Source(method=Method.AGENT, agent="tester"), settled=self.settled, project="garden",
        )  # fmt: skip

    async def create(self, *names: str) -> None:
        """Entities that only have a name and a type."""
        await self.graph.create_entities([Entity(name=name, type="thing") for name in names])

    async def relate(self, *links: tuple[str, str, str]) -> None:
        await self.graph.create_relations([link(*one) for one in links])

    async def entities(self) -> list[Entity]:
        return [one for one in await told(await self.graph.everything()) if isinstance(one, Entity)]

    async def names(self) -> list[str]:
        return [entity.name for entity in await self.entities()]

    async def links(self) -> list[Link]:
        return [one for one in await told(await self.graph.everything()) if isinstance(one, Link)]

    async def opened(self, *names: str) -> list[Entity | Link]:
        return await told(await self.graph.opened(names))

    async def searched(self, query: str) -> list[Entity | Link]:
        walk, _ = await self.graph.searched(query)
        return await told(walk)


async def told(walk: Walk) -> list[Entity | Link]:
    return [thing async for _, thing in walk.things(Place())]


def link(source: str, target: str, kind: str = "knows") -> Link:
    return Link(source=source, target=target, type=kind)
