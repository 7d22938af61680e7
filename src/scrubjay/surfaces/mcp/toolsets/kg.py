"""`kg`: the tools of the reference knowledge-graph server, with the same arguments and results.

A result holds the whole graph up to the budget, else a page of it and the cursor of the next.
"""

import json
from collections.abc import Iterator, Mapping, Sequence
from contextlib import aclosing
from dataclasses import dataclass, field, replace
from typing import cast

from scrubjay.graph.entity import Entity, EntityRelation, sort_by_creation
from scrubjay.graph.knowledge import EntityTexts, KnowledgeGraph
from scrubjay.graph.nodes import GraphPosition, GraphWalk
from scrubjay.model.checks import require_text, require_texts, wrong_type
from scrubjay.model.labels import NOTICE
from scrubjay.model.memory import Json
from scrubjay.surfaces.mcp.budget import MAX_TOKENS, compact_json, cost_of, find_cut, room_for, shorten
from scrubjay.surfaces.mcp.cursors import pack, unpack
from scrubjay.surfaces.mcp.tool import StaticResource, Tool, ToolContext, ToolResult
from scrubjay.surfaces.mcp.toolsets.schema import FLAG, TEXT, TEXTS, described, input_schema

# The reference server's one resource: the result of `read_graph`, as application/json.
RESOURCE = "memory://knowledge-graph"
# The tokens of the cursor, the note and the brackets around them, in both forms.
_FRAME_TOKENS = 400
# Longer names are cut if there is no other way to show the entity or relation.
_LABEL_TOKENS = 400


async def create_entities(context: ToolContext, arguments: Mapping[str, Json]) -> ToolResult:
    """Create the entities whose names are free."""
    entities = [
        Entity(
            name=_text(record, "name", path),
            type=_text(record, "entityType", path),
            observations=_texts(record, "observations", path),
        )
        for path, record in _records(arguments, "entities")
    ]
    created = await _graph(context).create_entities(entities)
    return _echo("entities", [_entity_json(entity) for entity in created])


async def create_relations(context: ToolContext, arguments: Mapping[str, Json]) -> ToolResult:
    """Create the relations that do not exist yet."""
    created = await _graph(context).create_relations(_links(arguments))
    return _echo("relations", [_link_json(relation) for relation in created])


async def add_observations(context: ToolContext, arguments: Mapping[str, Json]) -> ToolResult:
    """Add observations to existing entities."""
    added = await _graph(context).add_observations(_observations(arguments, "observations", "contents"))
    return _echo("results", [{"entityName": name, "addedObservations": list(texts)} for name, texts in added])


async def delete_entities(context: ToolContext, arguments: Mapping[str, Json]) -> ToolResult:
    """Put entities into the trash, and remove their relations."""
    await _graph(context).delete_entities(_texts(arguments, "entityNames"))
    return _confirm_deleted("Entities")


async def delete_observations(context: ToolContext, arguments: Mapping[str, Json]) -> ToolResult:
    """Remove observations from entities."""
    await _graph(context).delete_observations(_observations(arguments, "deletions", "observations"))
    return _confirm_deleted("Observations")


async def delete_relations(context: ToolContext, arguments: Mapping[str, Json]) -> ToolResult:
    """Remove relations."""
    await _graph(context).delete_relations(_links(arguments))
    return _confirm_deleted("Relations")


async def read_graph(context: ToolContext, arguments: Mapping[str, Json]) -> ToolResult:
    """Return the whole graph."""
    page = GraphPage()
    await page.fill(await _graph(context).walk_all(), _cursor(arguments))
    return page.result()


async def search_nodes(context: ToolContext, arguments: Mapping[str, Json]) -> ToolResult:
    """Return the entities that contain a text."""
    walk, remark = await _graph(context).walk_matching(_text(arguments, "query"))
    page = GraphPage()
    await page.fill(walk, _cursor(arguments))
    context.engine.note_reads(page.ids, who=context.who)
    return page.result(remark)


