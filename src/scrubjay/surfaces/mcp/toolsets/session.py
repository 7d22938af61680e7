"""`session`: one tool with the context for the start of a session."""

from collections.abc import Mapping, Sequence

from scrubjay.model.conflict import ConflictDetails
from scrubjay.model.memory import Json
from scrubjay.model.results import Context, ContextEntry
from scrubjay.model.timestamps import to_iso
from scrubjay.surfaces.mcp.arguments import Arguments
from scrubjay.surfaces.mcp.budget import MIN_TOKENS, cost_of, drop_empty, room_for
from scrubjay.surfaces.mcp.tool import StaticResource, Tool, ToolContext, ToolResult
from scrubjay.surfaces.mcp.toolsets.schema import LIST, TEXT, at_least, described, input_schema, output_schema

RESOURCE = "memory://session-context"
_RESOURCE_TOKENS = 1_500
# Both forms together cost more than twice the text, because of the ids. A context that does not fit is built again,
# shorter by this factor.
_SHORTER = 0.7
_MIN_TEXT_TOKENS = 20


async def session_context(context: ToolContext, arguments: Mapping[str, Json]) -> ToolResult:
    """Return the context of a session, with both forms within the budget."""
    args = Arguments(arguments)
    room = room_for(args.integer("max_tokens"))
    tokens = room
    while True:
        start = await context.memory.context(
            session=args.text("session"),
            project=args.text("project", context.project),
            session_hint=args.text("session_hint"),
            max_tokens=tokens,
        )
        structured = _structured(start)
        if cost_of(start.text, structured) <= room:
            return ToolResult(structured=structured, text=start.text)
        if tokens <= _MIN_TEXT_TOKENS:
            return ToolResult(structured={}, text=start.text)
        tokens = max(_MIN_TEXT_TOKENS, int(min(tokens, start.tokens) * _SHORTER))


async def read_resource(context: ToolContext) -> str:
    """Return the context as Markdown."""
    return (await context.memory.context(project=context.project, max_tokens=_RESOURCE_TOKENS)).text


def _structured(start: Context) -> dict[str, Json]:
    return drop_empty(
        {
            "profile": _entries(start.profile),
            "pinned": _entries(start.pinned),
            "decisions": _entries(start.decisions),
            "changed": _entries(start.changed),
            "reminders": _entries(start.reminders),
            "conflicts": [_conflict_fields(conflict) for conflict in start.conflicts],
            "last_session": start.last_session,
            "recent": _entries(start.recent),
            # The text says it, if there is one.
            "left_out": [] if start.text else [*start.left_out],
        }
    )


def _entries(entries: Sequence[ContextEntry]) -> list[Json]:
    return [
        drop_empty(
            {"id": entry.id, "name": entry.name, "date": to_iso(entry.date), "why": entry.why, "mark": entry.mark}
        )
        for entry in entries
    ]


def _conflict_fields(conflict: ConflictDetails) -> dict[str, Json]:
    return drop_empty(
        {
            "id": conflict.id,
            "type": conflict.type.value,
            "memory": conflict.memory.name,
            "mark": conflict.memory.mark,
            "other": conflict.other.name,
            "other_mark": conflict.other.mark,
            "suggested_action": conflict.suggested_action.value,
        }
    )


TOOLS = (
    Tool(
        name="session_context",
        title="Session context",
        description="Call once, first thing in a session: what the user wants, pinned memories, decisions, "
        "reminders due, what others changed, open conflicts and what the last session said.",
        input=input_schema(
            session=described(TEXT, "yours, so that it is not shown as the last"),
            project=TEXT,
            session_hint=described(TEXT, "shown as the last session"),
            max_tokens=at_least(MIN_TOKENS),
        ),
        output=output_schema(
            profile=LIST,
            pinned=LIST,
            decisions=LIST,
            changed=LIST,
            reminders=LIST,
            conflicts=LIST,
            last_session=TEXT,
            recent=LIST,
            left_out=LIST,
        ),
        call=session_context,
        read_only=True,
    ),
)

CONTEXT = StaticResource(
    uri=RESOURCE,
    name="session-context",
    title="Session context",
    description="To know before beginning: profile, pinned, decisions, reminders, changes, conflicts, last session",
    mime_type="text/markdown",
    read=read_resource,
)
