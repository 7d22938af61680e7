"""Days in a row, and the arithmetic of calendars: weeks, months, seasons, and which of many is meant."""

from calendar import monthrange
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, date, datetime, time, timedelta
from typing import NamedTuple

__all__ = [
    "DateSpan",
    "Days",
    "Yearly",
    "day",
    "month",
    "quarter",
    "season",
    "shifted",
    "third",
    "week",
    "weekend",
    "year",
]

_MONTHS = 12
_SEASONS = {"spring": 3, "summer": 6, "autumn": 9, "fall": 9, "winter": 12}
# A leap day comes back after eight years at the latest.
_YEARS_SOUGHT = 9


@dataclass(frozen=True, slots=True)
class DateSpan:
    """Days of UTC in a row, the last one not counted; `exact` is what was named: a day, a week, a month, a range …"""

    start: datetime
    end: datetime
    exact: str


class Days(NamedTuple):
    """The same by dates; every `end` is the day after."""

    start: date
    end: date
    exact: str

    @property
    def span(self) -> DateSpan:
        """As moments."""
        first, last = (datetime.combine(each, time(), UTC) for each in (self.start, self.end))
        return DateSpan(first, last, self.exact)


class Yearly(NamedTuple):
    """What comes every year, such as a month; a year in which it does not come has none."""

    of: Callable[[int], Days | None]

    def latest(self, until: date) -> Days | None:
        """The last one that has begun by a day."""
        return self._first(range(until.year, until.year - _YEARS_SOUGHT, -1), lambda days: days.start <= until)

    def past(self, today: date) -> Days | None:
        """The last one that is over."""
        return self._first(range(today.year, today.year - _YEARS_SOUGHT, -1), lambda days: days.end <= today)

    def coming(self, today: date) -> Days | None:
        """The next one to begin."""
        return self._first(range(today.year, today.year + _YEARS_SOUGHT), lambda days: days.start > today)

    def _first(self, years: range, fits: Callable[[Days], bool]) -> Days | None:
        found = (self.of(year) for year in years if year >= date.min.year)
        return next((days for days in found if days and fits(days)), None)


def day(one: date) -> Days:
    """A day."""
    return Days(one, one + timedelta(1), "day")


def week(one: date) -> Days:
    """The week of a day, which begins on Monday."""
    start = one - timedelta(one.weekday())
    return Days(start, start + timedelta(7), "week")


def weekend(one: date) -> Days:
    """The weekend of the week of a day."""
    end = week(one).end
    return Days(end - timedelta(2), end, "weekend")


def month(number: int, of: int) -> Days:
    """A month of a year."""
    start = date(of, number, 1)
    return Days(start, start + timedelta(monthrange(of, number)[1]), "month")


def quarter(number: int, of: int) -> Days:
    """A quarter of a year."""
    return Days(date(of, 3 * number - 2, 1), month(3 * number, of).end, "quarter")


def season(name: str, of: int) -> Days:
    """A season of a year, as it is north of the equator; winter is named after the year in which it begins."""
    first = _SEASONS[name]
    last = first + 2
    end = month(last, of).end if last <= _MONTHS else month(last - _MONTHS, of + 1).end
    return Days(date(of, first, 1), end, "season")


def year(of: int) -> Days:
    """A year."""
    return Days(date(of, 1, 1), date(of + 1, 1, 1), "year")


def shifted(one: date, count: int, unit: str) -> date:
    """The day so many days, weeks, months or years later."""
    if unit in ("day", "week"):
        return one + timedelta(count * (7 if unit == "week" else 1))
    months = one.year * _MONTHS + one.month - 1 + count * (_MONTHS if unit == "year" else 1)
    at, number = divmod(months, _MONTHS)
    return date(at, number + 1, min(one.day, monthrange(at, number + 1)[1]))


def third(days: Days, number: int) -> Days:
    """The first, second or last third, for early, mid and late."""
    length = (days.end - days.start).days
    cuts = [days.start + timedelta(length * part // 3) for part in range(4)]
    return Days(cuts[number], cuts[number + 1], "range") if length > 2 else days  # noqa: PLR2004 - has no thirds
