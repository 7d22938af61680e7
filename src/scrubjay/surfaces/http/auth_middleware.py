"""ASGI middleware before every route: Host and Origin checks, authentication, rate limits, body limits, request ids."""

import ipaddress
import logging
import re
import time
from collections.abc import Awaitable, Callable, Sequence
from contextlib import suppress
from dataclasses import field
from typing import Protocol, cast
from urllib.parse import urlsplit

from starlette.datastructures import Headers, MutableHeaders
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from scrubjay import telemetry
from scrubjay.errors import (
    KeysUnavailable,
    NotAdmitted,
    NotAllowed,
    ScrubjayError,
    StoreBusy,
    StoreError,
    TooLarge,
    TooManyRequests,
    TooSlow,
)
from scrubjay.lazy import dataclass
from scrubjay.model.caller import Grant
from scrubjay.surfaces.http.address import LOOPBACK
from scrubjay.surfaces.http.body import BodyReader, ClientGone, replay_body
from scrubjay.surfaces.http.browser_session import (
    LOGIN,
    MAX_LOGIN_BYTES,
    is_open_page,
    is_page,
    refuse_page,
    session_token,
)
from scrubjay.surfaces.http.problems import error_response, unexpected_error

_log = logging.getLogger(__name__)
_HOST = re.compile(r"(?P<name>\[[0-9A-Fa-f:.]+\]|[A-Za-z0-9._-]+)(?::[0-9]{0,5})?")
_ID_HEADER = "x-request-id"
_SWITCHING_PROTOCOLS = 101
_CLIENT_CLOSED_REQUEST = 499
_RETRY_AFTER = 1
_WEBSOCKET_INTERNAL_ERROR = 1011
_PREFIXES = ("/api/v1",)
_MCP = "/mcp"
PUBLIC_PATHS = frozenset(
    f"{prefix}/{name}" for prefix in ("", "/api/v1") for name in ("healthz", "readyz", "openapi.json", "docs")
)
"""Health checks and the OpenAPI description, for programs and as a page, which need no token."""
# The values of `Sec-Fetch-Site` for our own pages and for what the user typed.
_OWN_SITES = ("same-origin", "none")
_METHODS_WITH_BODY = frozenset({"POST", "PUT", "PATCH", "DELETE"})
_REFUSAL_REASONS = {
    NotAdmitted: "token", KeysUnavailable: "token", TooManyRequests: "rate", TooLarge: "body", TooSlow: "body",
}  # fmt: skip


class RequestAuthenticator(Protocol):
    """Turns an Authorization header into a grant."""

    async def authenticate(self, authorization: str | None) -> Grant:
        """Return the grant of a request with this header; raise NotAdmitted if there is none."""
        ...


class RequestRateLimiter(Protocol):
    """Counts the requests of each caller."""

    async def take(self, grant_id: str, per_minute: int) -> None:
        """Count one request; raise TooManyRequests above the limit."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class RequestRecord:
    """An answered request. `route` is the route's pattern, never the path that the caller sent."""

    request_id: str
    method: str
    route: str
    status: int
    seconds: float
    token: str


@dataclass(frozen=True, slots=True, kw_only=True)
class RequestPolicy:
    """The checks and limits that the middleware applies, and the callback that records each request."""

    origin_check: "OriginCheck"
    authenticator: RequestAuthenticator
    rate_limiter: RequestRateLimiter
    body_reader: BodyReader
    body_bytes: int
    record: Callable[[RequestRecord], None] = field(default=lambda _: None)


