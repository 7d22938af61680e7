"""Entities of the `enhanced` dialect: created, found, changed, counted."""

from collections.abc import Mapping
from typing import cast

from scrubjay.graph.status import of_space
from scrubjay.model.memory import Json, Method
from scrubjay.surfaces.mcp.arguments import Given
from scrubjay.surfaces.mcp.tool import Answer, ToolContext
from scrubjay.surfaces.mcp.toolsets.enhanced_results import fits, within_budget

_RESULTS = 10
_ALWAYS = "always included"
_SHORTER = "told shortly; detect_conflicts tells the conflicts of one entity"
_BARE = ("id", "name", "action", "version", "warnings")


async def create_entities(context: ToolContext, arguments: Mapping[str, Json]) -> Answer:
    """Create or update entities by name."""
    records = cast("list[Json]", arguments["entities"])
    done = await context.memory.create_entities(
        [cast("dict[str, Json]", one) for one in await attributed(context, records)]
    )
    return told_of_all(done)


def told_of_all(done: Mapping[str, Json]) -> Answer:
    """What was done with entities: rather the id of every one than all there is to tell of some."""
    results = cast("list[dict[str, Json]]", done["results"])
    for shorter in (_by_id, _barely, _least):
        if fits(done):
            break
        results = [shorter(result) for result in results]
        done = {**done, "results": list[Json](results), "note": _SHORTER}
    return within_budget(done, lists=("errors", "results"))


async def search_nodes(context: ToolContext, arguments: Mapping[str, Json]) -> Answer:
    """Entities by name and type, and by meaning."""
    given = Given(arguments)
    found = await context.memory.search_nodes(given.text("query"), limit=given.whole("limit") or _RESULTS)
    results = cast("list[Json]", found["results"])
    first = cast("int", found.pop("always_included", 0))
    # What is always included stays in its half: it never takes the place of what was asked for.
    parts = {**found, _ALWAYS: results[:first], "results": results[first:]}
    half = _ALWAYS if results[first:] else ""
    told = dict(within_budget(parts, lists=(_ALWAYS, "results"), half=half).structured)
    told["results"] = [*cast("list[Json]", told.pop(_ALWAYS)), *cast("list[Json]", told["results"])]
    return Answer(structured=told)


async def update_entity(context: ToolContext, arguments: Mapping[str, Json]) -> Answer:
    """Change fields of an entity."""
    (changes,) = await attributed(context, [Given(arguments).mapping("updates")])
    ref = str(arguments["entity"])
    done = await context.memory.update_entity(ref, cast("dict[str, Json]", changes))
    return within_budget(done, lists=("conflicts", "warnings"))


async def get_memory_status(context: ToolContext, arguments: Mapping[str, Json]) -> Answer:
    """Counts and sizes."""
    del arguments
    found = await context.memory.get_memory_status()
    return within_budget(found if context.grant.allows_all_spaces else of_space(found))


def _by_id(result: dict[str, Json]) -> dict[str, Json]:
    """What was done with an entity, with its conflicts by their ids alone."""
    told = {name: value for name, value in result.items() if name != "conflicts"}
    if conflicts := cast("list[dict[str, Json]]", result.get("conflicts") or []):
        told["conflict_ids"] = [conflict["conflict_id"] for conflict in conflicts]
    return told


def _barely(result: dict[str, Json]) -> dict[str, Json]:
    """Which entity it is, what was done with it, and how many conflicts it has."""
    told = {name: value for name, value in result.items() if name in _BARE}
    if conflicts := cast("list[Json]", result.get("conflict_ids") or []):
        told["conflict_count"] = len(conflicts)
    return told


def _least(result: dict[str, Json]) -> dict[str, Json]:
    return {name: value for name, value in result.items() if name in ("id", "name", "action")}


async def attributed(context: ToolContext, records: list[Json]) -> list[Json]:
    """Records as an agent may hand them in: what it calls manual is its own word, and an import is no way around."""
    is_reviewed = (await context.memory.rules()).review != "none"
    own = (None, Method.MANUAL.value, *((Method.IMPORT.value,) if is_reviewed else ()))
    return [
        {**record, "extraction_method": Method.AGENT.value}
        if isinstance(record, dict) and record.get("extraction_method") in own
        else record
        for record in records
    ]
