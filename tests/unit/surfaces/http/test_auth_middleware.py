"""The middleware: authentication, error responses, request records, and the check of Host and Origin."""

import json
import logging
from typing import Any

import pytest
from starlette.datastructures import Headers
from starlette.responses import Response
from starlette.types import ASGIApp, Receive, Scope, Send
from tests.unit.surfaces.http.messages import ResponseRecorder, client_sending, scope_of

from scrubjay import telemetry
from scrubjay.errors import KeysUnavailable, NotAdmitted, NotAllowed, ScrubjayError, StoreBusy, TooManyRequests
from scrubjay.model.caller import Grant
from scrubjay.surfaces.http.address import LOOPBACK
from scrubjay.surfaces.http.auth_middleware import (
    AuthMiddleware,
    OriginCheck,
    RequestPolicy,
    RequestRecord,
    grant_of,
    is_websocket_open,
)
from scrubjay.surfaces.http.body import BodyReader

GRANT = Grant(spaces=("work",), id="token-1", name="laptop", requests_per_minute=7)


class FixedAuthenticator:
    def __init__(self, grant: Grant = GRANT, error: ScrubjayError | None = None) -> None:
        self.grant, self.error = grant, error
        self.headers: list[str | None] = []

    async def authenticate(self, authorization: str | None) -> Grant:
        self.headers.append(authorization)
        if self.error is not None:
            raise self.error
        return self.grant


class FixedRateLimiter:
    def __init__(self, error: ScrubjayError | None = None) -> None:
        self.error = error
        self.requests: list[tuple[str, int]] = []

    async def take(self, grant_id: str, per_minute: int) -> None:
        self.requests.append((grant_id, per_minute))
        if self.error is not None:
            raise self.error


class Server:
    """The middleware with an application behind it."""

    def __init__(
        self,
        app: ASGIApp | None = None,
        *,
        authenticator: FixedAuthenticator | None = None,
        rate_limiter: FixedRateLimiter | None = None,
    ) -> None:
        self.authenticator = authenticator or FixedAuthenticator()
        self.rate_limiter = rate_limiter or FixedRateLimiter()
        self.records: list[RequestRecord] = []
        self.body_reader = BodyReader(seconds=5)
        self.scopes: list[Scope] = []
        policy = RequestPolicy(
            origin_check=OriginCheck(hosts=LOOPBACK, port=1),
            authenticator=self.authenticator,
            rate_limiter=self.rate_limiter,
            body_reader=self.body_reader,
            body_bytes=10,
            record=self.records.append,
        )
        self.middleware = AuthMiddleware(app or self._respond, policy=policy)

    async def request(self, scope: Scope, receive: Receive | None = None) -> ResponseRecorder:
        recorder = ResponseRecorder()
        await self.middleware(scope, receive or client_sending(), recorder)
        return recorder

    async def _respond(self, scope: Scope, receive: Receive, send: Send) -> None:
        self.scopes.append(scope)
        await Response(f"{grant_of(scope).id} {telemetry.request_id.get()}")(scope, receive, send)


def problem(response: ResponseRecorder) -> dict[str, Any]:
    body = json.loads(response.body)
    assert response.headers["content-type"] == "application/problem+json"
    assert (body["status"], body["request_id"]) == (response.status, response.headers["x-request-id"])
    return body


async def test_routes_see_the_grant_and_the_request_id() -> None:
    server = Server()
    response = await server.request(
        scope_of("GET", "/x", ("authorization", "Bearer x"), ("x-request-id", "number-0001"))
    )
    assert (response.status, response.body) == (200, b"token-1 number-0001")
    assert response.headers["x-request-id"] == "number-0001"
    assert server.authenticator.headers == ["Bearer x"]
    assert server.rate_limiter.requests == [("token-1", 7)]
    (record,) = server.records
    assert (record.method, record.status, record.token, record.request_id) == ("GET", 200, "token-1", "number-0001")
    assert record.seconds >= 0
    assert telemetry.request_id.get() == ""


