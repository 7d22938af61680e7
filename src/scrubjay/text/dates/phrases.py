"""The days that a question names, seen from the day on which it is asked."""

from datetime import UTC, date, datetime, timedelta
from typing import NamedTuple

from scrubjay.text.dates.calendar import TO, match_date
from scrubjay.text.dates.spans import (
    DateSpan,
    Days,
    Yearly,
    day,
    month,
    quarter,
    shift,
    third,
    week,
    weekend,
    year,
)
from scrubjay.text.dates.tokens import NUMBERS, ORDINALS, WEEKDAYS, DateMatch, DateTokens, tokenize

__all__ = ["date_words", "find_dates"]

_MAX_SPANS = 8
_THIRDS = {"early": 0, "mid": 1, "late": 2, "beginning": 0, "start": 0, "middle": 1, "end": 2}
_THIRDS_OF = frozenset({"beginning", "start", "middle", "end"})
_PARTS = frozenset({"week", "weekend", "half", "quarter", *WEEKDAYS})


def find_dates(text: str, *, today: datetime) -> tuple[DateSpan, ...]:
    """Return the days that a text names: without a year the latest ones, and none for a date that does not exist."""
    tokens = tokenize(text)
    if not tokens:
        return ()
    question = DateTokens(tokens, (today.astimezone(UTC) if today.tzinfo else today).date())
    return tuple(dict.fromkeys(days.span for days in _find_all(question) if days.start < days.end))[:_MAX_SPANS]


def date_words(moment: datetime) -> str:
    """Return a day in words: 7 May 2023."""
    return f"{moment.day} {moment:%B} {moment.year}"


def _find_all(tokens: DateTokens) -> list[Days]:
    spans: list[Days] = []
    at = 0
    while at < len(tokens.tokens):
        token = tokens.tokens[at]
        at += 1
        if not token.may_start:
            continue
        try:
            match = _match_range(tokens, at - 1)
        except (OverflowError, ValueError):
            # Before the first day of the calendar, or after the last one.
            continue
        if match:
            at = match.end
            spans += [match.days] if match.days else []
    return spans


def _match_range(tokens: DateTokens, at: int) -> DateMatch | None:
    """Match since March, between May and July, from Monday to Friday, or single days."""
    word = tokens.word(at)
    if word == "since":
        first = _match_days(tokens, tokens.skip(at + 1, "the"))
        until = tokens.today + timedelta(1)
        return first and first._replace(days=first.days and Days(first.days.start, until, "range"))
    start = tokens.skip(at + 1, "the") if word in ("between", "from") else at
    first = _match_days(tokens, start)
    if first is None or first.days is None:
        return first
    if tokens.word(first.end) in (TO | {"and"} if word == "between" else TO):
        last = _match_days(tokens, tokens.skip(first.end + 1, "the"))
        return _join_range(first, last) if last and last.days else first
    return first


def _join_range(first: DateMatch, last: DateMatch) -> DateMatch:
    """Return the range between two matches; one without a year takes the year of the other."""
    start, end = first.days, last.days
    if start and end and first.yearly:
        start = first.yearly.latest(end.start)
    elif start and end and last.yearly:
        end = end if start.start <= end.start and end.exact == "day" else last.yearly.coming(start.start)
    if start and end and start.start > end.start and start.exact == end.exact == "day":
        # Monday to Friday, asked on a Wednesday.
        start = start._replace(start=start.start - timedelta(7))
    return DateMatch(Days(start.start, end.end, "range") if start and end else None, last.end)


def _match_days(tokens: DateTokens, at: int) -> DateMatch | None:
    if at >= len(tokens.tokens):
        return None
    return (
        _match_third(tokens, at) or _match_part(tokens, at) or _match_relative(tokens, at) or match_date(tokens, at)
    )  # fmt: skip


def _match_third(tokens: DateTokens, at: int) -> DateMatch | None:
    """Match early June, the end of 2023, late last month."""
    number = _THIRDS.get(tokens.word(at))
    if number is None or (tokens.word(at) in _THIRDS_OF and tokens.word(at + 1) != "of"):
        return None
    place = tokens.skip(at + 1, "-", "of", "in", "the")
    whole = (_match_relative(tokens, place) or match_date(tokens, place)) if place < len(tokens.tokens) else None
    if whole is None or whole.days is None:
        return whole
    return DateMatch(third(whole.days, number), whole.end)


