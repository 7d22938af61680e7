"""What a model says, read as the fields it was asked for."""

import json
from collections.abc import Mapping
from typing import cast

from scrubjay.model.memory import Json

_TYPES: dict[str, type | tuple[type, ...]] = {
    "object": dict, "array": list, "string": str, "boolean": bool, "integer": int, "number": (int, float),
}  # fmt: skip
_DEEPEST = 20


class NoAnswer(ValueError):
    """It is not what was asked for; the message says why and quotes nothing."""


def answer_in(text: str, *, schema: Mapping[str, Json]) -> dict[str, Json]:
    """The object in a text, which may stand among other words; raises NoAnswer unless it fits the schema."""
    results = _object_in(text)
    problem = misfit(results, schema)
    if problem:
        raise NoAnswer(problem)
    return results


def misfit(value: Json, schema: Mapping[str, Json], *, at: str = "the answer", deep: int = 0) -> str:
    """Why a value does not fit a schema; empty when it does. It knows what our own schemas use, and no more."""
    expected = str(schema.get("type", ""))
    if deep > _DEEPEST:
        return f"{at} is nested too deep"
    if expected and (not isinstance(value, _TYPES[expected]) or (isinstance(value, bool) and expected != "boolean")):
        return f"{at} is no {expected}"
    if isinstance(value, dict):
        return _misfit_in_object(value, schema, at=at, deep=deep)
    if isinstance(value, list):
        return _misfit_in_list(value, schema, at=at, deep=deep)
    longest = schema.get("maxLength")
    if isinstance(value, str) and isinstance(longest, int) and len(value) > longest:
        return f"{at} is longer than {longest:,} characters"
    return ""


def _misfit_in_object(value: dict[str, Json], schema: Mapping[str, Json], *, at: str, deep: int) -> str:
    properties = cast("dict[str, dict[str, Json]]", schema.get("properties", {}))
    missing = [name for name in cast("list[str]", schema.get("required", [])) if name not in value]
    if missing:
        return f"{at} has no {missing[0]!r}"
    # What was not asked for is not taken, and no reason to refuse the rest.
    for name, item in properties.items():
        if name in value and (problem := misfit(value[name], item, at=repr(name), deep=deep + 1)):
            return problem
    return ""


def _misfit_in_list(value: list[Json], schema: Mapping[str, Json], *, at: str, deep: int) -> str:
    most = schema.get("maxItems")
    if isinstance(most, int) and len(value) > most:
        return f"{at} has more than {most:,} entries"
    items = cast("dict[str, Json]", schema.get("items", {}))
    return next(filter(None, (misfit(item, items, at=f"an entry of {at}", deep=deep + 1) for item in value)), "")


def _object_in(text: str) -> dict[str, Json]:
    start, end = text.find("{"), text.rfind("}")
    if start < 0 or end < start:
        raise NoAnswer("the answer is prose, not JSON")
    try:
        results = json.loads(text[start : end + 1])
    except (ValueError, RecursionError):
        raise NoAnswer("the answer is not JSON") from None
    return cast("dict[str, Json]", results)
