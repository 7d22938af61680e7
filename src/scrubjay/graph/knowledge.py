"""A space as a knowledge graph: what agents do with entities and relations, over the memories that all tools share."""

import asyncio
from collections.abc import Awaitable, Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import TypeVar

from scrubjay.errors import NameTaken, StaleVersion
from scrubjay.graph import mutations
from scrubjay.graph.entity import Entity, Link
from scrubjay.graph.mutations import Texts
from scrubjay.graph.nodes import Nodes
from scrubjay.graph.walk import Walk
from scrubjay.model.change import Origin
from scrubjay.model.draft import Draft
from scrubjay.model.memory import Source
from scrubjay.model.rules import Rules
from scrubjay.ports import Clock
from scrubjay.recalling.text_cache import TextCaches
from scrubjay.writing.batch import Batch, write_batch
from scrubjay.writing.context import WriteContext
from scrubjay.writing.deny import require_allowed
from scrubjay.writing.review import require_no_review
from scrubjay.writing.rules import load_rules
from scrubjay.writing.screen import redact_text

T = TypeVar("T")
# Whoever was faster has made progress; so many of them in a row are a crowd.
_TRIES = 100


@dataclass(frozen=True, slots=True, kw_only=True)
class KnowledgeGraph:
    """The graph of one space, for one caller. `settled` is called after every commit."""

    context: WriteContext
    text_caches: TextCaches
    clock: Clock
    space: str
    origin: Origin
    source: Source
    settled: Callable[[], Awaitable[None]]
    project: str = ""
    embed: bool = True

    async def create_entities(self, entities: Sequence[Entity]) -> list[Entity]:
        """Make the entities whose names are free; tells which those were."""
        clean = await self._cleaner(_draft(entity.name, entity.type, *entity.observations) for entity in entities)
        given = [
            Entity(
                name=clean(entity.name), type=clean(entity.type), observations=tuple(map(clean, entity.observations))
            )
            for entity in entities
        ]
        return await self._write(
            lambda nodes: mutations.create_entities(given, nodes=nodes, source=self.source, project=self.project)
        )

    async def create_relations(self, links: Sequence[Link]) -> list[Link]:
        """Make the relations that are not there yet; tells which those were."""
        clean = await self._cleaner(_draft(link.source, link.type, link.target) for link in links)
        given = [
            replace(link, source=clean(link.source), target=clean(link.target), type=clean(link.type)) for link in links
        ]
        return await self._write(lambda nodes: mutations.create_relations(given, nodes=nodes, source=self.source))

    async def add_observations(self, additions: Sequence[Texts]) -> list[Texts]:
        """Add to entities what they do not have yet, and tell what that was; raises NotFound and adds nothing."""
        clean = await self._cleaner(_draft(name, "", *texts) for name, texts in additions)
        given = [(clean(name), [clean(text) for text in texts]) for name, texts in additions]
        return await self._write(lambda nodes: mutations.add_observations(given, nodes=nodes, source=self.source))

    async def delete_entities(self, names: Sequence[str]) -> None:
        """Put entities into the trash, and remove every relation that names them."""
        await self._write(lambda nodes: _alone(mutations.delete_entities(names, nodes=nodes)))

    async def delete_observations(self, deletions: Sequence[Texts]) -> None:
        """Take observations from entities."""
        await self._write(lambda nodes: _alone(mutations.delete_observations(deletions, nodes=nodes)))

    async def delete_relations(self, links: Sequence[Link]) -> None:
        """Remove relations."""
        await self._write(lambda nodes: _alone(mutations.delete_relations(links, nodes=nodes)))

    async def everything(self) -> Walk:
        """A way through the whole graph."""
        nodes = self._nodes()
        return Walk(nodes=nodes, ids=await nodes.ids(), is_whole=True)

    async def searched(self, query: str) -> tuple[Walk, str]:
        """A way through the entities that contain a text, and what made finding them slow, if anything did."""
        nodes = self._nodes()
        found = await nodes.containing(query)
        return Walk(nodes=nodes, ids=found.ids), found.degraded

    async def opened(self, names: Sequence[str]) -> Walk:
        """A way through the entities with these names."""
        nodes = self._nodes()
        return Walk(nodes=nodes, ids=sorted((await nodes.live(names)).values()))

    async def require_allowed(self, entities: Sequence[Entity], links: Sequence[Link]) -> None:
        """Raise what `create_entities` and `create_relations` would, before anything of it is stored."""
        rules = (await load_rules(self.space, default=self.context.rules, documents=self.context.store)).rules
        drafts = [_draft(entity.name, entity.type, *entity.observations) for entity in entities]
        drafts += [_draft(link.source, link.type, link.target) for link in links]
        # There may be very many.
        await asyncio.to_thread(self._check, drafts, rules)

    async def _cleaner(self, drafts: Iterable[Draft]) -> Callable[[str], str]:
        """Takes secrets out of what is to be kept, before it is looked up: what is stored has none either.

        Raises WrongState where it would have to wait for a yes, and InvalidInput where a rule says never.
        """
        rules = (await load_rules(self.space, default=self.context.rules, documents=self.context.store)).rules
        self._check(drafts, rules)
        return partial(redact_text, rules=rules)

    def _check(self, drafts: Iterable[Draft], rules: Rules) -> None:
        require_no_review(Draft(text="", source=self.source), rules=rules)
        for draft in drafts:
            require_allowed(draft, rules=rules)

    async def _write(self, plan: Callable[[Nodes], Awaitable[tuple[Batch, T]]]) -> T:
        """Look, work out what is to be written, and write it; again when somebody else was faster."""
        for attempt in range(_TRIES):
            batch, answer = await plan(self._nodes())
            origin = replace(self.origin, at=self.clock.now())
            try:
                await write_batch(batch, space=self.space, origin=origin, context=self.context, embed=self.embed)
            except (StaleVersion, NameTaken):
                if attempt == _TRIES - 1:
                    raise
            else:
                await self.settled()
                return answer
        raise AssertionError  # pragma: no cover - the last attempt returns or raises

    def _nodes(self) -> Nodes:
        return Nodes(store=self.context.store, text_caches=self.text_caches, space=self.space, now=self.clock.now())


def _draft(name: str, kind: str, *texts: str) -> Draft:
    return Draft(text="", name=name, kind=kind, observations=texts)


async def _alone(plan: Awaitable[Batch]) -> tuple[Batch, None]:
    return await plan, None
