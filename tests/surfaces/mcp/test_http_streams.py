"""A response over HTTP is a stream only for a client that accepts one and has a use for it."""

import pytest
from tests.surfaces.mcp.mcp_server import open_server, request
from tests.surfaces.mcp.test_http_transport import _site

from scrubjay.model.memory import Json
from scrubjay.settings import Settings

JSON, STREAM = "application/json", "text/event-stream"
NEWER: dict[str, Json] = {
    "io.modelcontextprotocol/protocolVersion": "2026-07-28",
    "io.modelcontextprotocol/clientCapabilities": {},
}


@pytest.mark.parametrize(
    ("accept", "meta", "kind"),
    [
        (f"{JSON}, {STREAM}", {}, JSON),
        (f"{JSON}, {STREAM}", {"progressToken": 1}, STREAM),
        ("*/*", {"progressToken": 1}, JSON),
        (JSON, {"progressToken": 1}, JSON),
    ],
)
async def test_in_the_older_revision_a_request_for_progress_gets_a_stream(
    settings: Settings, accept: str, meta: dict[str, Json], kind: str
) -> None:
    async with open_server(settings) as server, _site(server) as site:
        message = request("tools/call", name="recall", arguments={"query": "tea"}, _meta=meta)
        response = await site.post(message, accept=accept)
        assert (response.status_code, response.headers["content-type"].split(";")[0]) == (200, kind)


async def test_in_the_newer_revision_a_quick_answer_is_plain(settings: Settings) -> None:
    async with open_server(settings) as server, _site(server) as site:
        message = request("tools/call", name="recall", arguments={"query": "tea"}, _meta={**NEWER, "progressToken": 1})
        headers = {"mcp-protocol-version": "2026-07-28", "mcp-method": "tools/call", "mcp-name": "recall"}
        response = await site.post(message, accept=f"{JSON}, {STREAM}", **headers)
        assert (response.status_code, response.headers["content-type"]) == (200, JSON)
