"""One line of an export: a memory with its versions, a relation, or an item of an optional section."""

import base64
import binascii
import json
from collections.abc import Mapping, Sequence
from dataclasses import replace

import numpy as np

from scrubjay.errors import InvalidInput
from scrubjay.lazy import dataclass
from scrubjay.model.checks import require_integer, require_text
from scrubjay.model.document import Document
from scrubjay.model.identity import is_id
from scrubjay.model.memory import Json
from scrubjay.model.passage import Vector
from scrubjay.model.relation import LINK, Relation
from scrubjay.model.snapshot import from_body, to_body
from scrubjay.model.timestamps import parse_moment, to_iso
from scrubjay.model.version import Version
from scrubjay.ports import MemoryHistory
from scrubjay.ports.commit import StoredAnswer

# An export without optional sections has the first format, so that earlier releases read it.
_FORMAT, _FORMAT_WITH_SECTIONS = 1, 2
_COMPONENT = np.dtype("<f2")


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class StoredVector:
    """The vector of a text by a model; `digest` is the hash of the text."""

    model: str
    digest: bytes
    vector: Vector


Item = MemoryHistory | Relation | Document | StoredAnswer | StoredVector
"""The content of a line."""


def header(space: str, exported_at: str, *, sections: Sequence[str] = ()) -> str:
    """Return the first line, which says what the file is."""
    fields: dict[str, Json] = {
        "scrubjay": _FORMAT_WITH_SECTIONS if sections else _FORMAT,
        "space": space,
        "exported_at": exported_at,
    }
    if sections:
        fields["sections"] = list[Json](sections)
    return json.dumps(fields)


def damage_line(damaged: Mapping[str, str], *, space: str) -> str:
    """Return a line that names the memories of which something is missing, and why; an import skips it."""
    # As a header, so that earlier releases skip it too.
    fields: dict[str, Json] = {"scrubjay": _FORMAT, "space": space, "damaged": dict[str, Json](damaged)}
    return json.dumps(fields, ensure_ascii=False)


def write_line(item: Item) -> str:
    """Return the line of an item."""
    return json.dumps(to_json(item), ensure_ascii=False)


def to_json(item: Item) -> dict[str, Json]:
    """Return the JSON object of an item, which is the same for every store and space that contain it."""
    match item:
        case MemoryHistory():
            return _history_json(item)
        case Relation():
            return {"relation": _relation_json(item)}
        case Document():
            return {"document": _document_json(item)}
        case StoredAnswer():
            return {"answer": _answer_json(item)}
        case StoredVector():
            data = base64.b64encode(item.vector.astype(_COMPONENT).tobytes()).decode()
            return {"vector": {"model": item.model, "text": item.digest.hex(), "data": data}}


def parse_line(text: str) -> Item | None:
    """Return the item of a line, None for the header; raises InvalidInput."""
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
    for name, parse in _PARSERS.items():
        if name in line:
            return parse(_object(line, name))
    _check_header(line)
    return None


def _check_header(line: Mapping[str, Json]) -> None:
    version = line.get("scrubjay")
    if not isinstance(version, int):
        raise InvalidInput("this is not a Scrubjay export: the first line lacks `scrubjay`")
    if version > _FORMAT_WITH_SECTIONS:
        raise InvalidInput(
            f"this export has format {version}; this Scrubjay reads up to {_FORMAT_WITH_SECTIONS}",
            hint="Update Scrubjay",
        )


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


def _history_json(memory_history: MemoryHistory) -> dict[str, Json]:
    memory = memory_history.memory
    fields: dict[str, Json] = {"id": memory.id, "version": memory.version}
    if memory.access_count:
        fields["access_count"] = memory.access_count
    if memory.last_accessed:
        fields["last_accessed"] = to_iso(memory.last_accessed)
    versions: list[Json] = [_version_json(version) for version in memory_history.versions]
    return {"memory": fields, "versions": versions}


def _relation_json(relation: Relation) -> dict[str, Json]:
    return {
        "source": relation.source,
        "target": relation.target,
        "type": relation.type,
        "text": relation.text,
        "strength": relation.strength,
        "metadata": dict(relation.metadata),
        "created_at": to_iso(relation.created_at),
    }


def _document_json(document: Document) -> dict[str, Json]:
    fields: dict[str, Json] = {
        "collection": document.collection,
        "key": document.key,
        "value": dict(document.value),
        "version": document.version,
        "at": to_iso(document.at),
    }
    return fields | ({"due": to_iso(document.due)} if document.due else {})


def _answer_json(answer: StoredAnswer) -> dict[str, Json]:
    # The digest instead of the key: some stores have no more, and it reveals nothing.
    return {
        "key": answer.key_digest.hex(),
        "request": answer.digest.hex(),
        "answer": answer.answer,
        "run": answer.run,
        "agent": answer.agent,
        "at": to_iso(answer.at),
    }


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


def _document(fields: Mapping[str, Json]) -> Document:
    due = fields.get("due")
    return Document(
        space="",
        collection=_text(fields, "collection"),
        key=_text(fields, "key"),
        value=_object(fields, "value"),
        version=_number(fields, "version"),
        at=parse_moment(_text(fields, "at"), field="at"),
        due=None if due is None else parse_moment(_text(fields, "due"), field="due"),
    )


def _answer(fields: Mapping[str, Json]) -> StoredAnswer:
    return StoredAnswer(
        key=_digest(fields, "key"),
        digest=_digest(fields, "request"),
        answer=_text(fields, "answer"),
        run=_text(fields, "run", default=""),
        agent=_text(fields, "agent", default=""),
        at=parse_moment(_text(fields, "at"), field="at"),
    )


def _vector(fields: Mapping[str, Json]) -> StoredVector:
    try:
        data = np.frombuffer(base64.b64decode(_text(fields, "data"), validate=True), dtype=_COMPONENT)
    except (binascii.Error, ValueError):
        raise InvalidInput("`data` must be half-precision numbers in Base64") from None
    vector = data.astype(np.float32)
    if not vector.size or not np.isfinite(vector).all():
        raise InvalidInput("`data` must have finite numbers")
    return StoredVector(model=_text(fields, "model"), digest=_digest(fields, "text"), vector=vector)


_PARSERS = {"relation": _relation, "document": _document, "answer": _answer, "vector": _vector}


def _digest(fields: Mapping[str, Json], name: str) -> bytes:
    try:
        return bytes.fromhex(_text(fields, name))
    except ValueError:
        raise InvalidInput(f"`{name}` must be a digest in hexadecimal digits") from None


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
