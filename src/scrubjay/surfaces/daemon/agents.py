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
from scrubjay.notes.desk import Notes
from scrubjay.remote.frames import Frame, LineReader
from scrubjay.surfaces.daemon.gate import Gate
from scrubjay.surfaces.daemon.later import loaded
from scrubjay.surfaces.daemon.reception import Talk, Wishes, wishes_of
from scrubjay.surfaces.mcp.changes import Changes
from scrubjay.surfaces.mcp.tool import Desk
from scrubjay.surfaces.mcp.toolsets import pick
from scrubjay.surfaces.web.door import grant_of

if TYPE_CHECKING:
    from scrubjay.surfaces.mcp.server import Context
    from scrubjay.surfaces.mcp.web import Site

Still = Callable[[Grant], Awaitable[bool]]
"""Whether a grant still holds."""

_LONGEST_NAME = 100
_has_protocol = threading.Event()
_NOBODY = Wishes(space="", agent="", project="", tools="")


def load_protocol() -> None:
    """Load what speaks MCP: its packages take as long to load as all the rest of a daemon."""
    if not _has_protocol.is_set():
        for name in ("lines", "web"):
            import_module(f"scrubjay.surfaces.mcp.{name}")
        # It is there to stay: nobody need look through it for garbage.
        gc.freeze()
        _has_protocol.set()


@dataclass(frozen=True, slots=True, kw_only=True)
class Agents:
    """Gives each agent a desk: its space, its name, the project it works in."""

    engine: Engine
    gate: Gate
    changes: Changes
    space: str
    tools: str
    notes: Notes | None = None

    def speak(self, said: Frame) -> Talk:
        """How to talk to an agent that has said this; raises what cannot be had."""
        wishes = wishes_of(said)
        tools, desk = pick(wishes.tools or self.tools), self._desk(wishes, None, OWNER)

        async def talk(lines: LineReader, writer: asyncio.StreamWriter) -> None:
            if not _has_protocol.is_set():
                await loaded(load_protocol)
            from scrubjay.surfaces.mcp.lines import serve_lines  # noqa: PLC0415 - loaded by now
            from scrubjay.surfaces.mcp.server import make_server  # noqa: PLC0415

            async def write(line: bytes) -> None:
                writer.write(line)
                await writer.drain()

            def desk_of(ctx: "Context") -> Desk:
                return self._desk(wishes, ctx, OWNER)

            server = make_server(tools, desk=desk_of, gate=self.gate, changes=self.changes)
            await serve_lines(server, lines, write, desk=desk)

        return talk

    def site(self, still: Still) -> "Site":
        """What agents find on the web, once the protocol is loaded."""
        from scrubjay.surfaces.mcp.web import mcp_site  # noqa: PLC0415 - loaded by now

        desk = partial(self._desk_by_web, still=still)
        return mcp_site(self.tools, desk=desk, gate=self.gate, changes=self.changes)

    def _desk_by_web(self, ctx: "Context", *, still: Still) -> Desk:
        """The desk of whoever the door has let in; without its word nobody gets one."""
        request: object = ctx.request
        if not isinstance(request, Request):
            raise NotAllowed("nobody has vouched for this request", hint="Send it by HTTP")
        grant = grant_of(request.scope)
        return replace(self._desk(_NOBODY, ctx, grant), holds=partial(still, grant))

    def _desk(self, wishes: Wishes, ctx: "Context | None", grant: Grant) -> Desk:
        # Whoever has a token is known by its name; what a program calls itself would be the same for many.
        name = wishes.agent or (grant.name if grant.id else _client_name(ctx))
        who = grant.caller(space=wishes.space, agent=name, default=self.space)
        # Whoever was configured with a space stays in it.
        own = grant.within(wishes.space) if wishes.space else grant
        return Desk(engine=self.engine, who=who, project=wishes.project, grant=own, notes=self.notes)


def _client_name(ctx: "Context | None") -> str:
    """What the client's program calls itself; `undo` goes by it when nothing else was said."""
    client = ctx.session.client_params if ctx is not None else None
    return client.client_info.name[:_LONGEST_NAME] if client is not None else "mcp"
