"""`entities`: a text filed under those it is about, one record for each of them, and found again by their names."""

from collections.abc import Mapping, Sequence

from scrubjay.errors import InvalidInput
from scrubjay.model.memory import Json, Memory, Method
from scrubjay.model.results import Hit
from scrubjay.surfaces.mcp.arguments import Given
from scrubjay.surfaces.mcp.tool import Answer, Tool, ToolContext
from scrubjay.surfaces.mcp.toolsets.render import remembered
from scrubjay.surfaces.mcp.toolsets.schema import LIST, NUMBER, TEXT, TEXTS, gives, least, says, takes
from scrubjay.surfaces.mcp.toolsets.texts import PLENTY, Wording, tell_texts

_RESULTS = 5


async def store_memory(context: ToolContext, arguments: Mapping[str, Json]) -> Answer:
    """Store a text under one entity, or under none."""
    given = Given(arguments)
    return await _store(context, given, [given.text("entity")])


async def store_multi_entity_memory(context: ToolContext, arguments: Mapping[str, Json]) -> Answer:
    """Store a text under several entities: a record for each of them, all of one group."""
    given = Given(arguments)
    entities = given.texts("entities")
    if not any(entity.strip() for entity in entities):
        raise InvalidInput(
            "entities names nobody",
            hint="Say whom or what the text is about, or use store_memory",
            field="entities",
        )
    return await _store(context, given, entities)


async def search_memory(context: ToolContext, arguments: Mapping[str, Json]) -> Answer:
    """The texts that best answer a question, of all or of what is filed under one entity."""
    given = Given(arguments)
    count = given.whole("limit") or _RESULTS
    found = await context.memory.recall(
        given.text("query"), entity=given.text("entity"), limit=count, max_tokens=PLENTY, detail="full"
    )
    # What is pinned is told with every answer; here only where there is a place left for it.
    return tell_texts(context, [*found.hits, *found.pinned][:count], _WORDING, is_more=bool(found.cursor))


async def _store(context: ToolContext, given: Given, entities: Sequence[str]) -> Answer:
    done = await context.memory.remember(
        given.text("text"),
        entities=entities,
        kind=given.text("memory_type"),
        scope=given.text("scope"),
        project=given.text("project", context.project),
        tags=given.texts("tags"),
        source={"method": Method.AGENT.value},
    )
    # Under which names they are is known only now: spellings of one are one.
    memories = (await context.memory.read(done.ids, format="json")).memories if done.ids else ()
    more: dict[str, Json] = {
        "memories": [{"entity": memory.entity, "id": memory.id} for memory in memories],
        "group": next((memory.group for memory in memories if memory.group), ""),
    }
    return remembered(done, tags=given.texts("tags"), more=more)


def _described(hit: Hit, memory: Memory) -> dict[str, Json]:
    return {
        "entity": memory.entity,
        # All that the text is about, where that is more than the one it is filed under.
        "entities": [*hit.entities] if len(hit.entities) > 1 else [],
        "memory_type": memory.kind,
        "scope": memory.scope,
        "project": memory.project,
        "tags": [*memory.tags],
    }


_WORDING = Wording(describe=_described)
_STORED = gives(
    action=TEXT, id=TEXT, memories=LIST, group=TEXT, merged_into=TEXT, similarity=NUMBER, tags=LIST, warnings=LIST
)
_KIND = says(TEXT, "fact, preference, decision, …")
_SCOPE = says(TEXT, "personal, team, project, …")

TOOLS = (
    Tool(
        name="store_memory",
        title="Store a memory",
        description="Store a text under the one entity it is about. Search first.",
        input=takes("text", text=TEXT, entity=TEXT, memory_type=_KIND, scope=_SCOPE, project=TEXT, tags=TEXTS),
        output=_STORED,
        call=store_memory,
    ),
    Tool(
        name="store_multi_entity_memory",
        title="Store a memory about several",
        description="Stores a single piece of text as multiple memories, one for each provided entity.",
        input=takes(
            "text", "entities", "memory_type", "scope",
            text=TEXT, entities=TEXTS, memory_type=_KIND, scope=_SCOPE, project=TEXT, tags=TEXTS,
        ),
        output=_STORED,
        call=store_multi_entity_memory,
    ),
    Tool(
        name="search_memory",
        title="Search memories",
        description="The stored texts that best answer a query; with entity, of what is filed under it.",
        input=takes("query", query=TEXT, entity=TEXT, limit=least(1)),
        output=gives(results=LIST),
        call=search_memory,
        reads=True,
    ),
)  # fmt: skip
