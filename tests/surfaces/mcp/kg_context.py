"""Calls the tools of `kg` over an engine, as the server does."""

from collections.abc import AsyncGenerator, Awaitable, Callable, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import cast

from tests.surfaces.backend import database_of, drop_database_of

from scrubjay.app import open_engine
from scrubjay.errors import ScrubjayError
from scrubjay.model.caller import Caller
from scrubjay.model.memory import Json
from scrubjay.settings import Settings
from scrubjay.surfaces.mcp.arguments import ArgumentChecker
from scrubjay.surfaces.mcp.tool import ToolContext
from scrubjay.surfaces.mcp.toolsets.kg import TOOLS

_TOOLS = {tool.name: tool for tool in TOOLS}


@dataclass(frozen=True, slots=True, kw_only=True)
class Reply:
    """The result of a tool."""

    text: str
    structured: dict[str, Json] | None = None
    is_error: bool = False


CallTool = Callable[[str, Mapping[str, Json]], Awaitable[Reply]]


@asynccontextmanager
async def open_context(folder: Path, *, space: str = "default") -> AsyncGenerator[ToolContext]:
    """Open the context of a store of its own, without an embedder."""
    settings = Settings(
        home=str(folder), embedder="none", vector_index="scan", readers=1, database_url=database_of(folder)
    )
    try:
        async with open_engine(settings) as engine:
            yield ToolContext(engine=engine, who=Caller(space=space, agent="tester"))
    finally:
        drop_database_of(folder)


def make_caller(context: ToolContext) -> CallTool:
    """Return a function that checks arguments and calls a tool; an error becomes a reply."""

    async def call_tool(name: str, arguments: Mapping[str, Json]) -> Reply:
        tool = _TOOLS[name]
        try:
            result = await tool.call(context, ArgumentChecker(tool.input, tool=name).check(arguments))
        except ScrubjayError as error:
            return Reply(text=str(error), is_error=True)
        ArgumentChecker(tool.output, tool=name).check(result.structured)
        return Reply(text=result.text, structured=result.structured, is_error=result.is_error)

    return call_tool


async def all_pages(call_tool: CallTool, name: str, arguments: Mapping[str, Json]) -> dict[str, Json]:
    """Return the result of a reading tool with all its pages."""
    whole: dict[str, list[Json]] = {"entities": [], "relations": []}
    page_arguments = dict(arguments)
    for _ in range(1_000):
        structured = (await call_tool(name, page_arguments)).structured
        assert structured is not None
        for key in whole:
            whole[key] += cast("list[Json]", structured[key])
        if "nextCursor" not in structured:
            return cast("dict[str, Json]", whole)
        page_arguments["cursor"] = structured["nextCursor"]
    raise AssertionError("the pages do not end")
