"""The recipes of docs/how-to/code.md run as they are written, and what they save is counted."""

import json
import re
from dataclasses import replace
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
from tests.surfaces.mcp.mcp_server import call, open_server

from benchmarks.code_tokens import PAGE, compare, fill
from scrubjay.settings import Settings

_BLOCK = re.compile(
    r"^```(?P<kind>python program|json run_skill|json)(?: (?P<variables>\{[^\n]*\}))?\n(?P<body>.*?)^```$",
    re.MULTILINE | re.DOTALL,
)
_TABLE = re.compile(r"^\| `(?P<how>recall|run_code)`[^|]* \| (?P<calls>\d+) \| (?P<tokens>[\d,]+) \|$", re.MULTILINE)


def recipes() -> list[tuple[str, str, dict[str, Any], Any]]:
    """Return the programs and calls of the page, with their variables and results."""
    blocks = [*_BLOCK.finditer(PAGE.read_text(encoding="utf-8"))]
    return [
        (block["kind"], block["body"], json.loads(block["variables"] or "{}"), json.loads(answer["body"]))
        for block, answer in pairwise(blocks)
        if answer["kind"] == "json" and block["kind"] != "json"
    ]


async def test_every_recipe_returns_what_the_page_says(settings: Settings, tmp_path: Path) -> None:
    clock = tmp_path / "clock"
    clock.write_text("2026-01-10T12:00:00Z")
    async with open_server(replace(settings, clock_file=str(clock))) as server:
        memory = server.context().memory
        await fill(memory, 200)
        clock.write_text("2026-05-20T12:00:00Z")
        names = [f"{entity['name']}" for entity in (await memory.search_nodes("", limit=1_000))["results"]]  # type: ignore[index]
        await memory.confirm([name for name in names if int(name[-4:]) > 99])
        clock.write_text("2026-05-31T12:00:00Z")
        blocks = recipes()
        assert len(blocks) == 6
        async with server.client("auto", tools="code") as client:
            for kind, body, variables, expected in blocks:
                if kind == "json run_skill":
                    answer = await call(client, "run_skill", **json.loads(body))
                else:
                    answer = await call(client, "run_code", code=body, context_vars=variables)
                assert answer["success"], answer
                assert answer["result"] == expected, body
                if variables:
                    answer = await call(client, "run_code", code=body, context_vars={"dry_run": False})
                    assert answer["result"] == {"found": 50, "changed": 50}
                    assert len((await memory.undo(run=answer["run"])).done) == 50


async def test_the_page_says_how_many_tokens_a_program_saves() -> None:
    reader, programmer = await compare(1_000, kinds=("incident",))
    counted = {"recall": reader, "run_code": programmer}
    for row in _TABLE.finditer(PAGE.read_text(encoding="utf-8")):
        agent = counted.pop(row["how"])
        # Ids and times differ from run to run.
        assert int(row["calls"]) == pytest.approx(agent.calls, abs=1)
        assert int(row["tokens"].replace(",", "")) == pytest.approx(agent.tokens, rel=0.05)
    assert not counted
    assert programmer.tokens < 0.02 * reader.tokens