async def test_two_authorization_headers_are_joined_into_an_invalid_one() -> None:
    server = Server()
    await server.request(scope_of("GET", "/x", ("authorization", "Bearer a"), ("authorization", "Bearer b")))
    assert server.authenticator.headers == ["Bearer a, Bearer b"]


@pytest.mark.parametrize("path", ["/healthz", "/api/v1/healthz", "/readyz", "/api/v1/readyz", "/openapi.json", "/docs"])
async def test_public_paths_need_no_token_but_refuse_foreign_pages(path: str) -> None:
    server = Server(authenticator=FixedAuthenticator(error=NotAdmitted("no", reason="missing")))
    assert (await server.request(scope_of("GET", path))).status == 200
    assert not grant_of(server.scopes[0]).allows("work")
    assert server.authenticator.headers == []
    assert (await server.request(scope_of("GET", path, ("origin", "null")))).status == 403


@pytest.mark.parametrize("path", ["/healthz/", "/HEALTHZ", "/healthz/x", "/x/healthz", "/openapi.json/", "//healthz"])
async def test_similar_paths_need_a_token(path: str) -> None:
    server = Server(authenticator=FixedAuthenticator(error=NotAdmitted("no", reason="missing")))
    assert (await server.request(scope_of("GET", path))).status == 401


@pytest.mark.parametrize(
    ("error", "status", "header"),
    [
        (NotAdmitted("no token", reason="missing"), 401, 'Bearer realm="scrubjay"'),
        (NotAdmitted("bad", reason="invalid"), 401, 'Bearer realm="scrubjay", error="invalid_token"'),
        (KeysUnavailable("no keys", retry_after=5), 503, None),
    ],
)
async def test_a_refused_token_gets_the_reason(error: ScrubjayError, status: int, header: str | None) -> None:
    server = Server(authenticator=FixedAuthenticator(error=error))
    response = await server.request(scope_of("GET", "/x", ("authorization", "Bearer sj_secret")))
    assert (problem(response)["code"], response.status) == (error.code, status)
    assert response.headers.get("www-authenticate") == header
    assert response.headers.get("retry-after") == ("5" if status == 503 else None)
    assert b"sj_secret" not in response.body
    assert server.scopes == []
    assert [(record.status, record.token) for record in server.records] == [(status, "")]


async def test_a_rate_limit_says_when_to_retry() -> None:
    server = Server(rate_limiter=FixedRateLimiter(TooManyRequests("too often", retry_after=9)))
    response = await server.request(scope_of("GET", "/x"))
    assert (response.status, response.headers["retry-after"], problem(response)["retry_after"]) == (429, "9", 9)


@pytest.mark.parametrize("method", ["POST", "PUT", "PATCH", "DELETE"])
async def test_a_body_is_read_before_the_route_runs(method: str) -> None:
    bodies: list[tuple[bytes, int]] = []

    async def app(scope: Scope, receive: Receive, send: Send) -> None:
        bodies.append(((await receive())["body"], server.body_reader.bytes_in_memory))
        await Response()(scope, receive, send)

    server = Server(app)
    assert (await server.request(scope_of(method, "/x"), client_sending(b"abc", b"def"))).status == 200
    assert bodies == [(b"abcdef", 6)]
    assert server.body_reader.bytes_in_memory == 0
    response = await server.request(scope_of(method, "/x"), client_sending(b"x" * 11))
    assert (response.status, problem(response)["limit"]) == (413, 10)
    assert len(bodies) == 1
    server.authenticator.grant = Grant(body_bytes=20)
    assert (await server.request(scope_of(method, "/x"), client_sending(b"x" * 11))).status == 200


async def test_a_client_that_disconnects_is_recorded_and_gets_no_response() -> None:
    server = Server()
    response = await server.request(scope_of("POST", "/x"), client_sending(b"abc", ends=False))
    assert response.messages == []
    assert [record.status for record in server.records] == [499]


