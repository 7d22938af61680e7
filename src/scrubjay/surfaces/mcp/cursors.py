"""Cursors: the position where a list or a text continues, packed into an opaque string."""

import base64
import binascii
import json
from typing import cast

from scrubjay.errors import InvalidInput
from scrubjay.model.memory import Json

_MAX_LENGTH = 1_000


def pack(*position: str | int) -> str:
    """Return the cursor of a position."""
    return base64.urlsafe_b64encode(json.dumps(position, separators=(",", ":")).encode()).decode().rstrip("=")


def unpack(cursor: str, *types: type[str] | type[int]) -> tuple[str | int, ...]:
    """Return the position of a cursor; raises InvalidInput unless `pack` made it from values of these types."""
    try:
        padded = cursor[:_MAX_LENGTH].encode() + b"=" * (-len(cursor) % 4)
        position: Json = json.loads(base64.b64decode(padded, altchars=b"-_", validate=True))
    except (ValueError, UnicodeError, binascii.Error, RecursionError):
        raise invalid_cursor() from None
    if not isinstance(position, list) or [type(value) for value in position] != list(types):
        raise invalid_cursor()
    return tuple(cast("list[str | int]", position))


def invalid_cursor() -> InvalidInput:
    """Return the error for a cursor of another list."""
    return InvalidInput("the cursor does not belong to this list", hint="Ask again without a cursor", field="cursor")
