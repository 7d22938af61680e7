"""Calendar expressions: dates in words and figures, months, seasons, quarters, years, weekdays, holidays."""

from collections.abc import Callable
from datetime import date, timedelta

from scrubjay.text.dates.spans import Days, Yearly, day, month, quarter, season, year
from scrubjay.text.dates.tokens import DATE_WORDS, MONTHS, WEEKDAYS, DateMatch, DateTokens

__all__ = ["TO", "match_date"]

TO = frozenset({"to", "until", "till", "through", "-"})
_SEASONS = frozenset({"spring", "summer", "autumn", "fall", "winter"})
# Also names of people, verbs and short forms: a month only where nothing else makes sense.
_AMBIGUOUS = frozenset({"may", "march", "april", "june", "august", "sept", *(name[:3] for name in MONTHS)})
_NEVER_PEOPLE = DATE_WORDS.words("never_people")
_SUBJECTS = DATE_WORDS.words("subjects")
_FIRST_YEAR, _LAST_YEAR = 1950, 2049
_DAY_DIGITS, _YEAR_DIGITS = 2, 4
_COUNTED = DATE_WORDS.words("counted")
_NUMBERED = DATE_WORDS.words("numbered")
_BEFORE_YEAR = DATE_WORDS.words("before_year")
_AFTER_YEAR = frozenset({*_SEASONS, "year", "season", *(name for name in MONTHS if name not in _AMBIGUOUS)})
_ENUMERATION = TO | {"and", "or", ",", "/"}
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


def match_date(tokens: DateTokens, at: int) -> DateMatch | None:
    """Match a date at a position; without a year, it is the latest one that has begun."""
    token = tokens.tokens[at]
    if token.kind == "date":
        return DateMatch(_days_in_figures(token.date), at + 1)
    if token.kind == "decade":
        first = int(token.text)
        return DateMatch(Days(date(first, 1, 1), date(first + 10, 1, 1), "range"), at + 1)
    if token.kind == "number":
        return _day_first(tokens, at) or _year_alone(tokens, at) or _day_alone(tokens, at)
    word = token.text
    if holiday := _holiday(tokens, at):
        return holiday
    if word in MONTHS:
        return _month_first(tokens, at)
    if word in WEEKDAYS:
        return _weekday(tokens, at)
    if word in _SEASONS:
        return _season(tokens, at)
    if len(word) == 2 and word[0] == "q":  # noqa: PLR2004 - as in Q1
        return _match_year(tokens, at + 1, lambda of: quarter(int(word[1]), of))
    return None


def _days_in_figures(numbers: tuple[int, int, int] | None) -> Days | None:
    if numbers is None:
        return None
    of, number, of_month = numbers
    return day(date(of, number, of_month)) if of_month else month(number, of)


def _day_first(tokens: DateTokens, at: int) -> DateMatch | None:
    """Match 7 May 2023, 7th of May, 3 to 7 May."""
    first, last = tokens.number(at, digits=_DAY_DIGITS), None
    if first is None:
        return None
    to = TO | {"and"} if tokens.word(at - 1) == "between" else TO
    name = tokens.skip(at + 1, "of")
    if tokens.word(at + 1) in to and (last := tokens.number(at + 2, digits=_DAY_DIGITS)) is not None:
        name = tokens.skip(at + 3, "of")
    number = MONTHS.get(tokens.word(name))
    if number is None or (tokens.word(name) == "may" and tokens.word(name + 1) in _SUBJECTS):
        return None
    return _days_of(tokens, name + 1, number=number, first=first, last=last)


def _month_first(tokens: DateTokens, at: int) -> DateMatch | None:
    """Match May 7th, 2023, May 3-7, May 2023, in May."""
    name, number = tokens.word(at), MONTHS[tokens.word(at)]
    # "In June's opinion" is about a person.
    if name in _AMBIGUOUS and tokens.tokens[at].owner and tokens.lead(at) not in _NEVER_PEOPLE:
        return None
    place = tokens.skip(at + 1, ".") if name in _AMBIGUOUS else at + 1
    place = tokens.skip(place, "the")
    first, last = tokens.number(place, digits=_DAY_DIGITS), None
    if first is not None and tokens.word(place + 1) not in _COUNTED:
        end = place + 1
        to = TO | {"and"} if tokens.word(at - 1) == "between" else TO
        if tokens.word(end) in to and (last := tokens.number(end + 1, digits=_DAY_DIGITS)) is not None:
            end = end + 2 if tokens.word(end + 2) not in MONTHS else end
            last = last if end > place + 1 else None
        return _days_of(tokens, end, number=number, first=first, last=last)
    match = _match_year(tokens, at + 1, lambda of: month(number, of))
    return None if match.yearly and name in _AMBIGUOUS and not _is_surely_month(tokens, at) else match


def _is_surely_month(tokens: DateTokens, at: int) -> bool:
    if tokens.word(at + 1) in TO and tokens.word(at + 2) in MONTHS:
        return True
    if tokens.word(at - 1) in TO | {"and"} and (tokens.word(at - 2) in MONTHS or tokens.number(at - 2) is not None):
        return True
    if not tokens.has_lead(at):
        return False
    token, following = tokens.tokens[at], tokens.word(at + 1)
    # "This may help", "after march orders": only a capital letter decides.
    return token.proper or tokens.word(at - 1) != "this" or not following.isalpha()


