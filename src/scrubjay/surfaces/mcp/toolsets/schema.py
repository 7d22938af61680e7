"""Short names for the JSON Schemas of tools: a model reads every listing, and each token costs."""

from scrubjay.model.memory import Json

TEXT: dict[str, Json] = {"type": "string"}
INTEGER: dict[str, Json] = {"type": "integer"}
NUMBER: dict[str, Json] = {"type": "number"}
FLAG: dict[str, Json] = {"type": "boolean"}
OBJECT: dict[str, Json] = {"type": "object"}
LIST: dict[str, Json] = {"type": "array"}
TEXTS: dict[str, Json] = {"type": "array", "items": {"type": "string"}}
VERSIONS: dict[str, Json] = {"type": "array", "items": {"anyOf": [{"type": "integer"}, {"type": "string"}]}}


def input_schema(*required: str, **properties: dict[str, Json]) -> dict[str, Json]:
    """Return the schema of a tool's arguments: these and no others."""
    schema: dict[str, Json] = {"type": "object", "properties": dict(properties)}
    if required:
        schema["required"] = list(required)
    return {**schema, "additionalProperties": False}


def output_schema(**properties: dict[str, Json]) -> dict[str, Json]:
    """Return the schema of a result; results leave out empty fields."""
    return {"type": "object", "properties": dict(properties)}


def at_least(number: int) -> dict[str, Json]:
    """Return the schema of a whole number with a minimum."""
    return {"type": "integer", "minimum": number}


def choice(*values: str) -> dict[str, Json]:
    """Return the schema of one of a few words."""
    return {"enum": list(values)}


def described(schema: dict[str, Json], description: str) -> dict[str, Json]:
    """Return a schema with a description."""
    return {**schema, "description": description}
