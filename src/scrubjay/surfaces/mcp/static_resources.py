"""Resources that toolsets bring along."""

from collections.abc import Awaitable, Callable
from dataclasses import dataclass

from scrubjay.surfaces.mcp.tool import ToolContext

__all__ = ["Fixed"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Fixed:
    """A resource that is no memory: a toolset has it at an address of its own, and it tells of the whole space."""

    uri: str
    name: str
    title: str
    description: str
    mime_type: str
    read: Callable[[ToolContext], Awaitable[str]]
