"""What each call would write: worked out from what is there, and stored by whoever asked, all of it or nothing."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import timedelta

from scrubjay.errors import NotFound
from scrubjay.graph.entity import Entity, Link, draft_of, edit_to, entity_of, handle_of, mention_of, relation_of
from scrubjay.graph.nodes import Nodes, by_name
from scrubjay.model.memory import Memory, Source, State
from scrubjay.model.relation import Relation
from scrubjay.ports import Edge
from scrubjay.writing.batch import Batch, NewMemory

Texts = tuple[str, Sequence[str]]
"""The name of an entity, and observations to add to it or to take from it."""


async def create_entities(
    entities: Sequence[Entity], *, nodes: Nodes, source: Source, project: str
) -> tuple[Batch, list[Entity]]:
    """Entities whose names are free, once each; relations that mention them become theirs."""
    known = await nodes.live(entity.name for entity in entities)
    fresh: dict[str, Entity] = {}
    for one in entities:
        if one.name not in known:
            fresh.setdefault(one.name, one)
    new = {name: NewMemory(draft=draft_of(one, source=source, project=project)) for name, one in fresh.items()}
    mentions = await nodes.mentions() if new else {}
    successors = {memory_id: new[name].id for memory_id, name in mentions.items() if name in new}
    edges = moved(await nodes.relations(list(successors)), successors)
    return Batch(new=tuple(new.values()), edges=edges), list(fresh.values())


async def create_relations(links: Sequence[Link], *, nodes: Nodes, source: Source) -> tuple[Batch, list[Link]]:
    """Relations that are not there yet; ends that nobody has created are mentioned."""
    ends = await _ends([name for link in links for name in (link.source, link.target)], nodes=nodes)
    sources = [memory_id for link in links for memory_id in ends[link.source]]
    known = {relation.key for relation in await nodes.relations(sources)}
    fresh = [fromkey for fromkey in dict.fromkeys(links) if known.isdisjoint(_keys(fromkey, ends))]
    mentions = {
        name: NewMemory(draft=mention_of(name, source=source), state=State.ARCHIVED)
        for one in fresh
        for name in (one.source, one.target)
        if not ends[name]
    }
    first = {name: ids[0] for name, ids in ends.items() if ids} | {name: one.id for name, one in mentions.items()}
    edges = [
        # A microsecond apart, so that they keep their order.
        relation_of(
            one, source=first[one.source], target=first[one.target], made=nodes.now + timedelta(microseconds=at)
        )
        for at, one in enumerate(fresh)
    ]
    return Batch(new=tuple(mentions.values()), edges=tuple(Edge(relation=edge, present=True) for edge in edges)), fresh


async def add_observations(
    additions: Sequence[Texts], *, nodes: Nodes, source: Source
) -> tuple[Batch, list[Texts]]:  # fmt: skip
    """What each entity gets that it has not; an entity that nobody knows is an error."""
    memories = await _memories([name for name, _ in additions], nodes=nodes)
    after = {name: list(entity_of(memory).observations) for name, memory in memories.items()}
    added: list[Texts] = []
    for name, texts in additions:
        if name not in after:
            raise NotFound(f"Entity with name {name} not found", ref=name[:200])
        known = set(after[name])
        fresh = [text for text in texts if text not in known]
        after[name] += fresh
        added.append((name, fresh))
    return _edited(memories, after, source=source), added


async def delete_entities(names: Sequence[str], *, nodes: Nodes) -> Batch:
    """Entities go to the trash, and with them every relation that names them."""
    ends = await _ends(names, nodes=nodes)
    ids = [memory_id for found in ends.values() for memory_id in found]
    relations = await nodes.relations(ids)
    return Batch(
        trashed=tuple(await nodes.memories(ids)),
        edges=tuple(Edge(relation=relation, present=False) for relation in relations),
        message="deleted from the knowledge graph",
    )


async def delete_observations(deletions: Sequence[Texts], *, nodes: Nodes) -> Batch:
    """Every observation that is equal to one of the given goes; entities that nobody knows are passed over."""
    memories = await _memories([name for name, _ in deletions], nodes=nodes)
    after = {name: list(entity_of(memory).observations) for name, memory in memories.items()}
    for name, texts in deletions:
        gone = set(texts)
        after |= {name: [text for text in after[name] if text not in gone]} if name in after else {}
    return _edited(memories, after)


async def delete_relations(links: Sequence[Link], *, nodes: Nodes) -> Batch:
    """Relations that are there go; the others are passed over."""
    ends = await _ends([name for link in links for name in (link.source, link.target)], nodes=nodes)
    gone = {key for link in links for key in _keys(link, ends)}
    relations = await nodes.relations([source for source, _, _ in gone])
    return Batch(edges=tuple(Edge(relation=relation, present=False) for relation in relations if relation.key in gone))


async def _ends(names: Sequence[str], *, nodes: Nodes) -> dict[str, list[str]]:
    """By name, who can be at the end of a relation: the entity first, then the mentions of it."""
    live = await nodes.live(names)
    mentions = by_name(await nodes.mentions()) if names else {}
    return {name: [*([live[name]] if name in live else []), *mentions.get(name, [])] for name in names}


async def _memories(names: Sequence[str], *, nodes: Nodes) -> dict[str, Memory]:
    live = await nodes.live(names)
    found = {memory.id: memory for memory in await nodes.memories(list(live.values()))}
    return {name: found[memory_id] for name, memory_id in live.items() if memory_id in found}


def _keys(link: Link, ends: Mapping[str, Sequence[str]]) -> set[tuple[str, str, str]]:
    """What edges a link may be: one for each pair of those who bear the names of its ends."""
    type_ = handle_of(link.type)
    return {(source, type_, target) for source in ends[link.source] for target in ends[link.target]}


def moved(relations: Sequence[Relation], successors: Mapping[str, str]) -> tuple[Edge, ...]:
    """The edges by which relations of some memories become those of others."""
    gone = [Edge(relation=relation, present=False) for relation in relations]
    come = [
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
    return (*gone, *come)


def _edited(
    memories: Mapping[str, Memory], after: Mapping[str, Sequence[str]], *, source: Source | None = None
) -> Batch:
    """The edits after which entities have these observations; what is new is the word of a source."""
    edits = [
        (memory, replace(edit_to(memory, after[name]), source=source))
        for name, memory in memories.items()
        if tuple(after[name]) != entity_of(memory).observations
    ]
    return Batch(edits=tuple(edits))
