"""What a caller hands in is of the kind it should be, or InvalidInput names the argument."""

from collections.abc import Sequence
from datetime import datetime
from typing import cast

from scrubjay.errors import InvalidInput, TooLarge

# What every store can count to.
_LARGEST = (1 << 63) - 1
_LONGEST_REMARK = 1_000


def require_text(value: object, *, field: str) -> str:
    """A text that can be written down anywhere."""
    if not isinstance(value, str):
        raise wrong(field, "a text", value)
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
    """A sentence for the history: why something was done."""
    remark = require_text(value, field=field)
    if len(remark) > _LONGEST_REMARK:
        raise TooLarge(
            f"{field} has {len(remark):,} characters; the limit is {_LONGEST_REMARK:,}",
            hint="Put the long form into a memory",
            field=field,
            limit=_LONGEST_REMARK,
        )
    return remark


def require_texts(value: object, *, field: str) -> tuple[str, ...]:
    """A list of texts; one text alone is not a list."""
    if isinstance(value, str | bytes) or not isinstance(value, Sequence):
        raise wrong(field, "a list of texts", value)
    return tuple(require_text(one, field=field) for one in cast("Sequence[object]", value))


def require_flag(value: object, *, field: str) -> bool:
    """True or false, and nothing that merely looks like it."""
    if not isinstance(value, bool):
        raise wrong(field, "true or false", value)
    return value


def require_whole(value: object, *, field: str, least: int = 1, most: int = _LARGEST) -> int:
    """A whole number within bounds."""
    if isinstance(value, bool) or not isinstance(value, int):
        raise wrong(field, "a whole number", value)
    if not least <= value <= most:
        bounds = f"at least {least}" if value < least else f"at most {most}"
        raise InvalidInput(f"{field} must be {bounds}, not {str(value)[:40]}", field=field)
    return value


def require_share(value: object, *, field: str) -> float:
    """A number from 0 to 1."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise wrong(field, "a number from 0 to 1", value)
    if not 0 <= value <= 1:
        raise InvalidInput(f"{field} must be a number from 0 to 1, not {value!r:.40}", field=field)
    return float(value)


def require_moment(value: object, *, field: str) -> None:
    """A moment with a time zone, or none."""
    if value is not None and (not isinstance(value, datetime) or value.tzinfo is None):
        raise InvalidInput(f"{field} must be a time with a zone", hint="For example datetime.now(UTC)", field=field)


def wrong(field: str, wanted: str, value: object) -> InvalidInput:
    """The error for a value of the wrong kind."""
    return InvalidInput(f"{field} must be {wanted}, not {type(value).__name__}", field=field)
