"""Toolsets: groups of tools that are switched on together, each for one kind of client."""

from collections.abc import Sequence

from scrubjay.errors import InvalidInput
from scrubjay.surfaces.mcp.arguments import did_you_mean, display
from scrubjay.surfaces.mcp.tool import StaticResource, Tool
from scrubjay.surfaces.mcp.toolsets import core, enhanced, entities, items, kg, notes, session, smart

DEFAULT = "core"
ALL = "all"

# If two toolsets have a tool of the same name, the later one serves it.
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
    """Return the tools of comma-separated toolsets; no name means the default, `all` means all of them."""
    chosen = {name.strip() for name in (names.strip() or DEFAULT).split(",") if name.strip()}
    for name in chosen:
        if name != ALL and name not in TOOLSETS:
            raise InvalidInput(
                f"there is no toolset {display(name)}", hint=did_you_mean(name, (*TOOLSETS, ALL)), field="tools"
            )
    toolsets = [tools for name, tools in TOOLSETS.items() if name in chosen or ALL in chosen]
    return tuple({tool.name: tool for tools in toolsets for tool in tools}.values())


def resources_of(tools: Sequence[Tool]) -> tuple[StaticResource, ...]:
    """Return the static resources of the toolsets that these tools belong to."""
    return tuple(
        resource
        for resource, owners in ((kg.GRAPH, kg.TOOLS), (session.CONTEXT, session.TOOLS))
        if any(tool in owners for tool in tools)
    )
