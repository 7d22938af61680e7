"""A client with a progress token gets progress; an abandoned call is cancelled, unless it writes."""

import asyncio
from collections.abc import Mapping

import anyio
import pytest
from tests.patience import PATIENCE
from tests.surfaces.mcp.mcp_server import ERAS, HELLO, READY, call, open_server, request

from scrubjay.model.memory import Json
from scrubjay.settings import Settings
from scrubjay.surfaces.mcp.tool import Tool, ToolContext, ToolResult
from scrubjay.surfaces.mcp.toolsets import pick
from scrubjay.surfaces.mcp.toolsets.schema import input_schema, output_schema

Reports = list[tuple[float, float | None, str | None]]


class BlockingTool:
    """A tool that waits until the test releases it, and notes how its call ended."""

    def __init__(self, *, read_only: bool) -> None:
        self.begun = asyncio.Event()
        self.release = asyncio.Event()
        self.ended: list[str] = []
        self.tool = Tool(
            name="work",
            title="W",
            description="W",
            input=input_schema(),
            output=output_schema(),
            call=self._call,
            read_only=read_only,
        )

    async def _call(self, _: ToolContext, __: Mapping[str, Json]) -> ToolResult:
        self.begun.set()
        try:
            await self.release.wait()
        except asyncio.CancelledError:
            self.ended.append("cancelled")
            raise
        self.ended.append("finished")
        return ToolResult(structured={})


@pytest.mark.parametrize("era", ERAS)
async def test_a_tool_tells_how_far_it_has_come(settings: Settings, era: str) -> None:
    reports: Reports = []
    enough, last = asyncio.Event(), asyncio.Event()

    async def count(context: ToolContext, _: Mapping[str, Json]) -> ToolResult:
        assert context.progress is not None
        for done in (1, 2, 2, 1):
            context.progress(done, 3)
        await asyncio.wait_for(enough.wait(), PATIENCE)
        context.progress(3, 3)
        return ToolResult(structured={})

    async def on_progress(progress: float, total: float | None, message: str | None) -> None:
        reports.append((progress, total, message))
        (last if progress == total else enough).set()

    tool = Tool(name="count", title="C", description="C", input=input_schema(), output=output_schema(), call=count)
    async with open_server(settings) as server, server.client(era, tools=(tool,)) as client:
        await client.call_tool("count", {}, progress_callback=on_progress)
        await asyncio.wait_for(last.wait(), PATIENCE)
    assert [total for _, total, _ in reports] == [3.0] * len(reports)
    assert [done for done, _, _ in reports] == sorted({done for done, _, _ in reports})
    assert reports[-1] == (3.0, 3.0, None)


@pytest.mark.parametrize("era", ERAS)
async def test_without_a_token_no_progress_is_sent(settings: Settings, era: str) -> None:
    seen: list[object] = []

    async def look(context: ToolContext, _: Mapping[str, Json]) -> ToolResult:
        seen.append(context.progress)
        return ToolResult(structured={})

    tool = Tool(name="look", title="L", description="L", input=input_schema(), output=output_schema(), call=look)
    async with open_server(settings) as server, server.client(era, tools=(tool,)) as client:
        await client.call_tool("look", {})
    assert seen == [None]


@pytest.mark.parametrize("era", ERAS)
async def test_a_long_call_that_says_nothing_is_heard_of_all_the_same(settings: Settings, era: str) -> None:
    work = BlockingTool(read_only=True)
    reports: Reports = []

    async def on_progress(progress: float, total: float | None, message: str | None) -> None:
        reports.append((progress, total, message))
        if len(reports) == 3:
            work.release.set()

    async with open_server(settings) as server, server.client(era, tools=(work.tool,), progress_seconds=0.01) as client:
        await client.call_tool("work", {}, progress_callback=on_progress)
    assert reports[:3] == [(1.0, None, "still at work"), (2.0, None, "still at work"), (3.0, None, "still at work")]


@pytest.mark.parametrize("era", ERAS)
@pytest.mark.parametrize("reads", [True, False])
async def test_a_cancelled_read_stops_and_a_cancelled_write_finishes(settings: Settings, era: str, reads: bool) -> None:
    work = BlockingTool(read_only=reads)
    async with open_server(settings) as server, server.client(era, tools=(*pick("core"), work.tool)) as client:
        async with anyio.create_task_group() as group:
            group.start_soon(client.call_tool, "work")
            await asyncio.wait_for(work.begun.wait(), PATIENCE)
            group.cancel_scope.cancel()
        # When the server answers a later request, it has read the cancellation.
        assert (await call(client, "recall"))["hits"] == []
        work.release.set()
        await server.wait_for_calls(0)
        assert work.ended == ["cancelled" if reads else "finished"]


@pytest.mark.parametrize("reads", [True, False])
async def test_a_client_that_is_gone_stops_reading_not_writing(settings: Settings, reads: bool) -> None:
    work = BlockingTool(read_only=reads)
    async with open_server(settings) as server, server.raw(tools=(work.tool,)) as raw:
        await raw.ask(HELLO)
        await raw.send(READY, request("tools/call", 1, name="work", arguments={}))
        await asyncio.wait_for(work.begun.wait(), PATIENCE)
        raw.served.cancel()
        await asyncio.wait([raw.served])
        work.release.set()
        await server.wait_for_calls(0)
        assert work.ended == ["cancelled" if reads else "finished"]
        raw.writer.transport.abort()
