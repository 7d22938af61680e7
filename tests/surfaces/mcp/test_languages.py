"""Memories and questions of several languages, as an agent meets them."""

from collections.abc import Sequence
from dataclasses import replace

import pytest
from mcp.client.client import Client
from tests.surfaces.mcp.mcp_server import McpServer, call, open_server

from scrubjay.client import MemoryClient
from scrubjay.model.caller import Caller
from scrubjay.settings import Settings

GERMAN = (
    "Die Mülltonnen kommen montags vor sieben Uhr an die Straße.",
    "Jonas geht dienstags und donnerstags zum Handball.",
    "Der Ersatzschlüssel liegt bei Familie Brandl.",
    "Wir fahren im August an die Ostsee.",
)
FRENCH = (
    "Les poubelles sortent le lundi avant sept heures.",
    "Paul joue au handball le mardi et le jeudi.",
    "La clé de secours est chez les voisins.",
    "Nous partons à la mer en août.",
)
PORTUGUESE = (
    "Os contentores do lixo saem à segunda-feira antes das sete.",
    "O Paulo joga andebol às terças e quintas.",
    "A chave de reserva está com os vizinhos.",
    "Vamos para a praia em agosto.",
)
ENGLISH = (
    "The bins go out on Monday before seven.",
    "Paul plays handball on Tuesdays and Thursdays.",
    "The spare key is with the neighbours.",
    "We go to the seaside in August.",
)


@pytest.mark.parametrize(
    ("texts", "questions"),
    [
        (GERMAN, {"Wann kommt die Mülltonne raus?": 0, "Wo gibt es noch einen Schlüssel?": 2}),
        (FRENCH, {"Quand sort la poubelle ?": 0, "Où sont les clés ?": 2}),
        (PORTUGUESE, {"Quando sai o contentor?": 0, "Onde estão as chaves?": 2}),
        (ENGLISH, {"When do I put out the bin?": 0, "Wo spielt Paul Handball?": 1, "Wer hat den spare key?": 2}),
    ],
)
async def test_each_language_finds_its_words(
    settings: Settings, texts: Sequence[str], questions: dict[str, int]
) -> None:
    async with open_server(settings) as server, server.client("auto", tools="core") as client:
        await _remember(client, texts)
        for question, place in questions.items():
            result = await call(client, "recall", query=question)
            assert result["hits"][0]["passage"] == texts[place], question


async def test_a_store_of_two_languages_answers_both(settings: Settings) -> None:
    async with open_server(settings) as server, server.client("auto", tools="core") as client:
        await _remember(client, (*GERMAN, *ENGLISH))
        result = await call(client, "recall", query="Ersatzschlüssel Brandl")
        assert result["hits"][0]["passage"] == GERMAN[2]
        result = await call(client, "recall", query="Who has the spare keys?")
        assert result["hits"][0]["passage"] == ENGLISH[2]


async def test_status_says_that_the_model_is_english(settings: Settings) -> None:
    async with open_server(replace(settings, embedder="bundled")) as server:
        async with server.client("auto", tools="core") as client:
            await _remember(client, ENGLISH)
        assert not await _degraded(server)
        async with server.client("auto", tools="core") as client:
            await _remember(client, GERMAN)
        (note,) = await _degraded(server)
        assert "the embedding model is English" in note
        assert "German" in note


async def _degraded(server: McpServer) -> tuple[str, ...]:
    return (await MemoryClient.over(server.engine, Caller(space="default", agent="tester")).status()).degraded


async def _remember(client: Client, texts: Sequence[str]) -> None:
    for text in texts:
        assert (await call(client, "remember", text=text))["action"] == "created"
