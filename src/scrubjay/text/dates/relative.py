"""Expressions that look from today: yesterday, last week, three months ago, the past two days."""

from datetime import date, timedelta
from typing import NamedTuple

from scrubjay.text.dates.calendar import dated
from scrubjay.text.dates.spans import Days, Yearly, day, month, quarter, shifted, week, weekend, year
from scrubjay.text.dates.tokens import NUMBERS, WEEKDAYS, DateMatch, DateTokens

__all__ = ["relative"]

_UNITS = {unit + plural: unit for unit in ("day", "week", "month", "year") for plural in ("", "s")}
_EARLIER, _LATER = frozenset({"last", "previous", "past"}), frozenset({"next", "coming", "upcoming"})
_NOW = frozenset({"this", "current"})
_TIMES_OF_DAY = frozenset({"night", "morning", "afternoon", "evening", "noon"})
_SHORT_WEEKDAYS = {"mon": 0, "tue": 1, "tues": 1, "wed": 2, "thu": 3, "thur": 3, "thurs": 3, "fri": 4}
_NEAR = {"today": 0, "tonight": 0, "yesterday": -1, "tomorrow": 1}
_FEW = (2, 5)


def relative(asked: DateTokens, at: int) -> DateMatch | None:
    """What an expression at a place means that looks from today."""
    word, today = asked.word(at), asked.today
    if word in _NEAR:
        return DateMatch(day(today + timedelta(_NEAR[word])), at + 1)
    if word == "day" and (asked.word(at + 1), asked.word(at + 2)) == ("before", "yesterday"):
        return DateMatch(day(today - timedelta(2)), at + 3)
    if word == "day" and (asked.word(at + 1), asked.word(at + 2)) == ("after", "tomorrow"):
        return DateMatch(day(today + timedelta(2)), at + 3)
    if word == "other" and asked.word(at - 1) == "the" and asked.word(at + 1) == "day":
        return DateMatch(Days(today - timedelta(7), today, "range"), at + 2)
    if word == "weekend" and asked.word(at - 1) == "the":
        return DateMatch(_begun(weekend(today), today), at + 1)
    if word in WEEKDAYS:
        return _in_week(asked, at)
    if word in _EARLIER | _LATER | _NOW:
        return _several(asked, at) or _beside(asked, at)
    return _ago(asked, at)


def _in_week(asked: DateTokens, at: int) -> DateMatch | None:
    """Friday of last week."""
    place = asked.after(at + 1, "of", "in")
    if asked.word(place) not in _EARLIER | _LATER | _NOW or asked.word(place + 1) != "week":
        return None
    start = _neighbour("week", asked.today, _way(asked.word(place))).start
    return DateMatch(day(start + timedelta(WEEKDAYS[asked.word(at)])), place + 2)


class _Count(NamedTuple):
    least: int
    most: int
    unit: str
    end: int


def _count(asked: DateTokens, at: int) -> _Count | None:
    """Two weeks, a month, a couple of days, a few years."""
    place = asked.after(at, "a", "an")
    word, number = asked.word(place), asked.number(place)
    least, most = (number, number) if number else (NUMBERS.get(word, 0),) * 2
    if word == "couple":
        least, most = 2, 2
    elif word in ("few", "several"):
        least, most = _FEW
    if most:
        place = asked.after(place + 1, "of")
    elif place > at:
        least, most = 1, 1
    unit = _UNITS.get(asked.word(place))
    return _Count(least, most, unit, place + 1) if most and unit else None


def _ago(asked: DateTokens, at: int) -> DateMatch | None:
    """Three days ago, a week from now."""
    count = _count(asked, at)
    if count is None:
        return None
    if asked.word(count.end) in ("ago", "back"):
        sign, end = -1, count.end + 1
    elif asked.word(count.end) == "from" and asked.word(count.end + 1) in ("now", "today"):
        sign, end = 1, count.end + 2
    else:
        return None
    near, far = (shifted(asked.today, sign * times, count.unit) for times in (count.least, count.most))
    if near != far:
        return DateMatch(Days(min(near, far), max(near, far) + timedelta(1), "range"), end)
    return DateMatch(_around(near, count.unit), end)


def _around(one: date, unit: str) -> Days:
    """As exactly as people count in that unit."""
    if unit == "day":
        return day(one)
    if unit == "week":
        return Days(one - timedelta(3), one + timedelta(4), "week")
    return month(one.month, one.year) if unit == "month" else year(one.year)


def _several(asked: DateTokens, at: int) -> DateMatch | None:
    """The last three days, the past week, the next two months: up to today, or from it on."""
    which, following = asked.word(at), asked.word(at + 1)
    if which in _NOW:
        return None
    rolling = which == "past" or (which == "last" and asked.word(at - 1) == "the")
    if following in ("week", "month", "year", "day") and rolling:
        count = _Count(1, 1, following, at + 2)
    elif following not in ("a", "an"):
        count = _count(asked, at + 1)
    else:
        count = None
    if count is None:
        return None
    today = asked.today
    if which in _LATER:
        return DateMatch(Days(today, shifted(today, count.most, count.unit) + timedelta(1), "range"), count.end)
    return DateMatch(Days(shifted(today, -count.most, count.unit), today + timedelta(1), "range"), count.end)


def _beside(asked: DateTokens, at: int) -> DateMatch | None:
    """Last week, this month, next Friday, last Christmas."""
    following, today, way = asked.word(at + 1), asked.today, _way(asked.word(at))
    if following in _TIMES_OF_DAY:
        return DateMatch(day(today + timedelta(way)), at + 2)
    if following in ("week", "weekend", "month", "quarter", "year"):
        found = _neighbour(following, today, way)
        named = WEEKDAYS.get(asked.word(asked.after(at + 2, "on"))) if following == "week" else None
        return DateMatch(found, at + 2) if named is None else DateMatch(day(found.start + timedelta(named)), at + 3)
    number = WEEKDAYS.get(following, _SHORT_WEEKDAYS.get(following))
    if number is not None:
        return DateMatch(_weekday(number, today, way), at + 2)
    inner = dated(asked, at + 1) if at + 1 < len(asked.tokens) and asked.tokens[at + 1].kind == "word" else None
    return inner._replace(days=_chosen(inner.yearly, today, way), yearly=None) if inner and inner.yearly else inner


def _way(which: str) -> int:
    return -1 if which in _EARLIER else 1 if which in _LATER else 0


def _neighbour(unit: str, today: date, way: int) -> Days:
    if unit == "week":
        return week(today + timedelta(7 * way))
    if unit == "weekend":
        return weekend(today + timedelta(7 * way))
    if unit == "year":
        return year(today.year + way)
    if unit == "month":
        other = shifted(today.replace(day=1), way, "month")
        return month(other.month, other.year)
    other = shifted(today.replace(day=1), 3 * way, "month")
    return quarter((other.month + 2) // 3, other.year)


def _weekday(number: int, today: date, way: int) -> Days:
    if not way:
        return day(week(today).start + timedelta(number))
    ahead = (number - today.weekday()) % 7
    if way > 0:
        return day(today + timedelta(ahead or 7))
    return day(today - timedelta((7 - ahead) % 7 or 7))


def _chosen(yearly: Yearly, today: date, way: int) -> Days | None:
    if way:
        return yearly.past(today) if way < 0 else yearly.coming(today)
    latest = yearly.latest(today)
    return latest if latest and latest.end > today else yearly.of(today.year)


def _begun(days: Days, today: date) -> Days:
    return days if days.start <= today else Days(days.start - timedelta(7), days.end - timedelta(7), days.exact)
