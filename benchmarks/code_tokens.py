"""Counts the tokens of one question by tool calls and by a program: `python -m benchmarks.code_tokens`."""

import argparse
import asyncio
import json
import re
import sys
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from tests.surfaces.mcp.token_count import count_tokens

from scrubjay.app import open_engine
from scrubjay.client import MemoryClient
from scrubjay.model.caller import Caller
from scrubjay.model.memory import Json
from scrubjay.settings import Settings
from scrubjay.surfaces.mcp.tool import ToolContext
from scrubjay.surfaces.mcp.toolsets import TOOLSETS

PAGE = Path(__file__).parents[1] / "docs/how-to/code.md"
_PROGRAM = re.compile(r"^```python program[^\n]*\n(?P<program>.*?)^```$", re.MULTILINE | re.DOTALL)
KINDS = ("decision", "incident", "fact", "preference", "task")
TEAMS = ("shop", "billing", "search", "mobile")
PEOPLE = ("Ann", "Bob", "Carla", "Deniz")
_SAYS = {
    "decision": "decided to deploy on Thursdays, because the support of the customers is complete then",
    "incident": "found that the cache of the proxy was cold after the deploy, so that orders failed for ten minutes",
    "fact": "measured that the nightly import takes forty minutes and reads three million rows",
    "preference": "prefers a call to a long thread of mails when something is urgent",
    "task": "has to renew the certificate of the gateway before the end of the quarter",
}
_TARGET = 0.98


def team_memories(count: int) -> list[dict[str, Json]]:
    """Return invented memories of four teams, as entities."""
    entities: list[dict[str, Json]] = []
    for number in range(count):
        kind, team = KINDS[number % len(KINDS)], TEAMS[number // len(KINDS) % len(TEAMS)]
        person, other = PEOPLE[number % 4], PEOPLE[(number // 4 + 1) % 4]
        statement = f"{person} of the {team} team {_SAYS[kind]}."
        entities.append(
            {
                "name": f"{team}-{kind}-{number:04}", "entityType": kind,
                "observations": [statement, f"{other} learned of it on day {number % 28 + 1}."],
            }
        )  # fmt: skip
    return entities


@dataclass(kw_only=True)
class Agent:
    """A model that calls tools: it pays for the calls that it writes, and for the results that it reads."""

    context: ToolContext
    calls: int = 0
    tokens: int = 0

    async def call(self, toolset: str, name: str, **arguments: Json) -> dict[str, Json]:
        """Call a tool, and count both sides."""
        tool = next(tool for tool in TOOLSETS[toolset] if tool.name == name)
        result = await tool.call(self.context, arguments)
        self.calls += 1
        self.tokens += count_tokens(json.dumps({"name": name, "arguments": arguments}))
        self.tokens += count_tokens(result.text or json.dumps(result.structured, ensure_ascii=False))
        return result.structured


async def compare(memories: int, *, kinds: Sequence[str] = KINDS) -> tuple[Agent, Agent]:
    """Ask which people were together in how many incidents: by reading all of them, and by a recipe of the page.

    Only the memories of some `kinds` are stored, where the time to store the others matters more.
    """
    with tempfile.TemporaryDirectory(prefix="scrubjay-") as folder:
        async with open_engine(Settings(home=folder, embedder="none", vector_index="scan")) as engine:
            who = Caller(agent="benchmark")
            await fill(MemoryClient.over(engine, who), memories, kinds=kinds)
            reader, programmer = (Agent(context=ToolContext(engine=engine, who=who)) for _ in range(2))
            # Larger pages cost less, and no page is larger than this.
            question: dict[str, Json] = {
                "filters": {"kind": "incident"}, "detail": "full", "limit": 100, "max_tokens": 8_000,
            }  # fmt: skip
            page = await reader.call("core", "recall", **question)
            while cursor := page.get("cursor"):
                page = await reader.call("core", "recall", **question, cursor=cursor)
            programs = [block["program"] for block in _PROGRAM.finditer(PAGE.read_text(encoding="utf-8"))]
            program = next(program for program in programs if "pairs" in program)
            answer = await programmer.call("code", "run_code", code=program)
            assert answer["success"], answer
    return reader, programmer


async def fill(memory: MemoryClient, count: int, *, kinds: Sequence[str] = KINDS) -> None:
    """Store the invented memories."""
    # They are much alike, and conflicts between them are no subject here.
    await memory.set_rules(conflicts="off")
    entities = [entity for entity in team_memories(count) if entity["entityType"] in kinds]
    for start in range(0, len(entities), 200):
        await memory.create_entities(entities[start : start + 200])


def main() -> int:
    """Print the costs of both ways, and whether the program saves enough."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--memories", type=int, default=1_000)
    reader, programmer = asyncio.run(compare(parser.parse_args().memories))
    saved = 1 - programmer.tokens / reader.tokens
    print(f"| `recall` of all incidents, page by page | {reader.calls:,} | {reader.tokens:,} |")
    print(f"| `run_code` | {programmer.calls:,} | {programmer.tokens:,} |")
    print(f"tokens saved by the program: {saved:.2%}, at least {_TARGET:.0%}")
    return 0 if saved >= _TARGET else 1


if __name__ == "__main__":
    sys.exit(main())
