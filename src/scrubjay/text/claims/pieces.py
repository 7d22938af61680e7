"""A text in the pieces that claims are read from: words, figures, days, addresses, code and quoted spans."""

import re
from collections.abc import Sequence
from functools import lru_cache
from typing import NamedTuple

from scrubjay.text.claims.claim_words import CURRENCIES, MAGNITUDES, UNITS

__all__ = ["ENDS_SENTENCE", "TextPiece", "normalize_figure", "pieces_of"]

ENDS_SENTENCE = frozenset({".", "!", "?", ":", ";", "\n", "-", "*", "#", '"', "("})
# Nothing is told apart by more than this; a longer text is a document, whose passages are compared one by one.
_LONGEST_TEXT = 100_000
_REMEMBERED, _LONGEST_REMEMBERED = 64, 2_000
_UNIT = "|".join(sorted(map(re.escape, {*UNITS, *MAGNITUDES, *CURRENCIES} - {"$", "%"}), key=len, reverse=True))
_PIECE = re.compile(
    rf"""
    # First what most of a text is made of, so that little is tried in vain. What may be long is tried only where a run
    # of its characters begins, and is not given back: else a text of a hundred thousand dashes would take minutes.
    (?P<gap>[ ,)]+)
    |(?P<plain>[A-Z]?[a-z]++(?=[ ,;!?)\n]|$|\.(?:\s|$)))
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
    """,
    re.VERBOSE | re.DOTALL,
)
_FIGURE = re.compile(r"[-\u2212]?\d[\d,]*(?:\.\d+)?")
_AFTER_FIGURE = re.compile(r"[^\W\d_]+(?:\.m\b)?|[%$\u20ac\u00a3\u00a5]")
_YEAR = re.compile(r"(?:19|20)\d\d")
_ORDINAL = ("st", "nd", "rd", "th")


class TextPiece(NamedTuple):
    """One piece: what it is, as written, in lower case without a possessive, and whether it has a capital letter."""

    kind: str
    text: str
    low: str
    capital: bool


def pieces_of(text: str) -> Sequence[TextPiece]:
    """The pieces of a text, in order; what claims nothing, such as commas, is left out."""
    return _remembered(text) if len(text) <= _LONGEST_REMEMBERED else _read(text)


# At a write the same few texts are looked at by who asks whether they say the same, and whether they contradict.
@lru_cache(maxsize=_REMEMBERED)
def _remembered(text: str) -> tuple[TextPiece, ...]:
    return tuple(_read(text))


def _read(text: str) -> list[TextPiece]:
    pieces: list[TextPiece] = []
    for found in _PIECE.finditer(text[:_LONGEST_TEXT]):
        kind = found.lastgroup
        if kind == "plain":
            word = found.group()
            pieces.append(TextPiece("word", word, low := word.lower(), low != word))
        elif kind and kind != "gap":
            pieces.append(_piece(kind, found.group()))
    return pieces


def _piece(kind: str, text: str) -> TextPiece:
    if kind != "word":
        return TextPiece(kind, text, text, capital=False)
    low = text.replace("\u2019", "'").lower()
    return TextPiece(kind, text, low.removesuffix("'s").replace(".", ""), capital=text[0].isupper())


def normalize_figure(text: str) -> tuple[str, str]:
    """A figure in its normal form, `dates` if it must be a year: 2000000 usd, 5 %, 3th, 20 minute."""
    found = _FIGURE.search(text)
    if found is None:  # pragma: no cover - the pattern of pieces has one
        return "numbers", text
    value = float(found[0].replace(",", "").replace("\u2212", "-"))
    parts: list[str] = []
    after = [word.lower() for word in _AFTER_FIGURE.findall(text[: found.start()] + " " + text[found.end() :])]
    money = any(word in CURRENCIES for word in after)
    touching = text[found.end() : found.end() + 1].isalpha()
    for word in after:
        if word in _ORDINAL:
            return "numbers", f"{_plain(value)}th"
        # A metre and a million are both written m.
        if word in MAGNITUDES and (len(word) > 2 or money or (touching and word not in UNITS)):  # noqa: PLR2004
            value *= MAGNITUDES[word]
        else:
            parts.append(CURRENCIES.get(word) or UNITS.get(word) or word)
    if not after and _YEAR.fullmatch(text.strip()):
        return "dates", text.strip()
    return "numbers", " ".join([_plain(value), *sorted(set(parts))])


def _plain(value: float) -> str:
    return str(int(value)) if value.is_integer() else f"{value:.10g}"
