"""Bodies and query parameters, made from the requests of the verbs.

The patterns of fields appear only in the OpenAPI description: the engine checks the values and words the errors.
"""

import inspect
from collections.abc import Callable, Coroutine, Mapping, Sequence
from dataclasses import MISSING
from datetime import datetime
from difflib import get_close_matches
from enum import Enum
from types import NoneType, UnionType
from typing import Annotated, Any, ClassVar, Literal, Union, cast, get_args, get_origin

from fastapi import Query
from pydantic import (
    AfterValidator,
    AliasChoices,
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    GetCoreSchemaHandler,
    GetJsonSchemaHandler,
    JsonValue,
    create_model,
    model_validator,
)
from pydantic.json_schema import JsonSchemaValue

from scrubjay.errors import InvalidInput
from scrubjay.lazy import dataclass
from scrubjay.model.arguments import Arg, Argument, ArgumentGroup, Unset, arguments_of
from scrubjay.model.memory import Method, Source, Trust
from scrubjay.model.query import LABEL, Filter
from scrubjay.model.requests import ReadRequest, RecallRequest, RememberRequest, Selection, SummarizeRequest

MAX_LABEL_LENGTH = LABEL
# The characters that count as blank, listed because `\s` differs between regex engines.
_BLANK = r"\t-\r\u001c- \u0085\u00a0\u1680\u2000-\u200a\u2028\u2029\u202f\u205f\u3000"
_NO_NUL = r"^[^\u0000]*$"
NOT_BLANK = rf"^[^\u0000]*[^\u0000{_BLANK}][^\u0000]*$"
_NOT_ONLY_BLANK = rf"[^{_BLANK}]"
# The largest integer that every JSON parser represents exactly.
_MAX_INTEGER = (1 << 53) - 1
MAX_ERRORS = 20
_MAX_NAME_LENGTH = 60
# A URL has no room for more.
_MAX_IN_URL = 8_000
# What these look for may contain any character.
_SEARCHES = (Filter, ReadRequest, RecallRequest, SummarizeRequest)
# Headers carry these.
_IN_HEADERS = ("idempotency_key", "expected_version")
# Texts that are compared with stored ones or go to the log; these may contain any character.
_NOT_STORED = frozenset(
    {"id", "ids", "source", "target", "run", "template", "remove_observations", "message", "reason"}
)

Fields = dict[str, object]
"""The arguments of a request that a body or a query string has, by name."""
Label = Annotated[str, Field(max_length=MAX_LABEL_LENGTH)]
Name = Annotated[str, Field(max_length=MAX_LABEL_LENGTH, min_length=1, json_schema_extra={"pattern": NOT_BLANK})]
SpaceName = Annotated[str, Field(max_length=MAX_LABEL_LENGTH, json_schema_extra={"pattern": rf"^$|{_NOT_ONLY_BLANK}"})]
"""An empty name is the default space."""
# In a query, `?explain` alone means yes.
Flag = Annotated[bool, BeforeValidator(lambda value: True if value == "" else value)]
_Time = Annotated[str, Field(min_length=1, json_schema_extra={"format": "date-time"})]


def _as_integer(value: object) -> object:
    """Accept 3.0 as 3: JSON does not distinguish them."""
    return int(value) if isinstance(value, float) and value.is_integer() else value


class RequestBody(BaseModel):
    """A JSON body. Unknown fields are an error, so that a misspelled name is noticed."""

    model_config = ConfigDict(extra="forbid", strict=True)
    # Other names of the fields.
    also: ClassVar[Mapping[str, str]] = {}

    # The field that has such a body, and a dot.
    prefix: ClassVar[str] = ""

    @model_validator(mode="before")
    @classmethod
    def _check_names(cls, value: object) -> object:
        names = cast("Mapping[str, object]", value if isinstance(value, Mapping) else {})
        wrong = [name for name in names if name not in cls.model_fields and cls.also.get(name, name) in (name, *names)]
        if wrong:
            shown = [f"{cls.prefix}{name[:_MAX_NAME_LENGTH]}" for name in wrong[:MAX_ERRORS]]
            problems = ["is given twice" if name in cls.also else "is not a known field" for name in wrong]
            errors = tuple(f"{name} {problem}" for name, problem in zip(shown, problems, strict=False))
            # Pydantic's own errors have no room for a hint.
            raise InvalidInput(errors[0], hint=cls._hint(wrong[0]), field=shown[0], errors=errors)
        return cast("object", value)

    @classmethod
    def _hint(cls, name: str) -> str:
        if name in cls.also:
            return f"`{name}` is another name of `{cls.also[name]}`: send one of them"
        near = get_close_matches(name[:LABEL].lower(), [*cls.model_fields, *cls.also], n=1)
        return f"Did you mean `{near[0]}`?" if near else f"The fields are {', '.join(cls.model_fields)}"


