"""The door: who is let through, what is noted, and what is told to those who are not."""

import json
import logging
from typing import Any

import pytest
from starlette.responses import Response
from starlette.types import ASGIApp, Receive, Scope, Send
from tests.unit.surfaces.http.messages import Hearing, saying, scope_of

from scrubjay import telemetry
from scrubjay.errors import KeysUnavailable, NotAdmitted, ScrubjayError, StoreBusy, TooManyRequests
from scrubjay.model.grant import Grant
from scrubjay.surfaces.http.auth_middleware import AuthMiddleware, Passed, Rules, grant_of, is_open
from scrubjay.surfaces.http.body import BodyReader
from scrubjay.surfaces.http.origin import LOOPBACK, OriginCheck

GRANT = Grant(spaces=("work",), id="token-1", name="laptop", requests_per_minute=7)


class Doorman:
    def __init__(self, grant: Grant = GRANT, error: ScrubjayError | None = None) -> None:
        self.grant, self.error = grant, error
        self.shown: list[str | None] = []

    async def authenticate(self, authorization: str | None) -> Grant:
        self.shown.append(authorization)
        if self.error is not None:
            raise self.error
        return self.grant


class Rates:
    def __init__(self, error: ScrubjayError | None = None) -> None:
        self.error = error
        self.taken: list[tuple[str, int]] = []

    async def take(self, grant_id: str, per_minute: int) -> None:
        self.taken.append((grant_id, per_minute))
        if self.error is not None:
            raise self.error


class World:
    """A door with everything around it."""

    def __init__(
        self, app: ASGIApp | None = None, *, authenticator: Doorman | None = None, rates: Rates | None = None
    ) -> None:
        self.authenticator, self.rates = authenticator or Doorman(), rates or Rates()
        self.passed: list[Passed] = []
        self.bodies = BodyReader(seconds=5)
        self.scopes: list[Scope] = []
        rules = Rules(
            guard=OriginCheck(hosts=LOOPBACK, port=1), authenticator=self.authenticator, rates=self.rates,
            bodies=self.bodies,
            body_bytes=10, note=self.passed.append,
        )  # fmt: skip
        self.door = AuthMiddleware(app or self._answer, rules=rules)

    async def ask(self, scope: Scope, receive: Receive | None = None) -> Hearing:
        hearing = Hearing()
        await self.door(scope, receive or saying(), hearing)
        return hearing

    async def _answer(self, scope: Scope, receive: Receive, send: Send) -> None:
        self.scopes.append(scope)
        await Response(f"{grant_of(scope).id} {telemetry.request_id.get()}")(scope, receive, send)


def problem(hearing: Hearing) -> dict[str, Any]:
    reported = json.loads(hearing.body)
    assert hearing.headers["content-type"] == "application/problem+json"
    assert (reported["status"], reported["request_id"]) == (hearing.status, hearing.headers["x-request-id"])
    return reported


async def test_whoever_is_admitted_is_known_behind_the_door() -> None:
    world = World()
    received = await world.ask(scope_of("GET", "/x", ("authorization", "Bearer x"), ("x-request-id", "number-0001")))
    assert (received.status, received.body) == (200, b"token-1 number-0001")
    assert received.headers["x-request-id"] == "number-0001"
    assert world.authenticator.shown == ["Bearer x"]
    assert world.rates.taken == [("token-1", 7)]
    (passed,) = world.passed
    assert (passed.method, passed.status, passed.token, passed.request_id) == ("GET", 200, "token-1", "number-0001")
    assert passed.seconds >= 0
    assert telemetry.request_id.get() == ""


async def test_two_authorizations_are_shown_as_what_nobody_takes() -> None:
    world = World()
    await world.ask(scope_of("GET", "/x", ("authorization", "Bearer a"), ("authorization", "Bearer b")))
    assert world.authenticator.shown == ["Bearer a, Bearer b"]


@pytest.mark.parametrize("path", ["/healthz", "/api/v1/healthz", "/readyz", "/api/v1/readyz", "/openapi.json"])
async def test_some_things_are_told_to_anyone_but_not_to_any_page(path: str) -> None:
    world = World(authenticator=Doorman(error=NotAdmitted("no", reason="missing")))
    assert (await world.ask(scope_of("GET", path))).status == 200
    assert not grant_of(world.scopes[0]).allows("work")
    assert world.authenticator.shown == []
    assert (await world.ask(scope_of("GET", path, ("origin", "null")))).status == 403


@pytest.mark.parametrize("path", ["/healthz/", "/HEALTHZ", "/healthz/x", "/x/healthz", "/openapi.json/", "//healthz"])
async def test_and_nothing_that_looks_like_them(path: str) -> None:
    world = World(authenticator=Doorman(error=NotAdmitted("no", reason="missing")))
    assert (await world.ask(scope_of("GET", path))).status == 401


@pytest.mark.parametrize(
    ("error", "status", "header"),
    [
        (NotAdmitted("no token", reason="missing"), 401, 'Bearer realm="scrubjay"'),
        (NotAdmitted("bad", reason="invalid"), 401, 'Bearer realm="scrubjay", error="invalid_token"'),
        (KeysUnavailable("no keys", retry_after=5), 503, None),
    ],
)
async def test_who_is_not_admitted_hears_why(error: ScrubjayError, status: int, header: str | None) -> None:
    world = World(authenticator=Doorman(error=error))
    received = await world.ask(scope_of("GET", "/x", ("authorization", "Bearer sj_secret")))
    assert (problem(received)["code"], received.status) == (error.code, status)
    assert received.headers.get("www-authenticate") == header
    assert received.headers.get("retry-after") == ("5" if status == 503 else None)
    assert b"sj_secret" not in received.body
    assert world.scopes == []
    assert [(item.status, item.token) for item in world.passed] == [(status, "")]


