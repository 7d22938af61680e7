"""The whole HTTP server in the event loop of a test, with access to its parts."""

from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from dataclasses import dataclass, replace

from scrubjay.app import open_engine_and_store
from scrubjay.engine import Engine
from scrubjay.model.caller import Caller
from scrubjay.model.memory import Json
from scrubjay.model.requests import CreateTokenRequest
from scrubjay.model.token import NewToken
from scrubjay.observability.prometheus import Metrics
from scrubjay.ports import Clock, RecordStore
from scrubjay.settings import Settings
from scrubjay.surfaces.changes import ChangeBroadcaster
from scrubjay.surfaces.daemon.http_server import HttpServer
from scrubjay.surfaces.daemon.limiter import RequestLimiter
from scrubjay.surfaces.daemon.mcp_sessions import McpSessions
from scrubjay.surfaces.daemon.rpc_dispatch import RpcDispatcher
from scrubjay.surfaces.http.address import bind_http, http_address
from scrubjay.surfaces.http.limits import ConnectionLimits


@dataclass(frozen=True, slots=True, kw_only=True)
class HttpStack:
    """The address and the parts of a running server."""

    address: str
    engine: Engine
    store: RecordStore
    gate: RequestLimiter
    changes: ChangeBroadcaster

    async def token(self, name: str, *spaces: str, access: str = "write", **options: Json) -> NewToken:
        """Create a token for some spaces; the options are those of its request."""
        token_request = CreateTokenRequest.of(name=name, spaces=spaces, access=access, **options)
        return await self.engine.create_token(token_request, who=Caller())


@asynccontextmanager
async def open_stack(
    settings: Settings,
    *,
    http: str = "127.0.0.1:0",
    clock: Clock | None = None,
    heartbeat_seconds: float = 15.0,
    send_seconds: float = 10.0,
    limits: ConnectionLimits | None = None,
) -> AsyncGenerator[HttpStack]:
    """Serve a memory over HTTP until the end of the block."""
    web = bind_http(http, required=True)
    assert web is not None
    with web:
        async with (
            open_engine_and_store(settings) as (opened, store),
            ChangeBroadcaster(store, seconds=0.05) as changes,
        ):
            engine = replace(opened, clock=clock or opened.clock)
            gate = RequestLimiter(max_requests=settings.max_requests, seconds=settings.operation_seconds)
            stack = HttpServer(
                dispatcher=RpcDispatcher(engine=engine, limiter=gate),
                store=store,
                mcp_sessions=McpSessions(
                    engine=engine, limiter=gate, changes=changes, space=settings.space, tools="core"
                ),
                metrics=Metrics(engine=engine, limiter=gate),
                settings=settings,
                limits=limits or ConnectionLimits(),
                heartbeat_seconds=heartbeat_seconds,
                send_seconds=send_seconds,
            )
            async with stack.open(web):
                yield HttpStack(address=http_address(web), engine=engine, store=store, gate=gate, changes=changes)
                # Streams end first, as in the daemon.
                await changes.close()
