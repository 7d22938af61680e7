"""The JSON Schemas of tools, made from the arguments of verbs: a model reads every listing, and each token costs."""

from collections.abc import Collection
from datetime import datetime
from types import NoneType, UnionType
from typing import Union, get_args, get_origin

from scrubjay.model.arguments import Argument, ArgumentGroup, Unset, arguments_of
from scrubjay.model.memory import Json

TEXT: dict[str, Json] = {"type": "string"}
INTEGER: dict[str, Json] = {"type": "integer"}
NUMBER: dict[str, Json] = {"type": "number"}
FLAG: dict[str, Json] = {"type": "boolean"}
OBJECT: dict[str, Json] = {"type": "object"}
LIST: dict[str, Json] = {"type": "array"}
TEXTS: dict[str, Json] = {"type": "array", "items": {"type": "string"}}

_TYPES: dict[object, dict[str, Json]] = {str: TEXT, datetime: TEXT, bool: FLAG, int: INTEGER, float: NUMBER}


def input_schema(*required: str, **properties: dict[str, Json]) -> dict[str, Json]:
    """Return the schema of a tool's arguments: these and no others."""
    schema: dict[str, Json] = {"type": "object", "properties": dict(properties)}
    if required:
        schema["required"] = list(required)
    return {**schema, "additionalProperties": False}


def verb_schema(
    *verbs: type[ArgumentGroup], but: Collection[str] = (), **own: dict[str, Json]
) -> dict[str, Json]:  # fmt: skip
    """Return the schema of a tool for several verbs: their arguments, without those in `but`, and the tool's `own`.

    An argument is required if every one of the verbs requires it.
    """
    required = [
        argument.name
        for argument in arguments_of(verbs[0])
        if all(argument.name in _required(verb) for verb in verbs) and argument.name not in but
    ]
    properties = {name: schema for verb in reversed(verbs) for name, schema in argument_schemas(verb).items()}
    order = dict.fromkeys(argument.name for verb in verbs for argument in arguments_of(verb))
    return input_schema(*required, **{name: properties[name] for name in order if name not in but} | own)


def argument_schemas(verb: type[ArgumentGroup]) -> dict[str, dict[str, Json]]:
    """Return the schemas of the arguments of a verb."""
    return {argument.name: _schema_of(argument) for argument in arguments_of(verb)}


def output_schema(**properties: dict[str, Json]) -> dict[str, Json]:
    """Return the schema of a result; results leave out empty fields."""
    return {"type": "object", "properties": dict(properties)}


def at_least(number: int) -> dict[str, Json]:
    """Return the schema of a whole number with a minimum."""
    return {"type": "integer", "minimum": number}


def choice(*values: str) -> dict[str, Json]:
    """Return the schema of one of a few words."""
    return {"enum": list(values)}


def described(schema: dict[str, Json], description: str) -> dict[str, Json]:
    """Return a schema with a description."""
    return {**schema, "description": description}


def _required(verb: type[ArgumentGroup]) -> set[str]:
    return {argument.name for argument in arguments_of(verb) if argument.is_required}


def _schema_of(argument: Argument) -> dict[str, Json]:
    schema = _type_schema(argument.type, argument.choices)
    if argument.about.single:
        # The request checks the items, and the check of the arguments makes a list of a single name.
        schema = dict(LIST)
    if argument.about.minimum is not None:
        schema = {**schema, "minimum": argument.about.minimum}
    return described(schema, argument.about.brief) if argument.about.brief else schema


def _type_schema(kind: object, choices: tuple[str, ...]) -> dict[str, Json]:
    if get_origin(kind) is tuple:
        return {"type": "array", "items": _type_schema(get_args(kind)[0], choices)}
    if get_origin(kind) not in (Union, UnionType):
        # An empty choice is the same as none.
        return choice(*filter(None, choices)) if choices else _TYPES.get(kind, OBJECT)
    members = [_type_schema(member, choices) for member in get_args(kind) if member not in (NoneType, Unset)]
    # Different types may have the same schema, such as a request and an object with its arguments.
    distinct: list[Json] = [schema for number, schema in enumerate(members) if schema not in members[:number]]
    return members[0] if len(distinct) == 1 else {"anyOf": distinct}
