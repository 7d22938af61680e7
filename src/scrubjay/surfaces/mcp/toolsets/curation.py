"""`curation`: tools that keep a space in order."""

from collections.abc import Mapping

from scrubjay.errors import InvalidInput
from scrubjay.model.memory import Json
from scrubjay.model.requests import ConfirmRequest, CurateRequest
from scrubjay.surfaces.mcp.arguments import Arguments, arguments_for
from scrubjay.surfaces.mcp.tool import Tool, ToolContext, ToolResult
from scrubjay.surfaces.mcp.toolsets.render import fields_of, render_result
from scrubjay.surfaces.mcp.toolsets.schema import (
    FLAG,
    INTEGER,
    LIST,
    OBJECT,
    TEXT,
    described,
    output_schema,
    verb_schema,
)
from scrubjay.surfaces.mcp.toolsets.write import render_outcome


async def curate(context: ToolContext, arguments: Mapping[str, Json]) -> ToolResult:
    """Plan, apply, report or take back a run of curation."""
    args = Arguments(arguments)
    undo, last = args.text("undo"), args.flag("last")
    verb = {name: value for name, value in arguments.items() if name not in ("undo", "last")}
    if ((undo or last) and verb) or (undo and last):
        raise InvalidInput("undo and last stand alone", hint="Leave the other arguments out", field="undo")
    if undo:
        undone = await context.memory.undo(run=undo)
        return render_result([f"undone: {len(undone.done):,} memories"], fields_of(undone), ())
    if last:
        runs = await context.memory.curations(limit=1)
        if not runs:
            return ToolResult(structured={"state": "none"}, text="this space has not been curated yet")
        report = runs[0]
    else:
        report = await context.memory.call(CurateRequest.of(**verb), progress=context.progress)
    summary = (
        f"planned {report.planned:,} changes" if report.dry_run else f"{report.state.value}: {report.done:,} changes"
    )
    return render_result([summary, *report.notes], fields_of(report), report.problems)


async def confirm(context: ToolContext, arguments: Mapping[str, Json]) -> ToolResult:
    """Confirm that memories still hold."""
    request = ConfirmRequest.of(**arguments_for(ConfirmRequest, arguments))
    return render_outcome(await context.memory.call(request))


TOOLS = (
    Tool(
        name="curate",
        title="Curate",
        description="Run the jobs that keep the memory in order, such as moving unused memories to another tier. "
        "Show the user a dry_run first.",
        input=verb_schema(
            CurateRequest, last=described(FLAG, "report of the last run"), undo=described(TEXT, "run to take back")
        ),
        output=output_schema(
            run=TEXT, state=TEXT, planned=INTEGER, done=INTEGER, skipped=INTEGER, counts=OBJECT, changes=LIST,
            problems=LIST,
        ),
        call=curate,
        verbs={"curate": "", "curations": "with last", "undo": "with undo"},
    ),
    Tool(
        name="confirm",
        title="Confirm",
        description="Confirm that memories still hold: their relevance, which falls with time, starts again.",
        input=verb_schema(ConfirmRequest, but=("filter",)),
        output=output_schema(done=LIST, count=INTEGER, missing=LIST),
        call=confirm,
        verbs={"confirm": ""},
    ),
)  # fmt: skip
