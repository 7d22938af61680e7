"""The tools of `smart`, through the SDK's client, in both revisions of the protocol."""

import pytest
from tests.surfaces.mcp.mcp_server import ERAS, call, open_server, refusal, text_of

from scrubjay.settings import Settings

TITLE = "The kiln of the pottery"
CONTENT = (
    "The kiln in the cellar of the pottery is fired on Thursdays, and must cool until Saturday before it is opened."
)
TAGS = ["pottery", "kiln", "schedule"]


@pytest.mark.parametrize("era", ERAS)
async def test_a_memory_is_created_updated_and_found(settings: Settings, era: str) -> None:
    async with open_server(settings) as server, server.client(era, tools="smart") as client:
        done = await call(
            client, "create_memory", title=TITLE, content=CONTENT, type="knowledge", tags=TAGS, project="clay",
            metadata={"n": 1},
        )  # fmt: skip
        assert (done["action"], done["version"], done["tags"]) == ("created", 1, TAGS)
        assert not {"merged_into", "trace", "ids"} & set(done)
        (memory,) = (await server.context().memory.read(done["id"])).memories
        assert (memory.title, memory.content, memory.kind, memory.project) == (TITLE, CONTENT, "knowledge", "clay")
        assert (memory.metadata, memory.source.method) == ({"n": 1}, "agent")
        changed = await call(
            client, "update_memory", id=done["name"], content=f"{CONTENT} Not in August.", type="habit",
            message="she said so", expected_version=1,
        )  # fmt: skip
        assert (changed["action"], changed["version"]) == ("updated", 2)
        (result,) = (await call(client, "search_memories", query="kiln", type="habit", tags=["pottery"]))["results"]
        assert (result["id"], result["title"], result["type"], result["tags"]) == (done["id"], TITLE, "habit", TAGS)
        assert result["content"] == f"{CONTENT} Not in August."
        for other in ({"type": "knowledge"}, {"tags": ["tea"]}, {"project": "wood"}, {"since": "2099-01-01"}):
            assert (await call(client, "search_memories", query="kiln", **other))["results"] == []


async def test_a_text_written_twice_is_stored_once(settings: Settings) -> None:
    async with open_server(settings) as server, server.client("auto", tools="smart") as client:
        arguments = {"title": TITLE, "content": CONTENT, "type": "knowledge", "tags": TAGS}
        first = await call(client, "smart_write", **arguments)
        for tool in ("smart_write", "create_memory"):
            again = await call(client, tool, **arguments)
            assert (again["action"], again["id"], again["similarity"]) == ("unchanged", first["id"], 1.0)
        new = await call(client, "smart_write", **arguments, intent="new")
        assert (new["action"], new["id"] == first["id"]) == ("created", False)


async def test_a_text_that_continues_a_session_is_merged_and_reported_so(settings: Settings) -> None:
    async with open_server(settings) as server, server.client("auto", tools="smart") as client:
        first = await call(client, "smart_write", title=TITLE, content=CONTENT, session_hint="kiln")
        more = {
            "title": "Shelves",
            "content": "The shelves of the kiln are to be washed with lime before every firing.",
        }
        result = await client.call_tool("smart_write", {**more, "session_hint": "kiln", "intent": "continue"})
        assert text_of(result).startswith(f"merged into {first['name']}")
        done = result.structured_content
        assert (done["action"], done["merged_into"]) == ("merged", first["id"])
        (memory,) = (await server.context().memory.read(first["id"])).memories
        assert (memory.version, memory.content.startswith(CONTENT), more["content"] in memory.content) == (
            2,
            True,
            True,
        )
        await server.context().memory.revert(first["id"], to=1)
        recalled = (await call(client, "search_memories", query="kiln"))["results"]
        assert {memory["content"] for memory in recalled} == {CONTENT, more["content"]}


async def test_few_tags_are_told_with_suggestions(settings: Settings) -> None:
    async with open_server(settings) as server, server.client("auto", tools="smart,core") as client:
        await call(client, "smart_write", title=TITLE, content=CONTENT, tags=TAGS)
        few = await call(client, "create_memory", title="Glaze", content="It is mixed with lime water.", tags=["bowls"])
        assert few["tags"] == ["bowls"]
        assert few["warnings"][-1] == "it has 1 of at least 3 tags: add some, such as glaze, lime-water"
        suggested = await call(client, "create_memory", title="Kiln, pottery, schedule", content="It opens at nine.")
        assert suggested["tags"] == ["kiln", "pottery", "schedule"]
        assert suggested["warnings"][-1] == (
            "0 of at least 3 tags were given; with those that its text suggests it has kiln, pottery, schedule"
        )
        assert "tags" not in text_of(await client.call_tool("remember", {"text": "Bowls are sold on Sundays"}))
        await server.context().memory.set_rules(least_tags=0)
        enough = await call(client, "create_memory", title="Lime", content="Lime is bought in spring.")
        assert "tags" not in str(enough["warnings"])


