"""Arguments of the RPC verbs, read from JSON by the signatures of `Engine` and `Notes`."""

from collections.abc import Callable, Mapping
from functools import cache
from inspect import signature
from typing import cast

from rapidfuzz import process

from scrubjay.engine import Engine
from scrubjay.errors import InvalidInput
from scrubjay.model.draft import Caller
from scrubjay.model.memory import Json
from scrubjay.notes.service import Notes
from scrubjay.rpc.codec import from_json, type_hints
from scrubjay.rpc.names import VERBS

# `Notes` executes these, including verbs of the engine that also concern its folder.
NOTES_VERBS = frozenset(verb for verb in VERBS if hasattr(Notes, verb))
_IMPLICIT = frozenset({"self", "who", "progress", "return", "lines", "with_sections"})


def parse_arguments(verb: str, arguments: Mapping[str, Json]) -> dict[str, object]:
    """Read the arguments of a verb; raise InvalidInput for an unknown or missing one."""
    hints = {name: hint for name, hint in type_hints(_method(verb)).items() if name not in _IMPLICIT}
    unknown = [name for name in arguments if name not in hints]
    if unknown:
        raise InvalidInput(
            f"{verb} has no argument {unknown[0][:100]!r}",
            hint=f"Its arguments are {', '.join(hints)}",
            field=unknown[0][:100],
        )
    missing = [name for name in _required(verb) if name not in arguments]
    if missing:
        raise InvalidInput(f"{verb} needs the argument {missing[0]}", field=missing[0])
    return {name: from_json(hints[name], value) for name, value in arguments.items()}


def parse_caller(value: Json) -> Caller:
    """Read the caller."""
    return cast("Caller", from_json(Caller, {} if value is None else value))


def has_argument(verb: str, argument: str) -> bool:
    """Return whether a verb has an argument such as `who` or `progress`."""
    return argument in type_hints(_method(verb))


@cache
def _required(verb: str) -> tuple[str, ...]:
    parameters = signature(cast("Callable[..., object]", _method(verb))).parameters.values()
    return tuple(
        parameter.name
        for parameter in parameters
        if parameter.default is parameter.empty and parameter.name not in _IMPLICIT
    )


def _method(verb: str) -> object:
    if verb not in VERBS:
        near = process.extractOne(verb[:100], sorted(VERBS), score_cutoff=60)
        hint = f"Did you mean {near[0]}?" if near else f"The verbs are {', '.join(sorted(VERBS))}"
        raise InvalidInput(f"there is no verb {verb[:100]!r}", hint=hint, field="verb")
    return getattr(Notes if verb in NOTES_VERBS else Engine, verb)
