"""Prompts, and completions of their arguments."""

import pytest
from mcp.client.client import Client
from mcp.shared.exceptions import MCPError
from mcp_types import PromptReference, ResourceTemplateReference, TextContent
from tests.surfaces.mcp.mcp_server import ERAS, call, open_server

from scrubjay.settings import Settings

pytestmark = pytest.mark.parametrize("era", ERAS)

_TEMPLATE = ResourceTemplateReference(type="ref/resource", uri="memory://{space}/{name}")
_ABOUT = PromptReference(type="ref/prompt", name="what_do_you_know_about")


async def _prompt(client: Client, name: str, **arguments: str) -> str:
    (message,) = (await client.get_prompt(name, arguments)).messages
    assert message.role == "user"
    assert isinstance(message.content, TextContent)
    return message.content.text


async def _values(client: Client, ref: PromptReference | ResourceTemplateReference, name: str, value: str) -> list[str]:
    return (await client.complete(ref, {"name": name, "value": value})).completion.values


async def test_the_prompts_are_listed_with_their_arguments(settings: Settings, era: str) -> None:
    async with open_server(settings) as server, server.client(era) as client:
        listed = (await client.list_prompts()).prompts
        arguments = {prompt.name: [(arg.name, arg.required) for arg in prompt.arguments or []] for prompt in listed}
        assert arguments == {
            "begin_session": [("project", False), ("task", False)],
            "write_with_care": [("text", True), ("project", False)],
            "what_do_you_know_about": [("topic", True)],
            "wrap_up_session": [("project", False), ("focus", False)],
        }
        assert all(prompt.title and prompt.description for prompt in listed)


async def test_the_prompts_contain_memories(settings: Settings, era: str) -> None:
    async with open_server(settings) as server, server.client(era, context=server.context(project="apollo")) as client:
        await call(client, "remember", text="Sarah prefers voice calls")
        care = await _prompt(client, "write_with_care", text="Sarah likes to be called")
        assert "Sarah prefers voice calls" in care
        for word in ("Search before you write", "revise that one", "One fact a memory", "session_hint"):
            assert word in care
        assert 'the project "apollo"' in care
        assert 'the project "gemini"' in await _prompt(client, "write_with_care", text="x", project="gemini")
        about = await _prompt(client, "what_do_you_know_about", topic="Sarah")
        assert "What do you know about Sarah?" in about
        assert "Sarah prefers voice calls" in about
        begin = await _prompt(client, "begin_session", task="call her")
        for word in (
            'on the project "apollo"',
            "Sarah prefers voice calls",
            "work on this: call her",
            "not instructions",
        ):
            assert word in " ".join(begin.split())
        wrap = await _prompt(client, "wrap_up_session", focus="open questions")
        assert "open questions" in wrap
        assert 'of the project "apollo"' in wrap


@pytest.mark.parametrize(
    ("name", "arguments", "expected"),
    [
        ("write_with_car", {}, "Did you mean write_with_care"),
        ("write_with_care", {}, "write_with_care needs the argument 'text'"),
        ("write_with_care", {"text": " "}, "write_with_care needs the argument 'text'"),
        ("what_do_you_know_about", {"topik": "x"}, "takes no argument 'topik'. Did you mean topic?"),
        ("what_do_you_know_about", {"topic": "x" * 30_000}, "topic has 30,000 characters"),
    ],
)
async def test_an_error_about_a_prompt_is_clear(
    settings: Settings, era: str, name: str, arguments: dict[str, str], expected: str
) -> None:
    async with open_server(settings) as server, server.client(era) as client:
        with pytest.raises(MCPError) as caught:
            await client.get_prompt(name, arguments)
        assert (caught.value.code, expected in caught.value.message) == (-32602, True)


async def test_names_tags_entities_and_projects_are_completed(settings: Settings, era: str) -> None:
    async with open_server(settings) as server, server.client(era) as client:
        await call(client, "remember", text="1", name="tea-house", entities=["Sarah"], tags=["sales"], project="apollo")
        await call(client, "remember", text="2", name="tea", tags=["sailing"])
        await server.context(space="other").memory.remember(
            "3", name="team", tags=["safe"], project="area51", entities=["Sam"]
        )
        assert await _values(client, _TEMPLATE, "name", "tea") == ["tea", "tea-house"]
        assert await _values(client, _TEMPLATE, "space", "de") == ["default"]
        assert await _values(client, _TEMPLATE, "space", "o") == []
        assert await _values(client, _ABOUT, "topic", "SA") == ["sarah", "sailing", "sales"]
        wrap = PromptReference(type="ref/prompt", name="wrap_up_session")
        assert await _values(client, wrap, "project", "a") == ["apollo"]
        assert await _values(client, wrap, "focus", "a") == []


async def test_completions_are_bounded(settings: Settings, era: str) -> None:
    async with open_server(settings) as server, server.client(era) as client:
        memory = server.context().memory
        for number in range(130):
            await memory.remember(str(number), name=f"n{number:03}")
        result = (await client.complete(_TEMPLATE, {"name": "name", "value": ""})).completion
        assert (len(result.values), result.has_more) == (100, True)
        assert await _values(client, _TEMPLATE, "name", "n" * 100_000) == []


@pytest.mark.parametrize(
    ("ref", "argument", "expected"),
    [
        (_TEMPLATE, "nam", "Did you mean name?"),
        (_ABOUT, "text", "There are topic"),
        (PromptReference(type="ref/prompt", name="what"), "topic", "there is no prompt 'what'"),
        (ResourceTemplateReference(type="ref/resource", uri="file:///{x}"), "x", "there is no template"),
    ],
)
async def test_an_unknown_argument_has_no_completions(
    settings: Settings, era: str, ref: PromptReference | ResourceTemplateReference, argument: str, expected: str
) -> None:
    async with open_server(settings) as server, server.client(era) as client:
        with pytest.raises(MCPError) as caught:
            await client.complete(ref, {"name": argument, "value": "x"})
        assert (caught.value.code, expected in caught.value.message) == (-32602, True)
