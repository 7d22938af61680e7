"""Host and Origin are looked at on every route, before anything else is."""

import pytest
from tests.surfaces.rest.checked_client import Visitor
from tests.surfaces.rest.openapi_document import document
from tests.surfaces.rest.raw_client import RawClient, wired

from scrubjay.surfaces.daemon.serve import Running

ROUTES = [
    *((method.upper(), path.replace("{id}", "x")) for path, ways in document()["paths"].items() for method in ways),
    ("GET", "/openapi.json"),
    ("GET", "/api/v1/healthz"),
    ("GET", "/nowhere"),
    ("OPTIONS", "/api/v1/memories"),
    ("HEAD", "/healthz"),
    ("POST", "/call/status"),
    ("POST", "/mcp"),
    ("POST", "/mcp/kg"),
]
FOREIGN: list[tuple[list[str], str]] = [
    (["host: evil.example"], "Host"),
    (["host: 127.0.0.1.evil.example"], "Host"),
    (["host: localhost@evil.example"], "Host"),
    (["host: evil.example@localhost"], "Host"),
    (["host: localhost/evil"], "Host"),
    (["host: localhost#.evil.example"], "Host"),
    (["host: "], "Host"),
    (["host: [::1"], "Host"),
    (["host: localhost:x"], "Host"),
    (["host: local host"], "Host"),
    (["host: 127.0.0.1", "host: evil.example"], "Host"),
    (["host: 127.0.0.1", "host: 127.0.0.1"], "Host"),
    ([], "Host"),
    (["host: 127.0.0.1", "origin: http://evil.example"], "Origin"),
    (["host: 127.0.0.1", "origin: null"], "Origin"),
    (["host: 127.0.0.1", "origin: "], "Origin"),
    (["host: 127.0.0.1", "origin: http://127.0.0.1:1"], "Origin"),
    (["host: 127.0.0.1", "origin: http://localhost"], "Origin"),
    (["host: 127.0.0.1", "origin: file://"], "Origin"),
    (["host: 127.0.0.1", "origin: http://[::1"], "Origin"),
    (["host: 127.0.0.1", "origin: own", "origin: http://evil.example"], "Origin"),
    (["host: 127.0.0.1", "origin: https://127.0.0.1.evil.example"], "Origin"),
]


@pytest.mark.parametrize(("headers", "which"), FOREIGN, ids=lambda given: str(given)[:60])
async def test_a_page_of_another_site_is_kept_out_everywhere(served: Running, headers: list[str], which: str) -> None:
    lines = [line.replace("own", served.http) for line in headers]
    async with wired(served.http) as raw:
        for method, path in ROUTES:
            await raw.say(_request(method, path, *lines))
            if method == "HEAD":
                assert b"403" in await _head(raw)
                continue
            reply = await raw.hear()
            assert (reply.status, reply.problem["code"]) == (403, "not_allowed"), (method, path)
            assert reply.problem["header"] == which


@pytest.mark.parametrize("which", ["host: evil.example", "host: 127.0.0.1\r\norigin: null", "host: a\r\nhost: b"])
async def test_nor_by_a_websocket(served: Running, which: str) -> None:
    handshake = ["connection: upgrade", "upgrade: websocket", "sec-websocket-version: 13"]
    key = "sec-websocket-key: " + "A" * 22 + "=="
    async with wired(served.http) as raw:
        lines = ["GET /api/v1/changes HTTP/1.1", *which.split("\r\n"), *handshake, key]
        await raw.say(("\r\n".join(lines) + "\r\n\r\n").encode())
        reply = await raw.hear()
        assert (reply.status, reply.problem["code"]) == (403, "not_allowed")


@pytest.mark.parametrize("name", ["127.0.0.1", "localhost", "LOCALHOST", "[::1]", "localhost:", "127.0.0.1:99"])
async def test_it_is_known_by_these_names(served: Running, name: str) -> None:
    async with wired(served.http) as raw:
        await raw.say(_request("GET", "/healthz", f"host: {name}"))
        assert (await raw.hear()).status == 200


async def test_its_own_page_is_let_in(visitor: Visitor) -> None:
    own = str(visitor.web.base_url).rstrip("/")
    port = own.rpartition(":")[2]
    for origin in (own, f"http://localhost:{port}"):
        response = await visitor.web.get("/healthz", headers={"origin": origin})
        assert response.status_code == 200
        assert "access-control-allow-origin" not in response.headers


def _request(method: str, path: str, *headers: str) -> bytes:
    lines = [f"{method} {path} HTTP/1.1", *headers, "content-length: 2", "content-type: application/json"]
    return ("\r\n".join(lines) + "\r\n\r\n{}").encode()


async def _head(raw: RawClient) -> bytes:
    return await raw._reader.readuntil(b"\r\n\r\n")
