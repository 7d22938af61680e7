"""Who may enter, end to end: a real daemon, real HTTP, and tokens as people make them."""

import asyncio
import json
import os
import subprocess
import sys
import time
from collections.abc import Callable, Generator, Iterator
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import httpx2
import pytest
from tests.surfaces.backend import IS_EMBEDDED, database_of
from tests.surfaces.daemon_process import Daemon
from tests.surfaces.shell import remember, run, run_json
from tests.unit.auth.issuer import AUDIENCE, ISSUER, JwksServer, Reply, Signer, claims, signer

from scrubjay import MemoryClient
from scrubjay.errors import InvalidInput, NotAdmitted, NotAllowed, TooManyRequests
from scrubjay.paths import daemon_file

API = "/api/v1"
_LONGEST = 30.0
_SECRET_TEXT = "The jay hid an acorn under the white stone"


@dataclass(kw_only=True)
class Door:
    """A daemon as it is met over HTTP, and the secrets that its log must not know."""

    daemon: Daemon
    http: httpx2.Client
    secrets: list[str] = field(default_factory=list[str])

    def token(self, name: str, *options: str) -> str:
        """A token, made by the owner on the command line."""
        made = str(run_json("tokens", "create", "--name", name, *options)["secret"])
        self.secrets.append(made)
        return made

    def get(self, path: str, token: str = "", **headers: str) -> httpx2.Response:
        return self.http.get(path, headers={**_bearer(token), **headers})

    def post(self, path: str, body: object, token: str = "", **headers: str) -> httpx2.Response:
        return self.http.post(path, json=body, headers={**_bearer(token), **headers})

    def until(self, is_so: Callable[[], bool]) -> None:
        end = time.monotonic() + _LONGEST
        while not is_so():
            assert time.monotonic() < end
            time.sleep(0.05)


@contextmanager
def _door(home: Path, *options: str, **environment: str) -> Generator[Door]:
    """A daemon; when it has left, what it wrote is looked through."""
    with Daemon(home, *options, SCRUBJAY_LOG_LEVEL="debug", **environment) as daemon:
        address = json.loads(daemon_file(home).read_text())["http"].replace("0.0.0.0", "127.0.0.1")
        with httpx2.Client(base_url=address, timeout=_LONGEST, trust_env=False) as http:
            door = Door(daemon=daemon, http=http)
            yield door
        assert daemon.stop() == 0
    for secret in (*door.secrets, _SECRET_TEXT):
        for piece in (secret, *secret.split(".")):
            assert len(piece) < 12 or piece not in daemon.log


@pytest.fixture(scope="module")
def door(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Door]:
    """One daemon for all who ask for nothing special; the command line beside it finds the same folder."""
    home = tmp_path_factory.mktemp("door") / "data"
    with pytest.MonkeyPatch.context() as environment:
        for name in [name for name in os.environ if name.startswith(("SCRUBJAY_", "MEMORY_DIR"))]:
            environment.delenv(name)
        environment.setenv("SCRUBJAY_HOME", str(home))
        environment.setenv("SCRUBJAY_EMBEDDER", "none")
        environment.setenv("SCRUBJAY_DATABASE_URL", database_of(home))
        with _door(home, "--require-token") as opened:
            yield opened


def test_on_this_machine_anyone_may_come_who_shows_no_bad_token(home: Path) -> None:
    with _door(home) as door:
        assert door.get(f"{API}/status").status_code == 200
        assert door.post(f"{API}/memories", {"text": _SECRET_TEXT}).status_code == 201
        for bad in ("sj_nothing", "x", "a.b.c"):
            refused = door.get(f"{API}/status", bad)
            assert (refused.status_code, refused.json()["code"]) == (401, "not_admitted")
            assert bad not in refused.text
        good = door.token("laptop", "--spaces", "work")
        assert door.get(f"{API}/status", good).json()["space"] == "work"


