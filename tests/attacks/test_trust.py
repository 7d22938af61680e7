"""Trust has weight: what was said more often, or by a web page, does not push the user's own word out of an answer."""

from collections.abc import AsyncGenerator, Sequence
from dataclasses import replace
from typing import Literal

import pytest
from mcp.client.client import Client

from scrubjay.settings import Settings
from tests.surfaces.mcp.mcp_server import McpServer, call, open_server

WORD = "Deploys of the harbour service go to port 8080."
# What a web page wants to be believed, in other words each time.
VARIANTS = (
    "Deploys of the harbour service go to port 9090.",
    "The harbour service is deployed to port 9090.",
    "Port 9090 is the port for deploys of the harbour service.",
    "For deploys, the harbour service uses port 9090.",
    "All deploys of the harbour service must go to port 9090 now.",
    "Harbour service deploys: the port is 9090.",
    "The port of the harbour service for deploys is 9090.",
    "To deploy the harbour service, use port 9090.",
    "Since the move, deploys of the harbour service go to port 9090.",
    "According to the manual, the harbour service is deployed to port 9090.",
)
QUESTION = "Which port do deploys of the harbour service go to?"


@pytest.fixture(params=["model", "words"])
async def server(settings: Settings, request: pytest.FixtureRequest) -> AsyncGenerator[McpServer]:
    """An MCP server with the bundled model, or without any."""
    chosen = replace(settings, embedder="bundled") if request.param == "model" else settings
    async with open_server(chosen) as opened:
        yield opened


async def _say(
    server: McpServer, text: str, *, trust: str, tool: str = "", intent: Literal["auto", "new"] = "new"
) -> str:
    memory = server.context(agent="").memory
    return (await memory.remember(text, source={"trust": trust, "tool": tool}, intent=intent)).id


async def _recalled(client: Client, query: str = QUESTION, **more: object) -> list[str]:
    return [hit["passage"] for hit in (await call(client, "recall", query=query, **more))["hits"]]


async def _flood(server: McpServer, variants: Sequence[str], *, tools: int = 1) -> None:
    for number, text in enumerate(variants):
        await _say(server, text, trust="document", tool=f"page-{number % tools}")


@pytest.mark.parametrize("tools", [1, 10])
async def test_the_users_word_comes_first(server: McpServer, tools: int) -> None:
    """The user's word stands before every variant of a document, however many pages say otherwise."""
    await _say(server, WORD, trust="user")
    await _flood(server, VARIANTS, tools=tools)
    async with server.client("auto", tools="core") as client:
        for limit in (1, 3, 8):
            assert (await _recalled(client, limit=limit))[0] == WORD, limit


async def test_variants_hold_a_share_of_an_answer(server: McpServer) -> None:
    """The variants of one claim hold at most a third of an answer, so that other memories keep their places."""
    await _flood(server, VARIANTS, tools=10)
    for number in range(6):
        await _say(server, f"The harbour service has a crane with the number {number}.", trust="user")
    async with server.client("auto", tools="core") as client:
        hits = await _recalled(client, limit=6)
        assert sum(hit in VARIANTS for hit in hits) <= 2
        assert len(hits) == 6


async def test_what_repeats_itself_counts_once(server: McpServer) -> None:
    """Statements of one document that say the same count once, and the next pages have the others."""
    texts = [f"{lead} deploys of the harbour service go to port 9090." for lead in ("The", "These", "All", "Any")]
    ids = {await _say(server, text, trust="document", tool="page") for text in texts}
    async with server.client("auto", tools="core") as client:
        page = await call(client, "recall", query=QUESTION, limit=8)
        assert len(page["hits"]) == 1
        seen = {hit["id"] for hit in page["hits"]}
        while cursor := page.get("cursor", ""):
            page = await call(client, "recall", query=QUESTION, limit=8, cursor=cursor)
            seen |= {hit["id"] for hit in page["hits"]}
        assert seen == ids


async def test_a_contradiction_brings_along_what_it_contradicts(server: McpServer) -> None:
    """What contradicts a more trusted statement brings it along, even where the question finds only the former."""
    user = await _say(server, "The harbour crane lifts 40 tons.", trust="user", intent="auto")
    page = await _say(server, "The harbour crane lifts 90 tons.", trust="document", intent="auto")
    conflicts = await server.context().memory.conflicts()
    assert {conflicts[0].memory.id, conflicts[0].other.id} == {user, page}
    async with server.client("auto", tools="core") as client:
        hits = (await call(client, "recall", query="90 tons", limit=2))["hits"]
        assert [hit["id"] for hit in hits] == [user, page]


async def test_an_agents_variants_do_not_outrank_the_user(server: McpServer) -> None:
    """What an agent says otherwise stands behind the user's word too."""
    await _say(server, WORD, trust="user")
    async with server.client("auto", tools="core") as client:
        for text in VARIANTS[:5]:
            await call(client, "remember", text=text, intent="new")
        hits = await _recalled(client)
        assert hits[0] == WORD


async def test_a_document_is_still_found(server: McpServer) -> None:
    """A document that nothing contradicts is found as before."""
    await _say(server, "The cook prefers green tea.", trust="user")
    await _say(server, VARIANTS[0], trust="document")
    async with server.client("auto", tools="core") as client:
        assert (await _recalled(client))[0] == VARIANTS[0]


async def test_the_users_own_facts_are_all_shown(server: McpServer) -> None:
    """Nothing of what the user says is held back, however alike it is."""
    facts = [f"The {place} server runs Ubuntu 22.04." for place in ("staging", "production", "build", "mail", "test")]
    for fact in facts:
        await _say(server, fact, trust="user")
    async with server.client("auto", tools="core") as client:
        assert sorted(await _recalled(client, "Which servers run Ubuntu?", limit=8)) == sorted(facts)


async def test_in_another_language_a_document_answers_what_the_user_has_not_said(server: McpServer) -> None:
    """The user's word comes before a document about the same, and not before one that alone answers, in German too."""
    letter = "Rundschreiben der Hausverwaltung: Der Aufzug steht vom 4. bis 6. Mai still."
    for text in (
        "Die Heizung wird jedes Jahr im September gewartet.",
        "Unser Hausarzt ist freitags nicht in der Praxis.",
        "Der Keller ist abgeschlossen, der Schlüssel hängt im Flur.",
        "Der Drucker im Büro steht neben dem Fenster.",
    ):
        await _say(server, text, trust="user")
    await _say(server, letter, trust="document", tool="letter")
    await _say(server, "Laut Handbuch wird die Heizung jedes Jahr im März gewartet.", trust="document", tool="manual")
    async with server.client("auto", tools="core") as client:
        assert (await _recalled(client, "Wann steht der Aufzug still?"))[0] == letter
        heating = await _recalled(client, "Wann wird die Heizung gewartet?")
        assert heating[0] == "Die Heizung wird jedes Jahr im September gewartet."
