"""Vectors as bytes: in half precision, and in fewer where only the past has the text.

A coarse vector is the width of a step in half precision, and for each number how many steps it is above the lowest.
"""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from scrubjay.errors import InvalidInput
from scrubjay.model.passage import Vector

# Cosines of half-precision vectors differ from exact ones in the fourth digit, at half the size; those of coarse ones
# in the third, at a sixth of it.
_FINE = np.dtype(np.float16)
_BITS = 5
_STEPS = (1 << _BITS - 1) - 1
# So many steps are one number of so many bits each, which leaves some of its bytes empty.
_AT_ONCE = 8
_SHIFTS = np.arange(_AT_ONCE, dtype=np.uint64) * np.uint64(_BITS)
_WHOLE = np.dtype("<u8")


def packed(vector: Vector, dimension: int) -> bytes:
    """A vector as it is stored while somebody has its text."""
    if vector.shape != (dimension,) or not np.isfinite(vector).all():
        raise InvalidInput(f"a vector must be {dimension} finite numbers")
    return vector.astype(_FINE).tobytes()


def coarse(stored: Sequence[bytes], dimension: int) -> list[bytes]:
    """Stored vectors in fewer bytes; those that are coarse already, or would not be shorter, as they are."""
    size = _FINE.itemsize * dimension
    chosen = [data for data in stored if len(data) == size > _coarse_size(dimension)]
    if not chosen:
        return list(stored)
    shorter = iter(_coarsened(chosen, dimension))
    return [next(shorter) if len(data) == size else data for data in stored]


def unpacked(stored: Sequence[bytes], dimension: int) -> NDArray[np.float32]:
    """Stored vectors, one in each row. All in one piece: one by one, most of the time would go into making arrays."""
    size = _FINE.itemsize * dimension
    if all(len(data) == size for data in stored):
        return np.frombuffer(b"".join(stored), _FINE).astype(np.float32).reshape(len(stored), dimension)
    found = np.empty((len(stored), dimension), np.float32)
    fine = [place for place, data in enumerate(stored) if len(data) == size]
    rough = [place for place, data in enumerate(stored) if len(data) != size]
    found[fine] = np.frombuffer(b"".join(stored[place] for place in fine), _FINE).reshape(len(fine), dimension)
    found[rough] = _refined([stored[place] for place in rough], dimension)
    return found


def _coarsened(stored: Sequence[bytes], dimension: int) -> list[bytes]:
    fine = np.frombuffer(b"".join(stored), _FINE).astype(np.float32).reshape(len(stored), dimension)
    signed = np.rint(fine * (_STEPS / _some(np.abs(fine).max(axis=1, keepdims=True))))
    # As wide as it takes to keep the length.
    widths = np.sqrt(_squares(fine) / _some(_squares(signed)))
    steps = np.zeros((len(stored), _padded(dimension)), _WHOLE)
    steps[:, :dimension] = signed + _STEPS
    together = np.bitwise_or.reduce(steps.reshape(-1, _AT_ONCE) << _SHIFTS, axis=1).view(np.uint8)
    rows = together.reshape(len(stored), -1, _WHOLE.itemsize)[:, :, :_BITS]
    return [width.tobytes() + row.tobytes() for width, row in zip(widths.astype(_FINE), rows, strict=True)]


def _refined(stored: Sequence[bytes], dimension: int) -> NDArray[np.float32]:
    rows = np.frombuffer(b"".join(stored), np.uint8).reshape(len(stored), _coarse_size(dimension))
    widths = rows[:, : _FINE.itemsize].copy().view(_FINE).astype(np.float32)
    together = np.zeros((len(stored), _padded(dimension) // _AT_ONCE, _WHOLE.itemsize), np.uint8)
    together[:, :, :_BITS] = rows[:, _FINE.itemsize :].reshape(len(stored), -1, _BITS)
    steps = (together.view(_WHOLE) >> _SHIFTS) & np.uint64((1 << _BITS) - 1)
    signed = steps.reshape(len(stored), -1)[:, :dimension].astype(np.float32) - _STEPS
    # In half precision, so that whoever takes it over as it is told has the same.
    return (signed * widths).astype(_FINE).astype(np.float32)


def _squares(rows: NDArray[np.float32]) -> NDArray[np.float32]:
    """The square of each row's length."""
    return np.einsum("ij,ij->i", rows, rows)


def _some(values: NDArray[np.float32]) -> NDArray[np.float32]:
    """Values to divide by; what is nothing stays nothing."""
    return values + (values == 0)


def _coarse_size(dimension: int) -> int:
    return _FINE.itemsize + _padded(dimension) // _AT_ONCE * _BITS


def _padded(dimension: int) -> int:
    return -(-dimension // _AT_ONCE) * _AT_ONCE
