"""Fifth stage: one score for each passage: BM25 over its terms and its context, the weighted cosine, and its prior.

The cosine is added as it is. When rare words match, the lexical part is large and meaning counts less; when no word
matches, meaning decides. Fusing ranks would discard that information. The prior is everything besides words and
meaning: the date, the name, the manner and the standing of a passage.
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime
from itertools import chain, repeat
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from scrubjay.model.decay import LASTING, decayed, unconfirmed_days
from scrubjay.model.memory import Tier
from scrubjay.model.passage import SPOKEN, StoredPassage
from scrubjay.model.ranking import Ranking, Weights
from scrubjay.model.timestamps import to_micros
from scrubjay.ports import TermStatistics
from scrubjay.ports.models import ENGLISH_MODEL
from scrubjay.recalling.candidates import DenseMatches
from scrubjay.recalling.context_window import ContextWindow, Floats
from scrubjay.recalling.query_terms import QueryTerms, idf
from scrubjay.recalling.understand import ParsedQuery
from scrubjay.text.dates.spans import DateSpan
from scrubjay.text.languages import ENGLISH

# Passages with a smaller cosine are unrelated; without a margin the last digit would decide.
_MIN_COSINE = 0.05
_DAY_MICROS = 86_400_000_000
# After so many days from a named date its weight has fallen by e: people remember dates roughly, and tell things later.
_DATE_FADING_DAYS = 7.0
_RECENCY_DAYS = 30.0
"""The half-life of recency."""
_MAX_LOG_ACCESSES = 5.0
_ENDS_WITH_QUESTION = 2
_SETTLED_TIERS = (tuple(Tier).index(Tier.SEMANTIC), tuple(Tier).index(Tier.PROCEDURAL))


class ScoredPassage(NamedTuple):
    """A passage with its score and the parts that add up to it; `cosine` is the unweighted part of its meaning."""

    passage: StoredPassage
    score: float
    words: float = 0.0
    context: float = 0.0
    pairs: float = 0.0
    phrases: float = 0.0
    meaning: float = 0.0
    reply: float = 0.0
    date: float = 0.0
    name: float = 0.0
    manner: float = 0.0
    standing: float = 0.0
    project: float = 0.0
    cosine: float = 0.0
    rerank: float | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class WordScores:
    """The lexical scores of each candidate of a window: its own words, its context, pairs and phrases."""

    window: ContextWindow
    words: Floats
    context: Floats
    pairs: Floats
    phrases: Floats

    @property
    def total(self) -> Floats:
        """The sum of all parts."""
        return self.words + self.context + self.pairs + self.phrases

    def best_neighbours(self, count: int) -> list[StoredPassage]:
        """Return the candidates with the best lexical scores that no search has found."""
        candidates = self.window.candidates
        positions = range(self.window.searched_count, len(candidates))
        best = sorted(positions, key=self.total.__getitem__, reverse=True)[:count]
        return [candidates[position] for position in best]


def score_words(window: ContextWindow, terms: QueryTerms, query: ParsedQuery, ranking: Ranking) -> WordScores:
    """Score each candidate by BM25 alone, and by its context."""
    weights, statistics = ranking.weights, terms.statistics
    count = len(window.neighbours)
    zeros = np.zeros(count, dtype=np.float32)
    if not ranking.uses("words"):
        return WordScores(window=window, words=zeros, context=zeros, pairs=zeros, phrases=zeros)
    known_terms = [term for term in terms.weights if statistics.frequencies.get(term)]
    rarity = np.array([terms.weights[term] * _idf(statistics, term) for term in known_terms], dtype=np.float32)
    counts = _count_terms(window, known_terms, terms)
    average = max(1.0, statistics.total_length / max(1, statistics.passages))
    own = _bm25(counts[:count], window.lengths[:count] / average, rarity, weights)
    context_counts = (window.shares[:, :, None] * counts[window.neighbours]).sum(axis=1) * weights.context
    lengths = window.weighted_lengths
    # With their context passages are longer, and so must be the average that they are compared with.
    growth = lengths.mean() / max(1.0, float(window.lengths[:count].mean())) if count else 1.0
    whole = _bm25(counts[:count] + context_counts, lengths / (average * growth), rarity, weights)
    pair_scores = _score_pairs(window, query.pairs, dict(zip(known_terms, counts.T, strict=True)), statistics)
    return WordScores(
        window=window,
        words=own,
        context=whole - own,
        pairs=weights.pair * pair_scores,
        phrases=weights.phrase * _count_phrases(window, query.phrases),
    )


def fuse(
    scores: WordScores, dense: DenseMatches, *, query: ParsedQuery, ranking: Ranking, now: datetime
) -> Iterator[ScoredPassage]:
    """Yield the candidates that match by words or by meaning, best first; ties go to the newest statement."""
    window, candidates = scores.window, scores.window.candidates
    cosines = np.array([*map(dense.cosines.get, window.numbers.tolist(), repeat(0.0)), 0.0], dtype=np.float32)
    own_cosines = cosines[: len(candidates)]
    lexical = scores.total
    # What a statement means is in its own words; of a turn, the turns around it say as much.
    # An English model reads other languages by a few letters: their cosines say little, and words more.
    is_read = query.language in ("", ENGLISH) or not ENGLISH_MODEL.search(dense.model)
    stated = ranking.weights.stated if is_read else min(1.0, ranking.weights.stated)
    meaning = dense.weight * own_cosines * np.where(_are_spoken(candidates), 1.0, stated)
    # The cosine of the question that each replies to; the last entry stands for a missing one.
    reply = dense.weight * ranking.weights.reply * window.replies * cosines[window.neighbours[:, 0]]
    priors = score_priors(window, query=query, ranking=ranking, now=now)
    parts = np.stack([scores.words, scores.context, scores.pairs, scores.phrases, meaning, reply, *priors], axis=1)
    totals = parts.sum(axis=1)
    # A passage with a word of the question is a result, however little its meaning fits.
    matching = np.flatnonzero((lexical > 0) | ((own_cosines > _MIN_COSINE) & (meaning > 0)))
    dates = np.array([passage.date for passage in candidates], dtype=np.int64)
    best = matching[np.lexsort((-window.numbers[matching], -dates[matching], -totals[matching]))]
    # Lazily: few of them are ever read.
    for position in map(int, best):
        yield ScoredPassage._make(
            (
                candidates[position],
                float(totals[position]),
                *parts[position].tolist(),
                0.0,
                float(own_cosines[position]),
                None,
            )
        )


def score_priors(
    window: ContextWindow, *, query: ParsedQuery, ranking: Ranking, now: datetime
) -> tuple[Floats, Floats, Floats, Floats]:
    """Score date, name, manner and standing of each candidate.

    All of them together are worth less than one rare word, except a date that the question names.
    """
    weights, passages = ranking.weights, window.candidates
    zeros = np.zeros(len(passages), dtype=np.float32)
    names = frozenset(query.terms).union(*query.other_stems.values())
    return (
        _score_dates(passages, query.spans, weights) if query.spans else zeros,
        _score_names(window, names, weights) if ranking.uses("names") else zeros,
        _score_manner(window, weights) if ranking.uses("manner") else zeros,
        _score_metadata(passages, now, weights, dated=bool(query.spans)) if ranking.uses("standing") else zeros,
    )


def _bm25(counts: Floats, lengths: Floats, rarity: Floats, weights: Weights) -> Floats:
    k1, b = weights.saturation, weights.length
    norm = k1 * (1 - b + b * lengths)
    return (rarity * counts * (k1 + 1) / np.maximum(counts + norm[:, None], 1e-9)).sum(axis=1)


def _count_terms(window: ContextWindow, known_terms: Sequence[str], terms: QueryTerms) -> Floats:
    """Count each term in each row; where it is missing, its closest related word in the row counts instead."""
    names = {name for speaker in window.speakers for name in speaker.split()}
    # Names have no related words and are none, and a term of the question counts for itself alone.
    excluded = names.union(known_terms)
    related = {
        term: {other: share for other, share in terms.related[term].items() if other not in excluded}
        for term in known_terms
        if term in terms.related and term not in names
    }
    words = dict.fromkeys([*known_terms, *chain.from_iterable(related.values())])
    row_of = {word: row for row, word in enumerate(words)}
    counts = window.counter.count(list(words))
    for term, shares in related.items():
        if shares:
            is_present = counts[[row_of[other] for other in shares]] > 0
            closest = (is_present * np.array([*shares.values()], dtype=np.float32)[:, None]).max(axis=0)
            own = counts[row_of[term]]
            counts[row_of[term]] = np.where(own > 0, own, closest)
    return np.ascontiguousarray(counts[: len(known_terms)].T)


def _score_pairs(
    window: ContextWindow, pairs: Sequence[str], counts: dict[str, Floats], statistics: TermStatistics
) -> Floats:
    """Score adjacent pairs of the question's terms; each is worth the rarity of its rarer term."""
    candidates = window.candidates
    scores = np.zeros(len(candidates), dtype=np.float32)
    for pair in pairs:
        terms = pair.split()
        rarity = max(_idf(statistics, term) for term in terms)
        # Only candidates with both words are searched.
        is_present = [counts[term][: len(candidates)] > 0 for term in terms if term in counts]
        positions: Iterable[int] = (
            np.flatnonzero(np.all(is_present, axis=0)).tolist() if is_present else range(len(candidates))
        )
        scores[[position for position in positions if f" {pair} " in f" {candidates[position].terms} "]] += rarity
    return scores


