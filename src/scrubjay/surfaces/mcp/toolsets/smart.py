"""`smart`: memories with title, content, type and tags; it decides whether a memory is new or continues another."""

from collections.abc import Mapping, Sequence

from scrubjay.errors import InvalidInput, ScrubjayError
from scrubjay.model.conflict import ConflictDetails, ConflictSide, ConflictType
from scrubjay.model.memory import Json, Memory
from scrubjay.model.requests import RecallRequest, RememberRequest, ReviseRequest
from scrubjay.model.results import Hit
from scrubjay.surfaces.mcp.arguments import Arguments, arguments_for
from scrubjay.surfaces.mcp.budget import DEFAULT_TOKENS, ListEntry, cost_of, drop_empty, fit, room_for, shorten
from scrubjay.surfaces.mcp.tool import Tool, ToolContext, ToolResult
from scrubjay.surfaces.mcp.toolsets.render import (
    AGENT_SOURCE,
    HEADING,
    UNLIMITED,
    TextFields,
    fields_of,
    render_remembered,
    render_result,
    render_texts,
)
from scrubjay.surfaces.mcp.toolsets.schema import (
    FLAG,
    INTEGER,
    LIST,
    NUMBER,
    OBJECT,
    TEXT,
    TEXTS,
    at_least,
    choice,
    described,
    input_schema,
    output_schema,
)
from scrubjay.writing.validate import INTENTS

_DUPLICATES = 10
_MAX_CONFLICTS = 1_000
# Above this number the server compares the memories in the background: a tool call cannot wait so long.
_MAX_SCANNED_NOW = 1_000
_STATEMENT_TOKENS = 60
# The tokens of the field names and the remarks.
_NOTE_TOKENS = 90
_NAMES = {"text": "content", "kind": "type"}


async def create_memory(context: ToolContext, arguments: Mapping[str, Json]) -> ToolResult:
    """Write a memory; like `smart_write`, it merges a text into the memory that it repeats."""
    return await smart_write(context, arguments)


async def smart_write(context: ToolContext, arguments: Mapping[str, Json]) -> ToolResult:
    """Write a new memory, or add to the one that the text continues."""
    values = {"project": context.project, **arguments_for(RememberRequest, arguments, _NAMES)}
    request = RememberRequest.of(**values, source=AGENT_SOURCE)
    done = await context.memory.call(request)
    return render_remembered(done, tags=request.tags, dry_run=request.dry_run)


async def update_memory(context: ToolContext, arguments: Mapping[str, Json]) -> ToolResult:
    """Change fields of a memory."""
    if not arguments.keys() & _MEMORY:
        raise InvalidInput("say what to change", hint=f"Give one of {', '.join(_MEMORY)}")
    values = arguments_for(ReviseRequest, arguments, _NAMES)
    done = await context.memory.call(ReviseRequest.of(**values, source=AGENT_SOURCE))
    return render_result([f"{done.action}: {done.name}, now version {done.version}"], fields_of(done), done.warnings)


async def search_memories(context: ToolContext, arguments: Mapping[str, Json]) -> ToolResult:
    """Return the memories that best answer a question, filtered by type and tags."""
    values = arguments_for(RecallRequest, arguments, _NAMES)
    request = RecallRequest.of(**values, max_tokens=UNLIMITED, detail="full", from_project=context.project)
    return render_texts(context, await context.memory.call(request), _TEXT_FIELDS, count=request.limit)


async def intelligence_detect_duplicates(context: ToolContext, arguments: Mapping[str, Json]) -> ToolResult:
    """Return pairs of memories that say the same, the surest first; `merge` joins those that are safe to join."""
    args = Arguments(arguments)
    ref, threshold = args.text("id"), args.number("threshold", 0.0)
    remarks = [] if ref else await _scan(context)
    duplicates = [
        conflict
        for conflict in await context.memory.conflicts(id=ref, limit=_MAX_CONFLICTS)
        if conflict.type is ConflictType.DUPLICATE and conflict.confidence >= threshold
    ]
    duplicates.sort(key=lambda conflict: conflict.confidence, reverse=True)
    entries = [
        _duplicate_entry(conflict, await _merge(context, conflict) if args.flag("merge") else {})
        for conflict in duplicates[: args.integer("limit") or _DUPLICATES]
    ]
    return _render_duplicates(entries, count=len(duplicates), remarks=remarks)


async def _scan(context: ToolContext) -> list[str]:
    """Compare all memories, now or in the background; return a remark in the latter case."""
    count = (await context.memory.status()).memories.get("live", 0)
    if count <= _MAX_SCANNED_NOW:
        await context.memory.scan_conflicts(limit=0, progress=context.progress)
        return []
    job = await context.memory.scan_later()
    return [f"(of {count:,} memories, these are the duplicates found before; job {job.id} compares the others)"]


async def _merge(context: ToolContext, conflict: ConflictDetails) -> dict[str, Json]:
    """Merge two memories that say the same; a failure is part of the result and does not stop the others."""
    try:
        done = await context.memory.resolve_conflict(conflict.id, strategy="auto")
    except ScrubjayError as error:
        return {"action": "left_pending", "why": error.message}
    if done.action == "merged":
        return {"action": done.action, "kept": done.kept, "run": done.run}
    return {"action": done.action, "why": done.why}


