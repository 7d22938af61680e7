"""Fuzzy comparison: trigrams of a term, how likely one term was meant by another, and labels with a typing error."""

import re
from collections.abc import Sequence

from rapidfuzz import fuzz, process
from rapidfuzz.distance import DamerauLevenshtein

__all__ = ["close_labels", "close_lengths", "grams_of", "likeness"]

# No letter of any term: marks the beginning and the end of a term.
_EDGE = " "
_NOT_A_DIGIT = re.compile(r"\D+")
# Shorter words are too close to each other to tell a typing error from another word …
_SHORT, _LONG = 4, 8
# … and people seldom get the first letter wrong.
_ONE_ERROR, _TWO_ERRORS, _FIRST_LETTER_PENALTY = 0.9, 0.75, 0.15
_MIN_PART_LENGTH = 4
# A Korean syllable is two or three letters, and particles are written together with the noun.
_MIN_HANGUL_LENGTH = 2
_AT_START, _INSIDE, _COVERED = 0.45, 0.3, 0.3
# In hundredths: a letter or two differ, not the word.
_MIN_LABEL_SCORE = 78


def grams_of(term: str) -> frozenset[str]:
    """Return the trigrams of a term, with a mark at each end."""
    marked = f"{_EDGE}{term}{_EDGE}"
    return frozenset(map("".join, zip(marked, marked[1:], marked[2:], strict=False)))


def likeness(written: str, existing: str) -> float:
    """Return how likely a misspelt or partial term means an existing one: 0 is not at all, 1 is the same term."""
    if written == existing:
        return 1.0
    return max(_score_typing_errors(written, existing), _score_part(written, existing))


def close_labels(written: str, labels: Sequence[str], *, limit: int) -> list[str]:
    """Return the labels that differ in a letter or two, the closest first."""
    matches = process.extract(written, labels, scorer=fuzz.ratio, limit=limit, score_cutoff=_MIN_LABEL_SCORE)
    return [label for label, _, _ in matches]


def close_lengths(length: int) -> tuple[int, int]:
    """Return the shortest and the longest length of a label that is close to one of this length."""
    shorter, longer = _MIN_LABEL_SCORE, 200 - _MIN_LABEL_SCORE
    return -(-length * shorter // longer), length * longer // shorter


def _score_typing_errors(written: str, existing: str) -> float:
    allowed = 0 if len(written) < _SHORT else 1 if len(written) < _LONG else 2
    # A number with another digit is another number.
    if not allowed or _digits(written) != _digits(existing):
        return 0.0
    errors = DamerauLevenshtein.distance(written, existing, score_cutoff=allowed)
    if errors > allowed:
        return 0.0
    return (_ONE_ERROR if errors == 1 else _TWO_ERRORS) - _FIRST_LETTER_PENALTY * (written[0] != existing[0])


def _score_part(written: str, existing: str) -> float:
    shortest = _MIN_HANGUL_LENGTH if "\uac00" <= written[:1] <= "\ud7a3" else _MIN_PART_LENGTH
    if len(written) < shortest or _digits(written) or written not in existing:
        return 0.0
    place = _AT_START if existing.startswith(written) else _INSIDE
    return place + _COVERED * len(written) / len(existing)


def _digits(term: str) -> str:
    return "" if term.isalpha() else _NOT_A_DIGIT.sub("", term)
