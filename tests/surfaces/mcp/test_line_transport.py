"""Lines that no SDK would write: a clear error for each, and the connection stays open."""

import asyncio
import json
from collections.abc import Mapping

import pytest
from tests.patience import PATIENCE
from tests.surfaces.mcp.mcp_server import HELLO, READY, RawClient, open_server, request

from scrubjay.model.memory import Json
from scrubjay.settings import Settings
from scrubjay.surfaces.mcp.tool import Tool, ToolContext, ToolResult
from scrubjay.surfaces.mcp.toolsets.schema import input_schema, output_schema

_LIST = request("tools/list", 99)
_ENVELOPE: dict[str, Json] = {
    "io.modelcontextprotocol/protocolVersion": "2026-07-28",
    "io.modelcontextprotocol/clientCapabilities": {},
}


async def _greet(raw: RawClient) -> None:
    assert (await raw.ask(HELLO))["id"] == 0
    await raw.send(READY)


@pytest.mark.parametrize(
    ("line", "code", "number", "expected"),
    [
        (b"nonsense\n", -32700, None, "not JSON"),
        (b'{"jsonrpc": "2.0", "id": 1, "method"\n', -32700, None, "not JSON"),
        (b"\xff\xfe\n", -32700, None, "not JSON"),
        (b'{"jsonrpc": "2.0", "id": 1, "method": "ping", "params": {"x": NaN}}\n', -32700, 1, "JSON has no number NaN"),
        (b'{"jsonrpc": "2.0", "params": {"x": -Infinity}, "id": "a"}\n', -32700, "a", "JSON has no number -Infinity"),
        (b'[NaN, {"id": 1}]\n', -32700, None, "JSON has no number NaN"),
        (b'{"id": 1, "x": Infinity\n', -32700, None, "JSON has no number Infinity"),
        (b"[" * 100_000 + b"\n", -32700, None, "not JSON"),
        (b"9" * 10_000 + b"\n", -32700, None, "not JSON"),
        (b'[{"jsonrpc": "2.0", "id": 1, "method": "ping"}]\n', -32600, None, "batches are not part of the protocol"),
        (b"[]\n", -32600, None, "batches are not part of the protocol"),
        (b'"ping"\n', -32600, None, "must be an object, not str"),
        (b"null\n", -32600, None, "must be an object"),
        (b"{}\n", -32600, None, 'needs "jsonrpc": "2.0"'),
        (b'{"id": 5, "method": "ping"}\n', -32600, 5, 'needs "jsonrpc": "2.0"'),
        (b'{"jsonrpc": "1.0", "id": "a", "method": "ping"}\n', -32600, "a", 'needs "jsonrpc": "2.0"'),
        (b'{"jsonrpc": "2.0", "id": 5}\n', -32600, 5, "a request has a method"),
        (b'{"jsonrpc": "2.0", "id": 5, "method": 7}\n', -32600, 5, "method must be a text"),
        (b'{"jsonrpc": "2.0", "id": null, "method": "ping"}\n', -32600, None, "id of a request"),
        (b'{"jsonrpc": "2.0", "id": 1.5, "method": "ping"}\n', -32600, None, "id of a request"),
        (b'{"jsonrpc": "2.0", "id": true, "method": "ping"}\n', -32600, None, "id of a request"),
        (b'{"jsonrpc": "2.0", "id": 5, "method": "ping", "params": [1]}\n', -32602, 5, "params must be an object"),
        (b'{"jsonrpc": "2.0", "id": 5, "method": "no/such"}\n', -32601, 5, "Method not found"),
    ],
)
async def test_a_line_that_is_no_message_is_answered_and_the_next_is_served(
    settings: Settings, line: bytes, code: int, number: Json, expected: str
) -> None:
    async with open_server(settings) as server, server.raw() as raw:
        await _greet(raw)
        answer = await raw.ask(line)
        assert (answer["error"]["code"], answer["id"]) == (code, number)
        assert expected in answer["error"]["message"]
        assert len((await raw.ask(_LIST))["result"]["tools"]) > 7