def _count_phrases(window: ContextWindow, phrases: Sequence[str]) -> Floats:
    if not phrases:
        return np.zeros(len(window.candidates), dtype=np.float32)
    texts = [f" {passage.terms} " for passage in window.candidates]
    return np.array([sum(f" {phrase} " in text for phrase in phrases) for text in texts], dtype=np.float32)


def _idf(statistics: TermStatistics, term: str) -> float:
    return idf(statistics.passages, statistics.frequencies.get(term, 0))


def _score_dates(passages: Sequence[StoredPassage], spans: Sequence[DateSpan], weights: Weights) -> Floats:
    dates = np.array([passage.date for passage in passages], dtype=np.int64)
    best = np.zeros(len(passages), dtype=np.float32)
    for span in spans:
        start, end = to_micros(span.start), to_micros(span.end)
        distance = np.maximum(0, np.maximum(start - dates, dates - end + 1)) / _DAY_MICROS
        best = np.maximum(best, np.exp(-distance / _DATE_FADING_DAYS).astype(np.float32))
    return weights.date * best


def _score_names(window: ContextWindow, terms: frozenset[str], weights: Weights) -> Floats:
    speaker_names = [speaker.split() for speaker in window.speakers]
    shares = [sum(name in terms for name in names) / max(1, len(names)) for names in speaker_names]
    return weights.name * np.array(shares, dtype=np.float32)[window.speaker_of[: len(window.candidates)]]