def test_where_a_token_is_asked_for_nobody_comes_without(door: Door) -> None:
    good = door.token("asked-for", "--spaces", "work,home", "--access", "write")
    for path in (f"{API}/status", "/metrics", f"{API}/search?q=x", "/mcp", "/call/status", "/nowhere"):
        refused = door.get(path)
        assert (refused.status_code, refused.json()["reason"]) == (401, "missing")
        assert refused.headers["www-authenticate"] == 'Bearer realm="scrubjay"'
        assert "scrubjay tokens create" in refused.json()["hint"]
    assert [door.get(path).status_code for path in ("/healthz", f"{API}/healthz", "/openapi.json")] == [200] * 3
    assert door.get(f"{API}/status", good).status_code == 200
    # In a header and nowhere else: an address ends up in logs.
    for query in ("token", "access_token", "api_key"):
        assert door.get(f"{API}/status?{query}={good}").status_code == 401
    assert door.get(f"{API}/status", cookie=f"token={good}").status_code == 401


def test_a_token_is_what_it_was_made_for(door: Door) -> None:
    reader = door.token("reader", "--spaces", "made")
    writer = door.token("writer", "--spaces", "made", "--access", "write")
    figures = door.token("figures", "--access", "metrics")
    everywhere = door.token("everywhere", "--spaces", "*")
    assert door.post(f"{API}/memories", {"text": _SECRET_TEXT, "name": "acorn"}, writer).status_code == 201
    refused = door.post(f"{API}/memories", {"text": "x"}, reader)
    assert (refused.status_code, refused.json()["code"]) == (403, "not_allowed")
    assert door.get(f"{API}/memories/acorn", reader).json()["content"] == _SECRET_TEXT
    foreign = door.get(f"{API}/memories/acorn?space=home", reader)
    assert (foreign.status_code, foreign.json()["hint"]) == (403, "You may use: made")
    assert [door.get("/metrics", item).status_code for item in (figures, everywhere, reader)] == [200, 200, 403]
    assert door.get(f"{API}/status", figures).status_code == 403
    assert door.get(f"{API}/status?space=made", everywhere).json()["memories"] == {"live": 1}
    for verb in ("tokens", "create_token", "backup", "doctor"):
        assert door.post(f"/call/{verb}", {}, writer).status_code == 403


@pytest.mark.embedded
def test_what_opens_nothing_is_refused_in_the_same_words(door: Door, tmp_path: Path) -> None:
    good = door.token("genuine", "--spaces", "work")
    elsewhere = run_json("tokens", "create", "--name", "other", "--data", str(tmp_path / "elsewhere"))["secret"]
    stranger = signer()
    unsigned = "eyJhbGciOiJub25lIiwidHlwIjoiSldUIn0.eyJzdWIiOiJhbm4iLCJzcGFjZXMiOlsid29yayJdfQ."
    bad = [
        str(elsewhere), good[:-1], good + "A", good.upper(), "sj_", "Bearer", unsigned, _jwt(stranger), "a.b.c",
        good.removeprefix("sj_"), "x" * 5000,
    ]  # fmt: skip
    door.secrets += bad[:4]
    answers = [door.get(f"{API}/status", item).json() for item in bad]
    (once,) = {json.dumps({**answer, "request_id": ""}) for answer in answers}
    assert '"reason": "invalid"' in once
    for header in (f"Basic {good}", good, f"Bearer {good}, Bearer {good}", f"Bearer  {good} x", "Bearer", ""):
        assert door.http.get(f"{API}/status", headers={"authorization": header}).status_code == 401
    two = [("authorization", f"Bearer {good}"), ("authorization", f"Bearer {good}")]
    assert door.http.get(f"{API}/status", headers=two).status_code == 401


def test_a_token_ends_when_it_is_revoked_and_when_its_time_is_over(door: Door) -> None:
    soon = (datetime.now(UTC) + timedelta(seconds=1)).isoformat()
    short = door.token("short", "--spaces", "work", "--expires", soon)
    good = door.token("ended", "--spaces", "work")
    assert door.get(f"{API}/status", good).status_code == 200
    run_json("tokens", "revoke", "ended")
    ended = door.get(f"{API}/status", good)
    assert (ended.status_code, ended.json()["reason"]) == (401, "revoked")
    assert ended.headers["www-authenticate"] == 'Bearer realm="scrubjay", error="invalid_token"'
    door.until(lambda: door.get(f"{API}/status", short).status_code == 401)
    assert door.get(f"{API}/status", short).json()["reason"] == "expired"
    states = {row["name"]: row["state"] for row in _tokens()}
    assert (states["short"], states["ended"]) == ("expired", "revoked")