async def test_a_text_that_a_rule_denies_is_refused(settings: Settings) -> None:
    async with open_server(settings) as server, server.client("auto", tools="smart,items") as client:
        await server.context().memory.set_rules(never=["kiln in the cellar"])
        for tool, arguments in (
            ("create_memory", {"title": TITLE, "content": CONTENT}),
            ("memory_store", {"text": CONTENT}),
        ):
            result = await client.call_tool(tool, arguments)
            assert (result.is_error, result.structured_content["action"]) == (False, "rejected")
            assert text_of(result).startswith("rejected, nothing was stored")
            assert "`never`" in text_of(result)


async def test_a_rehearsal_tells_every_decision(settings: Settings) -> None:
    async with open_server(settings) as server, server.client("auto", tools="smart") as client:
        result = await client.call_tool("smart_write", {"title": TITLE, "content": CONTENT, "dry_run": True})
        assert result.structured_content["trace"]
        assert "dry run: nothing was stored" in text_of(result)
        assert (await call(client, "search_memories", query="kiln"))["results"] == []


async def test_an_error_names_the_problem(settings: Settings) -> None:
    async with open_server(settings) as server, server.client("auto", tools="smart") as client:
        for missing in ("title", "content"):
            arguments = {"title": TITLE, "content": CONTENT}
            del arguments[missing]
            assert f"needs the argument {missing!r}" in await refusal(client, "smart_write", **arguments)
        message = await refusal(client, "smart_write", title=TITLE, content=CONTENT, intent="maybe")
        assert "intent must be one of auto, new, continue, not 'maybe'" in message
        assert "nothing to remember" in await refusal(client, "create_memory", title=TITLE, content=" ")
        assert "say what to change" in await refusal(client, "update_memory", id="x")
        assert "no memory is called 'x'" in await refusal(client, "update_memory", id="x", title="y")
        message = await refusal(client, "create_memory", title=TITLE, content=CONTENT, intent="new")
        assert "create_memory takes no argument 'intent'" in message


async def test_duplicates_are_found_and_merged(settings: Settings) -> None:
    async with open_server(settings) as server, server.client("auto", tools="smart") as client:
        for title in ("Kiln", "The kiln"):
            await call(client, "smart_write", title=title, content=CONTENT, intent="new")
        await call(client, "smart_write", title="Tea", content="Tea is served at four in the garden house.")
        result = await client.call_tool("intelligence_detect_duplicates", {"threshold": 0.9})
        structured = result.structured_content
        assert structured is not None
        (group,) = structured["groups"]
        assert (group["confidence"], group["name"], group["says"]) == (1.0, "kiln", CONTENT)
        assert [member["name"] for member in group["others"]] == ["the-kiln"]
        assert [pair["other"]["id"] for pair in structured["duplicates"]] == [group["kept"]]
        assert text_of(result).splitlines()[2].startswith("- 1.00 kiln (agent tester) = the-kiln (agent tester): The")
        of_one = await call(client, "intelligence_detect_duplicates", id="kiln", merge=True)
        (done,) = of_one["groups"]
        assert (done["kept"], done["run"] != "", of_one["duplicates"]) == (group["kept"], True, [])
        after = await call(client, "intelligence_detect_duplicates")
        assert (after["groups"], after["count"]) == ([], 0)
        (undone, _) = (await server.context().memory.undo(run=done["run"])).done
        assert undone.action
        assert len((await call(client, "intelligence_detect_duplicates"))["groups"]) == 1


async def test_memories_that_share_one_statement_are_reported_and_not_merged(settings: Settings) -> None:
    async with open_server(settings) as server, server.client("auto", tools="smart") as client:
        for title, more in (("Kiln", "Tea is served at four."), ("The kiln", "Nobody waters the ferns.")):
            await call(client, "smart_write", title=title, content=f"{CONTENT} {more}", intent="new")
        (result,) = (await call(client, "intelligence_detect_duplicates", merge=True))["duplicates"]
        assert (result["action"], "merging would mix these" in result["why"]) == ("left_pending", True)
        message = await refusal(client, "intelligence_detect_duplicates", id="nobody")
        assert "nobody" in message
