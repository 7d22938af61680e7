"""`curation`: tools that keep a space in order."""

from collections.abc import Mapping

from scrubjay.errors import InvalidInput
from scrubjay.model.curation import CurationChange, CurationReport, RunState
from scrubjay.model.memory import Json
from scrubjay.model.requests import ConfirmRequest, CurateRequest
from scrubjay.surfaces.mcp.arguments import Arguments, arguments_for
from scrubjay.surfaces.mcp.budget import shorten
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

_LAST = "last"
# The text names so many changes; the structured result may have more.
_MAX_ROWS = 20
_ROW_TOKENS = 60


async def curate(context: ToolContext, arguments: Mapping[str, Json]) -> ToolResult:
    """Plan, apply, report or take back a run of curation."""
    args = Arguments(arguments)
    undo, last = args.text("undo"), args.flag("last")
    verb = {name: value for name, value in arguments.items() if name not in ("undo", "last")}
    if ((undo or last) and verb.keys() - {"limit"}) or (undo and last):
        raise InvalidInput("undo and last stand alone", hint="Leave the other arguments out", field="undo")
    request = CurateRequest.of(**verb)
    if not undo and not last:
        return _render(await context.memory.call(request, progress=context.progress))
    if last or undo == _LAST:
        runs = await context.memory.curations(limit=1, changes=request.limit)
        if not runs:
            return ToolResult(structured={"state": "none"}, text="this space has not been curated yet")
        if last:
            return _render(runs[0])
        undo = runs[0].run
    undone = await context.memory.undo(run=undo)
    lines = [f"undone: {len(undone.done):,} memories", *(f"skipped: {why}" for why in undone.skipped[:_MAX_ROWS])]
    structured: dict[str, Json] = {
        "run": undone.run, "state": RunState.UNDONE.value, "done": len(undone.done), "skipped": len(undone.skipped),
        "problems": [*undone.skipped],
    }  # fmt: skip
    return render_result(lines, structured, ())


def _render(report: CurationReport) -> ToolResult:
    """Return a report: its counts and first changes are in the text too, for clients that show nothing else."""
    summary = (
        f"planned {report.planned:,} changes" if report.dry_run else f"{report.state.value}: {report.done:,} changes"
    )
    counts = [
        f"{job}: {', '.join(f'{count:,} {step}' for step, count in steps.items())}"
        for job, steps in report.counts.items()
    ]
    rows = [shorten(_row(change), tokens=_ROW_TOKENS) for change in report.changes[:_MAX_ROWS]]
    more = report.planned - len(rows)
    rest = [f"and {more:,} more"] if rows and more > 0 else []
    end = [f"undo={report.run} takes it back"] if report.has_versions and not report.dry_run else []
    return render_result([summary, *counts, *report.notes, *rows, *rest, *end], fields_of(report), report.problems)


def _row(change: CurationChange) -> str:
    names = ", ".join(name or memory_id for name, memory_id in zip(change.names, change.ids, strict=True))
    outcome = f" ({change.outcome})" if change.outcome else ""
    return f"- {change.job}: {change.action} {names}: {change.why}{outcome}"


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
            CurateRequest, last=described(FLAG, "report of the last run"),
            undo=described(TEXT, "run to take back, or `last`"),
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