@pytest.mark.parametrize(
    ("method", "params", "field", "expected"),
    [
        ("tools/call", None, "name", "tools/call needs params.name: give it as a text"),
        ("tools/call", {}, "name", "tools/call needs params.name: give it as a text"),
        ("tools/call", {"name": 5}, "name", "params.name of tools/call must be a text, not a number"),
        (
            "tools/call",
            {"name": "recall", "arguments": "x"},
            "arguments",
            "params.arguments of tools/call must be an object, not a text",
        ),
        ("tools/call", {"name": "recall", "arguments": [1]}, "arguments", "must be an object, not a list"),
        ("tools/call", {"name": "recall", "_meta": "x"}, "_meta", "params._meta of tools/call must be an object"),
        ("tools/list", {"_meta": True}, "_meta", "must be an object, not true or false"),
        ("tools/list", {"cursor": 1.5}, "cursor", "params.cursor of tools/list must be a text, not a number"),
        ("resources/read", {}, "uri", "resources/read needs params.uri"),
        ("resources/subscribe", {"uri": None}, "uri", "resources/subscribe needs params.uri"),
        ("prompts/get", {"name": "x", "arguments": {"a": 1}}, "arguments.a", "must be a text, not a number"),
        ("completion/complete", {"ref": {"type": "ref/prompt"}}, "argument", "needs params.argument: give it as an"),
        (
            "completion/complete",
            {"ref": {"type": "ref/prompt", "name": "x"}, "argument": {"name": "y"}},
            "argument.value",
            "needs params.argument.value: give it as a text",
        ),
    ],
)
async def test_an_error_about_the_params_is_clear(
    settings: Settings, method: str, params: Json, field: str, expected: str
) -> None:
    async with open_server(settings) as server, server.raw() as raw:
        await _greet(raw)
        line: dict[str, Json] = {"jsonrpc": "2.0", "id": 5, "method": method}
        answer = await raw.ask(line if params is None else line | {"params": params})
        assert (answer["id"], answer["error"]["code"]) == (5, -32602)
        assert expected in answer["error"]["message"]
        assert answer["error"]["data"] == {"code": "invalid_input", "field": f"params.{field}"}
        unasked: dict[str, Json] = {"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"_meta": "x"}}
        assert (await raw.ask(unasked, _LIST))["id"] == 99


async def test_the_first_line_may_be_nonsense(settings: Settings) -> None:
    async with open_server(settings) as server, server.raw() as raw:
        assert (await raw.ask(b"nonsense\n"))["error"]["code"] == -32700
        assert (await raw.ask(request("tools/list", 5)))["error"]["code"] == -32602
        await _greet(raw)
        assert (await raw.ask(_LIST))["id"] == 99


async def test_empty_lines_and_other_line_ends_do_no_harm(settings: Settings) -> None:
    async with open_server(settings) as server, server.raw() as raw:
        await _greet(raw)
        assert (await raw.ask(b"\n  \n\r\n", json.dumps(_LIST).encode() + b"\r\n"))["id"] == 99


async def test_a_line_that_is_too_long_is_skipped(settings: Settings) -> None:
    async with open_server(settings) as server, server.raw() as raw:
        await _greet(raw)
        long = json.dumps(request("tools/call", 5, name="remember", arguments={"text": "x" * 3_000_000})).encode()
        answer = await raw.ask(long + b"\n")
        assert (answer["error"]["code"], "the limit is 1,000,000" in answer["error"]["message"]) == (-32600, True)
        assert (await raw.ask(_LIST))["id"] == 99


async def test_half_a_line_at_the_end_is_no_line(settings: Settings) -> None:
    async with open_server(settings) as server, server.raw() as raw:
        await _greet(raw)
        await raw.send(_LIST, b'{"jsonrpc": "2.0", "id": 5, "method": "tools/list"}')
        assert [answer["id"] for answer in await raw.rest()] == [99]


async def test_answers_that_are_owed_are_sent_after_the_client_has_stopped_sending(settings: Settings) -> None:
    release = asyncio.Event()

    async def wait(_: ToolContext, __: Mapping[str, Json]) -> ToolResult:
        await release.wait()
        return ToolResult(structured={"waited": True})

    slow = Tool(name="slow", title="S", description="S", input=input_schema(), output=output_schema(), call=wait)
    async with open_server(settings) as server, server.raw(tools=(slow,)) as raw:
        await _greet(raw)
        await raw.send(*(request("tools/call", number, name="slow", arguments={}) for number in (1, 2, 3)))
        await raw.send({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": 2}})
        reading = asyncio.create_task(raw.rest())
        await server.wait_for_calls(3)
        release.set()
        assert {answer["id"] for answer in await asyncio.wait_for(reading, PATIENCE)} == {1, 3}


async def test_a_client_that_hangs_up_before_it_says_anything(settings: Settings) -> None:
    async with open_server(settings) as server, server.raw() as raw:
        assert await raw.rest() == []


@pytest.mark.parametrize("how", ["abort", "close"])
async def test_a_client_that_is_gone_with_answers_unread(settings: Settings, how: str) -> None:
    async with open_server(settings) as server, server.raw() as raw:
        await _greet(raw)
        for number in range(50):
            await raw.send(request("tools/list", number))
        if how == "abort":
            raw.writer.transport.abort()
        else:
            raw.writer.close()
        await asyncio.wait_for(raw.served, PATIENCE)


async def test_both_revisions_may_not_be_mixed_on_one_connection(settings: Settings) -> None:
    async with open_server(settings) as server:
        async with server.raw() as raw:
            await _greet(raw)
            assert (await raw.ask(request("tools/list", 1, _meta=_ENVELOPE)))["error"]["code"] == -32600
        async with server.raw() as raw:
            assert "result" in await raw.ask(request("tools/list", 1, _meta=_ENVELOPE))
            assert (await raw.ask(HELLO))["error"]["code"] == -32022


async def test_outcomes_of_runs_are_returned_before_and_besides_mcp(settings: Settings) -> None:
    async with open_server(settings) as server, server.raw() as raw:
        outcome_request = request("scrubjay/outcome", 7, runs=["r-1", "r-2"])
        assert (await raw.ask(outcome_request))["result"] == {"committed": {"r-1": False, "r-2": False}}
        await _greet(raw)
        meta: Json = {"scrubjay/run": "r-1"}
        await raw.ask(request("tools/call", 1, name="remember", arguments={"text": "tea"}, _meta=meta))
        answers = {answer.get("id"): answer for answer in [await raw.ask(outcome_request)]}
        while 7 not in answers:
            answer = await raw.line()
            answers[answer.get("id")] = answer
        assert answers[7]["result"] == {"committed": {"r-1": True, "r-2": False}}
        bad: list[dict[str, Json]] = [{}, {"runs": "r-1"}, {"runs": [1]}, {"runs": [*("x" * 2_000)]}]
        for wrong in bad:
            await raw.send({"jsonrpc": "2.0", "id": 8, "method": "scrubjay/outcome", "params": wrong})
            while (answer := await raw.line()).get("id") != 8:
                pass
            assert (answer["error"]["code"], "runs must be a list" in answer["error"]["message"]) == (-32602, True)


async def test_lone_surrogates_and_odd_characters_come_back_in_one_piece(settings: Settings) -> None:
    async with open_server(settings) as server, server.raw() as raw:
        await _greet(raw)
        for text in ("\ud800", "a\udfffb"):
            line = json.dumps(request("tools/call", 1, name="remember", arguments={"text": text})).encode() + b"\n"
            answer = await raw.ask(line)
            assert answer["result"]["isError"]
            assert "lone surrogate" in answer["result"]["content"][0]["text"]
            odd = json.dumps(request("tools/call", 2, name="recall", arguments={text: 1})).encode() + b"\n"
            assert (await raw.ask(odd))["result"]["isError"]
            name = json.dumps(request("tools/call", 3, name=text, arguments={})).encode() + b"\n"
            assert (await raw.ask(name))["error"]["code"] == -32602
            uri = json.dumps(request("resources/read", 4, uri=f"memory://default/{text}")).encode() + b"\n"
            assert (await raw.ask(uri))["error"]["code"] == -32602
            ref: Json = {"type": "ref/resource", "uri": "memory://{space}/{name}"}
            part: Json = {"name": "name", "value": text}
            typed = json.dumps(request("completion/complete", 5, ref=ref, argument=part)).encode() + b"\n"
            assert (await raw.ask(typed))["error"]["code"] == -32602
        expected = "line\u2028separator\u2029 and \u0085 and \r\n and \U0001f426"
        await raw.send(request("tools/call", 6, name="remember", arguments={"text": expected}))
        while (answer := await raw.line()).get("id") != 6:
            pass
        await raw.send(
            request(
                "tools/call",
                7,
                name="read",
                arguments={"ids": [answer["result"]["structuredContent"]["id"]], "format": "plain"},
            )
        )
        while (answer := await raw.line()).get("id") != 7:
            pass
        assert answer["result"]["structuredContent"]["memories"][0]["text"] == expected
