"""Where a list or a text goes on: a few values, packed so that nobody is tempted to make their own."""

import base64
import binascii
import json
from typing import cast

from scrubjay.errors import InvalidInput
from scrubjay.model.memory import Json

_LONGEST = 1_000


def pack(*place: str | int) -> str:
    """A cursor for a place."""
    return base64.urlsafe_b64encode(json.dumps(place, separators=(",", ":")).encode()).decode().rstrip("=")


def unpack(cursor: str, *kinds: type[str] | type[int]) -> tuple[str | int, ...]:
    """The place that a cursor of ours stands for; raises InvalidInput for any other."""
    try:
        padded = cursor[:_LONGEST].encode() + b"=" * (-len(cursor) % 4)
        place: Json = json.loads(base64.b64decode(padded, altchars=b"-_", validate=True))
    except (ValueError, UnicodeError, binascii.Error, RecursionError):
        raise foreign() from None
    if not isinstance(place, list) or [type(one) for one in place] != list(kinds):
        raise foreign()
    return tuple(cast("list[str | int]", place))


def foreign() -> InvalidInput:
    """The error for a cursor that is not of this list."""
    return InvalidInput("the cursor does not belong here", hint="Ask again without a cursor", field="cursor")
