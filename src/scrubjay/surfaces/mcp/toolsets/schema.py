"""Short words for the JSON Schemas of tools: every listing is read by a model, and paid for by the token."""

from scrubjay.model.memory import Json

TEXT: dict[str, Json] = {"type": "string"}
WHOLE: dict[str, Json] = {"type": "integer"}
NUMBER: dict[str, Json] = {"type": "number"}
FLAG: dict[str, Json] = {"type": "boolean"}
OBJECT: dict[str, Json] = {"type": "object"}
LIST: dict[str, Json] = {"type": "array"}
SIDES: dict[str, Json] = {"type": "array", "items": {"anyOf": [{"type": "integer"}, {"type": "string"}]}}
TEXTS: dict[str, Json] = {"type": "array", "items": {"type": "string"}}


def takes(*required: str, **properties: dict[str, Json]) -> dict[str, Json]:
    """The schema of a tool's arguments: these and no others."""
    schema: dict[str, Json] = {"type": "object", "properties": dict(properties)}
    if required:
        schema["required"] = list(required)
    return {**schema, "additionalProperties": False}


def gives(**properties: dict[str, Json]) -> dict[str, Json]:
    """The schema of an answer; what is empty is left out of it."""
    return {"type": "object", "properties": dict(properties)}


def least(number: int) -> dict[str, Json]:
    """A whole number that is at least so much."""
    return {"type": "integer", "minimum": number}


def choice(*values: str) -> dict[str, Json]:
    """One of a few words."""
    return {"enum": list(values)}


def says(kind: dict[str, Json], words: str) -> dict[str, Json]:
    """A schema with a description."""
    return {**kind, "description": words}
