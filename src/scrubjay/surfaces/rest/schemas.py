"""What answers look like, for the OpenAPI description: made from the answers' own types."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import fields, is_dataclass
from datetime import datetime
from enum import Enum
from functools import cache, reduce
from pathlib import Path
from types import NoneType, UnionType
from typing import Union, cast, get_args, get_origin

from pydantic import BaseModel, ConfigDict, Field, JsonValue, create_model
from pydantic.json_schema import models_json_schema

from scrubjay.model import memory
from scrubjay.model.memory import Json
from scrubjay.model.results import Hit
from scrubjay.rpc.codec import type_hints

_REF = "#/components/schemas/{model}"
Described = dict[int | str, dict[str, object]]


def gives(
    kind: type,
    example: Mapping[str, Json],
    *,
    status: int = 200,
    what: str = "Done",
    headers: Sequence[str] = (),
    also: Mapping[str, str] | None = None,
) -> Described:
    """What a route answers when all is well, for its description; what that looks like is made when it is asked for.

    `also` are examples of what it answers to those who want another type than JSON.
    """
    _ASKED_FOR.add(kind)
    content: dict[str, object] = {
        "application/json": {"schema": {"$ref": _REF.format(model=kind.__name__)}, "example": dict(example)}
    }
    content |= {name: {"schema": {"type": "string"}, "example": text} for name, text in (also or {}).items()}
    reported: dict[str, object] = {"description": what, "content": content}
    if headers:
        reported["headers"] = {name: {"description": _HEADERS[name], "schema": {"type": "string"}} for name in headers}
    return {status: reported}


def schemas() -> dict[str, Json]:
    """Everything that answers are made of, by name."""
    kinds = sorted((*_ASKED_FOR, Problem), key=lambda kind: kind.__name__)
    _, results = models_json_schema([(shown(kind), "serialization") for kind in kinds], ref_template=_REF)
    return cast("dict[str, Json]", results["$defs"])


_ASKED_FOR: set[type] = set()
_HEADERS = {
    "ETag": "The version of the memory, for `If-Match` and `If-None-Match`.",
    "Location": "Where the new memory is read.",
}


class Memory(BaseModel):
    """A memory. Fields that are at their defaults are left out."""

    model_config = ConfigDict(extra="allow", defer_build=True)

    id: str
    space: str
    version: int
    name: str
    created_at: datetime
    updated_at: datetime
    title: str = ""
    kind: str = "note"
    category: str = ""
    project: str = ""
    scope: str = ""
    content: str = ""
    observations: list[dict[str, JsonValue]] = Field(default_factory=list[dict[str, JsonValue]])
    entity: str = ""
    group: str = ""
    tags: list[str] = Field(default_factory=list[str])
    tier: str = "working"
    pinned: bool = False
    relevance: float = 1.0
    expires_at: datetime | None = None
    remind_at: datetime | None = None
    state: str = "live"
    merged_into: str = ""
    merged: list[dict[str, JsonValue]] = Field(default_factory=list[dict[str, JsonValue]])
    flags: list[str] = Field(default_factory=list[str])
    branch: str = "main"
    trunk: str = ""
    forked: int = 0
    resolution: str = ""
    valid_until: datetime | None = None
    source: dict[str, JsonValue] = Field(default_factory=dict[str, JsonValue])
    metadata: dict[str, JsonValue] = Field(default_factory=dict[str, JsonValue])
    last_accessed: datetime | None = None
    last_confirmed: datetime | None = None
    last_reviewed: datetime | None = None
    access_count: int = 0


class Problem(BaseModel):
    """What is wrong, as RFC 9457 has it; further members tell the facts."""

    model_config = ConfigDict(extra="allow", defer_build=True)

    type: str = Field(examples=["urn:scrubjay:problem:not_found"])
    title: str
    status: int
    detail: str
    code: str = Field(description="What programs go by; the reference of errors lists them.")
    hint: str = Field(default="", description="What to do next.")
    request_id: str = Field(default="", description="The number under which the server's log tells of it.")
    field: str = Field(default="", description="What is wrong in the request, where one thing is.")
    errors: list[str] = Field(default_factory=list[str], description="All that is wrong in the request.")


@cache
def shown(kind: type) -> type[BaseModel]:
    """The model of an answer."""
    if kind is memory.Memory:
        return Memory
    if issubclass(kind, BaseModel):
        return kind
    hints = type_hints(cast("object", kind))
    made = {field.name: (_shape(hints[field.name]), ...) for field in fields(cast("type[Hit]", kind))}
    return cast("type[BaseModel]", _create(kind.__name__, __doc__=kind.__doc__, **made))


def _shape(kind: object) -> object:
    """The type of a field as JSON has it."""
    origin, arguments = get_origin(kind), get_args(kind)
    if is_dataclass(kind):
        return shown(cast("type[Hit]", kind))
    if isinstance(kind, type) and issubclass(kind, Enum | Path):
        return str
    if origin is tuple:
        return list.__class_getitem__(_shape(arguments[0]))
    if origin in (Union, UnionType):
        shapes = [cast("type", None if argument is NoneType else _shape(argument)) for argument in arguments]
        return reduce(lambda one, other: cast("type", one | other), shapes)
    return dict[str, JsonValue] if origin in (dict, Mapping) else cast("object", kind)


# Its fields are known only when it is called, which its annotations have no words for.
_create = cast("Callable[..., object]", create_model)
