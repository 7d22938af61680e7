"""Which of many vectors are near each other, without comparing each with each.

They are sorted into about as many cells as the square root of their number, each into the few whose middle is nearest,
and compared within their cells. What is near as the crow flies shares a cell nearly always, and the work grows with
the power one and a half of the number instead of its square.
"""

from collections.abc import Iterator
from itertools import pairwise
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

__all__ = ["Pairs", "near_pairs"]

Matrix = NDArray[np.float32]
Numbers = NDArray[np.int64]

# So few are compared each with each: that is faster than sorting them.
_FEW = 2_000
# Each is looked for in so many cells.
_CELLS_EACH = 3
# A cell that is larger, by so many times than the middle one, is compared piece by piece.
_LARGEST_CELL = 8
_ROUNDS = 2
_BLOCK = 2_048


class Pairs(NamedTuple):
    """Rows that are near each other, the first before the second, and how near."""

    first: Numbers
    second: Numbers
    cosine: Matrix


def near_pairs(vectors: Matrix, *, least: float, most: int) -> Pairs:
    """For each row up to so many others that are nearest to it, from a cosine on; each pair once."""
    found = [_within(vectors, cell, least=least, most=most) for cell in _cells(vectors)]
    codes = np.concatenate([code for code, _ in found]) if found else np.empty(0, np.int64)
    cosines = np.concatenate([cosine for _, cosine in found]) if found else np.empty(0, np.float32)
    codes, places = np.unique(codes, return_index=True)
    count = max(len(vectors), 1)
    return Pairs(codes // count, codes % count, cosines[places])


def _within(vectors: Matrix, cell: Numbers, *, least: float, most: int) -> tuple[Numbers, Matrix]:
    """The pairs of one cell, each as one number, and their cosines."""
    rows, each = vectors[cell], min(most, len(cell))
    codes: list[Numbers] = []
    kept: list[Matrix] = []
    for start in range(0, len(cell), _BLOCK):
        cosines = rows[start : start + _BLOCK] @ rows.T
        own = np.arange(len(cosines))
        cosines[own, own + start] = -1
        # Exactly so many of each row: of a thousand that are the same not each is compared with each.
        nearest = np.argpartition(cosines, -each, axis=1)[:, -each:]
        found = np.take_along_axis(cosines, nearest, axis=1)
        here, place = np.nonzero(found >= least)
        there = nearest[here, place]
        one, other = cell[here + start], cell[there]
        codes.append(np.minimum(one, other) * len(vectors) + np.maximum(one, other))
        kept.append(found[here, place])
    if not codes:
        return np.empty(0, np.int64), np.empty(0, np.float32)
    return np.concatenate(codes), np.concatenate(kept)


def _cells(vectors: Matrix) -> Iterator[Numbers]:
    count = len(vectors)
    if count <= _FEW:
        yield np.arange(count)
        return
    middles = _middles(vectors, cells=int(np.ceil(np.sqrt(count))))
    nearest = np.concatenate(
        [_nearest(vectors[start : start + _BLOCK], middles, each=_CELLS_EACH) for start in range(0, count, _BLOCK)]
    )
    rows = np.repeat(np.arange(count), _CELLS_EACH)
    order = np.argsort(nearest, axis=None, kind="stable")
    bounds = np.searchsorted(nearest.ravel()[order], np.arange(len(middles) + 1))
    largest = max(_FEW, _LARGEST_CELL * _CELLS_EACH * count // len(middles))
    for start, end in pairwise(bounds.tolist()):
        # Many that are as good as one text would make one cell of all.
        for piece in range(start, end, largest):
            yield rows[order[piece : min(piece + largest, end)]]


def _middles(vectors: Matrix, *, cells: int) -> Matrix:
    """The middles of as many cells, found among a sample."""
    chosen = np.random.default_rng(0).permutation(len(vectors))[: 16 * cells]
    sample = vectors[np.sort(chosen)]
    middles = vectors[chosen[:cells]]
    for _ in range(_ROUNDS):
        nearest = np.concatenate(
            [_nearest(sample[start : start + _BLOCK], middles, each=1) for start in range(0, len(sample), _BLOCK)]
        ).ravel()
        sums = np.zeros_like(middles)
        np.add.at(sums, nearest, sample)
        lengths = np.linalg.norm(sums, axis=1, keepdims=True)
        middles = np.where(lengths > 0, sums / np.maximum(lengths, 1e-9), middles).astype(np.float32)
    return middles


def _nearest(rows: Matrix, middles: Matrix, *, each: int) -> Numbers:
    cosines = rows @ middles.T
    return np.argpartition(cosines, -each, axis=1)[:, -each:].astype(np.int64)
