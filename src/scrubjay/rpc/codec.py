"""JSON codec: requests and results by their fields, and errors.

It converts types only. The engine validates values, so that errors are the same on every surface.
"""

import base64
from collections.abc import Callable, Mapping, Sequence
from dataclasses import MISSING, fields, is_dataclass
from datetime import datetime
from difflib import get_close_matches
from enum import Enum
from functools import cache
from operator import attrgetter
from pathlib import Path
from types import NoneType, UnionType
from typing import Any, Union, cast, get_args, get_origin, get_type_hints

from scrubjay.errors import CODES, InvalidInput, ScrubjayError, codes_of
from scrubjay.model.arguments import Request
from scrubjay.model.caller import Caller
from scrubjay.model.memory import Json, Memory, Source
from scrubjay.model.snapshot import as_json, from_body
from scrubjay.model.timestamps import parse_moment, to_iso
from scrubjay.model.verbs import VERBS, Verb

PROBLEM = "application/problem+json"
_PROBLEM_TYPE = "urn:scrubjay:problem:"
# Members of a problem that repeat fields of the error.
_PROBLEM_MEMBERS = frozenset({"type", "title", "status", "request_id"})

_Build = Callable[[Json], object]
_Write = Callable[..., Json]
# The most frequent types need no writer.
_LEAVES = frozenset({str, int, float, bool, NoneType})
_ERRORS: dict[str, type[ScrubjayError]] = {kind.code: kind for kind in CODES}


def to_json(value: object) -> Json:
    """Return a value as JSON; empty fields of a memory are left out, those of results are not."""
    write = None if type(value) in _LEAVES else _writer(type(value))
    return cast("Json", value) if write is None else write(value)


def to_json_without_defaults(value: object) -> Json:
    """Return a value as JSON without default values: the shortest form that `from_json` can read."""
    write = None if type(value) in _LEAVES else _lean_writer(type(value))
    return cast("Json", value) if write is None else write(value)


def error_to_json(error: ScrubjayError) -> dict[str, Json]:
    """Return an error as JSON."""
    result: dict[str, Json] = {"code": error.code, "message": error.message}
    if error.hint:
        result["hint"] = error.hint
    return result | {name: to_json(value) for name, value in error.fields.items()}


def from_json(kind: object, value: Json) -> object:
    """Read a value of an annotated type from JSON; a value of another shape is returned unchanged."""
    build = _builder(kind)
    return value if build is None else build(value)


def error_from_json(value: Mapping[str, Json]) -> ScrubjayError:
    """Read an error; an unknown code, as of a newer version, becomes a plain ScrubjayError."""
    kind = _ERRORS.get(str(value.get("code")), ScrubjayError)
    extra = {
        name: tuple(map(str, item)) if isinstance(item, list) else item
        for name, item in value.items()
        if name not in ("code", "message", "hint") and not isinstance(item, dict)
    }
    return kind(str(value.get("message", "")), hint=str(value.get("hint", "")), **extra)


def problem_from_error(error: ScrubjayError, *, request_id: str = "") -> dict[str, Json]:
    """Return an error as a problem of RFC 9457."""
    members = error_to_json(error)
    code, message = str(members.pop("code")), str(members.pop("message"))
    # The members of a problem come last, so that no field of an error replaces one.
    return members | problem(codes_of(error).http, code, message, request_id=request_id)


def problem(status: int, code: str, detail: str, *, request_id: str = "") -> dict[str, Json]:
    """Return a problem with a code for programs and a detail for people."""
    request: dict[str, Json] = {"request_id": request_id} if request_id else {}
    title = code.replace("_", " ")
    return {
        "type": f"{_PROBLEM_TYPE}{code}",
        "title": title,
        "status": status,
        "detail": detail,
        "code": code,
    } | request


def error_from_problem(problem: Mapping[str, Json]) -> ScrubjayError:
    """Read the error of a problem."""
    members = {name: value for name, value in problem.items() if name not in _PROBLEM_MEMBERS}
    return error_from_json({**members, "message": members["detail"], "detail": {}})


def find_verb(name: str) -> Verb:
    """Return a verb by its name; raises InvalidInput with the nearest one."""
    if name not in VERBS:
        near = get_close_matches(name[:100], sorted(VERBS), n=1)
        hint = f"Did you mean {near[0]}?" if near else f"The verbs are {', '.join(sorted(VERBS))}"
        raise InvalidInput(f"there is no verb {name[:100]!r}", hint=hint, field="verb")
    return VERBS[name]


def parse_request(verb: str, arguments: Mapping[str, Json]) -> Request[object]:
    """Read the arguments of a verb; raises InvalidInput for an unknown, missing or wrong one."""
    return find_verb(verb).request.of(**arguments)


def parse_caller(value: Json) -> Caller:
    """Read the caller."""
    return cast("Caller", from_json(Caller, {} if value is None else value))


@cache
def type_hints(owner: object) -> dict[str, object]:
    """Return the resolved annotations of a class or function."""
    return dict(get_type_hints(owner))


@cache
def _writer(kind: type) -> _Write | None:
    """Return the function that writes values of a type as JSON; None if they are JSON already."""
    return _choose_writer(kind, to_json, _memberswriter)


@cache
def _lean_writer(kind: type) -> _Write | None:
    """Return the function that writes values of a type as JSON without defaults; None if they are JSON already."""
    return _choose_writer(kind, to_json_without_defaults, _lean_memberswriter)