def _days_of(tokens: DateTokens, end: int, *, number: int, first: int, last: int | None) -> DateMatch:
    def of_year(of: int) -> Days | None:
        try:
            start = date(of, number, first)
            return day(start) if last is None else Days(start, date(of, number, last) + timedelta(1), "range")
        except ValueError:
            return None

    return _match_year(tokens, end, of_year)


def _match_year(tokens: DateTokens, end: int, of_year: Callable[[int], Days | None]) -> DateMatch:
    """Match the year that follows; without one, take the latest."""
    place = tokens.skip(end, ",", "of", "in")
    if place < len(tokens.tokens) and (tokens.tokens[place].text.isdigit() and tokens.tokens[place].kind != "decade"):
        of = tokens.number(place)
        if of is None and place == end:
            # A year that no calendar has.
            return DateMatch(None, place + 1)
        if of is not None and len(tokens.tokens[place].text) == _YEAR_DIGITS and tokens.word(place + 1) not in _COUNTED:
            return DateMatch(of_year(of) if of else None, place + 1)
    yearly = Yearly(of_year)
    return DateMatch(yearly.latest(tokens.today), end, yearly)


def _season(tokens: DateTokens, at: int) -> DateMatch | None:
    name = tokens.word(at)
    match = _match_year(tokens, at + 1, lambda of: season(name, of))
    if match.yearly:
        following = tokens.tokens[at + 1] if at + 1 < len(tokens.tokens) else None
        # Spring Boot, the fall of Rome.
        other = following and following.kind == "word" and (following.proper or following.text in ("of", "boot"))
        if other or not tokens.has_lead(at):
            return None
    return match


def _holiday(tokens: DateTokens, at: int) -> DateMatch | None:
    for words, (number, of_month) in _HOLIDAYS.items():
        if words[0] == tokens.word(at) and all(tokens.word(at + place) == word for place, word in enumerate(words)):
            return _days_of(tokens, at + len(words), number=number, first=of_month, last=None)
    return None


def _weekday(tokens: DateTokens, at: int) -> DateMatch:
    number = WEEKDAYS[tokens.word(at)]
    place = tokens.skip(at + 1, ",", "the")
    if place < len(tokens.tokens) and (tokens.tokens[place].kind in ("number", "date") or tokens.word(place) in MONTHS):
        date_after = match_date(tokens, place)
        if date_after and (date_after.days is None or date_after.days.exact == "day"):
            return date_after
    return DateMatch(day(tokens.today - timedelta((tokens.today.weekday() - number) % 7)), at + 1)


def _year_alone(tokens: DateTokens, at: int) -> DateMatch | None:
    of, token = tokens.number(at), tokens.tokens[at]
    if of is None or token.ordinal or not _FIRST_YEAR <= of <= _LAST_YEAR:
        return None
    following = tokens.word(at + 1)
    if len(following) == 2 and following[0] == "q" and following[1].isdigit():  # noqa: PLR2004 - as in Q1
        return DateMatch(quarter(int(following[1]), of), at + 2)
    neighbours = [tokens.tokens[place].kind for place in (at - 1, at + 1) if 0 <= place < len(tokens.tokens)]
    is_counted = following in _COUNTED or following == "%" or tokens.word(at - 1) in _NUMBERED
    if is_counted or {"number", "junk"} & set(neighbours):
        return None
    if tokens.word(at - 1) == "-" and not tokens.word(at - 2).isalpha():
        return DateMatch(year(of), at + 1) if _has_year_digits(tokens, at - 2) else None
    return DateMatch(year(of), at + 1) if _is_year(tokens, at) else None


def _is_year(tokens: DateTokens, at: int) -> bool:
    """Return whether a figure is a year: in 2021, our 2021 trip, 2019 to 2021; but not iPhone 2020."""
    if tokens.word(at + 1) in TO and _has_year_digits(tokens, at + 2):
        return True
    # Of several figures, the first decides.
    while tokens.word(at - 1) in _ENUMERATION and _has_year_digits(tokens, at - 2):
        at -= 2
    before = tokens.word(at - 1)
    return (
        tokens.has_lead(at)
        or before in _BEFORE_YEAR
        or (bool(before) and tokens.tokens[at - 1].owner)
        or (before in _ENUMERATION and tokens.word(at - 2) in {*MONTHS, *_SEASONS})
        or tokens.word(at + 1) in _AFTER_YEAR
        or tokens.is_alone(at)
    )


def _has_year_digits(tokens: DateTokens, at: int) -> bool:
    return tokens.number(at) is not None and len(tokens.tokens[at].text) == _YEAR_DIGITS


def _day_alone(tokens: DateTokens, at: int) -> DateMatch | None:
    """Match on the 7th."""
    first = tokens.number(at, digits=_DAY_DIGITS)
    ends = at + 1 == len(tokens.tokens) or tokens.word(at + 1) in ("?", ".", ",", "!", "\n")
    if first is None or not tokens.tokens[at].ordinal or not ends:
        return None
    if (tokens.word(at - 2), tokens.word(at - 1)) != ("on", "the"):
        return None
    for back in range(12):
        months = tokens.today.year * 12 + tokens.today.month - 1 - back
        try:
            candidate = date(months // 12, months % 12 + 1, first)
        except ValueError:
            continue
        if candidate <= tokens.today:
            return DateMatch(day(candidate), at + 1)
    return None
