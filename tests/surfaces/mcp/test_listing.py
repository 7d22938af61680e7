"""The listing of tools: few tokens, pages, annotations, instructions."""

import json

import pytest
from jsonschema import Draft202012Validator
from mcp.shared.exceptions import MCPError
from tests.surfaces.mcp.mcp_server import ERAS, HELLO, READY, open_server, request
from tests.surfaces.mcp.token_count import count_tokens

from scrubjay.model.memory import Json
from scrubjay.settings import Settings
from scrubjay.surfaces.mcp.tool import Tool, ToolContext, ToolResult
from scrubjay.surfaces.mcp.toolsets import TOOLSETS
from scrubjay.surfaces.mcp.toolsets.schema import input_schema, output_schema

_ENVELOPE: dict[str, Json] = {
    "io.modelcontextprotocol/protocolVersion": "2026-07-28",
    "io.modelcontextprotocol/clientCapabilities": {},
}


async def test_listing_core_costs_little(settings: Settings) -> None:
    async with open_server(settings) as server:
        async with server.raw(tools="core") as raw:
            await raw.ask(HELLO)
            listing = (await raw.ask(READY, request("tools/list")))["result"]
        async with server.raw(tools="core") as raw:
            newer = (await raw.ask(request("tools/list", _meta=_ENVELOPE)))["result"]
    for listed in (listing, newer):
        assert {tool["name"] for tool in listed["tools"]} == {tool.name for tool in TOOLSETS["core"]}
        assert all(tool["outputSchema"] and tool["annotations"] for tool in listed["tools"])
        assert count_tokens(json.dumps(listed, separators=(",", ":"), ensure_ascii=False)) <= 1_500


@pytest.mark.parametrize("era", ERAS)
async def test_every_tool_declares_its_input_output_and_effects(settings: Settings, era: str) -> None:
    async with open_server(settings) as server, server.client(era) as client:
        page = await client.list_tools()
        listed = {tool.name: tool for tool in page.tools}
        while page.next_cursor:
            page = await client.list_tools(cursor=page.next_cursor)
            listed |= {tool.name: tool for tool in page.tools}
    for tool in {tool.name: tool for tools in TOOLSETS.values() for tool in tools}.values():
        description = listed[tool.name]
        assert description.annotations is not None
        assert description.annotations.open_world_hint is False
        assert bool(description.annotations.read_only_hint) is tool.read_only
        assert description.annotations.destructive_hint is (None if tool.read_only else tool.destructive)
        assert bool(description.annotations.idempotent_hint) is (tool.idempotent and not tool.read_only)
        assert description.description
        assert description.title
        assert description.input_schema["additionalProperties"] is False
        for schema in (description.input_schema, description.output_schema):
            assert schema is not None
            assert schema["type"] == "object"
            Draft202012Validator.check_schema(schema)


@pytest.mark.parametrize("era", ERAS)
async def test_a_long_list_of_tools_comes_in_pages(settings: Settings, era: str) -> None:
    async def nothing(_: ToolContext, __: object) -> ToolResult:
        return ToolResult(structured={})

    many = tuple(
        Tool(
            name=f"tool_{number}",
            title="T",
            description="D",
            input=input_schema(),
            output=output_schema(),
            call=nothing,
        )
        for number in range(120)
    )
    async with open_server(settings) as server, server.client(era, tools=many) as client:
        names: list[str] = []
        cursor, pages = None, 0
        while pages == 0 or cursor:
            page = await client.list_tools(cursor=cursor)
            names += [tool.name for tool in page.tools]
            cursor, pages = page.next_cursor, pages + 1
        assert (names, pages) == ([tool.name for tool in many], 3)
        for wrong in ("nonsense", "WzUwLDFd", "WzUwMDBd", "é"):
            with pytest.raises(MCPError) as caught:
                await client.list_tools(cursor=wrong)
            assert (caught.value.code, "without a cursor" in caught.value.message) == (-32602, True)


@pytest.mark.parametrize("era", ERAS)
async def test_the_server_introduces_itself(settings: Settings, era: str) -> None:
    async with open_server(settings) as server, server.client(era) as client:
        assert client.protocol_version == {"legacy": "2025-11-25", "auto": "2026-07-28"}[era]
        assert client.server_info is not None
        assert client.server_info.name == "scrubjay"
        capabilities = client.server_capabilities
        assert capabilities.resources is not None
        assert (capabilities.resources.subscribe, capabilities.resources.list_changed) == (True, True)
        assert capabilities.completions is not None
        assert capabilities.prompts is not None
        assert client.instructions is not None
        first = client.instructions.split("\n\n")[0]
        assert len(first) <= 500
        assert client.instructions.startswith(first)
        for word in ("memory", "Search it before", "one fact a memory", "revise"):
            assert word in first
        assert "session_hint" in client.instructions
