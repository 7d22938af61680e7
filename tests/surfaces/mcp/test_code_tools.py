"""Programs through the SDK's client: the tools of `code` and `enhanced`, with their budgets."""

import pytest
from tests.surfaces.mcp.mcp_server import ERAS, call, open_server, refusal
from tests.surfaces.mcp.token_count import count_tokens

from scrubjay.model.memory import Json
from scrubjay.settings import Settings
from scrubjay.surfaces.mcp.budget import compact_json

pytestmark = pytest.mark.parametrize("era", ERAS)
_ENTITIES: list[dict[str, Json]] = [
    {"name": f"system-{n}", "entityType": "system", "observations": [f"runs on host {n}"]} for n in range(60)
]


async def test_an_agent_computes_and_reads_on(settings: Settings, era: str) -> None:
    async with open_server(settings) as server, server.client(era, tools="code") as client:
        await server.context().memory.create_entities(_ENTITIES)
        done = await call(
            client, "run_code", code="result = len(search_nodes('system', limit=limit))", context_vars={"limit": 1000}
        )
        assert (done["success"], done["result"], done["calls"]) == (True, 60, 1)
        part = await call(
            client, "run_code", code="[n['name'] for n in search_nodes('', limit=1000)] * 50", max_tokens=600
        )
        assert part["total"] == 3000
        following = await call(client, "run_code", handle=part["handle"], offset=part["next"])
        assert following["next"] > part["next"]
        assert count_tokens(compact_json(following)) < 1_500
        failed = await call(client, "run_code", code="x = 1\nsearch_nodez('x')")
        assert (failed["success"], failed["line"]) == (False, 2)
        assert "did you mean search_nodes?" in failed["error"]
        assert "there is no code to run" in await refusal(client, "run_code", code=" ")


async def test_the_dialect_of_entities_runs_code(settings: Settings, era: str) -> None:
    async with open_server(settings) as server, server.client(era, tools="enhanced") as client:
        await call(client, "create_entities", entities=_ENTITIES)
        done = await call(client, "execute_code", code="result = summarize_results(search_nodes('system', limit=100))")
        assert {"success", "result", "execution_time_ms", "memory_used_mb"} <= {*done}
        assert (done["result"]["count"], done["result"]["types"], len(done["result"]["sample"])) == (60, ["system"], 5)
        large = await call(client, "execute_code", code="result = list(range(20000))")
        assert count_tokens(compact_json(large)) < 8_000
        assert f"load_result('{large['handle']}')" in large["note"]
        rest = await call(
            client, "execute_code", code="load_result(handle)[-1]", context_vars={"handle": large["handle"]}
        )
        assert rest["result"] == 19_999
        failed = await call(client, "execute_code", code="1 / 0")
        assert (failed["success"], failed["error"], failed["line"]) == (False, "ZeroDivisionError: division by zero", 1)
        assert (await call(client, "execute_code", code=""))["success"] is False
