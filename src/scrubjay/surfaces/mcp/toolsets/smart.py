"""`smart`: memories with title, content, type and tags; it decides whether a memory is new or continues another."""

from collections.abc import Mapping, Sequence

from scrubjay.errors import InvalidInput, ScrubjayError
from scrubjay.model.conflict import ConflictDetails, ConflictSide, ConflictType, DuplicateGroup
from scrubjay.model.memory import Json, Memory
from scrubjay.model.requests import RecallRequest, RememberRequest, ReviseRequest
from scrubjay.model.results import Hit
from scrubjay.surfaces.mcp.arguments import Arguments, arguments_for
from scrubjay.surfaces.mcp.budget import DEFAULT_TOKENS, ListEntry, cost_of, drop_empty, fit, room_for, shorten
from scrubjay.surfaces.mcp.tool import Tool, ToolContext, ToolResult
from scrubjay.surfaces.mcp.toolsets.render import (
    AGENT_SOURCE,
    HEADING,
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
from scrubjay.writing.tags import warn_few_tags
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
    done = warn_few_tags(done, request, rules=await context.memory.rules())
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
    request = RecallRequest.of(**values, detail="full", from_project=context.project)
    return render_texts(context, await context.memory.call(request), _TEXT_FIELDS, count=request.limit)


async def intelligence_detect_duplicates(context: ToolContext, arguments: Mapping[str, Json]) -> ToolResult:
    """Return groups of memories that say the same, and pairs that share a statement, the surest first.

    `merge` joins the groups, and the pairs that are safe to join.
    """
    args = Arguments(arguments)
    ref, threshold = args.text("id"), args.number("threshold", 0.0)
    most = args.integer("limit") or _DUPLICATES
    same = await context.memory.duplicates(id=ref, threshold=threshold, merge=args.flag("merge"), limit=most)
    remarks = [] if ref else await _scan(context)
    duplicates = [
        conflict
        for conflict in await context.memory.conflicts(id=ref, limit=_MAX_CONFLICTS)
        if conflict.type is ConflictType.DUPLICATE and conflict.confidence >= threshold
    ]
    duplicates.sort(key=lambda conflict: conflict.confidence, reverse=True)
    entries = [
        _duplicate_entry(conflict, await _merge(context, conflict) if args.flag("merge") else {})
        for conflict in duplicates[:most]
    ]
    groups = [_group_entry(group, run=same.run) for group in same.groups]
    remarks += same.warnings
    return _render_duplicates(groups, entries, count=len(duplicates), remarks=remarks)


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


def _group_entry(group: DuplicateGroup, *, run: str) -> ListEntry:
    names = " = ".join(
        f"{memory.name} ({memory.mark})" if memory.mark else memory.name for memory in (group.remaining, *group.others)
    )
    head = f"- {group.confidence:.2f} {names}{', merged' if run else ''}"
    members: list[Json] = [
        {"id": memory.id, "name": memory.name, "similarity": memory.similarity} for memory in group.others
    ]
    merged: dict[str, Json] = {"run": run} if run else {}
    return ListEntry(
        structured={
            "confidence": group.confidence, "kept": group.remaining.id, "name": group.remaining.name,
            "says": shorten(group.remaining.statement, tokens=_STATEMENT_TOKENS), "others": members, **merged,
        },
        line=f"{head}: {shorten(' '.join(group.remaining.statement.split()), tokens=_STATEMENT_TOKENS)}",
        short=head,
    )  # fmt: skip


def _side_fields(side: ConflictSide) -> dict[str, Json]:
    fields: dict[str, Json] = {"id": side.id, "name": side.name, "mark": side.mark}
    return drop_empty(fields) | {"says": shorten(side.statement, tokens=_STATEMENT_TOKENS)}


def _render_duplicates(
    groups: Sequence[ListEntry], entries: Sequence[ListEntry], *, count: int, remarks: Sequence[str]
) -> ToolResult:
    room = room_for(DEFAULT_TOKENS) - cost_of("\n".join(remarks)) - _NOTE_TOKENS
    shown_groups = fit(groups, room=room // 2)
    shown = fit(entries, room=room - sum(cost_of(entry.line) for entry in shown_groups))
    lines = [HEADING] if shown or shown_groups else ["No duplicates found."]
    lines += ["Memories that say the same:", *(entry.line for entry in shown_groups)] if shown_groups else []
    lines += ["Statements that two memories share:", *(entry.line for entry in shown)] if shown else []
    if len(shown) < count or len(shown_groups) < len(groups):
        lines.append(f"({len(shown):,} of {count:,} are shown: ask with the id of one memory, or a higher threshold)")
    structured: dict[str, Json] = {
        "groups": [entry.structured for entry in shown_groups],
        "duplicates": [entry.structured for entry in shown],
        "count": count,
    }
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
        description="Groups of memories that say the same, and pairs that share a statement, of all memories or of "
        "one. merge joins groups, and pairs of which one says nothing else; it can be undone.",
        input=input_schema(
            id=described(TEXT, "id, name or title"),
            threshold=described({"type": "number", "minimum": 0, "maximum": 1}, "least confidence"),
            limit=at_least(1),
            merge=FLAG,
        ),
        output=output_schema(groups=LIST, duplicates=LIST, count=INTEGER),
        call=intelligence_detect_duplicates,
    ),
)