def _match_part(tokens: DateTokens, at: int) -> DateMatch | None:
    """Match the first week of June, the last Friday of 2023, the second half of last year."""
    number = tokens.number(at, digits=1) if tokens.tokens[at].ordinal else ORDINALS.get(tokens.word(at))
    unit = tokens.word(at + 1)
    if not number or unit not in _PARTS or tokens.word(at + 2) not in ("of", "in"):
        return None
    place = tokens.skip(at + 3, "the")
    whole = (_match_relative(tokens, place) or match_date(tokens, place)) if place < len(tokens.tokens) else None
    if whole is None or whole.days is None or whole.days.exact not in ("month", "quarter", "season", "year"):
        return None
    return DateMatch(_nth_part(number, unit, whole.days), whole.end)


def _nth_part(number: int, unit: str, whole: Days) -> Days | None:
    if unit == "quarter":
        return quarter(number, whole.start.year) if whole.exact == "year" and 0 < number <= 4 else None  # noqa: PLR2004
    if unit == "half":
        middle = whole.start + (whole.end - whole.start) // 2
        return Days(*((whole.start, middle) if number == 1 else (middle, whole.end)), "range")
    size = 2 if unit == "weekend" else 7 if unit == "week" else 1
    weekday = 5 if unit == "weekend" else whole.start.weekday() if unit == "week" else WEEKDAYS[unit]
    if number < 0:
        last = whole.end - timedelta(size)
        start = last if unit == "week" else last - timedelta((last.weekday() - weekday) % 7)
    else:
        start = whole.start + timedelta((weekday - whole.start.weekday()) % 7 + 7 * (number - 1))
    exact = "day" if size == 1 else unit
    return Days(start, start + timedelta(size), exact) if whole.start <= start < whole.end else None


_UNITS = {unit + plural: unit for unit in ("day", "week", "month", "year") for plural in ("", "s")}
_EARLIER, _LATER = frozenset({"last", "previous", "past"}), frozenset({"next", "coming", "upcoming"})
_CURRENT = frozenset({"this", "current"})
_TIMES_OF_DAY = frozenset({"night", "morning", "afternoon", "evening", "noon"})
_SHORT_WEEKDAYS = {"mon": 0, "tue": 1, "tues": 1, "wed": 2, "thu": 3, "thur": 3, "thurs": 3, "fri": 4}
_NEAR = {"today": 0, "tonight": 0, "yesterday": -1, "tomorrow": 1}
_FEW = (2, 5)


class _Count(NamedTuple):
    """A number of units, between two bounds, and the position after it."""

    least: int
    most: int
    unit: str
    end: int


def _match_relative(tokens: DateTokens, at: int) -> DateMatch | None:
    """Match yesterday, last week, three months ago, the past two days."""
    word, today = tokens.word(at), tokens.today
    if word in _NEAR:
        return DateMatch(day(today + timedelta(_NEAR[word])), at + 1)
    if word == "day" and (tokens.word(at + 1), tokens.word(at + 2)) == ("before", "yesterday"):
        return DateMatch(day(today - timedelta(2)), at + 3)
    if word == "day" and (tokens.word(at + 1), tokens.word(at + 2)) == ("after", "tomorrow"):
        return DateMatch(day(today + timedelta(2)), at + 3)
    if word == "other" and tokens.word(at - 1) == "the" and tokens.word(at + 1) == "day":
        return DateMatch(Days(today - timedelta(7), today, "range"), at + 2)
    if word == "weekend" and tokens.word(at - 1) == "the":
        days = weekend(today)
        begun = days if days.start <= today else weekend(today - timedelta(7))
        return DateMatch(begun, at + 1)
    if word in WEEKDAYS:
        return _match_weekday_of_week(tokens, at)
    if word in _EARLIER | _LATER | _CURRENT:
        return _match_several(tokens, at) or _match_neighbour(tokens, at)
    return _match_ago(tokens, at)


def _match_weekday_of_week(tokens: DateTokens, at: int) -> DateMatch | None:
    """Match Friday of last week."""
    place = tokens.skip(at + 1, "of", "in")
    if tokens.word(place) not in _EARLIER | _LATER | _CURRENT or tokens.word(place + 1) != "week":
        return None
    start = _neighbour("week", tokens.today, _direction(tokens.word(place))).start
    return DateMatch(day(start + timedelta(WEEKDAYS[tokens.word(at)])), place + 2)


def _match_count(tokens: DateTokens, at: int) -> _Count | None:
    """Match two weeks, a month, a couple of days, a few years."""
    place = tokens.skip(at, "a", "an")
    word, number = tokens.word(place), tokens.number(place)
    least, most = (number, number) if number else (NUMBERS.get(word, 0),) * 2
    if word == "couple":
        least, most = 2, 2
    elif word in ("few", "several"):
        least, most = _FEW
    if most:
        place = tokens.skip(place + 1, "of")
    elif place > at:
        least, most = 1, 1
    unit = _UNITS.get(tokens.word(place))
    return _Count(least, most, unit, place + 1) if most and unit else None


