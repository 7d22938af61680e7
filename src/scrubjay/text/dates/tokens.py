"""A question as the words and numbers that may name a day, and what is only like them as one piece without meaning."""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date
from typing import NamedTuple

from scrubjay.text.dates.spans import Days, Yearly

__all__ = [
    "LEADS",
    "MONTHS",
    "NUMBERS",
    "ORDINALS",
    "TELLING",
    "WEEKDAYS",
    "DateMatch",
    "DateToken",
    "DateTokens",
    "tokens_of",
]

# A question that needs more room than this names its days at the beginning.
_LOOKED_AT = 2_000

_FULL_MONTHS = "january february march april may june july august september october november december".split()
_FULL_DAYS = "monday tuesday wednesday thursday friday saturday sunday".split()
MONTHS = {
    **{name[:3]: number for number, name in enumerate(_FULL_MONTHS, 1)},
    **{name: number for number, name in enumerate(_FULL_MONTHS, 1)},
    "sept": 9,
}
WEEKDAYS = {name: number for number, name in enumerate(_FULL_DAYS)}
NUMBERS = {
    name: number
    for number, name in enumerate("one two three four five six seven eight nine ten eleven twelve".split(), 1)
}
ORDINALS = {"first": 1, "second": 2, "third": 3, "fourth": 4, "fifth": 5, "last": -1}
# Words after which a name that means other things too is that of a time.
LEADS = frozenset(
    """
    in since during of last this next past previous coming upcoming early mid late until till by before after between
    through throughout around over every
    """.split()
)
# What an expression can begin with; everything else is passed over at once.
TELLING = frozenset(
    """
    today tonight yesterday tomorrow last this next past previous current coming upcoming since between from day other
    a an couple few several early earlier mid late beginning start middle end weekend half christmas xmas boxing new
    halloween valentine valentines st april q1 q2 q3 q4 spring summer autumn fall winter
    """.split()
) | {*MONTHS, *WEEKDAYS, *NUMBERS, *ORDINALS}  # fmt: skip

# Not within a longer piece.
_BEFORE, _AFTER = r"(?<![\w.:/@\#+$-])", r"(?![\w/@-]|[.:]\w)"
_TOKEN = re.compile(
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
_COMMON = frozenset("a an from new st other few day half end".split())
_QUICK = re.compile(rf"\d|\b(?:{'|'.join(sorted(TELLING - _COMMON))}|ago|back|new year|other day|from now|end of)")


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


class DateMatch(NamedTuple):
    """Days, where their expression ends, and of what every year has, what it is. No days: those of no calendar."""

    days: Days | None
    end: int
    yearly: Yearly | None = None


@dataclass(frozen=True, slots=True)
class DateTokens:
    """A question in pieces, and the day on which it is asked."""

    tokens: Sequence[DateToken]
    today: date

    def word(self, at: int) -> str:
        """The word or sign at a place."""
        return self.tokens[at].text if 0 <= at < len(self.tokens) and self.tokens[at].kind in ("word", "rest") else ""

    def number(self, at: int, *, digits: int = 4) -> int | None:
        """The number at a place, if it has at most so many digits."""
        if not 0 <= at < len(self.tokens) or self.tokens[at].kind != "number" or len(self.tokens[at].text) > digits:
            return None
        return int(self.tokens[at].text)

    def after(self, at: int, *words: str) -> int:
        """The place after any of these words."""
        while self.word(at) in words:
            at += 1
        return at

    def led(self, at: int) -> bool:
        """Whether a word before says that a time comes."""
        return self.leading(at) in LEADS

    def leading(self, at: int) -> str:
        """The word before, or before an article."""
        before = at - 1
        while self.word(before) in ("the", "-"):
            before -= 1
        return self.word(before)

    def is_alone(self, at: int) -> bool:
        """Whether nothing but signs stands beside it in its line."""
        for step in (-1, 1):
            place = at + step
            while self.word(place) not in ("", "\n") and not any(map(str.isalnum, self.word(place))):
                place += step
            if 0 <= place < len(self.tokens) and self.word(place) != "\n":
                return False
        return True


def tokens_of(text: str) -> list[DateToken]:
    """The pieces of the beginning of a text; none if it cannot name a day."""
    text = text[:_LOOKED_AT].replace("\u2019", "'").replace("\u2013", "-").replace("\u2014", "-")
    folded = text.lower()
    # A few capitals are longer in lower case, and then places do not agree.
    text = text if len(folded) == len(text) else folded
    return [_token(found, text) for found in _TOKEN.finditer(folded)] if _QUICK.search(folded) else []


def _token(found: re.Match[str], text: str) -> DateToken:
    kind, whole = found.lastgroup or "rest", found[0]
    if kind == "word":
        plain = whole.removesuffix("'s")
        return DateToken(plain, kind, proper=text[found.start()].isupper(), owner=plain != whole)
    if kind == "number":
        return DateToken(found["number"], kind, ordinal=not whole[-1].isdigit())
    if kind == "decade":
        return DateToken(found["decade"], kind)
    if kind in ("iso", "slash"):
        return DateToken(whole, "date", date=_numbers(kind, whole))
    return DateToken(whole, kind)


def _numbers(kind: str, whole: str) -> tuple[int, int, int] | None:
    """Year, month and day of a date in figures; a day of 0 is the whole month, and none is no date or one of two."""
    parts = [int(part) for part in re.split(r"[/.t-]", whole)[:3]]
    if kind == "iso":
        at, number, of_month = (*parts, 0)[:3]
        return (at, number, of_month) if _exists(at, number, of_month or 1) else None
    one, other, at = parts
    readings = {each for each in ((at, other, one), (at, one, other)) if _exists(*each)}
    if "." in whole:
        readings &= {(at, other, one)}
    return readings.pop() if len(readings) == 1 else None


def _exists(at: int, number: int, of_month: int) -> bool:
    try:
        date(at, number, of_month)
    except ValueError:
        return False
    return True
