"""Authentication end to end: a real daemon, real HTTP, and tokens from the command line."""

import asyncio
import json
import os
import time
from collections.abc import Callable, Generator, Iterator
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import httpx2
import pytest
from tests.patience import PATIENCE
from tests.surfaces.backend import IS_EMBEDDED, database_of
from tests.surfaces.daemon_process import Daemon
from tests.surfaces.fork_server import run_forked
from tests.surfaces.shell import remember, run, run_json
from tests.unit.auth.issuer import AUDIENCE, ISSUER, JwksServer, Reply, Signer, claims, signer

from scrubjay import MemoryClient
from scrubjay.errors import InvalidInput, NotAdmitted, NotAllowed, TooManyRequests
from scrubjay.paths import daemon_file

API = "/api/v1"
_SECRET_TEXT = "The jay hid an acorn under the white stone"


@dataclass(kw_only=True)
class HttpDaemon:
    """A daemon with an HTTP client, and the secrets that its log must not contain."""

    daemon: Daemon
    http: httpx2.Client
    secrets: list[str] = field(default_factory=list[str])

    def token(self, name: str, *options: str) -> str:
        """Create a token on the command line; return its secret."""
        made = str(run_json("tokens", "create", "--name", name, *options)["secret"])
        self.secrets.append(made)
        return made

    def get(self, path: str, token: str = "", **headers: str) -> httpx2.Response:
        return self.http.get(path, headers={**_bearer(token), **headers})

    def post(self, path: str, body: object, token: str = "", **headers: str) -> httpx2.Response:
        return self.http.post(path, json=body, headers={**_bearer(token), **headers})

    def until(self, condition: Callable[[], bool]) -> None:
        end = time.monotonic() + PATIENCE
        while not condition():
            assert time.monotonic() < end
            time.sleep(0.05)


@contextmanager
def _serve(home: Path, *options: str, **environment: str) -> Generator[HttpDaemon]:
    """Run a daemon; after its exit, check its log for secrets."""
    with Daemon(home, *options, SCRUBJAY_LOG_LEVEL="debug", **environment) as daemon:
        address = json.loads(daemon_file(home).read_text())["http"].replace("0.0.0.0", "127.0.0.1")
        with httpx2.Client(base_url=address, timeout=PATIENCE, trust_env=False) as http:
            server = HttpDaemon(daemon=daemon, http=http)
            yield server
        assert daemon.stop() == 0
    for secret in (*server.secrets, _SECRET_TEXT):
        for piece in (secret, *secret.split(".")):
            assert len(piece) < 12 or piece not in daemon.log


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[HttpDaemon]:
    """One daemon for all tests without special options; the command line uses the same folder."""
    home = tmp_path_factory.mktemp("server") / "data"
    with pytest.MonkeyPatch.context() as environment:
        for name in [name for name in os.environ if name.startswith(("SCRUBJAY_", "MEMORY_DIR"))]:
            environment.delenv(name)
        environment.setenv("SCRUBJAY_HOME", str(home))
        environment.setenv("SCRUBJAY_EMBEDDER", "none")
        environment.setenv("SCRUBJAY_DATABASE_URL", database_of(home))
        with _serve(home, "--require-token") as opened:
            yield opened


def test_on_this_machine_a_request_needs_no_token_but_a_bad_one_is_refused(home: Path) -> None:
    with _serve(home) as server:
        assert server.get(f"{API}/status").status_code == 200
        assert server.post(f"{API}/memories", {"text": _SECRET_TEXT}).status_code == 201
        for bad in ("sj_nothing", "x", "a.b.c"):
            refused = server.get(f"{API}/status", bad)
            assert (refused.status_code, refused.json()["code"]) == (401, "not_admitted")
            assert bad not in refused.text
        good = server.token("laptop", "--spaces", "work")
        assert server.get(f"{API}/status", good).json()["space"] == "work"


def test_with_require_token_a_request_needs_a_token(server: HttpDaemon) -> None:
    good = server.token("required", "--spaces", "work,home", "--access", "write")
    for path in (f"{API}/status", "/metrics", f"{API}/search?q=x", "/mcp", "/call/status", "/nowhere"):
        refused = server.get(path)
        assert (refused.status_code, refused.json()["reason"]) == (401, "missing")
        assert refused.headers["www-authenticate"] == 'Bearer realm="scrubjay"'
        assert "scrubjay tokens create" in refused.json()["hint"]
    assert [server.get(path).status_code for path in ("/healthz", f"{API}/healthz", "/openapi.json")] == [200] * 3
    assert server.get(f"{API}/status", good).status_code == 200
    # Only in a header: a URL ends up in logs.
    for query in ("token", "access_token", "api_key"):
        assert server.get(f"{API}/status?{query}={good}").status_code == 401
    assert server.get(f"{API}/status", cookie=f"token={good}").status_code == 401