def _score_manner(window: ContextWindow, weights: Weights) -> Floats:
    passages = window.candidates
    asking = np.array([passage.asks & ~SPOKEN == _ENDS_WITH_QUESTION for passage in passages], dtype=np.float32)
    lengths = window.lengths[: len(passages)]
    return (weights.asking * asking + weights.saying * np.log1p(lengths)).astype(np.float32)


def _are_spoken(passages: Sequence[StoredPassage]) -> NDArray[np.bool_]:
    return np.array([passage.asks & SPOKEN for passage in passages], dtype=np.bool_)


def _score_metadata(passages: Sequence[StoredPassage], now: datetime, weights: Weights, *, dated: bool) -> Floats:
    """Score relevance, age, reads and tier; the newest statement answers, but not a question that names a date.

    A passage does not know the kind of its memory: all decay as facts do, and `collapse` puts that right.
    """
    moment = to_micros(now)
    current = weights.recency if dated else weights.current
    ages = [moment - passage.date for passage in passages]
    relevance = np.array([
        decayed(
            passage.relevance, rate=LASTING,
            days=unconfirmed_days(confirmed=passage.confirmed or passage.date, accessed=None, now=moment),
        )
        for passage in passages
    ])  # fmt: skip
    accesses = np.log1p([passage.accesses for passage in passages])
    is_settled = np.array([passage.tier in _SETTLED_TIERS for passage in passages])
    return (
        weights.relevance * (relevance - 1.0)
        + np.where(_are_spoken(passages), weights.recency, current) * _decay(ages, half_life=_RECENCY_DAYS)
        + weights.accessed * np.minimum(_MAX_LOG_ACCESSES, accesses)
        + weights.settled * is_settled
    ).astype(np.float32)


def _decay(ages: Sequence[int], *, half_life: float) -> Floats:
    """Return the remaining share after ages in microseconds, with a half-life in days."""
    days = np.array(ages, dtype=np.int64) / _DAY_MICROS
    # A time after tomorrow comes from a wrong clock, and must not stay the newest for years.
    days = np.where(days < -1, -days, np.maximum(0, days))
    return (0.5 ** (days / half_life)).astype(np.float32)
