"""A question as words and numbers that may name a day; a thing that only resembles them is one opaque token."""

import re
from collections.abc import Sequence
from datetime import date
from typing import NamedTuple

from scrubjay.lazy import dataclass, regex
from scrubjay.text.dates.spans import Days, Yearly
from scrubjay.text.word_lists import WordLists

__all__ = [
    "DATE_WORDS",
    "MONTHS",
    "NUMBERS",
    "ORDINALS",
    "WEEKDAYS",
    "DateMatch",
    "DateToken",
    "DateTokens",
    "tokenize",
]

# A longer question names its days at the beginning.
_MAX_TEXT = 2_000

DATE_WORDS = WordLists("dates")
_FULL_MONTHS = DATE_WORDS.ordered("months")
MONTHS = {
    **{name[:3]: number for number, name in enumerate(_FULL_MONTHS, 1)},
    **{name: number for number, name in enumerate(_FULL_MONTHS, 1)},
    "sept": 9,
}
WEEKDAYS = {name: number for number, name in enumerate(DATE_WORDS.ordered("weekdays"))}
NUMBERS = {name: number for number, name in enumerate(DATE_WORDS.ordered("numbers"), 1)}
ORDINALS = {"first": 1, "second": 2, "third": 3, "fourth": 4, "fifth": 5, "last": -1}
_LEADS = DATE_WORDS.words("leads")
# All words that an expression can begin with.
_STARTS = DATE_WORDS.words("starts") | {*MONTHS, *WEEKDAYS, *NUMBERS, *ORDINALS}
_START_KINDS = frozenset({"number", "date", "decade"})

# Not inside a longer token.
_BEFORE, _AFTER = r"(?<![\w.:/@\#+$-])", r"(?![\w/@-]|[.:]\w)"
_TOKEN = regex(
    rf"""
    (?P<word>[^\W\d_]+(?:'[^\W\d_]+)?(?!\w|[.:/@\\+]+\w)|q[1-4](?!\w))
    |(?P<iso>{_BEFORE}\d{{4}}-\d{{1,2}}(?:-\d{{1,2}})?{_AFTER}
        |{_BEFORE}\d{{4}}/\d{{1,2}}/\d{{1,2}}{_AFTER}
        |{_BEFORE}\d{{4}}-\d{{1,2}}-\d{{1,2}}t\d\d:[\d:.,+z-]{{2,24}}(?!\w))
    |(?P<slash>{_BEFORE}\d{{1,2}}(?P<between>[/.-])\d{{1,2}}(?P=between)\d{{4}}{_AFTER})
    # Amounts and handles; versions, files, addresses and hours; telephone numbers.
    |(?P<junk>[@\#$€£+][\w.,:-]*\w
        |\w+(?:[.:/@\\+]+\w+)+
        |\d+(?:-\d+){{2,}}|\d{{3,}}(?:[ ]\d{{2,}}){{2,}}|\d{{3,}}-\d{{4,}}(?<!(?:19|20)\d\d-(?:19|20)\d\d)
        |\d+(?:,\d{{3}})+)
    |(?P<number>\d{{1,4}})(?:st|nd|rd|th)?(?!\w)
    |(?P<decade>(?:19|20)\d0)s(?!\w)
    |(?P<rest>\w+|[^\w\s]|\n)
    """,
    re.VERBOSE,
)
_RARE_STARTS = sorted(_STARTS - DATE_WORDS.words("frequent_starts"))
_HINT = regex(rf"\d|\b(?:{'|'.join(_RARE_STARTS)}|ago|back|new year|other day|from now|end of)")


class DateToken(NamedTuple):
    """A word in lower case, a number, a date, or a sign."""

    text: str
    kind: str
    # Written with a capital letter.
    proper: bool = False
    # A day of a month written as one: 7th.
    ordinal: bool = False
    # Written with 's.
    owner: bool = False
    date: tuple[int, int, int] | None = None

    @property
    def may_start(self) -> bool:
        """Whether an expression can begin with it."""
        return self.kind in _START_KINDS or self.text in _STARTS


class DateMatch(NamedTuple):
    """The days of an expression, its end, and how it recurs every year. Without days it names no day of a calendar."""

    days: Days | None
    end: int
    yearly: Yearly | None = None


@dataclass(frozen=True, slots=True)
class DateTokens:
    """The tokens of a question, and the day on which it is asked."""

    tokens: Sequence[DateToken]
    today: date

    def word(self, at: int) -> str:
        """Return the word or sign at a position."""
        return self.tokens[at].text if 0 <= at < len(self.tokens) and self.tokens[at].kind in ("word", "rest") else ""

    def number(self, at: int, *, digits: int = 4) -> int | None:
        """Return the number at a position, if it has at most so many digits."""
        if not 0 <= at < len(self.tokens) or self.tokens[at].kind != "number" or len(self.tokens[at].text) > digits:
            return None
        return int(self.tokens[at].text)

    def skip(self, at: int, *words: str) -> int:
        """Return the position after any of these words."""
        while self.word(at) in words:
            at += 1
        return at

    def has_lead(self, at: int) -> bool:
        """Return whether the word before announces a time."""
        return self.lead(at) in _LEADS

    def lead(self, at: int) -> str:
        """Return the word before, or before an article."""
        before = at - 1
        while self.word(before) in ("the", "-"):
            before -= 1
        return self.word(before)

    def is_alone(self, at: int) -> bool:
        """Return whether its line has only signs besides it."""
        for step in (-1, 1):
            place = at + step
            while self.word(place) not in ("", "\n") and not any(map(str.isalnum, self.word(place))):
                place += step
            if 0 <= place < len(self.tokens) and self.word(place) != "\n":
                return False
        return True


def tokenize(text: str) -> list[DateToken]:
    """Return the tokens of the beginning of a text; none if it cannot name a day."""
    text = text[:_MAX_TEXT].replace("\u2019", "'").replace("\u2013", "-").replace("\u2014", "-")
    folded = text.lower()
    # Some capitals are longer in lower case; then positions would differ.
    text = text if len(folded) == len(text) else folded
    return [_token(match, text) for match in _TOKEN.finditer(folded)] if _HINT.search(folded) else []


def _token(match: re.Match[str], text: str) -> DateToken:
    kind, whole = match.lastgroup or "rest", match[0]
    if kind == "word":
        plain = whole.removesuffix("'s")
        return DateToken(plain, kind, proper=text[match.start()].isupper(), owner=plain != whole)
    if kind == "number":
        return DateToken(match["number"], kind, ordinal=not whole[-1].isdigit())
    if kind == "decade":
        return DateToken(match["decade"], kind)
    if kind in ("iso", "slash"):
        return DateToken(whole, "date", date=_parse_date(kind, whole))
    return DateToken(whole, kind)


def _parse_date(kind: str, whole: str) -> tuple[int, int, int] | None:
    """Return year, month and day of a date in figures; day 0 is the whole month, None no date or an ambiguous one."""
    parts = [int(part) for part in re.split(r"[/.t-]", whole)[:3]]
    if kind == "iso":
        year, month, day = (*parts, 0)[:3]
        return (year, month, day) if _exists(year, month, day or 1) else None
    first, second, year = parts
    readings = {each for each in ((year, second, first), (year, first, second)) if _exists(*each)}
    if "." in whole:
        readings &= {(year, second, first)}
    return readings.pop() if len(readings) == 1 else None


def _exists(year: int, month: int, day: int) -> bool:
    try:
        date(year, month, day)
    except ValueError:
        return False
    return True
