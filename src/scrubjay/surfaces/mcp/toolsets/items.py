"""`items`: texts with metadata, stored and recalled. The user whose items they are has a space of his own."""

from collections.abc import Mapping
from dataclasses import replace

from scrubjay.model.memory import Json, Method
from scrubjay.model.moment import to_iso
from scrubjay.model.results import Hit
from scrubjay.surfaces.mcp.arguments import Given
from scrubjay.surfaces.mcp.budget import DEFAULT_TOKENS, Entry, beginning, cost_of, fit, lean, room_for
from scrubjay.surfaces.mcp.tool import Answer, Desk, Tool
from scrubjay.surfaces.mcp.toolsets.schema import LIST, OBJECT, TEXT, gives, least, says, takes

_ITEMS = 5
_SHORT = 40
_PLENTY = 1_000_000
# What the remarks about what was cut cost.
_NOTES = 70
# What an item costs besides its text: id, score, time and the words around them.
_BESIDE = 90
_USER = says(TEXT, "whose items; default: the caller's")


async def memory_store(desk: Desk, arguments: Mapping[str, Json]) -> Answer:
    """Store a text with its metadata."""
    given = Given(arguments)
    desk = _desk_of(desk, given.text("session_user_id"))
    done = await desk.memory.remember(
        given.text("text"),
        metadata=given.mapping("metadata"),
        project=desk.project,
        source={"method": Method.AGENT.value},
    )
    (memory,) = (await desk.memory.read(done.id)).memories
    structured: dict[str, Json] = {"id": done.id, "action": done.action, "created_at": to_iso(memory.created_at)}
    return Answer(structured=structured, text=f"{done.action}: {done.id}")


async def memory_recall(desk: Desk, arguments: Mapping[str, Json]) -> Answer:
    """The items nearest to a question."""
    given = Given(arguments)
    desk = _desk_of(desk, given.text("session_user_id"))
    room = room_for(DEFAULT_TOKENS) - cost_of("", {"results": []}) - _NOTES
    count = given.whole("k") or _ITEMS
    found = await desk.memory.recall(given.text("query"), limit=count, max_tokens=_PLENTY, detail="full")
    # What is pinned is told with every answer; here only where there is a place left for it.
    hits = [*found.hits, *found.pinned][:count]
    # Where there is one space only, every item would say the same.
    entries = fit([_item(hit, room, names_space=bool(desk.who.also)) for hit in hits], room=room)
    told = [entry.line for entry in entries] or ([] if hits else ["Nothing found."])
    if any("of" in entry.structured for entry in entries):
        told.append("(texts that are too long are told in part, with their length as `of`)")
    if len(entries) < len(hits):
        told.append(f"(there are more: {len(entries)} of the {len(hits)} fit into the answer; ask more narrowly)")
    elif found.cursor:
        told.append("(there are more: ask more narrowly, or with a larger k)")
    return Answer(structured={"results": [entry.structured for entry in entries]}, text="\n".join(told))


TOOLS = (
    Tool(
        name="memory_store",
        title="Store an item",
        description="Store a text that will matter in later sessions, with metadata such as tags or its source.",
        input=takes("text", text=TEXT, metadata=OBJECT, session_user_id=_USER),
        output=gives(id=TEXT, action=TEXT, created_at=TEXT),
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


def _desk_of(desk: Desk, user: str) -> Desk:
    """The desk of a user; raises NotAllowed where that space is not open to the caller."""
    if not user:
        return desk
    # Also where it is the caller's own: the items of one user are never mixed with another's.
    return replace(desk, who=replace(desk.who, space=desk.grant.require(user), also=()))


def _item(hit: Hit, room: int, *, names_space: bool) -> Entry:
    assert hit.memory is not None
    whole = text = hit.memory.content or "\n".join(one.text for one in hit.memory.observations)
    if cost_of(text, {"text": text}) > room - _BESIDE:
        # Too long to be shown whole: the passage that answers, or as much of it as fits.
        text = beginning(hit.passage, tokens=(room - _BESIDE) // 3)
    structured: dict[str, Json] = {
        "id": hit.id,
        "space": hit.space if names_space else "",
        "text": text,
        "of": len(whole) if text != whole else None,
        "metadata": dict(hit.memory.metadata),
        "score": hit.score,
        "created_at": to_iso(hit.memory.created_at),
    }
    line = " ".join(text.split())
    return Entry(structured=lean(structured), line=f"- {line}", short=f"- {beginning(line, tokens=_SHORT)}")
