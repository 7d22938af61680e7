"""`memory.jsonl`, the file of the reference knowledge-graph server: an entity or a relation a line."""

import json
from collections.abc import Mapping
from typing import cast

from scrubjay.errors import InvalidInput
from scrubjay.graph.entity import Entity, Link
from scrubjay.model.checks import require_text, require_texts
from scrubjay.model.memory import Json
from scrubjay.model.transfer import Lines

# Our own format first.
FORMATS = ("scrubjay", "kg")
_TYPES = ("entity", "relation")


def is_graph(lines: Lines) -> bool:
    """Whether the first line is one of `memory.jsonl`."""
    first = next((line for line in lines() if line.strip()), "")
    try:
        return _type(json.loads(first)) in _TYPES
    except (ValueError, RecursionError):
        return False


def require_format(name: str) -> str:
    """A format that can be exported."""
    if name not in FORMATS:
        raise InvalidInput(
            f"there is no export format {name!r}", hint=f"There are {' and '.join(FORMATS)}", field="format"
        )
    return name


def entity_line(entity: Entity) -> str:
    """An entity as the server writes it."""
    return _line({
        "type": "entity",
        "name": entity.name,
        "entityType": entity.type,
        "observations": list(entity.observations),
    })  # fmt: skip


def relation_line(link: Link) -> str:
    """A relation as the server writes it."""
    return _line({"type": "relation", "from": link.source, "to": link.target, "relationType": link.type})


def parse_line(text: str) -> Entity | Link:
    """What a line holds; raises InvalidInput. Fields that we do not know are passed over, as the server does."""
    try:
        given: object = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise InvalidInput(f"not JSON: {error}") from None
    kind = _type(given)
    if kind not in _TYPES:
        raise InvalidInput("neither an entity nor a relation: `type` must be one of these")
    fields = cast("Mapping[str, Json]", given)
    if kind == "entity":
        observations = require_texts(fields.get("observations"), field="observations")
        return Entity(name=_text(fields, "name"), type=_text(fields, "entityType"), observations=observations)
    return Link(source=_text(fields, "from"), target=_text(fields, "to"), type=_text(fields, "relationType"))


def _type(given: object) -> str:
    found = cast("Mapping[str, Json]", given).get("type") if isinstance(given, dict) else None
    return found if isinstance(found, str) else ""


def _text(fields: Mapping[str, Json], name: str) -> str:
    return require_text(fields.get(name), field=name)


def _line(fields: Mapping[str, Json]) -> str:
    return json.dumps(fields, ensure_ascii=False, separators=(",", ":"))
