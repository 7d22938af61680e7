"""From which similarity on two texts say the same: as many true pairs as can be found with few wrong ones."""

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from scrubjay.calibration.labels import Pair
from scrubjay.ports import Embedder, Progress
from scrubjay.writing.similarity_score import sameness

_BATCH = 64
_SHOWN = tuple(round(0.5 + step * 0.025, 3) for step in range(20))
# Finer differences mean nothing.
_FINEST = 1000
_FEW = 0.05


@dataclass(frozen=True, slots=True, kw_only=True)
class SameRow:
    """What a threshold finds: the share of the same pairs above it, and of the different ones, which are wrong."""

    threshold: float
    found: float
    wrong: float


@dataclass(frozen=True, slots=True, kw_only=True)
class SameCurve:
    """Thresholds and what they find, the best, and what two halves of the pairs say of each other."""

    model: str
    before: float
    pairs: int
    same: int
    bound: float
    rows: tuple[SameRow, ...]
    chosen: SameRow
    halves: tuple[SameRow, SameRow]


_Judged = list[tuple[float, bool]]
"""The similarity of each pair as the similarity gate counts it, and whether it is the same."""


async def calibrate_same(
    pairs: Sequence[Pair], *, embedder: Embedder, wrong: float = 0.01, progress: Progress | None = None
) -> SameCurve:
    """The lowest threshold from which on at most a share of `wrong` of the different pairs lie.

    Pairs are scored as the similarity gate does it; what it would keep apart, whatever its similarity, is never above.
    Shares are of each kind by itself: how many pairs of either kind the file has does not change them.
    """
    profile = await embedder.profile()
    judged = await _judge(pairs, embedder=embedder, progress=progress)
    even, odd = judged[::2], judged[1::2]
    return SameCurve(
        model=profile.model,
        before=profile.same,
        pairs=len(judged),
        same=sum(same for _, same in judged),
        bound=wrong,
        rows=tuple(_row(threshold, judged) for threshold in _SHOWN),
        chosen=_row(_lowest(judged, wrong=wrong), judged),
        halves=(_row(_lowest(even, wrong=wrong), odd), _row(_lowest(odd, wrong=wrong), even)),
    )


async def _judge(pairs: Sequence[Pair], *, embedder: Embedder, progress: Progress | None) -> _Judged:
    judged: _Judged = []
    for start in range(0, len(pairs), _BATCH):
        items = pairs[start : start + _BATCH]
        vectors = await embedder.embed([text for pair in items for text in (pair.first, pair.second)])
        for pair, first, second in zip(items, vectors[::2], vectors[1::2], strict=True):
            results = sameness(pair.first, pair.second, cosine=float(np.dot(first, second)))
            judged.append((0.0 if results.differs else results.similarity, pair.same))
        if progress:
            progress(len(judged), len(pairs))
    return judged


def _lowest(judged: _Judged, *, wrong: float) -> float:
    different = sorted((similarity for similarity, same in judged if not same), reverse=True)
    allowed = math.floor(wrong * len(different))
    # Just above the first pair that would be one too many.
    lowest = math.floor(different[allowed] * _FINEST + 1) / _FINEST if allowed < len(different) else 1 / _FINEST
    return min(1.0, max(lowest, _needed(judged)))


def _needed(judged: _Judged) -> float:
    """Where nearly all that is the same lies above: lower only finds what is not."""
    same = sorted(similarity for similarity, same in judged if same and similarity > 0)
    return max(1, math.floor(same[int(_FEW * len(same))] * _FINEST)) / _FINEST if same else 1 / _FINEST


def _row(threshold: float, judged: _Judged) -> SameRow:
    above = {same: sum(results >= threshold for results, kind in judged if kind is same) for same in (True, False)}
    count = {same: max(1, sum(kind is same for _, kind in judged)) for same in (True, False)}
    return SameRow(threshold=threshold, found=above[True] / count[True], wrong=above[False] / count[False])
