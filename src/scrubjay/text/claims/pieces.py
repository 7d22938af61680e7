"""Pieces of a text from which claims are read: words, figures, days, addresses, code and quotations."""

import re
from collections.abc import Callable, Sequence
from functools import lru_cache
from typing import NamedTuple, cast

from scrubjay.lazy import regex
from scrubjay.text.claims.words import (
    AMBIGUOUS_MONTHS,
    CURRENCIES,
    DAY_WORDS,
    MAGNITUDES,
    MONTH_LEADS,
    MONTH_NAMES,
    PERIOD_LEADS,
    PERIODS,
    UNITS,
)
from scrubjay.text.dates.tokens import MONTHS

__all__ = [
    "ENDS_SENTENCE", "OF_DAYS", "TextPiece", "find_days", "normalize_day", "normalize_figure", "normalize_time",
    "pieces_of",
]  # fmt: skip

OF_DAYS = frozenset((*MONTHS, *DAY_WORDS, *PERIOD_LEADS))
"""The words of which one at least is in every day that is written in words."""
ENDS_SENTENCE = frozenset({".", "!", "?", ":", ";", "\n", "-", "*", "#", '"', "("})
# A longer text is a document, whose passages are compared one by one.
_MAX_TEXT = 100_000
_CACHE_SIZE, _MAX_CACHED_TEXT = 64, 2_000
_UNIT = "|".join(sorted(map(re.escape, {*UNITS, *MAGNITUDES, *CURRENCIES} - {"$", "%"}), key=len, reverse=True))
_PIECE = regex(
    rf"""
    # The gap before a piece belongs to its match, for one match less. The most frequent kinds come first. A kind that
    # may be long starts only where a run of its characters begins, and its quantifiers are possessive: otherwise a text
    # of a hundred thousand dashes would take minutes.
    [ ,)]*+(?:
    (?P<plain>[A-Z]?[a-z]++(?=[ ,;!?)\n]|$|\.(?:\s|$)))
    |(?P<code>```.*?```|`[^`\n]+`)
    |(?P<links>(?:https?|ftp|file|ssh|git)://[^\s<>"'`]*[^\s<>"'`.,;:!?)\]]|www\.[^\s<>"'`]*[\w/]
        |(?<![\w.+-])[\w.+-]{{1,64}}+@[\w-]{{1,63}}(?:\.[\w-]{{1,63}}){{1,4}})
    |(?P<quote>"[^"\n]{{2,300}}+"|\u201c[^\u201c\u201d\n]{{2,300}}+\u201d|\u00ab[^\u00ab\u00bb\n]{{2,300}}+\u00bb
        |``[^`'\n]{{2,300}}+''|(?<!\w)'[^'\n]{{2,120}}+'(?!\w))
    |(?P<day>(?<![\w.-])\d{{4}}[-/]\d{{1,2}}[-/]\d{{1,2}}(?:[T ]\d\d:\d\d[\d:.+Z-]*)?(?![\w-])
        |(?<![\w./-])\d{{1,2}}[/.-]\d{{1,2}}[/.-]\d{{4}}(?!\w))
    |(?P<clock>(?<![\w:.])\d{{1,2}}:\d\d(?::\d\d)?(?:\s?[AaPp]\.?[Mm]\b)?(?![\w:]))
    |(?P<versions>(?<![\w.])v?\d+(?:\.\d+){{2,}}(?:-?(?:alpha|beta|rc)[.\d]*)?(?!\w)|(?<![\w.])v\d+(?:\.\d+)?\b)
    |(?P<identifiers>(?<!\w)(?:~|\.{{1,2}})?(?:/[\w.@+-]*\w){{2,}}/?|(?<![\w.-])[\w.-]++(?:/[\w.@+-]*\w){{2,}}/?
        |(?<![\w-])[\w-]++(?:/[\w-]++){{0,20}}+\.[a-z][a-z0-9]{{1,4}}\b(?!\.\w|/)|[A-Za-z]:\\[\w.\\-]+
        |(?<![\w-])--?[a-z][\w-]*\w|(?<!\w)[A-Za-z_]\w*+(?:(?:::|\.)[A-Za-z_]\w++)++(?:\(\))?|(?<!\w)[A-Za-z_]\w*+\(\)
        |(?<![A-Za-z])[A-Za-z]*+_\w+|\b[a-z]++[A-Z]\w*|\b[A-Z]+-\d+\b|\#\d+\b|\b(?=[a-f]*\d)(?=\d*[a-f])[0-9a-f]{{7,40}}\b|\b[A-Za-z]+\d\w*)
    |(?P<number>(?i:(?:(?:us)?\$|[\u20ac\u00a3\u00a5])[ ]?)?(?<![\w.])[-\u2212]?\d+(?:,\d{{3}})*(?:\.\d+)?
        (?i:(?:st|nd|rd|th)\b|(?:[\s-]?(?:{_UNIT})(?!\w)){{0,2}}(?:[ ]?%)?))
    |(?P<word>(?:[A-Za-z]\.){{2,}}|[^\W\d_]+(?:['\u2019][^\W\d_]+)*)
    |(?P<sign>[.!?:;\n*\#"(-])
    )
    """,
    re.VERBOSE | re.DOTALL,
)
_FIGURE = regex(r"[-\u2212]?\d[\d,]*(?:\.\d+)?")
_AFTER_FIGURE = regex(r"[^\W\d_]+(?:\.m\b)?|[%$\u20ac\u00a3\u00a5]")
_YEAR = regex(r"(?:19|20)\d\d")
_ORDINAL = ("st", "nd", "rd", "th")


