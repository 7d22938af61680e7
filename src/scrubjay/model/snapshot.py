"""Memories as JSON: the body that versions store and export writes."""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import MISSING, fields
from datetime import datetime
from enum import StrEnum
from typing import Any, TypeVar, cast

from scrubjay.errors import InvalidInput
from scrubjay.model.memory import Flag, Json, Memory, Merged, Method, Observation, Source, State, Tier, Trust
from scrubjay.model.timestamps import parse_moment, to_iso

# Stored outside the body: they identify it, or change without a new version.
OUTSIDE_BODY = ("id", "space", "version", "last_accessed", "access_count")

# What JSON has itself, and most fields have.
_SCALARS = frozenset({str, bool, int, float, type(None)})
Chosen = TypeVar("Chosen", bound=StrEnum)


def to_body(memory: Memory) -> dict[str, Json]:
    """Return the body of a memory; fields with default values are left out."""
    body: dict[str, Json] = {}
    for name, default in _DEFAULTS.items():
        value = getattr(memory, name)
        # Most fields have the very object of the default.
        if value is not default and value != default:
            body[name] = _plain(value)
    return body


def values_of(memory: Memory, names: Iterable[str]) -> dict[str, Json]:
    """Return some fields of the body of a memory, default values too."""
    return {name: _plain(getattr(memory, name)) for name in names}


def as_json(memory: Memory) -> dict[str, Json]:
    """Return all fields of a memory without default values."""
    outside: dict[str, Json] = {"id": memory.id, "space": memory.space, "version": memory.version}
    if memory.access_count:
        outside["access_count"] = memory.access_count
    if memory.last_accessed:
        outside["last_accessed"] = to_iso(memory.last_accessed)
    return outside | to_body(memory)


def from_body(
    body: Mapping[str, Json | datetime],
    *,
    memory_id: str,
    space: str,
    version: int,
    last_accessed: datetime | None = None,
    access_count: int = 0,
) -> Memory:
    """Read a memory from its body, whose times may be read already; raises InvalidInput for a malformed one."""
    values = {name: _READERS[name](name, value) for name, value in body.items() if name in _READERS}
    for required in ("name", "created_at", "updated_at"):
        if required not in values:
            raise InvalidInput(f"a memory needs `{required}`", field=required)
    build = cast("Callable[..., Memory]", Memory)
    return build(
        id=memory_id,
        space=space,
        version=version,
        last_accessed=last_accessed,
        access_count=access_count,
        **values,
    )


def source_to_json(source: Source) -> dict[str, Json]:
    """Return a source without default values."""
    return {
        name: _plain(value) for name, default in _SOURCE_DEFAULTS.items() if (value := getattr(source, name)) != default
    }


def source_from_json(value: Json) -> Source:
    """Read a source."""
    source_fields = _object("source", value)
    values = {
        name: read(f"source.{name}", source_fields[name])
        for name, read in _SOURCE_READERS.items()
        if name in source_fields
    }
    return cast("Callable[..., Source]", Source)(**values)


def observation_to_json(observation: Observation) -> dict[str, Json]:
    """Return an observation without empty fields."""
    result: dict[str, Json] = {"text": observation.text, "recorded_at": to_iso(observation.recorded_at)}
    if observation.valid_until:
        result["valid_until"] = to_iso(observation.valid_until)
    if observation.source:
        result["source"] = source_to_json(observation.source)
    return result


def _plain(value: object) -> Json:
    if type(value) in _SCALARS:
        return cast("Json", value)
    if isinstance(value, datetime):
        return to_iso(value)
    if isinstance(value, Source):
        return source_to_json(value)
    if isinstance(value, tuple):
        return [_plain(item) for item in cast("tuple[object, ...]", value)]
    if isinstance(value, Observation):
        return observation_to_json(value)
    if isinstance(value, Merged):
        return {
            "id": value.id,
            "at": to_iso(value.at),
            "source": source_to_json(value.source),
            "statements": list(value.statements),
        }
    if isinstance(value, StrEnum):
        return value.value
    if isinstance(value, Mapping):
        return dict(cast("Mapping[str, Json]", value))
    return cast("Json", value)


def _text(name: str, value: Json) -> str:
    if not isinstance(value, str):
        raise _wrong(name, "a text", value)
    return value


def _flag(name: str, value: Json) -> bool:
    if not isinstance(value, bool):
        raise _wrong(name, "true or false", value)
    return value


def _share(name: str, value: Json) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value <= 1:
        raise _wrong(name, "a number from 0 to 1", value)
    return float(value)