async def test_who_asks_too_often_hears_when_to_come_back() -> None:
    world = World(rates=Rates(TooManyRequests("too often", retry_after=9)))
    received = await world.ask(scope_of("GET", "/x"))
    assert (received.status, received.headers["retry-after"], problem(received)["retry_after"]) == (429, "9", 9)


@pytest.mark.parametrize("method", ["POST", "PUT", "PATCH", "DELETE"])
async def test_a_body_is_read_before_anything_is_done_with_it(method: str) -> None:
    seen: list[tuple[bytes, int]] = []

    async def app(scope: Scope, receive: Receive, send: Send) -> None:
        seen.append(((await receive())["body"], world.bodies.held))
        await Response()(scope, receive, send)

    world = World(app)
    assert (await world.ask(scope_of(method, "/x"), saying(b"abc", b"def"))).status == 200
    assert seen == [(b"abcdef", 6)]
    assert world.bodies.held == 0
    received = await world.ask(scope_of(method, "/x"), saying(b"x" * 11))
    assert (received.status, problem(received)["limit"]) == (413, 10)
    assert len(seen) == 1
    world.authenticator.grant = Grant(body_bytes=20)
    assert (await world.ask(scope_of(method, "/x"), saying(b"x" * 11))).status == 200


async def test_a_client_that_leaves_is_noted_and_answered_nothing() -> None:
    world = World()
    received = await world.ask(scope_of("POST", "/x"), saying(b"abc", ends=False))
    assert received.messages == []
    assert [item.status for item in world.passed] == [499]


async def test_a_failure_before_the_answer_is_told(caplog: pytest.LogCaptureFixture) -> None:
    async def app(scope: Scope, receive: Receive, send: Send) -> None:
        raise ValueError("swordfish")

    world = World(app)
    received = await world.ask(scope_of("POST", "/x", ("x-request-id", "number-0001")), saying(b"abc"))
    assert (received.status, problem(received)["detail"]) == (500, "the request failed: ValueError")
    assert b"swordfish" not in received.body
    (record,) = caplog.records
    assert (record.levelno, record.exc_info is not None) == (logging.ERROR, True)
    assert [item.status for item in world.passed] == [500]
    assert world.bodies.held == 0


async def test_a_failure_behind_the_answer_is_written_down(caplog: pytest.LogCaptureFixture) -> None:
    async def app(scope: Scope, receive: Receive, send: Send) -> None:
        await send({"type": "http.response.start", "status": 200})
        raise ValueError("swordfish")

    received = await World(app).ask(scope_of("GET", "/x"))
    assert [message["type"] for message in received.messages] == ["http.response.start"]
    assert len(caplog.records) == 1


async def test_a_websocket_is_refused_as_a_request_is() -> None:
    world = World(authenticator=Doorman(error=NotAdmitted("no", reason="missing")))
    received = await world.ask(scope_of("", "/x", kind="websocket"))
    assert received.messages[0]["type"] == "websocket.http.response.start"
    assert problem(received)["status"] == 401
    assert [item.method for item in world.passed] == [""]


@pytest.mark.parametrize("opens", [True, False])
async def test_a_websocket_that_fails_is_closed_or_refused(caplog: pytest.LogCaptureFixture, *, opens: bool) -> None:
    async def app(scope: Scope, receive: Receive, send: Send) -> None:
        assert not is_open(scope)
        if opens:
            await send({"type": "websocket.accept"})
            assert is_open(scope)
        raise ValueError("swordfish")

    world = World(app)
    received = await world.ask(scope_of("", "/x", kind="websocket"))
    if opens:
        accepted, closed = received.messages
        assert accepted["headers"] == [(b"x-request-id", world.passed[0].request_id.encode())]
        assert closed == {"type": "websocket.close", "code": 1011}
    else:
        assert problem(received)["status"] == 500
    assert len(caplog.records) == 1


async def test_what_is_no_request_passes() -> None:
    seen: list[str] = []

    async def app(scope: Scope, receive: Receive, send: Send) -> None:
        seen.append(scope["type"])

    world = World(app)
    await world.ask({"type": "lifespan"})
    assert seen == ["lifespan"]
    assert world.passed == []


async def test_a_store_that_is_away_is_told_without_its_address(caplog: pytest.LogCaptureFixture) -> None:
    away = StoreBusy("postgresql://me@10.0.0.1/memory cannot be reached", server="postgresql://me@10.0.0.1/memory")
    for world in (World(authenticator=Doorman(error=away)), World(rates=Rates(away))):
        received = await world.ask(scope_of("GET", "/x", ("authorization", "Bearer x")))
        assert (received.status, received.headers["retry-after"], problem(received)["code"]) == (503, "1", "store_busy")
        assert b"10.0.0.1" not in received.body
    assert [record.message for record in caplog.records] == ["nobody can be admitted"] * 2
