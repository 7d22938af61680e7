"""`kg`: the tools of the reference knowledge-graph server, argument for argument and answer for answer."""

from collections.abc import Mapping, Sequence
from typing import cast

from scrubjay.graph.entity import Entity, Link
from scrubjay.graph.knowledge import KnowledgeGraph
from scrubjay.graph.mutations import Texts
from scrubjay.model.checks import require_text, require_texts, wrong_type
from scrubjay.model.memory import Json
from scrubjay.surfaces.mcp.tool import Answer, Tool, ToolContext
from scrubjay.surfaces.mcp.toolsets.kg_pages import Page, echo, entity_json, link_json
from scrubjay.surfaces.mcp.toolsets.schema import FLAG, TEXT, TEXTS, says, takes

# The reference server's one resource: what `read_graph` tells, as application/json.
RESOURCE = "memory://knowledge-graph"


async def create_entities(context: ToolContext, arguments: Mapping[str, Json]) -> Answer:
    """Make the entities whose names are free."""
    entities = [
        Entity(
            name=_text(one, "name", at), type=_text(one, "entityType", at), observations=_texts(one, "observations", at)
        )
        for at, one in _objects(arguments, "entities")
    ]
    return echo("entities", [entity_json(entity) for entity in await _graph(context).create_entities(entities)])


async def create_relations(context: ToolContext, arguments: Mapping[str, Json]) -> Answer:
    """Make the relations that are not there yet."""
    return echo(
        "relations", [link_json(relation) for relation in await _graph(context).create_relations(_links(arguments))]
    )


async def add_observations(context: ToolContext, arguments: Mapping[str, Json]) -> Answer:
    """Add observations to entities that exist."""
    added = await _graph(context).add_observations(_additions(arguments, "observations", "contents"))
    return echo("results", [{"entityName": name, "addedObservations": list(texts)} for name, texts in added])


async def delete_entities(context: ToolContext, arguments: Mapping[str, Json]) -> Answer:
    """Put entities into the trash, and remove their relations."""
    await _graph(context).delete_entities(_texts(arguments, "entityNames"))
    return _deleted("Entities")


async def delete_observations(context: ToolContext, arguments: Mapping[str, Json]) -> Answer:
    """Take observations from entities."""
    await _graph(context).delete_observations(_additions(arguments, "deletions", "observations"))
    return _deleted("Observations")


async def delete_relations(context: ToolContext, arguments: Mapping[str, Json]) -> Answer:
    """Remove relations."""
    await _graph(context).delete_relations(_links(arguments))
    return _deleted("Relations")


async def read_graph(context: ToolContext, arguments: Mapping[str, Json]) -> Answer:
    """All there is."""
    page = Page()
    await page.fill(await _graph(context).everything(), _cursor(arguments))
    return page.answer()


async def search_nodes(context: ToolContext, arguments: Mapping[str, Json]) -> Answer:
    """The entities that contain a text."""
    walk, remark = await _graph(context).searched(_text(arguments, "query"))
    page = Page()
    await page.fill(walk, _cursor(arguments))
    context.engine.access_log.note((context.who.space, memory_id) for memory_id in page.ids)
    return page.answer(remark)


async def open_nodes(context: ToolContext, arguments: Mapping[str, Json]) -> Answer:
    """The entities with some names."""
    page = Page()
    await page.fill(await _graph(context).opened(_texts(arguments, "names")), _cursor(arguments))
    context.engine.access_log.note((context.who.space, memory_id) for memory_id in page.ids)
    return page.answer()


async def read_resource(context: ToolContext) -> str:
    """The resource `memory://knowledge-graph`."""
    return (await read_graph(context, {})).text


def _graph(context: ToolContext) -> KnowledgeGraph:
    return context.engine.knowledge_graph(who=context.who, project=context.project)


def _deleted(what: str) -> Answer:
    message = f"{what} deleted successfully"
    return Answer(structured={"success": True, "message": message}, text=message)


def _links(arguments: Mapping[str, Json]) -> list[Link]:
    return [
        Link(source=_text(one, "from", at), target=_text(one, "to", at), type=_text(one, "relationType", at))
        for at, one in _objects(arguments, "relations")
    ]


def _additions(arguments: Mapping[str, Json], name: str, texts: str) -> list[Texts]:
    return [(_text(one, "entityName", at), _texts(one, texts, at)) for at, one in _objects(arguments, name)]


