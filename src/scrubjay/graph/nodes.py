"""The nodes of the graph: entities, and mentions of entities that were never created; and walks over them.

A walk yields each entity and then its relations. A relation comes with the first of its ends; those without an entity
at either end come last. A walk that stops anywhere and continues later yields everything once.
"""

from bisect import bisect_left
from collections.abc import AsyncGenerator, Iterable, Sequence
from dataclasses import field
from datetime import datetime

from scrubjay.graph.entity import MENTION, Entity, EntityRelation, entity_of, handle_of, is_mention, name_of, type_of
from scrubjay.lazy import dataclass
from scrubjay.lookup.references import TolerantReader
from scrubjay.model.memory import Memory, State
from scrubjay.model.query import Filter
from scrubjay.model.relation import Relation
from scrubjay.ports import RecordStore
from scrubjay.recalling.substring import SubstringMatches, find_in_view, join_lowercase
from scrubjay.recalling.text_cache import TextCaches, TextView, scan

_NO_LIMIT = 1 << 31
_ENTITY_PAGE = 50
_RELATION_PAGE = 100
# Sorts after every id.
_AFTER_ALL_IDS = "~"


def _entity_text(memory: Memory) -> str:
    entity = entity_of(memory)
    return join_lowercase((entity.name, entity.type, *entity.observations))


def _mention_name(memory: Memory) -> str | None:
    return name_of(memory) if is_mention(memory) else None


ENTITIES = TextView(Filter(), _entity_text)
MENTIONS = TextView(Filter(kind=MENTION, state=State.ARCHIVED), _mention_name)


@dataclass(frozen=True, slots=True, kw_only=True)
class GraphNodes:
    """The memories of a space as ends of relations; an instance serves one call and caches names."""

    store: RecordStore
    text_caches: TextCaches
    space: str
    now: datetime
    _names: dict[str, str | None] = field(default_factory=dict[str, str | None])

    async def ids(self) -> list[str]:
        """Return the ids of all entities, oldest first."""
        return sorted(await self.store.list_ids(self.space, ENTITIES.filter, limit=_NO_LIMIT))

    async def find_containing(self, text: str) -> SubstringMatches:
        """Find the entities with a text in their name, type or observations."""
        return await find_in_view(text, view=ENTITIES, space=self.space, store=self.store, text_caches=self.text_caches)

    async def find_live(self, names: Iterable[str]) -> dict[str, str]:
        """Return the ids of live entities by name, without unknown names."""
        ids: dict[str, str] = {}
        for name in dict.fromkeys(names):
            handle_name = handle_of(name)
            handles = await self.store.find(self.space, handle_name, state=State.LIVE)
            # A match by title or by a part of the name is another entity.
            ids.update((name, handle.id) for handle in handles if handle.name == handle_name)
        return ids

    async def read(self, ids: Sequence[str]) -> list[Memory]:
        """Return the memories of entities and mentions in order, without unreadable ones."""
        memories = [
            memory
            for memory in await TolerantReader(self.store, space=self.space).get(ids)
            if memory.state is State.LIVE or is_mention(memory)
        ]
        self._names.update({memory.id: name_of(memory) for memory in memories})
        return memories

    async def read_unexpired(self, ids: Sequence[str]) -> list[Memory]:
        """Return the memories of entities that have not expired, in order."""
        memories = await self.read(ids)
        return [memory for memory in memories if memory.expires_at is None or memory.expires_at > self.now]

    async def mentions(self) -> dict[str, str]:
        """Return the names of all mentions by the ids of their memories."""
        cached = await self.text_caches.texts(MENTIONS, space=self.space, store=self.store)
        if cached is not None:
            return dict(cached)
        reader = TolerantReader(self.store, space=self.space)
        return {memory_id: name async for memory_id, name in scan(MENTIONS, reader=reader)}

    async def names(self, ids: Iterable[str]) -> dict[str, str | None]:
        """Return the names of memories as ends of relations; None if one is neither an entity nor a mention."""
        unknown = [memory_id for memory_id in dict.fromkeys(ids) if memory_id not in self._names]
        await self.read(unknown)
        for memory_id in unknown:
            self._names.setdefault(memory_id, None)
        return self._names

    async def relations(self, ids: Sequence[str]) -> list[Relation]:
        """Return every relation of some memories, oldest first."""
        relations = await self.store.relations(self.space, ids) if ids else []
        return sorted(relations, key=lambda relation: relation.created_at)


