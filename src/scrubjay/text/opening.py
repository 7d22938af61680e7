"""The beginning of a text as chats and diaries write it: when something was said, and by whom.

Examples are "(8:56 pm on 20 July, 2023) Caroline: …", "[2024-05-03 14:00] Ada: …" and "2024-05-03, Ada: …".
"""

import re
from datetime import UTC, datetime
from functools import lru_cache
from typing import NamedTuple

from scrubjay.lazy import regex
from scrubjay.text.dates.tokens import MONTHS
from scrubjay.text.languages import MONTH_NAMES
from scrubjay.text.scripts import fold

__all__ = ["Opening", "read_opening"]

_MONTHS = {**MONTHS, **{name: MONTHS[month] for name, month in MONTH_NAMES.items()}}
_MAX_OPENING = 120
_TIME = r"(?:\d{1,2}:\d{2}(?::\d{2})?(?:\s?[ap]\.?m\.?)?|\d{1,2}\s?[ap]\.?m\.?)"
_ZONE = r"(?:\s?(?:z|utc|[+-]\d{2}:?\d{2}))?"
_MONTH = r"[^\W\d_]{3,12}\.?"
_WEEKDAY = r"(?:[^\W\d_]{2,12}\.?,? )?"
_DAY = (
    r"\d{4}-\d{2}-\d{2}"
    rf"|{_WEEKDAY}\d{{1,2}}(?:st|nd|rd|th|\.)? (?:of |de )?{_MONTH},? (?:de )?\d{{4}}"
    rf"|{_WEEKDAY}{_MONTH} \d{{1,2}}(?:st|nd|rd|th)?,? \d{{4}}"
    r"|\d{1,2}[./]\d{1,2}[./](?:\d{4}|\d{2})"
)
_MOMENT = rf"(?:(?:{_DAY})(?:(?:t|,? (?:at )?){_TIME}{_ZONE})?|{_TIME}{_ZONE},? (?:on )?(?:{_DAY}))"
# Without brackets a sign must follow: "2019-05-03 was the launch" is about that day.
_OPENING = regex(rf"\s*(?:[\[(]\s?({_MOMENT})\s?[\])]\s?[:,\u2013-]?|({_MOMENT})\s?[:,\u2013-])\s", re.IGNORECASE)
# "Sarah Miller: yes".
_SPEAKER = regex(r"\s*([^\W\d_][\w.'\u2019-]{0,31}(?: [\w.'\u2019-]{1,32}){0,2}):\s")
_NUMBER = regex(r"\d+")
_CLOCK = regex(r"(\d{1,2})(?::(\d{2}))?(?::(\d{2}))?\s?([ap])?\.?m?", re.IGNORECASE)
_OFFSET = regex(r"[+-]\d{2}:?\d{2}$")
_NOON, _LAST_MONTH, _CENTURY = 12, 12, 100


class Opening(NamedTuple):
    """When and by whom a text was said, and where the date ends; None and empty if it does not begin with them."""

    at: datetime | None = None
    speaker: str = ""
    end: int = 0


@lru_cache(maxsize=1_024)
def _read_opening(text: str) -> Opening:
    match = _OPENING.match(text)
    at = _read_moment(match[1] or match[2]) if match else None
    end = match.end() if match and at else 0
    speaker = _SPEAKER.match(text, end)
    return Opening(at, speaker[1] if speaker else "", end)


def read_opening(text: str) -> Opening:
    """Return the date and the speaker at the beginning of a text; without a zone the date is in UTC."""
    return _read_opening(text[:_MAX_OPENING])


def _read_moment(text: str) -> datetime | None:
    day = re.search(_DAY, text, re.IGNORECASE)
    if day is None:
        return None
    rest = (text[: day.start()] + " " + text[day.end() :]).strip(" ,tT")
    clock = _CLOCK.search(rest)
    half = (clock[4] or "").lower() if clock else ""
    numbers = _read_day(day[0], half=half)
    if numbers is None:
        return None
    hour, minute, second = (int(clock[at] or 0) for at in (1, 2, 3)) if clock else (0, 0, 0)
    if half:
        hour = hour % _NOON + (_NOON if half == "p" else 0)
    try:
        moment = datetime(*numbers, hour, minute, second, tzinfo=UTC)
        offset = _OFFSET.search(rest)
        return datetime.fromisoformat(f"{moment:%Y-%m-%dT%H:%M:%S}{offset[0]}").astimezone(UTC) if offset else moment
    except (ValueError, OverflowError):
        return None


def _read_day(text: str, *, half: str) -> tuple[int, int, int] | None:
    """Return year, month and day. 3/4/2024 is the third of April, unless the clock has 12 hours."""
    figures = [int(number) for number in _NUMBER.findall(text)]
    words = [word for word in re.findall(r"[^\W\d_]+", fold(text)) if word in _MONTHS]
    if words:
        day, year = figures
        return year, _MONTHS[words[-1]], day
    if len(figures) != 3:  # noqa: PLR2004 - a word that is no month
        return None
    first, second, third = figures
    if "-" in text:
        return first, second, third
    is_month_first = second > _LAST_MONTH or (half and "/" in text and first <= _LAST_MONTH)
    month, day = (first, second) if is_month_first else (second, first)
    return third + 2000 if third < _CENTURY else third, month, day
