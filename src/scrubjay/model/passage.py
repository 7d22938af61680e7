"""Passages: the units of embedding and search."""

from collections.abc import Sequence
from typing import NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from scrubjay.errors import InvalidInput
from scrubjay.lazy import dataclass

Vector = NDArray[np.float32]

# The number of a passage combines the number of its memory and its place in it, so that an index recognises
# stale points without a query.
PASSAGES_PER_MEMORY = 1 << 16
SPOKEN = 4
"""The bit of `asks` of a turn of a conversation; all others are statements, complete by themselves."""
_DECIMALS = 6
AROUND = 4
"""Ranking reads each candidate with so many neighbours on either side."""
_PARALLEL_ROWS = 20_000


@dataclass(frozen=True, slots=True, kw_only=True)
class Passage:
    """A slice of the content, or of one observation, with its search terms.

    `who` holds the terms of its subject or its speaker; `asks` is 1 if it contains a question, 2 if it ends with one,
    and has the bit `SPOKEN` if it is a turn of a conversation.
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
    """A passage as the store returns it for ranking; a plain tuple, because each recall creates hundreds of them.

    Terms are joined by spaces. `before` and `after` are the numbers of its neighbours in its thread, nearest first.
    `tier`, `relevance`, `confirmed` and `accesses` belong to its memory; times are in microseconds.
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


class TermCounts(Protocol):
    """The terms of some passages."""

    @property
    def lengths(self) -> NDArray[np.float32]:
        """The number of terms of each passage."""
        ...

    def count(self, terms: Sequence[str]) -> NDArray[np.float32]:
        """Return how often each term occurs in each passage: one row for each term."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class PassageColumns:
    """Passages as columns, those that were asked for first; of each of these, `around` has the positions around it.

    Nearest first, `AROUND` before it and then as many after it; -1 where there is none. `confirmed` is the time of the
    last confirmation, or else the date. `speaker_of` has positions in `speakers`, of which the first is empty.
    """

    numbers: NDArray[np.int64]
    dates: NDArray[np.int64]
    asks: NDArray[np.int64]
    tiers: NDArray[np.int64]
    relevances: NDArray[np.float64]
    confirmed: NDArray[np.int64]
    accesses: NDArray[np.int64]
    speaker_of: NDArray[np.intp]
    speakers: tuple[str, ...]
    around: NDArray[np.intp]
    terms: TermCounts


class PassageList(list[StoredPassage]):
    """Passages with their columns, from a store that has them ready."""

    __slots__ = ("columns",)

    def __init__(self, passages: Sequence[StoredPassage], columns: PassageColumns) -> None:
        super().__init__(passages)
        self.columns = columns


@dataclass(frozen=True, slots=True, kw_only=True)
class Point:
    """The entry of one passage in a vector index."""

    id: int
    space: str
    vector: Vector
    facets: tuple[str, ...]
    at: int


def cosine_similarities(vectors: NDArray[np.float32], vector: Vector) -> NDArray[np.float32]:
    """Return the cosine similarity of each row to a vector, all of unit length, in six decimals.

    The decimals after them depend on the place of a row among the others: equal texts would be near by chance, and
    another tenant's rows could tell.
    """
    # BLAS splits a product among threads; on a busy machine small products wait longer than they compute.
    cosines = vectors @ vector if len(vectors) > _PARALLEL_ROWS else np.einsum("ij,j->i", vectors, vector)
    return cosines.round(_DECIMALS, out=cosines)


def passage_id(number: int, ordinal: int) -> int:
    """Return the number of a passage of a memory."""
    return number * PASSAGES_PER_MEMORY + ordinal


def is_valid_vector(vector: Vector, *, dimension: int) -> bool:
    """Whether a vector has the right length and only finite numbers."""
    return vector.shape == (dimension,) and bool(np.isfinite(vector).all())


def require_valid_vector(vector: Vector, *, dimension: int) -> None:
    """Raise InvalidInput for a vector that an index would accept and never find again."""
    if vector.shape != (dimension,):
        raise InvalidInput(
            f"a vector of {'x'.join(map(str, vector.shape)) or 'no'} numbers does not fit an index of {dimension}",
            dimension=dimension,
        )
    if not is_valid_vector(vector, dimension=dimension):
        raise InvalidInput("a vector contains numbers that are not finite", dimension=dimension)
