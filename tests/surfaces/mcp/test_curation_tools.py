"""The tools of `curation`, through the SDK's client."""

from dataclasses import replace
from pathlib import Path

import pytest
from tests.surfaces.mcp.mcp_server import ERAS, call, open_server, refusal, text_of

from scrubjay.settings import Settings

pytestmark = pytest.mark.parametrize("era", ERAS)


async def test_an_agent_plans_runs_and_looks(settings: Settings, era: str) -> None:
    async with open_server(settings) as server, server.client(era, tools="curation") as client:
        await server.context().memory.remember("The user likes tea")
        assert (await call(client, "curate", last=True)) == {"state": "none"}
        planned = await call(client, "curate", jobs=["tiers"], dry_run=True)
        assert (planned["state"], planned["dry_run"]) == ("planned", True)
        done = await call(client, "curate", jobs="tiers")
        assert done["state"] == "done"
        assert (await call(client, "curate", last=True))["run"] == done["run"]
        assert "jobs must be one of tiers," in await refusal(client, "curate", jobs=["sweep"])
        assert "stand alone" in await refusal(client, "curate", jobs=["tiers"], last=True)
        assert "there is no run" in await refusal(client, "curate", undo="no-such-run")


async def test_the_text_says_what_was_done_and_how_to_undo_it(settings: Settings, era: str, tmp_path: Path) -> None:
    clock = tmp_path / "clock"
    clock.write_text("2026-01-01T12:00:00Z")
    timed = replace(settings, clock_file=str(clock))
    async with open_server(timed) as server, server.client(era, tools="curation") as client:
        assert (await call(client, "curate", undo="last")) == {"state": "none"}
        for name in ("parking", "printer"):
            await server.context().memory.remember(f"Sarah wrote down where the {name} is", name=name)
        clock.write_text("2026-03-01T18:00:00Z")
        assert "later jobs see what earlier ones change" in text_of(
            await client.call_tool("curate", {"dry_run": True})
        )  # fmt: skip
        text = text_of(await client.call_tool("curate", {"jobs": ["tiers"]}))
        run = (await call(client, "curate", last=True, limit=1))["run"]
        assert text.startswith("done: 2 changes\ntiers: 2 working → episodic\n- tiers: move ")
        assert "- tiers: move parking: 59 days old, read 0 times" in text
        assert text.endswith(f"undo={run} takes it back")
        assert "and 1 more" in text_of(await client.call_tool("curate", {"last": True, "limit": 1}))
        assert text_of(await client.call_tool("curate", {"undo": "last"})) == "undone: 2 memories"
