"""`intelligence_detect_duplicates`: which memories say the same, and one of each two if that is wanted."""

from collections.abc import Mapping, Sequence

from scrubjay.errors import ScrubjayError
from scrubjay.model.conflict import ConflictDetails, ConflictSide, ConflictType
from scrubjay.model.memory import Json
from scrubjay.surfaces.mcp.arguments import Given
from scrubjay.surfaces.mcp.budget import DEFAULT_TOKENS, Entry, beginning, cost_of, fit, room_for
from scrubjay.surfaces.mcp.tool import Answer, ToolContext

__all__ = ["intelligence_detect_duplicates"]

_RESULTS = 10
_MOST = 1_000
# More memories than this are compared by the server when it has time: whoever calls a tool does not wait so long.
_AT_ONCE = 1_000
_LONGEST = 60
# What the names of the fields and the remarks cost.
_NOTES = 90


async def intelligence_detect_duplicates(context: ToolContext, arguments: Mapping[str, Json]) -> Answer:
    """Memories that say the same, the surest first; with `merge` they become one where nothing speaks against it."""
    given = Given(arguments)
    ref, least = given.text("id"), given.number("threshold", 0.0)
    remarks = [] if ref else await _looked_through(context)
    found = [
        conflict
        for conflict in await context.memory.conflicts(id=ref, limit=_MOST)
        if conflict.type is ConflictType.DUPLICATE and conflict.confidence >= least
    ]
    found.sort(key=lambda one: one.confidence, reverse=True)
    wanted = found[: given.whole("limit") or _RESULTS]
    entries = [_entry(one, await _merged(context, one) if given.flag("merge") else {}) for one in wanted]
    return _told(entries, count=len(found), remarks=remarks)


async def _looked_through(context: ToolContext) -> list[str]:
    """Compare all memories, now or when there is time; tells the latter."""
    count = (await context.memory.status()).memories.get("live", 0)
    if count <= _AT_ONCE:
        await context.memory.scan_conflicts(limit=0, progress=context.progress)
        return []
    job = await context.memory.scan_later()
    return [f"(of {count:,} memories those are told that are known already; the others are compared by job {job.id})"]


async def _merged(context: ToolContext, one: ConflictDetails) -> dict[str, Json]:
    """What became of two memories that say the same; what is not done is told, and keeps none of the others."""
    try:
        done = await context.memory.resolve_conflict(one.id, strategy="auto")
    except ScrubjayError as error:
        return {"action": "left_pending", "why": error.message}
    if done.action == "merged":
        return {"action": done.action, "kept": done.kept, "run": done.run}
    return {"action": done.action, "why": done.why}


def _entry(one: ConflictDetails, done: dict[str, Json]) -> Entry:
    names = f"{one.memory.name} = {one.other.name}"
    action = f", {done['action']}" if done else ""
    says = beginning(" ".join(one.memory.statement.split()), tokens=_LONGEST)
    return Entry(
        structured={
            "conflict_id": one.id,
            "confidence": one.confidence,
            "memory": _side(one.memory),
            "other": _side(one.other),
            **done,
        },
        line=f"- {one.confidence:.2f} {names}{action}: {says}",
        short=f"- {one.confidence:.2f} {names}{action}",
    )


def _side(side: ConflictSide) -> dict[str, Json]:
    return {"id": side.id, "name": side.name, "says": beginning(side.statement, tokens=_LONGEST)}


def _told(entries: Sequence[Entry], *, count: int, remarks: Sequence[str]) -> Answer:
    room = room_for(DEFAULT_TOKENS) - cost_of("\n".join(remarks)) - _NOTES
    shown = fit(entries, room=room)
    lines = [one.line for one in shown] or ["Nothing says the same."]
    if len(shown) < count:
        lines.append(f"({len(shown):,} of {count:,} are told: ask with the id of one memory, or a higher threshold)")
    structured: dict[str, Json] = {"duplicates": [one.structured for one in shown], "count": count}
    return Answer(structured=structured, text="\n".join((*lines, *remarks)))