class TextPiece(NamedTuple):
    """One piece: its kind, its text, the text in lower case without a possessive, and whether it has a capital."""

    kind: str
    text: str
    low: str
    capital: bool


# The class does the same, but with a call in Python for each of some twenty.
_make = cast("Callable[[type[TextPiece], tuple[object, ...]], TextPiece]", tuple[object].__new__)


def pieces_of(text: str) -> Sequence[TextPiece]:
    """Return the pieces of a text in order, without signs that claim nothing, such as commas."""
    return _cached_pieces(text) if len(text) <= _MAX_CACHED_TEXT else _split(text)


# A write reads the same few texts for duplicates and for contradictions.
@lru_cache(maxsize=_CACHE_SIZE)
def _cached_pieces(text: str) -> tuple[TextPiece, ...]:
    return tuple(_split(text))


def _split(text: str) -> list[TextPiece]:
    pieces: list[TextPiece] = []
    for match in _PIECE.finditer(text[:_MAX_TEXT]):
        kind = match.lastgroup or ""
        piece: str = match[kind]
        if kind == "plain":
            low = piece.lower()
            pieces.append(_make(TextPiece, ("word", piece, low, low != piece)))
        elif kind == "word":
            low = piece.replace("\u2019", "'").lower()
            pieces.append(TextPiece(kind, piece, low.removesuffix("'s").replace(".", ""), piece[0].isupper()))
        else:
            pieces.append(_make(TextPiece, (kind, piece, piece, False)))
    return pieces


def normalize_figure(text: str) -> tuple[str, str]:
    """Return a figure in its normal form (2000000 usd, 5 %, 3th, 20 minute), and `dates` as its kind for a year."""
    figure = _FIGURE.search(text)
    if figure is None:  # pragma: no cover - the pattern of pieces has one
        return "numbers", text
    value = float(figure[0].replace(",", "").replace("\u2212", "-"))
    parts: list[str] = []
    after = [word.lower() for word in _AFTER_FIGURE.findall(text[: figure.start()] + " " + text[figure.end() :])]
    money = any(word in CURRENCIES for word in after)
    touching = text[figure.end() : figure.end() + 1].isalpha()
    for word in after:
        if word in _ORDINAL:
            return "numbers", f"{_plain_number(value)}th"
        # Both a metre and a million are written m.
        if word in MAGNITUDES and (len(word) > 2 or money or (touching and word not in UNITS)):  # noqa: PLR2004
            value *= MAGNITUDES[word]
        else:
            parts.append(CURRENCIES.get(word) or UNITS.get(word) or word)
    if not after and _YEAR.fullmatch(text.strip()):
        return "dates", text.strip()
    return "numbers", " ".join([_plain_number(value), *sorted(set(parts))])


