"""The verbs of the engine and of notes as they are called from afar: what they take, and who does them."""

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
from scrubjay.rpc.codec import from_json, hints_of
from scrubjay.rpc.names import VERBS

# These are done by the desk of notes; of the others it does those that tell of its folder, too.
BY_NOTES = frozenset(verb for verb in VERBS if hasattr(Notes, verb))
_BESIDE = frozenset({"self", "who", "progress", "return", "lines"})


def arguments_of(verb: str, given: Mapping[str, Json]) -> dict[str, object]:
    """The arguments of a verb from their JSON; what it does not take is named."""
    hints = {name: hint for name, hint in hints_of(_method(verb)).items() if name not in _BESIDE}
    unknown = [name for name in given if name not in hints]
    if unknown:
        raise InvalidInput(
            f"{verb} takes no argument {unknown[0][:100]!r}",
            hint=f"It takes {', '.join(hints)}",
            field=unknown[0][:100],
        )
    missing = [name for name in _needed(verb) if name not in given]
    if missing:
        raise InvalidInput(f"{verb} needs the argument {missing[0]}", field=missing[0])
    return {name: from_json(hints[name], value) for name, value in given.items()}


def caller_from(given: Json) -> Caller:
    """Who calls, from its JSON."""
    return cast("Caller", from_json(Caller, {} if given is None else given))


def takes(verb: str, argument: str) -> bool:
    """Whether a verb takes an argument such as `who` or `progress`."""
    return argument in hints_of(_method(verb))


@cache
def _needed(verb: str) -> tuple[str, ...]:
    parameters = signature(cast("Callable[..., object]", _method(verb))).parameters.values()
    return tuple(
        parameter.name
        for parameter in parameters
        if parameter.default is parameter.empty and parameter.name not in _BESIDE
    )


def _method(verb: str) -> object:
    if verb not in VERBS:
        near = process.extractOne(verb[:100], sorted(VERBS), score_cutoff=60)
        hint = f"Did you mean {near[0]}?" if near else f"There are {', '.join(sorted(VERBS))}"
        raise InvalidInput(f"there is no verb {verb[:100]!r}", hint=hint, field="verb")
    return getattr(Notes if verb in BY_NOTES else Engine, verb)
