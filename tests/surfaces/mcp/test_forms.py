"""Lines of a chat as plain text: what they say about date and speaker counts as if it were given."""

from dataclasses import replace
from pathlib import Path

from tests.surfaces.mcp.mcp_server import call, open_server

from scrubjay.settings import Settings

LINES = (
    "(8:56 pm on 20 July, 2023) Caroline: Which instrument did you buy?",
    "(8:56 pm on 20 July, 2023) Melanie: A small harp, and it is lovely.",
    "[2023-08-02 14:00] Melanie: I started to learn the harp.",
    "2023-09-11, Caroline: I sold my harp.",
)


async def test_dates_and_speakers_of_plain_lines_count(settings: Settings, tmp_path: Path) -> None:
    clock = tmp_path / "clock"
    clock.write_text("2023-10-01T09:00:00Z")
    async with open_server(replace(settings, clock_file=str(clock))) as server, server.client("auto") as client:
        ids = [(await call(client, "remember", text=line, intent="new"))["id"] for line in LINES]
        read = await call(client, "read", ids=ids, format="json")
        assert LINES[1] in str(read)
        assert "2023-07-20T20:56:00Z" in str(read)

        august = await call(client, "recall", query="What happened with the harp in August 2023?")
        assert august["hits"][0]["id"] == ids[2]
        caroline = await call(client, "recall", query="What did Caroline do with the harp?")
        assert caroline["hits"][0]["id"] == ids[3]
        # The line before is the question, of the same conversation.
        answer = await call(client, "recall", query="Which instrument did Melanie buy?", limit=2)
        assert ids[1] in {hit["id"] for hit in answer["hits"]}


async def test_given_fields_win_and_appointments_are_no_dates(settings: Settings, tmp_path: Path) -> None:
    clock = tmp_path / "clock"
    clock.write_text("2023-10-01T09:00:00Z")
    async with open_server(replace(settings, clock_file=str(clock))) as server, server.client("auto") as client:
        stored = await call(
            client, "remember", text=LINES[2], source={"at": "2022-01-01T00:00:00Z", "session": "monday"}
        )
        assert "2022-01-01" in str(await call(client, "read", ids=[stored["id"]], format="json"))
        planned = await call(client, "remember", text="2023-12-24: the shop closes at noon for two weeks")
        assert "2023-12-24T" not in str(await call(client, "read", ids=[planned["id"]], format="json"))
