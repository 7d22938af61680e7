# pyright: basic, reportMissingImports=false, reportAttributeAccessIssue=false, reportArgumentType=false, reportCallIssue=false
"""The Python SDK before 2.0; run with its folder in front of all other packages, because it has the same name."""

import os
from typing import Any

from mcp import ClientSession, McpError, StdioServerParameters, types
from mcp.client.stdio import stdio_client
from mcp.client.streamable_http import streamablehttp_client
from pydantic import AnyUrl
from steps import CORE, Journey, must, run_journey, until


async def go(journey: Journey) -> None:
    """Connect and run one of the two journeys."""
    command, *arguments = journey.target
    messages: list[Any] = []

    async def receive(message: Any) -> None:
        messages.append(message)

    transport = (
        streamablehttp_client(command)
        if journey.transport == "http"
        else stdio_client(StdioServerParameters(command=command, args=arguments, env=dict(os.environ)))
    )
    async with transport as (read, write, *_), ClientSession(read, write, message_handler=receive) as session:
        greeting = await session.initialize()
        must((greeting.serverInfo.name, greeting.protocolVersion) == ("scrubjay", journey.era), greeting)
        await {"memory": _memory, "fixture": _fixture}[journey.part](session, journey, messages)


async def _memory(session: Any, journey: Journey, messages: list[Any]) -> None:
    text = f"An older Python client came by {journey.transport} and spoke {journey.era}."
    async with journey.step("tools/list"):
        must([tool.name for tool in (await session.list_tools()).tools] == CORE, "other tools")
    async with journey.step("remember"):
        name = (await _call(session, "remember", text=text))["name"]
    uri = AnyUrl(f"memory://default/{name}")
    async with journey.step("recall"):
        # What another journey wrote at the same time disputes it, and the newer statement comes first.
        results = await _call(session, "recall", query=text, limit=4)
        must(text in [hit["passage"] for hit in results["hits"]], results)
    async with journey.step("read"):
        read = await _call(session, "read", ids=[name])
        must(text in str(read), read)
    async with journey.step("refusals"):
        must((await session.call_tool("recall", {"limit": "many"})).isError, "taken for a number")
        await _must_refuse(session)
    async with journey.step("resources"):
        must(str(uri) in [str(resource.uri) for resource in (await session.list_resources()).resources], uri)
        must(text in (await session.read_resource(uri)).contents[0].text, uri)
    async with journey.step("prompts"):
        must(len((await session.list_prompts()).prompts) == 4, "other prompts")
        prompt = await session.get_prompt("what_do_you_know_about", {"topic": text})
        must(text in str(prompt.messages[0]), prompt)
    async with journey.step("completion"):
        ref = types.ResourceTemplateReference(type="ref/resource", uri="memory://{space}/{name}")
        results = await session.complete(ref, {"name": "name", "value": name[:-1]})
        must(name in results.completion.values, results)
    if journey.transport == "stdio":
        async with journey.step("notifications"):
            await _subscribe(session, uri, name, messages)
    async with journey.step("forget"):
        must((await _call(session, "forget", ids=[name]))["count"] == 1, name)
        hits = (await _call(session, "recall", query=text)).get("hits", [])
        must(name not in [hit["name"] for hit in hits], hits)


async def _subscribe(session: Any, uri: AnyUrl, name: str, messages: list[Any]) -> None:
    await session.subscribe_resource(uri)
    await _call(session, "revise", id=name, text="It changed its mind.")

    async def has_notification() -> bool:
        roots = [message.root for message in messages if isinstance(message, types.ServerNotification)]
        return any(isinstance(root, types.ResourceUpdatedNotification) and root.params.uri == uri for root in roots)

    await until(has_notification)
    await session.unsubscribe_resource(uri)


async def _fixture(session: Any, journey: Journey, _: list[Any]) -> None:
    async with journey.step("progress"):
        reports: list[tuple[float, float | None]] = []

        async def note(progress: float, total: float | None, _: str | None) -> None:
            reports.append((progress, total))

        await session.call_tool("test_tool_with_progress", {}, progress_callback=note)
        must(reports == [(10, 100), (50, 100), (100, 100)], reports)
    async with journey.step("unexpected error"):
        must((await session.call_tool("test_error_handling", {})).isError, "it worked")
        must((await _call(session, "test_simple_text"))["text"] == "a few words", "other words")


async def _call(session: Any, tool: str, /, **arguments: Any) -> dict[str, Any]:
    result = await session.call_tool(tool, arguments)
    must(not result.isError, result)
    return result.structuredContent


async def _must_refuse(session: Any) -> None:
    try:
        answer = await session.call_tool("recal", {})
    except McpError:
        return
    raise AssertionError(f"the call was not refused: {answer!r}")


run_journey(go)
