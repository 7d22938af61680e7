"""The tools of `kg` at a desk over an engine, asked as a server would ask them."""

from collections.abc import AsyncGenerator, Awaitable, Callable, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import cast

from tests.surfaces.backend import database_of, drop_database_of

from scrubjay.app import open_engine
from scrubjay.errors import ScrubjayError
from scrubjay.model.draft import Caller
from scrubjay.model.memory import Json
from scrubjay.settings import Settings
from scrubjay.surfaces.mcp.arguments import Checker
from scrubjay.surfaces.mcp.tool import ToolContext
from scrubjay.surfaces.mcp.toolsets.kg import TOOLS

_TOOLS = {tool.name: tool for tool in TOOLS}


@dataclass(frozen=True, slots=True, kw_only=True)
class Heard:
    """What a tool answered."""

    text: str
    structured: dict[str, Json] | None = None
    is_error: bool = False


Ask = Callable[[str, Mapping[str, Json]], Awaitable[Heard]]


@asynccontextmanager
async def a_desk(folder: Path, *, space: str = "default") -> AsyncGenerator[ToolContext]:
    """A desk over a store of its own, without a model."""
    settings = Settings(
        home=str(folder), embedder="none", vector_index="scan", readers=1, database_url=database_of(folder)
    )
    try:
        async with open_engine(settings) as engine:
            yield ToolContext(engine=engine, who=Caller(space=space, agent="tester"))
    finally:
        drop_database_of(folder)


def asking(context: ToolContext) -> Ask:
    """Asks the tools at a desk: arguments are checked first, and an error becomes an answer."""

    async def ask(name: str, arguments: Mapping[str, Json]) -> Heard:
        tool = _TOOLS[name]
        try:
            answer = await tool.call(context, Checker(tool.input, of=name).check(arguments))
        except ScrubjayError as error:
            return Heard(text=str(error), is_error=True)
        Checker(tool.output, of=name).check(answer.structured)
        return Heard(text=answer.text, structured=answer.structured, is_error=answer.is_error)

    return ask


async def all_pages(ask: Ask, name: str, arguments: Mapping[str, Json]) -> dict[str, Json]:
    """The answer of a reading tool with all its pages put together."""
    whole: dict[str, list[Json]] = {"entities": [], "relations": []}
    asked = dict(arguments)
    for _ in range(1_000):
        structured = (await ask(name, asked)).structured
        assert structured is not None
        for key in whole:
            whole[key] += cast("list[Json]", structured[key])
        if "nextCursor" not in structured:
            return cast("dict[str, Json]", whole)
        asked["cursor"] = structured["nextCursor"]
    raise AssertionError("the pages do not end")
