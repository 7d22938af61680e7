"""What an agent meets in a working day with the tools of `core`: short answers that say one thing, once."""

from typing import Any

from tests.surfaces.mcp.mcp_server import call, open_server

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
