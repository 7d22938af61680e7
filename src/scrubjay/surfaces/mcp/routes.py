"""Where on the web agents are spoken to."""

from starlette.routing import BaseRoute, Route
from starlette.types import ASGIApp

__all__ = ["mcp_routes"]


def mcp_routes(site: ASGIApp) -> list[BaseRoute]:
    """The routes to a site, for an application behind a guard: Host and Origin are not looked at there."""
    return [Route("/mcp", endpoint=site), Route("/mcp/{toolset}", endpoint=site)]
