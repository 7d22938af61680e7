"""The check of every model's output: finite numbers, the right dimension, unit length; and words it cannot read."""

import hashlib
from collections.abc import Mapping

import numpy as np
from numpy.typing import ArrayLike, NDArray

from scrubjay.errors import EmbeddingUnavailable
from scrubjay.model.passage import Vector

PROBE = "How many numbers has a vector?"
"""A text to embed in order to learn a model's dimension."""

# Shorter than any model's vector of any text; normalizing such a vector would turn noise into meaning.
_MIN_NORM = 1e-9


def unit_vectors(rows: ArrayLike, *, count: int, dimension: int | None, model: str) -> list[Vector]:
    """Return a read-only unit vector for each row; refuses a wrong shape, NaN, infinity and zero vectors."""
    matrix = _matrix(rows, model=model)
    if matrix.shape[0] != count:
        raise EmbeddingUnavailable(f"{model} returned {matrix.shape[0]} vectors for {count} texts", model=model)
    if dimension is not None and matrix.shape[1] != dimension:
        raise EmbeddingUnavailable(
            f"{model} returned vectors of {matrix.shape[1]} dimensions instead of {dimension}",
            hint="another model seems to use this name; if that is intended, embed everything again",
            model=model,
        )
    if not np.isfinite(matrix).all():
        raise EmbeddingUnavailable(f"{model} returned a vector with numbers that are not finite", model=model)
    with np.errstate(over="ignore"):
        norms = np.linalg.norm(matrix, axis=1, keepdims=True)
    if not (np.isfinite(norms).all() and (norms > _MIN_NORM).all()):
        raise EmbeddingUnavailable(f"{model} returned a vector without a direction", model=model)
    return [_freeze(row) for row in (matrix / norms).astype(np.float32)]


def blend_unread(vector: Vector, unread: Mapping[str, float]) -> Vector:
    """Return a unit vector with a direction of its own for each word that the model cannot read, by their shares.

    To the model these words are all the same, so that texts of them would seem to say the same.
    """
    if not unread:
        return vector
    own = np.sum([share * _direction_of(word, dimension=len(vector)) for word, share in unread.items()], axis=0)
    share = sum(unread.values())
    blended = (1 - share) * vector + share * own / np.linalg.norm(own)
    return _freeze((blended / np.linalg.norm(blended)).astype(np.float32))


def _direction_of(word: str, *, dimension: int) -> NDArray[np.float64]:
    """Return a pseudorandom unit vector, the same at any time: it is stored."""
    numbers = np.frombuffer(hashlib.shake_256(word.encode()).digest(dimension), dtype=np.uint8) - 127.5
    return numbers / np.linalg.norm(numbers)


def _matrix(rows: ArrayLike, *, model: str) -> NDArray[np.float64]:
    try:
        # In double precision, so that numbers too large for a float do not become infinite unnoticed.
        matrix = np.asarray(rows, dtype=np.float64)
    except (ValueError, TypeError, OverflowError):
        matrix = np.empty(0)
    if matrix.ndim != 2 or not matrix.size:  # noqa: PLR2004 - rows are texts, columns are dimensions
        raise EmbeddingUnavailable(f"{model} did not return a list of vectors of equal length", model=model)
    return matrix


def _freeze(row: Vector) -> Vector:
    # A copy, because a view would keep the whole batch in memory; read-only, because caches share it.
    vector = row.copy()
    vector.setflags(write=False)
    return vector
