"""The days that a text names, in their normal form, where they stand among its pieces."""

import re
from collections.abc import Sequence

from scrubjay.text.claims.claim_words import DAY_WORDS, LEADING, MONTH_NAMES, PERIODS
from scrubjay.text.claims.pieces import TextPiece
from scrubjay.text.dates.tokens import MONTHS

__all__ = ["find_days", "normalize_day", "normalize_time"]

_DAY = re.compile(r"(\d{1,2})(?:st|nd|rd|th)?")
_YEAR = re.compile(r"(?:19|20)\d\d")
_NUMERIC = re.compile(r"(\d{4})[-/](\d{1,2})[-/](\d{1,2})")
_CLOCK = re.compile(r"(\d{1,2}):(\d\d)(?::\d\d)?\s?([AaPp])?")
# What is a word or a name besides: a month only where a day or year stands beside it, or a word leads to it.
_AMBIGUOUS = frozenset({"may", "march", "mar", "jun", "jan", "sun", "dec", "sep", "oct"})
_LEADS = frozenset("for in since during of until till by before after from last next this early late mid".split())
_NOON = 12


def find_days(pieces: Sequence[TextPiece]) -> dict[int, str]:
    """The place of each piece that is part of a day, with the day at the first of them and nothing at the others."""
    taken: dict[int, str] = {}
    for at, piece in enumerate(pieces):
        if piece.kind != "word" or at in taken:
            continue
        if piece.low in MONTHS:
            _month(pieces, at, taken)
        elif piece.low in DAY_WORDS:
            taken[at] = piece.low
        elif piece.low in LEADING and at + 1 < len(pieces) and pieces[at + 1].low in PERIODS:
            if pieces[at + 1].low in MONTHS:
                _month(pieces, at + 1, taken)
                taken[at + 1] = f"{taken.get(at + 1, '')} {piece.low}".strip()
            else:
                taken[at + 1] = f"{piece.low} {pieces[at + 1].low}"
            taken[at] = ""
    return taken


def _month(pieces: Sequence[TextPiece], at: int, taken: dict[int, str]) -> None:
    """7 May 2023, May 7th 2023, May 2023, 7 May, May."""
    name = MONTH_NAMES[MONTHS[pieces[at].low]]
    after = at + 1
    if after < len(pieces) and pieces[after].text == ".":
        after += 1
    before = at - 2 if at > 1 and pieces[at - 1].low == "of" else at - 1
    day = year = ""
    if before >= 0 and before not in taken and (found := _day(pieces[before])):
        day = found
        taken.update(dict.fromkeys(range(before, at), ""))
    if not day and after < len(pieces) and (found := _day(pieces[after])):
        day = found
        taken.update(dict.fromkeys(range(at + 1, after + 1), ""))
        after += 1
    if after < len(pieces) and pieces[after].kind == "number" and _YEAR.fullmatch(pieces[after].text.strip()):
        year = pieces[after].text.strip()
        taken.update(dict.fromkeys(range(at + 1, after + 1), ""))
    led = at > 0 and pieces[at - 1].low in _LEADS
    if day or year or led or (pieces[at].low not in _AMBIGUOUS and pieces[at].capital):
        taken[at] = " ".join(part for part in (day, name, year) if part)


def _day(piece: TextPiece) -> str:
    found = _DAY.fullmatch(piece.text.strip()) if piece.kind == "number" else None
    return str(int(found[1])) if found and 0 < int(found[1]) <= 31 else ""  # noqa: PLR2004 - days of a month


def normalize_day(text: str) -> str:
    """A day written in figures; where day and month cannot be told apart, as it is written."""
    found = _NUMERIC.match(text)
    if not found or int(found[2]) not in MONTH_NAMES:
        return re.sub(r"\D", ".", text)
    clock = _CLOCK.search(text, found.end())
    at = f" {normalize_time(clock[0])}" if clock else ""
    return f"{int(found[3])} {MONTH_NAMES[int(found[2])]} {found[1]}{at}"


def normalize_time(text: str) -> str:
    """A time of day: 15:30."""
    found = _CLOCK.match(text)
    if not found:  # pragma: no cover - the pattern of pieces says so
        return text
    hour = int(found[1])
    if found[3]:
        hour = hour % _NOON + (_NOON if found[3] in "Pp" else 0)
    return f"{hour:02}:{found[2]}"
