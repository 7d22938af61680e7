"""The days that a question names, as seen from the day on which it is asked."""

from datetime import UTC, datetime, timedelta

from scrubjay.text.dates.calendar import TO, dated
from scrubjay.text.dates.relative import relative
from scrubjay.text.dates.spans import DateSpan, Days, quarter, third
from scrubjay.text.dates.tokens import ORDINALS, TELLING, WEEKDAYS, DateMatch, DateTokens, tokens_of

__all__ = ["DateSpan", "date_words", "find_dates"]

_MOST_SPANS = 8
_KINDS = frozenset({"number", "date", "decade"})
_PARTS = {"early": 0, "mid": 1, "late": 2, "beginning": 0, "start": 0, "middle": 1, "end": 2}
_PARTS_OF = frozenset({"beginning", "start", "middle", "end"})


def find_dates(text: str, *, today: datetime) -> tuple[DateSpan, ...]:
    """What a text says about days; without a year the latest is meant, and a date that does not exist is nothing."""
    tokens = tokens_of(text)
    if not tokens:
        return ()
    asked = DateTokens(tokens, (today.astimezone(UTC) if today.tzinfo else today).date())
    return tuple(dict.fromkeys(days.span for days in _all(asked) if days.start < days.end))[:_MOST_SPANS]


def date_words(moment: datetime) -> str:
    """A day in words: 7 May 2023."""
    return f"{moment.day} {moment:%B} {moment.year}"


def _all(asked: DateTokens) -> list[Days]:
    found: list[Days] = []
    at = 0
    while at < len(asked.tokens):
        token = asked.tokens[at]
        at += 1
        if token.kind not in _KINDS and token.text not in TELLING:
            continue
        try:
            expression = _expression(asked, at - 1)
        except (OverflowError, ValueError):
            # Before the first day of the calendar, or after the last one.
            continue
        if expression:
            at = expression.end
            found += [expression.days] if expression.days else []
    return found


def _expression(asked: DateTokens, at: int) -> DateMatch | None:
    """Since March, between May and July, from Monday to Friday, or days alone."""
    word = asked.word(at)
    if word == "since":
        first = _named(asked, asked.after(at + 1, "the"))
        until = asked.today + timedelta(1)
        return first and first._replace(days=first.days and Days(first.days.start, until, "range"))
    start = asked.after(at + 1, "the") if word in ("between", "from") else at
    first = _named(asked, start)
    if first is None or first.days is None:
        return first
    if asked.word(first.end) in (TO | {"and"} if word == "between" else TO):
        last = _named(asked, asked.after(first.end + 1, "the"))
        return _between(first, last) if last and last.days else first
    return first


def _between(first: DateMatch, last: DateMatch) -> DateMatch:
    """Both, with what is between them; one without a year is of the year that the other tells."""
    one, other = first.days, last.days
    if one and other and first.yearly:
        one = first.yearly.latest(other.start)
    elif one and other and last.yearly:
        other = other if one.start <= other.start and other.exact == "day" else last.yearly.coming(one.start)
    if one and other and one.start > other.start and one.exact == other.exact == "day":
        # Monday to Friday, asked on a Wednesday.
        one = one._replace(start=one.start - timedelta(7))
    return DateMatch(Days(one.start, other.end, "range") if one and other else None, last.end)


def _named(asked: DateTokens, at: int) -> DateMatch | None:
    if at >= len(asked.tokens):
        return None
    return _part(asked, at) or _piece(asked, at) or relative(asked, at) or dated(asked, at)


def _part(asked: DateTokens, at: int) -> DateMatch | None:
    """Early June, the end of 2023, late last month."""
    number = _PARTS.get(asked.word(at))
    if number is None or (asked.word(at) in _PARTS_OF and asked.word(at + 1) != "of"):
        return None
    place = asked.after(at + 1, "-", "of", "in", "the")
    whole = (relative(asked, place) or dated(asked, place)) if place < len(asked.tokens) else None
    if whole is None or whole.days is None:
        return whole
    return DateMatch(third(whole.days, number), whole.end)


def _piece(asked: DateTokens, at: int) -> DateMatch | None:
    """The first week of June, the last Friday of 2023, the second half of last year."""
    number = asked.number(at, digits=1) if asked.tokens[at].ordinal else ORDINALS.get(asked.word(at))
    unit = asked.word(at + 1)
    if not number or unit not in _PIECES or asked.word(at + 2) not in ("of", "in"):
        return None
    place = asked.after(at + 3, "the")
    whole = (relative(asked, place) or dated(asked, place)) if place < len(asked.tokens) else None
    if whole is None or whole.days is None or whole.days.exact not in ("month", "quarter", "season", "year"):
        return None
    return DateMatch(_nth(number, unit, whole.days), whole.end)


_PIECES = frozenset({"week", "weekend", "half", "quarter", *WEEKDAYS})


def _nth(number: int, unit: str, whole: Days) -> Days | None:
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
