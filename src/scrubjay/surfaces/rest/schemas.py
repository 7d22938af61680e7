"""The schemas of responses in the OpenAPI description, derived from the types of the results."""

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

from scrubjay.model.descriptions import describe_field
from scrubjay.model.memory import Json, Memory
from scrubjay.model.results import Hit
from scrubjay.rpc.codec import type_hints

_REF = "#/components/schemas/{model}"
ResponseSchemas = dict[int | str, dict[str, object]]


def response_schema(
    result_type: type,
    *,
    status: int = 200,
    description: str = "Success",
    headers: Sequence[str] = (),
    other_types: Sequence[str] = (),
) -> ResponseSchemas:
    """Describe the successful response of a route. `component_schemas` builds the schema; the example is recorded."""
    _RESULT_TYPES.add(result_type)
    schemas: dict[str, Json] = {"application/json": {"$ref": _REF.format(model=result_type.__name__)}}
    schemas |= {name: {"type": "string"} for name in other_types}
    content: dict[str, object] = {name: {"schema": schema} for name, schema in schemas.items()}
    response: dict[str, object] = {"description": description, "content": content}
    if headers:
        response["headers"] = {name: {"description": _HEADERS[name], "schema": {"type": "string"}} for name in headers}
    return {status: response}


def component_schemas() -> dict[str, Json]:
    """Return the schemas of all responses, by name."""
    models = [_publish(ProblemSchema, "Problem"), *(_model_of(result_type) for result_type in _RESULT_TYPES)]
    _, document = models_json_schema(
        [(model, "serialization") for model in sorted(models, key=lambda model: model.__name__)], ref_template=_REF
    )
    schemas = cast("dict[str, dict[str, dict[str, dict[str, Json]]]]", document["$defs"])
    for name, schema in schemas.items():
        for field_name, member in schema.get("properties", {}).items():
            member.setdefault("description", describe_field(name, field_name))
    return cast("dict[str, Json]", schemas)


_RESULT_TYPES: set[type] = set()
_HEADERS = {
    "ETag": "The version of the memory, for `If-Match` and `If-None-Match`.",
    "Location": "The path of the new memory.",
}


class MemorySchema(BaseModel):
    """A memory. Fields with default values are omitted."""

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


class ProblemSchema(BaseModel):
    """An error as in RFC 9457. Further members give details."""

    model_config = ConfigDict(extra="allow", defer_build=True)

    type: str = Field(examples=["urn:scrubjay:problem:not_found"])
    title: str
    status: int
    detail: str
    code: str = Field(description="The code for programs; the reference of errors lists all codes.")
    hint: str = Field(default="", description="What to do next.")
    request_id: str = Field(default="", description="The id of the request in the server's log.")
    field: str = Field(default="", description="The field of the request that is not valid.")
    errors: list[str] = Field(default_factory=list[str], description="All errors of the request.")


@cache
def _model_of(result_type: type) -> type[BaseModel]:
    """Return the pydantic model of a result type."""
    if result_type is Memory:
        return _publish(MemorySchema, "Memory")
    if issubclass(result_type, BaseModel):
        return result_type
    hints = type_hints(cast("object", result_type))
    members = {field.name: (_json_type(hints[field.name]), ...) for field in fields(cast("type[Hit]", result_type))}
    return cast("type[BaseModel]", _create(result_type.__name__, __doc__=result_type.__doc__, **members))


def _publish(model: type[BaseModel], name: str) -> type[BaseModel]:
    """Return a model under the name that clients see."""
    return cast("type[BaseModel]", _create(name, __base__=model, __doc__=model.__doc__))


def _json_type(annotation: object) -> object:
    """Return the type of a field in JSON."""
    origin, arguments = get_origin(annotation), get_args(annotation)
    if any(get_origin(argument) is list and origin in (Union, UnionType) for argument in arguments):
        # Any JSON: the type is recursive, and ours has another form.
        return JsonValue
    if is_dataclass(annotation):
        return _model_of(cast("type[Hit]", annotation))
    if isinstance(annotation, type) and issubclass(annotation, Enum | Path):
        return str
    if origin is tuple:
        return list.__class_getitem__(_json_type(arguments[0]))
    if origin in (Union, UnionType):
        members = [cast("type", None if argument is NoneType else _json_type(argument)) for argument in arguments]
        return reduce(lambda left, right: cast("type", left | right), members)
    return dict[str, JsonValue] if origin in (dict, Mapping) else cast("object", annotation)


# Its annotations cannot express fields that are known only at run time.
_create = cast("Callable[..., object]", create_model)
