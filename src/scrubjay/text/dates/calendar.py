"""Expressions of the calendar: dates in words and figures, months, seasons, quarters, years, weekdays, holidays."""

from collections.abc import Callable
from datetime import date, timedelta

from scrubjay.text.dates.spans import Days, Yearly, day, month, quarter, season, year
from scrubjay.text.dates.tokens import MONTHS, WEEKDAYS, DateMatch, DateTokens

__all__ = ["TO", "dated"]

TO = frozenset({"to", "until", "till", "through", "-"})
_SEASONS = frozenset({"spring", "summer", "autumn", "fall", "winter"})
# Names of people, verbs and short forms: a month only where nothing else makes sense.
_DOUBTFUL = frozenset({"may", "march", "april", "june", "august", "sept", *(name[:3] for name in MONTHS)})
# After these not even somebody who is called like a month is meant.
_NEVER_PEOPLE = frozenset("last this next past previous coming upcoming early mid late".split())
_SUBJECTS = frozenset("i we you he she they it be not have also".split())
_FIRST_YEAR, _LAST_YEAR = 1950, 2049
_DAY_DIGITS, _YEAR_DIGITS = 2, 4
# A figure of a year's size that counts or numbers something.
_COUNTED = frozenset(
    """
    dollars euros pounds bucks usd eur people users items bytes kb mb gb ms rows lines words tokens times pages points
    percent steps miles km calories kcal hours minutes seconds days weeks meters metres feet files records requests kg
    """.split()
)
_NUMBERED = frozenset("port room version error code number no top over than under nearly about line page build".split())
# Besides the words that lead any time: after and before these, a figure of a year's size is a year.
_BEFORE_YEAR = frozenset(
    """
    from to for into within circa ca the a an that my our your his her its their year years season term semester
    beginning start end easter thanksgiving
    """.split()
)
_AFTER_YEAR = frozenset({*_SEASONS, "year", "season", *(name for name in MONTHS if name not in _DOUBTFUL)})
_ALSO = TO | {"and", "or", ",", "/"}
_HOLIDAYS: dict[tuple[str, ...], tuple[int, int]] = {
    ("christmas", "eve"): (12, 24),
    ("christmas",): (12, 25),
    ("xmas",): (12, 25),
    ("boxing", "day"): (12, 26),
    ("new", "year", "eve"): (12, 31),
    ("new", "years", "eve"): (12, 31),
    ("new", "year", "day"): (1, 1),
    ("new", "years", "day"): (1, 1),
    ("halloween",): (10, 31),
    ("valentine", "day"): (2, 14),
    ("valentines", "day"): (2, 14),
    ("april", "fools"): (4, 1),
    ("st", "patrick", "day"): (3, 17),
}


def dated(asked: DateTokens, at: int) -> DateMatch | None:
    """What a date at a place means; without a year the latest one that has begun."""
    token = asked.tokens[at]
    if token.kind == "date":
        return DateMatch(_of_figures(token.date), at + 1)
    if token.kind == "decade":
        first = int(token.text)
        return DateMatch(Days(date(first, 1, 1), date(first + 10, 1, 1), "range"), at + 1)
    if token.kind == "number":
        return _day_first(asked, at) or _year_alone(asked, at) or _day_alone(asked, at)
    word = token.text
    if holiday := _holiday(asked, at):
        return holiday
    if word in MONTHS:
        return _month_first(asked, at)
    if word in WEEKDAYS:
        return _weekday(asked, at)
    if word in _SEASONS:
        return _season(asked, at)
    if len(word) == 2 and word[0] == "q":  # noqa: PLR2004 - as in Q1
        return _of_some_year(asked, at + 1, lambda of: quarter(int(word[1]), of))
    return None


def _of_figures(numbers: tuple[int, int, int] | None) -> Days | None:
    if numbers is None:
        return None
    of, number, of_month = numbers
    return day(date(of, number, of_month)) if of_month else month(number, of)


def _day_first(asked: DateTokens, at: int) -> DateMatch | None:
    """7 May 2023, 7th of May, 3 to 7 May."""
    first, last = asked.number(at, digits=_DAY_DIGITS), None
    if first is None:
        return None
    to = TO | {"and"} if asked.word(at - 1) == "between" else TO
    name = asked.after(at + 1, "of")
    if asked.word(at + 1) in to and (last := asked.number(at + 2, digits=_DAY_DIGITS)) is not None:
        name = asked.after(at + 3, "of")
    number = MONTHS.get(asked.word(name))
    if number is None or (asked.word(name) == "may" and asked.word(name + 1) in _SUBJECTS):
        return None
    return _days_of(asked, name + 1, number=number, first=first, last=last)


def _month_first(asked: DateTokens, at: int) -> DateMatch | None:
    """May 7th, 2023, May 3-7, May 2023, in May."""
    name, number = asked.word(at), MONTHS[asked.word(at)]
    if name in _DOUBTFUL and asked.tokens[at].owner and asked.leading(at) not in _NEVER_PEOPLE:
        # "In June's opinion".
        return None
    place = asked.after(at + 1, ".") if name in _DOUBTFUL else at + 1
    place = asked.after(place, "the")
    first, last = asked.number(place, digits=_DAY_DIGITS), None
    if first is not None and asked.word(place + 1) not in _COUNTED:
        end = place + 1
        to = TO | {"and"} if asked.word(at - 1) == "between" else TO
        if asked.word(end) in to and (last := asked.number(end + 1, digits=_DAY_DIGITS)) is not None:
            end = end + 2 if asked.word(end + 2) not in MONTHS else end
            last = last if end > place + 1 else None
        return _days_of(asked, end, number=number, first=first, last=last)
    found = _of_some_year(asked, at + 1, lambda of: month(number, of))
    if found.yearly and name in _DOUBTFUL and not _surely_led(asked, at):
        return None
    return found


