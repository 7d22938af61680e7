"""A whole `memory.jsonl` in and out."""

import asyncio
from collections.abc import AsyncIterator
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime

from scrubjay.errors import InvalidInput
from scrubjay.graph.entity import Entity, Link, draft_of, in_order, mention_of, relation_of
from scrubjay.graph.jsonl import entity_line, parse_line, relation_line
from scrubjay.graph.knowledge import KnowledgeGraph
from scrubjay.graph.walk import Place
from scrubjay.model.draft import Limits
from scrubjay.model.memory import Source
from scrubjay.model.transfer import Imported, Lines
from scrubjay.ports import Progress
from scrubjay.writing.batch import require_storable
from scrubjay.writing.validate import validate

_BATCH = 200
_ANY_TIME = datetime.min.replace(tzinfo=UTC)


@dataclass(slots=True)
class _File:
    """All of a file. The server lets a name stand twice: here the first entity gets what the others know."""

    entities: dict[str, Entity] = field(default_factory=dict[str, Entity])
    links: dict[Link, None] = field(default_factory=dict[Link, None])
    duplicates: list[str] = field(default_factory=list[str])


async def import_graph(lines: Lines, *, graph: KnowledgeGraph, progress: Progress | None = None) -> Imported:
    """Take in a file, all of it checked before any is stored; entities that are there already are left alone."""
    file = await asyncio.to_thread(_read, lines, limits=graph.context.limits)
    entities, links = list(file.entities.values()), list(file.links)
    total = len(entities) + len(links)
    await graph.require_allowed(entities, links)
    # Vectors follow in one go, as after any import.
    graph = replace(graph, embed=False)
    imported = related = 0
    for start in range(0, len(entities), _BATCH):
        imported += len(await graph.create_entities(entities[start : start + _BATCH]))
        _tell(progress, min(start + _BATCH, len(entities)), total)
    for start in range(0, len(links), _BATCH):
        related += len(await graph.create_relations(links[start : start + _BATCH]))
        _tell(progress, len(entities) + min(start + _BATCH, len(links)), total)
    return Imported(
        imported=imported, known=len(entities) - imported, relations=related, duplicates=tuple(file.duplicates)
    )


async def export_graph(graph: KnowledgeGraph, *, progress: Progress | None = None) -> AsyncIterator[str]:
    """The lines of a file: every entity, then every relation, in the order in which they were made."""
    walk = await graph.everything()
    links: list[Link] = []
    done = 0
    async for _, thing in walk.things(Place()):
        if isinstance(thing, Entity):
            yield entity_line(thing)
            done += 1
            _tell(progress, done, len(walk.ids))
        else:
            links.append(thing)
    for link in in_order(links):
        yield relation_line(link)


def _read(lines: Lines, *, limits: Limits) -> _File:
    file = _File()
    for number, line in enumerate(lines(), start=1):
        if line.strip():
            try:
                _add(parse_line(line), file, number, limits=limits)
            except InvalidInput as error:
                raise InvalidInput(
                    f"line {number}: {error.message}",
                    hint=error.hint or "Nothing was imported; mend the line",
                    line=number,
                ) from None
    return file


def _add(found: Entity | Link, file: _File, number: int, *, limits: Limits) -> None:
    if isinstance(found, Link):
        if found in file.links:
            file.duplicates.append(f"line {number}: the relation {found.source} {found.type} {found.target}")
        _check_link(found, limits=limits)
        file.links[found] = None
        return
    known = file.entities.get(found.name)
    if known is not None:
        file.duplicates.append(f"line {number}: the entity {found.name}")
        fresh = tuple(text for text in found.observations if text not in known.observations)
        found = replace(known, observations=known.observations + fresh)
    validate(draft_of(found, source=Source()), limits=limits)
    file.entities[found.name] = found


def _check_link(link: Link, *, limits: Limits) -> None:
    for name in (link.source, link.target):
        validate(mention_of(name, source=Source()), limits=limits)
    require_storable(relation_of(link, source="", target="", made=_ANY_TIME), limits=limits)


def _tell(progress: Progress | None, done: int, total: int) -> None:
    if progress is not None:
        progress(done, total)
