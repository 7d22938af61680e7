"""MCP sessions of agents, over the socket or HTTP."""

import asyncio
import gc
import threading
from collections.abc import Awaitable, Callable
from dataclasses import replace
from functools import partial
from importlib import import_module
from typing import TYPE_CHECKING

from scrubjay.engine import Engine
from scrubjay.errors import NotAllowed
from scrubjay.lazy import dataclass
from scrubjay.model.caller import OWNER, Grant
from scrubjay.notes.service import Notes
from scrubjay.rpc.frames import Frame, LineReader
from scrubjay.surfaces.changes import ChangeBroadcaster
from scrubjay.surfaces.daemon.lazy import load_in_thread
from scrubjay.surfaces.daemon.limiter import RequestLimiter
from scrubjay.surfaces.daemon.socket_server import ClientHello, SessionHandler, parse_hello

if TYPE_CHECKING:
    from scrubjay.surfaces.mcp.http_transport import McpSite
    from scrubjay.surfaces.mcp.server import Context
    from scrubjay.surfaces.mcp.tool import ToolContext

GrantCheck = Callable[[Grant], Awaitable[bool]]
"""Returns whether a grant is still valid."""

_MAX_NAME = 100
_is_protocol_loaded = threading.Event()
_NO_HELLO = ClientHello(space="", agent="", project="", tools="")


def load_protocol() -> None:
    """Load the packages for MCP, which takes as long as loading the rest of the daemon."""
    if not _is_protocol_loaded.is_set():
        for name in ("line_transport", "http_transport"):
            import_module(f"scrubjay.surfaces.mcp.{name}")
        # They stay for the lifetime of the process, so the garbage collector can skip them.
        gc.freeze()
        _is_protocol_loaded.set()


@dataclass(frozen=True, slots=True, kw_only=True)
class McpSessions:
    """Starts the session of each agent, with its space, its name and its project."""

    engine: Engine
    limiter: RequestLimiter
    changes: ChangeBroadcaster
    space: str
    tools: str
    notes: Notes | None = None

    def handshake(self, frame: Frame) -> SessionHandler:
        """Return the handler for the hello of an agent; raises if its choices are invalid."""
        from scrubjay.surfaces.mcp.toolsets import pick  # noqa: PLC0415 - a daemon without agents does not need it

        hello = parse_hello(frame)
        tools, context = pick(hello.tools or self.tools), self._context(hello, None, OWNER)

        async def handle(lines: LineReader, writer: asyncio.StreamWriter) -> None:
            if not _is_protocol_loaded.is_set():
                await load_in_thread(load_protocol)
            from scrubjay.surfaces.mcp.line_transport import serve_lines  # noqa: PLC0415 - loaded by now
            from scrubjay.surfaces.mcp.server import make_server  # noqa: PLC0415

            async def write(line: bytes) -> None:
                writer.write(line)
                await writer.drain()

            def context_of(ctx: "Context") -> "ToolContext":
                return self._context(hello, ctx, OWNER)

            server = make_server(tools, context=context_of, limiter=self.limiter, changes=self.changes)
            await serve_lines(server, lines, write, context=context)

        return handle

    def http_site(self, is_valid: GrantCheck) -> "McpSite":
        """Return the MCP endpoint for HTTP; the protocol must be loaded."""
        from scrubjay.surfaces.mcp.http_transport import mcp_site  # noqa: PLC0415 - loaded by now

        context = partial(self._http_context, is_valid=is_valid)
        return mcp_site(self.tools, context=context, limiter=self.limiter, changes=self.changes)

    def _http_context(self, ctx: "Context", *, is_valid: GrantCheck) -> "ToolContext":
        """Return the context of an authenticated request; raises NotAllowed for any other."""
        from starlette.requests import Request  # noqa: PLC0415 - loaded by now

        from scrubjay.surfaces.http.auth_middleware import grant_of  # noqa: PLC0415

        request: object = ctx.request
        if not isinstance(request, Request):
            raise NotAllowed("the request is not authenticated", hint="Send it by HTTP")
        grant = grant_of(request.scope)
        return replace(self._context(_NO_HELLO, ctx, grant), still_allowed=partial(is_valid, grant))

    def _context(self, hello: ClientHello, ctx: "Context | None", grant: Grant) -> "ToolContext":
        from scrubjay.surfaces.mcp.tool import ToolContext  # noqa: PLC0415 - loaded by now

        # The name of a token identifies the agent; many agents share the name of a program.
        name = hello.agent or (grant.name if grant.id else _client_name(ctx))
        who = grant.caller(space=hello.space, agent=name, default=self.space)
        # An agent that is configured with a space stays in it.
        own = grant.limited_to(hello.space) if hello.space else grant
        return ToolContext(engine=self.engine, who=who, project=hello.project, grant=own, notes=self.notes)


def _client_name(ctx: "Context | None") -> str:
    """Return the name of the client program; `undo` uses it if there is no other name."""
    client = ctx.session.client_params if ctx is not None else None
    return client.client_info.name[:_MAX_NAME] if client is not None else "mcp"
