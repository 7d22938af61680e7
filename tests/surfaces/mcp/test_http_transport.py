"""MCP over HTTP: with the SDK's client, and with a bare `curl`."""

import asyncio
import json
from collections.abc import AsyncGenerator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Any

import httpx2
import pytest
import uvicorn
from mcp.client.client import Client
from mcp.client.subscriptions import ResourcesListChanged
from mcp.shared.exceptions import MCPError
from starlette.applications import Starlette
from starlette.routing import Route
from tests.patience import PATIENCE
from tests.surfaces.mcp.mcp_server import ERAS, HELLO, McpServer, call, open_server, refusal, request

from scrubjay.model.memory import Json
from scrubjay.settings import Settings
from scrubjay.surfaces.mcp.http_transport import mcp_site

_JSON = {"content-type": "application/json"}


@dataclass(frozen=True)
class HttpServer:
    url: str
    http: httpx2.AsyncClient

    async def post(self, message: Json | bytes, path: str = "/mcp", **headers: str) -> httpx2.Response:
        body = message if isinstance(message, bytes) else json.dumps(message).encode()
        return await self.http.post(path, content=body, headers=_JSON | headers)

    async def ask(self, message: Json, path: str = "/mcp") -> Any:
        response = await self.post(message, path)
        assert response.status_code == 200, response.text
        assert response.headers["content-type"] == "application/json"
        return response.json()


@asynccontextmanager
async def _site(server: McpServer, tools: str = "") -> AsyncGenerator[HttpServer]:
    served = mcp_site(tools, context=server.context(), limiter=server.limiter, changes=server.changes)
    routes = [Route("/mcp", endpoint=served), Route("/mcp/{toolset}", endpoint=served)]
    app = Starlette(routes=routes, lifespan=lambda _: served.open())
    web = uvicorn.Server(uvicorn.Config(app, port=0, log_level="critical", timeout_graceful_shutdown=5))
    task = asyncio.create_task(web.serve())
    try:
        async with asyncio.timeout(PATIENCE):
            while not web.started:  # noqa: ASYNC110 - uvicorn has no event for it
                await asyncio.sleep(0.01)
        url = f"http://127.0.0.1:{web.servers[0].sockets[0].getsockname()[1]}"
        async with httpx2.AsyncClient(base_url=url, timeout=PATIENCE) as http:
            del http.headers["accept"]
            yield HttpServer(url, http)
    finally:
        await server.changes.close()
        web.should_exit = True
        await task


@pytest.mark.parametrize("era", ERAS)
async def test_the_sdk_speaks_to_it(settings: Settings, era: str) -> None:
    async with open_server(settings) as server, _site(server) as site, Client(site.url + "/mcp", mode=era) as client:
        assert client.protocol_version == {"legacy": "2025-11-25", "auto": "2026-07-28"}[era]
        await call(client, "remember", text="tea", name="tea")
        assert len((await call(client, "recall", query="tea"))["hits"]) == 1
        assert "Did you mean query" in await refusal(client, "recall", quer="x")
        with pytest.raises(MCPError, match="Did you mean recall"):
            await client.call_tool("recal", {})
        assert (await client.list_resources()).resources[0].uri == "memory://default/tea"
        assert len((await client.list_prompts()).prompts) == 4
        assert client.server_capabilities.resources is not None
        # Without a persistent connection a client gets notifications only on a stream that it opens.
        assert client.server_capabilities.resources.subscribe is (era == "auto")


async def test_a_bare_request_is_enough(settings: Settings) -> None:
    async with open_server(settings) as server, _site(server) as site:
        done = await site.ask(request("tools/call", name="remember", arguments={"text": "tea"}))
        assert done["result"]["structuredContent"]["action"] == "created"
        recalled = await site.ask(request("tools/call", name="recall", arguments={"query": "tea"}))
        assert recalled["result"]["structuredContent"]["hits"][0]["passage"] == "tea"
        assert len((await site.ask(request("tools/list")))["result"]["tools"]) == 7
        for accept in ("*/*", "application/json", "application/json, text/event-stream"):
            response = await site.post(request("tools/list"), accept=accept)
            assert (response.status_code, response.headers["content-type"]) == (200, "application/json")
        assert (await site.ask(HELLO))["result"]["protocolVersion"] == "2025-11-25"