def _match_ago(tokens: DateTokens, at: int) -> DateMatch | None:
    """Match three days ago, a week from now."""
    count = _match_count(tokens, at)
    if count is None:
        return None
    if tokens.word(count.end) in ("ago", "back"):
        sign, end = -1, count.end + 1
    elif tokens.word(count.end) == "from" and tokens.word(count.end + 1) in ("now", "today"):
        sign, end = 1, count.end + 2
    else:
        return None
    near, far = (shift(tokens.today, sign * number, count.unit) for number in (count.least, count.most))
    if near != far:
        return DateMatch(Days(min(near, far), max(near, far) + timedelta(1), "range"), end)
    return DateMatch(_days_around(near, count.unit), end)


def _days_around(of: date, unit: str) -> Days:
    """Return the days around a day, as exactly as people count in a unit."""
    if unit == "day":
        return day(of)
    if unit == "week":
        return Days(of - timedelta(3), of + timedelta(4), "week")
    return month(of.month, of.year) if unit == "month" else year(of.year)


def _match_several(tokens: DateTokens, at: int) -> DateMatch | None:
    """Match the last three days, the past week, the next two months: up to today, or from today on."""
    which, following = tokens.word(at), tokens.word(at + 1)
    if which in _CURRENT:
        return None
    rolling = which == "past" or (which == "last" and tokens.word(at - 1) == "the")
    if following in ("week", "month", "year", "day") and rolling:
        count = _Count(1, 1, following, at + 2)
    elif following not in ("a", "an"):
        count = _match_count(tokens, at + 1)
    else:
        count = None
    if count is None:
        return None
    today = tokens.today
    if which in _LATER:
        return DateMatch(Days(today, shift(today, count.most, count.unit) + timedelta(1), "range"), count.end)
    return DateMatch(Days(shift(today, -count.most, count.unit), today + timedelta(1), "range"), count.end)


def _match_neighbour(tokens: DateTokens, at: int) -> DateMatch | None:
    """Match last week, this month, next Friday, last Christmas."""
    following, today, direction = tokens.word(at + 1), tokens.today, _direction(tokens.word(at))
    if following in _TIMES_OF_DAY:
        return DateMatch(day(today + timedelta(direction)), at + 2)
    if following in ("week", "weekend", "month", "quarter", "year"):
        days = _neighbour(following, today, direction)
        weekday = WEEKDAYS.get(tokens.word(tokens.skip(at + 2, "on"))) if following == "week" else None
        return DateMatch(days, at + 2) if weekday is None else DateMatch(day(days.start + timedelta(weekday)), at + 3)
    number = WEEKDAYS.get(following, _SHORT_WEEKDAYS.get(following))
    if number is not None:
        return DateMatch(_neighbour_weekday(number, today, direction), at + 2)
    is_word = at + 1 < len(tokens.tokens) and tokens.tokens[at + 1].kind == "word"
    inner = match_date(tokens, at + 1) if is_word else None
    if inner is None or not inner.yearly:
        return inner
    return inner._replace(days=_neighbour_yearly(inner.yearly, today, direction), yearly=None)


def _direction(which: str) -> int:
    return -1 if which in _EARLIER else 1 if which in _LATER else 0


def _neighbour(unit: str, today: date, direction: int) -> Days:
    if unit == "week":
        return week(today + timedelta(7 * direction))
    if unit == "weekend":
        return weekend(today + timedelta(7 * direction))
    if unit == "year":
        return year(today.year + direction)
    if unit == "month":
        other = shift(today.replace(day=1), direction, "month")
        return month(other.month, other.year)
    other = shift(today.replace(day=1), 3 * direction, "month")
    return quarter((other.month + 2) // 3, other.year)


def _neighbour_weekday(number: int, today: date, direction: int) -> Days:
    if not direction:
        return day(week(today).start + timedelta(number))
    ahead = (number - today.weekday()) % 7
    if direction > 0:
        return day(today + timedelta(ahead or 7))
    return day(today - timedelta((7 - ahead) % 7 or 7))


def _neighbour_yearly(yearly: Yearly, today: date, direction: int) -> Days | None:
    if direction:
        return yearly.past(today) if direction < 0 else yearly.coming(today)
    latest = yearly.latest(today)
    return latest if latest and latest.end > today else yearly.of(today.year)
