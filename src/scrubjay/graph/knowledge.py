"""A space as a knowledge graph: entities and relations over the memories that all tools share.

Each mutation first plans what to write from the current state, then writes all of it or nothing.
"""

import asyncio
from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from datetime import timedelta
from functools import partial
from typing import TypeVar

from scrubjay.errors import NameTaken, NotFound, StaleVersion
from scrubjay.graph.entity import (
    Entity,
    EntityRelation,
    draft_of,
    edit_observations,
    entity_of,
    handle_of,
    mention_of,
    relation_of,
)
from scrubjay.graph.nodes import GraphNodes, GraphWalk, group_by_name
from scrubjay.lazy import dataclass
from scrubjay.model.change import Origin
from scrubjay.model.draft import Draft
from scrubjay.model.memory import Memory, Source, State
from scrubjay.model.relation import Relation
from scrubjay.model.rules import Rules
from scrubjay.ports import Clock, Edge
from scrubjay.recalling.text_cache import TextCaches
from scrubjay.writing.batch import Batch, NewMemory, write_batch
from scrubjay.writing.context import WriteContext
from scrubjay.writing.deny import require_allowed
from scrubjay.writing.review import require_no_review
from scrubjay.writing.rules import load_rules
from scrubjay.writing.screen import redact_text

EntityTexts = tuple[str, Sequence[str]]
"""The name of an entity, and observations to add to it or to remove from it."""

T = TypeVar("T")
# A conflicting write means that another caller made progress; so many in a row are an overload.
_MAX_ATTEMPTS = 100


@dataclass(frozen=True, slots=True, kw_only=True)
class KnowledgeGraph:
    """The graph of one space for one caller; `after_commit` runs after every commit."""

    context: WriteContext
    text_caches: TextCaches
    clock: Clock
    space: str
    origin: Origin
    source: Source
    after_commit: Callable[[], Awaitable[None]]
    project: str = ""
    embed: bool = True

    async def create_entities(self, entities: Sequence[Entity]) -> list[Entity]:
        """Create the entities whose names are free, and return them."""
        clean = await self._check_and_clean(
            _draft(entity.name, entity.type, *entity.observations) for entity in entities
        )
        cleaned = [
            Entity(
                name=clean(entity.name), type=clean(entity.type), observations=tuple(map(clean, entity.observations))
            )
            for entity in entities
        ]
        return await self._write(
            lambda nodes: _plan_create_entities(cleaned, nodes=nodes, source=self.source, project=self.project)
        )

    async def create_relations(self, relations: Sequence[EntityRelation]) -> list[EntityRelation]:
        """Create the relations that do not exist yet, and return them."""
        clean = await self._check_and_clean(
            _draft(relation.source, relation.type, relation.target) for relation in relations
        )
        cleaned = [
            replace(relation, source=clean(relation.source), target=clean(relation.target), type=clean(relation.type))
            for relation in relations
        ]
        return await self._write(lambda nodes: _plan_create_relations(cleaned, nodes=nodes, source=self.source))

    async def add_observations(self, additions: Sequence[EntityTexts]) -> list[EntityTexts]:
        """Add the observations that entities lack, and return them; raise NotFound and add nothing otherwise."""
        clean = await self._check_and_clean(_draft(name, "", *texts) for name, texts in additions)
        cleaned = [(clean(name), [clean(text) for text in texts]) for name, texts in additions]
        return await self._write(lambda nodes: _plan_add_observations(cleaned, nodes=nodes, source=self.source))

    async def delete_entities(self, names: Sequence[str]) -> None:
        """Move entities to the trash, and remove all of their relations."""
        await self._write(lambda nodes: _plan_delete_entities(names, nodes=nodes))

    async def delete_observations(self, deletions: Sequence[EntityTexts]) -> None:
        """Remove observations from entities."""
        await self._write(lambda nodes: _plan_delete_observations(deletions, nodes=nodes))

    async def delete_relations(self, relations: Sequence[EntityRelation]) -> None:
        """Remove relations."""
        await self._write(lambda nodes: _plan_delete_relations(relations, nodes=nodes))

    async def walk_all(self) -> GraphWalk:
        """Return a walk over the whole graph."""
        nodes = self._nodes()
        return GraphWalk(nodes=nodes, ids=await nodes.ids(), is_whole=True)

    async def walk_matching(self, query: str) -> tuple[GraphWalk, str]:
        """Return a walk over the entities that contain a text, and why the search was slow, if it was."""
        nodes = self._nodes()
        matches = await nodes.find_containing(query)
        return GraphWalk(nodes=nodes, ids=matches.ids), matches.degraded

    async def walk_named(self, names: Sequence[str]) -> GraphWalk:
        """Return a walk over the entities with these names."""
        nodes = self._nodes()
        return GraphWalk(nodes=nodes, ids=sorted((await nodes.find_live(names)).values()))

    async def require_allowed(self, entities: Sequence[Entity], relations: Sequence[EntityRelation]) -> None:
        """Raise what `create_entities` and `create_relations` would raise, before anything is stored."""
        rules = (await load_rules(self.space, default=self.context.rules, documents=self.context.store)).rules
        drafts = [_draft(entity.name, entity.type, *entity.observations) for entity in entities]
        drafts += [_draft(relation.source, relation.type, relation.target) for relation in relations]
        # In a thread, since there may be very many.
        await asyncio.to_thread(self._check, drafts, rules)

    async def _check_and_clean(self, drafts: Iterable[Draft]) -> Callable[[str], str]:
        """Return the function that removes secrets from a text; names are looked up without them, as stored.

        Raise WrongState if the rules require a review, and InvalidInput if a rule denies a draft.
        """
        rules = (await load_rules(self.space, default=self.context.rules, documents=self.context.store)).rules
        self._check(drafts, rules)
        return partial(redact_text, rules=rules)

    def _check(self, drafts: Iterable[Draft], rules: Rules) -> None:
        require_no_review(Draft(text="", source=self.source), rules=rules)
        for draft in drafts:
            require_allowed(draft, rules=rules)

    async def _write(self, plan: Callable[[GraphNodes], Awaitable[tuple[Batch, T]]]) -> T:
        """Plan and write; plan again if another writer was faster."""
        for attempt in range(_MAX_ATTEMPTS):
            batch, result = await plan(self._nodes())
            origin = replace(self.origin, at=self.clock.now())
            try:
                await write_batch(batch, space=self.space, origin=origin, context=self.context, embed=self.embed)
            except (StaleVersion, NameTaken):
                if attempt == _MAX_ATTEMPTS - 1:
                    raise
            else:
                await self.after_commit()
                return result
        raise AssertionError  # pragma: no cover - the last attempt returns or raises

    def _nodes(self) -> GraphNodes:
        return GraphNodes(
            store=self.context.store, text_caches=self.text_caches, space=self.space, now=self.clock.now()
        )


