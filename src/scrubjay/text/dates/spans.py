"""Days in a row, and calendar arithmetic: weeks, months, quarters, seasons, and recurring dates."""

from calendar import monthrange
from collections.abc import Callable
from datetime import UTC, date, datetime, time, timedelta
from typing import NamedTuple

from scrubjay.lazy import dataclass

__all__ = [
    "DateSpan", "Days", "Yearly", "day", "month", "quarter", "season", "shift", "third", "week", "weekend", "year",
]  # fmt: skip

_MONTHS = 12
_SEASONS = {"spring": 3, "summer": 6, "autumn": 9, "fall": 9, "winter": 12}
# A leap day returns after eight years at the latest.
_MAX_YEARS = 9


@dataclass(frozen=True, slots=True)
class DateSpan:
    """Days of UTC in a row without the end; `exact` is the unit that the text names: a day, a week, a range …"""

    start: datetime
    end: datetime
    exact: str


class Days(NamedTuple):
    """A span of dates; `end` is the day after the last one."""

    start: date
    end: date
    exact: str

    @property
    def span(self) -> DateSpan:
        """The span as moments."""
        first, last = (datetime.combine(each, time(), UTC) for each in (self.start, self.end))
        return DateSpan(first, last, self.exact)


class Yearly(NamedTuple):
    """Days that recur every year, such as a month; None in a year that does not have them."""

    of: Callable[[int], Days | None]

    def latest(self, until: date) -> Days | None:
        """Return the latest ones that begin on a day or before it."""
        return self._first(range(until.year, until.year - _MAX_YEARS, -1), lambda days: days.start <= until)

    def past(self, today: date) -> Days | None:
        """Return the latest ones that are over."""
        return self._first(range(today.year, today.year - _MAX_YEARS, -1), lambda days: days.end <= today)

    def coming(self, today: date) -> Days | None:
        """Return the next ones that begin after today."""
        return self._first(range(today.year, today.year + _MAX_YEARS), lambda days: days.start > today)

    def _first(self, years: range, condition: Callable[[Days], bool]) -> Days | None:
        candidates = (self.of(year) for year in years if year >= date.min.year)
        return next((days for days in candidates if days and condition(days)), None)


def day(of: date) -> Days:
    """Return a single day."""
    return Days(of, of + timedelta(1), "day")


def week(of: date) -> Days:
    """Return the week of a day, from Monday on."""
    start = of - timedelta(of.weekday())
    return Days(start, start + timedelta(7), "week")


def weekend(of: date) -> Days:
    """Return the weekend of the week of a day."""
    end = week(of).end
    return Days(end - timedelta(2), end, "weekend")


def month(number: int, of: int) -> Days:
    """Return a month of a year."""
    start = date(of, number, 1)
    return Days(start, start + timedelta(monthrange(of, number)[1]), "month")


def quarter(number: int, of: int) -> Days:
    """Return a quarter of a year."""
    return Days(date(of, 3 * number - 2, 1), month(3 * number, of).end, "quarter")


def season(name: str, of: int) -> Days:
    """Return a season of a year, north of the equator; winter belongs to the year in which it begins."""
    first = _SEASONS[name]
    last = first + 2
    end = month(last, of).end if last <= _MONTHS else month(last - _MONTHS, of + 1).end
    return Days(date(of, first, 1), end, "season")


def year(of: int) -> Days:
    """Return a year."""
    return Days(date(of, 1, 1), date(of + 1, 1, 1), "year")


def shift(of: date, count: int, unit: str) -> date:
    """Return the day so many days, weeks, months or years later."""
    if unit in ("day", "week"):
        return of + timedelta(count * (7 if unit == "week" else 1))
    months = of.year * _MONTHS + of.month - 1 + count * (_MONTHS if unit == "year" else 1)
    at, number = divmod(months, _MONTHS)
    return date(at, number + 1, min(of.day, monthrange(at, number + 1)[1]))


def third(days: Days, number: int) -> Days:
    """Return the first, second or last third, for early, mid and late."""
    length = (days.end - days.start).days
    cuts = [days.start + timedelta(length * part // 3) for part in range(4)]
    return Days(cuts[number], cuts[number + 1], "range") if length > 2 else days  # noqa: PLR2004 - has no thirds