class AuthMiddleware:
    """Checks, authenticates and records every request before it reaches a route."""

    def __init__(self, app: ASGIApp, *, policy: RequestPolicy) -> None:
        self._app = app
        self._policy = policy

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass a request on, or answer it with an error."""
        if scope["type"] not in ("http", "websocket"):
            await self._app(scope, receive, send)
            return
        # HTTP strips blanks around a header's value, but not every parser does.
        scope["headers"] = [(name, value.strip(b" \t")) for name, value in scope["headers"]]
        headers = Headers(scope=scope)
        client_id, parent = headers.get(_ID_HEADER, ""), headers.get("traceparent", "")
        with telemetry.incoming_request(caller_id=client_id, traceparent=parent) as request_id:
            exchange = _Exchange(scope=scope, send=send, id=request_id)
            try:
                await self._serve(exchange, scope, receive)
            except ClientGone:
                exchange.status = _CLIENT_CLOSED_REQUEST
            except Exception as error:  # noqa: BLE001 - the outermost handler of the server
                await self._fail(exchange, receive, error)
            finally:
                self._policy.record(exchange.record)

    async def _serve(self, exchange: "_Exchange", scope: Scope, receive: Receive) -> None:
        body: bytes | None = None
        reader = self._policy.body_reader
        try:
            exchange.grant = await self._authenticate(scope)
            scope.setdefault("state", {})["grant"] = exchange.grant
            if scope["type"] == "http" and scope["method"] in _METHODS_WITH_BODY:
                limit = exchange.grant.body_bytes or self._policy.body_bytes
                body = await reader.read(scope, receive, limit=limit)
                limited = reader.limit_stream(receive, limit=exchange.grant.body_bytes)
                receive = limited if body is None else replay_body(body, receive)
        except ScrubjayError as error:
            telemetry.count("refused", why=_refusal_reason(error))
            sends_to_login = isinstance(error, NotAdmitted) and scope["type"] == "http" and is_page(scope["path"])
            response = refuse_page(scope) if sends_to_login else error_response(error)
            await response(scope, receive, exchange.send_message)
            return
        try:
            await self._app(scope, receive, exchange.send_message)
        finally:
            reader.release(body)

    async def _fail(self, exchange: "_Exchange", receive: Receive, error: Exception) -> None:
        """Log an unexpected error, and answer with it if no response has started."""
        _log.error("a request failed", exc_info=error, extra={"fields": {"route": _route(exchange.scope)}})
        # The server raises an OSError if the client has disconnected.
        with suppress(OSError):
            if not exchange.status:
                await error_response(unexpected_error(error))(exchange.scope, receive, exchange.send_message)
            elif exchange.scope["type"] == "websocket":
                await exchange.send({"type": "websocket.close", "code": _WEBSOCKET_INTERNAL_ERROR})

    async def _authenticate(self, scope: Scope) -> Grant:
        headers = Headers(scope=scope)
        self._policy.origin_check.check(headers)
        if scope["path"] in PUBLIC_PATHS:
            # These paths take no body: a caller without a token must not use up memory for bodies.
            return Grant(spaces=(), body_bytes=1)
        if is_open_page(scope["path"]):
            return Grant(spaces=(), body_bytes=MAX_LOGIN_BYTES if scope["path"] == LOGIN else 1)
        authorization = headers.getlist("authorization")
        if not authorization and is_page(scope["path"]) and (token := session_token(headers)):
            authorization = [f"Bearer {token}"]
        try:
            # Two headers are joined, which makes them invalid: a proxy may have checked only one of them.
            grant = await self._policy.authenticator.authenticate(", ".join(authorization) if authorization else None)
            await self._policy.rate_limiter.take(grant.id, grant.requests_per_minute)
        except StoreError as error:
            # The caller is not authenticated yet, so only the log gives the details.
            _log.warning(
                "a request cannot be authenticated", extra={"fields": {"error": error.code, "why": error.message}}
            )
            raise StoreBusy(
                "the store is not available", hint=f"Retry after {_RETRY_AFTER} s", retry_after=_RETRY_AFTER
            ) from error
        if grant.mcp_only and not _is_mcp(scope["path"]):
            raise NotAllowed(
                "this token is valid for MCP alone", hint="Use it at /mcp, or ask for another one", reason="mcp_only"
            )
        return grant


class OriginCheck:
    """Refuses requests of foreign hosts, origins and sites, on every route: no web page may use us via a browser.

    `any_address`: the server listens on all interfaces, so any IP address may be its own. Names must be configured,
    because anyone's DNS can point a name at this machine.
    """

    def __init__(self, *, hosts: Sequence[str], port: int, any_address: bool = False) -> None:
        self._hosts = frozenset(host.lower() for host in hosts)
        self._port = port
        self._any_address = any_address

    def check(self, headers: Headers) -> None:
        """Raise NotAllowed for a request that is not addressed to this server."""
        host = ", ".join(headers.getlist("host"))
        match = _HOST.fullmatch(host)
        name = match["name"].strip("[]").lower() if match else None
        if name is None or not (name in self._hosts or (self._any_address and _is_ip_address(name))):
            raise NotAllowed(
                f"this server is not called {host[:100]!r}",
                hint=f"Use {', '.join(sorted(self._hosts))}, or add the name to SCRUBJAY_HOSTS",
                header="Host",
            )
        origins = headers.getlist("origin")
        # A browser tells the origin of every request that can change something; of an image or a script, only the site.
        if not origins and _is_part_of_foreign_page(headers):
            raise NotAllowed(
                "web pages of other sites may not use this server",
                hint="Call it from a program, or from a page that this server serves",
                header="Sec-Fetch-Site",
            )
        for origin in origins:
            if not self._is_same_origin(origin, name):
                raise NotAllowed(
                    f"web pages from {origin[:100]!r} may not use this server",
                    hint="Call it from a program, or from a page that this server serves",
                    header="Origin",
                )

    def _is_same_origin(self, origin: str, name: str) -> bool:
        """Whether a page comes from this server, as opposed to another server on this machine."""
        try:
            address = urlsplit(origin)
            port = address.port
        except ValueError:
            return False
        if address.hostname in LOOPBACK:
            return address.hostname in self._hosts and port == self._port
        # A proxy may publish another port. An IP address counts only if the request names the same one as its Host.
        return address.hostname is not None and (address.hostname in self._hosts or address.hostname == name)


def _is_part_of_foreign_page(headers: Headers) -> bool:
    """Whether a browser makes a request for a page of another site; a link that the user follows is none."""
    sites = headers.getlist("sec-fetch-site")
    follows_link = headers.get("sec-fetch-mode") == "navigate" and headers.get("sec-fetch-dest") == "document"
    return any(site.lower() not in _OWN_SITES for site in sites) and not follows_link


def grant_of(scope: Scope) -> Grant:
    """Return the grant of a request."""
    return cast("Grant", scope["state"]["grant"])


def is_websocket_open(scope: Scope) -> bool:
    """Whether a WebSocket is open, so that it can no longer be refused."""
    return bool(scope["state"].get("is_open"))


@dataclass(slots=True, kw_only=True)
class _Exchange:
    """One request and its response."""

    scope: Scope
    send: Callable[[Message], Awaitable[None]]
    id: str
    status: int = 0
    grant: Grant | None = None
    started: float = field(default_factory=time.perf_counter)

    async def send_message(self, message: Message) -> None:
        """Pass a message on to the caller, with the request id."""
        if message["type"] in ("http.response.start", "websocket.http.response.start"):
            self.status = message["status"]
            message.setdefault("headers", [])
            MutableHeaders(scope=message)[_ID_HEADER] = self.id
        elif message["type"] == "websocket.accept":
            self.status = _SWITCHING_PROTOCOLS
            self.scope["state"]["is_open"] = True
            message["headers"] = [*message.get("headers", []), (_ID_HEADER.encode(), self.id.encode())]
        await self.send(message)

    @property
    def record(self) -> RequestRecord:
        return RequestRecord(
            request_id=self.id,
            method=self.scope.get("method", "WEBSOCKET"),
            route=_route(self.scope),
            status=self.status or _CLIENT_CLOSED_REQUEST,
            seconds=time.perf_counter() - self.started,
            token=self.grant.id if self.grant else "",
        )


def _route(scope: Scope) -> str:
    """Return the pattern of the route that serves a request, or "none"."""
    path = str(getattr(scope.get("route"), "path", ""))
    # The routes of a router that is included under a prefix lack the prefix.
    prefix = next(
        (prefix for prefix in _PREFIXES if scope["path"].startswith(f"{prefix}/") and not path.startswith(prefix)), ""
    )
    return f"{prefix}{path}" if path else "none"


def _is_mcp(path: str) -> bool:
    return path == _MCP or path.startswith(f"{_MCP}/")


def _refusal_reason(error: ScrubjayError) -> str:
    if isinstance(error, NotAllowed):
        return str(error.fields.get("header", "access")).lower()
    return next((reason for kind, reason in _REFUSAL_REASONS.items() if isinstance(error, kind)), "other")


def _is_ip_address(name: str) -> bool:
    try:
        ipaddress.ip_address(name)
    except ValueError:
        return False
    return True