async def test_an_error_before_the_response_becomes_a_problem(caplog: pytest.LogCaptureFixture) -> None:
    async def app(scope: Scope, receive: Receive, send: Send) -> None:
        raise ValueError("swordfish")

    server = Server(app)
    response = await server.request(scope_of("POST", "/x", ("x-request-id", "number-0001")), client_sending(b"abc"))
    assert (response.status, problem(response)["detail"]) == (500, "the request failed: ValueError")
    assert b"swordfish" not in response.body
    (record,) = caplog.records
    assert (record.levelno, record.exc_info is not None) == (logging.ERROR, True)
    assert [record.status for record in server.records] == [500]
    assert server.body_reader.bytes_in_memory == 0


async def test_an_error_after_the_response_has_started_is_logged(caplog: pytest.LogCaptureFixture) -> None:
    async def app(scope: Scope, receive: Receive, send: Send) -> None:
        await send({"type": "http.response.start", "status": 200})
        raise ValueError("swordfish")

    response = await Server(app).request(scope_of("GET", "/x"))
    assert [message["type"] for message in response.messages] == ["http.response.start"]
    assert len(caplog.records) == 1


async def test_a_websocket_is_refused_with_a_problem() -> None:
    server = Server(authenticator=FixedAuthenticator(error=NotAdmitted("no", reason="missing")))
    response = await server.request(scope_of("", "/x", kind="websocket"))
    assert response.messages[0]["type"] == "websocket.http.response.start"
    assert problem(response)["status"] == 401
    assert [record.method for record in server.records] == [""]


@pytest.mark.parametrize("opens", [True, False])
async def test_a_websocket_that_fails_is_closed_or_refused(caplog: pytest.LogCaptureFixture, *, opens: bool) -> None:
    async def app(scope: Scope, receive: Receive, send: Send) -> None:
        assert not is_websocket_open(scope)
        if opens:
            await send({"type": "websocket.accept"})
            assert is_websocket_open(scope)
        raise ValueError("swordfish")

    server = Server(app)
    response = await server.request(scope_of("", "/x", kind="websocket"))
    if opens:
        accepted, closed = response.messages
        assert accepted["headers"] == [(b"x-request-id", server.records[0].request_id.encode())]
        assert closed == {"type": "websocket.close", "code": 1011}
    else:
        assert problem(response)["status"] == 500
    assert len(caplog.records) == 1


async def test_other_messages_pass_through() -> None:
    types: list[str] = []

    async def app(scope: Scope, receive: Receive, send: Send) -> None:
        types.append(scope["type"])

    server = Server(app)
    await server.request({"type": "lifespan"})
    assert types == ["lifespan"]
    assert server.records == []


async def test_an_unavailable_store_is_reported_without_its_address(caplog: pytest.LogCaptureFixture) -> None:
    unavailable = StoreBusy(
        "postgresql://me@10.0.0.1/memory cannot be reached", server="postgresql://me@10.0.0.1/memory"
    )
    for server in (
        Server(authenticator=FixedAuthenticator(error=unavailable)),
        Server(rate_limiter=FixedRateLimiter(unavailable)),
    ):
        response = await server.request(scope_of("GET", "/x", ("authorization", "Bearer x")))
        assert (response.status, response.headers["retry-after"], problem(response)["code"]) == (503, "1", "store_busy")
        assert b"10.0.0.1" not in response.body
    assert [record.message for record in caplog.records] == ["a request cannot be authenticated"] * 2


def refused_header(origin_check: OriginCheck, *headers: tuple[str, str]) -> str:
    """Return the name of the refused header, or an empty string."""
    raw = [(name.encode(), value.encode("latin-1")) for name, value in headers]
    try:
        origin_check.check(Headers(raw=raw))
    except NotAllowed as error:
        return str(error.fields["header"])
    return ""


LOOPBACK_ONLY = OriginCheck(hosts=LOOPBACK, port=7272)
ALL_INTERFACES = OriginCheck(hosts=(*LOOPBACK, "memory.example.org"), port=7272, any_address=True)


