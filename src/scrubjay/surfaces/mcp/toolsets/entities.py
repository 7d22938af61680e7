"""`entities`: texts filed under the entities they are about, one memory for each, and found by their names."""

from collections.abc import Mapping, Sequence
from typing import cast

from scrubjay.errors import InvalidInput
from scrubjay.model.memory import Json, Memory
from scrubjay.model.requests import RecallRequest, RememberRequest
from scrubjay.model.results import Hit
from scrubjay.surfaces.mcp.arguments import arguments_for
from scrubjay.surfaces.mcp.tool import Tool, ToolContext, ToolResult
from scrubjay.surfaces.mcp.toolsets.render import (
    AGENT_SOURCE,
    TextFields,
    render_remembered,
    render_texts,
)
from scrubjay.surfaces.mcp.toolsets.schema import (
    LIST,
    NUMBER,
    TEXT,
    TEXTS,
    at_least,
    described,
    input_schema,
    output_schema,
)

_RESULTS = 5
_NAMES = {"kind": "memory_type"}
_ONE_ENTITY = {**_NAMES, "entities": "entity"}


async def store_memory(context: ToolContext, arguments: Mapping[str, Json]) -> ToolResult:
    """Store a text under one entity, or under none."""
    return await _store(context, arguments, [str(arguments.get("entity", ""))])


async def store_multi_entity_memory(context: ToolContext, arguments: Mapping[str, Json]) -> ToolResult:
    """Store a text under several entities: a memory for each of them, all in one group."""
    entities = cast("list[str]", arguments["entities"])
    if not any(entity.strip() for entity in entities):
        raise InvalidInput(
            "entities contains no name",
            hint="Name the people or things that the text is about, or use store_memory",
            field="entities",
        )
    return await _store(context, arguments, entities)


async def search_memory(context: ToolContext, arguments: Mapping[str, Json]) -> ToolResult:
    """Return the texts that best answer a question, of all memories or of one entity."""
    values = {"limit": _RESULTS, **arguments_for(RecallRequest, arguments)}
    request = RecallRequest.of(**values, detail="full", from_project=context.project)
    return render_texts(context, await context.memory.call(request), _TEXT_FIELDS, count=request.limit)


async def _store(context: ToolContext, arguments: Mapping[str, Json], entities: Sequence[str]) -> ToolResult:
    values = {"project": context.project, **arguments_for(RememberRequest, arguments, _NAMES), "entities": entities}
    request = RememberRequest.of(**values, source=AGENT_SOURCE)
    done = await context.memory.call(request)
    # Read the names under which they are stored: several spellings of an entity are one.
    memories = (await context.memory.read(done.ids, format="json")).memories if done.ids else ()
    more: dict[str, Json] = {
        "memories": [{"entity": memory.entity, "id": memory.id} for memory in memories],
        "group": next((memory.group for memory in memories if memory.group), ""),
    }
    return render_remembered(done, tags=request.tags, more=more, entities="entity")


def _describe(hit: Hit, memory: Memory) -> dict[str, Json]:
    return {
        "entity": memory.entity,
        # All entities of the text, if there are more than the one it is filed under.
        "entities": [*hit.entities] if len(hit.entities) > 1 else [],
        "memory_type": memory.kind,
        "scope": memory.scope,
        "project": memory.project,
        "tags": [*memory.tags],
    }


_TEXT_FIELDS = TextFields(describe=_describe)
_STORED = output_schema(
    action=TEXT, id=TEXT, memories=LIST, group=TEXT, merged_into=TEXT, similarity=NUMBER, tags=LIST, warnings=LIST
)
_KIND = described(TEXT, "fact, preference, decision, …")
_SCOPE = described(TEXT, "personal, team, project, …")

TOOLS = (
    Tool(
        name="store_memory",
        title="Store a memory",
        description="Store a text under the one entity it is about. Search first.",
        input=input_schema("text", text=TEXT, entity=TEXT, memory_type=_KIND, scope=_SCOPE, project=TEXT, tags=TEXTS),
        output=_STORED,
        call=store_memory,
        names=_ONE_ENTITY,
        verbs={"remember": ""},
    ),
    Tool(
        name="store_multi_entity_memory",
        title="Store a memory about several",
        description="Stores a single piece of text as multiple memories, one for each provided entity.",
        input=input_schema(
            "text", "entities", "memory_type", "scope",
            text=TEXT, entities=TEXTS, memory_type=_KIND, scope=_SCOPE, project=TEXT, tags=TEXTS,
        ),
        output=_STORED,
        call=store_multi_entity_memory,
        names=_NAMES,
    ),
    Tool(
        name="search_memory",
        title="Search memories",
        description="The stored texts that best answer a query; with entity, only those filed under it.",
        input=input_schema("query", query=TEXT, entity=TEXT, limit=at_least(1)),
        output=output_schema(results=LIST),
        call=search_memory,
        read_only=True,
        verbs={"recall": ""},
    ),
)  # fmt: skip