def _objects(arguments: Mapping[str, Json], name: str) -> Sequence[tuple[str, Mapping[str, Json]]]:
    """A list of objects, each with the path that leads to it."""
    given = arguments.get(name)
    if not isinstance(given, list):
        raise wrong_type(name, "a list of objects", given)
    for at, one in enumerate(given):
        if not isinstance(one, dict):
            raise wrong_type(f"{name}[{at}]", "an object", one)
    return [(f"{name}[{at}].", cast("Mapping[str, Json]", one)) for at, one in enumerate(given)]


def _text(given: Mapping[str, Json], name: str, path: str = "") -> str:
    return require_text(given.get(name), field=f"{path}{name}")


def _texts(given: Mapping[str, Json], name: str, path: str = "") -> tuple[str, ...]:
    return require_texts(given.get(name), field=f"{path}{name}")


def _cursor(arguments: Mapping[str, Json]) -> str:
    return require_text(arguments.get("cursor", ""), field="cursor")


def _list_of(*required: str, **properties: dict[str, Json]) -> dict[str, Json]:
    return {
        "type": "array",
        "items": {"type": "object", "properties": dict(properties), "required": list(required)},
    }


def _gives(*required: str, **properties: dict[str, Json]) -> dict[str, Json]:
    return {"type": "object", "properties": dict(properties), "required": list(required)}


_ENTITIES = _list_of("name", "entityType", "observations", name=TEXT, entityType=TEXT, observations=TEXTS)
_RELATIONS = _list_of("from", "to", "relationType", **{"from": TEXT, "to": TEXT, "relationType": TEXT})
_DONE = _gives("success", "message", success=FLAG, message=TEXT)
_GRAPH = _gives("entities", "relations", entities=_ENTITIES, relations=_RELATIONS, nextCursor=TEXT, note=TEXT)
_CURSOR = says(TEXT, "nextCursor of the answer before")

TOOLS = (
    Tool(
        name="create_entities",
        title="Create Entities",
        description="Create entities in the knowledge graph. Names that exist already are left alone.",
        input=takes("entities", entities=_ENTITIES),
        output=_gives("entities", entities=_ENTITIES, note=TEXT),
        call=create_entities,
    ),
    Tool(
        name="create_relations",
        title="Create Relations",
        description="Create relations between entities. Write them in active voice: Ada works_at Acme.",
        input=takes("relations", relations=_RELATIONS),
        output=_gives("relations", relations=_RELATIONS, note=TEXT),
        call=create_relations,
    ),
    Tool(
        name="add_observations",
        title="Add Observations",
        description="Add observations to entities that exist. Those an entity has already are left out.",
        input=takes("observations", observations=_list_of("entityName", "contents", entityName=TEXT, contents=TEXTS)),
        output=_gives(
            "results",
            results=_list_of("entityName", "addedObservations", entityName=TEXT, addedObservations=TEXTS),
            note=TEXT,
        ),
        call=add_observations,
    ),
    Tool(
        name="delete_entities",
        title="Delete Entities",
        description="Delete entities and every relation that names them.",
        input=takes("entityNames", entityNames=TEXTS),
        output=_DONE,
        call=delete_entities,
        destroys=True,
        repeatable=True,
    ),
    Tool(
        name="delete_observations",
        title="Delete Observations",
        description="Delete observations from entities, each given word for word.",
        input=takes("deletions", deletions=_list_of("entityName", "observations", entityName=TEXT, observations=TEXTS)),
        output=_DONE,
        call=delete_observations,
        destroys=True,
        repeatable=True,
    ),
    Tool(
        name="delete_relations",
        title="Delete Relations",
        description="Delete relations.",
        input=takes("relations", relations=_RELATIONS),
        output=_DONE,
        call=delete_relations,
        destroys=True,
        repeatable=True,
    ),
    Tool(
        name="read_graph",
        title="Read Graph",
        description="The whole knowledge graph. A large one comes in pages: search_nodes is cheaper.",
        input=takes(cursor=_CURSOR),
        output=_GRAPH,
        call=read_graph,
        reads=True,
        repeatable=True,
    ),
    Tool(
        name="search_nodes",
        title="Search Nodes",
        description="Entities with a text in their name, type or an observation, and the relations that touch them.",
        input=takes("query", query=says(TEXT, "looked for as it is, in any case"), cursor=_CURSOR),
        output=_GRAPH,
        call=search_nodes,
        reads=True,
        repeatable=True,
    ),
    Tool(
        name="open_nodes",
        title="Open Nodes",
        description="Entities by name, and the relations that touch them.",
        input=takes("names", names=TEXTS, cursor=_CURSOR),
        output=_GRAPH,
        call=open_nodes,
        reads=True,
        repeatable=True,
    ),
)