def _plain_number(value: float) -> str:
    return str(int(value)) if value.is_integer() else f"{value:.10g}"


_DAY = regex(r"(\d{1,2})(?:st|nd|rd|th)?")
_NUMERIC = regex(r"(\d{4})[-/](\d{1,2})[-/](\d{1,2})")
_CLOCK = regex(r"(\d{1,2}):(\d\d)(?::\d\d)?\s?([AaPp])?")
_NOON = 12


def find_days(pieces: Sequence[TextPiece]) -> dict[int, str]:
    """Return the position of each piece of a day: the first has the day in its normal form, the others are empty."""
    days: dict[int, str] = {}
    if OF_DAYS.isdisjoint([piece.low for piece in pieces]):
        return days
    for at, piece in enumerate(pieces):
        if piece.kind != "word" or at in days:
            continue
        if piece.low in MONTHS:
            _add_month(pieces, at, days)
        elif piece.low in DAY_WORDS:
            days[at] = piece.low
        elif piece.low in PERIOD_LEADS and at + 1 < len(pieces) and pieces[at + 1].low in PERIODS:
            if pieces[at + 1].low in MONTHS:
                _add_month(pieces, at + 1, days)
                days[at + 1] = f"{days.get(at + 1, '')} {piece.low}".strip()
            else:
                days[at + 1] = f"{piece.low} {pieces[at + 1].low}"
            days[at] = ""
    return days


def _add_month(pieces: Sequence[TextPiece], at: int, days: dict[int, str]) -> None:
    """Add 7 May 2023, May 7th 2023, May 2023, 7 May, or May."""
    name = MONTH_NAMES[MONTHS[pieces[at].low]]
    after = at + 1
    if after < len(pieces) and pieces[after].text == ".":
        after += 1
    before = at - 2 if at > 1 and pieces[at - 1].low == "of" else at - 1
    day = year = ""
    if before >= 0 and before not in days and (number := _day_number(pieces[before])):
        day = number
        days.update(dict.fromkeys(range(before, at), ""))
    if not day and after < len(pieces) and (number := _day_number(pieces[after])):
        day = number
        days.update(dict.fromkeys(range(at + 1, after + 1), ""))
        after += 1
    if after < len(pieces) and pieces[after].kind == "number" and _YEAR.fullmatch(pieces[after].text.strip()):
        year = pieces[after].text.strip()
        days.update(dict.fromkeys(range(at + 1, after + 1), ""))
    has_lead = at > 0 and pieces[at - 1].low in MONTH_LEADS
    if day or year or has_lead or (pieces[at].low not in AMBIGUOUS_MONTHS and pieces[at].capital):
        days[at] = " ".join(part for part in (day, name, year) if part)


def _day_number(piece: TextPiece) -> str:
    match = _DAY.fullmatch(piece.text.strip()) if piece.kind == "number" else None
    return str(int(match[1])) if match and 0 < int(match[1]) <= 31 else ""  # noqa: PLR2004 - days of a month


def normalize_day(text: str) -> str:
    """Return the normal form of a day in figures, or the figures where day and month are ambiguous."""
    match = _NUMERIC.match(text)
    if not match or int(match[2]) not in MONTH_NAMES:
        return re.sub(r"\D", ".", text)
    clock = _CLOCK.search(text, match.end())
    at = f" {normalize_time(clock[0])}" if clock else ""
    return f"{int(match[3])} {MONTH_NAMES[int(match[2])]} {match[1]}{at}"


def normalize_time(text: str) -> str:
    """Return the normal form of a time of day: 15:30."""
    match = _CLOCK.match(text)
    if not match:  # pragma: no cover - the pattern of pieces has one
        return text
    hour = int(match[1])
    if match[3]:
        hour = hour % _NOON + (_NOON if match[3] in "Pp" else 0)
    return f"{hour:02}:{match[2]}"