@pytest.mark.parametrize("kind", ["changes", "listen"])
def test_a_stream_ends_with_its_token(door: Door, kind: str) -> None:
    good = door.token(f"watcher-{kind}", "--spaces", "watched")
    with _watching(door, good) if kind == "changes" else _listening(door, good) as stream:
        assert stream.status_code == 200
        pieces = stream.iter_raw()
        received = next(pieces)
        run_json("tokens", "revoke", f"watcher-{kind}")
        remember(f"{_SECRET_TEXT} while {kind}", "--space", "watched")
        received += b"".join(pieces)
    assert b"created" not in received
    assert b"list_changed" not in received


def test_tokens_of_an_issuer_are_taken_while_its_keys_can_be_had(home: Path) -> None:
    existing, unknown = signer("known"), signer("unknown")
    with JwksServer(existing) as issuer:
        issuer.script.append(Reply(status=500))
        with _door(home, "--require-token", **_trusting(issuer.url)) as door:
            good = _jwt(existing)
            door.secrets.append(good)
            away = door.get(f"{API}/status", good)
            assert (away.status_code, away.json()["code"]) == (503, "keys_unavailable")
            assert int(away.headers["retry-after"]) > 0
            own = door.token("laptop", "--spaces", "home")
            assert door.get(f"{API}/status", own).status_code == 200
            door.until(lambda: door.get(f"{API}/status", good).status_code == 200)
            assert door.get(f"{API}/status", good).json()["space"] == "work"
            assert door.post(f"{API}/memories", {"text": "x"}, good).status_code == 403
            writer = _jwt(existing, scope="scrubjay:write", spaces="home work")
            assert door.post(f"{API}/memories", {"text": _SECRET_TEXT}, writer).status_code == 201
            bad = (
                _jwt(unknown), _jwt(existing, aud="somebody"), _jwt(existing, iss="https://else.example.org/"),
                _jwt(existing, exp=_now() - 60), _jwt(existing, nbf=_now() + 600), _jwt(existing, sub=None),
                good[:-4] + "AAAA",
                ".".join(["eyJhbGciOiJub25lIn0", *good.split(".")[1:2], ""]),
            )  # fmt: skip
            door.secrets += bad
            assert [door.get(f"{API}/status", item).status_code for item in bad] == [401] * len(bad)
            for closed in (_jwt(existing, scope="openid"), _jwt(existing, spaces=["*"]), _jwt(existing, spaces=None)):
                assert door.get(f"{API}/status", closed).status_code == 403


def test_an_issuer_that_was_never_there_lets_nobody_in_and_stops_nobody_else(home: Path) -> None:
    with JwksServer() as issuer:
        gone = issuer.url
    with _door(home, "--require-token", **_trusting(gone)) as door:
        away = door.get(f"{API}/status", _jwt(signer()))
        assert (away.status_code, "retry-after" in away.headers) == (503, True)
        assert door.get(f"{API}/status", door.token("laptop", "--spaces", "work")).status_code == 200


def test_beyond_this_machine_nobody_is_served_without_tokens(home: Path) -> None:
    serve = [sys.executable, "-m", "scrubjay", "serve", "--data", str(home), "--http", "0.0.0.0:0"]
    # One that no longer opens anything is as good as none.
    run_json("tokens", "create", "--name", "old", "--spaces", "work")
    run_json("tokens", "revoke", "old")
    refused = subprocess.run(serve, capture_output=True, text=True, timeout=60, check=False)
    assert refused.returncode == 2
    assert "needs a token" in refused.stderr
    secret = str(run_json("tokens", "create", "--name", "laptop", "--spaces", "work")["secret"])
    with _door(home, "--http", "0.0.0.0:0", SCRUBJAY_HOSTS="memory.example.org, Other.example.org") as door:
        door.secrets.append(secret)
        assert door.get(f"{API}/status").status_code == 401
        assert "in clear" in door.daemon.log
        for host, status in (
            ("192.0.2.7:7272", 200),
            ("[2001:db8::1]:7272", 200),
            ("memory.example.org", 200),
            ("OTHER.example.org:443", 200),
            ("localhost", 200),
            ("evil.example.org", 403),
            ("memory.example.org.evil.example.org", 403),
            ("", 403),
        ):
            assert door.get("/healthz", host=host).status_code == status, host
            assert door.get(f"{API}/status", secret, host=host).status_code == status, host
        for origin in ("null", "https://evil.example.org"):
            assert door.get(f"{API}/status", secret, origin=origin).status_code == 403
        assert door.get(f"{API}/status", secret, origin="https://memory.example.org").status_code == 200


