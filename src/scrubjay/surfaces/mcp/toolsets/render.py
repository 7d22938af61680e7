"""The results that several toolsets share: the outcome of a write, a conflict, and texts that answer a question."""

from collections.abc import Callable, Mapping, Sequence

from scrubjay.lazy import dataclass
from scrubjay.model.conflict import ConflictDetails, ConflictStatus
from scrubjay.model.labels import NOTICE, mark_of_all, project_mark
from scrubjay.model.memory import Json, Memory, Method, Trust
from scrubjay.model.results import Hit, Recalled, Remembered, Similar
from scrubjay.model.timestamps import to_iso
from scrubjay.rpc.codec import to_json
from scrubjay.surfaces.mcp.budget import (
    DEFAULT_TOKENS,
    ListEntry,
    cost_of,
    drop_empty,
    fit,
    room_for,
    shorten,
    trim_lists,
)
from scrubjay.surfaces.mcp.tool import ToolContext, ToolResult

"""The tokens to ask the engine for where the surface, which knows the form of the result, applies the budget."""

AGENT_SOURCE: dict[str, Json] = {"method": Method.AGENT.value, "trust": Trust.AGENT.value}
"""The source of what a caller writes over MCP without saying whose word it is."""
NOTHING_RELEVANT = "Nothing relevant."
"""Stands above the few weak hits of a question that nothing answers."""
HEADING = f"Memories ({NOTICE}):"
"""Stands above the texts of memories."""

_MAX_WARNINGS = 5
_MAX_WARNING_LENGTH = 200
_MAX_CONFLICTS = 3
_SHORT_TOKENS = 40
_LIST_TOKENS = 80
# The tokens of a remark about omitted items, and of the names of the lists.
_NOTE_TOKENS = 60
# The same for texts that answer a question.
_TEXTS_NOTE_TOKENS = 70
# The tokens of a text's id, score, time and the words around them.
_TEXT_FIELDS_TOKENS = 90
# Lists of a text may take this part of the room.
_LISTS_DIVISOR = 4


def render_remembered(
    done: Remembered,
    *,
    tags: Sequence[str] = (),
    dry_run: bool = False,
    more: Mapping[str, Json] | None = None,
    entities: str = "",
) -> ToolResult:
    """Return the outcome of `remember`.

    `tags` are the caller's, `more` are fields of the toolset's own, `entities` is the tool's argument for entities.
    """
    structured = fields_of(done)
    if not dry_run:
        del structured["trace"]
    if len(done.ids) == 1 or more:
        del structured["ids"]
    structured["similar"] = [drop_empty(fields_of(similar)) for similar in done.similar]
    structured["conflicts"] = [conflict_fields(conflict) for conflict in done.conflicts]
    about = done.suggested_entities if entities and done.action == "created" else ()
    head = [
        _head(done) + (" (dry run: nothing was stored)" if dry_run else ""),
        *([f"tags: {_join(done.tags)}"] if _has_other_tags(done, tags) else []),
        *([f"about {_join(about)}? Give {entities}"] if about else []),
    ]
    lines = ["; ".join(head), *_conflict_lines(done)]
    return render_result(lines, {**structured, **(more or {})}, done.warnings)


def render_result(lines: Sequence[str], structured: Mapping[str, Json], warnings: Sequence[str]) -> ToolResult:
    """Return the outcome of a write within the budget: its first line has the first warnings, too."""
    first = [*lines[:1], *(warning[:_MAX_WARNING_LENGTH] for warning in warnings[:_MAX_WARNINGS])]
    text = ["; ".join(first), *lines[1:]]
    whole = drop_empty(structured)
    trimmed = trim_lists(whole, room=room_for(DEFAULT_TOKENS) - cost_of("\n".join(text)) - _NOTE_TOKENS)
    if cuts := describe_cuts(whole, trimmed):
        text.append(f"(shown: {cuts})")
    return ToolResult(structured=drop_empty(trimmed), text="\n".join(text))


def render_fields(fields: Mapping[str, Json]) -> ToolResult:
    """Return a result that is its fields, within the budget; `shown` says which lists were cut."""
    whole = drop_empty(fields)
    trimmed = trim_lists(whole, room=room_for(DEFAULT_TOKENS) - _NOTE_TOKENS)
    cuts = describe_cuts(whole, trimmed)
    return ToolResult(structured={**trimmed, "shown": cuts} if cuts else trimmed)


def describe_cuts(whole: Mapping[str, Json], trimmed: Mapping[str, Json]) -> str:
    """Return how much is left of each list that was cut."""
    return ", ".join(
        f"{len(part):,} of {len(items):,} {name}"
        for name, items in whole.items()
        if isinstance(items, list) and isinstance(part := trimmed[name], list) and len(part) < len(items)
    )


def fields_of(result: object) -> dict[str, Json]:
    """Return a result by its fields."""
    fields = to_json(result)
    assert isinstance(fields, dict)
    return fields


def conflict_fields(conflict: ConflictDetails) -> dict[str, Json]:
    """Return the fields of a conflict that a model can act on."""
    return drop_empty(
        {
            "id": conflict.id,
            "type": conflict.type.value,
            "confidence": conflict.confidence,
            "suggested_action": conflict.suggested_action.value,
            "with": conflict.other.name,
            "mark": conflict.other.mark,
            "says": shorten(conflict.other.statement, tokens=_LIST_TOKENS),
            "differs": [shorten(part, tokens=_SHORT_TOKENS) for part in conflict.differs],
        }
    )


