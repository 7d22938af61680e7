"""Import and export of whole `memory.jsonl` files."""

import asyncio
from collections.abc import AsyncIterator
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime

from scrubjay.errors import InvalidInput
from scrubjay.graph.entity import Entity, EntityRelation, draft_of, mention_of, relation_of, sort_by_creation
from scrubjay.graph.jsonl import entity_line, parse_line, relation_line
from scrubjay.graph.knowledge import KnowledgeGraph
from scrubjay.graph.nodes import GraphPosition
from scrubjay.model.draft import Limits
from scrubjay.model.memory import Source
from scrubjay.model.transfer import Imported, Lines
from scrubjay.ports import Progress
from scrubjay.writing.batch import require_storable
from scrubjay.writing.validate import validate

_BATCH = 200
_ANY_TIME = datetime.min.replace(tzinfo=UTC)


@dataclass(slots=True)
class _GraphFile:
    """A whole file. The server allows duplicate names: the first entity gets the observations of the others."""

    entities: dict[str, Entity] = field(default_factory=dict[str, Entity])
    relations: dict[EntityRelation, None] = field(default_factory=dict[EntityRelation, None])
    duplicates: list[str] = field(default_factory=list[str])


async def import_graph(lines: Lines, *, graph: KnowledgeGraph, progress: Progress | None = None) -> Imported:
    """Import a file, after checking all of it; existing entities stay unchanged."""
    file = await asyncio.to_thread(_read, lines, limits=graph.context.limits)
    entities, relations = list(file.entities.values()), list(file.relations)
    total = len(entities) + len(relations)
    await graph.require_allowed(entities, relations)
    # Vectors follow together, as after any import.
    graph = replace(graph, embed=False)
    imported = related = 0
    for start in range(0, len(entities), _BATCH):
        imported += len(await graph.create_entities(entities[start : start + _BATCH]))
        _report(progress, min(start + _BATCH, len(entities)), total)
    for start in range(0, len(relations), _BATCH):
        related += len(await graph.create_relations(relations[start : start + _BATCH]))
        _report(progress, len(entities) + min(start + _BATCH, len(relations)), total)
    return Imported(
        imported=imported, known=len(entities) - imported, relations=related, duplicates=tuple(file.duplicates)
    )


async def export_graph(graph: KnowledgeGraph, *, progress: Progress | None = None) -> AsyncIterator[str]:
    """Yield the lines of a file: every entity, then every relation, in the order of their creation."""
    walk = await graph.walk_all()
    relations: list[EntityRelation] = []
    done = 0
    async for _, item in walk.items(GraphPosition()):
        if isinstance(item, Entity):
            yield entity_line(item)
            done += 1
            _report(progress, done, len(walk.ids))
        else:
            relations.append(item)
    for relation in sort_by_creation(relations):
        yield relation_line(relation)


def _read(lines: Lines, *, limits: Limits) -> _GraphFile:
    file = _GraphFile()
    for number, line in enumerate(lines(), start=1):
        if line.strip():
            try:
                item = parse_line(line)
                if isinstance(item, Entity):
                    _add_entity(item, file, number, limits=limits)
                else:
                    _add_relation(item, file, number, limits=limits)
            except InvalidInput as error:
                raise InvalidInput(
                    f"line {number}: {error.message}",
                    hint=error.hint or "Nothing was imported; correct the line",
                    line=number,
                ) from None
    return file


def _add_entity(entity: Entity, file: _GraphFile, number: int, *, limits: Limits) -> None:
    existing = file.entities.get(entity.name)
    if existing is not None:
        file.duplicates.append(f"line {number}: the entity {entity.name}")
        added = tuple(text for text in entity.observations if text not in existing.observations)
        entity = replace(existing, observations=existing.observations + added)
    validate(draft_of(entity, source=Source()), limits=limits)
    file.entities[entity.name] = entity


def _add_relation(relation: EntityRelation, file: _GraphFile, number: int, *, limits: Limits) -> None:
    if relation in file.relations:
        file.duplicates.append(f"line {number}: the relation {relation.source} {relation.type} {relation.target}")
    for name in (relation.source, relation.target):
        validate(mention_of(name, source=Source()), limits=limits)
    require_storable(relation_of(relation, source="", target="", created_at=_ANY_TIME), limits=limits)
    file.relations[relation] = None


def _report(progress: Progress | None, done: int, total: int) -> None:
    if progress is not None:
        progress(done, total)
