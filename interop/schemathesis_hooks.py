"""What schemathesis must know to get as far as the memory: it knows no rule between fields, or between requests."""

import json
from itertools import count
from typing import Any, cast

import schemathesis

# As the description's examples have them: a key belongs to one request, and a version to one moment.
_KEY = ("Idempotency-Key", "7d0a2f7e")
_VERSION = ("If-Match", '"2"')
_numbers = count()


@schemathesis.serializer("application/x-ndjson")
def lines(_: schemathesis.SerializationContext, value: object) -> bytes:
    """Lines of JSON: a text or bytes as they are, and as JSON whatever else it invents."""
    if isinstance(value, bytes):
        return value
    return (value if isinstance(value, str) else json.dumps(value, default=str)).encode()


@schemathesis.hook  # pyright: ignore[reportUnknownMemberType]
def before_call(_: schemathesis.HookContext, case: "schemathesis.Case[Any]", __: dict[str, object]) -> None:
    """Mend what would be refused again and again for the same reason; now and then it comes in other ways as well."""
    headers = cast("dict[str, Any]", case.headers or {})  # pyright: ignore[reportUnknownMemberType]
    if headers.get(_KEY[0]) == _KEY[1]:
        headers[_KEY[0]] = f"{_KEY[1]}-{next(_numbers)}"
    if headers.get(_VERSION[0]) == _VERSION[1]:
        headers[_VERSION[0]] = "*"
    case.query, case.body = _with_a_while(case.query), _with_a_while(case.body)


def _with_a_while(asked: Any) -> Any:
    """Without an end where it is the beginning, too: all times of the coverage phase are the same."""
    if isinstance(asked, dict) and (existing := cast("dict[str, object]", asked)).get("since") == existing.get("until"):
        return {name: value for name, value in existing.items() if name != "until"}
    return cast("object", asked)
