"""Passages: the units of embedding and search."""

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from scrubjay.errors import InvalidInput

Vector = NDArray[np.float32]

# The number of a passage combines the number of its memory and its place in it, so that an index recognises
# stale points without a query.
PASSAGES_PER_MEMORY = 1 << 16
SPOKEN = 4
"""The bit of `asks` of a turn of a conversation; all others are statements, complete by themselves."""
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


@dataclass(frozen=True, slots=True, kw_only=True)
class Point:
    """The entry of one passage in a vector index."""

    id: int
    space: str
    vector: Vector
    facets: tuple[str, ...]
    at: int


def cosine_similarities(vectors: NDArray[np.float32], vector: Vector) -> NDArray[np.float32]:
    """Return the cosine similarity of each row to a vector, all of unit length."""
    # BLAS splits a product among threads; on a busy machine small products wait longer than they compute.
    return vectors @ vector if len(vectors) > _PARALLEL_ROWS else np.einsum("ij,j->i", vectors, vector)


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
