"""A few tags for a memory that has too few."""

from collections.abc import Mapping, Sequence
from typing import cast

from scrubjay.model.memory import Json

INSTRUCTIONS = """You choose tags for a note: 3 to 8 of them, the most telling first.
A tag is one word, or two or three joined by a hyphen, in lower case. It names what the note is about, in the note's own
words. Where one of the tags that are already in use fits, take that one as it is spelled.
Answer with one field, tags."""

MOST = 8
SCHEMA: dict[str, Json] = {
    "type": "object",
    "properties": {"tags": {"type": "array", "items": {"type": "string"}}},
    "required": ["tags"],
    "additionalProperties": False,
}


def render(text: str, *, known: Sequence[str]) -> str:
    """The material."""
    return f"The note:\n{text}\n\nTags in use: {', '.join(known) or 'none'}\n"


def told(answer: Mapping[str, Json]) -> list[str]:
    """The tags of the answer, each once."""
    given = (" ".join(one.lower().split()) for one in cast("list[str]", answer["tags"]))
    return list(dict.fromkeys(one.strip("#-_ ").replace(" ", "-") for one in given if one.strip("#-_ ")))[:MOST]
