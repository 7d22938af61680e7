"""Arguments are checked against a tool's schema, and what is wrong with them is said so that it can be put right."""

from collections.abc import Iterable, Mapping
from typing import cast

from jsonschema import Draft202012Validator
from jsonschema.exceptions import ValidationError
from jsonschema.protocols import Validator

from scrubjay.errors import InvalidInput
from scrubjay.model.memory import Json
from scrubjay.surfaces.mcp.suggestions import did_you_mean, shown

Schema = Mapping[str, Json]

_KINDS = {
    "string": "a text",
    "integer": "a whole number",
    "number": "a number",
    "boolean": "true or false",
    "array": "a list",
    "object": "an object",
    "null": "null",
}
_NAMES: dict[type, str] = {
    str: "a text",
    bool: "true or false",
    int: "a number",
    float: "a number",
    list: "a list",
    dict: "an object",
}
_BOUNDS = {
    "minimum": "at least {0}",
    "maximum": "at most {0}",
    "exclusiveMinimum": "more than {0}",
    "exclusiveMaximum": "less than {0}",
    "minLength": "at least {0} characters long",
    "maxLength": "at most {0} characters long",
    "minItems": "a list of at least {0}",
    "maxItems": "a list of at most {0}",
}


class Checker:
    """Checks what is given to one tool, or within one of its arguments."""

    def __init__(self, schema: Schema, *, of: str, within: str = "") -> None:
        self._of = of
        self._within = within
        self._properties = cast("Mapping[str, Schema]", schema.get("properties") or {})
        required = schema.get("required")
        self._required = frozenset(cast("list[str]", required)) if isinstance(required, list) else frozenset[str]()
        self._validator = cast("Validator", Draft202012Validator(dict(schema)))

    def check(self, given: Mapping[str, Json]) -> dict[str, Json]:
        """The arguments, without those that are null and need not be given; raises InvalidInput."""
        arguments = {name: value for name, value in given.items() if value is not None or name in self._required}
        error = _plainest(self._validator.iter_errors(arguments))
        if error is not None:
            raise self._refusal(error)
        return arguments

    def _refusal(self, error: ValidationError) -> InvalidInput:
        path = _path(self._within, cast("Iterable[str | int]", error.absolute_path))
        rule, wanted = str(error.validator), cast("Json", error.validator_value)
        value = cast("Json", error.instance)
        if rule == "additionalProperties":
            return self._unknown(path, cast("Mapping[str, Json]", value), cast("Schema", error.schema))
        if rule == "required":
            return self._missing(path, cast("Mapping[str, Json]", value), cast("list[str]", wanted))
        return InvalidInput(
            f"{path or 'arguments'} must be {_expected(rule, wanted)}, not {_given(rule, value)}",
            hint=f"Correct it and call {self._of} again",
            field=path,
        )

    def _unknown(self, path: str, value: Mapping[str, Json], schema: Schema) -> InvalidInput:
        known = cast("Mapping[str, Json]", schema.get("properties") or {})
        name = next(one for one in value if one not in known)
        owner = f"{path} of {self._of}" if path else self._of
        return InvalidInput(
            f"{owner} takes no argument {shown(name)}", hint=did_you_mean(name, known), field=_path(path, [name[:80]])
        )

    def _missing(self, path: str, value: Mapping[str, Json], required: list[str]) -> InvalidInput:
        name = next(one for one in required if one not in value)
        kind = _expected("type", self._properties.get(name, {}).get("type", "string"))
        return InvalidInput(
            f"{self._of} needs the argument {_path(path, [name])!r}",
            hint=f"Give it as {kind}",
            field=_path(path, [name]),
        )


def _plainest(errors: Iterable[ValidationError]) -> ValidationError | None:
    """The error to tell: a wrong name before a wrong value, since the one often explains the other."""
    order = {"additionalProperties": 0, "required": 1}
    found = list(errors)
    return min(found, key=lambda one: order.get(str(one.validator), 2)) if found else None


def _path(start: str, steps: Iterable[str | int]) -> str:
    path = start
    for step in steps:
        path += f"[{step}]" if isinstance(step, int) else f".{step}" if path else step
    return path


def _expected(rule: str, wanted: Json) -> str:
    if rule == "type":
        kinds = wanted if isinstance(wanted, list) else [wanted]
        return " or ".join(_KINDS[str(kind)] for kind in kinds)
    if rule == "enum":
        return f"one of {', '.join(map(str, cast('list[Json]', wanted)))}"
    if rule == "const":
        return str(wanted)
    return _BOUNDS[rule].format(wanted) if rule in _BOUNDS else f"as its schema says ({rule})"


def _given(rule: str, value: Json) -> str:
    if rule == "type":
        kind = _NAMES.get(type(value), "null")
        return kind if value is None or isinstance(value, list | dict) else f"{kind} ({shown(value)})"
    if rule in ("minLength", "maxLength", "minItems", "maxItems"):
        return f"{len(cast('str', value)):,}"
    return shown(value)


class Given:
    """Arguments that have been checked, read by kind."""

    def __init__(self, arguments: Mapping[str, Json]) -> None:
        self._arguments = arguments

    def __contains__(self, name: str) -> bool:
        return name in self._arguments

    def text(self, name: str, default: str = "") -> str:
        """A text."""
        return cast("str", self._arguments.get(name, default))

    def texts(self, name: str) -> tuple[str, ...]:
        """A list of texts."""
        return tuple(cast("list[str]", self._arguments.get(name, [])))

    def flag(self, name: str) -> bool:
        """True or false; false when it is not given."""
        return cast("bool", self._arguments.get(name, False))

    def whole(self, name: str) -> int | None:
        """A whole number, if given."""
        return cast("int | None", self._arguments.get(name))

    def number(self, name: str, default: float) -> float:
        """A number."""
        return cast("float", self._arguments.get(name, default))

    def mapping(self, name: str) -> dict[str, Json]:
        """An object; empty when it is not given."""
        return cast("dict[str, Json]", self._arguments.get(name, {}))

    def only(self, names: Iterable[str]) -> dict[str, Json]:
        """Those of some arguments that are given."""
        return {name: self._arguments[name] for name in names if name in self._arguments}