async def open_nodes(context: ToolContext, arguments: Mapping[str, Json]) -> ToolResult:
    """Return the entities with these names."""
    page = GraphPage()
    await page.fill(await _graph(context).walk_named(_texts(arguments, "names")), _cursor(arguments))
    context.engine.note_reads(page.ids, who=context.who)
    return page.result()


async def read_resource(context: ToolContext) -> str:
    """Return the resource `memory://knowledge-graph`."""
    return (await read_graph(context, {})).text


@dataclass(slots=True)
class GraphPage:
    """Entities and relations of a graph, up to the budget."""

    room: int = room_for(MAX_TOKENS) - _FRAME_TOKENS
    entities: list[Entity] = field(default_factory=list[Entity])
    links: list[EntityRelation] = field(default_factory=list[EntityRelation])
    ids: list[str] = field(default_factory=list[str])
    cursor: str = ""

    async def fill(self, walk: GraphWalk, cursor: str) -> None:
        """Add nodes from a cursor on; a node that is longer than any page comes in parts."""
        start, part = _read_cursor(cursor)
        async with aclosing(walk.items(start)) as nodes:
            async for place, node in nodes:
                if (cost := _cost(_json(node))) <= self.room:
                    self.room -= cost
                    self._add(place, node)
                    continue
                if self.entities or self.links:
                    self.cursor = pack(place.id, place.number, 0)
                    return
                parts = _split(node, room=self.room)
                number = min(part, len(parts) - 1)
                self._add(place, parts[number])
                self.room = 0
                if number + 1 < len(parts):
                    self.cursor = pack(place.id, place.number, number + 1)
                    return

    def result(self, remark: str = "") -> ToolResult:
        """Return the page in the reference server's form of a graph."""
        structured: dict[str, Json] = {
            "entities": [_entity_json(entity) for entity in self.entities],
            "relations": [_link_json(link) for link in sort_by_creation(self.links)],
        }
        notes = [f"{remark[:1].upper()}{remark[1:]}."] if remark else []
        if any(entity.mark for entity in self.entities):
            notes.append(f"Observations are {NOTICE}.")
        if self.cursor:
            structured["nextCursor"] = self.cursor
            notes.append(
                "This is a part of the answer: call again with cursor set to nextCursor for the rest. "
                "An entity that is longer than a page comes in pieces."
            )
        if notes:
            structured["note"] = " ".join(notes)
        return ToolResult(structured=structured, text=_pretty(structured))

    def _add(self, place: GraphPosition, node: Entity | EntityRelation) -> None:
        if isinstance(node, Entity):
            self.entities.append(node)
            self.ids.append(place.id)
        else:
            self.links.append(node)


def _graph(context: ToolContext) -> KnowledgeGraph:
    return context.engine.knowledge_graph(who=context.who, project=context.project)


def _echo(name: str, records: Sequence[dict[str, Json]]) -> ToolResult:
    """Return the written records; beyond the budget only the first, since the caller has sent them."""
    room = room_for(MAX_TOKENS) - _FRAME_TOKENS
    shown: list[Json] = []
    for record in records:
        room -= _cost(record)
        if room < 0:
            note = f"Done for all {len(records):,}; the first {len(shown):,} are shown"
            return ToolResult(structured={name: shown, "note": note}, text=f"{_pretty(shown)}\n({note})")
        shown.append(record)
    return ToolResult(structured={name: shown}, text=_pretty(shown))


def _confirm_deleted(what: str) -> ToolResult:
    message = f"{what} deleted successfully"
    return ToolResult(structured={"success": True, "message": message}, text=message)


def _links(arguments: Mapping[str, Json]) -> list[EntityRelation]:
    return [
        EntityRelation(
            source=_text(record, "from", path), target=_text(record, "to", path),
            type=_text(record, "relationType", path),
        )
        for path, record in _records(arguments, "relations")
    ]  # fmt: skip


def _observations(arguments: Mapping[str, Json], name: str, texts: str) -> list[EntityTexts]:
    return [
        (_text(record, "entityName", path), _texts(record, texts, path)) for path, record in _records(arguments, name)
    ]


