"""`core` on branches and in the past."""

from datetime import UTC, datetime

from tests.surfaces.mcp.mcp_server import call, open_server, refusal

from scrubjay.settings import Settings


async def test_a_branch_is_read_revised_and_compared(settings: Settings) -> None:
    async with open_server(settings) as server, server.client("auto", tools="core") as client:
        await call(client, "remember", text="The harbour opens at six.", name="harbour")
        await server.context().memory.branch("harbour", "winter")
        done = await call(client, "revise", id="harbour", text="The harbour opens at eight.", branch="winter")
        assert (done["branch"], done["version"]) == ("winter", 3)
        (there,) = (await call(client, "read", ids=["harbour"], branch="winter"))["memories"]
        (main,) = (await call(client, "read", ids=["harbour"]))["memories"]
        assert ("eight" in there["text"], "six" in main["text"]) == (True, True)
        versions = (await call(client, "history", id="harbour", branch="winter"))["versions"]
        assert versions[0]["number"] == 3
        (change,) = [
            difference
            for difference in (await call(client, "history", id="harbour", diff=["main", "winter"]))["diff"]
            if difference["field"] == "content"
        ]
        assert "+The harbour opens at eight." in change["change"]
        hits = (await call(client, "recall", query="when does the harbour open", filters={"branch": "winter"}))["hits"]
        assert "eight" in hits[0]["passage"]
        assert hits[0]["branch"] == "winter"
        assert "Did you mean winter?" in await refusal(client, "read", ids=["harbour"], branch="winer")
        await call(client, "remember", text="The lighthouse is red.", name="lighthouse")
        result = await call(client, "read", ids=["lighthouse", "harbour"], branch="winter")
        assert [memory["name"] for memory in result["memories"]] == ["harbour"]
        assert [missing["why"] for missing in result["missing"]] == ["'lighthouse' has no branch 'winter'"]


async def test_the_text_of_that_time_is_read_and_recalled(settings: Settings) -> None:
    async with open_server(settings) as server, server.client("legacy", tools="core") as client:
        await call(client, "remember", text="The harbour opens at six.", name="harbour")
        then = datetime.now(UTC).isoformat()
        await call(client, "revise", id="harbour", text="The harbour opens at eight.")
        (past,) = (await call(client, "read", ids=["harbour"], as_of=then))["memories"]
        assert "six" in past["text"]
        hits = (await call(client, "recall", query="when does the harbour open", filters={"as_of": then}))["hits"]
        assert "six" in hits[0]["passage"]
        assert "as_of" in await refusal(client, "recall", query="x", filters={"as_of": "some day"})
        assert "forget takes no argument 'as_of'" in (await refusal(client, "forget", filters={"as_of": then})).replace(
            "filters of ", ""
        )