def move_relations(relations: Sequence[Relation], successors: Mapping[str, str]) -> tuple[Edge, ...]:
    """Return the edges that move relations from some memories to their successors."""
    removed = [Edge(relation=relation, present=False) for relation in relations]
    added = [
        Edge(
            relation=replace(
                relation,
                source=successors.get(relation.source, relation.source),
                target=successors.get(relation.target, relation.target),
            ),
            present=True,
        )
        for relation in relations
    ]
    return (*removed, *added)


async def _plan_create_entities(
    entities: Sequence[Entity], *, nodes: GraphNodes, source: Source, project: str
) -> tuple[Batch, list[Entity]]:
    """Plan entities with free names, once each; relations that mention them become theirs."""
    existing = await nodes.find_live(entity.name for entity in entities)
    created: dict[str, Entity] = {}
    for entity in entities:
        if entity.name not in existing:
            created.setdefault(entity.name, entity)
    new = {name: NewMemory(draft=draft_of(entity, source=source, project=project)) for name, entity in created.items()}
    mentions = await nodes.mentions() if new else {}
    successors = {memory_id: new[name].id for memory_id, name in mentions.items() if name in new}
    edges = move_relations(await nodes.relations(list(successors)), successors)
    return Batch(new=tuple(new.values()), edges=edges), list(created.values())


async def _plan_create_relations(
    relations: Sequence[EntityRelation], *, nodes: GraphNodes, source: Source
) -> tuple[Batch, list[EntityRelation]]:
    """Plan relations that do not exist yet, with mentions for ends that do not exist."""
    ends = await _find_ends([name for relation in relations for name in (relation.source, relation.target)], nodes)
    sources = [memory_id for relation in relations for memory_id in ends[relation.source]]
    existing = {relation.key for relation in await nodes.relations(sources)}
    created = [relation for relation in dict.fromkeys(relations) if existing.isdisjoint(_possible_keys(relation, ends))]
    mentions = {
        name: NewMemory(draft=mention_of(name, source=source), state=State.ARCHIVED)
        for relation in created
        for name in (relation.source, relation.target)
        if not ends[name]
    }
    first_ids = {name: ids[0] for name, ids in ends.items() if ids}
    first_ids |= {name: mention.id for name, mention in mentions.items()}
    edges = [
        # A microsecond apart, so that they keep their order.
        relation_of(
            relation,
            source=first_ids[relation.source],
            target=first_ids[relation.target],
            created_at=nodes.now + timedelta(microseconds=number),
        )
        for number, relation in enumerate(created)
    ]
    batch = Batch(new=tuple(mentions.values()), edges=tuple(Edge(relation=edge, present=True) for edge in edges))
    return batch, created


