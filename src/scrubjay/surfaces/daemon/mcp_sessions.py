"""Agents: clients that speak MCP, over the socket or over HTTP."""

import asyncio
import gc
import threading
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, replace
from functools import partial
from importlib import import_module
from typing import TYPE_CHECKING

from starlette.requests import Request

from scrubjay.engine import Engine
from scrubjay.errors import NotAllowed
from scrubjay.model.grant import OWNER, Grant
from scrubjay.notes.service import Notes
from scrubjay.rpc.frames import Frame, LineReader
from scrubjay.surfaces.changes import ChangeBroadcaster
from scrubjay.surfaces.daemon.lazy import loaded
from scrubjay.surfaces.daemon.limiter import RequestLimiter
from scrubjay.surfaces.daemon.socket_server import Talk, Wishes, wishes_of
from scrubjay.surfaces.http.auth_middleware import grant_of
from scrubjay.surfaces.mcp.tool import ToolContext
from scrubjay.surfaces.mcp.toolsets import pick

if TYPE_CHECKING:
    from scrubjay.surfaces.mcp.http_transport import McpSite
    from scrubjay.surfaces.mcp.server import Context

Still = Callable[[Grant], Awaitable[bool]]
"""Whether a grant still holds."""

_LONGEST_NAME = 100
_has_protocol = threading.Event()
_NOBODY = Wishes(space="", agent="", project="", tools="")


def load_protocol() -> None:
    """Load what speaks MCP: its packages take as long to load as all the rest of a daemon."""
    if not _has_protocol.is_set():
        for name in ("line_transport", "http_transport"):
            import_module(f"scrubjay.surfaces.mcp.{name}")
        # It is there to stay: nobody need look through it for garbage.
        gc.freeze()
        _has_protocol.set()


@dataclass(frozen=True, slots=True, kw_only=True)
class McpSessions:
    """Gives each agent a desk: its space, its name, the project it works in."""

    engine: Engine
    gate: RequestLimiter
    changes: ChangeBroadcaster
    space: str
    tools: str
    notes: Notes | None = None

    def speak(self, said: Frame) -> Talk:
        """How to talk to an agent that has said this; raises what cannot be had."""
        wishes = wishes_of(said)
        tools, context = pick(wishes.tools or self.tools), self._context(wishes, None, OWNER)

        async def talk(lines: LineReader, writer: asyncio.StreamWriter) -> None:
            if not _has_protocol.is_set():
                await loaded(load_protocol)
            from scrubjay.surfaces.mcp.line_transport import serve_lines  # noqa: PLC0415 - loaded by now
            from scrubjay.surfaces.mcp.server import make_server  # noqa: PLC0415

            async def write(line: bytes) -> None:
                writer.write(line)
                await writer.drain()

            def context_of(ctx: "Context") -> ToolContext:
                return self._context(wishes, ctx, OWNER)

            server = make_server(tools, context=context_of, limiter=self.gate, changes=self.changes)
            await serve_lines(server, lines, write, context=context)

        return talk

    def site(self, still: Still) -> "McpSite":
        """What agents find on the web, once the protocol is loaded."""
        from scrubjay.surfaces.mcp.http_transport import mcp_site  # noqa: PLC0415 - loaded by now

        context = partial(self._desk_by_web, still=still)
        return mcp_site(self.tools, context=context, limiter=self.gate, changes=self.changes)

    def _desk_by_web(self, ctx: "Context", *, still: Still) -> ToolContext:
        """The desk of whoever the door has let in; without its word nobody gets one."""
        request: object = ctx.request
        if not isinstance(request, Request):
            raise NotAllowed("nobody has vouched for this request", hint="Send it by HTTP")
        grant = grant_of(request.scope)
        return replace(self._context(_NOBODY, ctx, grant), still_allowed=partial(still, grant))

    def _context(self, wishes: Wishes, ctx: "Context | None", grant: Grant) -> ToolContext:
        # Whoever has a token is known by its name; what a program calls itself would be the same for many.
        name = wishes.agent or (grant.name if grant.id else _client_name(ctx))
        who = grant.caller(space=wishes.space, agent=name, default=self.space)
        # Whoever was configured with a space stays in it.
        own = grant.limited_to(wishes.space) if wishes.space else grant
        return ToolContext(engine=self.engine, who=who, project=wishes.project, grant=own, notes=self.notes)


def _client_name(ctx: "Context | None") -> str:
    """What the client's program calls itself; `undo` goes by it when nothing else was said."""
    client = ctx.session.client_params if ctx is not None else None
    return client.client_info.name[:_LONGEST_NAME] if client is not None else "mcp"
