"""MCP over HTTP: `/mcp` for the configured tools, `/mcp/{toolset}` for one toolset; requests share no session."""

from collections.abc import AsyncGenerator, Mapping, Sequence
from contextlib import AsyncExitStack, asynccontextmanager

from mcp.server.streamable_http_manager import StreamableHTTPSessionManager
from mcp.server.transport_security import TransportSecuritySettings
from mcp_types import INVALID_REQUEST, METHOD_NOT_FOUND, JSONRPCMessage, JSONRPCRequest
from mcp_types.version import MODERN_PROTOCOL_VERSIONS
from starlette.datastructures import Headers, MutableHeaders
from starlette.requests import Request
from starlette.responses import Response
from starlette.types import Message, Receive, Scope, Send

from scrubjay.lazy import dataclass
from scrubjay.surfaces.changes import ChangeBroadcaster
from scrubjay.surfaces.mcp.arguments import did_you_mean, display
from scrubjay.surfaces.mcp.messages import RejectedMessage, parse_message, reject
from scrubjay.surfaces.mcp.server import ContextOf, make_server
from scrubjay.surfaces.mcp.tool import CallLimiter, Tool, ToolContext
from scrubjay.surfaces.mcp.toolsets import TOOLSETS, pick

_MAX_BODY = 16 * 1024 * 1024
_ACCEPT = "application/json, text/event-stream"
_FORM = "application/x-www-form-urlencoded"


@dataclass(frozen=True, slots=True, kw_only=True)
class HttpManagers:
    """The two ways to answer for one toolset: one JSON document, or a stream that can report progress first."""

    json: StreamableHTTPSessionManager
    streaming: StreamableHTTPSessionManager


@dataclass(frozen=True, slots=True, kw_only=True)
class McpSite:
    """The ASGI application under `/mcp`. It accepts plain `curl` requests, and explains what is wrong with others."""

    managers: Mapping[str, HttpManagers]

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        refusal = self._refuse(scope)
        if refusal is not None:
            await refusal(scope, receive, send)
            return
        body = await _read_body(Request(scope, receive))
        if body is None:
            too_large = reject(INVALID_REQUEST, f"the body is larger than {_MAX_BODY:,} bytes")
            await _respond(too_large, status=413)(scope, receive, send)
            return
        message = parse_message(body)
        if isinstance(message, RejectedMessage):
            await _respond(message, status=400)(scope, receive, send)
            return
        managers = self.managers[scope["path_params"].get("toolset", "")]
        manager = managers.streaming if _may_stream(Headers(scope=scope), message) else managers.json
        await manager.handle_request(_complete_headers(scope), _replay(body, receive), send)

    @asynccontextmanager
    async def open(self) -> AsyncGenerator[None]:
        """Accept requests in this context."""
        async with AsyncExitStack() as stack:
            for managers in self.managers.values():
                await stack.enter_async_context(managers.json.run())
                await stack.enter_async_context(managers.streaming.run())
            yield

    def _refuse(self, scope: Scope) -> Response | None:
        name = scope["path_params"].get("toolset", "")
        if name not in self.managers:
            names = [toolset for toolset in self.managers if toolset]
            return _respond(
                reject(METHOD_NOT_FOUND, f"there is no toolset {display(name)}. {did_you_mean(name, names)}"),
                status=404,
            )
        if scope["method"] != "POST":
            # Without sessions there is no stream to get and no session to delete.
            return Response(status_code=405, headers={"allow": "POST"})
        return None


def mcp_site(
    tools: str = "", *, context: ToolContext | ContextOf, limiter: CallLimiter, changes: ChangeBroadcaster
) -> McpSite:
    """Return the application for `/mcp`; `tools` names the configured toolsets."""

    def manager(chosen: Sequence[Tool], *, json: bool) -> StreamableHTTPSessionManager:
        return StreamableHTTPSessionManager(
            make_server(chosen, context=context, limiter=limiter, changes=changes, persistent=False),
            json_response=json,
            stateless=True,
            max_request_body_size=_MAX_BODY,
            security_settings=TransportSecuritySettings(enable_dns_rebinding_protection=False),
        )

    toolsets = {"": pick(tools), **TOOLSETS}
    return McpSite(
        managers={
            name: HttpManagers(json=manager(chosen, json=True), streaming=manager(chosen, json=False))
            for name, chosen in toolsets.items()
        }
    )


def _may_stream(headers: Headers, message: JSONRPCMessage) -> bool:
    """Return whether a client accepts a stream and has a use for it; a bare one always gets plain JSON.

    In the newer revision a response is a stream only if something comes before it, and hanging up cancels the request.
    """
    if "text/event-stream" not in headers.get("accept", ""):
        return False
    if headers.get("mcp-protocol-version") in MODERN_PROTOCOL_VERSIONS:
        return True
    meta = (message.params or {}).get("_meta") if isinstance(message, JSONRPCRequest) else None
    return meta is not None and meta.get("progressToken") is not None


def _complete_headers(scope: Scope) -> Scope:
    """Return the request with the headers that the protocol requires.

    A client that does not say what it accepts gets any form; `curl -d` calls every body a form.
    """
    headers = MutableHeaders(scope=dict(scope))
    if headers.get("accept", "*/*") == "*/*":
        headers["accept"] = _ACCEPT
    if headers.get("content-type", _FORM) == _FORM:
        headers["content-type"] = "application/json"
    return {**scope, "headers": headers.raw}


async def _read_body(request: Request) -> bytes | None:
    body = bytearray()
    async for chunk in request.stream():
        body += chunk
        if len(body) > _MAX_BODY:
            return None
    return bytes(body)


def _replay(body: bytes, receive: Receive) -> Receive:
    is_sent = False

    async def receive_again() -> Message:
        nonlocal is_sent
        if is_sent:
            return await receive()
        is_sent = True
        return {"type": "http.request", "body": body, "more_body": False}

    return receive_again


def _respond(rejected: RejectedMessage, *, status: int) -> Response:
    text = rejected.error.model_dump_json(by_alias=True, exclude_unset=True)
    return Response(text, status_code=status, media_type="application/json")
