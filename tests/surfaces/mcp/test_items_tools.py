"""The tools of `items`, through the SDK's client, in both revisions of the protocol."""

from dataclasses import replace
from pathlib import Path

import pytest
from tests.surfaces.mcp.mcp_server import ERAS, call, open_server, refusal, text_of

from scrubjay.model.caller import Grant
from scrubjay.settings import Settings

pytestmark = pytest.mark.parametrize("era", ERAS)


async def test_items_are_stored_and_recalled_with_their_metadata(settings: Settings, era: str) -> None:
    async with open_server(settings) as server, server.client(era, tools="items") as client:
        done = await call(client, "memory_store", text="The user likes tea", metadata={"source_tool": "chat"})
        assert (done["action"], isinstance(done["id"], str)) == ("created", True)
        (result,) = (await call(client, "memory_recall", query="tea"))["results"]
        assert result.keys() == {"id", "text", "metadata", "score", "created_at", "trust"}
        assert (result["id"], result["text"], result["metadata"]) == (
            done["id"],
            "The user likes tea",
            {"source_tool": "chat"},
        )
        assert result["created_at"] == done["created_at"]
        again = await call(client, "memory_store", text="The user likes tea", metadata={"source_tool": "chat"})
        assert (again["action"], again["id"]) == ("unchanged", done["id"])
        assert (await call(client, "memory_recall", query="xylophone"))["results"] == []


async def test_k_says_how_many(settings: Settings, era: str) -> None:
    async with open_server(settings) as server, server.client(era) as client:
        for number in range(9):
            await call(client, "memory_store", text=f"tea number {number}")
        assert len((await call(client, "memory_recall", query="tea"))["results"]) == 5
        result = await client.call_tool("memory_recall", {"query": "tea", "k": 2})
        assert len(result.structured_content["results"]) == 2
        assert "there are more" in text_of(result)
        (only,) = (await call(client, "memory_recall", query="tea", contains="NUMBER 7"))["results"]
        assert only["text"] == "tea number 7"
        assert "k must be at least 1, not 0" in await refusal(client, "memory_recall", query="tea", k=0)
        assert "memory_recall needs the argument 'query'" in await refusal(client, "memory_recall")


async def test_each_user_has_items_of_his_own(settings: Settings, era: str) -> None:
    async with open_server(settings) as server, server.client(era) as client:
        await call(client, "memory_store", text="tea is for Ann", session_user_id="ann")
        await call(client, "memory_store", text="tea is for all")

        async def recall(**who: str) -> list[str]:
            return [result["text"] for result in (await call(client, "memory_recall", query="tea", **who))["results"]]

        assert await recall(session_user_id="ann") == ["tea is for Ann"]
        assert await recall(session_user_id="bob") == []
        assert await recall() == ["tea is for all"]
        assert "a space needs a name" in await refusal(client, "memory_store", text="x", session_user_id=" ")


async def test_the_items_of_one_user_are_not_mixed_with_anothers(settings: Settings, era: str) -> None:
    async with open_server(settings) as server:
        await server.context(space="b").memory.remember("tea is a secret of b")
        await server.context(space="a").memory.remember("tea is for a")
        context = server.context(space="a")
        both = replace(context, who=replace(context.who, also=("b",)), grant=Grant(spaces=("a", "b")))
        async with server.client(era, tools="items", context=both) as client:
            for user, expected in (("a", ["tea is for a"]), ("b", ["tea is a secret of b"])):
                result = (await call(client, "memory_recall", query="tea", session_user_id=user))["results"]
                assert [item["text"] for item in result] == expected
            assert len((await call(client, "memory_recall", query="tea"))["results"]) == 2


async def test_a_caller_of_one_space_may_name_no_other(settings: Settings, era: str) -> None:
    async with open_server(settings) as server:
        await server.context(space="b").memory.remember("tea is a secret of b")
        pinned = replace(server.context(space="a"), grant=Grant(spaces=("a",)))
        async with server.client(era, tools="items", context=pinned) as client:
            await call(client, "memory_store", text="tea is for a", session_user_id="a")
            for who in ({}, {"session_user_id": "a"}, {"session_user_id": " a"}, {"session_user_id": ""}):
                result = (await call(client, "memory_recall", query="tea", **who))["results"]
                assert [item["text"] for item in result] == ["tea is for a"]
            for other in ("b", "A", "default", "x" * 5_000):
                message = await refusal(client, "memory_recall", query="tea", session_user_id=other)
                assert "you may not use the space" in message
                assert "You may use: a" in message
                await refusal(client, "memory_store", text="tea of a", session_user_id=other)
        result = (await server.context(space="b").memory.recall("tea")).hits
        assert [hit.passage for hit in result] == ["tea is a secret of b"]


async def test_items_are_pruned_to_the_trash(settings: Settings, era: str, tmp_path: Path) -> None:
    clock = tmp_path / "clock"
    clock.write_text("2026-01-01T12:00:00Z")
    timed = replace(settings, clock_file=str(clock))
    async with open_server(timed) as server, server.client(era, tools="items") as client:
        for text in ("the kiln is hot", "ferns want water", "the ferry leaves at nine"):
            await call(client, "memory_store", text=text)
        assert (await call(client, "memory_prune"))["pruned"] == 0
        planned = await call(client, "memory_prune", keep=1, dry_run=True)
        assert (planned["pruned"], planned.get("run", ""), len(planned["items"])) == (2, "", 2)
        done = await call(client, "memory_prune", keep=1)
        assert (done["pruned"], [item["action"] for item in done["items"]]) == (2, ["trash", "trash"])
        assert (await server.context().memory.status()).memories == {"live": 1, "trashed": 2}
        await server.context().memory.undo(run=done["run"])
        assert (await server.context().memory.status()).memories == {"live": 3}
        assert "days must be at least 1, not 0" in await refusal(client, "memory_prune", days=0)
        clock.write_text("2026-03-01T12:00:00Z")
        # Thirty days are meant only if nothing else is said.
        options: list[dict[str, object]] = [
            {}, {"keep": 2}, {"clusters": True}, {"clusters": True, "days": 30}, {"keep_bytes": 10_000},
            {"keep": 1, "include": ["pinned"]},
        ]  # fmt: skip
        assert [(await call(client, "memory_prune", dry_run=True, **each))["pruned"] for each in options] == [
            3,
            1,
            0,
            3,
            0,
            2,
        ]
