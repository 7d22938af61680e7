"""Which vectors an index takes."""

import numpy as np

from scrubjay.errors import InvalidInput
from scrubjay.model.passage import Vector


def require_sound(vector: Vector, *, dimension: int) -> None:
    """Refuse a vector that an index would take and never find again."""
    if vector.shape != (dimension,):
        raise InvalidInput(
            f"a vector of {'x'.join(map(str, vector.shape)) or 'no'} numbers does not fit an index of {dimension}",
            dimension=dimension,
        )
    if not is_sound(vector, dimension=dimension):
        raise InvalidInput("a vector holds numbers that are not finite", dimension=dimension)


def is_sound(vector: Vector, *, dimension: int) -> bool:
    """Whether a vector has the right length and only finite numbers."""
    return vector.shape == (dimension,) and bool(np.isfinite(vector).all())
