"""The arguments of a tool: checked against its schema, with errors that say how to correct them."""

from collections.abc import Iterable, Mapping
from functools import cached_property
from typing import TYPE_CHECKING, cast

from rapidfuzz import process

from scrubjay.errors import InvalidInput
from scrubjay.model.arguments import ArgumentGroup, arguments_of
from scrubjay.model.memory import Json
from scrubjay.model.verbs import names_by_alias

if TYPE_CHECKING:
    from jsonschema.exceptions import ValidationError
    from jsonschema.protocols import Validator

Schema = Mapping[str, Json]

_TYPES = {
    "string": "a text",
    "integer": "a whole number",
    "number": "a number",
    "boolean": "true or false",
    "array": "a list",
    "object": "an object",
    "null": "null",
}
_PYTHON_TYPES: dict[type, str] = {
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
_MIN_SIMILARITY = 60
_MAX_SUGGESTIONS = 3
# Enough to recognise a value; more would only repeat the caller's input.
_MAX_DISPLAYED = 80


class ArgumentChecker:
    """Checks the arguments of a tool; with `path`, the fields of one of its arguments."""

    def __init__(self, schema: Schema, *, tool: str, path: str = "") -> None:
        self._tool = tool
        self._path = path
        self._properties = cast("Mapping[str, Schema]", schema.get("properties") or {})
        required = schema.get("required")
        self._required = frozenset(cast("list[str]", required)) if isinstance(required, list) else frozenset[str]()
        self._schema = dict(schema)

    @cached_property
    def _validator(self) -> "Validator":
        # Loaded on demand: a daemon without agents needs no schemas.
        from jsonschema import Draft202012Validator  # noqa: PLC0415

        return cast("Validator", Draft202012Validator(self._schema))

    def check(self, arguments: Mapping[str, Json]) -> dict[str, Json]:
        """Return the arguments without optional nulls; raises InvalidInput."""
        checked = {
            name: self._listed(name, value)
            for name, value in arguments.items()
            if value is not None or name in self._required
        }
        # A wrong name comes before a wrong value, because it often explains the value.
        order = {"additionalProperties": 0, "required": 1}
        errors = sorted(self._validator.iter_errors(checked), key=lambda error: order.get(str(error.validator), 2))
        if errors:
            raise self._explain(errors[0])
        return checked

    def _listed(self, name: str, value: Json) -> Json:
        """Return a list of one for a single text where a list of any names is expected: a model gives one as it is."""
        expected = self._properties.get(name, {})
        is_names = expected.get("type") == "array" and "items" not in expected
        return [value] if is_names and isinstance(value, str) else value

    def _explain(self, error: "ValidationError") -> InvalidInput:
        path = _join(self._path, cast("Iterable[str | int]", error.absolute_path))
        rule, expected = str(error.validator), cast("Json", error.validator_value)
        value = cast("Json", error.instance)
        if rule == "additionalProperties":
            return self._explain_unknown(path, cast("Mapping[str, Json]", value), cast("Schema", error.schema))
        if rule == "required":
            return self._explain_missing(path, cast("Mapping[str, Json]", value), cast("list[str]", expected))
        return InvalidInput(
            f"{path or 'arguments'} must be {_describe_rule(rule, expected)}, not {_describe_value(rule, value)}",
            hint=f"Correct it and call {self._tool} again",
            field=path,
        )

    def _explain_unknown(self, path: str, value: Mapping[str, Json], schema: Schema) -> InvalidInput:
        properties = cast("Mapping[str, Json]", schema.get("properties") or {})
        unknown = next(name for name in value if name not in properties)
        own = names_by_alias().get(unknown)
        owner = f"{path} of {self._tool}" if path else self._tool
        return InvalidInput(
            f"{owner} takes no argument {display(unknown)}",
            hint=f"Did you mean {own}?" if own in properties else did_you_mean(unknown, properties),
            field=_join(path, [unknown[:80]]),
        )

    def _explain_missing(self, path: str, value: Mapping[str, Json], required: list[str]) -> InvalidInput:
        missing = next(name for name in required if name not in value)
        kind = _describe_rule("type", self._properties.get(missing, {}).get("type", "string"))
        return InvalidInput(
            f"{self._tool} needs the argument {_join(path, [missing])!r}",
            hint=f"Give it as {kind}",
            field=_join(path, [missing]),
        )


class Arguments:
    """Checked arguments, read by type and by the engine's names; `names` gives the tool's names where they differ."""

    def __init__(self, values: Mapping[str, Json], names: Mapping[str, str] | None = None) -> None:
        self._values = values
        self._names = names or {}

    def __contains__(self, name: str) -> bool:
        return self._names.get(name, name) in self._values

    def text(self, name: str, default: str = "") -> str:
        """Return a text."""
        return cast("str", self._get(name, default))

    def texts(self, name: str) -> tuple[str, ...]:
        """Return a list of texts."""
        return tuple(cast("list[str]", self._get(name, [])))

    def flag(self, name: str) -> bool:
        """Return true or false; false by default."""
        return cast("bool", self._get(name, default=False))

    def integer(self, name: str) -> int | None:
        """Return a whole number, or None by default."""
        return cast("int | None", self._get(name))

    def number(self, name: str, default: float) -> float:
        """Return a number."""
        return cast("float", self._get(name, default))

    def mapping(self, name: str) -> dict[str, Json]:
        """Return an object; empty by default."""
        return cast("dict[str, Json]", self._get(name, {}))

    def only(self, names: Iterable[str]) -> dict[str, Json]:
        """Return those of the named arguments that the caller sent."""
        return {name: self._get(name) for name in names if name in self}

    def _get(self, name: str, default: Json = None) -> Json:
        return self._values.get(self._names.get(name, name), default)


def arguments_for(
    verb: type[ArgumentGroup], arguments: Mapping[str, Json], names: Mapping[str, str] | None = None
) -> dict[str, Json]:  # fmt: skip
    """Return those arguments of a tool that a verb has; `names` gives the tool's names where they differ."""
    own = {argument.name: (names or {}).get(argument.name, argument.name) for argument in arguments_of(verb)}
    return {name: arguments[here] for name, here in own.items() if here in arguments}


def nearest_names(name: str, names: Iterable[str]) -> tuple[str, ...]:
    """Return the names most like a wrong one, the likeliest first."""
    matches = process.extract(name[:_MAX_DISPLAYED], list(names), limit=_MAX_SUGGESTIONS, score_cutoff=_MIN_SIMILARITY)
    return tuple(match for match, _, _ in matches)


def did_you_mean(name: str, names: Iterable[str]) -> str:
    """Return a hint with the names most like a wrong one, or with all names if none is like it."""
    valid = list(names)
    near = nearest_names(name, valid)
    return f"Did you mean {' or '.join(near)}?" if near else f"There are {', '.join(valid)}"


def display(value: object) -> str:
    """Return a value for a message: quoted, and cut if it is long."""
    text = repr(value)
    return text if len(text) <= _MAX_DISPLAYED else f"{text[:_MAX_DISPLAYED]}… ({len(text):,} characters)"


def _join(start: str, steps: Iterable[str | int]) -> str:
    path = start
    for step in steps:
        path += f"[{step}]" if isinstance(step, int) else f".{step}" if path else step
    return path


def _describe_rule(rule: str, expected: Json) -> str:
    if rule == "type":
        types = expected if isinstance(expected, list) else [expected]
        return " or ".join(_TYPES[str(name)] for name in types)
    if rule == "enum":
        return f"one of {', '.join(map(str, cast('list[Json]', expected)))}"
    if rule == "const":
        return str(expected)
    return _BOUNDS[rule].format(expected) if rule in _BOUNDS else f"as its schema says ({rule})"


def _describe_value(rule: str, value: Json) -> str:
    if rule == "type":
        kind = _PYTHON_TYPES.get(type(value), "null")
        return kind if value is None or isinstance(value, list | dict) else f"{kind} ({display(value)})"
    if rule in ("minLength", "maxLength", "minItems", "maxItems"):
        return f"{len(cast('str', value)):,}"
    return display(value)
