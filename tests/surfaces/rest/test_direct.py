"""The short way of frequent routes gives the answers of FastAPI, and leaves the errors to it."""

import json
import re
from collections.abc import AsyncGenerator
from contextlib import AsyncExitStack, asynccontextmanager
from pathlib import Path
from urllib.parse import quote

import pytest
from starlette.types import ASGIApp, Message
from tests.surfaces.rest.http_stack import open_stack

from scrubjay.auth.authenticator import Authenticator
from scrubjay.model.caller import OWNER, Access, Grant
from scrubjay.observability.prometheus import Metrics
from scrubjay.settings import Settings
from scrubjay.surfaces.rest.app import make_rest_app
from scrubjay.surfaces.rest.deps import RestDependencies

Answer = tuple[int, dict[str, str], str]
Headers = tuple[tuple[str, str], ...]
_JSON: Headers = (("content-type", "application/json"),)
_READER = Grant(id="t1", name="reader", spaces=("one",), access=Access.READ)
# What differs between two calls of the same request.
_VARYING = re.compile(r"[0-9a-f]{8}-[0-9a-f-]{27}|\d{4}-\d\d-\d\dT[\d:.]+(?:Z|\+00:00)")

_SEARCHES = [
    "q=tea",
    "q=tea&limit=3&max_tokens=200",
    "q=tea&space=one&space=two",
    "q=tea&space=",
    "q=caf%C3%A9&tags=drinks&tags=food",
    "q=tea&kind=fact&explain=true",
    "q=tea&explain",
    "q=tea+%2B+milk",
    "q=tea&since=2020-01-01",
    # Wrong ones.
    "",
    "q=",
    "q=tea&q=milk",
    "q=tea&limit=0",
    "q=tea&limit=many",
    "q=tea&unknown=1",
    "q=tea&explain=perhaps",
    "q=tea&since=never",
    "q=tea&space=one&space=%20",
    f"q={quote('x' * 9_000)}",
    "q=%ff%fe",
]
_BODIES: list[object] = [
    {"query": "tea"},
    {"query": "tea", "limit": 2.0, "filter": {"tags": ["drinks"]}},
    {"query": "tea", "metadata": {"a": 1}},
    {"q": "tea"},
    {"query": 3},
    {"query": "tea", "filter": {"tag": "drinks"}},
    {},
    [],
    "tea",
    None,
]
_MEMORIES: list[object] = [
    {"text": "Ines drinks green tea", "tags": ["drinks"]},
    {"text": "Ines drinks green tea", "tags": ["drinks"]},
    {"text": "The kitchen has a red kettle", "entities": ["Kitchen"], "source": {"agent": "me"}},
    {"text": "Nothing of this is stored", "dry_run": True},
    {"text": ""},
    {"text": "x" * 200_001},
    {"text": "Ines", "sorce": {}},
    {"text": "Ines", "source": {"agnet": "me"}},
    {"text": "Ines\x00"},
    {},
]
_NOT_JSON = (b"", b"{", b'{"query":"tea","query":"milk"}', b'{"query":"\xff"}', b'{"limit":1e999}', b"\xef\xbb\xbf{}")
_CONTENT_TYPES = ("text/plain", "application/json; charset=utf-8", "application/x-ndjson", "application/a+json")


async def ask(
    app: ASGIApp,
    method: str,
    path: str,
    *,
    query: str = "",
    body: bytes = b"",
    headers: Headers = (),
    grant: Grant = OWNER,
) -> Answer:
    """Send a request to an application, and return the status, the headers and the body."""
    messages: list[Message] = []

    async def receive() -> Message:
        return {"type": "http.request", "body": body, "more_body": False}

    async def send(message: Message) -> None:
        messages.append(message)

    scope = {
        "type": "http", "method": method, "path": path, "query_string": query.encode(), "root_path": "",
        "headers": [(name.encode(), value.encode()) for name, value in headers], "state": {"grant": grant},
    }  # fmt: skip
    await app(scope, receive, send)
    assert getattr(scope["route"], "path", "") == path.removeprefix("/api/v1")
    sent = {name.decode(): value.decode() for name, value in messages[0]["headers"]}
    text = b"".join(message.get("body", b"") for message in messages[1:]).decode()
    sent = {name: _VARYING.sub("*", value) for name, value in sent.items() if name != "content-length"}
    return int(messages[0]["status"]), sent, _VARYING.sub("*", text)