def _records(arguments: Mapping[str, Json], name: str) -> Sequence[tuple[str, Mapping[str, Json]]]:
    """Return a list of objects, each with its path in the arguments."""
    records = arguments.get(name)
    if not isinstance(records, list):
        raise wrong_type(name, "a list of objects", records)
    for index, record in enumerate(records):
        if not isinstance(record, dict):
            raise wrong_type(f"{name}[{index}]", "an object", record)
    return [(f"{name}[{index}].", cast("Mapping[str, Json]", record)) for index, record in enumerate(records)]


def _text(record: Mapping[str, Json], name: str, path: str = "") -> str:
    return require_text(record.get(name), field=f"{path}{name}")


def _texts(record: Mapping[str, Json], name: str, path: str = "") -> tuple[str, ...]:
    return require_texts(record.get(name), field=f"{path}{name}")


def _cursor(arguments: Mapping[str, Json]) -> str:
    return require_text(arguments.get("cursor", ""), field="cursor")


def _read_cursor(cursor: str) -> tuple[GraphPosition, int]:
    if not cursor:
        return GraphPosition(), 0
    memory_id, number, part = unpack(cursor, str, int, int)
    return GraphPosition(str(memory_id), int(number)), max(int(part), 0)


def _entity_json(entity: Entity) -> dict[str, Json]:
    fields: dict[str, Json] = {
        "name": entity.name, "entityType": entity.type, "observations": list(entity.observations),
    }  # fmt: skip
    return fields | {"mark": entity.mark} if entity.mark else fields


def _link_json(link: EntityRelation) -> dict[str, Json]:
    return {"from": link.source, "to": link.target, "relationType": link.type}


def _json(node: Entity | EntityRelation) -> dict[str, Json]:
    return _entity_json(node) if isinstance(node, Entity) else _link_json(node)


def _pretty(value: Json) -> str:
    """Return JSON as the reference server prints it."""
    return json.dumps(value, ensure_ascii=False, indent=2)


def _cost(record: Mapping[str, Json]) -> int:
    # A record is indented by four spaces and followed by a comma.
    return cost_of(_pretty(dict(record)).replace("\n", "\n    ") + ",\n    ", record)


def _split(node: Entity | EntityRelation, *, room: int) -> list[Entity | EntityRelation]:
    """Split a node that is longer than a page: an entity appears several times, each with other observations."""
    if isinstance(node, EntityRelation):
        source, target, type_ = map(_shorten_label, (node.source, node.target, node.type))
        return [replace(node, source=source, target=target, type=type_)]
    bare = Entity(name=_shorten_label(node.name), type=_shorten_label(node.type), mark=node.mark)
    left = room - _cost(_entity_json(bare))
    parts: list[Entity | EntityRelation] = []
    pieces: list[str] = []
    spent = 0
    for text in node.observations:
        for piece in _split_text(text, room=left):
            cost = _cost_of_text(piece)
            if pieces and spent + cost > left:
                parts.append(replace(bare, observations=tuple(pieces)))
                pieces, spent = [], 0
            pieces.append(piece)
            spent += cost
    return [*parts, replace(bare, observations=tuple(pieces))]


def _split_text(text: str, *, room: int) -> Iterator[str]:
    start = 0
    while True:
        tokens = room // 2
        end = find_cut(text, start=start, tokens=tokens)
        # Text with JSON escapes is longer than it looks.
        while _cost_of_text(text[start:end]) > room:
            tokens = tokens * 4 // 5
            end = find_cut(text, start=start, tokens=tokens)
        yield text[start:end]
        start = end
        if start >= len(text):
            return


def _cost_of_text(text: str) -> int:
    # An observation is indented by eight spaces in one form, and followed by a comma in both.
    quoted = compact_json(text)
    return cost_of(f"        {quoted},\n") + cost_of(f"{quoted},")


def _shorten_label(text: str) -> str:
    return shorten(text, tokens=_LABEL_TOKENS)


def _list_of(*required: str, **properties: dict[str, Json]) -> dict[str, Json]:
    return {"type": "array", "items": _requiring(*required, **properties)}


def _requiring(*required: str, **properties: dict[str, Json]) -> dict[str, Json]:
    return {"type": "object", "properties": dict(properties), "required": list(required)}