async def test_each_toolset_has_an_address_of_its_own(settings: Settings) -> None:
    async with open_server(settings) as server, _site(server, "items") as site:
        for path, sample in (("/mcp", "memory_store"), ("/mcp/core", "remember"), ("/mcp/items", "memory_store")):
            names = {tool["name"] for tool in (await site.ask(request("tools/list"), path))["result"]["tools"]}
            assert sample in names
        wrong = await site.post(request("tools/list"), "/mcp/cor")
        assert (wrong.status_code, "Did you mean core" in wrong.json()["error"]["message"]) == (404, True)
        assert (await site.post(request("tools/list"), "/mcp/core/x")).status_code == 404


@pytest.mark.parametrize(
    ("body", "code", "expected"),
    [
        (b"nonsense", -32700, "not JSON"),
        (b"", -32700, "not JSON"),
        (b'[{"jsonrpc": "2.0", "id": 1, "method": "ping"}]', -32600, "batches are not part"),
        (b"{}", -32600, "jsonrpc"),
        (b'{"jsonrpc": "2.0", "id": null, "method": "ping"}', -32600, "id of a request"),
        (b'{"jsonrpc": "2.0", "id": 1, "method": "ping", "params": []}', -32602, "params must be an object"),
    ],
)
async def test_an_invalid_message_gets_a_clear_error(settings: Settings, body: bytes, code: int, expected: str) -> None:
    async with open_server(settings) as server, _site(server) as site:
        for version in ("2025-11-25", "2026-07-28"):
            response = await site.post(body, **{"mcp-protocol-version": version})
            assert response.status_code == 400
            assert (response.json()["error"]["code"], expected in response.json()["error"]["message"]) == (code, True)
        assert "result" in await site.ask(request("tools/list"))


async def test_unsupported_http_requests_are_refused(settings: Settings) -> None:
    async with open_server(settings) as server, _site(server) as site:
        for method in ("GET", "DELETE", "PUT"):
            response = await site.http.request(method, "/mcp", headers={"accept": "text/event-stream"})
            assert (response.status_code, response.headers["allow"]) == (405, "POST")
        text = await site.http.post(
            "/mcp", content=json.dumps(request("tools/list")), headers={"content-type": "text/plain"}
        )
        assert text.status_code in (400, 415)
        large = await site.post(b'{"x": "' + b"y" * (17 << 20) + b'"}')
        assert (large.status_code, "larger than" in large.json()["error"]["message"]) == (413, True)
        odd = await site.post(request("tools/list"), **{"mcp-protocol-version": "1999-01-01"})
        assert odd.status_code == 400
        notice: Mapping[str, Json] = {"jsonrpc": "2.0", "method": "notifications/initialized"}
        assert (await site.post(dict(notice))).status_code == 202


async def test_a_newer_client_may_listen_over_http(settings: Settings) -> None:
    async with (
        open_server(settings) as server,
        _site(server) as site,
        Client(site.url + "/mcp", mode="auto") as client,
        client.listen(resources_list_changed=True) as changes,
    ):
        await call(client, "remember", text="tea")
        assert await asyncio.wait_for(anext(aiter(changes)), PATIENCE) == ResourcesListChanged()


async def test_requests_at_once_do_not_mix(settings: Settings) -> None:
    async with open_server(settings) as server, _site(server) as site:
        sent = [
            request("tools/call", number, name="remember", arguments={"text": f"note {number}"}) for number in range(30)
        ]
        answers = await asyncio.gather(*(site.ask(message) for message in sent))
        assert [answer["id"] for answer in answers] == list(range(30))
        assert (await server.context().memory.status()).memories == {"live": 30}
