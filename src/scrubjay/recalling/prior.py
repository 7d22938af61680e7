"""What speaks for a passage besides its words and its meaning: when, who, how it is said, and how it stands."""

from collections.abc import Sequence
from datetime import datetime

import numpy as np

from scrubjay.model.memory import Tier
from scrubjay.model.passage import StoredPassage
from scrubjay.model.ranking import Ranking, Weights
from scrubjay.model.timestamps import to_micros
from scrubjay.recalling.context_window import ContextWindow, Floats
from scrubjay.recalling.understand import Understood
from scrubjay.text.dates.spans import DateSpan

_DAY = 86_400_000_000
# In so many days from those that were named a date comes to count less by e: people remember when only roughly.
_FADING = {"day": 3.0, "weekend": 2.0, "week": 3.0, "month": 7.0}
# What is longer is as good as exact.
_EXACT = 0.5
# Half of what a memory gains for being recent is gone after a month, half of its relevance after a year.
_RECENT, _RELEVANT = 30.0, 365.0
_MOST_ACCESSES = 5.0
_AT_ITS_END = 2
_SETTLED = (tuple(Tier).index(Tier.SEMANTIC), tuple(Tier).index(Tier.PROCEDURAL))


def priors_of(
    scene: ContextWindow, *, asked: Understood, ranking: Ranking, now: datetime
) -> tuple[Floats, Floats, Floats, Floats]:
    """What date, name, manner and standing speak for each candidate.

    All of it together is worth less than one rare word, except a date that was named.
    """
    weights, passages = ranking.weights, scene.candidates
    lengths = scene.lengths[: len(passages)]
    nothing = np.zeros(len(passages), dtype=np.float32)
    asking = np.array([passage.asks == _AT_ITS_END for passage in passages], dtype=np.float32)
    return (
        _dated(passages, asked.spans, weights) if asked.spans else nothing,
        _named(scene, frozenset(asked.terms), weights) if ranking.uses("names") else nothing,
        _mannered(asking, lengths, weights) if ranking.uses("manner") else nothing,
        _standing(passages, now, weights) if ranking.uses("standing") else nothing,
    )


def _dated(passages: Sequence[StoredPassage], spans: Sequence[DateSpan], weights: Weights) -> Floats:
    dates = np.array([passage.date for passage in passages], dtype=np.int64)
    best = np.zeros(len(passages), dtype=np.float32)
    for span in spans:
        start, end = to_micros(span.start), to_micros(span.end)
        between = np.maximum(0, np.maximum(start - dates, dates - end + 1)) / _DAY
        best = np.maximum(best, np.exp(-between / _FADING.get(span.exact, _EXACT)).astype(np.float32))
    return weights.date * best


def _named(scene: ContextWindow, terms: frozenset[str], weights: Weights) -> Floats:
    shares = np.array([_share(who.split(), terms) for who in scene.speakers], dtype=np.float32)
    return weights.name * shares[scene.who[: len(scene.candidates)]]


def _share(names: Sequence[str], terms: frozenset[str]) -> float:
    return sum(name in terms for name in names) / max(1, len(names))


def _mannered(asking: Floats, lengths: Floats, weights: Weights) -> Floats:
    return (weights.asking * asking + weights.saying * np.log1p(lengths)).astype(np.float32)


def _standing(passages: Sequence[StoredPassage], now: datetime, weights: Weights) -> Floats:
    moment = to_micros(now)
    ages = [moment - passage.date for passage in passages]
    since = [moment - (passage.confirmed or passage.date) for passage in passages]
    relevance = np.clip([passage.relevance for passage in passages], 0.0, 1.0) * _left(since, half=_RELEVANT)
    accesses = np.log1p([passage.accesses for passage in passages])
    settled = np.array([passage.tier in _SETTLED for passage in passages])
    return (
        weights.relevance * (relevance - 1.0)
        + weights.recency * _left(ages, half=_RECENT)
        + weights.accessed * np.minimum(_MOST_ACCESSES, accesses)
        + weights.settled * settled
    ).astype(np.float32)


def _left(passed: Sequence[int], *, half: float) -> Floats:
    """What is left after so many microseconds of what halves in so many days."""
    days = np.maximum(0, np.array(passed, dtype=np.int64)) / _DAY
    return (0.5 ** (days / half)).astype(np.float32)
