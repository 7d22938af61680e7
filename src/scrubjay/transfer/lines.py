"""One line of an export: a memory with its versions, or a relation."""

import json
from collections.abc import Mapping
from dataclasses import replace

from scrubjay.errors import InvalidInput
from scrubjay.model.checks import require_integer, require_text
from scrubjay.model.identity import is_id
from scrubjay.model.memory import Json
from scrubjay.model.relation import LINK, Relation
from scrubjay.model.snapshot import from_body, to_body
from scrubjay.model.timestamps import parse_moment, to_iso
from scrubjay.model.version import Version
from scrubjay.ports import MemoryHistory

FORMAT = 1


def header(space: str, exported_at: str) -> str:
    """Return the first line, which says what the file is."""
    return json.dumps({"scrubjay": FORMAT, "space": space, "exported_at": exported_at})


def check_header(line: Mapping[str, Json]) -> None:
    """Raise InvalidInput for a file that is no export, or is of a newer format."""
    version = line.get("scrubjay")
    if not isinstance(version, int):
        raise InvalidInput("this is not a Scrubjay export: the first line lacks `scrubjay`")
    if version > FORMAT:
        raise InvalidInput(
            f"this export has format {version}; this Scrubjay reads up to {FORMAT}", hint="Update Scrubjay"
        )


def history_line(memory_history: MemoryHistory) -> str:
    """Return the line of a memory with all its versions."""
    return json.dumps(history_json(memory_history), ensure_ascii=False)


def history_json(memory_history: MemoryHistory) -> dict[str, Json]:
    """Return the JSON object of a memory with all its versions."""
    memory = memory_history.memory
    fields: dict[str, Json] = {"id": memory.id, "version": memory.version}
    if memory.access_count:
        fields["access_count"] = memory.access_count
    if memory.last_accessed:
        fields["last_accessed"] = to_iso(memory.last_accessed)
    versions: list[Json] = [_version_json(version) for version in memory_history.versions]
    return {"memory": fields, "versions": versions}


def relation_line(relation: Relation) -> str:
    """Return the line of a relation."""
    return json.dumps(relation_json(relation), ensure_ascii=False)


def relation_json(relation: Relation) -> dict[str, Json]:
    """Return the JSON object of a relation."""
    fields: dict[str, Json] = {
        "source": relation.source,
        "target": relation.target,
        "type": relation.type,
        "text": relation.text,
        "strength": relation.strength,
        "metadata": dict(relation.metadata),
        "created_at": to_iso(relation.created_at),
    }
    return {"relation": fields}


def parse_line(text: str) -> MemoryHistory | Relation | None:
    """Return the content of a line, None for the header; raises InvalidInput."""
    try:
        parsed: object = json.loads(text, parse_constant=_refuse_constant)
    except (ValueError, RecursionError) as error:
        raise InvalidInput(f"not JSON: {error}") from None
    if not isinstance(parsed, dict):
        raise InvalidInput("not a JSON object")
    line: dict[str, Json] = parsed  # pyright: ignore[reportUnknownVariableType]
    # Exports have hardly any escapes, and only an escape can contain a character that no store accepts.
    if "\\u" in text:
        _refuse_bad_characters(line)
    if "memory" in line:
        return _memory_history(_object(line, "memory"), line.get("versions"))
    if "relation" in line:
        return _relation(_object(line, "relation"))
    check_header(line)
    return None


def _refuse_constant(name: str) -> float:
    raise ValueError(f"{name} is not a number of JSON")


def _refuse_bad_characters(line: dict[str, Json]) -> None:
    remaining: list[Json] = [line]
    while remaining:
        value = remaining.pop()
        if isinstance(value, dict):
            remaining += [*value, *value.values()]
        elif isinstance(value, list):
            remaining += value
        elif isinstance(value, str) and "\x00" in require_text(value, field="a text of this line"):
            raise InvalidInput("a text of this line has a NUL character")


def _version_json(version: Version) -> dict[str, Json]:
    fields: dict[str, Json] = {
        "number": version.number,
        "action": version.action,
        "created_at": to_iso(version.created_at),
        "body": to_body(version.memory),
    }
    if version.parent is not None:
        fields["parent"] = version.parent
    for name in ("agent", "run", "message"):
        if value := getattr(version, name):
            fields[name] = value
    return fields


def _memory_history(fields: Mapping[str, Json], versions: Json) -> MemoryHistory:
    memory_id = _text(fields, "id").lower()
    if not is_id(memory_id):
        raise InvalidInput(f"{memory_id!r} is not an id")
    if not isinstance(versions, list) or not versions:
        raise InvalidInput("a memory needs at least one version")
    parsed = tuple(_version(version, memory_id) for version in versions)
    current = {version.number: version.memory for version in parsed}.get(_number(fields, "version"))
    if current is None:
        raise InvalidInput(f"the current version of {memory_id} is missing")
    if max(version.number for version in parsed) > current.version:
        raise InvalidInput(f"the current version of {memory_id} is not its newest")
    if len({version.number for version in parsed}) != len(parsed):
        raise InvalidInput(f"{memory_id} has a version twice")
    accessed = fields.get("last_accessed")
    memory = replace(
        current,
        access_count=_number(fields, "access_count") if "access_count" in fields else 0,
        last_accessed=parse_moment(accessed, field="last_accessed") if isinstance(accessed, str) else None,
    )
    return MemoryHistory(memory=memory, versions=parsed)


def _version(fields: Json, memory_id: str) -> Version:
    if not isinstance(fields, dict):
        raise InvalidInput("a version must be an object")
    number = _number(fields, "number")
    memory = from_body(_object(fields, "body"), memory_id=memory_id, space="", version=number)
    if not memory.name.strip():
        raise InvalidInput(f"{memory_id} has no `name`")
    return Version(
        number=number,
        memory=memory,
        parent=_number(fields, "parent") if "parent" in fields else None,
        action=_text(fields, "action"),
        created_at=parse_moment(_text(fields, "created_at"), field="created_at"),
        agent=_text(fields, "agent", default=""),
        run=_text(fields, "run", default=""),
        message=_text(fields, "message", default=""),
    )


def _relation(fields: Mapping[str, Json]) -> Relation:
    strength = fields.get("strength", 0.5)
    if isinstance(strength, bool) or not isinstance(strength, int | float) or not 0 <= strength <= 1:
        raise InvalidInput("strength must be a number from 0 to 1")
    return Relation(
        source=_text(fields, "source").lower(),
        target=_text(fields, "target").lower(),
        type=_text(fields, "type", default=LINK),
        text=_text(fields, "text", default=""),
        strength=float(strength),
        metadata=_object(fields, "metadata") if "metadata" in fields else {},
        created_at=parse_moment(_text(fields, "created_at"), field="created_at"),
    )


def _text(fields: Mapping[str, Json], name: str, *, default: str | None = None) -> str:
    value = fields.get(name, default)
    if not isinstance(value, str):
        raise InvalidInput(f"`{name}` must be a text")
    return value


def _number(fields: Mapping[str, Json], name: str) -> int:
    return require_integer(fields.get(name), field=f"`{name}`", least=0)


def _object(fields: Mapping[str, Json], name: str) -> dict[str, Json]:
    value = fields.get(name)
    if not isinstance(value, dict):
        raise InvalidInput(f"`{name}` must be an object")
    return value
