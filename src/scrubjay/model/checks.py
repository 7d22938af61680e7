"""Type checks of arguments; InvalidInput names the argument that fails."""

from collections.abc import Sequence
from datetime import datetime
from typing import cast

from scrubjay.errors import InvalidInput, TooLarge

# The largest integer that every store can hold.
_MAX_INTEGER = (1 << 63) - 1
_MAX_REMARK = 1_000


def require_text(value: object, *, field: str) -> str:
    """Return a text that can be encoded as UTF-8."""
    if not isinstance(value, str):
        raise wrong_type(field, "a text", value)
    try:
        value.encode()
    except UnicodeEncodeError as error:
        raise InvalidInput(
            f"{field} has a lone surrogate at character {error.start}: it is not valid Unicode",
            hint="Decode it with the right encoding first",
            field=field,
        ) from None
    return value


def require_remark(value: object, *, field: str) -> str:
    """Return a remark for the history: a short reason for a change."""
    remark = require_text(value, field=field)
    if len(remark) > _MAX_REMARK:
        raise TooLarge(
            f"{field} has {len(remark):,} characters; the limit is {_MAX_REMARK:,}",
            hint="Put the long form into a memory",
            field=field,
            limit=_MAX_REMARK,
        )
    return remark


def require_texts(value: object, *, field: str) -> tuple[str, ...]:
    """Return a list of texts; a single text is not a list."""
    if isinstance(value, str | bytes) or not isinstance(value, Sequence):
        raise wrong_type(field, "a list of texts", value)
    return tuple(require_text(item, field=field) for item in cast("Sequence[object]", value))


def require_flag(value: object, *, field: str) -> bool:
    """Return a boolean; numbers and strings do not count as one."""
    if not isinstance(value, bool):
        raise wrong_type(field, "true or false", value)
    return value


def require_integer(value: object, *, field: str, least: int = 1, most: int = _MAX_INTEGER) -> int:
    """Return a whole number within bounds."""
    if isinstance(value, bool) or not isinstance(value, int):
        raise wrong_type(field, "a whole number", value)
    if not least <= value <= most:
        bounds = f"at least {least}" if value < least else f"at most {most}"
        raise InvalidInput(f"{field} must be {bounds}, not {str(value)[:40]}", field=field)
    return value


def require_fraction(value: object, *, field: str) -> float:
    """Return a number from 0 to 1."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise wrong_type(field, "a number from 0 to 1", value)
    if not 0 <= value <= 1:
        raise InvalidInput(f"{field} must be a number from 0 to 1, not {value!r:.40}", field=field)
    return float(value)


def require_moment(value: object, *, field: str) -> None:
    """Require a datetime with a time zone, or None."""
    if value is not None and (not isinstance(value, datetime) or value.tzinfo is None):
        raise InvalidInput(f"{field} must be a time with a zone", hint="For example datetime.now(UTC)", field=field)


def wrong_type(field: str, expected: str, value: object) -> InvalidInput:
    """Return the error for a value of the wrong type."""
    return InvalidInput(f"{field} must be {expected}, not {type(value).__name__}", field=field)
