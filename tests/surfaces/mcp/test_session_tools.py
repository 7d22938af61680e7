"""The tool of `session`, its resource and its budget."""

import pytest
from tests.surfaces.mcp.mcp_server import ERAS, call, open_server, refusal, text_of

from scrubjay.model.memory import Json
from scrubjay.settings import Settings
from scrubjay.surfaces.mcp.budget import cost_of
from scrubjay.surfaces.mcp.toolsets.session import RESOURCE

LONG = "The jay buried another acorn under the third oak on the left. " * 20


@pytest.mark.parametrize("era", ERAS)
async def test_one_call_gives_an_agent_its_start(settings: Settings, era: str) -> None:
    async with open_server(settings) as server, server.client(era, tools="core,session") as client:
        await call(client, "remember", text="Sarah prefers voice calls", kind="preference", pinned=True)
        await call(client, "remember", text="Answer in French", pinned=True)
        await call(client, "remember", text="Renew the passport", remind_at="2026-01-02")
        await call(client, "remember", text="We chose green", source={"session": "monday"})
        result = await client.call_tool("session_context", {"session": "tuesday"})
        text, structured = text_of(result), result.structured_content
        headings = [line for line in text.splitlines() if line.startswith("## ")]
        assert headings == ["## Profile", "## Pinned", "## Reminders due", "## Last session (monday)"]
        assert "due 2026-01-02: Renew the passport" in text
        assert [entry["name"] for entry in structured["profile"]] == ["sarah-prefers-voice"]
        assert (structured["last_session"], [entry["name"] for entry in structured["recent"]]) == (
            "monday",
            ["chose"],
        )
        assert (structured["reminders"][0]["why"], "left_out" in structured) == ("due 2026-01-02", False)
        read = await client.read_resource(RESOURCE)
        assert "Sarah prefers voice calls" in str(read.contents[0])
        listed = (await client.list_resources()).resources
        assert listed[0].uri == RESOURCE


async def test_a_new_memory_has_nothing_to_tell(settings: Settings) -> None:
    async with open_server(settings) as server, server.client("auto", tools="session") as client:
        result = await client.call_tool("session_context", {})
        assert (text_of(result), result.structured_content) == ("Nothing is remembered here yet.", {})


async def test_both_forms_keep_to_the_budget(settings: Settings) -> None:
    async with open_server(settings) as server, server.client("auto", tools="core,session") as client:
        for number in range(12):
            arguments: dict[str, Json] = {"pinned": bool(number % 2), "kind": "profile" if number % 4 == 1 else ""}
            await call(client, "remember", text=f"{number}. {LONG}", source={"session": "monday"}, **arguments)
        for max_tokens in (300, 800, 1500, 8000):
            result = await client.call_tool("session_context", {"max_tokens": max_tokens})
            assert cost_of(text_of(result), result.structured_content) <= max_tokens
            assert "## Profile" in text_of(result)
            assert "Left out:" in text_of(result) or max_tokens == 8000


async def test_a_budget_that_is_too_small_is_refused(settings: Settings) -> None:
    async with open_server(settings) as server, server.client("auto", tools="session") as client:
        assert "max_tokens must be at least 300" in await refusal(client, "session_context", max_tokens=0)
