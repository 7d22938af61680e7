"""`memory.jsonl`, the file of the reference knowledge-graph server: one entity or relation a line."""

import json
from collections.abc import Mapping
from typing import cast

from scrubjay.errors import InvalidInput
from scrubjay.graph.entity import Entity, EntityRelation
from scrubjay.model.checks import require_text, require_texts
from scrubjay.model.memory import Json
from scrubjay.model.transfer import Lines

# Our own format first.
FORMATS = ("scrubjay", "kg")
_TYPES = ("entity", "relation")


def is_graph(lines: Lines) -> bool:
    """Return whether the first line is one of `memory.jsonl`."""
    first = next((line for line in lines() if line.strip()), "")
    try:
        return _type(json.loads(first)) in _TYPES
    except (ValueError, RecursionError):
        return False


def require_format(name: str) -> str:
    """Return the name of an export format; raise InvalidInput for any other."""
    if name not in FORMATS:
        raise InvalidInput(f"there is no export format {name!r}", hint=f"Use {' or '.join(FORMATS)}", field="format")
    return name


def entity_line(entity: Entity) -> str:
    """Return an entity as the server writes it."""
    return _line({
        "type": "entity",
        "name": entity.name,
        "entityType": entity.type,
        "observations": list(entity.observations),
    })  # fmt: skip


def relation_line(relation: EntityRelation) -> str:
    """Return a relation as the server writes it."""
    return _line(
        {"type": "relation", "from": relation.source, "to": relation.target, "relationType": relation.type}
    )  # fmt: skip


def parse_line(text: str) -> Entity | EntityRelation:
    """Parse a line; raise InvalidInput. Unknown fields are ignored, as the server does."""
    try:
        value: object = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise InvalidInput(f"not JSON: {error}") from None
    kind = _type(value)
    if kind not in _TYPES:
        raise InvalidInput("neither an entity nor a relation: `type` must be one of these")
    fields = cast("Mapping[str, Json]", value)
    if kind == "entity":
        observations = require_texts(fields.get("observations"), field="observations")
        return Entity(name=_text(fields, "name"), type=_text(fields, "entityType"), observations=observations)
    return EntityRelation(source=_text(fields, "from"), target=_text(fields, "to"), type=_text(fields, "relationType"))


def _type(value: object) -> str:
    type_ = cast("Mapping[str, Json]", value).get("type") if isinstance(value, dict) else None
    return type_ if isinstance(type_, str) else ""


def _text(fields: Mapping[str, Json], name: str) -> str:
    return require_text(fields.get(name), field=name)


def _line(fields: Mapping[str, Json]) -> str:
    return json.dumps(fields, ensure_ascii=False, separators=(",", ":"))
