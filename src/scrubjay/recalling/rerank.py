"""Reranking: a cross-encoder reads the question with each of the best matches.

One that the settings name orders them again. The bundled reader adds to their scores instead: it is small, and knows
less than words, meaning, dates and projects do together.
"""

import math
from collections.abc import Callable, Sequence
from dataclasses import field
from datetime import datetime
from typing import Generic, TypeVar

from scrubjay import telemetry
from scrubjay.errors import RerankingUnavailable
from scrubjay.lazy import dataclass
from scrubjay.model.passage import SPOKEN
from scrubjay.ports import Reranker
from scrubjay.recalling.collapse import RankedMemory
from scrubjay.text.claims.pairs import written

T = TypeVar("T")

READ = 7
"""So many of the best matches are read: together they take less than ten times as long as embedding the question."""
_MAX_FORMER = 2
# Beyond so many points no reading makes up for it, and a first hit of this confidence is relevant in any case.
_CLEAR_LEAD, _CLEAR_CONFIDENCE = 4.0, 0.5
# Of a text so much is read.
_MAX_CHARACTERS = 400


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


@dataclass(frozen=True, slots=True, kw_only=True)
class ReadMatches:
    """Matches with what the reader adds to their scores, and those that no longer hold."""

    matches: list[RankedMemory]
    former: list[RankedMemory] = field(default_factory=list[RankedMemory])
    degraded: tuple[str, ...] = ()


def is_in_doubt(matches: Sequence[RankedMemory], confidence: float) -> bool:
    """Check whether reading the first matches may change an answer whose first hit has this confidence."""
    if len(matches) < 2:  # noqa: PLR2004 - one match has no order
        return bool(matches) and confidence < _CLEAR_CONFIDENCE
    lead = matches[0].best.score - max(match.best.score for match in matches[1:READ])
    return confidence < _CLEAR_CONFIDENCE or lead < _CLEAR_LEAD


async def read_again(
    question: str,
    matches: Sequence[RankedMemory],
    former: Sequence[RankedMemory],
    *,
    reader: Reranker,
    weight: float,
    now: datetime,
) -> ReadMatches:
    """Let a reader judge the first matches, in one batch, and order them by the sum; if that fails, keep the order.

    Of those that no longer hold it reads the few that would stand among them, marked as former.
    """
    lowest = min(match.best.score for match in matches[:READ])
    past = [match for match in former if match.best.score >= lowest][:_MAX_FORMER]
    first, rest = list(matches[: READ - len(past)]), list(matches[READ - len(past) :])
    texts = [*map(_written, first), *(f"former {_written(match)}" for match in past)]
    try:
        with telemetry.stage("recall.reader"):
            logits = await reader.rerank(written(question[:_MAX_CHARACTERS], date=now), texts)
    except RerankingUnavailable as error:
        return ReadMatches(matches=[*matches], former=[*former], degraded=(f"not read again: {error.message}",))
    best = max(logits)
    judged = [_add(match, weight * (logit - best), logit) for match, logit in zip((*first, *past), logits, strict=True)]
    # Equal scores keep their order. What was not read stays behind what was.
    scored = sorted(judged[: len(first)], key=lambda match: -match.best.score)
    behind = scored[-1].best.score
    read = {match.memory.id: match for match in judged[len(first) :]}
    return ReadMatches(
        matches=[*scored, *(_add(match, min(0.0, behind - match.best.score)) for match in rest)],
        former=[read.get(match.memory.id) or _add(match, min(0.0, behind - match.best.score)) for match in former],
    )


def _add(match: RankedMemory, points: float, logit: float | None = None) -> RankedMemory:
    best = match.best
    return match._replace(best=best._replace(score=best.score + points, reader=points, answers=logit))


def _written(match: RankedMemory) -> str:
    """Return a match as the reader knows texts: with its title, and with whom it is of if it does not say so itself.

    A project says nothing there, as all candidates share it.
    """
    memory, passage, text = match.memory, match.best.passage, match.text[:_MAX_CHARACTERS]
    is_of_entity = bool(passage.asks & SPOKEN) or passage.observation is not None
    names = (memory.entity if is_of_entity else "", memory.title)
    who = " | ".join(dict.fromkeys(name for name in names if name and name not in text))
    return written(text, date=memory.date, who=who)