def test_on_this_machine_a_host_in_numbers_is_not_ours(door: Door) -> None:
    secret = door.token("numbers", "--spaces", "work")
    for host in ("192.0.2.7", "evil.example.org", "127.0.0.1.evil.example.org"):
        assert door.get(f"{API}/status", secret, host=host).status_code == 403


def test_each_token_has_its_own_limits(door: Door) -> None:
    narrow = door.token(
        "narrow", "--spaces", "work", "--access", "write", "--requests-per-minute", "3", "--max-body", "300"
    )
    wide = door.token("wide", "--spaces", "work", "--access", "write")
    large = {"text": "x" * 400}
    refused = door.post(f"{API}/memories", large, narrow)
    assert (refused.status_code, refused.json()["limit"]) == (413, 300)
    piecemeal = door.http.post(
        f"{API}/memories", content=iter([b'{"text": "', b"x" * 400, b'"}']),
        headers={**_bearer(narrow), "content-type": "application/json"},
    )  # fmt: skip
    assert piecemeal.status_code == 413
    assert door.post(f"{API}/memories", {"text": "small"}, narrow).status_code == 201
    for path in (f"{API}/status", "/mcp/core", "/call/status"):
        busy = door.post(path, {}, narrow)
        assert (busy.status_code, busy.json()["code"]) == (429, "too_many_requests")
        assert 0 < int(busy.headers["retry-after"]) <= (20 if IS_EMBEDDED else 60)
    assert door.get("/healthz", narrow).status_code == 200
    assert door.post(f"{API}/memories", large, wide).status_code == 201


def test_whoever_reads_several_spaces_is_told_of_each_hit_where_it_is(door: Door) -> None:
    for space in ("oak", "elm", "pine"):
        remember(f"{_SECRET_TEXT} of {space}", "--space", space, "--name", f"acorn-{space}")
    both, entry = door.token("both", "--spaces", "oak,elm"), door.token("one", "--spaces", "oak")
    where = {"acorn-oak": "oak", "acorn-elm": "elm"}
    results = door.get(f"{API}/search?q=acorn", both).json()["hits"]
    assert {hit["name"]: hit["space"] for hit in results} == where
    (only,) = door.get(f"{API}/search?q=acorn&space=elm", both).json()["hits"]
    assert only["space"] == "elm"
    frame = {"args": {"question": {"query": "acorn"}}}
    called = door.post("/call/recall", frame, both).json()["result"]["hits"]
    assert {hit["name"]: hit["space"] for hit in called} == where
    answer = _called(door, both, "core", "recall")
    assert {hit["name"]: hit["space"] for hit in answer["structuredContent"]["hits"]} == where
    assert "acorn-elm (in elm, " in answer["content"][0]["text"]
    items = _called(door, both, "items", "memory_recall")["structuredContent"]["results"]
    assert {item["space"] for item in items} == {"oak", "elm"}
    # Who reads one space need not be told which, and pays for every word.
    alone = _called(door, entry, "core", "recall")
    assert ["space" in hit for hit in alone["structuredContent"]["hits"]] == [False]
    assert "(in " not in alone["content"][0]["text"]
    assert door.get(f"{API}/memories/acorn-elm", both).json()["space"] == "elm"
    assert door.get(f"{API}/memories/acorn-pine", both).status_code == 404


def test_a_client_shows_its_token(door: Door) -> None:
    writer = door.token("client", "--spaces", "desk,shelf", "--access", "write")
    slow = door.token("slow", "--spaces", "desk", "--requests-per-minute", "1")
    asyncio.run(_use_clients(str(door.http.base_url), writer=writer, slow=slow))


