"""What an agent meets in a working day with the tools of `core`: short answers that say one thing, once."""

import re
from dataclasses import replace
from typing import Any

from tests.surfaces.mcp.mcp_server import call, open_server, text_of

from scrubjay.settings import Settings


async def test_a_short_fact_is_no_thin_one(settings: Settings) -> None:
    facts = (
        "Deploys happen on Thursdays.", "The orders table has about 40 million rows.",
        "Der Keller bleibt abgeschlossen.", "El almac\u00e9n cierra a las 14:30.",
    )  # fmt: skip
    async with open_server(settings) as server, server.client("auto") as client:
        for fact in facts:
            done = await call(client, "remember", text=fact)
            assert (_thin(done), done.get("flags", [])) == ([], []), fact
        for scrap in ("ok, done", "see above", "siehe oben", "hecho"):
            done = await call(client, "remember", text=scrap)
            assert (_thin(done), done["flags"]) == (["thin: say who or what it is about"], ["thin"]), scrap
        again = await call(client, "remember", text="see above")
        assert (again["action"], _thin(again)) == ("unchanged", [])
        await server.context().memory.set_rules(least_characters=80)
        done = await call(client, "remember", text="Backups run on Sundays.")
        assert _thin(done) == ["thin: 23 of 80 characters, say why or how"]


def _thin(done: Any) -> list[str]:
    return [warning for warning in done.get("warnings", []) if warning.startswith("thin")]


async def test_a_recalled_fact_is_said_once(settings: Settings) -> None:
    async with open_server(settings) as server, server.client("auto") as client:
        fact = "Production traffic reaches booking-api at https://api.booking.internal behind the load balancer."
        done = await client.call_tool(
            "remember", {"text": fact, "entities": ["booking-api"], "source": {"session": "s1"}}
        )
        assert text_of(done).startswith("created: production-traffic-reaches")
        assert "\n" not in text_of(done)
        for number in range(8):
            await call(client, "remember", text=f"Traffic of branch {number} goes to hall {number}.", intent="new")
        result = await client.call_tool("recall", {"query": "production traffic"})
        (hit, *others), text = result.structured_content["hits"], text_of(result)
        assert [line for line in text.splitlines() if fact in line] == [
            f"- production-traffic-reaches ({hit['date'][:10]}): {fact}"
        ]
        # Who it is about stands in the passage, and where it is from is no news for the agent that wrote it.
        assert set(hit) == {"id", "name", "passage", "score", "date", "entities", "trust"}
        assert len(others) == 3
        assert "cursor" not in result.structured_content
        assert "cursor" not in text
        page = await client.call_tool("recall", {"query": "production traffic", "limit": 2, "explain": True})
        assert page.structured_content["hits"][0]["source"] == {"session": "s1", "agent": "tester"}
        assert f'(more with cursor "{page.structured_content["cursor"]}")' in text_of(page)


async def test_the_word_of_another_agent_names_it(settings: Settings) -> None:
    async with open_server(settings) as server:
        async with server.client("auto", context=server.context(agent="scout")) as client:
            await call(client, "remember", text="The harbour crane is being repaired until March.")
        async with server.client("auto") as client:
            result = await client.call_tool("recall", {"query": "harbour crane"})
            assert ", agent scout): The harbour" in text_of(result)
            assert result.structured_content["hits"][0]["source"] == {"agent": "scout"}


async def test_a_name_says_what_a_memory_is_about_and_stays(settings: Settings) -> None:
    """A name holds no value that may change, and works on after a revise: others may hold it."""
    async with open_server(settings) as server, server.client("auto") as client:
        done = await call(client, "remember", text="Deploys happen on Thursdays.")
        assert done["name"] == "deploys"
        assert (await call(client, "revise", id="deploys", text="Deploys happen on Tuesdays."))["name"] == "deploys"
        assert (await call(client, "read", ids=["deploys"]))["memories"][0]["id"] == done["id"]


