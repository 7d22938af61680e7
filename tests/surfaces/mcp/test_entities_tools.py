"""The tools of `entities`, through the SDK's client, in both revisions of the protocol."""

from typing import Any

import pytest
from mcp.client.client import Client
from tests.surfaces.mcp.mcp_server import ERAS, call, open_server, refusal, text_of
from tests.surfaces.mcp.token_count import count_tokens

from scrubjay.settings import Settings
from scrubjay.surfaces.mcp.budget import compact_json

MEETING = "Meeting with Sarah from Acme Corp about the lighthouse project: the lamp is to be changed before winter."
ABOUT = ["Sarah", "Acme Corp", "lighthouse"]


async def _stored(client: Client, text: str, *entities: str, **more: Any) -> Any:
    return await call(
        client, "store_multi_entity_memory", text=text, entities=[*entities], memory_type="event", scope="team", **more
    )


@pytest.mark.parametrize("era", ERAS)
async def test_one_text_is_a_record_for_each_entity_and_one_group(settings: Settings, era: str) -> None:
    async with open_server(settings) as server, server.client(era, tools="entities") as client:
        done = await _stored(client, MEETING, *ABOUT, project="coast", tags=["lamp", "winter", "meeting"])
        assert done["action"] == "created"
        assert [memory["entity"] for memory in done["memories"]] == ABOUT
        ids = [memory["id"] for memory in done["memories"]]
        assert (len(set(ids)), done["id"], "ids" in done) == (3, ids[0], False)
        memories = (await server.context().memory.read(ids)).memories
        assert {memory.group for memory in memories} == {done["group"]}
        for memory, entity in zip(memories, ABOUT, strict=True):
            assert (memory.entity, memory.content, memory.kind, memory.scope) == (entity, MEETING, "event", "team")
            assert (memory.project, memory.source.method, memory.source.agent) == ("coast", "agent", "tester")


async def test_memories_of_an_entity_are_found_by_it(settings: Settings) -> None:
    async with open_server(settings) as server, server.client("auto", tools="entities") as client:
        done = await _stored(client, MEETING, *ABOUT)
        other = await call(
            client, "store_memory", text="The lamp of the church tower was changed in spring, by the sexton himself.",
            entity="church", memory_type="event", scope="team",
        )  # fmt: skip
        assert [memory["entity"] for memory in other["memories"]] == ["church"]
        assert "group" not in other
        (result,) = (await call(client, "search_memory", query="lamp", entity="acme corp"))["results"]
        assert (result["entity"], result["text"], result["memory_type"]) == ("Acme Corp", MEETING, "event")
        assert result["id"] == done["memories"][1]["id"]
        both = (await call(client, "search_memory", query="lamp"))["results"]
        assert len(both) == 2
        assert sorted(next(memory["entities"] for memory in both if memory["entity"] != "church")) == sorted(ABOUT)
        assert len((await call(client, "search_memory", query="lamp", limit=1))["results"]) == 1
        assert (await call(client, "search_memory", query="lamp", entity="nobody"))["results"] == []


async def test_entities_are_counted_once_however_they_are_written(settings: Settings) -> None:
    async with open_server(settings) as server, server.client("auto", tools="entities") as client:
        done = await _stored(client, MEETING, "Sarah", " sarah ", "", "SARAH", "  ")
        assert [memory["entity"] for memory in done["memories"]] == ["Sarah"]
        for none in ([], [""], [" ", "\t"]):
            message = await refusal(
                client, "store_multi_entity_memory", text=MEETING, entities=none, memory_type="event", scope="team"
            )
            assert "store_memory" in message


async def test_a_text_without_entities_is_stored_too(settings: Settings) -> None:
    async with open_server(settings) as server, server.client("auto", tools="entities") as client:
        done = await call(client, "store_memory", text="the kettle whistles when the water has boiled long enough")
        assert (done["action"], done["memories"][0]["id"]) == ("created", done["id"])


async def test_an_error_names_the_problem(settings: Settings) -> None:
    async with open_server(settings) as server, server.client("auto", tools="entities") as client:
        for missing in ("text", "entities", "memory_type", "scope"):
            arguments = {"text": MEETING, "entities": ABOUT, "memory_type": "event", "scope": "team"}
            del arguments[missing]
            assert f"needs the argument {missing!r}" in await refusal(client, "store_multi_entity_memory", **arguments)
        many = await refusal(
            client, "store_multi_entity_memory", text=MEETING, entities=[f"one {n}" for n in range(10_000)],
            memory_type="event", scope="team",
        )  # fmt: skip
        assert "10,000 entities are too many; the limit is 100" in many
        long = await refusal(client, "store_memory", text=MEETING, entity="x" * 10_000)
        assert "entity has 10,000 characters" in long
        assert "entities must be a list" in await refusal(
            client, "store_multi_entity_memory", text=MEETING, entities="Sarah", memory_type="event", scope="team"
        )


async def test_answers_keep_to_the_budget(settings: Settings) -> None:
    async with open_server(settings) as server, server.client("auto", tools="entities") as client:
        many = [f"entity number {number} of the northern quay" for number in range(100)]
        tags = [f"a tag with the number {number} and a long tail" for number in range(60)]
        stored = await client.call_tool(
            "store_multi_entity_memory",
            {"text": MEETING * 30, "entities": many, "memory_type": "event", "scope": "team", "tags": tags},
        )
        recalled = await client.call_tool("search_memory", {"query": "lamp", "limit": 100})
        for result in (stored, recalled):
            assert count_tokens(text_of(result)) + count_tokens(compact_json(result.structured_content)) <= 1_500
        (hit,) = recalled.structured_content["results"]
        assert (len(hit["text"]) < hit["of"], hit["of"]) == (True, len(MEETING * 30))