def test_the_command_line_goes_where_it_is_told(door: Door, monkeypatch: pytest.MonkeyPatch) -> None:
    reader = door.token("command-reader", "--spaces", "shell")
    writer = door.token("command-writer", "--spaces", "shell", "--access", "write")
    remember("not to be seen", "--space", "default")
    monkeypatch.setenv("SCRUBJAY_URL", str(door.http.base_url))
    monkeypatch.setenv("SCRUBJAY_TOKEN", writer)
    assert run_json("remember", _SECRET_TEXT, "--name", "acorn")["action"] == "created"
    assert run_json("status")["space"] == "shell"
    assert [hit["space"] for hit in _hits("recall", "acorn")] == ["shell"]
    assert "not to be seen" not in run("recall", "seen").out
    monkeypatch.setenv("SCRUBJAY_TOKEN", reader)
    refused = run("remember", "x", "--json")
    assert (refused.code, refused.error()["code"]) == (77, "not_allowed")
    assert run("recall", "acorn", "--space", "default", "--json").error()["code"] == "not_allowed"
    # Tokens are the owner's business, at his own machine.
    assert run("tokens", "list").code == 2
    monkeypatch.setenv("SCRUBJAY_TOKEN", "sj_nothing")
    lost = run("recall", "acorn")
    assert (lost.code, "sj_nothing" in lost.err) == (77, False)


async def _use_clients(url: str, *, writer: str, slow: str) -> None:
    async with MemoryClient(url=url, token=writer) as memory:
        await memory.remember(_SECRET_TEXT, name="acorn")
        (hit,) = (await memory.recall("acorn")).hits
        assert hit.space == "desk"
        lines = [line async for line in memory.export()]
        assert (await memory.status()).space == "desk"
        with pytest.raises(NotAllowed, match="whole store"):
            await memory.doctor()
    async with MemoryClient(url=url, token=writer, space="shelf") as memory:
        assert not (await memory.recall("acorn")).hits
        assert (await memory.import_lines(lines)).imported == 1
        assert (await memory.read("acorn")).memories[0].space == "shelf"
    async with MemoryClient(url=url, token=writer, space="elsewhere") as memory:
        with pytest.raises(NotAllowed, match="you may not use the space"):
            await memory.recall("acorn")
    for token in (None, "sj_nothing"):
        async with MemoryClient(url=url, token=token) as memory:
            with pytest.raises(NotAdmitted):
                await memory.recall("acorn")
    with pytest.raises(InvalidInput) as wrong:
        await MemoryClient(url=url, token=f"{writer}\n").__aenter__()
    assert writer not in str(wrong.value)
    async with MemoryClient(url=url, token=slow) as memory:
        await memory.status()
        with pytest.raises(TooManyRequests) as busy:
            await memory.status()
        assert busy.value.fields["limit"] == 1


def _bearer(token: str) -> dict[str, str]:
    return {"authorization": f"Bearer {token}"} if token else {}


def _now() -> int:
    return int(time.time())


def _jwt(by: Signer, **changed: Any) -> str:
    now = _now()
    times = {"exp": now + 600, "nbf": now - 5, "iat": now - 5}
    return by.sign(claims(**{**times, **changed}))


def _trusting(jwks: str) -> dict[str, str]:
    return {"SCRUBJAY_JWT_ISSUER": ISSUER, "SCRUBJAY_JWT_AUDIENCE": AUDIENCE, "SCRUBJAY_JWT_JWKS": jwks}


def _watching(door: Door, token: str) -> AbstractContextManager[httpx2.Response]:
    return door.http.stream("GET", f"{API}/changes", headers=_bearer(token))


def _listening(door: Door, token: str) -> AbstractContextManager[httpx2.Response]:
    """An agent that asks to be told when the list of memories is another."""
    revision = "2026-07-28"
    meta = {
        "io.modelcontextprotocol/protocolVersion": revision,
        "io.modelcontextprotocol/clientInfo": {"name": "t", "version": "0"},
        "io.modelcontextprotocol/clientCapabilities": {},
    }
    message = {
        "jsonrpc": "2.0", "id": 1, "method": "subscriptions/listen",
        "params": {"notifications": {"resourcesListChanged": True}, "_meta": meta},
    }  # fmt: skip
    headers = {"mcp-protocol-version": revision, "mcp-method": "subscriptions/listen"}
    return door.http.stream("POST", "/mcp", json=message, headers={**_bearer(token), **headers})


def _called(door: Door, token: str, toolset: str, tool: str) -> Any:
    message = {
        "jsonrpc": "2.0", "id": 1, "method": "tools/call",
        "params": {"name": tool, "arguments": {"query": "acorn"}},
    }  # fmt: skip
    return door.post(f"/mcp/{toolset}", message, token).json()["result"]


def _tokens() -> Any:
    return run_json("tokens", "list")["tokens"]


def _hits(*arguments: str) -> Any:
    return run_json(*arguments)["hits"]