def conflict_line(conflict: ConflictDetails) -> str:
    """Return a conflict in one line."""
    name = shorten(conflict.other.name, tokens=_SHORT_TOKENS)
    differs = shorten(", ".join(conflict.differs), tokens=_SHORT_TOKENS) if conflict.differs else conflict.type.value
    verb = {"duplicate": "says the same as", "update": "says more than"}.get(conflict.type.value, "contradicts")
    confidence = f"{conflict.confidence:.2f}"
    mark = f", {conflict.other.mark}" if conflict.other.mark else ""
    if conflict.status is ConflictStatus.RESOLVED:
        return f"{conflict.id}: supersedes {name} ({confidence}{mark}): {differs}. Its history has what it said."
    return f"{conflict.id}: {verb} {name} ({confidence}{mark}): {differs}. Revise or forget what no longer holds."


@dataclass(frozen=True, slots=True, kw_only=True)
class TextFields:
    """The fields of a text in a toolset: its own fields, and its names for the text and for the limit."""

    describe: Callable[[Hit, Memory], dict[str, Json]]
    text: str = "text"
    limit: str = "limit"


def render_texts(context: ToolContext, recalled: Recalled, fields: TextFields, *, count: int) -> ToolResult:
    """Return at most `count` hits with their whole texts, as many as the budget holds."""
    # Pinned memories come with every recall; these toolsets show them only if there is a place left.
    hits = [*recalled.hits, *recalled.pinned][:count]
    room = room_for(DEFAULT_TOKENS) - cost_of(HEADING, {"results": []}) - _TEXTS_NOTE_TOKENS
    # With a single space, every hit would name the same one.
    entries = fit([_text_entry(hit, room, fields, names_space=bool(context.who.also)) for hit in hits], room=room)
    lines = [HEADING, *(entry.line for entry in entries)] if entries else ([] if hits else ["Nothing found."])
    if recalled.nothing_relevant:
        lines = [NOTHING_RELEVANT, *(lines if entries else [])]
    if any("of" in entry.structured for entry in entries):
        lines.append("(long texts are cut; `of` is their full length)")
    if len(entries) < len(hits):
        lines.append(f"(there are more: {len(entries)} of the {len(hits)} fit into the answer; narrow the query)")
    elif recalled.cursor:
        lines.append(f"(there are more: narrow the query, or use a larger {fields.limit})")
    structured: dict[str, Json] = {"results": [entry.structured for entry in entries]}
    if recalled.nothing_relevant:
        structured["nothing_relevant"] = True
    if recalled.degraded:
        structured["degraded"] = list[Json](recalled.degraded)
        lines += [f"({reason})" for reason in recalled.degraded]
    return ToolResult(structured=structured, text="\n".join(lines))


def _text_entry(hit: Hit, room: int, fields: TextFields, *, names_space: bool) -> ListEntry:
    assert hit.memory is not None
    whole = text = hit.memory.content or "\n".join(observation.text for observation in hit.memory.observations)
    description = drop_empty(trim_lists(fields.describe(hit, hit.memory), room=room // _LISTS_DIVISOR))
    others = _TEXT_FIELDS_TOKENS + cost_of("", description)
    if cost_of(text, {fields.text: text}) > room - others:
        # Too long to show whole: the passage that answers, or as much of it as fits.
        text = shorten(hit.passage, tokens=(room - others) // 3)
    structured: dict[str, Json] = {
        "id": hit.id,
        "space": hit.space if names_space else "",
        fields.text: text,
        "of": len(whole) if text != whole else None,
        "project": hit.project,
        **description,
        "score": hit.score,
        "created_at": to_iso(hit.memory.created_at),
        "trust": hit.trust,
        "suspicious": hit.suspicious or None,
        "weak": hit.weak or None,
    }
    line = " ".join(text.split())
    mark = ", ".join(
        part for part in (project_mark(hit.project), mark_of_all(hit.memory), "weak" if hit.weak else "") if part
    )
    head = f"- ({mark}) " if mark else "- "
    return ListEntry(
        structured=drop_empty(structured), line=f"{head}{line}", short=f"{head}{shorten(line, tokens=_SHORT_TOKENS)}"
    )


def _has_other_tags(done: Remembered, tags: Sequence[str]) -> bool:
    """Check whether the caller's tags were replaced; those that were only suggested stand in the fields."""
    return bool(tags) and {tag.lstrip("# ").lower() for tag in tags} != set(done.tags)


def _conflict_lines(done: Remembered) -> list[str]:
    reported = {conflict.other.id for conflict in done.conflicts}
    lines = [conflict_line(conflict) for conflict in done.conflicts[:_MAX_CONFLICTS]]
    differing = [similar for similar in done.similar if similar.differs and similar.id not in reported]
    lines += [_similar_line(similar, into=done.merged_into) for similar in differing[:_MAX_CONFLICTS]]
    return lines


def _head(done: Remembered) -> str:
    if done.action == "rejected":
        # If no warning gives the reason, the last stage does.
        why = done.trace[-1].why if done.trace and not done.warnings else ""
        return f"rejected, nothing was stored{': ' if why else ''}{why[:_MAX_WARNING_LENGTH]}"
    if done.action != "merged":
        return f"{done.action}: {done.name}"
    similarity = "" if done.similarity is None else f" ({done.similarity:.2f})"
    return f"merged into {done.name}{similarity}: now version {done.version}"


def _similar_line(similar: Similar, *, into: str) -> str:
    name, differs = (shorten(part, tokens=_SHORT_TOKENS) for part in (similar.name, similar.differs))
    if similar.id == into:
        return f"may contradict what was there before: {differs}. Revise {name} if something no longer holds."
    mark = f", {similar.mark}" if similar.mark else ""
    return f"may contradict {name} ({similar.similarity:.2f}{mark}): {differs}. Revise or forget what no longer holds."


def _join(names: Sequence[str]) -> str:
    return shorten(", ".join(names), tokens=_LIST_TOKENS)