async def _plan_add_observations(
    additions: Sequence[EntityTexts], *, nodes: GraphNodes, source: Source
) -> tuple[Batch, list[EntityTexts]]:
    """Plan the observations that each entity lacks; an unknown entity is an error."""
    memories = await _read_entities([name for name, _ in additions], nodes)
    observations = {name: list(entity_of(memory).observations) for name, memory in memories.items()}
    added: list[EntityTexts] = []
    for name, texts in additions:
        if name not in observations:
            raise NotFound(f"Entity with name {name} not found", ref=name[:200])
        existing = set(observations[name])
        new_texts = [text for text in texts if text not in existing]
        observations[name] += new_texts
        added.append((name, new_texts))
    return _plan_edits(memories, observations, source=source), added


async def _plan_delete_entities(names: Sequence[str], *, nodes: GraphNodes) -> tuple[Batch, None]:
    """Plan to trash entities and mentions, and to remove every relation of them."""
    ends = await _find_ends(names, nodes)
    ids = [memory_id for end_ids in ends.values() for memory_id in end_ids]
    relations = await nodes.relations(ids)
    batch = Batch(
        trashed=tuple(await nodes.read(ids)),
        edges=tuple(Edge(relation=relation, present=False) for relation in relations),
        message="deleted from the knowledge graph",
    )
    return batch, None


async def _plan_delete_observations(deletions: Sequence[EntityTexts], *, nodes: GraphNodes) -> tuple[Batch, None]:
    """Plan to remove all equal observations; unknown entities are ignored."""
    memories = await _read_entities([name for name, _ in deletions], nodes)
    observations = {name: list(entity_of(memory).observations) for name, memory in memories.items()}
    for name, texts in deletions:
        removed = set(texts)
        if name in observations:
            observations[name] = [text for text in observations[name] if text not in removed]
    return _plan_edits(memories, observations), None


async def _plan_delete_relations(relations: Sequence[EntityRelation], *, nodes: GraphNodes) -> tuple[Batch, None]:
    """Plan to remove existing relations; others are ignored."""
    ends = await _find_ends([name for relation in relations for name in (relation.source, relation.target)], nodes)
    keys = {key for relation in relations for key in _possible_keys(relation, ends)}
    stored = await nodes.relations([source for source, _, _ in keys])
    edges = tuple(Edge(relation=relation, present=False) for relation in stored if relation.key in keys)
    return Batch(edges=edges), None


def _plan_edits(
    memories: Mapping[str, Memory], observations: Mapping[str, Sequence[str]], *, source: Source | None = None
) -> Batch:
    """Plan the edits that give entities these observations; new ones come from the source."""
    edits = [
        (memory, replace(edit_observations(memory, observations[name]), source=source))
        for name, memory in memories.items()
        if tuple(observations[name]) != entity_of(memory).observations
    ]
    return Batch(edits=tuple(edits))


async def _find_ends(names: Sequence[str], nodes: GraphNodes) -> dict[str, list[str]]:
    """Return by name the possible ends of a relation: the entity first, then its mentions."""
    live = await nodes.find_live(names)
    mentions = group_by_name(await nodes.mentions()) if names else {}
    return {name: [*([live[name]] if name in live else []), *mentions.get(name, [])] for name in names}


async def _read_entities(names: Sequence[str], nodes: GraphNodes) -> dict[str, Memory]:
    live = await nodes.find_live(names)
    memories = {memory.id: memory for memory in await nodes.read(list(live.values()))}
    return {name: memories[memory_id] for name, memory_id in live.items() if memory_id in memories}


def _possible_keys(relation: EntityRelation, ends: Mapping[str, Sequence[str]]) -> set[tuple[str, str, str]]:
    """Return the keys under which a relation may be stored: one for each pair of its possible ends."""
    type_ = handle_of(relation.type)
    return {(source, type_, target) for source in ends[relation.source] for target in ends[relation.target]}


def _draft(name: str, kind: str, *texts: str) -> Draft:
    return Draft(text="", name=name, kind=kind, observations=texts)
