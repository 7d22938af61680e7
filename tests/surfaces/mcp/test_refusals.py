"""Wrong calls: a clear error that says what to change, and a server that keeps running."""

import asyncio
from collections.abc import Mapping

import pytest
from mcp.shared.exceptions import MCPError
from tests.patience import PATIENCE
from tests.surfaces.mcp.mcp_server import ERAS, call, open_server, refusal, text_of

from scrubjay.model.memory import Json
from scrubjay.settings import Settings
from scrubjay.surfaces.daemon.limiter import RequestLimiter
from scrubjay.surfaces.mcp.tool import Tool, ToolContext, ToolResult
from scrubjay.surfaces.mcp.toolsets import pick
from scrubjay.surfaces.mcp.toolsets.schema import input_schema, output_schema

pytestmark = pytest.mark.parametrize("era", ERAS)


async def test_an_unknown_tool_is_an_error_of_the_protocol_that_names_the_nearest(settings: Settings, era: str) -> None:
    async with open_server(settings) as server, server.client(era) as client:
        for wrong, near in (("remembr", "remember"), ("recal", "recall"), ("memory-store", "memory_store")):
            with pytest.raises(MCPError) as caught:
                await client.call_tool(wrong, {})
            assert (caught.value.code, near in caught.value.message) == (-32602, True)
            assert near in caught.value.data["nearest"]
        with pytest.raises(MCPError, match="There are remember"):
            await client.call_tool("…" * 5_000, {})
        assert (await call(client, "recall"))["hits"] == []


@pytest.mark.parametrize(
    ("tool", "arguments", "expected"),
    [
        ("remember", {}, "remember needs the argument 'text'. Give it as a text"),
        ("remember", {"text": 5}, "text must be a text, not a number (5)"),
        ("remember", {"text": None}, "remember needs the argument 'text'. Give it as a text, or several as `items`"),
        (
            "remember",
            {"text": "x", "items": [{"text": "y"}]},
            "text does not go with items. Give it in each of `items`",
        ),
        ("remember", {"items": [{"text": "y"}], "title": "z"}, "title does not go with items"),
        ("remember", {"items": {"text": "y"}}, "items must be a list, not an object"),
        ("remember", {"items": [{"text": "y"}, 5]}, "items[1] must be an object, not a number (5)"),
        ("remember", {"text": "x", "tag": ["a"]}, "remember takes no argument 'tag'. Did you mean tags"),
        ("remember", {"text": "x", "tags": "a"}, "tags must be a list, not a text ('a')"),
        ("remember", {"text": "x", "tags": ["a", 5]}, "tags[1] must be a text, not a number (5)"),
        ("remember", {"text": "x", "pinned": "yes"}, "pinned must be true or false, not a text ('yes')"),
        ("remember", {"text": "x", "intent": "old"}, "intent must be one of auto, new, continue, not 'old'"),
        ("remember", {"text": "x", "metadata": []}, "metadata must be an object, not a list"),
        ("remember", {"text": "x", "expires_at": "soon"}, "expires_at: 'soon' is not a date or time"),
        ("remember", {"text": "x", "source": {"trust": "blind"}}, "source.trust"),
        ("remember", {"text": ""}, "there is nothing to remember"),
        ("remember", {"text": "a\x00b"}, "NUL character"),
        ("recall", {"limit": "five"}, "limit must be a whole number, not a text ('five')"),
        ("recall", {"limit": True}, "limit must be a whole number, not true or false (True)"),
        ("recall", {"limit": 0}, "limit must be at least 1, not 0"),
        ("recall", {"limit": 10**9}, "limit must be at most"),
        ("recall", {"max_tokens": 5}, "max_tokens must be at least 300, not 5"),
        ("recall", {"filters": {"entty": "x"}}, "filters of recall takes no argument 'entty'. Did you mean entity"),
        ("recall", {"filters": {"tags": "x"}}, "filters.tags must be a list"),
        ("recall", {"filters": {"tier": "x"}}, "filters.tier must be one of working"),
        ("recall", {"filters": {"until": "x"}}, "filters.until: 'x' is not a date or time"),
        ("recall", {"since": "2026-01-01", "filters": {"until": "2025-01-01"}}, "since must be before until"),
        ("recall", {"around": -1}, "around must be at least 0, not -1"),
        ("recall", {"around": 11}, "around must be at most 10, not 11"),
        ("recall", {"explain": "yes"}, "explain must be true or false, not a text ('yes')"),
        ("recall", {"filters": {"contains": 5}}, "filters.contains must be a text, not a number (5)"),
        ("recall", {"filters": {"contains": "x" * 200_000}}, "contains has 200,000 bytes"),
        ("recall", {"filters": {"today": "someday"}}, "filters.today: 'someday' is not a date or time"),
        ("forget", {"filters": {"kind": "note", "contains": "x"}}, "filters of forget takes no argument 'contains'"),
        ("forget", {"filters": {"kind": "note", "today": "2026-01-01"}}, "filters of forget takes no argument 'today'"),
        ("recall", {"cursor": "nonsense"}, "the cursor does not belong"),
        ("recall", {"query": "x" * 200_000}, "query has 200,000 bytes"),
        ("read", {"ids": []}, "say what to read"),
        ("read", {"ids": ["x"], "version": "one"}, "version must be a whole number"),
        ("revise", {"id": "x", "txt": "y"}, "revise takes no argument 'txt'. Did you mean text"),
        ("history", {"id": "x", "diff": [1]}, "a diff needs two version numbers"),
        ("history", {"id": "x", "diff": ["a"]}, "a diff needs two version numbers"),
        ("relate", {"source": "x"}, "relate needs the argument 'target'"),
        ("relate", {"source": "x", "target": "y", "strength": "strong"}, "strength must be a number"),
        ("memory_store", {"text": "x", "metadata": "y"}, "metadata must be an object, not a text ('y')"),
    ],
)
async def test_an_error_about_an_argument_is_clear(
    settings: Settings, era: str, tool: str, arguments: dict[str, Json], expected: str
) -> None:
    async with open_server(settings) as server, server.client(era) as client:
        assert expected in await refusal(client, tool, **arguments)
        assert (await server.context().memory.status()).memories == {}