def _duplicate_entry(conflict: ConflictDetails, merged: dict[str, Json]) -> ListEntry:
    names = " = ".join(
        f"{side.name} ({side.mark})" if side.mark else side.name for side in (conflict.memory, conflict.other)
    )
    action = f", {merged['action']}" if merged else ""
    statement = shorten(" ".join(conflict.memory.statement.split()), tokens=_STATEMENT_TOKENS)
    head = f"- {conflict.confidence:.2f} {names}{action}"
    return ListEntry(
        structured={
            "conflict_id": conflict.id,
            "confidence": conflict.confidence,
            "memory": _side_fields(conflict.memory),
            "other": _side_fields(conflict.other),
            **merged,
        },
        line=f"{head}: {statement}",
        short=head,
    )


def _side_fields(side: ConflictSide) -> dict[str, Json]:
    fields: dict[str, Json] = {"id": side.id, "name": side.name, "mark": side.mark}
    return drop_empty(fields) | {"says": shorten(side.statement, tokens=_STATEMENT_TOKENS)}


def _render_duplicates(entries: Sequence[ListEntry], *, count: int, remarks: Sequence[str]) -> ToolResult:
    room = room_for(DEFAULT_TOKENS) - cost_of("\n".join(remarks)) - _NOTE_TOKENS
    shown = fit(entries, room=room)
    lines = [HEADING, *(entry.line for entry in shown)] if shown else ["No duplicates found."]
    if len(shown) < count:
        lines.append(f"({len(shown):,} of {count:,} are shown: ask with the id of one memory, or a higher threshold)")
    structured: dict[str, Json] = {"duplicates": [entry.structured for entry in shown], "count": count}
    return ToolResult(structured=structured, text="\n".join((*lines, *remarks)))


def _describe(_: Hit, memory: Memory) -> dict[str, Json]:
    return {
        "title": memory.label,
        "type": memory.kind,
        "tags": [*memory.tags],
        "project": memory.project,
        "flags": [*memory.flags],
    }


_TEXT_FIELDS = TextFields(describe=_describe, text="content")
_WRITTEN = output_schema(
    action=TEXT, id=TEXT, name=TEXT, version=INTEGER, merged_into=TEXT, similarity=NUMBER, similar=LIST, tags=LIST,
    warnings=LIST,
)  # fmt: skip
_SESSION = described(TEXT, "the same for a whole task")
_MEMORY = {
    "title": TEXT,
    "content": TEXT,
    "type": described(TEXT, "project, knowledge, reference, …"),
    "tags": TEXTS,
    "project": TEXT,
    "metadata": OBJECT,
}

TOOLS = (
    Tool(
        name="create_memory",
        title="Create a memory",
        description="Store what will matter in later sessions. Search first; duplicates are merged.",
        input=input_schema("title", "content", **_MEMORY, session_hint=_SESSION, idempotency_key=TEXT),
        output=_WRITTEN,
        call=create_memory,
        names=_NAMES,
        verbs={"remember": ""},
    ),
    Tool(
        name="update_memory",
        title="Update a memory",
        description="Change a memory by id, name or title; older versions are kept.",
        input=input_schema("id", id=TEXT, **_MEMORY, message=TEXT, expected_version=INTEGER),
        output=output_schema(action=TEXT, id=TEXT, name=TEXT, version=INTEGER, warnings=LIST),
        call=update_memory,
        names=_NAMES,
        verbs={"revise": ""},
    ),
    Tool(
        name="smart_write",
        title="Write smartly",
        description="Create a memory, or add to the one that it continues. intent new never merges; continue goes on "
        "with the memory of session_hint; auto decides.",
        input=input_schema(
            "title",
            "content",
            **_MEMORY,
            session_hint=_SESSION,
            intent=choice(*INTENTS),
            idempotency_key=TEXT,
            dry_run=FLAG,
        ),
        output=_WRITTEN,
        call=smart_write,
        names=_NAMES,
    ),
    Tool(
        name="search_memories",
        title="Search memories",
        description="The memories that best answer a query, by meaning and by words. Search before you write.",
        input=input_schema("query", query=TEXT, limit=at_least(1), type=TEXT, tags=TEXTS, project=TEXT, since=TEXT),
        output=output_schema(results=LIST),
        call=search_memories,
        read_only=True,
        names=_NAMES,
        verbs={"recall": ""},
    ),
    Tool(
        name="intelligence_detect_duplicates",
        title="Detect duplicates",
        description="Pairs of memories that say the same, of all memories or of one. merge joins a pair if one of "
        "them says nothing else; it can be undone.",
        input=input_schema(
            id=described(TEXT, "id, name or title"),
            threshold=described({"type": "number", "minimum": 0, "maximum": 1}, "least confidence"),
            limit=at_least(1),
            merge=FLAG,
        ),
        output=output_schema(duplicates=LIST, count=INTEGER),
        call=intelligence_detect_duplicates,
    ),
)