async def test_titles_and_given_names_are_shown(settings: Settings) -> None:
    async with open_server(settings) as server, server.client("auto") as client:
        await call(client, "remember", text="Lime comes first.", title="Washing the shelves")
        await call(client, "remember", text="Fire it slowly on Mondays.", name="kiln-day", title="Firing the kiln")
        text = text_of(await client.call_tool("recall", {}))
        assert re.search(r"^- washing-the-shelves \(.*\): Lime comes first\.$", text, re.MULTILINE)
        assert re.search(r"^- kiln-day \(.*\): Firing the kiln: Fire it slowly", text, re.MULTILINE)


async def test_a_fact_in_other_words_reads_as_one_statement(settings: Settings) -> None:
    wordings = (
        "The nightly backup of the database runs at 02:30.",
        "The nightly backup of the orders database always runs at 02:30.",
        "The nightly database backup runs at 02:30.",
    )
    async with open_server(replace(settings, embedder="bundled")) as server, server.client("auto") as client:
        done = [await call(client, "remember", text=text) for text in wordings]
        assert [answer["action"] for answer in done] == ["created", "merged", "merged"]
        (hit,) = (await call(client, "recall", query="When does the backup run?"))["hits"]
        assert hit["passage"] == wordings[1]
        # The others are in its history.
        (first,) = (await call(client, "read", ids=[hit["id"]], version=1))["memories"]
        assert wordings[0] in first["text"]


async def test_a_first_name_finds_the_whole_name_and_says_so(settings: Settings) -> None:
    async with open_server(settings) as server, server.client("auto") as client:
        await call(client, "remember", text="Marta Keller signs the offers.", entities=["Marta Keller"])
        await call(client, "remember", text="Martin signs the invoices.", entities=["Martin"])
        result = await client.call_tool("recall", {"query": "Who signs?", "entity": "Marta"})
        (hit,) = result.structured_content["hits"]
        assert hit["entities"] == ["Marta Keller"]
        note = "nothing is filed under 'Marta': these are about Marta Keller"
        assert result.structured_content["notes"] == [note]
        assert f"({note})" in text_of(result)
        await call(client, "remember", text="Marta waters the plants.", entities=["Marta"])
        result = await client.call_tool("recall", {"query": "Who waters plants?", "entity": "Marta"})
        assert [hit["entities"] for hit in result.structured_content["hits"]] == [["Marta"]]
        assert "notes" not in result.structured_content


async def test_a_pin_does_not_answer_for_another_entity(settings: Settings) -> None:
    async with open_server(settings) as server, server.client("auto") as client:
        await call(
            client, "remember", text="Nora is allergic to penicillin.", entities=["Nora"], pinned=True, name="nora"
        )
        await call(client, "remember", text="Answers are short and in English.", pinned=True, name="style")
        await call(client, "remember", text="Ole likes chess.", entities=["Ole"], name="ole")
        recalled = await call(client, "recall", query="allergic?", entity="Ole")
        assert [hit["name"] for hit in recalled["pinned"]] == ["style"]
        recalled = await call(client, "recall", query="allergic?", entity="Nora")
        assert {hit["name"] for hit in recalled["pinned"]} == {"nora", "style"}


async def test_hints_of_entities_are_names(settings: Settings) -> None:
    async with open_server(settings) as server, server.client("auto") as client:
        for text in ("The call is at 10:00 CET over the API.", "Der Code liegt auf dem Server.", "La API usa JSON."):
            assert "suggested_entities" not in await call(client, "remember", text=text), text
        done = await call(client, "remember", text="The offers are signed by Marta Keller in CET.")
        assert done["suggested_entities"] == ["Marta Keller"]


async def test_read_and_forget_take_one_name_and_suggest_others(settings: Settings) -> None:
    async with open_server(settings) as server, server.client("auto") as client:
        await call(client, "remember", text="The kiln is fired on Thursdays.", name="kiln-day")
        assert (await call(client, "read", ids="kiln-day"))["memories"][0]["name"] == "kiln-day"
        for tool in ("read", "forget"):
            result = await client.call_tool(tool, {"ids": "kiln-days"})
            assert result.structured_content["missing"][0]["suggestions"] == ["kiln-day"]
            assert "Did you mean kiln-day?" in text_of(result), tool
        assert (await call(client, "forget", ids="kiln-day"))["count"] == 1
