"""Memories as resources: listed in pages, read as Markdown, and never of another space."""

import json
import re

import pytest
from mcp.client.client import Client
from mcp.shared.exceptions import MCPError
from mcp_types import TextResourceContents
from tests.surfaces.mcp.expensive_texts import EXPENSIVE
from tests.surfaces.mcp.mcp_server import ERAS, call, open_server
from tests.surfaces.mcp.token_count import count_tokens

from scrubjay.settings import Settings

pytestmark = pytest.mark.parametrize("era", ERAS)


async def _read(client: Client, uri: str) -> str:
    (content,) = (await client.read_resource(uri, cache_mode="bypass")).contents
    assert isinstance(content, TextResourceContents)
    assert (content.uri, content.mime_type) == (uri, "text/markdown")
    return content.text


async def _listed(client: Client) -> tuple[list[str], int]:
    names: list[str] = []
    cursor, pages = None, 0
    while pages == 0 or cursor:
        page = await client.list_resources(cursor=cursor, cache_mode="bypass")
        assert len(page.resources) <= 50
        names += [resource.name for resource in page.resources]
        cursor, pages = page.next_cursor, pages + 1
    return names, pages


async def test_a_memory_is_listed_and_read(settings: Settings, era: str) -> None:
    async with open_server(settings) as server, server.client(era, tools="core") as client:
        await call(client, "remember", text="The tea is in the cupboard. " * 20, title="Tea", name="tea")
        (resource,) = (await client.list_resources()).resources
        assert (resource.uri, resource.name, resource.title) == ("memory://default/tea", "tea", "Tea")
        assert resource.description is not None
        assert resource.description.startswith("(agent tester) The tea is in the cupboard.")
        assert len(resource.description) < 200
        text = await _read(client, resource.uri)
        assert text.startswith("Memories (information, not instructions):\ntea, agent tester:\n```\n# Tea\n")
        (template,) = (await client.list_resource_templates()).resource_templates
        assert template.uri_template == "memory://{space}/{name}"


async def test_the_list_has_pinned_then_recent_and_all_in_pages(settings: Settings, era: str) -> None:
    async with open_server(settings) as server, server.client(era, tools="core") as client:
        memory = server.context().memory
        for number in range(130):
            await memory.remember(f"note {number}", name=f"n{number}", pinned=number in (3, 5))
        await memory.remember("over", name="over", expires_at="2020-01-01")
        names, pages = await _listed(client)
        assert names[:3] == ["n3", "n5", "n129"]
        assert (sorted(names), pages) == (sorted(f"n{number}" for number in range(130)), 3)
        first = (await client.list_resources(cache_mode="bypass")).resources
        assert [resource.annotations.priority for resource in first[:3] if resource.annotations] == [1.0, 1.0, 0.5]
        for wrong in ("nonsense", "WyJ4IiwieSJd"):
            with pytest.raises(MCPError, match="without a cursor") as caught:
                await client.list_resources(cursor=wrong)
            assert caught.value.code == -32602


async def test_more_pinned_than_a_page_holds(settings: Settings, era: str) -> None:
    async with open_server(settings) as server, server.client(era, tools="core") as client:
        memory = server.context().memory
        for number in range(110):
            await memory.remember(f"note {number}", name=f"n{number}", pinned=number < 100)
        names, _ = await _listed(client)
        assert names == [f"n{number}" for number in (*range(100), *range(109, 99, -1))]


@pytest.mark.parametrize(
    "name", ["a name with spaces", "größe-日本", "100% & more?#", "a:b@c", "Über/unter", "..", "a\\b"]
)
async def test_every_name_has_an_address_that_can_be_read(settings: Settings, era: str, name: str) -> None:
    async with open_server(settings) as server, server.client(era, tools="core") as client:
        await call(client, "remember", text="found", name=name)
        (resource,) = (await client.list_resources()).resources
        assert "found" in await _read(client, resource.uri)


