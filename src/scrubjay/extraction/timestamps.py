"""Timestamps in the forms that chats write."""

import re
from datetime import UTC, datetime

__all__ = ["parse_timestamp", "parse_timestamp_text"]

# A larger number is in milliseconds: no chat is later than this.
_MAX_SECONDS = 10_000_000_000
_DATE_AND_TIME = re.compile(
    r"(\d{1,4})[-/.](\d{1,2})[-/.](\d{1,4}),?\s+(\d{1,2}):(\d{2})(?::(\d{2}))?[\s\u202f\u00a0]?([ap]\.?m\.?)?",
    re.IGNORECASE,
)
_MAX_MONTH = 12
_NOON = 12
_MIN_YEAR = 1900


def parse_timestamp(value: object) -> datetime | None:
    """Return the moment of a number or a text; None if it is none."""
    if isinstance(value, bool) or value is None:
        return None
    if isinstance(value, int | float):
        return _parse_number(value)
    return parse_timestamp_text(value) if isinstance(value, str) else None


def parse_timestamp_text(text: str) -> datetime | None:
    """Return the moment of an ISO timestamp, of seconds, or of a date and time in figures; in UTC without a zone.

    3/4/2024 is the third of April, unless the clock has 12 hours, as where the month comes first.
    """
    text = text.strip()
    try:
        moment = datetime.fromisoformat(text)
    except ValueError:
        pass
    else:
        return _to_utc(moment)
    try:
        return _parse_number(float(text))
    except ValueError:
        figures = _DATE_AND_TIME.search(text)
        return _parse_figures(figures) if figures else None


def _parse_number(value: float) -> datetime | None:
    """Return the moment of seconds or milliseconds since 1970."""
    try:
        seconds = value / 1000 if value > _MAX_SECONDS else value
        return datetime.fromtimestamp(seconds, UTC) if seconds > 0 else None
    except (OverflowError, OSError, ValueError):
        return None


def _to_utc(moment: datetime) -> datetime | None:
    try:
        return moment.astimezone(UTC) if moment.tzinfo else moment.replace(tzinfo=UTC)
    except OverflowError:
        # Before the first year or after the last.
        return None


def _parse_figures(match: re.Match[str]) -> datetime | None:
    first, second, third = (int(match[at]) for at in (1, 2, 3))
    half = (match[7] or "").lower()[:1]
    if first > 31:  # noqa: PLR2004 - a year, then
        year, month, day = first, second, third
    elif second > _MAX_MONTH or (half and first <= _MAX_MONTH):
        year, month, day = third, first, second
    else:
        year, month, day = third, second, first
    hour = int(match[4])
    if half:
        hour = hour % _NOON + (_NOON if half == "p" else 0)
    year += 2000 if year < _MIN_YEAR else 0
    try:
        return datetime(year, month, day, hour, int(match[5]), int(match[6] or 0), tzinfo=UTC)
    except ValueError:
        return None
