"""Words of like meaning: whoever asks for an instrument means a guitar too. Made by scripts/kin.py, for English."""

from functools import cache, lru_cache
from importlib.resources import files
from itertools import accumulate, pairwise
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

_LARGEST = 255


class RelatedTerm(NamedTuple):
    """A term that is akin to another, and how near their meanings are, from 0 to 1."""

    term: str
    closeness: float


# The same words are asked for again and again, and what is made for one is some twenty small things.
@lru_cache(maxsize=2048)
def related_terms(term: str) -> tuple[RelatedTerm, ...]:
    """The terms nearest in meaning to one, nearest first; none for a word that is not known."""
    table = _table()
    start, end = table.places.get(term, (0, 0))
    near = zip(map(int, table.kin[start:end]), map(int, table.closeness[start:end]), strict=True)
    return tuple(RelatedTerm(table.terms[other], value / _LARGEST) for other, value in near)


def is_word(term: str) -> bool:
    """Whether a term is one of a common word: then it is spelt as it should be."""
    return term in _table().places


def load() -> None:
    """Read the words now, so that nobody waits for them later: that takes a good part of a second."""
    _table()


class _Table(NamedTuple):
    """Terms, where the kin of each stand, and those one after the other."""

    terms: tuple[str, ...]
    places: dict[str, tuple[int, int]]
    kin: NDArray[np.uint16]
    closeness: NDArray[np.uint8]


@cache
def _table() -> _Table:
    # Read when it is first needed: whoever only looks something up by its name does not pay for it.
    with files("scrubjay.text").joinpath("kin.npz").open("rb") as file, np.load(file) as data:
        terms = tuple(data["terms"].tobytes().decode().split("\n"))
        ends = accumulate(map(int, data["counts"]), initial=0)
        return _Table(terms, dict(zip(terms, pairwise(ends), strict=True)), data["kin"], data["closeness"])