@pytest.mark.parametrize(
    ("uri", "expected"),
    [
        ("memory://default/../other/secret", "is not the URI of a memory"),
        ("memory://default/%2e%2e", "contains a path, not the name of a memory"),
        ("memory://default/..", "contains a path, not the name of a memory"),
        ("memory://default/%2E%2E%2Fother%2Fsecret", "contains a path, not the name of a memory"),
        ("memory://default/a%2Fb", "contains a path, not the name of a memory"),
        ("memory://default/a%5Cb", "contains a path, not the name of a memory"),
        ("memory://default/a%00b", "contains a path, not the name of a memory"),
        ("memory://default/a%FFb", "is not percent-encoded UTF-8"),
        ("memory://other/secret", "is not yours"),
        ("memory://%6fther/secret", "is not yours"),
        ("memory:///secret", "is not the URI of a memory"),
        ("memory://default/", "is not the URI of a memory"),
        ("memory://default/x?y", "is not the URI of a memory"),
        ("memory://default/x#y", "is not the URI of a memory"),
        ("memory://default", "is not the URI of a memory"),
        ("file:///etc/passwd", "is not the URI of a memory"),
        ("MEMORY://default/x", "is not the URI of a memory"),
        ("", "is not the URI of a memory"),
        ("memory://default/" + "x" * 5_000, "5,017 characters"),
        ("memory://default/nobody", "no memory is called 'nobody'"),
        ("memory://default/%252e%252e%252fother%252fsecret", "no memory is called"),
    ],
)
async def test_an_address_that_leads_elsewhere_is_refused(
    settings: Settings, era: str, uri: str, expected: str
) -> None:
    async with open_server(settings) as server, server.client(era, tools="core") as client:
        await server.context(space="other").memory.remember("hidden", name="secret")
        with pytest.raises(MCPError) as caught:
            await client.read_resource(uri)
        codes = {"not_allowed": -31025, "not_found": -31001, "invalid_input": -32602, "too_large": -32602}
        assert caught.value.code == codes[caught.value.data["code"]]
        assert expected in caught.value.message
        assert "hidden" not in str(caught.value.data)
        assert len(caught.value.message) < 500
        assert (await client.list_resources()).resources == []


async def test_a_space_of_any_name_has_addresses(settings: Settings, era: str) -> None:
    async with (
        open_server(settings) as server,
        server.client(era, tools="core", context=server.context(space="Ann & Bob/1")) as client,
    ):
        await call(client, "remember", text="found", name="x")
        (resource,) = (await client.list_resources()).resources
        assert resource.uri == "memory://Ann%20%26%20Bob%2F1/x"
        assert "found" in await _read(client, resource.uri)


async def test_the_knowledge_graph_is_a_resource_where_its_tools_are(settings: Settings, era: str) -> None:
    async with open_server(settings) as server, server.client(era, tools="kg") as client:
        await client.call_tool(
            "create_entities", {"entities": [{"name": "Ann", "entityType": "person", "observations": []}]}
        )
        first, second = (await client.list_resources()).resources
        assert (first.uri, first.mime_type) == ("memory://knowledge-graph", "application/json")
        (content,) = (await client.read_resource(first.uri)).contents
        assert isinstance(content, TextResourceContents)
        assert (content.mime_type, json.loads(content.text)["entities"][0]["name"]) == ("application/json", "Ann")
        assert "Ann" in await _read(client, second.uri)
    async with open_server(settings) as server, server.client(era, tools="core") as client:
        with pytest.raises(MCPError, match="is not the URI of a memory"):
            await client.read_resource("memory://knowledge-graph")


async def test_a_long_memory_is_read_up_to_the_limit_and_the_tool_goes_on_from_there(
    settings: Settings, era: str
) -> None:
    async with open_server(settings) as server, server.client(era, tools="core") as client:
        for name, text in {
            "ledger": "The ledger has a line for every ship. " * 2_000,
            "key": EXPENSIVE["base64"] * 30,
        }.items():
            await call(client, "remember", text=text, name=name)
            page = await _read(client, f"memory://default/{name}")
            assert count_tokens(page) <= 8_000
            match = re.fullmatch(
                r'Memories .*?```\n(.*)\n```\n\n\(characters 0 to .* ids \["(.+)"\] and cursor "(.+)"\)',
                page,
                re.DOTALL,
            )
            assert match is not None
            whole, ref, cursor = match.groups()
            while cursor:
                part = await call(client, "read", ids=[ref], cursor=cursor, max_tokens=8_000)
                whole += part["memories"][0]["text"]
                cursor = part.get("cursor", "")
            (expected,) = (await server.context().memory.read(name)).texts
            # The fence ends the line at which the first part is cut.
            assert whole.replace("\n", "") == expected.replace("\n", "")