@dataclass(frozen=True, slots=True)
class JsonBody:
    """The annotation of a body: its model validates the body, which becomes the arguments of the request."""

    model: type[RequestBody]
    # The arguments that have other names in the body.
    arguments: Mapping[str, str]

    def __get_pydantic_core_schema__(self, _: object, handler: GetCoreSchemaHandler) -> object:
        """Validate as the model."""
        return handler.generate_schema(Annotated[self.model, AfterValidator(self._fields)])

    def _fields(self, body: RequestBody) -> Fields:
        values = body.model_dump(exclude_unset=True)
        return {self.arguments.get(name, name): value for name, value in values.items()}


def body_of(
    kind: type[ArgumentGroup],
    *,
    without: Sequence[str] = (),
    renamed: Mapping[str, str] | None = None,
    may_be_blank: Sequence[str] = (),
    not_blank: Sequence[str] = (),
    nullable: bool = True,
    name: str = "",
) -> JsonBody:
    """Return the body of a request, without the arguments that the path, the query or headers carry.

    `renamed` has other names of arguments, `may_be_blank` and `not_blank` exceptions about texts. If it is not
    `nullable`, only arguments for which null differs from an omission may be null.
    """
    names = renamed or {}
    arguments = [item for item in arguments_of(kind) if item.name not in (*without, *_IN_HEADERS)]
    rules = {
        item.name: _Rules(
            is_stored=kind not in _SEARCHES and item.name not in _NOT_STORED,
            # A required text, and one whose default says something, must say something.
            is_blank=item.name not in not_blank
            and (item.name in may_be_blank or not (item.is_required or _default(item))),
            is_nullable=nullable,
        )
        for item in arguments
    }
    model = _model(
        name or f"{kind.__name__.removesuffix('Request')}Body",
        inspect.cleandoc(kind.__doc__ or ""),
        {names.get(item.name, item.name): (item, rules[item.name]) for item in arguments},
    )
    return JsonBody(model, {wire: argument for argument, wire in names.items()})


def query_of(
    kind: type[ArgumentGroup], *, without: Sequence[str] = (), renamed: Mapping[str, str] | None = None
) -> Callable[..., Coroutine[object, object, Fields]]:
    """Return a dependency that reads the arguments of a request from the query string, `renamed` under other names."""
    arguments = [item for item in arguments_of(kind) if item.name not in (*without, *_IN_HEADERS)]

    defaults = [(item.name, _default(item)) for item in arguments]

    async def read_query(**values: object) -> Fields:
        return {name: values[name] for name, default in defaults if values[name] != default}

    parameters = [_query_parameter(item, (renamed or {}).get(item.name, item.name)) for item in arguments]
    # The signature tells FastAPI what to read.
    read_query.__signature__ = inspect.Signature(parameters)
    return read_query


@dataclass(frozen=True, slots=True, kw_only=True)
class _Rules:
    """What the description says about the text of a field, and whether it may be null."""

    is_stored: bool = False
    is_blank: bool = True
    is_nullable: bool = True


class _RememberItem:
    """An item of a batch, which the engine reads, so that one that is wrong does not affect the others."""

    @classmethod
    def __get_pydantic_json_schema__(cls, _: object, handler: GetJsonSchemaHandler) -> JsonSchemaValue:
        return handler(REMEMBER.model.__pydantic_core_schema__)


def _model(name: str, about: str, members: Mapping[str, tuple[Argument, _Rules]]) -> type[RequestBody]:
    fields = {wire: (_annotation(item, rules), _field(item, rules)) for wire, (item, rules) in members.items()}
    # Its annotations cannot express fields that are known only at run time.
    make = cast("Callable[..., type[RequestBody]]", create_model)
    model = make(name, __base__=RequestBody, __doc__=about, **fields)
    model.also = {alias: wire for wire, (item, _) in members.items() for alias in item.about.aliases}
    return model


def _field(argument: Argument, rules: _Rules) -> object:
    about, default = argument.about, _default(argument)
    options: dict[str, Any] = {"description": _description(about)}
    if about.example is not None:
        options["examples"] = [about.example]
    if about.aliases:
        options["validation_alias"] = AliasChoices(argument.name, *about.aliases)
    if argument.is_required:
        return Field(**options)
    if isinstance(default, list | dict) or (default is None and not _is_nullable(argument, rules)):
        # The description shows no default.
        return Field(default_factory=lambda: cast("object", default), **options)
    return Field(default=default, **options)