async def test_a_long_wrong_value_is_not_repeated_back(settings: Settings, era: str) -> None:
    async with open_server(settings) as server, server.client(era) as client:
        for arguments in ({"limit": "x" * 50_000}, {"y" * 50_000: 1}, {"query": "z", "cursor": "c" * 50_000}):
            assert len(await refusal(client, "recall", **arguments)) < 500


async def test_null_is_as_good_as_not_given(settings: Settings, era: str) -> None:
    async with open_server(settings) as server, server.client(era) as client:
        assert (await call(client, "remember", text="tea", title=None, tags=None))["action"] == "created"
        assert len((await call(client, "recall", query="tea", filters=None, limit=None))["hits"]) == 1


async def test_too_much_at_once_is_said_to_be_too_much(settings: Settings, era: str) -> None:
    release = asyncio.Event()

    async def wait(_: ToolContext, __: Mapping[str, Json]) -> ToolResult:
        await release.wait()
        return ToolResult(structured={})

    slow = Tool(name="slow", title="S", description="S", input=input_schema(), output=output_schema(), call=wait)
    async with open_server(settings) as server:
        server.limiter = RequestLimiter(max_requests=1, seconds=PATIENCE)
        async with server.client(era, tools=(*pick("core"), slow)) as client:
            first = asyncio.create_task(client.call_tool("slow", {}))
            await server.wait_for_calls(1)
            refused = await client.call_tool("recall", {})
            assert "Retry after" in text_of(refused)
            assert refused.meta is not None
            assert refused.meta["scrubjay/error"]["code"] == "busy"
            assert refused.meta["scrubjay/error"]["retry_after"] > 0
            with pytest.raises(MCPError, match="Retry after") as caught:
                await client.list_resources()
            assert (caught.value.code, caught.value.data["code"]) == (-31022, "busy")
            release.set()
            assert not (await first).is_error
            assert (await call(client, "recall"))["hits"] == []


async def test_a_tool_that_fails_says_so_and_the_server_goes_on(
    settings: Settings, era: str, caplog: pytest.LogCaptureFixture
) -> None:
    async def fail(_: ToolContext, __: Mapping[str, Json]) -> ToolResult:
        raise ZeroDivisionError("a secret detail")

    broken = Tool(name="broken", title="B", description="B", input=input_schema(), output=output_schema(), call=fail)
    async with open_server(settings) as server, server.client(era, tools=(*pick("core"), broken)) as client:
        message = await refusal(client, "broken")
        assert message == "broken failed: ZeroDivisionError. The daemon's log has the details"
        assert "a secret detail" in caplog.text
        assert (await call(client, "recall"))["hits"] == []


async def test_a_tool_may_call_its_own_answer_an_error(settings: Settings, era: str) -> None:
    async def refuse(_: ToolContext, __: Mapping[str, Json]) -> ToolResult:
        return ToolResult(structured={"success": False}, is_error=True)

    tool = Tool(name="no", title="N", description="N", input=input_schema(), output=output_schema(), call=refuse)
    async with open_server(settings) as server, server.client(era, tools=(tool,)) as client:
        assert await refusal(client, "no") == '{"success":false}'


async def test_a_program_can_tell_errors_apart(settings: Settings, era: str) -> None:
    async with open_server(settings) as server, server.client(era) as client:
        for tool, arguments, about in (
            ("recall", {"limit": 0}, {"code": "invalid_input", "field": "limit"}),
            ("revise", {"id": "nobody", "text": "x"}, {"code": "not_found"}),
        ):
            refused = await client.call_tool(tool, arguments)
            assert (refused.is_error, (refused.meta or {}).get("scrubjay/error")) == (True, about)
        for uri, number, code in (
            ("memory://default/nobody", -31001, "not_found"),
            ("memory://other/tea", -31025, "not_allowed"),
            ("nonsense", -32602, "invalid_input"),
        ):
            with pytest.raises(MCPError) as caught:
                await client.read_resource(uri)
            assert (caught.value.code, caught.value.data["code"]) == (number, code)
            assert caught.value.data["message"] in caught.value.message
