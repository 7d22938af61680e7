"""Terms in pieces of three letters, and how likely one term was meant by another."""

import re

from rapidfuzz.distance import DamerauLevenshtein

__all__ = ["grams_of", "likeness"]

# Not a letter of any term: it stands where a term begins and ends.
_MARK = " "
_NOT_A_DIGIT = re.compile(r"\D+")
# Shorter words are too close to each other for a slip to be told from another word …
_SHORT, _LONG = 4, 8
# … and people seldom mistake the first letter.
_ONE_SLIP, _TWO_SLIPS, _FIRST_LETTER = 0.9, 0.75, 0.15
_SHORTEST_PART = 4
# A Korean syllable is two or three letters, and what follows a noun is written together with it.
_SHORTEST_HANGUL = 2
_BEGINNING, _INSIDE, _COVERED = 0.45, 0.3, 0.3


def grams_of(term: str) -> frozenset[str]:
    """The trigrams of a term, with one mark at each end."""
    marked = f"{_MARK}{term}{_MARK}"
    return frozenset(marked[at : at + 3] for at in range(len(marked) - 2))


def likeness(asked: str, known: str) -> float:
    """How likely a known term is what was meant by a misspelt or partial one: 0 is not at all, 1 is the same."""
    if asked == known:
        return 1.0
    return max(_misspelt(asked, known), _partial(asked, known))


def _misspelt(asked: str, known: str) -> float:
    allowed = 0 if len(asked) < _SHORT else 1 if len(asked) < _LONG else 2
    # A number that is one digit off is another number.
    if not allowed or _digits(asked) != _digits(known):
        return 0.0
    slips = DamerauLevenshtein.distance(asked, known, score_cutoff=allowed)
    if slips > allowed:
        return 0.0
    return (_ONE_SLIP if slips == 1 else _TWO_SLIPS) - _FIRST_LETTER * (asked[0] != known[0])


def _partial(asked: str, known: str) -> float:
    shortest = _SHORTEST_HANGUL if "\uac00" <= asked[:1] <= "\ud7a3" else _SHORTEST_PART
    if len(asked) < shortest or _digits(asked) or asked not in known:
        return 0.0
    place = _BEGINNING if known.startswith(asked) else _INSIDE
    return place + _COVERED * len(asked) / len(known)


def _digits(term: str) -> str:
    return _NOT_A_DIGIT.sub("", term)
