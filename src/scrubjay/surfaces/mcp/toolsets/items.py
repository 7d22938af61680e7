"""`items`: texts with metadata, stored and recalled. The user whose items they are has a space of his own."""

from collections.abc import Mapping
from dataclasses import replace

from scrubjay.model.memory import Json, Method
from scrubjay.model.timestamps import to_iso
from scrubjay.surfaces.mcp.arguments import Given
from scrubjay.surfaces.mcp.tool import Answer, Tool, ToolContext
from scrubjay.surfaces.mcp.toolsets.render import remembered, told
from scrubjay.surfaces.mcp.toolsets.schema import LIST, OBJECT, TEXT, gives, least, says, takes
from scrubjay.surfaces.mcp.toolsets.texts import PLENTY, Wording, tell_texts

_ITEMS = 5
_USER = says(TEXT, "whose items; default: the caller's")
_WORDING = Wording(describe=lambda _, memory: {"metadata": dict(memory.metadata)}, limit="k")


async def memory_store(context: ToolContext, arguments: Mapping[str, Json]) -> Answer:
    """Store a text with its metadata."""
    given = Given(arguments)
    context = _context_of(context, given.text("session_user_id"))
    done = await context.memory.remember(
        given.text("text"),
        metadata=given.mapping("metadata"),
        project=context.project,
        source={"method": Method.AGENT.value},
    )
    if not done.id:
        return remembered(done)
    (memory,) = (await context.memory.read(done.id)).memories
    structured: dict[str, Json] = {"id": done.id, "action": done.action, "created_at": to_iso(memory.created_at)}
    return told([f"{done.action}: {done.id}"], {**structured, "warnings": [*done.warnings]}, done.warnings)


async def memory_recall(context: ToolContext, arguments: Mapping[str, Json]) -> Answer:
    """The items nearest to a question."""
    given = Given(arguments)
    context = _context_of(context, given.text("session_user_id"))
    count = given.whole("k") or _ITEMS
    found = await context.memory.recall(given.text("query"), limit=count, max_tokens=PLENTY, detail="full")
    # What is pinned is told with every answer; here only where there is a place left for it.
    return tell_texts(context, [*found.hits, *found.pinned][:count], _WORDING, is_more=bool(found.cursor))


TOOLS = (
    Tool(
        name="memory_store",
        title="Store an item",
        description="Store a text that will matter in later sessions, with metadata such as tags or its source.",
        input=takes("text", text=TEXT, metadata=OBJECT, session_user_id=_USER),
        output=gives(id=TEXT, action=TEXT, created_at=TEXT, warnings=LIST),
        call=memory_store,
    ),
    Tool(
        name="memory_recall",
        title="Recall items",
        description="The k stored texts that best answer a query, by meaning and by words.",
        input=takes("query", query=TEXT, k=least(1), session_user_id=_USER),
        output=gives(results=LIST),
        call=memory_recall,
        reads=True,
    ),
)


def _context_of(context: ToolContext, user: str) -> ToolContext:
    """The desk of a user; raises NotAllowed where that space is not open to the caller."""
    if not user:
        return context
    # Also where it is the caller's own: the items of one user are never mixed with another's.
    return replace(context, who=replace(context.who, space=context.grant.require(user), also=()))