@pytest.mark.parametrize(
    "host", ["127.0.0.1", "127.0.0.1:7272", "localhost", "LocalHost:1", "[::1]", "[::1]:7272", "localhost:"]
)
def test_loopback_hosts_pass(host: str) -> None:
    assert refused_header(LOOPBACK_ONLY, ("host", host)) == ""


@pytest.mark.parametrize(
    "host",
    [
        "", " ", "evil.example", "127.0.0.1.evil.example", "127.0.0.2", "0.0.0.0", "[::]", "::1", "[::1", "::1]",
        "localhost.", "a@localhost", "localhost@evil.example", "localhost/x", "localhost?x", "localhost#x",
        "localhost:x", "localhost:999999", "localhost, evil.example", "localhost localhost", "http://localhost",
        "localhost\x00", "\uff4cocalhost", "[localhost]", "[127.0.0.1]x",
    ],
)  # fmt: skip
def test_other_hosts_are_refused(host: str) -> None:
    raw = Headers(raw=[(b"host", host.encode("utf-8"))])
    with pytest.raises(NotAllowed) as caught:
        LOOPBACK_ONLY.check(raw)
    assert caught.value.fields["header"] == "Host"


def test_a_missing_or_repeated_host_is_refused() -> None:
    assert refused_header(LOOPBACK_ONLY) == "Host"
    assert refused_header(LOOPBACK_ONLY, ("host", "localhost"), ("host", "localhost")) == "Host"
    assert refused_header(LOOPBACK_ONLY, ("host", "localhost"), ("host", "evil.example")) == "Host"


@pytest.mark.parametrize("origin", ["http://127.0.0.1:7272", "http://localhost:7272", "http://[::1]:7272"])
def test_own_pages_pass(origin: str) -> None:
    assert refused_header(LOOPBACK_ONLY, ("host", "localhost"), ("origin", origin)) == ""


@pytest.mark.parametrize(
    "origin",
    [
        "null", "", "http://evil.example", "http://127.0.0.1", "http://127.0.0.1:7273", "http://localhost:x", "file://",
        "http://[::1", "http://127.0.0.2:7272", "http://localhost.evil.example:7272", "localhost:7272", "*",
    ],
)  # fmt: skip
def test_pages_from_elsewhere_are_refused(origin: str) -> None:
    assert refused_header(LOOPBACK_ONLY, ("host", "localhost"), ("origin", origin)) == "Origin"


def test_every_origin_header_must_be_our_own() -> None:
    own, other = ("origin", "http://localhost:7272"), ("origin", "http://evil.example")
    assert refused_header(LOOPBACK_ONLY, ("host", "localhost"), own, other) == "Origin"
    assert refused_header(LOOPBACK_ONLY, ("host", "localhost"), own, own) == ""


def test_a_server_on_all_interfaces_accepts_any_address_and_its_names() -> None:
    for host in ("192.168.1.5", "[fe80::1]:7272", "memory.example.org", "memory.example.org:443"):
        assert refused_header(ALL_INTERFACES, ("host", host)) == ""
    assert refused_header(ALL_INTERFACES, ("host", "evil.example")) == "Host"


def test_a_page_at_another_address_is_refused() -> None:
    host = ("host", "192.168.1.5:7272")
    assert refused_header(ALL_INTERFACES, host, ("origin", "http://192.168.1.5:7272")) == ""
    # A proxy may publish another port.
    assert refused_header(ALL_INTERFACES, host, ("origin", "https://memory.example.org")) == ""
    assert refused_header(ALL_INTERFACES, host, ("origin", "http://203.0.113.9")) == "Origin"
    assert refused_header(ALL_INTERFACES, host, ("origin", "http://192.168.1.6:7272")) == "Origin"


def test_a_refusal_quotes_only_the_beginning_of_a_long_host() -> None:
    with pytest.raises(NotAllowed) as caught:
        LOOPBACK_ONLY.check(Headers(raw=[(b"host", b"x" * 10_000)]))
    assert len(str(caught.value)) < 400
    assert "SCRUBJAY_HOSTS" in caught.value.hint