def _choose_writer(kind: type, part: _Write, of_members: Callable[[type[Source]], _Write]) -> _Write | None:
    write: _Write | None = None
    if issubclass(kind, Memory):
        write = as_json
    elif issubclass(kind, Mapping):
        write = _mapping_writer(part)
    elif issubclass(kind, list | tuple):
        write = _items_writer(part)
    elif issubclass(kind, datetime):
        write = to_iso
    elif issubclass(kind, Enum):
        # The attribute `value` takes three calls; the text of one that is a text is the same.
        write = str.__str__ if issubclass(kind, str) else _write_member
    elif issubclass(kind, Path):
        write = str
    elif issubclass(kind, bytes):
        write = _write_bytes
    elif is_dataclass(cast("object", kind)):
        write = of_members(cast("type[Source]", kind))
    return write


def _memberswriter(kind: type[Source]) -> _Write:
    names = tuple(field.name for field in fields(kind))
    values_of = _members_getter(names)

    def write(value: object) -> Json:
        # Most members are texts and numbers, and a call for each would take longer than the rest.
        result = dict(zip(names, values_of(value), strict=True))
        for name, item in result.items():
            if type(item) not in _LEAVES and (part := _writer(type(item))) is not None:
                result[name] = part(item)
        return cast("Json", result)

    return write


def _lean_memberswriter(kind: type[Source]) -> _Write:
    names = tuple(field.name for field in fields(kind))
    defaults = tuple(
        field.default_factory() if field.default_factory is not MISSING else field.default for field in fields(kind)
    )
    values_of = _members_getter(names)

    def write(value: object) -> Json:
        result: dict[str, object] = {}
        for name, default, item in zip(names, defaults, values_of(value), strict=True):
            # An equal value of another type is not the default: true is not 1.
            if item is not default and (type(item) is not type(default) or item != default):
                part = None if type(item) in _LEAVES else _lean_writer(type(item))
                result[name] = item if part is None else part(item)
        return cast("Json", result)

    return write


def _members_getter(names: Sequence[str]) -> Callable[[object], tuple[object, ...]]:
    """Return the function that reads all members of a value at once."""
    if len(names) > 1:
        return attrgetter(*names)
    return lambda value: tuple(getattr(value, name) for name in names)


def _mapping_writer(part: _Write) -> _Write:
    def write(value: Mapping[object, Any]) -> Json:
        return {str(key): item if type(item) in _LEAVES else part(item) for key, item in value.items()}

    return write


def _items_writer(part: _Write) -> _Write:
    def write(value: Sequence[Any]) -> Json:
        return [item if type(item) in _LEAVES else part(item) for item in value]

    return write


def _write_bytes(value: bytes) -> Json:
    return base64.b64encode(value).decode("ascii")


def _write_member(value: Enum) -> Json:
    return cast("str", value.value)


@cache
def _builder(kind: object) -> _Build | None:
    """Return the function that reads a value of a type from JSON; None if the JSON is the value."""
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
    # Filled on first use, because a class may contain itself.
    builders: dict[str, _Build | None] = {}
    name = kind.__name__.lower()

    def find_builder(field: str) -> _Build | None:
        hints = type_hints(kind)
        if field not in hints:
            raise InvalidInput(f"{name} has no field {field[:100]!r}", field=field[:100])
        return builders.setdefault(field, _builder(hints[field]))

    def build(value: Json) -> object:
        if not isinstance(value, dict):
            raise InvalidInput(f"{name} must be an object, not {type(value).__name__}")
        arguments: dict[str, object] = {}
        for field, item in value.items():
            make = builders[field] if field in builders else find_builder(field)
            arguments[field] = item if make is None else make(item)
        try:
            return kind(**arguments)
        except TypeError as error:
            raise InvalidInput(f"{name} is incomplete: {error}") from None

    return build


def _container_builder(kind: object) -> _Build | None:
    """Return the function that reads a tuple, mapping or union; None for other types."""
    origin, arguments = get_origin(kind), get_args(kind)
    if origin is tuple:
        return _tuple_builder(_builder(arguments[0]))
    if origin in (dict, Mapping):
        make = _builder(arguments[1])
        return None if make is None else lambda value: _mapping(value, make)
    if origin in (Union, UnionType):
        others = [argument for argument in arguments if argument is not NoneType]
        make = _builder(others[0]) if len(others) == 1 else None
        return None if make is None else lambda value: None if value is None else make(value)
    return None


def _tuple_builder(make: _Build | None) -> _Build:
    if make is None:
        return lambda value: tuple(value) if isinstance(value, list) else value
    return lambda value: tuple(map(make, value)) if isinstance(value, list) else value


def _mapping(value: Json, make: _Build) -> object:
    return {name: make(item) for name, item in value.items()} if isinstance(value, dict) else value


def _moment(value: Json) -> object:
    return parse_moment(value, field="time") if isinstance(value, str) else value


def _path(value: Json) -> object:
    return None if value is None else Path(str(value))


def _member_builder(kind: type[Enum]) -> _Build:
    # To call the class takes three calls.
    members: dict[Json, Enum] = {member.value: member for member in kind}

    def build(value: Json) -> object:
        if isinstance(value, str) and value in members:
            return members[value]
        try:
            return None if value is None else kind(value)
        except ValueError:
            choices = ", ".join(str(member.value) for member in kind)
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
