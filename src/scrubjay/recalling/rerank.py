"""A second opinion: a cross-encoder reads the question beside each of the best hits, and orders these anew."""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Generic, TypeVar

from scrubjay import telemetry
from scrubjay.errors import RerankingUnavailable
from scrubjay.ports import Reranker

T = TypeVar("T")


@dataclass(frozen=True, slots=True, kw_only=True)
class Reranked(Generic[T]):
    """What was found, in its last order; the first of them with what the reranker gave them."""

    found: tuple[T, ...]
    scores: tuple[float, ...] = ()
    degraded: tuple[str, ...] = ()


async def rerank(
    query: str, found: Sequence[T], *, text_of: Callable[[T], str], reranker: Reranker | None, top: int
) -> Reranked[T]:
    """The first `top` by how well they answer, the others behind them as they were; all as they were if that fails.

    A later page hands in what earlier ones did not show, so each page is in order by itself.
    """
    first = found[:top]
    if reranker is None or not query or len(first) <= 1:
        return Reranked(found=tuple(found))
    try:
        with telemetry.stage("recall.rerank"):
            scores = await reranker.rerank(query, [text_of(one) for one in first])
    except RerankingUnavailable as error:
        return Reranked(found=tuple(found), degraded=(f"not reranked: {error.message}",))
    if len(scores) != len(first) or not all(map(math.isfinite, scores)):
        return Reranked(found=tuple(found), degraded=("not reranked: the reranker gave no score for each hit",))
    # Those that it finds alike stay in the order they had.
    order = sorted(range(len(first)), key=lambda place: -scores[place])
    return Reranked(
        found=(*(first[place] for place in order), *found[top:]), scores=tuple(scores[place] for place in order)
    )
