"""One line of an export: a memory with its past, or a relation."""

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
    """The first line: what the file is."""
    return json.dumps({"scrubjay": FORMAT, "space": space, "exported_at": exported_at})


def check_header(given: Mapping[str, Json]) -> None:
    """Refuse a file that is not ours or is newer than we are."""
    found = given.get("scrubjay")
    if not isinstance(found, int):
        raise InvalidInput("this is not a Scrubjay export: the first line lacks `scrubjay`")
    if found > FORMAT:
        raise InvalidInput(
            f"this export has format {found}; this Scrubjay reads up to {FORMAT}", hint="Update Scrubjay"
        )


def history_line(memory_history: MemoryHistory) -> str:
    """A memory with all its versions."""
    return json.dumps(history_json(memory_history), ensure_ascii=False)


def history_json(memory_history: MemoryHistory) -> dict[str, Json]:
    """The same before it is written."""
    memory = memory_history.memory
    beside: dict[str, Json] = {"id": memory.id, "version": memory.version}
    if memory.access_count:
        beside["access_count"] = memory.access_count
    if memory.last_accessed:
        beside["last_accessed"] = to_iso(memory.last_accessed)
    versions: list[Json] = [_version_json(version) for version in memory_history.versions]
    return {"memory": beside, "versions": versions}


def relation_line(relation: Relation) -> str:
    """A relation."""
    return json.dumps(relation_json(relation), ensure_ascii=False)


def relation_json(relation: Relation) -> dict[str, Json]:
    """The same before it is written."""
    told: dict[str, Json] = {
        "source": relation.source,
        "target": relation.target,
        "type": relation.type,
        "text": relation.text,
        "strength": relation.strength,
        "metadata": dict(relation.metadata),
        "created_at": to_iso(relation.created_at),
    }
    return {"relation": told}


def parse_line(text: str) -> MemoryHistory | Relation | None:
    """What a line holds; the header is None."""
    try:
        given: object = json.loads(text, parse_constant=_refuse_constant)
    except (ValueError, RecursionError) as error:
        raise InvalidInput(f"not JSON: {error}") from None
    if not isinstance(given, dict):
        raise InvalidInput("not a JSON object")
    line: dict[str, Json] = given  # pyright: ignore[reportUnknownVariableType]
    # Our own exports have hardly any escapes, and only an escape can bring in what no store keeps.
    if "\\u" in text:
        _refuse_unwritable(line)
    if "memory" in line:
        return _memory_history(_object(line, "memory"), line.get("versions"))
    if "relation" in line:
        return _relation(_object(line, "relation"))
    check_header(line)
    return None


def _refuse_constant(name: str) -> float:
    raise ValueError(f"{name} is not a number of JSON")


def _refuse_unwritable(line: dict[str, Json]) -> None:
    waiting: list[Json] = [line]
    while waiting:
        value = waiting.pop()
        if isinstance(value, dict):
            waiting += [*value, *value.values()]
        elif isinstance(value, list):
            waiting += value
        elif isinstance(value, str) and "\x00" in require_text(value, field="a text of this line"):
            raise InvalidInput("a text of this line has a NUL character")


def _version_json(version: Version) -> dict[str, Json]:
    told: dict[str, Json] = {
        "number": version.number,
        "action": version.action,
        "created_at": to_iso(version.created_at),
        "body": to_body(version.memory),
    }
    if version.parent is not None:
        told["parent"] = version.parent
    for name in ("agent", "run", "message"):
        if value := getattr(version, name):
            told[name] = value
    return told


def _memory_history(beside: Mapping[str, Json], versions: Json) -> MemoryHistory:
    memory_id = _text(beside, "id").lower()
    if not is_id(memory_id):
        raise InvalidInput(f"{memory_id!r} is not an id")
    if not isinstance(versions, list) or not versions:
        raise InvalidInput("a memory needs at least one version")
    past = tuple(_version(version, memory_id) for version in versions)
    current = {version.number: version.memory for version in past}.get(_number(beside, "version"))
    if current is None:
        raise InvalidInput(f"the current version of {memory_id} is missing")
    if max(version.number for version in past) > current.version:
        raise InvalidInput(f"the current version of {memory_id} is not its newest")
    if len({version.number for version in past}) != len(past):
        raise InvalidInput(f"{memory_id} has a version twice")
    accessed = beside.get("last_accessed")
    memory = replace(
        current,
        access_count=_number(beside, "access_count") if "access_count" in beside else 0,
        last_accessed=parse_moment(accessed, field="last_accessed") if isinstance(accessed, str) else None,
    )
    return MemoryHistory(memory=memory, versions=past)


def _version(given: Json, memory_id: str) -> Version:
    if not isinstance(given, dict):
        raise InvalidInput("a version must be an object")
    number = _number(given, "number")
    memory = from_body(_object(given, "body"), memory_id=memory_id, space="", version=number)
    if not memory.name.strip():
        raise InvalidInput(f"{memory_id} has no `name`")
    return Version(
        number=number,
        memory=memory,
        parent=_number(given, "parent") if "parent" in given else None,
        action=_text(given, "action"),
        created_at=parse_moment(_text(given, "created_at"), field="created_at"),
        agent=_text(given, "agent", default=""),
        run=_text(given, "run", default=""),
        message=_text(given, "message", default=""),
    )


def _relation(given: Mapping[str, Json]) -> Relation:
    strength = given.get("strength", 0.5)
    if isinstance(strength, bool) or not isinstance(strength, int | float) or not 0 <= strength <= 1:
        raise InvalidInput("strength must be a number from 0 to 1")
    return Relation(
        source=_text(given, "source").lower(),
        target=_text(given, "target").lower(),
        type=_text(given, "type", default=LINK),
        text=_text(given, "text", default=""),
        strength=float(strength),
        metadata=_object(given, "metadata") if "metadata" in given else {},
        created_at=parse_moment(_text(given, "created_at"), field="created_at"),
    )


def _text(given: Mapping[str, Json], name: str, *, default: str | None = None) -> str:
    value = given.get(name, default)
    if not isinstance(value, str):
        raise InvalidInput(f"`{name}` must be a text")
    return value


def _number(given: Mapping[str, Json], name: str) -> int:
    return require_integer(given.get(name), field=f"`{name}`", least=0)


def _object(given: Mapping[str, Json], name: str) -> dict[str, Json]:
    value = given.get(name)
    if not isinstance(value, dict):
        raise InvalidInput(f"`{name}` must be an object")
    return value