def _count(name: str, value: Json) -> int:
    if isinstance(value, bool) or not isinstance(value, int) or value < 0:
        raise _wrong(name, "a count", value)
    return value


def _moment(name: str, value: Json | datetime) -> datetime:
    if isinstance(value, datetime):
        return value
    return parse_moment(_text(name, value), field=name)


def _optional_moment(name: str, value: Json | datetime) -> datetime | None:
    return None if value is None else _moment(name, value)


def _texts(name: str, value: Json) -> tuple[str, ...]:
    return tuple(_text(name, item) for item in _array(name, value))


def _array(name: str, value: Json) -> list[Json]:
    if not isinstance(value, list):
        raise _wrong(name, "a list", value)
    return value


def _object(name: str, value: Json) -> dict[str, Json]:
    if not isinstance(value, dict):
        raise _wrong(name, "an object", value)
    return value


def _observations(name: str, value: Json) -> tuple[Observation, ...]:
    return tuple(_observation(name, _object(name, item)) for item in _array(name, value))


def _observation(name: str, entry: Mapping[str, Json]) -> Observation:
    return Observation(
        text=_text(f"{name}.text", entry.get("text")),
        recorded_at=_moment(f"{name}.recorded_at", entry.get("recorded_at")),
        valid_until=_optional_moment(f"{name}.valid_until", entry.get("valid_until")),
        source=_observed_by(f"{name}.source", entry.get("source")),
    )


def _observed_by(name: str, value: Json) -> Source | None:
    # Old bodies have the name of a session here.
    if not value or isinstance(value, str):
        return Source(session=_text(name, value)) if value else None
    return source_from_json(_object(name, value))


def _merged(name: str, value: Json) -> tuple[Merged, ...]:
    return tuple(_merged_entry(name, _object(name, item)) for item in _array(name, value))


def _merged_entry(name: str, entry: Mapping[str, Json]) -> Merged:
    return Merged(
        id=_text(f"{name}.id", entry.get("id")),
        at=_moment(f"{name}.at", entry.get("at")),
        source=source_from_json(entry.get("source", {})),
        statements=_texts(f"{name}.statements", entry.get("statements", [])),
    )


def _flags(name: str, value: Json) -> tuple[Flag, ...]:
    return tuple(_one_of(Flag)(name, item) for item in _array(name, value))


def _one_of(choices: type[Chosen]) -> Callable[[str, Json], Chosen]:
    # In a dictionary a value is found sooner than by the class.
    by_value = {choice.value: choice for choice in choices}

    def choose(name: str, value: Json) -> Chosen:
        choice = by_value.get(_text(name, value))
        if choice is None:
            raise _wrong(name, "one of " + ", ".join(choices), value)
        return choice

    return choose


def _source(_: str, value: Json) -> Source:
    return source_from_json(value)


def _wrong(name: str, expected: str, value: Json) -> InvalidInput:
    return InvalidInput(f"{name} must be {expected}, not {type(value).__name__} {str(value)[:60]!r}", field=name)


_READERS: dict[str, Callable[[str, Any], object]] = {
    **dict.fromkeys(
        (
            "name", "title", "kind", "category", "project", "scope", "content",
            "entity", "group", "merged_into", "branch", "trunk", "resolution",
        ),
        _text,
    ),
    **dict.fromkeys(("created_at", "updated_at"), _moment),
    **dict.fromkeys(("expires_at", "valid_until", "remind_at", "last_confirmed", "last_reviewed"), _optional_moment),
    "observations": _observations,
    "tags": _texts,
    "flags": _flags,
    "merged": _merged,
    "tier": _one_of(Tier),
    "state": _one_of(State),
    "pinned": _flag,
    "relevance": _share,
    "forked": _count,
    "source": _source,
    "metadata": _object,
}  # fmt: skip

_SOURCE_READERS: dict[str, Callable[[str, Json], object]] = {
    **dict.fromkeys(("session", "conversation", "agent", "tool"), _text),
    "at": _optional_moment,
    "method": _one_of(Method),
    "trust": _one_of(Trust),
}  # fmt: skip
_SOURCE_DEFAULTS: dict[str, object] = {field.name: getattr(Source(), field.name) for field in fields(Source)}
_DEFAULTS: dict[str, object] = {
    field.name: (field.default_factory() if field.default_factory is not MISSING else field.default)
    for field in fields(Memory)
    if field.name not in OUTSIDE_BODY
}
