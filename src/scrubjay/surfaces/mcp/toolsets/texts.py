"""Whole texts that answer a question, as many as the budget holds: for toolsets that know texts, and no passages."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from scrubjay.model.memory import Json, Memory
from scrubjay.model.results import Hit
from scrubjay.model.timestamps import to_iso
from scrubjay.surfaces.mcp.budget import DEFAULT_TOKENS, Entry, beginning, cost_of, fit, lean, room_for, trim
from scrubjay.surfaces.mcp.tool import Answer, ToolContext

PLENTY = 1_000_000
"""What fits is decided here, where the answer's form is known."""

_SHORT = 40
# What the remarks about what was cut cost.
_NOTES = 70
# What a text costs besides itself and what it is described by: id, score, time and the words around them.
_BESIDE = 90
# Lists that are longer than such a part of the room are cut.
_SHARE_OF_LISTS = 4


@dataclass(frozen=True, slots=True, kw_only=True)
class Wording:
    """What a toolset calls the text, by what fields it describes a memory, and how it calls the number asked for."""

    describe: Callable[[Hit, Memory], dict[str, Json]]
    text: str = "text"
    limit: str = "limit"


def tell_texts(context: ToolContext, hits: Sequence[Hit], wording: Wording, *, is_more: bool) -> Answer:
    """Some hits with their whole texts; `is_more`: there are others that were not asked for."""
    room = room_for(DEFAULT_TOKENS) - cost_of("", {"results": []}) - _NOTES
    # Where there is one space only, every one would say the same.
    entries = fit([_entry(hit, room, wording, names_space=bool(context.who.also)) for hit in hits], room=room)
    told = [entry.line for entry in entries] or ([] if hits else ["Nothing found."])
    if any("of" in entry.structured for entry in entries):
        told.append("(texts that are too long are told in part, with their length as `of`)")
    if len(entries) < len(hits):
        told.append(f"(there are more: {len(entries)} of the {len(hits)} fit into the answer; ask more narrowly)")
    elif is_more:
        told.append(f"(there are more: ask more narrowly, or with a larger {wording.limit})")
    return Answer(structured={"results": [entry.structured for entry in entries]}, text="\n".join(told))


def _entry(hit: Hit, room: int, wording: Wording, *, names_space: bool) -> Entry:
    assert hit.memory is not None
    whole = text = hit.memory.content or "\n".join(observation.text for observation in hit.memory.observations)
    described = lean(trim(wording.describe(hit, hit.memory), room=room // _SHARE_OF_LISTS))
    beside = _BESIDE + cost_of("", described)
    if cost_of(text, {wording.text: text}) > room - beside:
        # Too long to be shown whole: the passage that answers, or as much of it as fits.
        text = beginning(hit.passage, tokens=(room - beside) // 3)
    structured: dict[str, Json] = {
        "id": hit.id,
        "space": hit.space if names_space else "",
        wording.text: text,
        "of": len(whole) if text != whole else None,
        **described,
        "score": hit.score,
        "created_at": to_iso(hit.memory.created_at),
    }
    line = " ".join(text.split())
    return Entry(structured=lean(structured), line=f"- {line}", short=f"- {beginning(line, tokens=_SHORT)}")
