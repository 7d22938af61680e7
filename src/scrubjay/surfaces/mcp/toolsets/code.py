"""`code`: programs that compute over the memory, so that a model reads the answer and not the memories."""

from collections.abc import Mapping

from scrubjay.model.code import CodeResult
from scrubjay.model.memory import Json
from scrubjay.model.requests import RunCodeRequest
from scrubjay.rpc.codec import to_json
from scrubjay.surfaces.mcp.arguments import Arguments
from scrubjay.surfaces.mcp.budget import MAX_TOKENS, drop_empty, room_for
from scrubjay.surfaces.mcp.tool import Tool, ToolContext, ToolResult
from scrubjay.surfaces.mcp.toolsets.schema import FLAG, INTEGER, NUMBER, TEXT, output_schema, verb_schema

ABOUT = (
    "Run Python beside the memory and get only its result: the variable result, or the last line. "
    "Functions, called without await: search_nodes(query, limit up to 10000), recall, read, remember, relate, history, "
    "create_entities, update_entity, diff, revert, branch, commit, get_status, "
    "filter_by_confidence(results, threshold), summarize_results(results), read_file(name), write_file(name, text), "
    "save_skill(name, function, description), load_skill(name), list_skills(); functions() lists all. "
    "Each has a variant with _many for a list. "
    "Modules: json, math, re, datetime, statistics, collections, itertools. "
    "No yield, no inheritance; call memory in loops, not in map or sort keys."
)
"""What a model must know to write a program that works the first time."""
# The result is there twice, as fields and as text; the other fields take some tokens too.
_OTHER_FIELDS = 100


async def run_code(context: ToolContext, arguments: Mapping[str, Json]) -> ToolResult:
    """Run a program, or read on in a stored result."""
    args = Arguments(arguments)
    fields = {**arguments, "max_tokens": _budget(args.integer("max_tokens"))}
    return _rendered(await context.memory.call(RunCodeRequest.of(**fields)))


async def execute_code(context: ToolContext, arguments: Mapping[str, Json]) -> ToolResult:
    """Run a program; another one reads the rest of a result that does not fit."""
    answer = await context.memory.call(RunCodeRequest.of(**{**arguments, "max_tokens": _budget(MAX_TOKENS)}))
    rendered = _rendered(answer)
    if answer.next is None:
        return rendered
    note = f"The first {answer.next:,} of {answer.total:,}; load_result({answer.handle!r}) in a program returns all"
    return ToolResult(structured={**rendered.structured, "note": note})


def _budget(max_tokens: Json) -> int:
    return (room_for(max_tokens) - _OTHER_FIELDS) // 2


def _rendered(answer: CodeResult) -> ToolResult:
    """Return an answer without its empty fields, except those that say that there is nothing."""
    fields = to_json(answer)
    assert isinstance(fields, dict)
    always = ("success", "result", "execution_time_ms", "memory_used_mb") if answer.success else ("success",)
    return ToolResult(structured={**drop_empty(fields), **{name: fields[name] for name in always}})


OUTPUT: dict[str, dict[str, Json]] = {
    "result": {
        "anyOf": [{"type": kind} for kind in ("object", "array", "string", "number", "boolean", "null")],
    },
    "stdout": TEXT, "line": INTEGER, "execution_time_ms": NUMBER, "memory_used_mb": NUMBER,
    "calls": INTEGER, "run": TEXT, "handle": TEXT, "total": INTEGER, "next": INTEGER,
}  # fmt: skip

TOOLS = (
    Tool(
        name="run_code",
        title="Run code",
        description=f"{ABOUT} A result that is too large is stored: handle and offset read on.",
        input=verb_schema(RunCodeRequest),
        output=output_schema(success=FLAG, error=TEXT, hint=TEXT, **OUTPUT),
        call=run_code,
        verbs={"run_code": ""},
    ),
)
