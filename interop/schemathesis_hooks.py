"""Hooks for schemathesis, which knows no rules between fields or between requests."""

import json
from itertools import count
from typing import Any, cast

import schemathesis

# The values of the examples: a key belongs to one request, and a version is soon out of date.
_KEY = ("Idempotency-Key", "7d0a2f7e")
_VERSION = ("If-Match", '"2"')
_SPACE = "elsewhere"
_MAX_NAME = 300
_numbers = count()


@schemathesis.serializer("application/x-ndjson")
def lines(_: schemathesis.SerializationContext, value: object) -> bytes:
    """Serialize JSON Lines: texts and bytes unchanged, other values as JSON."""
    if isinstance(value, bytes):
        return value
    return (value if isinstance(value, str) else json.dumps(value, default=str)).encode()


@schemathesis.hook  # pyright: ignore[reportUnknownMemberType]
def before_call(_: schemathesis.HookContext, case: "schemathesis.Case[Any]", __: dict[str, object]) -> None:
    """Replace example values that the server would always refuse for the same reason."""
    headers = cast("dict[str, Any]", case.headers or {})  # pyright: ignore[reportUnknownMemberType]
    if headers.get(_KEY[0]) == _KEY[1]:
        headers[_KEY[0]] = f"{_KEY[1]}-{next(_numbers)}"
    if headers.get(_VERSION[0]) == _VERSION[1]:
        headers[_VERSION[0]] = "*"
    case.query, case.body = _without_empty_period(case.query), _without_empty_period(case.body)
    case.query = _with_ordinary_spaces(case.query)
    if case.operation.path.endswith("/rules"):
        case.body = _without_rejection(case.body)


def _without_empty_period(value: Any) -> Any:
    """Drop an end that equals the beginning, because all times of the coverage phase are the same."""
    if isinstance(value, dict) and (fields := cast("dict[str, object]", value)).get("since") == fields.get("until"):
        return {name: value for name, value in fields.items() if name != "until"}
    return cast("object", value)


def _with_ordinary_spaces(value: Any) -> Any:
    """Replace names of spaces that look like others, cannot be seen or mean all; a name that no schema allows stays."""
    if not isinstance(value, dict) or "space" not in (fields := cast("dict[str, object]", value)):
        return cast("object", value)
    space = fields["space"]
    if isinstance(space, list):
        return fields | {"space": [_ordinary_space(each) for each in cast("list[object]", space)]}
    return fields | {"space": _ordinary_space(space)}


def _ordinary_space(name: object) -> object:
    if not isinstance(name, str) or not name.strip() or len(name) > _MAX_NAME:
        return name
    return name if name.isascii() and name.isprintable() and name.strip() != "*" else _SPACE


def _without_rejection(value: Any) -> Any:
    """Drop rules that reject texts: the requests that follow would be refused."""
    if not isinstance(value, dict):
        return cast("object", value)
    fields = cast("dict[str, object]", value)
    dropped = {name for name in ("never", "never_paths") if _are_patterns(fields.get(name))}
    dropped |= {"density"} if fields.get("density") == "reject" else set()
    return {name: value for name, value in fields.items() if name not in dropped}


def _are_patterns(value: object) -> bool:
    """Return whether the server would accept these; an invalid list must stay invalid."""
    items = cast("list[object]", value) if isinstance(value, list) else []
    return 0 < len(items) <= 200 and all(isinstance(item, str) and len(item) <= 300 for item in items)
