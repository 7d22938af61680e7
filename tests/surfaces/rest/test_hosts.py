"""Host and Origin are checked first on every route."""

import pytest
from tests.surfaces.rest.checked_client import CheckedClient
from tests.surfaces.rest.openapi_document import document
from tests.surfaces.rest.raw_client import RawClient, open_raw_client

from scrubjay.surfaces.daemon.serve import RunningDaemon

ROUTES = [
    *(
        (method.upper(), path.replace("{id}", "x"))
        for path, methods in document()["paths"].items()
        for method in methods
    ),
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


@pytest.mark.parametrize(("headers", "header"), FOREIGN, ids=lambda value: str(value)[:60])
async def test_a_page_of_another_site_is_refused_on_every_route(
    served: RunningDaemon, headers: list[str], header: str
) -> None:
    lines = [line.replace("own", served.http) for line in headers]
    async with open_raw_client(served.http) as raw:
        for method, path in ROUTES:
            await raw.send(_request(method, path, *lines))
            if method == "HEAD":
                assert b"403" in await _head(raw)
                continue
            reply = await raw.receive_response()
            assert (reply.status, reply.problem["code"]) == (403, "not_allowed"), (method, path)
            assert reply.problem["header"] == header


@pytest.mark.parametrize("header", ["host: evil.example", "host: 127.0.0.1\r\norigin: null", "host: a\r\nhost: b"])
async def test_a_websocket_of_another_site_is_refused(served: RunningDaemon, header: str) -> None:
    handshake = ["connection: upgrade", "upgrade: websocket", "sec-websocket-version: 13"]
    key = "sec-websocket-key: " + "A" * 22 + "=="
    async with open_raw_client(served.http) as raw:
        lines = ["GET /api/v1/changes HTTP/1.1", *header.split("\r\n"), *handshake, key]
        await raw.send(("\r\n".join(lines) + "\r\n\r\n").encode())
        reply = await raw.receive_response()
        assert (reply.status, reply.problem["code"]) == (403, "not_allowed")


@pytest.mark.parametrize("name", ["127.0.0.1", "localhost", "LOCALHOST", "[::1]", "localhost:", "127.0.0.1:99"])
async def test_these_hosts_are_accepted(served: RunningDaemon, name: str) -> None:
    async with open_raw_client(served.http) as raw:
        await raw.send(_request("GET", "/healthz", f"host: {name}"))
        assert (await raw.receive_response()).status == 200


async def test_its_own_page_is_accepted(client: CheckedClient) -> None:
    own = str(client.web.base_url).rstrip("/")
    port = own.rpartition(":")[2]
    for origin in (own, f"http://localhost:{port}"):
        response = await client.web.get("/healthz", headers={"origin": origin})
        assert response.status_code == 200
        assert "access-control-allow-origin" not in response.headers


def _request(method: str, path: str, *headers: str) -> bytes:
    lines = [f"{method} {path} HTTP/1.1", *headers, "content-length: 2", "content-type: application/json"]
    return ("\r\n".join(lines) + "\r\n\r\n{}").encode()


async def _head(raw: RawClient) -> bytes:
    return await raw._reader.readuntil(b"\r\n\r\n")