def test_a_token_has_only_its_own_rights(server: HttpDaemon) -> None:
    reader = server.token("reader", "--spaces", "made")
    writer = server.token("writer", "--spaces", "made", "--access", "write")
    figures = server.token("figures", "--access", "metrics")
    everywhere = server.token("everywhere", "--spaces", "*")
    assert server.post(f"{API}/memories", {"text": _SECRET_TEXT, "name": "acorn"}, writer).status_code == 201
    refused = server.post(f"{API}/memories", {"text": "x"}, reader)
    assert (refused.status_code, refused.json()["code"]) == (403, "not_allowed")
    assert server.get(f"{API}/memories/acorn", reader).json()["content"] == _SECRET_TEXT
    foreign = server.get(f"{API}/memories/acorn?space=home", reader)
    assert (foreign.status_code, foreign.json()["hint"]) == (403, "You may use: made")
    assert [server.get("/metrics", item).status_code for item in (figures, everywhere, reader)] == [200, 200, 403]
    assert server.get(f"{API}/status", figures).status_code == 403
    assert server.get(f"{API}/status?space=made", everywhere).json()["memories"] == {"live": 1}
    for verb in ("tokens", "create_token", "backup", "doctor"):
        assert server.post(f"/call/{verb}", {}, writer).status_code == 403


@pytest.mark.embedded
def test_all_invalid_tokens_get_the_same_message(server: HttpDaemon, tmp_path: Path) -> None:
    good = server.token("genuine", "--spaces", "work")
    elsewhere = run_json("tokens", "create", "--name", "other", "--data", str(tmp_path / "elsewhere"))["secret"]
    stranger = signer()
    unsigned = "eyJhbGciOiJub25lIiwidHlwIjoiSldUIn0.eyJzdWIiOiJhbm4iLCJzcGFjZXMiOlsid29yayJdfQ."
    bad = [
        str(elsewhere), good[:-1], good + "A", good.upper(), "sj_", "Bearer", unsigned, _jwt(stranger), "a.b.c",
        good.removeprefix("sj_"), "x" * 5000,
    ]  # fmt: skip
    server.secrets += bad[:4]
    answers = [server.get(f"{API}/status", item).json() for item in bad]
    (once,) = {json.dumps({**answer, "request_id": ""}) for answer in answers}
    assert '"reason": "invalid"' in once
    for header in (f"Basic {good}", good, f"Bearer {good}, Bearer {good}", f"Bearer  {good} x", "Bearer", ""):
        assert server.http.get(f"{API}/status", headers={"authorization": header}).status_code == 401
    two = [("authorization", f"Bearer {good}"), ("authorization", f"Bearer {good}")]
    assert server.http.get(f"{API}/status", headers=two).status_code == 401


