"""Days that pass by `SCRUBJAY_CLOCK_FILE`, and a clock that was wrong when a fact was stored."""

from dataclasses import replace
from pathlib import Path

from tests.surfaces.mcp.mcp_server import call, open_server

from scrubjay.settings import Settings


async def test_questions_about_days_follow_the_file(settings: Settings, tmp_path: Path) -> None:
    clock = tmp_path / "clock"
    clock.write_text("2026-03-02T09:00:00Z")
    async with open_server(replace(settings, clock_file=str(clock))) as server, server.client("auto") as client:
        await call(client, "remember", text="Mara repaired the red bicycle in the yard.")
        clock.write_text("2026-03-09T09:00:00Z")
        await call(client, "remember", text="Mara repaired the blue kettle in the kitchen.")
        clock.write_text("2026-03-10T09:00:00Z")
        yesterday = await call(client, "recall", query="What did Mara repair yesterday?")
        assert "kettle" in yesterday["hits"][0]["passage"]
        last_week = await call(client, "recall", query="What did Mara repair last week?")
        assert "bicycle" in last_week["hits"][0]["passage"]


async def test_a_fact_of_a_wrong_clock_does_not_stay_the_newest(settings: Settings, tmp_path: Path) -> None:
    clock = tmp_path / "clock"
    clock.write_text("2031-01-01T09:00:00Z")
    async with open_server(replace(settings, clock_file=str(clock))) as server, server.client("auto") as client:
        wrong = await call(client, "remember", text="The garage code is kept by Ines.")
        clock.write_text("2026-03-02T09:00:00Z")
        right = await call(client, "remember", text="The garage code is kept by Paul.")
        clock.write_text("2026-09-02T09:00:00Z")
        result = await call(client, "recall", query="Who keeps the garage code?")
        assert result["hits"][0]["id"] == right["id"]
        await call(client, "revise", id=wrong["id"], text="The garage code was kept by Ines.")
        await call(client, "forget", ids=[wrong["id"]])
        await call(client, "forget", ids=[wrong["id"]], restore=True)
        assert "was kept by Ines" in str(await call(client, "read", ids=[wrong["id"]]))
