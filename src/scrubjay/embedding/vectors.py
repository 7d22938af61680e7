"""What every model's answer must be before it leaves this folder: finite, of one dimension, of unit length."""

import numpy as np
from numpy.typing import ArrayLike, NDArray

from scrubjay.errors import EmbeddingUnavailable
from scrubjay.model.passage import Vector

# Shorter than any model's vector of any text; dividing by it would make noise look like meaning.
_SHORTEST = 1e-9


def unit_vectors(rows: ArrayLike, *, count: int, dimension: int | None, model: str) -> list[Vector]:
    """One read-only unit vector a row; refuses a wrong shape, NaN, infinity and zero vectors."""
    matrix = _matrix(rows, model=model)
    if matrix.shape[0] != count:
        raise EmbeddingUnavailable(f"{model} answered {count} texts with {matrix.shape[0]} vectors", model=model)
    if dimension is not None and matrix.shape[1] != dimension:
        raise EmbeddingUnavailable(
            f"{model} gave vectors of {matrix.shape[1]} dimensions instead of {dimension}",
            hint="another model seems to answer under this name; embed everything again if that is meant",
            model=model,
        )
    if not np.isfinite(matrix).all():
        raise EmbeddingUnavailable(f"{model} gave a vector that is not made of finite numbers", model=model)
    with np.errstate(over="ignore"):
        norms = np.linalg.norm(matrix, axis=1, keepdims=True)
    if not (np.isfinite(norms).all() and (norms > _SHORTEST).all()):
        raise EmbeddingUnavailable(f"{model} gave a vector without a direction", model=model)
    return [_frozen(row) for row in (matrix / norms).astype(np.float32)]


def _matrix(rows: ArrayLike, *, model: str) -> NDArray[np.float64]:
    try:
        # In double precision, where a number too large for a float is still seen as one.
        matrix = np.asarray(rows, dtype=np.float64)
    except (ValueError, TypeError, OverflowError):
        matrix = np.empty(0)
    if matrix.ndim != 2 or not matrix.size:  # noqa: PLR2004 - a row a text, a column a dimension
        raise EmbeddingUnavailable(f"{model} gave something that is not a list of vectors of one length", model=model)
    return matrix


def _frozen(row: Vector) -> Vector:
    # A copy, or one kept vector would keep its whole batch; read-only, because caches share it.
    vector = row.copy()
    vector.setflags(write=False)
    return vector