@asynccontextmanager
async def two_apps(home: Path, *, memories: int) -> AsyncGenerator[tuple[ASGIApp, ASGIApp]]:
    """Serve with the short way and without it: one memory, or two with the same contents."""
    async with AsyncExitStack() as stack:
        served = [
            await stack.enter_async_context(
                open_stack(Settings(home=str(home / str(number)), embedder="none", readers=1))
            )
            for number in range(memories)
        ]
        apps = [
            make_rest_app(
                RestDependencies(
                    engine=each.engine, gate=each.gate, changes=each.changes,
                    authenticator=Authenticator(each.store, clock=each.engine.clock, requires_token=False),
                    metrics=Metrics(engine=each.engine, limiter=each.gate),
                )
            )
            for each in (served[0], served[-1])
        ]  # fmt: skip
        assert apps[0].direct
        apps[1].direct = {}
        yield apps[0], apps[1]


class Comparison:
    """Compares the answers of two applications, for the owner and for a token."""

    def __init__(self, *apps: ASGIApp) -> None:
        self._apps = apps
        self.statuses: set[int] = set()

    async def check(self, line: str, query: str = "", body: bytes = b"", headers: Headers = ()) -> None:
        method, path = line.split()
        for grant in (OWNER, _READER):
            first, second = [
                await ask(app, method, path, query=query, body=body, headers=headers, grant=grant) for app in self._apps
            ]
            assert first == second, (line, query, body[:100], grant)
            self.statuses.add(first[0])


async def test_both_ways_find_the_same(tmp_path: Path) -> None:
    async with two_apps(tmp_path, memories=1) as apps:
        for content in _MEMORIES:
            await ask(apps[0], "POST", "/api/v1/memories", body=json.dumps(content).encode(), headers=_JSON)
        comparison = Comparison(*apps)
        for query in _SEARCHES:
            await comparison.check("GET /api/v1/search", query)
            await comparison.check("GET /api/v1/search", query, headers=(("x-scrubjay-agent", "a" * 300),))
        for content in _BODIES:
            await comparison.check("POST /api/v1/search", body=json.dumps(content).encode(), headers=_JSON)
        for body in _NOT_JSON:
            await comparison.check("POST /api/v1/search", body=body, headers=_JSON)
        for kind in _CONTENT_TYPES:
            for headers in ((), (("content-type", kind),)):
                await comparison.check("POST /api/v1/search", body=b'{"query":"tea"}', headers=headers)
        encoded = (*_JSON, ("content-encoding", "gzip"))
        await comparison.check("POST /api/v1/search", body=b'{"query":"tea"}', headers=encoded)
        await comparison.check("GET /api/v1/search", "q=tea", headers=encoded)
        await comparison.check("HEAD /api/v1/search", "q=tea")
        await comparison.check("PUT /api/v1/search", "q=tea")
    assert comparison.statuses == {200, 400, 403, 405, 415, 422}


async def test_both_ways_write_the_same(tmp_path: Path) -> None:
    async with two_apps(tmp_path, memories=2) as apps:
        comparison = Comparison(*apps)
        for content in _MEMORIES:
            await comparison.check("POST /api/v1/memories", body=json.dumps(content).encode(), headers=_JSON)
        for query in ("explain", "space=two", "space=one&space=two", "explain=perhaps", "dry_run=true"):
            body = json.dumps({"text": f"Ines asked about {query}"}).encode()
            headers = (*_JSON, ("idempotency-key", query), ("x-scrubjay-agent", "ünï"), ("x-scrubjay-run", "r" * 300))
            await comparison.check("POST /api/v1/memories", query, body, headers)
            await comparison.check("POST /api/v1/memories", query, body, headers[:3])
            await comparison.check("POST /api/v1/memories", query, body, headers[:3])
    assert comparison.statuses == {200, 201, 403, 422}


@pytest.mark.parametrize("way", [0, 1])
async def test_an_unexpected_error_reaches_the_middleware(
    tmp_path: Path, way: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with two_apps(tmp_path, memories=1) as apps:

        def fail(*_: object, **__: object) -> None:
            raise ZeroDivisionError

        monkeypatch.setattr("scrubjay.surfaces.rest.deps.LocalService.over", fail)
        with pytest.raises(ZeroDivisionError):
            await ask(apps[way], "GET", "/api/v1/search", query="q=tea")