_ENTITIES = _list_of("name", "entityType", "observations", name=TEXT, entityType=TEXT, observations=TEXTS)
_RELATIONS = _list_of("from", "to", "relationType", **{"from": TEXT, "to": TEXT, "relationType": TEXT})
_DONE = _requiring("success", "message", success=FLAG, message=TEXT)
_GRAPH = _requiring("entities", "relations", entities=_ENTITIES, relations=_RELATIONS, nextCursor=TEXT, note=TEXT)
_CURSOR = described(TEXT, "nextCursor of the answer before")

TOOLS = (
    Tool(
        name="create_entities",
        title="Create Entities",
        description="Create entities in the knowledge graph. Existing names are left unchanged.",
        input=input_schema("entities", entities=_ENTITIES),
        output=_requiring("entities", entities=_ENTITIES, note=TEXT),
        call=create_entities,
        names={"name": "entities.name", "kind": "entities.entityType"},
        verbs={"create_entities": ""},
    ),
    Tool(
        name="create_relations",
        title="Create Relations",
        description="Create relations between entities. Write them in active voice: Ada works_at Acme.",
        input=input_schema("relations", relations=_RELATIONS),
        output=_requiring("relations", relations=_RELATIONS, note=TEXT),
        call=create_relations,
        names={"name": "relations", "relation": "relations.relationType"},
        verbs={"relate": ""},
    ),
    Tool(
        name="add_observations",
        title="Add Observations",
        description="Add observations to entities that exist. Those an entity has already are skipped.",
        input=input_schema(
            "observations", observations=_list_of("entityName", "contents", entityName=TEXT, contents=TEXTS)
        ),
        output=_requiring(
            "results",
            results=_list_of("entityName", "addedObservations", entityName=TEXT, addedObservations=TEXTS),
            note=TEXT,
        ),
        call=add_observations,
        verbs={"revise": ""},
    ),
    Tool(
        name="delete_entities",
        title="Delete Entities",
        description="Delete entities and every relation that names them.",
        input=input_schema("entityNames", entityNames=TEXTS),
        output=_DONE,
        call=delete_entities,
        destructive=True,
        idempotent=True,
        verbs={"forget": ""},
    ),
    Tool(
        name="delete_observations",
        title="Delete Observations",
        description="Delete observations from entities, each given word for word.",
        input=input_schema(
            "deletions", deletions=_list_of("entityName", "observations", entityName=TEXT, observations=TEXTS)
        ),
        output=_DONE,
        call=delete_observations,
        destructive=True,
        idempotent=True,
    ),
    Tool(
        name="delete_relations",
        title="Delete Relations",
        description="Delete relations.",
        input=input_schema("relations", relations=_RELATIONS),
        output=_DONE,
        call=delete_relations,
        destructive=True,
        idempotent=True,
        verbs={"unrelate": ""},
    ),
    Tool(
        name="read_graph",
        title="Read Graph",
        description="The whole knowledge graph. A large one comes in pages: search_nodes is cheaper.",
        input=input_schema(cursor=_CURSOR),
        output=_GRAPH,
        call=read_graph,
        read_only=True,
        idempotent=True,
    ),
    Tool(
        name="search_nodes",
        title="Search Nodes",
        description="Entities with a text in their name, type or an observation, and the relations that touch them.",
        input=input_schema("query", query=described(TEXT, "matched literally, ignoring case"), cursor=_CURSOR),
        output=_GRAPH,
        call=search_nodes,
        read_only=True,
        idempotent=True,
        verbs={"recall": "", "search_nodes": ""},
    ),
    Tool(
        name="open_nodes",
        title="Open Nodes",
        description="Entities by name, and the relations that touch them.",
        input=input_schema("names", names=TEXTS, cursor=_CURSOR),
        output=_GRAPH,
        call=open_nodes,
        read_only=True,
        idempotent=True,
        verbs={"read": ""},
    ),
)

GRAPH = StaticResource(
    uri=RESOURCE,
    name="knowledge-graph",
    title="Knowledge graph",
    description="All entities and relations, as read_graph returns them",
    mime_type="application/json",
    read=read_resource,
)