def _query_parameter(argument: Argument, wire: str) -> inspect.Parameter:
    about = argument.about
    kind = _annotation(argument, _Rules(is_blank=not argument.is_required), max_length=_MAX_IN_URL)
    query = Query(
        alias=wire, description=about.help, examples=None if about.example is None else [about.example]
    )  # fmt: skip
    return inspect.Parameter(
        argument.name,
        inspect.Parameter.KEYWORD_ONLY,
        default=inspect.Parameter.empty if argument.is_required else _default(argument),
        annotation=Annotated[Flag, query] if argument.type is bool else Annotated[kind, query],
    )


def _description(about: Arg) -> str:
    aliases = " and ".join(f"`{alias}`" for alias in about.aliases)
    return f"{about.help} {aliases} is another name." if aliases else about.help


def _default(argument: Argument) -> object:
    """Return the default as JSON; None also stands for UNSET."""
    default = argument.default
    if default is MISSING or isinstance(default, Unset):
        return None
    if isinstance(default, Enum):
        return default.value
    return [*cast("tuple[object, ...]", default)] if isinstance(default, tuple) else default


def _is_nullable(argument: Argument, rules: _Rules) -> bool:
    members = _members(argument.type)
    return NoneType in members and (rules.is_nullable or Unset in members)


def _annotation(argument: Argument, rules: _Rules, *, max_length: int | None = None) -> object:
    """Return the type of a field in JSON."""
    members = [kind for kind in _members(argument.type) if kind is not NoneType and kind is not Unset]
    annotation = _json_type(members[0], argument, rules, max_length=max_length)
    return cast("Any", annotation) | None if _is_nullable(argument, rules) else annotation


def _json_type(kind: object, argument: Argument, rules: _Rules, *, max_length: int | None) -> object:
    about = argument.about
    if get_origin(kind) is tuple:
        item = _json_type(get_args(kind)[0], argument, rules, max_length=max_length)
        least = 1 if argument.is_required else None
        return Annotated[list.__class_getitem__(item), Field(min_length=least, max_length=about.items)]
    if argument.choices:
        # The empty choice, which means any, comes last.
        return Literal[tuple(sorted(map(str, argument.choices), key=lambda choice: not choice))]
    if kind is str:
        return _text_type(argument, rules, max_length=max_length)
    if kind is int:
        least, most = about.minimum, about.maximum
        limits = Field(ge=1 if least is None else least, le=_MAX_INTEGER if most is None else most)
        return Annotated[int, limits, BeforeValidator(_as_integer)]
    if kind is float:
        return Annotated[float, Field(ge=0, le=1, allow_inf_nan=False)]
    if RememberRequest in _members(kind):
        return Annotated[dict[str, JsonValue], _RememberItem]
    return _OTHER_TYPES.get(kind, dict[str, JsonValue])


def _text_type(argument: Argument, rules: _Rules, *, max_length: int | None) -> object:
    lengths = [length for length in (argument.about.length, max_length) if length is not None]
    pattern = _NO_NUL if rules.is_blank else NOT_BLANK
    return Annotated[
        str,
        Field(
            min_length=None if rules.is_blank else 1,
            max_length=min(lengths, default=None),
            json_schema_extra={"pattern": pattern} if rules.is_stored else None,
        ),
    ]


def _members(kind: object) -> tuple[object, ...]:
    return get_args(kind) if get_origin(kind) in (Union, UnionType) else (kind,)


_OTHER_TYPES: dict[object, object] = {
    bool: bool,
    datetime: _Time,
}


def _source_model() -> type[RequestBody]:
    label = _Rules(is_stored=True)
    members: dict[str, tuple[type, str, object]] = {
        "session": (str, "Session that it comes from.", ""),
        "conversation": (str, "Conversation that it comes from.", ""),
        "agent": (str, "Agent that wrote it. Default: the calling agent.", ""),
        "tool": (str, "Tool that wrote it.", ""),
        "at": (cast("type", datetime | None), "When it was said or written.", None),
        "method": (Method, "How it was written.", Method.MANUAL),
        "trust": (Trust, "The kind of source it comes from.", Trust.UNKNOWN),
    }
    return _model(
        "SourceBody",
        "The source of a memory.",
        {
            name: (Argument(name=name, type=kind, about=Arg(about, length=LABEL), default=default), label)
            for name, (kind, about, default) in members.items()
        },
    )


_SOURCE, _FILTER = _source_model(), body_of(Filter).model
_SOURCE.prefix, _FILTER.prefix = "source.", "filter."
_OTHER_TYPES.update({Source: _SOURCE, Filter: _FILTER})
REMEMBER = body_of(RememberRequest, may_be_blank=("text",))
SelectionBody = Annotated[Fields, body_of(Selection)]
