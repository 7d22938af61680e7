"""Values to JSON and back: answers by their fields, arguments by the annotations of whoever takes them.

Only the shape is made here. Whether a value may be stored is for the engine to say, in the same words wherever the
caller is.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import MISSING, fields, is_dataclass
from datetime import datetime
from enum import Enum
from functools import cache
from pathlib import Path
from types import NoneType, UnionType
from typing import Union, cast, get_args, get_origin, get_type_hints

from scrubjay.errors import CODES, InvalidInput, ScrubjayError
from scrubjay.model.memory import Json, Memory, Source
from scrubjay.model.snapshot import as_json, from_body
from scrubjay.model.timestamps import parse_moment, to_iso

_Build = Callable[[Json], object]
_Write = Callable[..., Json]
# Most of what an answer is made of: not worth asking how to write it.
_LEAVES = frozenset({str, int, float, bool, NoneType})
_ERRORS: dict[str, type[ScrubjayError]] = {kind.code: kind for kind in CODES}


def to_json(value: object) -> Json:
    """A value as JSON; empty fields of a memory are left out, those of answers are kept."""
    write = None if type(value) in _LEAVES else _writer(type(value))
    return cast("Json", value) if write is None else write(value)


def to_json_without_defaults(value: object) -> Json:
    """The same without what is at its default: what `built` makes a value from, and as little to send as can be."""
    write = None if type(value) in _LEAVES else _writer(type(value), is_lean=True)
    return cast("Json", value) if write is None else write(value)


def error_to_json(error: ScrubjayError) -> dict[str, Json]:
    """An error as JSON."""
    told: dict[str, Json] = {"code": error.code, "message": error.message}
    if error.hint:
        told["hint"] = error.hint
    return told | {name: to_json(value) for name, value in error.fields.items()}


def from_json(kind: object, value: Json) -> object:
    """A value of an annotated type from its JSON; what does not fit is left as it is."""
    build = _builder(kind)
    return value if build is None else build(value)


def error_from(told: Mapping[str, Json]) -> ScrubjayError:
    """The error that was told; one that only a newer version knows becomes a plain one."""
    known = {"code", "message", "hint"}
    kind = _ERRORS.get(str(told.get("code")), ScrubjayError)
    extra = {
        name: tuple(map(str, value)) if isinstance(value, list) else value
        for name, value in told.items()
        if name not in known and not isinstance(value, dict)
    }
    return kind(str(told.get("message", "")), hint=str(told.get("hint", "")), **extra)


@cache
def hints_of(owner: object) -> dict[str, object]:
    """The annotations of a class or function, resolved."""
    return dict(get_type_hints(owner))


@cache
def _writer(kind: type, *, is_lean: bool = False) -> _Write | None:
    """How to write values of a type as JSON; None when they are JSON already."""
    write: _Write | None = None
    if issubclass(kind, Memory):
        write = as_json
    elif issubclass(kind, Mapping):
        write = _mapping_writer(to_json_without_defaults if is_lean else to_json)
    elif issubclass(kind, list | tuple):
        write = _items_writer(to_json_without_defaults if is_lean else to_json)
    elif issubclass(kind, datetime):
        write = to_iso
    elif issubclass(kind, Enum):
        write = _write_member
    elif issubclass(kind, Path):
        write = str
    elif is_dataclass(cast("object", kind)):
        write = (_lean_fields_writer if is_lean else _fields_writer)(cast("type[Source]", kind))
    return write


def _fields_writer(kind: type[Source]) -> _Write:
    names = tuple(field.name for field in fields(kind))

    def write(value: object) -> Json:
        return {name: to_json(getattr(value, name)) for name in names}

    return write


def _lean_fields_writer(kind: type[Source]) -> _Write:
    defaults = [
        (field.name, field.default_factory() if field.default_factory is not MISSING else field.default)
        for field in fields(kind)
    ]

    def write(value: object) -> Json:
        told: dict[str, Json] = {}
        for name, default in defaults:
            one = getattr(value, name)
            # Of another type it is not the default, though it may be equal: true is not 1.
            if one is not default and (type(one) is not type(default) or one != default):
                told[name] = to_json_without_defaults(one)
        return told

    return write


def _mapping_writer(part: _Write) -> _Write:
    def write(value: Mapping[object, object]) -> Json:
        return {str(key): part(one) for key, one in value.items()}

    return write


def _items_writer(part: _Write) -> _Write:
    def write(value: Sequence[object]) -> Json:
        return [part(one) for one in value]

    return write


def _write_member(value: Enum) -> Json:
    return cast("str", value.value)


@cache
def _builder(kind: object) -> _Build | None:
    """How to make a value of a type from its JSON; None when the JSON is the value."""
    build: _Build | None = None
    if kind is Memory:
        build = _memory
    elif isinstance(kind, type) and is_dataclass(kind):
        build = _dataclass_builder(kind)
    elif kind is datetime:
        build = _moment
    elif kind is Path:
        build = _path
    elif isinstance(kind, type) and issubclass(kind, Enum):
        build = _member_builder(kind)
    else:
        build = _container_builder(cast("object", kind))
    return build


def _dataclass_builder(kind: type) -> _Build:
    hints = hints_of(kind)
    name = kind.__name__.lower()

    def build(value: Json) -> object:
        if not isinstance(value, dict):
            raise InvalidInput(f"{name} must be an object, not {type(value).__name__}")
        given: dict[str, object] = {}
        for field, one in value.items():
            if field not in hints:
                raise InvalidInput(f"{name} has no field {field[:100]!r}", field=field[:100])
            make = _builder(hints[field])
            given[field] = one if make is None else make(one)
        try:
            return kind(**given)
        except TypeError as error:
            raise InvalidInput(f"{name} is not whole: {error}") from None

    return build


def _container_builder(kind: object) -> _Build | None:
    """Tuples, mappings and unions; the values of others are what JSON gives."""
    origin, arguments = get_origin(kind), get_args(kind)
    if origin is tuple:
        make = _builder(arguments[0])
        return lambda value: _tuple(value, make)
    if origin in (dict, Mapping):
        make = _builder(arguments[1])
        return None if make is None else lambda value: _mapping(value, make)
    if origin in (Union, UnionType):
        others = [argument for argument in arguments if argument is not NoneType]
        make = _builder(others[0]) if len(others) == 1 else None
        return None if make is None else lambda value: None if value is None else make(value)
    return None


def _tuple(value: Json, make: _Build | None) -> object:
    if not isinstance(value, list):
        return value
    return tuple(value) if make is None else tuple(make(one) for one in value)


def _mapping(value: Json, make: _Build) -> object:
    return {name: make(one) for name, one in value.items()} if isinstance(value, dict) else value


def _moment(value: Json) -> object:
    return parse_moment(value, field="time") if isinstance(value, str) else value


def _path(value: Json) -> object:
    return None if value is None else Path(str(value))


def _member_builder(kind: type[Enum]) -> _Build:
    def build(value: Json) -> object:
        try:
            return None if value is None else kind(value)
        except ValueError:
            choices = ", ".join(str(one.value) for one in kind)
            raise InvalidInput(f"{kind.__name__.lower()} must be one of {choices}, not {str(value)[:60]!r}") from None

    return build


def _memory(value: Json) -> object:
    if value is None:
        return None
    if not isinstance(value, dict):
        raise InvalidInput(f"a memory must be an object, not {type(value).__name__}")
    accessed = value.get("last_accessed")
    return from_body(
        value,
        memory_id=str(value.get("id", "")),
        space=str(value.get("space", "")),
        version=cast("int", value.get("version", 0)),
        last_accessed=parse_moment(str(accessed), field="last_accessed") if accessed else None,
        access_count=cast("int", value.get("access_count", 0)),
    )
