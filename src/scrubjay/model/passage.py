"""Passages: the units that are embedded and searched."""

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

Vector = NDArray[np.float32]

# A passage's number in the store is the memory's own number and its place in the memory, so that
# an index can tell stale points without asking anyone.
PASSAGES_PER_MEMORY = 1 << 16
_WORTH_SHARING = 20_000


@dataclass(frozen=True, slots=True, kw_only=True)
class Passage:
    """A slice of the content, or of one observation, with the terms it is found by.

    `who` are the terms of the one whom it is about, or who says it; `asks` is 1 when there is a question in it,
    2 when it ends in one.
    """

    ordinal: int
    observation: int | None
    start: int
    end: int
    hash: bytes
    terms: tuple[str, ...]
    who: tuple[str, ...] = ()
    asks: int = 0


class StoredPassage(NamedTuple):
    """A passage as the store hands it out to be ranked; plain, because each recall makes some hundred of them.

    Terms are joined by spaces. `before` and `after` are the numbers of its neighbours in its thread, nearest first.
    `tier`, `relevance`, `confirmed` and `accesses` are those of its memory; moments are in microseconds.
    """

    id: int
    memory_id: str
    observation: int | None
    start: int
    end: int
    hash: bytes
    terms: str
    date: int = 0
    who: str = ""
    asks: int = 0
    tier: int = 0
    relevance: float = 1.0
    confirmed: int | None = None
    accesses: int = 0
    before: tuple[int, ...] = ()
    after: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Point:
    """What a vector index holds of one passage."""

    id: int
    space: str
    vector: Vector
    facets: tuple[str, ...]
    at: int


def cosines_of(vectors: NDArray[np.float32], vector: Vector) -> NDArray[np.float32]:
    """How near each row is to a vector, all being of unit length."""
    # A product is shared out among threads, and on a busy machine small ones wait longer than they work.
    return vectors @ vector if len(vectors) > _WORTH_SHARING else np.einsum("ij,j->i", vectors, vector)


def passage_id(number: int, ordinal: int) -> int:
    """The number of a memory's passage."""
    return number * PASSAGES_PER_MEMORY + ordinal
