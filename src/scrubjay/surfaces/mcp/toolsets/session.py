"""`session`: one tool that gives an agent its start."""

from collections.abc import Mapping, Sequence

from scrubjay.model.conflict import ConflictDetails
from scrubjay.model.memory import Json
from scrubjay.model.results import Context, ContextEntry
from scrubjay.model.timestamps import to_iso
from scrubjay.surfaces.mcp.arguments import Given
from scrubjay.surfaces.mcp.budget import LEAST_TOKENS, cost_of, lean, room_for
from scrubjay.surfaces.mcp.static_resources import Fixed
from scrubjay.surfaces.mcp.tool import Answer, Tool, ToolContext
from scrubjay.surfaces.mcp.toolsets.schema import LIST, TEXT, gives, least, says, takes

RESOURCE = "memory://session-context"
_RESOURCE_TOKENS = 1_500
# An answer in two forms costs more than twice its text: ids are dear. What does not fit is asked for again, shorter.
_SHORTER = 0.7
_LEAST_TEXT = 20


async def session_context(context: ToolContext, arguments: Mapping[str, Json]) -> Answer:
    """The start of a session, within the budget in both forms."""
    given = Given(arguments)
    room = room_for(given.whole("max_tokens"))
    tokens = room
    while True:
        found = await context.memory.context(
            session=given.text("session"), project=given.text("project", context.project), max_tokens=tokens
        )
        structured = _structured(found)
        if cost_of(found.text, structured) <= room:
            return Answer(structured=structured, text=found.text)
        if tokens <= _LEAST_TEXT:
            return Answer(structured={}, text=found.text)
        tokens = max(_LEAST_TEXT, int(min(tokens, found.tokens) * _SHORTER))


async def read_resource(context: ToolContext) -> str:
    """The same as Markdown."""
    return (await context.memory.context(project=context.project, max_tokens=_RESOURCE_TOKENS)).text


def _structured(found: Context) -> dict[str, Json]:
    return lean(
        {
            "profile": _noted(found.profile),
            "pinned": _noted(found.pinned),
            "reminders": _noted(found.reminders),
            "conflicts": [_conflict(conflict) for conflict in found.conflicts],
            "last_session": found.last_session,
            "recent": _noted(found.recent),
            # The text says it, if there is one.
            "left_out": [] if found.text else [*found.left_out],
        }
    )


def _noted(notes: Sequence[ContextEntry]) -> list[Json]:
    return [lean({"id": note.id, "name": note.name, "date": to_iso(note.date), "why": note.why}) for note in notes]


def _conflict(one: ConflictDetails) -> dict[str, Json]:
    return {
        "id": one.id,
        "type": one.type.value,
        "memory": one.memory.name,
        "other": one.other.name,
        "suggested_action": one.suggested_action.value,
    }


TOOLS = (
    Tool(
        name="session_context",
        title="Session context",
        description="Call once, first thing in a session: profile, pinned memories, reminders due, open conflicts and "
        "what the last session said.",
        input=takes(
            session=says(TEXT, "yours, so that it is not told as the last"),
            project=TEXT,
            max_tokens=least(LEAST_TOKENS),
        ),
        output=gives(
            profile=LIST, pinned=LIST, reminders=LIST, conflicts=LIST, last_session=TEXT, recent=LIST, left_out=LIST
        ),
        call=session_context,
        reads=True,
    ),
)

CONTEXT = Fixed(
    uri=RESOURCE,
    name="session-context",
    title="Session context",
    description="What to know before beginning: profile, pinned, reminders, conflicts, the last session",
    mime_type="text/markdown",
    read=read_resource,
)
