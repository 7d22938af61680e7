"""`items`: texts with metadata, stored and recalled. Each user's items have a space of their own."""

from collections.abc import Mapping
from dataclasses import replace

from scrubjay.model.memory import Json
from scrubjay.model.requests import PruneRequest
from scrubjay.model.timestamps import to_iso
from scrubjay.surfaces.mcp.arguments import Arguments
from scrubjay.surfaces.mcp.tool import Tool, ToolContext, ToolResult
from scrubjay.surfaces.mcp.toolsets.render import (
    AGENT_SOURCE,
    TextFields,
    render_remembered,
    render_result,
    render_texts,
)
from scrubjay.surfaces.mcp.toolsets.schema import (
    FLAG,
    INTEGER,
    LIST,
    OBJECT,
    TEXT,
    argument_schemas,
    at_least,
    described,
    input_schema,
    output_schema,
)

_ITEMS = 5
_DAYS = 30
_LIMITS = ("days", "keep", "keep_bytes", "clusters")
_OPTIONS = ("include", "dry_run")
_NAMES = {"space": "session_user_id", "limit": "k"}
_USER = described(TEXT, "whose items; default: the caller's")
_TEXT_FIELDS = TextFields(describe=lambda _, memory: {"metadata": dict(memory.metadata)}, limit=_NAMES["limit"])


async def memory_store(context: ToolContext, arguments: Mapping[str, Json]) -> ToolResult:
    """Store a text with its metadata."""
    args = Arguments(arguments, _NAMES)
    context = _context_of(context, args.text("space"))
    done = await context.memory.remember(
        args.text("text"),
        metadata=args.mapping("metadata"),
        project=context.project,
        source=AGENT_SOURCE,
    )
    if not done.id:
        return render_remembered(done)
    (memory,) = (await context.memory.read(done.id)).memories
    structured: dict[str, Json] = {"id": done.id, "action": done.action, "created_at": to_iso(memory.created_at)}
    return render_result([f"{done.action}: {done.id}"], {**structured, "warnings": [*done.warnings]}, done.warnings)


async def memory_recall(context: ToolContext, arguments: Mapping[str, Json]) -> ToolResult:
    """Return the items nearest to a question."""
    args = Arguments(arguments, _NAMES)
    context = _context_of(context, args.text("space"))
    count = args.integer("limit") or _ITEMS
    recalled = await context.memory.recall(
        args.text("query"),
        limit=count,
        contains=args.text("contains"),
        detail="full",
        from_project=context.project,
    )
    return render_texts(context, recalled, _TEXT_FIELDS, count=count)


async def memory_prune(context: ToolContext, arguments: Mapping[str, Json]) -> ToolResult:
    """Move old items to the trash, and merge those that say the same."""
    args = Arguments(arguments, _NAMES)
    context = _context_of(context, args.text("space"))
    limits = args.only(_LIMITS)
    options = {"days": _DAYS, **args.only(_OPTIONS)} if not any(limits.values()) else limits | args.only(_OPTIONS)
    report = await context.memory.call(PruneRequest.of(**options), progress=context.progress)
    verb = "would prune" if report.dry_run else "pruned"
    count = report.planned if report.dry_run else report.done
    structured: dict[str, Json] = {
        "pruned": count, "dry_run": report.dry_run, "run": report.run,
        "items": [
            {"ids": [*change.ids], "action": change.action, "why": change.why, "outcome": change.outcome}
            for change in report.changes
        ],
    }  # fmt: skip
    lines = [f"- {change.action} {', '.join(change.names)}: {change.why}" for change in report.changes]
    end = [f"run {report.run}: undo takes it back"] if report.run and report.has_versions else []
    return render_result([f"{verb} {count:,} items", *lines, *report.notes, *end], structured, report.problems)


TOOLS = (
    Tool(
        name="memory_store",
        title="Store an item",
        description="Store a text that will matter in later sessions, with metadata such as tags or its source.",
        input=input_schema("text", text=TEXT, metadata=OBJECT, session_user_id=_USER),
        output=output_schema(id=TEXT, action=TEXT, created_at=TEXT, warnings=LIST),
        call=memory_store,
        names=_NAMES,
        verbs={"remember": ""},
    ),
    Tool(
        name="memory_recall",
        title="Recall items",
        description="The k stored texts that best answer a query, by meaning and by words.",
        input=input_schema(
            "query",
            query=TEXT,
            k=at_least(1),
            contains=described(TEXT, "only texts that contain this, in upper or lower case"),
            session_user_id=_USER,
        ),
        output=output_schema(results=LIST, degraded=LIST),
        call=memory_recall,
        read_only=True,
        names=_NAMES,
        verbs={"recall": ""},
    ),
    Tool(
        name="memory_prune",
        title="Prune items",
        description="Move items that were not used for so many days to the trash, from which they can be restored; "
        "keep leaves the best, clusters merges those that say the same. Pinned, linked and the user's own are spared.",
        input=input_schema(
            days=described(at_least(1), "default: 30, if no other limit is given"),
            keep=at_least(1),
            keep_bytes=described(at_least(1), "keep the best, up to so many bytes of text"),
            clusters=FLAG,
            include=argument_schemas(PruneRequest)["include"],
            dry_run=FLAG,
            session_user_id=_USER,
        ),
        output=output_schema(pruned=INTEGER, dry_run=FLAG, run=TEXT, items=LIST),
        call=memory_prune,
        names=_NAMES,
        verbs={"prune": ""},
    ),
)


def _context_of(context: ToolContext, user: str) -> ToolContext:
    """Return the context of a user; raises NotAllowed if the caller may not use that space."""
    if not user:
        return context
    # Only this space, even if it is the caller's own: the items of two users never mix.
    return replace(context, who=replace(context.who, space=context.grant.require(user), also=()))
