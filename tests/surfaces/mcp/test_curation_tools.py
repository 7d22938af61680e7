"""The tools of `curation`, through the SDK's client."""

import pytest
from tests.surfaces.mcp.mcp_server import ERAS, call, open_server, refusal

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
