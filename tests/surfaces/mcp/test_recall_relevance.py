"""Honest nothing, as agents see it: what hardly answers is left out, and if all of it does, the answer says so."""

from collections.abc import AsyncGenerator
from dataclasses import replace

import pytest
from tests.surfaces.mcp.mcp_server import McpServer, call, open_server, refusal, text_of

from scrubjay.settings import Settings

_FACTS = (
    "The orders table has about 40 million rows.",
    "Deploys happen on Thursdays.",
    "Marta Keller leads the billing team.",
    "The staging server runs Ubuntu 22.04.",
    "We use pnpm; npm breaks the lock file.",
    "The payment provider answers within 300 ms.",
)
_UNRELATED = "Who won the football world cup in 1998?"


@pytest.fixture
async def server(settings: Settings) -> AsyncGenerator[McpServer]:
    async with open_server(replace(settings, embedder="bundled")) as server:
        async with server.client("auto", tools="core") as client:
            await call(client, "remember", items=[{"text": text} for text in _FACTS])
        yield server


async def test_a_question_without_an_answer_gets_at_most_two_weak_hits(server: McpServer) -> None:
    async with server.client("auto", tools="core") as client:
        answer = await call(client, "recall", query=_UNRELATED)
        assert answer["nothing_relevant"] is True
        assert len(answer["hits"]) <= 2
        assert all(hit["weak"] for hit in answer["hits"])
        assert "cursor" not in answer
        text = text_of(await client.call_tool("recall", {"query": _UNRELATED}))
        assert text.startswith("Nothing relevant.")
        assert all(", weak): " in line for line in text.splitlines() if line.startswith("- "))


async def test_an_answer_has_a_score_from_0_to_1_and_the_sum_is_explained(server: McpServer) -> None:
    async with server.client("auto", tools="core") as client:
        answer = await call(client, "recall", query="How many rows does the orders table have?", explain=True)
        assert "nothing_relevant" not in answer
        first, *others = answer["hits"]
        assert first["passage"] == _FACTS[0]
        assert 0.3 < first["score"] <= 1
        assert all(0 <= hit["score"] < first["score"] and "weak" not in hit for hit in others)
        assert len(others) < len(_FACTS) - 1
        (total,) = [reason for reason in first["why"] if reason.startswith("sum ")]
        assert float(total.split()[1]) > 1


async def test_the_least_score_is_the_callers_choice(server: McpServer) -> None:
    async with server.client("auto", tools="core") as client:
        query = "When do deploys happen?"
        everything = (await call(client, "recall", query=query, filters={"min_score": 0}))["hits"]
        assert len(everything) >= 3
        (only,) = (await call(client, "recall", query=query, filters={"min_score": 0.3}))["hits"]
        assert only["passage"] == _FACTS[1]
        nothing = await call(client, "recall", query=_UNRELATED, filters={"min_score": 0.3})
        assert (nothing["hits"], nothing["nothing_relevant"]) == ([], True)
        assert "filters.min_score" in await refusal(client, "recall", query=query, filters={"min_score": 2})


async def test_a_list_and_a_text_that_is_contained_have_no_floor(server: McpServer) -> None:
    async with server.client("auto", tools="core") as client:
        assert len((await call(client, "recall"))["hits"]) == len(_FACTS)
        (hit,) = (await call(client, "recall", query=_UNRELATED, filters={"contains": "Ubuntu"}))["hits"]
        assert "weak" not in hit


async def test_a_language_that_the_model_does_not_know_has_no_floor(server: McpServer) -> None:
    async with server.client("auto", tools="core") as client:
        assert "nothing_relevant" not in await call(
            client, "recall", query="Wie heißt unser Ansprechpartner für Steuern?"
        )


async def test_the_other_toolsets_have_the_floor_too(server: McpServer) -> None:
    async with server.client("auto", tools="all") as client:
        for tool in ("search_memory", "search_memories"):
            answer = await call(client, tool, query=_UNRELATED)
            assert answer["nothing_relevant"] is True
            assert all(hit["weak"] for hit in answer["results"])
        nodes = await call(client, "search_nodes", query=_UNRELATED)
        assert not nodes.get("entities")
        assert not nodes.get("results")


async def test_another_project_that_calls_itself_the_service_never_answers(settings: Settings) -> None:
    async with open_server(replace(settings, embedder="bundled")) as server:
        async with server.client("auto", tools="core", context=server.context(project="apollo")) as client:
            await call(client, "remember", text="The service listens on port 9094.")
        async with server.client("auto", tools="core", context=server.context(project="hermes")) as client:
            answer = await call(client, "recall", query="On which port does the service listen?")
            assert answer["nothing_relevant"] is True
            assert [(hit["project"], hit["weak"]) for hit in answer["hits"]] == [("apollo", True)]
