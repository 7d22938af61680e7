"""Pairs of near vectors among many, without comparing each with each.

The vectors are sorted into about as many cells as the square root of their number, each into the few with the nearest
centroid, and compared within their cells. Near vectors almost always share a cell, and the cost grows with the power
one and a half of their number instead of its square.
"""

from collections.abc import Iterator
from itertools import pairwise
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

__all__ = ["Matrix", "NearPairs", "find_near_pairs"]

Matrix = NDArray[np.float32]
Numbers = NDArray[np.int64]

# So few vectors are compared each with each, which is faster than sorting them.
_FEW = 2_000
# Each vector is in so many cells.
_CELLS_EACH = 3
# A cell that is so many times larger than the average is compared in pieces.
_MAX_CELL_RATIO = 8
_ROUNDS = 2
_BLOCK = 2_048


class NearPairs(NamedTuple):
    """Pairs of rows, the first before the second, and their cosines."""

    first: Numbers
    second: Numbers
    cosine: Matrix


def find_near_pairs(vectors: Matrix, *, least: float, most: int) -> NearPairs:
    """Pair each row with the rows nearest to it, up to so many, from a cosine on; each pair once."""
    pairs = [_pairs_in(vectors, cell, least=least, most=most) for cell in _cells(vectors)]
    codes = np.concatenate([code for code, _ in pairs]) if pairs else np.empty(0, np.int64)
    cosines = np.concatenate([cosine for _, cosine in pairs]) if pairs else np.empty(0, np.float32)
    codes, places = np.unique(codes, return_index=True)
    count = max(len(vectors), 1)
    return NearPairs(codes // count, codes % count, cosines[places])


def _pairs_in(vectors: Matrix, cell: Numbers, *, least: float, most: int) -> tuple[Numbers, Matrix]:
    """Return the pairs of one cell, each encoded as one number, and their cosines."""
    rows, each = vectors[cell], min(most, len(cell))
    codes: list[Numbers] = []
    kept_cosines: list[Matrix] = []
    for start in range(0, len(cell), _BLOCK):
        cosines = rows[start : start + _BLOCK] @ rows.T
        own = np.arange(len(cosines))
        cosines[own, own + start] = -1
        # Exactly so many of each row, so that a thousand equal vectors do not make a million pairs.
        nearest = np.argpartition(cosines, -each, axis=1)[:, -each:]
        nearest_cosines = np.take_along_axis(cosines, nearest, axis=1)
        row, place = np.nonzero(nearest_cosines >= least)
        first, second = cell[row + start], cell[nearest[row, place]]
        codes.append(np.minimum(first, second) * len(vectors) + np.maximum(first, second))
        kept_cosines.append(nearest_cosines[row, place])
    if not codes:
        return np.empty(0, np.int64), np.empty(0, np.float32)
    return np.concatenate(codes), np.concatenate(kept_cosines)


def _cells(vectors: Matrix) -> Iterator[Numbers]:
    count = len(vectors)
    if count <= _FEW:
        yield np.arange(count)
        return
    centroids = _centroids(vectors, cells=int(np.ceil(np.sqrt(count))))
    nearest = np.concatenate(
        [_nearest(vectors[start : start + _BLOCK], centroids, each=_CELLS_EACH) for start in range(0, count, _BLOCK)]
    )
    rows = np.repeat(np.arange(count), _CELLS_EACH)
    order = np.argsort(nearest, axis=None, kind="stable")
    bounds = np.searchsorted(nearest.ravel()[order], np.arange(len(centroids) + 1))
    largest = max(_FEW, _MAX_CELL_RATIO * _CELLS_EACH * count // len(centroids))
    for start, end in pairwise(bounds.tolist()):
        # Many nearly equal vectors would all be in one cell.
        for piece in range(start, end, largest):
            yield rows[order[piece : min(piece + largest, end)]]


def _centroids(vectors: Matrix, *, cells: int) -> Matrix:
    """Return the centroids of so many cells, found with a sample."""
    chosen = np.random.default_rng(0).permutation(len(vectors))[: 16 * cells]
    sample = vectors[np.sort(chosen)]
    centroids = vectors[chosen[:cells]]
    for _ in range(_ROUNDS):
        nearest = np.concatenate(
            [_nearest(sample[start : start + _BLOCK], centroids, each=1) for start in range(0, len(sample), _BLOCK)]
        ).ravel()
        sums = np.zeros_like(centroids)
        np.add.at(sums, nearest, sample)
        lengths = np.linalg.norm(sums, axis=1, keepdims=True)
        centroids = np.where(lengths > 0, sums / np.maximum(lengths, 1e-9), centroids).astype(np.float32)
    return centroids


def _nearest(rows: Matrix, centroids: Matrix, *, each: int) -> Numbers:
    cosines = rows @ centroids.T
    return np.argpartition(cosines, -each, axis=1)[:, -each:].astype(np.int64)