def group_by_name(mentions: dict[str, str]) -> dict[str, list[str]]:
    """Return the ids of mentions by name; a name may have several."""
    ids: dict[str, list[str]] = {}
    for memory_id, name in mentions.items():
        ids.setdefault(name, []).append(memory_id)
    return ids


@dataclass(frozen=True, slots=True)
class GraphPosition:
    """The position of an item in a walk: its number within an entity, which itself has the number 0."""

    id: str = ""
    number: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class GraphWalk:
    """A walk over some entities, oldest first; `is_whole` if these are all entities."""

    nodes: GraphNodes
    ids: Sequence[str]
    is_whole: bool = False

    async def items(self, start: GraphPosition) -> AsyncGenerator[tuple[GraphPosition, Entity | EntityRelation]]:
        """Yield everything from a position on."""
        mentions = await self.nodes.mentions()
        entity_ids = frozenset(self.ids)
        remaining = self.ids[bisect_left(self.ids, start.id) :]
        for at in range(0, len(remaining), _ENTITY_PAGE):
            memories = await self.nodes.read_unexpired(remaining[at : at + _ENTITY_PAGE])
            owned = await self._owned_relations(memories, entity_ids, mentions)
            for memory in memories:
                first_number = start.number if memory.id == start.id else 0
                if first_number == 0:
                    yield GraphPosition(memory.id), entity_of(memory)
                pager = _RelationPager(owned[memory.id])
                while page := await pager.next_page(self.nodes):
                    for number, relation in page:
                        if number >= first_number:
                            yield GraphPosition(memory.id, number), relation
        pager = _RelationPager(await self._unowned_relations(entity_ids, mentions) if self.is_whole else [])
        while page := await pager.next_page(self.nodes):
            for number, relation in page:
                if start.id < _AFTER_ALL_IDS or number >= start.number:
                    yield GraphPosition(_AFTER_ALL_IDS, number), relation

    async def _owned_relations(
        self, memories: Sequence[Memory], entity_ids: frozenset[str], mentions: dict[str, str]
    ) -> dict[str, list[Relation]]:
        """Return by entity the relations of which it is the first end."""
        owned: dict[str, list[Relation]] = {memory.id: [] for memory in memories}
        by_name = group_by_name(mentions)
        mentioned = [id_ for memory in memories for id_ in by_name.get(entity_of(memory).name, [])] if by_name else []
        relations = await self.nodes.relations([*owned, *mentioned])
        entity_of_mention = await self._resolve_mentions(relations, mentions)
        for relation in relations:
            ends = {entity_of_mention.get(end, end) for end in (relation.source, relation.target)} & entity_ids
            owner = min(ends, default="")
            if owner in owned:
                owned[owner].append(relation)
        return owned

    async def _unowned_relations(self, entity_ids: frozenset[str], mentions: dict[str, str]) -> list[Relation]:
        relations = await self.nodes.relations(list(mentions))
        entity_of_mention = await self._resolve_mentions(relations, mentions)
        return [
            relation
            for relation in relations
            if not {entity_of_mention.get(end, end) for end in (relation.source, relation.target)} & entity_ids
        ]

    async def _resolve_mentions(self, relations: Sequence[Relation], mentions: dict[str, str]) -> dict[str, str]:
        """Return by mention the entity of that name, for example one that another tool has created since."""
        mentioned = {end for relation in relations for end in (relation.source, relation.target) if end in mentions}
        live = await self.nodes.find_live(mentions[id_] for id_ in mentioned)
        return {id_: live[mentions[id_]] for id_ in mentioned if mentions[id_] in live}


class _RelationPager:
    """Pages of relations by the names of their ends, numbered from 1, without those that have lost an end."""

    def __init__(self, relations: Sequence[Relation]) -> None:
        self._remaining = list(enumerate(relations, start=1))
        self._seen: set[EntityRelation] = set()

    async def next_page(self, nodes: GraphNodes) -> list[tuple[int, EntityRelation]]:
        """Return the next page that has any relations; empty at the end."""
        numbered: list[tuple[int, EntityRelation]] = []
        while self._remaining and not numbered:
            page, self._remaining = self._remaining[:_RELATION_PAGE], self._remaining[_RELATION_PAGE:]
            names = await nodes.names(end for _, relation in page for end in (relation.source, relation.target))
            for number, relation in page:
                source, target = names[relation.source], names[relation.target]
                if source is not None and target is not None:
                    named = EntityRelation(
                        source=source, target=target, type=type_of(relation), created_at=relation.created_at
                    )
                    if named not in self._seen:
                        self._seen.add(named)
                        numbered.append((number, named))
        return numbered
