"""Words of related meaning, for English: a search for an instrument finds a guitar. From scripts/related_words.py."""

from functools import cache, lru_cache
from itertools import accumulate, pairwise
from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

__all__ = ["RelatedTerm", "is_word", "load", "related_terms"]

_FILE = Path(__file__).parent / "data" / "related_words.npz"
_MAX_VALUE = 255


class RelatedTerm(NamedTuple):
    """A term of related meaning, and how close the two meanings are, from 0 to 1."""

    term: str
    closeness: float


# Questions repeat their words, and the answer for one word is some twenty small objects.
@lru_cache(maxsize=2048)
def related_terms(term: str) -> tuple[RelatedTerm, ...]:
    """Return the terms of the closest meaning, closest first; none for an unknown word."""
    table = _table()
    start, end = table.ranges.get(term, (0, 0))
    others, values = table.related[start:end].tolist(), table.closeness[start:end].tolist()
    terms = map(table.terms.__getitem__, others)
    return tuple(map(RelatedTerm, terms, [value / _MAX_VALUE for value in values]))


def is_word(term: str) -> bool:
    """Return whether a term belongs to a common word, so that it is spelt correctly."""
    return term in _table().ranges


def load() -> None:
    """Read the table now, so that no request waits for it: that takes a good part of a second."""
    _table()


class _Table(NamedTuple):
    """All terms, the range of each term's related terms, and these in one array."""

    terms: tuple[str, ...]
    ranges: dict[str, tuple[int, int]]
    related: NDArray[np.uint16]
    closeness: NDArray[np.uint8]


@cache
def _table() -> _Table:
    # Read on first use: a lookup by name does not need it.
    with np.load(_FILE) as data:
        terms = tuple(data["terms"].tobytes().decode().split("\n"))
        ends = accumulate(map(int, data["counts"]), initial=0)
        return _Table(terms, dict(zip(terms, pairwise(ends), strict=True)), data["related"], data["closeness"])