def _surely_led(asked: DateTokens, at: int) -> bool:
    if asked.word(at + 1) in TO and asked.word(at + 2) in MONTHS:
        return True
    if asked.word(at - 1) in TO | {"and"} and (asked.word(at - 2) in MONTHS or asked.number(at - 2) is not None):
        return True
    if not asked.led(at):
        return False
    token, following = asked.tokens[at], asked.word(at + 1)
    # "This may help", "after march orders": only a capital letter tells.
    return token.proper or asked.word(at - 1) != "this" or not following.isalpha()


def _days_of(asked: DateTokens, end: int, *, number: int, first: int, last: int | None) -> DateMatch:
    def of_year(of: int) -> Days | None:
        try:
            start = date(of, number, first)
            return day(start) if last is None else Days(start, date(of, number, last) + timedelta(1), "range")
        except ValueError:
            return None

    return _of_some_year(asked, end, of_year)


def _of_some_year(asked: DateTokens, end: int, of_year: Callable[[int], Days | None]) -> DateMatch:
    """With the year that follows, else the latest."""
    place = asked.after(end, ",", "of", "in")
    if place < len(asked.tokens) and (asked.tokens[place].text.isdigit() and asked.tokens[place].kind != "decade"):
        of = asked.number(place)
        if of is None and place == end:
            # A date of a year that no calendar has.
            return DateMatch(None, place + 1)
        if of is not None and len(asked.tokens[place].text) == _YEAR_DIGITS and asked.word(place + 1) not in _COUNTED:
            return DateMatch(of_year(of) if of else None, place + 1)
    yearly = Yearly(of_year)
    return DateMatch(yearly.latest(asked.today), end, yearly)


def _season(asked: DateTokens, at: int) -> DateMatch | None:
    name = asked.word(at)
    found = _of_some_year(asked, at + 1, lambda of: season(name, of))
    if found.yearly:
        following = asked.tokens[at + 1] if at + 1 < len(asked.tokens) else None
        # Spring Boot, the fall of Rome.
        other = following and following.kind == "word" and (following.proper or following.text in ("of", "boot"))
        if other or not asked.led(at):
            return None
    return found


def _holiday(asked: DateTokens, at: int) -> DateMatch | None:
    for words, (number, of_month) in _HOLIDAYS.items():
        if words[0] == asked.word(at) and all(asked.word(at + place) == word for place, word in enumerate(words)):
            return _days_of(asked, at + len(words), number=number, first=of_month, last=None)
    return None


def _weekday(asked: DateTokens, at: int) -> DateMatch:
    number = WEEKDAYS[asked.word(at)]
    place = asked.after(at + 1, ",", "the")
    if place < len(asked.tokens) and (asked.tokens[place].kind in ("number", "date") or asked.word(place) in MONTHS):
        date_after = dated(asked, place)
        if date_after and (date_after.days is None or date_after.days.exact == "day"):
            return date_after
    return DateMatch(day(asked.today - timedelta((asked.today.weekday() - number) % 7)), at + 1)


def _year_alone(asked: DateTokens, at: int) -> DateMatch | None:
    of, token = asked.number(at), asked.tokens[at]
    if of is None or token.ordinal or not _FIRST_YEAR <= of <= _LAST_YEAR:
        return None
    following = asked.word(at + 1)
    if len(following) == 2 and following[0] == "q" and following[1].isdigit():  # noqa: PLR2004 - as in Q1
        return DateMatch(quarter(int(following[1]), of), at + 2)
    beside = [asked.tokens[place].kind for place in (at - 1, at + 1) if 0 <= place < len(asked.tokens)]
    if following in _COUNTED or following == "%" or asked.word(at - 1) in _NUMBERED or {"number", "junk"} & set(beside):
        return None
    if asked.word(at - 1) == "-" and not asked.word(at - 2).isalpha():
        return _whole(of, at) if _has_year_digits(asked, at - 2) else None
    return _whole(of, at) if _says_year(asked, at) else None


def _says_year(asked: DateTokens, at: int) -> bool:
    """In 2021, our 2021 trip, 2019 to 2021; but not iPhone 2020."""
    if asked.word(at + 1) in TO and _has_year_digits(asked, at + 2):
        return True
    # Of several, the first tells what they are.
    while asked.word(at - 1) in _ALSO and _has_year_digits(asked, at - 2):
        at -= 2
    before = asked.word(at - 1)
    return (
        asked.led(at)
        or before in _BEFORE_YEAR
        or (bool(before) and asked.tokens[at - 1].owner)
        or (before in _ALSO and asked.word(at - 2) in {*MONTHS, *_SEASONS})
        or asked.word(at + 1) in _AFTER_YEAR
        or asked.is_alone(at)
    )


def _has_year_digits(asked: DateTokens, at: int) -> bool:
    return asked.number(at) is not None and len(asked.tokens[at].text) == _YEAR_DIGITS


def _whole(of: int, at: int) -> DateMatch:
    return DateMatch(year(of), at + 1)


def _day_alone(asked: DateTokens, at: int) -> DateMatch | None:
    """On the 7th."""
    first = asked.number(at, digits=_DAY_DIGITS)
    ends = at + 1 == len(asked.tokens) or asked.word(at + 1) in ("?", ".", ",", "!", "\n")
    if first is None or not asked.tokens[at].ordinal or not ends:
        return None
    if (asked.word(at - 2), asked.word(at - 1)) != ("on", "the"):
        return None
    for back in range(12):
        months = asked.today.year * 12 + asked.today.month - 1 - back
        try:
            found = date(months // 12, months % 12 + 1, first)
        except ValueError:
            continue
        if found <= asked.today:
            return DateMatch(day(found), at + 1)
    return None
