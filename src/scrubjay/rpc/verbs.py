"""Reads a verb with its arguments from JSON."""

from collections.abc import Mapping
from typing import cast

from rapidfuzz import process

from scrubjay.errors import InvalidInput
from scrubjay.model.arguments import Request
from scrubjay.model.caller import Caller
from scrubjay.model.memory import Json
from scrubjay.model.verbs import VERBS, Verb
from scrubjay.rpc.codec import from_json


def find_verb(name: str) -> Verb:
    """Return a verb by its name; raises InvalidInput with the nearest one."""
    if name not in VERBS:
        near = process.extractOne(name[:100], sorted(VERBS), score_cutoff=60)
        hint = f"Did you mean {near[0]}?" if near else f"The verbs are {', '.join(sorted(VERBS))}"
        raise InvalidInput(f"there is no verb {name[:100]!r}", hint=hint, field="verb")
    return VERBS[name]


def parse_request(verb: str, arguments: Mapping[str, Json]) -> Request[object]:
    """Read the arguments of a verb; raises InvalidInput for an unknown, missing or wrong one."""
    return find_verb(verb).request.of(**arguments)


def parse_caller(value: Json) -> Caller:
    """Read the caller."""
    return cast("Caller", from_json(Caller, {} if value is None else value))
