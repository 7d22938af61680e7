"""Reranking: a cross-encoder reads the question with each of the best matches and orders them again."""

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
    """Matches in their final order, and the reranker's scores of the first ones."""

    matches: tuple[T, ...]
    scores: tuple[float, ...] = ()
    degraded: tuple[str, ...] = ()


async def rerank(
    query: str, matches: Sequence[T], *, text_of: Callable[[T], str], reranker: Reranker | None, top: int
) -> Reranked[T]:
    """Order the first `top` matches by the reranker's scores; if that fails, keep the order.

    A later page passes in what earlier ones did not show, so each page is in order by itself.
    """
    first = matches[:top]
    if reranker is None or not query or len(first) <= 1:
        return Reranked(matches=tuple(matches))
    try:
        with telemetry.stage("recall.rerank"):
            scores = await reranker.rerank(query, [text_of(match) for match in first])
    except RerankingUnavailable as error:
        return Reranked(matches=tuple(matches), degraded=(f"not reranked: {error.message}",))
    if len(scores) != len(first) or not all(map(math.isfinite, scores)):
        return Reranked(
            matches=tuple(matches), degraded=("not reranked: the reranker did not return one score for each hit",)
        )
    # Equal scores keep their order.
    order = sorted(range(len(first)), key=lambda position: -scores[position])
    return Reranked(
        matches=(*(first[position] for position in order), *matches[top:]),
        scores=tuple(scores[position] for position in order),
    )
