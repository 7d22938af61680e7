"""The Python SDK since 2.0, which speaks both revisions."""

import asyncio
import os
from collections.abc import Callable
from typing import Any, cast

from mcp.client.client import Client
from mcp.client.session import IncomingMessage
from mcp.client.stdio import StdioServerParameters, stdio_client
from mcp.client.subscriptions import ResourcesListChanged, ResourceUpdated
from mcp.shared.exceptions import MCPError
from mcp_types import ResourceTemplateReference, ResourceUpdatedNotification
from steps import CORE, NEWER, Journey, must, run_journey, until


async def go(journey: Journey) -> None:
    """Connect and run one of the two journeys."""
    command, *arguments = journey.target
    server: Any = (
        command
        if journey.transport == "http"
        else stdio_client(StdioServerParameters(command=command, args=arguments, env=dict(os.environ)))
    )
    messages: list[IncomingMessage] = []

    async def receive(message: IncomingMessage) -> None:
        messages.append(message)

    mode = "auto" if journey.era == NEWER else "legacy"
    async with Client(server, mode=mode, message_handler=receive) as client:
        must(client.protocol_version == journey.era, client.protocol_version)
        await {"memory": _memory, "fixture": _fixture}[journey.part](client, journey, messages)


async def _memory(client: Client, journey: Journey, messages: list[IncomingMessage]) -> None:
    text = f"A current Python client came by {journey.transport} and spoke {journey.era}."
    async with journey.step("introduction"):
        must(client.server_info is not None and client.server_info.name == "scrubjay", client.server_info)
    async with journey.step("tools/list"):
        must([tool.name for tool in (await client.list_tools()).tools] == CORE, "other tools")
    async with journey.step("remember"):
        name = (await _call(client, "remember", text=text))["name"]
    uri = f"memory://default/{name}"
    async with journey.step("recall"):
        # What another journey wrote at the same time disputes it, and the newer statement comes first.
        results = await _call(client, "recall", query=text, limit=4)
        must(text in [hit["passage"] for hit in results["hits"]], results)
    async with journey.step("read"):
        read = await _call(client, "read", ids=[name])
        must(text in str(read), read)
    async with journey.step("refusals"):
        must((await client.call_tool("recall", {"limit": "many"})).is_error, "taken for a number")
        await _must_refuse(lambda: client.call_tool("recal", {}))
    async with journey.step("resources"):
        must(uri in [resource.uri for resource in (await client.list_resources()).resources], uri)
        must(text in str((await client.read_resource(uri)).contents[0]), uri)
        await _must_refuse(lambda: client.read_resource("memory://default/missing"))
    async with journey.step("prompts"):
        must(len((await client.list_prompts()).prompts) == 4, "other prompts")
        prompt = await client.get_prompt("what_do_you_know_about", {"topic": text})
        must(text in str(prompt.messages[0]), prompt)
    async with journey.step("completion"):
        ref = ResourceTemplateReference(type="ref/resource", uri="memory://{space}/{name}")
        values = (await client.complete(ref, {"name": "name", "value": name[:-1]})).completion.values
        must(name in values, values)
    if journey.era == NEWER:
        async with journey.step("stream of changes"):
            await _listen(client, uri, name)
    elif journey.transport == "stdio":
        async with journey.step("notifications"):
            await _subscribe(client, uri, name, messages)
    async with journey.step("forget"):
        must((await _call(client, "forget", ids=[name]))["count"] == 1, name)
        hits = (await _call(client, "recall", query=text)).get("hits", [])
        must(name not in [hit["name"] for hit in hits], hits)


async def _listen(client: Client, uri: str, name: str) -> None:
    async with client.listen(resources_list_changed=True, resource_subscriptions=[uri]) as changes:
        stream = aiter(changes)
        await _call(client, "revise", id=name, text="It changed its mind.")
        while await anext(stream) != ResourceUpdated(uri=uri):
            pass
        await _call(client, "remember", text=f"{name} has company now.", intent="new")
        while await anext(stream) != ResourcesListChanged():
            pass


async def _subscribe(client: Client, uri: str, name: str, messages: list[IncomingMessage]) -> None:
    # Deprecated with the revision that it belongs to.
    await client.subscribe_resource(uri)  # pyright: ignore[reportDeprecated]
    await _call(client, "revise", id=name, text="It changed its mind.")

    async def has_notification() -> bool:
        return any(isinstance(note, ResourceUpdatedNotification) and str(note.params.uri) == uri for note in messages)

    await until(has_notification)
    await client.unsubscribe_resource(uri)  # pyright: ignore[reportDeprecated]


async def _fixture(client: Client, journey: Journey, _: list[IncomingMessage]) -> None:
    async with journey.step("progress"):
        reports: list[tuple[float, float | None]] = []

        async def note(progress: float, total: float | None, message: str | None) -> None:
            must(message is None, message)
            reports.append((progress, total))

        await client.call_tool("test_tool_with_progress", {}, progress_callback=note)
        must(reports == [(10, 100), (50, 100), (100, 100)], reports)
    if journey.era == NEWER or journey.transport == "stdio":
        async with journey.step("cancellation"):
            await _give_up(client, f"python-{journey.era}")
    async with journey.step("unexpected error"):
        must((await client.call_tool("test_error_handling", {})).is_error, "it worked")
        must((await _call(client, "test_simple_text"))["text"] == "a few words", "other words")


async def _give_up(client: Client, who: str) -> None:
    async def is_in(state: str) -> bool:
        return (await _call(client, "state_of_wait", who=who))["state"] == state

    waiting = asyncio.create_task(client.call_tool("wait", {"who": who}))
    await until(lambda: is_in("waiting"))
    waiting.cancel()
    await asyncio.wait([waiting])
    await until(lambda: is_in("given up"))


async def _call(client: Client, tool: str, /, **arguments: object) -> dict[str, Any]:
    result = await client.call_tool(tool, arguments)
    must(not result.is_error, result)
    return cast("dict[str, Any]", result.structured_content)


async def _must_refuse(ask: Callable[[], Any]) -> None:
    try:
        answer = await ask()
    except MCPError:
        return
    raise AssertionError(f"the call was not refused: {answer!r}")


run_journey(go)
