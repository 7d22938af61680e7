"""Entities of the `enhanced` dialect: created, found, changed, counted."""

from collections.abc import Mapping
from typing import cast

from scrubjay.graph.counting import of_space
from scrubjay.model.memory import Json, Method
from scrubjay.surfaces.mcp.arguments import Given
from scrubjay.surfaces.mcp.tool import Answer, Desk
from scrubjay.surfaces.mcp.toolsets.enhanced_telling import within_budget

_RESULTS = 10


async def create_entities(desk: Desk, arguments: Mapping[str, Json]) -> Answer:
    """Create or update entities by name."""
    records = cast("list[Json]", arguments["entities"])
    done = await desk.memory.create_entities([cast("dict[str, Json]", one) for one in await attributed(desk, records)])
    return within_budget(done, lists=("errors", "results"))


async def search_nodes(desk: Desk, arguments: Mapping[str, Json]) -> Answer:
    """Entities by name and type, and by meaning."""
    given = Given(arguments)
    found = await desk.memory.search_nodes(given.text("query"), limit=given.whole("limit") or _RESULTS)
    return within_budget(found, lists=("results",))


async def update_entity(desk: Desk, arguments: Mapping[str, Json]) -> Answer:
    """Change fields of an entity."""
    (changes,) = await attributed(desk, [Given(arguments).mapping("updates")])
    ref = str(arguments["entity"])
    done = await desk.memory.update_entity(ref, cast("dict[str, Json]", changes))
    return within_budget(done, lists=("conflicts", "warnings"))


async def get_memory_status(desk: Desk, arguments: Mapping[str, Json]) -> Answer:
    """Counts and sizes."""
    del arguments
    found = await desk.memory.get_memory_status()
    return within_budget(found if desk.grant.is_everywhere else of_space(found))


async def attributed(desk: Desk, records: list[Json]) -> list[Json]:
    """Records as an agent may hand them in: what it calls manual is its own word, and an import is no way around."""
    is_reviewed = (await desk.memory.rules()).review != "none"
    own = (None, Method.MANUAL.value, *((Method.IMPORT.value,) if is_reviewed else ()))
    return [
        {**one, "extraction_method": Method.AGENT.value}
        if isinstance(one, dict) and one.get("extraction_method") in own
        else one
        for one in records
    ]
