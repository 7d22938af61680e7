"""When something was said, in the ways in which chats write it."""

import re
from datetime import UTC, datetime

__all__ = ["moment_of_number", "moment_of_text", "parse_timestamp"]

# Later than any chat, and what is beyond it is in milliseconds.
_LATEST_SECONDS = 10_000_000_000
_DATE_AND_TIME = re.compile(
    r"(\d{1,4})[-/.](\d{1,2})[-/.](\d{1,4}),?\s+(\d{1,2}):(\d{2})(?::(\d{2}))?[\s\u202f\u00a0]?([ap]\.?m\.?)?",
    re.IGNORECASE,
)
_MOST_MONTHS = 12
_NOON = 12
_LEAST_YEAR = 1900


def parse_timestamp(value: object) -> datetime | None:
    """A moment given as a number or a text; None for what is none."""
    if isinstance(value, bool) or value is None:
        return None
    if isinstance(value, int | float):
        return moment_of_number(value)
    return moment_of_text(value) if isinstance(value, str) else None


def moment_of_number(value: float) -> datetime | None:
    """Seconds or milliseconds since 1970."""
    try:
        seconds = value / 1000 if value > _LATEST_SECONDS else value
        return datetime.fromtimestamp(seconds, UTC) if seconds > 0 else None
    except (OverflowError, OSError, ValueError):
        return None


def moment_of_text(text: str) -> datetime | None:
    """An ISO moment, seconds as a text, or day and time in numbers. What names no time zone is taken for UTC.

    Of 3/4/2024 the first is the day, unless the clock has 12 hours, as where the month goes first.
    """
    text = text.strip()
    try:
        found = datetime.fromisoformat(text)
    except ValueError:
        pass
    else:
        return _in_utc(found)
    try:
        return moment_of_number(float(text))
    except ValueError:
        written = _DATE_AND_TIME.search(text)
        return _written(written) if written else None


def _in_utc(found: datetime) -> datetime | None:
    try:
        return found.astimezone(UTC) if found.tzinfo else found.replace(tzinfo=UTC)
    except OverflowError:
        # Before the first year or after the last.
        return None


def _written(found: re.Match[str]) -> datetime | None:
    one, two, three = (int(found[at]) for at in (1, 2, 3))
    half = (found[7] or "").lower()[:1]
    if one > 31:  # noqa: PLR2004 - a year, then
        year, month, day = one, two, three
    elif two > _MOST_MONTHS or (half and one <= _MOST_MONTHS):
        year, month, day = three, one, two
    else:
        year, month, day = three, two, one
    hour = int(found[4])
    if half:
        hour = hour % _NOON + (_NOON if half == "p" else 0)
    year += 2000 if year < _LEAST_YEAR else 0
    try:
        return datetime(year, month, day, hour, int(found[5]), int(found[6] or 0), tzinfo=UTC)
    except ValueError:
        return None
