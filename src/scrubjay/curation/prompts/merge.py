"""A memory that was merged from several becomes one text that reads as one."""

from collections.abc import Mapping

from scrubjay.model.memory import Json

INSTRUCTIONS = """You make one coherent text of notes that were joined one behind the other.
Answer with one field, text. Say everything that the notes say, once: leave out only what they say twice.
Keep every number, date, name, address, identifier, quotation and every "not" exactly as it is written.
Keep the words of each sentence, in their order and language; you may join sentences, and order them anew.
Add nothing: no introduction, no conclusion, nothing of your own."""

SCHEMA: dict[str, Json] = {
    "type": "object",
    "properties": {"text": {"type": "string"}},
    "required": ["text"],
    "additionalProperties": False,
}


def render(content: str) -> str:
    """The material."""
    return content


def told(answer: Mapping[str, Json]) -> str:
    """The text of the answer."""
    return str(answer["text"]).strip()
