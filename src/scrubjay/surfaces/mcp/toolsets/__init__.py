"""Toolsets: groups of tools that are switched on together, each the dialect of one sort of client."""

from collections.abc import Sequence

from scrubjay.errors import InvalidInput
from scrubjay.surfaces.mcp.static_resources import Fixed
from scrubjay.surfaces.mcp.suggestions import did_you_mean, shown
from scrubjay.surfaces.mcp.tool import Tool
from scrubjay.surfaces.mcp.toolsets import core, enhanced, entities, items, kg, notes, session, smart

DEFAULT = "core"
ALL = "all"

# Where two toolsets have a tool of the same name, the later one serves it.
TOOLSETS: dict[str, tuple[Tool, ...]] = {
    "core": core.TOOLS,
    "kg": kg.TOOLS,
    "enhanced": enhanced.TOOLS,
    "items": items.TOOLS,
    "entities": entities.TOOLS,
    "smart": smart.TOOLS,
    "notes": notes.TOOLS,
    "session": session.TOOLS,
}


def pick(names: str = "") -> tuple[Tool, ...]:
    """The tools of some toolsets, named with commas between; none is the default, `all` is all of them."""
    wanted = {name.strip() for name in (names.strip() or DEFAULT).split(",") if name.strip()}
    for name in wanted:
        if name != ALL and name not in TOOLSETS:
            raise InvalidInput(
                f"there is no toolset {shown(name)}", hint=did_you_mean(name, (*TOOLSETS, ALL)), field="tools"
            )
    chosen = [tools for name, tools in TOOLSETS.items() if name in wanted or ALL in wanted]
    return tuple({tool.name: tool for tools in chosen for tool in tools}.values())


def resources_of(tools: Sequence[Tool]) -> tuple[Fixed, ...]:
    """The resources that some tools bring along."""
    return tuple(
        resource
        for resource, bringing in ((_GRAPH, kg.TOOLS), (session.CONTEXT, session.TOOLS))
        if any(tool in bringing for tool in tools)
    )


_GRAPH = Fixed(
    uri=kg.RESOURCE,
    name="knowledge-graph",
    title="Knowledge graph",
    description="All entities and relations, as read_graph tells them",
    mime_type="application/json",
    read=kg.read_resource,
)
