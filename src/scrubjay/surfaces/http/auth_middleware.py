"""The door: every request is counted and asked who it is, and none is too much."""

import logging
import time
from collections.abc import Awaitable, Callable
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Protocol, cast

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
from scrubjay.model.grant import Grant
from scrubjay.surfaces.http.body import BodyReader, HungUp, replayed
from scrubjay.surfaces.http.origin import OriginCheck
from scrubjay.surfaces.http.problems import failure, refusal

_log = logging.getLogger(__name__)
_ID_HEADER = "x-request-id"
_SWITCHING = 101
_GONE = 499
_RETRY_AFTER = 1
_UNEXPECTED = 1011
_PREFIXES = ("/api/v1",)
# Whether the server is well, and what it can be asked, is told to anyone who gets as far as here.
_OPEN = frozenset(f"{prefix}/{name}" for prefix in ("", "/api/v1") for name in ("healthz", "readyz", "openapi.json"))
_WITH_BODY = frozenset({"POST", "PUT", "PATCH", "DELETE"})
_WHYS = {NotAdmitted: "token", KeysUnavailable: "token", TooManyRequests: "rate", TooLarge: "body", TooSlow: "body"}


class Doorman(Protocol):
    """Turns a header into a grant."""

    async def authenticate(self, authorization: str | None) -> Grant:
        """Return the grant of a request with this header; raises NotAdmitted."""
        ...


class Rates(Protocol):
    """Counts how much a caller asks."""

    async def take(self, grant_id: str, per_minute: int) -> None:
        """One more; raises TooManyRequests."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class Passed:
    """A request that was answered. `route` is that of the code, never what the caller wrote."""

    request_id: str
    method: str
    route: str
    status: int
    seconds: float
    token: str


Note = Callable[[Passed], None]


@dataclass(frozen=True, slots=True, kw_only=True)
class Rules:
    """What the door goes by."""

    guard: OriginCheck
    authenticator: Doorman
    rates: Rates
    bodies: BodyReader
    body_bytes: int
    note: Note = field(default=lambda _: None)


class AuthMiddleware:
    """Stands before all routes."""

    def __init__(self, app: ASGIApp, *, rules: Rules) -> None:
        self._app = app
        self._rules = rules

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Let a request through, or answer it."""
        if scope["type"] not in ("http", "websocket"):
            await self._app(scope, receive, send)
            return
        # Blanks around a value are no part of it; not every parser of HTTP takes them away.
        scope["headers"] = [(name, value.strip(b" \t")) for name, value in scope["headers"]]
        headers = Headers(scope=scope)
        inputs, parent = headers.get(_ID_HEADER, ""), headers.get("traceparent", "")
        with telemetry.incoming_request(caller_id=inputs, traceparent=parent) as number:
            visit = _Visit(scope=scope, send=send, id=number)
            try:
                await self._serve(visit, scope, receive)
            except HungUp:
                visit.status = _GONE
            except Exception as error:  # noqa: BLE001 - the edge of everything that is served
                await self._fail(visit, receive, error)
            finally:
                self._rules.note(visit.passed)

    async def _serve(self, visit: "_Visit", scope: Scope, receive: Receive) -> None:
        body: bytes | None = None
        try:
            visit.grant = await self._admit(scope)
            scope.setdefault("state", {})["grant"] = visit.grant
            if scope["type"] == "http" and scope["method"] in _WITH_BODY:
                limit = visit.grant.body_bytes or self._rules.body_bytes
                body = await self._rules.bodies.read(scope, receive, limit=limit)
                paced = self._rules.bodies.paced(receive, limit=visit.grant.body_bytes)
                receive = paced if body is None else replayed(body, receive)
        except ScrubjayError as error:
            telemetry.count("refused", why=_why(error))
            await refusal(error)(scope, receive, visit.tell)
            return
        try:
            await self._app(scope, receive, visit.tell)
        finally:
            self._rules.bodies.release(body)

    async def _fail(self, visit: "_Visit", receive: Receive, error: Exception) -> None:
        """Tell the caller that something went wrong, if it can still be told, and the log what."""
        _log.error("a request failed", exc_info=error, extra={"fields": {"route": _route(visit.scope)}})
        # It may be gone, which the server tells us in its own way.
        with suppress(OSError):
            if not visit.status:
                await refusal(failure(error))(visit.scope, receive, visit.tell)
            elif visit.scope["type"] == "websocket":
                await visit.send({"type": "websocket.close", "code": _UNEXPECTED})

    async def _admit(self, scope: Scope) -> Grant:
        headers = Headers(scope=scope)
        self._rules.guard.check(headers)
        if scope["path"] in _OPEN:
            # Nobody has anything to bring here: what anyone may send must not take the room of others.
            return Grant(spaces=(), body_bytes=1)
        shown = headers.getlist("authorization")
        try:
            # Two of them: whoever stands between us and the caller may have read the other one.
            grant = await self._rules.authenticator.authenticate(None if not shown else ", ".join(shown))
            await self._rules.rates.take(grant.id, grant.requests_per_minute)
        except StoreError as error:
            # It may be anyone: where the store is, and what ails it, is for the log.
            _log.warning("nobody can be admitted", extra={"fields": {"error": error.code, "why": error.message}})
            raise StoreBusy(
                "the store cannot be used now", hint=f"Retry after {_RETRY_AFTER} s", retry_after=_RETRY_AFTER
            ) from error
        return grant


def grant_of(scope: Scope) -> Grant:
    """What the caller of a request may do."""
    return cast("Grant", scope["state"]["grant"])


def is_open(scope: Scope) -> bool:
    """Whether a WebSocket is open, so that it can no longer be refused."""
    return bool(scope["state"].get("is_open"))


@dataclass(slots=True, kw_only=True)
class _Visit:
    """One request on its way through."""

    scope: Scope
    send: Callable[[Message], Awaitable[None]]
    id: str
    status: int = 0
    grant: Grant | None = None
    began: float = field(default_factory=time.perf_counter)

    async def tell(self, message: Message) -> None:
        """Pass a message on to the caller, with the number of the request."""
        if message["type"] in ("http.response.start", "websocket.http.response.start"):
            self.status = message["status"]
            message.setdefault("headers", [])
            MutableHeaders(scope=message)[_ID_HEADER] = self.id
        elif message["type"] == "websocket.accept":
            self.status = _SWITCHING
            self.scope["state"]["is_open"] = True
            message["headers"] = [*message.get("headers", []), (_ID_HEADER.encode(), self.id.encode())]
        await self.send(message)

    @property
    def passed(self) -> Passed:
        return Passed(
            request_id=self.id,
            method=self.scope.get("method", "WEBSOCKET"),
            route=_route(self.scope),
            status=self.status or _GONE,
            seconds=time.perf_counter() - self.began,
            token=self.grant.id if self.grant else "",
        )


def _route(scope: Scope) -> str:
    """The route as the code has it; what no route answers to has none."""
    path = str(getattr(scope.get("route"), "path", ""))
    # A router that is included under a prefix names its routes without it.
    prefix = next(
        (prefix for prefix in _PREFIXES if scope["path"].startswith(f"{prefix}/") and not path.startswith(prefix)), ""
    )
    return f"{prefix}{path}" if path else "none"


def _why(error: ScrubjayError) -> str:
    if isinstance(error, NotAllowed):
        return str(error.fields.get("header", "access")).lower()
    return next((why for kind, why in _WHYS.items() if isinstance(error, kind)), "other")
