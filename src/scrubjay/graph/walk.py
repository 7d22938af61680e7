"""Reading a graph thing by thing: each entity, then the relations that come with it.

A relation comes with the first of its ends; those that have no entity at either end come last. So whoever stops
anywhere and goes on from there later sees everything once, and each entity together with what it is related to.
"""

from bisect import bisect_left
from collections.abc import AsyncGenerator, Sequence
from dataclasses import dataclass

from scrubjay.graph.entity import Entity, Link, entity_of, type_of
from scrubjay.graph.nodes import Nodes, by_name
from scrubjay.model.memory import Memory
from scrubjay.model.relation import Relation

_PAGE = 50
_RELATIONS = 100
# Sorts after every id.
_LAST = "~"


@dataclass(frozen=True, slots=True)
class Place:
    """Where a thing stands: it is the so-manieth that comes with an entity, which itself is number 0."""

    id: str = ""
    number: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Walk:
    """A way through some entities, oldest first; `is_whole` when they are all there are."""

    nodes: Nodes
    ids: Sequence[str]
    is_whole: bool = False

    async def things(self, start: Place) -> AsyncGenerator[tuple[Place, Entity | Link]]:
        """Everything from a place on."""
        mentions = await self.nodes.mentions()
        among = frozenset(self.ids)
        rest = self.ids[bisect_left(self.ids, start.id) :]
        for at in range(0, len(rest), _PAGE):
            memories = await self.nodes.shown(rest[at : at + _PAGE])
            owned = await self._owned(memories, among, mentions)
            for memory in memories:
                begin = start.number if memory.id == start.id else 0
                if begin == 0:
                    yield Place(memory.id), entity_of(memory)
                links = _Links(owned[memory.id])
                while page := await links.named(self.nodes):
                    for number, link in page:
                        if number >= begin:
                            yield Place(memory.id, number), link
        links = _Links(await self._loose(among, mentions) if self.is_whole else [])
        while page := await links.named(self.nodes):
            for number, link in page:
                if start.id < _LAST or number >= start.number:
                    yield Place(_LAST, number), link

    async def _owned(
        self, memories: Sequence[Memory], among: frozenset[str], mentions: dict[str, str]
    ) -> dict[str, list[Relation]]:
        """By entity, the relations of which it is the first end."""
        owned: dict[str, list[Relation]] = {memory.id: [] for memory in memories}
        twins = by_name(mentions)
        mentioned = [one for memory in memories for one in twins.get(entity_of(memory).name, [])] if twins else []
        relations = await self.nodes.relations([*owned, *mentioned])
        real = await self._real_ends(relations, mentions)
        for relation in relations:
            ends = {real.get(end, end) for end in (relation.source, relation.target)} & among
            owner = min(ends, default="")
            if owner in owned:
                owned[owner].append(relation)
        return owned

    async def _loose(self, among: frozenset[str], mentions: dict[str, str]) -> list[Relation]:
        relations = await self.nodes.relations(list(mentions))
        real = await self._real_ends(relations, mentions)
        return [
            relation
            for relation in relations
            if not {real.get(end, end) for end in (relation.source, relation.target)} & among
        ]

    async def _real_ends(self, relations: Sequence[Relation], mentions: dict[str, str]) -> dict[str, str]:
        """By mention, the entity of that name: one that another tool has made, say, after it was mentioned here."""
        met = {end for relation in relations for end in (relation.source, relation.target) if end in mentions}
        live = await self.nodes.live(mentions[one] for one in met)
        return {one: live[mentions[one]] for one in met if mentions[one] in live}


class _Links:
    """Relations by the names of their ends, a page at a time, numbered from 1; an end that is gone takes them along."""

    def __init__(self, relations: Sequence[Relation]) -> None:
        self._rest = list(enumerate(relations, start=1))
        self._seen: set[Link] = set()

    async def named(self, nodes: Nodes) -> list[tuple[int, Link]]:
        """The next page that has any; empty when there are no more."""
        found: list[tuple[int, Link]] = []
        while self._rest and not found:
            page, self._rest = self._rest[:_RELATIONS], self._rest[_RELATIONS:]
            names = await nodes.names(end for _, one in page for end in (one.source, one.target))
            for number, relation in page:
                source, target = names[relation.source], names[relation.target]
                if source is not None and target is not None:
                    link = Link(source=source, target=target, type=type_of(relation), made=relation.created_at)
                    if link not in self._seen:
                        self._seen.add(link)
                        found.append((number, link))
        return found