def test_a_token_is_invalid_after_revocation_and_expiry(
    home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    clock = tmp_path / "clock"
    clock.write_text("2026-05-31T14:00:00Z")
    monkeypatch.setenv("SCRUBJAY_CLOCK_FILE", str(clock))
    with _serve(home, "--require-token", SCRUBJAY_CLOCK_FILE=str(clock)) as server:
        short = server.token("short", "--spaces", "work", "--expires", "12h")
        good = server.token("ended", "--spaces", "work")
        assert [server.get(f"{API}/status", token).status_code for token in (short, good)] == [200, 200]
        run_json("tokens", "revoke", "ended")
        ended = server.get(f"{API}/status", good)
        assert (ended.status_code, ended.json()["reason"]) == (401, "revoked")
        assert ended.headers["www-authenticate"] == 'Bearer realm="scrubjay", error="invalid_token"'
        clock.write_text("2026-06-01T14:00:00Z")
        expired = server.get(f"{API}/status", short)
        assert (expired.status_code, expired.json()["reason"]) == (401, "expired")
        states = {row["name"]: row["state"] for row in _tokens()}
        assert (states["short"], states["ended"]) == ("expired", "revoked")


@pytest.mark.parametrize("kind", ["changes", "listen"])
def test_a_stream_ends_with_its_token(server: HttpDaemon, kind: str) -> None:
    good = server.token(f"watcher-{kind}", "--spaces", "watched")
    with _watching(server, good) if kind == "changes" else _listening(server, good) as stream:
        assert stream.status_code == 200
        pieces = stream.iter_raw()
        received = next(pieces)
        run_json("tokens", "revoke", f"watcher-{kind}")
        remember(f"{_SECRET_TEXT} while {kind}", "--space", "watched")
        received += b"".join(pieces)
    assert b"created" not in received
    assert b"list_changed" not in received


def test_tokens_of_an_issuer_are_accepted_while_its_keys_are_available(home: Path) -> None:
    existing, unknown = signer("known"), signer("unknown")
    with JwksServer(existing) as issuer:
        issuer.script.append(Reply(status=500))
        with _serve(home, "--require-token", **_trusting(issuer.url)) as server:
            good = _jwt(existing)
            server.secrets.append(good)
            away = server.get(f"{API}/status", good)
            assert (away.status_code, away.json()["code"]) == (503, "keys_unavailable")
            assert int(away.headers["retry-after"]) > 0
            own = server.token("laptop", "--spaces", "home")
            assert server.get(f"{API}/status", own).status_code == 200
            server.until(lambda: server.get(f"{API}/status", good).status_code == 200)
            assert server.get(f"{API}/status", good).json()["space"] == "work"
            assert server.post(f"{API}/memories", {"text": "x"}, good).status_code == 403
            writer = _jwt(existing, scope="scrubjay:write", spaces="home work")
            assert server.post(f"{API}/memories", {"text": _SECRET_TEXT}, writer).status_code == 201
            bad = (
                _jwt(unknown), _jwt(existing, aud="somebody"), _jwt(existing, iss="https://else.example.org/"),
                _jwt(existing, exp=_now() - 60), _jwt(existing, nbf=_now() + 600), _jwt(existing, sub=None),
                good[:-4] + "AAAA",
                ".".join(["eyJhbGciOiJub25lIn0", *good.split(".")[1:2], ""]),
            )  # fmt: skip
            server.secrets += bad
            assert [server.get(f"{API}/status", item).status_code for item in bad] == [401] * len(bad)
            for closed in (_jwt(existing, scope="openid"), _jwt(existing, spaces=["*"]), _jwt(existing, spaces=None)):
                assert server.get(f"{API}/status", closed).status_code == 403


def test_a_missing_issuer_affects_only_its_own_tokens(home: Path) -> None:
    with JwksServer() as issuer:
        gone = issuer.url
    with _serve(home, "--require-token", **_trusting(gone)) as server:
        away = server.get(f"{API}/status", _jwt(signer()))
        assert (away.status_code, "retry-after" in away.headers) == (503, True)
        assert server.get(f"{API}/status", server.token("laptop", "--spaces", "work")).status_code == 200


def test_on_the_network_every_request_needs_a_token(home: Path) -> None:
    # A revoked token counts as none.
    run_json("tokens", "create", "--name", "old", "--spaces", "work")
    run_json("tokens", "revoke", "old")
    code, output = run_forked("serve", "--data", str(home), "--http", "0.0.0.0:0", log=home.with_name("refused.log"))
    assert (code, "needs a token" in output) == (2, True)
    secret = str(run_json("tokens", "create", "--name", "laptop", "--spaces", "work")["secret"])
    with _serve(home, "--http", "0.0.0.0:0", SCRUBJAY_HOSTS="memory.example.org, Other.example.org") as server:
        server.secrets.append(secret)
        assert server.get(f"{API}/status").status_code == 401
        assert "in clear" in server.daemon.log
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
            assert server.get("/healthz", host=host).status_code == status, host
            assert server.get(f"{API}/status", secret, host=host).status_code == status, host
        for origin in ("null", "https://evil.example.org"):
            assert server.get(f"{API}/status", secret, origin=origin).status_code == 403
        assert server.get(f"{API}/status", secret, origin="https://memory.example.org").status_code == 200


def test_a_foreign_host_header_is_refused(server: HttpDaemon) -> None:
    secret = server.token("numbers", "--spaces", "work")
    for host in ("192.0.2.7", "evil.example.org", "127.0.0.1.evil.example.org"):
        assert server.get(f"{API}/status", secret, host=host).status_code == 403


def test_each_token_has_its_own_limits(server: HttpDaemon) -> None:
    narrow = server.token(
        "narrow", "--spaces", "work", "--access", "write", "--requests-per-minute", "3", "--max-body", "300"
    )
    wide = server.token("wide", "--spaces", "work", "--access", "write")
    large = {"text": "x" * 400}
    refused = server.post(f"{API}/memories", large, narrow)
    assert (refused.status_code, refused.json()["limit"]) == (413, 300)
    piecemeal = server.http.post(
        f"{API}/memories", content=iter([b'{"text": "', b"x" * 400, b'"}']),
        headers={**_bearer(narrow), "content-type": "application/json"},
    )  # fmt: skip
    assert piecemeal.status_code == 413
    assert server.post(f"{API}/memories", {"text": "small"}, narrow).status_code == 201
    for path in (f"{API}/status", "/mcp/core", "/call/status"):
        busy = server.post(path, {}, narrow)
        assert (busy.status_code, busy.json()["code"]) == (429, "too_many_requests")
        assert 0 < int(busy.headers["retry-after"]) <= (20 if IS_EMBEDDED else 60)
    assert server.get("/healthz", narrow).status_code == 200
    assert server.post(f"{API}/memories", large, wide).status_code == 201


def test_with_several_spaces_each_hit_names_its_space(server: HttpDaemon) -> None:
    for space in ("oak", "elm", "pine"):
        remember(f"{_SECRET_TEXT} of {space}", "--space", space, "--name", f"acorn-{space}")
    both, entry = server.token("both", "--spaces", "oak,elm"), server.token("one", "--spaces", "oak")
    where = {"acorn-oak": "oak", "acorn-elm": "elm"}
    results = server.get(f"{API}/search?q=acorn", both).json()["hits"]
    assert {hit["name"]: hit["space"] for hit in results} == where
    (only,) = server.get(f"{API}/search?q=acorn&space=elm", both).json()["hits"]
    assert only["space"] == "elm"
    frame = {"args": {"query": "acorn"}}
    called = server.post("/call/recall", frame, both).json()["result"]["hits"]
    assert {hit["name"]: hit["space"] for hit in called} == where
    answer = _called(server, both, "core", "recall")
    assert {hit["name"]: hit["space"] for hit in answer["structuredContent"]["hits"]} == where
    assert "acorn-elm (in elm, " in answer["content"][0]["text"]
    items = _called(server, both, "items", "memory_recall")["structuredContent"]["results"]
    assert {item["space"] for item in items} == {"oak", "elm"}
    # With a single space its name is redundant, and would cost tokens.
    alone = _called(server, entry, "core", "recall")
    assert ["space" in hit for hit in alone["structuredContent"]["hits"]] == [False]
    assert "(in " not in alone["content"][0]["text"]
    assert server.get(f"{API}/memories/acorn-elm", both).json()["space"] == "elm"
    assert server.get(f"{API}/memories/acorn-pine", both).status_code == 404


def test_a_client_sends_its_token(server: HttpDaemon) -> None:
    writer = server.token("client", "--spaces", "desk,shelf", "--access", "write")
    slow = server.token("slow", "--spaces", "desk", "--requests-per-minute", "1")
    asyncio.run(_use_clients(str(server.http.base_url), writer=writer, slow=slow))


def test_the_command_line_uses_the_url_of_the_environment(server: HttpDaemon, monkeypatch: pytest.MonkeyPatch) -> None:
    reader = server.token("command-reader", "--spaces", "shell")
    writer = server.token("command-writer", "--spaces", "shell", "--access", "write")
    remember("not to be seen", "--space", "default")
    monkeypatch.setenv("SCRUBJAY_URL", str(server.http.base_url))
    monkeypatch.setenv("SCRUBJAY_TOKEN", writer)
    assert run_json("remember", _SECRET_TEXT, "--name", "acorn")["action"] == "created"
    assert run_json("status")["space"] == "shell"
    assert [hit["space"] for hit in _hits("recall", "acorn")] == ["shell"]
    assert "not to be seen" not in run("recall", "seen").out
    monkeypatch.setenv("SCRUBJAY_TOKEN", reader)
    refused = run("remember", "x", "--json")
    assert (refused.code, refused.error()["code"]) == (77, "not_allowed")
    assert run("recall", "acorn", "--space", "default", "--json").error()["code"] == "not_allowed"
    # Only the owner manages tokens, on the machine of the daemon.
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


def _watching(server: HttpDaemon, token: str) -> AbstractContextManager[httpx2.Response]:
    return server.http.stream("GET", f"{API}/changes", headers=_bearer(token))


def _listening(server: HttpDaemon, token: str) -> AbstractContextManager[httpx2.Response]:
    """Open a stream of an agent that subscribes to changes of the list of memories."""
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
    return server.http.stream("POST", "/mcp", json=message, headers={**_bearer(token), **headers})


def _called(server: HttpDaemon, token: str, toolset: str, tool: str) -> Any:
    message = {
        "jsonrpc": "2.0", "id": 1, "method": "tools/call",
        "params": {"name": tool, "arguments": {"query": "acorn"}},
    }  # fmt: skip
    return server.post(f"/mcp/{toolset}", message, token).json()["result"]


def _tokens() -> Any:
    return run_json("tokens", "list")["tokens"]


def _hits(*arguments: str) -> Any:
    return run_json(*arguments)["hits"]
