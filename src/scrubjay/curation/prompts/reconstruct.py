"""A thin note becomes one that can be understood without its session: what, context, outcome, next."""

from collections.abc import Mapping, Sequence

from scrubjay.model.memory import Json

INSTRUCTIONS = """You put a short note into order, for a memory that is read months later.
The material is the note, and other notes of the same session, which may say what it is about.
Answer with four fields, each a plain sentence or an empty text:
what: the note itself, complete. context: where and why, from the other notes. outcome: what came of it.
next: what is still to be done.
Keep every number, date, name, address, identifier, quotation and every "not" exactly as it is written.
Use whole sentences of the material, with their words in their order. Do not mix the other notes into the note.
Leave a field empty rather than guess: nothing may be invented."""

PARTS = ("what", "context", "outcome", "next")
SCHEMA: dict[str, Json] = {
    "type": "object",
    "properties": {part: {"type": "string"} for part in PARTS},
    "required": list(PARTS),
    "additionalProperties": False,
}


def render(note: str, beside: Sequence[str]) -> str:
    """The material."""
    others = "".join(f"\n- {' '.join(one.split())}" for one in beside)
    return f"The note:\n{note}\n\nOther notes of the session:{others or ' none'}\n"


def told(answer: Mapping[str, Json]) -> list[str]:
    """What the answer says, part by part, without headings."""
    return [text for part in PARTS if (text := " ".join(str(answer[part]).split()))]


def written(answer: Mapping[str, Json]) -> str:
    """The note as it is kept."""
    return "\n".join(f"{part.capitalize()}: {text}" for part in PARTS if (text := " ".join(str(answer[part]).split())))
