"""MCP over HTTP: `/mcp` for the configured tools, `/mcp/{toolset}` for one toolset; each request stands alone."""

from collections.abc import AsyncGenerator, Mapping, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass

from mcp.server.streamable_http_manager import StreamableHTTPSessionManager
from mcp.server.transport_security import TransportSecuritySettings
from mcp_types import INVALID_REQUEST, METHOD_NOT_FOUND, JSONRPCMessage, JSONRPCRequest
from mcp_types.version import MODERN_PROTOCOL_VERSIONS
from starlette.datastructures import Headers, MutableHeaders
from starlette.requests import Request
from starlette.responses import Response
from starlette.types import Message, Receive, Scope, Send

from scrubjay.surfaces.changes import ChangeBroadcaster
from scrubjay.surfaces.mcp.messages import Rejected, message_from, rejected
from scrubjay.surfaces.mcp.server import ContextOf, make_server
from scrubjay.surfaces.mcp.suggestions import did_you_mean, shown
from scrubjay.surfaces.mcp.tool import CallLimiter, Tool, ToolContext
from scrubjay.surfaces.mcp.toolsets import TOOLSETS, pick

_LARGEST_BODY = 16 * 1024 * 1024
_ACCEPT = "application/json, text/event-stream"
_FORM = "application/x-www-form-urlencoded"


@dataclass(frozen=True, slots=True, kw_only=True)
class Spoken:
    """A server that is spoken to in two ways: it answers with one JSON document, or may first tell how far it is."""

    at_once: StreamableHTTPSessionManager
    streaming: StreamableHTTPSessionManager


@dataclass(frozen=True, slots=True, kw_only=True)
class Site:
    """What is served under `/mcp`, and the context in which it can be."""

    managers: Mapping[str, Spoken]

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        await _Door(self.managers)(scope, receive, send)

    @asynccontextmanager
    async def open(self) -> AsyncGenerator[None]:
        """As long as requests are taken."""
        async with AsyncExitStack() as stack:
            for spoken in self.managers.values():
                await stack.enter_async_context(spoken.at_once.run())
                await stack.enter_async_context(spoken.streaming.run())
            yield


def mcp_site(
    tools: str = "", *, context: ToolContext | ContextOf, gate: CallLimiter, changes: ChangeBroadcaster
) -> Site:
    """Everything that is served under `/mcp`; `tools` are the toolsets of the configured set."""

    def manager(chosen: Sequence[Tool], *, json: bool) -> StreamableHTTPSessionManager:
        return StreamableHTTPSessionManager(
            make_server(chosen, context=context, gate=gate, changes=changes, lasting=False),
            json_response=json,
            stateless=True,
            max_request_body_size=_LARGEST_BODY,
            security_settings=TransportSecuritySettings(enable_dns_rebinding_protection=False),
        )

    sets = {"": pick(tools), **TOOLSETS}
    return Site(
        managers={
            name: Spoken(at_once=manager(chosen, json=True), streaming=manager(chosen, json=False))
            for name, chosen in sets.items()
        }
    )


class _Door:
    """Makes what a bare `curl` sends into what the protocol asks for, and refuses in plain words what is no message."""

    def __init__(self, managers: Mapping[str, Spoken]) -> None:
        self._managers = managers

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        answer = await self._refusal(scope)
        if answer is not None:
            await answer(scope, receive, send)
            return
        body = await _body(Request(scope, receive))
        message = message_from(body) if body is not None else _too_large()
        if isinstance(message, Rejected):
            await _answer(message, status=400 if body is not None else 413)(scope, receive, send)
            return
        spoken = self._managers[scope["path_params"].get("toolset", "")]
        manager = spoken.streaming if _may_stream(Headers(scope=scope), message) else spoken.at_once
        await manager.handle_request(_accepting(scope), _replay(body or b"", receive), send)

    async def _refusal(self, scope: Scope) -> Response | None:
        name = scope["path_params"].get("toolset", "")
        if name not in self._managers:
            known = [manager for manager in self._managers if manager]
            return _answer(
                rejected(METHOD_NOT_FOUND, f"there is no toolset {shown(name)}. {did_you_mean(name, known)}"),
                status=404,
            )
        if scope["method"] != "POST":
            # There is no stream to get and no session to delete: every request stands alone.
            return Response(status_code=405, headers={"allow": "POST"})
        return None


def _may_stream(headers: Headers, message: JSONRPCMessage) -> bool:
    """Whether a client takes a stream and has a use for it; a bare one always gets plain JSON.

    In the newer revision an answer is a stream only if something comes before it, and hanging up gives the request up.
    """
    if "text/event-stream" not in headers.get("accept", ""):
        return False
    if headers.get("mcp-protocol-version") in MODERN_PROTOCOL_VERSIONS:
        return True
    meta = (message.params or {}).get("_meta") if isinstance(message, JSONRPCRequest) else None
    return meta is not None and meta.get("progressToken") is not None


def _accepting(scope: Scope) -> Scope:
    """The request with the headers that the protocol asks for, where a bare client has none of its own.

    Whoever does not say what it takes, takes what comes; `curl -d` calls everything a form.
    """
    headers = MutableHeaders(scope=dict(scope))
    if headers.get("accept", "*/*") == "*/*":
        headers["accept"] = _ACCEPT
    if headers.get("content-type", _FORM) == _FORM:
        headers["content-type"] = "application/json"
    return {**scope, "headers": headers.raw}


async def _body(request: Request) -> bytes | None:
    body = bytearray()
    async for chunk in request.stream():
        body += chunk
        if len(body) > _LARGEST_BODY:
            return None
    return bytes(body)


def _replay(body: bytes, receive: Receive) -> Receive:
    told = False

    async def again() -> Message:
        nonlocal told
        if told:
            return await receive()
        told = True
        return {"type": "http.request", "body": body, "more_body": False}

    return again


def _too_large() -> Rejected:
    return rejected(INVALID_REQUEST, f"the body is larger than {_LARGEST_BODY:,} bytes")


def _answer(rejection: Rejected, *, status: int) -> Response:
    text = rejection.error.model_dump_json(by_alias=True, exclude_unset=True)
    return Response(text, status_code=status, media_type="application/json")
