"""Fifth stage: one score for each passage: BM25 over its terms and its context, the weighted cosine, and its prior.

The cosine is added as it is. When rare words match, the lexical part is large and meaning counts less; when no word
matches, meaning decides. Fusing ranks would discard that information. The prior is everything besides words and
meaning: the date, the name, the manner and the standing of a passage.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime, timedelta
from itertools import chain, repeat
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from scrubjay.lazy import dataclass
from scrubjay.model.decay import LASTING
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

# Times the meaning of a text, for a question in a language that the model does not read.
_UNREAD = 0.35
_LATIN = re.compile(r"[0-9A-Za-z]")
# Passages with a smaller cosine are unrelated; without a margin the last digit would decide.
_MIN_COSINE = 0.05
_DAY_MICROS = 86_400_000_000
# After so many days from a named date its weight has fallen by e: people remember dates roughly, and tell things later.
_DATE_FADING_DAYS = 7.0
_WEEK = timedelta(days=7)
_RECENCY_DAYS = 30.0
"""The half-life of recency."""
_MAX_LOG_ACCESSES = 5.0
_ENDS_WITH_QUESTION = 2
# By the number of a tier.
_IS_SETTLED = np.array([tier in (Tier.SEMANTIC, Tier.PROCEDURAL) for tier in Tier])


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
    # What the reader adds to the score, and its logit of "this answers", if it has read the passage.
    reader: float = 0.0
    answers: float | None = None


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
        first = self.window.searched_count
        best = np.argsort(-self.total[first:], kind="stable")[:count]
        return self.window.rows_at(first + best)


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
    context_counts = np.einsum("cn,cnt->ct", window.shares, counts.take(window.neighbours, axis=0)) * weights.context
    lengths = window.weighted_lengths
    # With their context passages are longer, and so must be the average that they are compared with.
    growth = lengths.sum() / count / max(1.0, float(window.lengths[:count].sum() / count)) if count else 1.0
    whole = _bm25(counts[:count] + context_counts, lengths / (average * growth), rarity, weights)
    is_present = dict(zip(known_terms, counts[:count].T > 0, strict=True))
    pair_scores = _score_pairs(window, query.pairs, is_present, statistics)
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
    window, count = scores.window, len(scores.words)
    columns, order = window.columns, window.candidate_order
    own_cosines = _cosines_of(window.numbers[:count], dense)
    lexical = scores.total
    # What a statement means is in its own words; of a turn, the turns around it say as much.
    # An English model reads other languages by a few letters: their cosines say little, and words more.
    is_english = query.language in ("", ENGLISH) and _LATIN.search(query.text) is not None
    is_read = is_english or not ENGLISH_MODEL.search(dense.model)
    stated = ranking.weights.stated if is_read else min(_UNREAD, ranking.weights.stated)
    spoken = 1.0 if is_read else stated
    meaning = dense.weight * own_cosines * np.where(columns.asks[order] & SPOKEN, spoken, stated)
    # The cosine of the question that each replies to.
    reply = np.zeros(count, dtype=np.float32)
    replying = window.replies.nonzero()[0]
    of_questions = _cosines_of(window.numbers[window.neighbours[replying, 0]], dense)
    reply[replying] = dense.weight * ranking.weights.reply * window.replies[replying] * of_questions
    priors = score_priors(window, query=query, ranking=ranking, now=now)
    every = np.array([scores.words, scores.context, scores.pairs, scores.phrases, meaning, reply, *priors])
    # The parts of a passage side by side, which decides how a sum of them is rounded.
    parts = every.T.copy()
    # The time between two questions changes the last decimals: they must not decide.
    totals = parts.sum(axis=1).round(6)
    # A passage with a word of the question is a result, however little its meaning fits.
    matching = np.flatnonzero((lexical > 0) | ((own_cosines > _MIN_COSINE) & (meaning > 0)))
    dates = columns.dates[order]
    best = matching[np.lexsort((-window.numbers[matching], -dates[matching], -totals[matching]))]
    # Lazily: few of them are ever read.
    for position in map(int, best):
        yield ScoredPassage._make(
            (
                window.row(position),
                float(totals[position]),
                *parts[position].tolist(),
                0.0,
                float(own_cosines[position]),
                None,
                0.0,
                None,
            )
        )


def _cosines_of(numbers: NDArray[np.int64], dense: DenseMatches) -> Floats:
    """Return the cosines of passages by their numbers; 0 for one that was not compared."""
    listed: list[int] = numbers.tolist()
    return np.fromiter(map(dense.cosines.get, listed, repeat(0.0)), dtype=np.float32, count=len(listed))


def score_priors(
    window: ContextWindow, *, query: ParsedQuery, ranking: Ranking, now: datetime
) -> tuple[Floats, Floats, Floats, Floats]:
    """Score date, name, manner and standing of each candidate.

    All of them together are worth less than one rare word, except a date that the question names.
    """
    weights, zeros = ranking.weights, np.zeros(len(window.neighbours), dtype=np.float32)
    today = query.question.today or now
    past = [span for span in query.spans if span.exact != "day" or today - span.end >= _WEEK]
    names = frozenset(query.terms).union(*query.other_stems.values())
    return (
        _score_dates(window, query.spans, past, weights) if query.spans else zeros,
        _score_names(window, names, weights) if ranking.uses("names") else zeros,
        _score_manner(window, weights) if ranking.uses("manner") else zeros,
        _score_metadata(window, now, weights, dated=bool(past)) if ranking.uses("standing") else zeros,
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
    # In the order of the columns: the few rows that are left are put in that of the window.
    counts = window.columns.terms.count(list(words))
    _count_related(counts, {term: shares for term, shares in related.items() if shares}, row_of)
    return counts[: len(known_terms)].T.take(window.order, axis=0)


def _count_related(counts: Floats, related: Mapping[str, Mapping[str, float]], row_of: Mapping[str, int]) -> None:
    """Count, where a term is missing, the largest share of its related words that are there."""
    rows = [row_of[other] for shares in related.values() for other in shares]
    every = np.array([share for shares in related.values() for share in shares.values()], dtype=np.float32)
    # Of all terms together: each operation on arrays as small as these costs more than what it computes.
    present = (counts[rows] > 0) * every[:, None]
    end = 0
    for term, shares in related.items():
        start, end = end, end + len(shares)
        own = counts[row_of[term]]
        np.copyto(own, present[start:end].max(axis=0), where=own == 0)


def _score_pairs(
    window: ContextWindow, pairs: Sequence[str], is_present: dict[str, NDArray[np.bool_]], statistics: TermStatistics
) -> Floats:
    """Score adjacent pairs of the question's terms; each is worth the rarity of its rarer term.

    `is_present` has the candidates with each term, as far as that was counted.
    """
    scores = np.zeros(len(window.neighbours), dtype=np.float32)
    everywhere = np.ones(len(scores), dtype=np.bool_)
    for pair in pairs:
        terms = pair.split()
        # Only candidates with both words are searched.
        has_both = everywhere
        for term in terms:
            has_both = has_both & is_present[term] if term in is_present else has_both
        positions = has_both.nonzero()[0]
        if not len(positions):
            continue
        searched = f" {pair} "
        rows = zip(list[int](positions.tolist()), window.rows_at(positions), strict=True)
        having = [position for position, passage in rows if searched in f" {passage.terms} "]
        if having:
            scores[having] += max(_idf(statistics, term) for term in terms)
    return scores


def _count_phrases(window: ContextWindow, phrases: Sequence[str]) -> Floats:
    if not phrases:
        return np.zeros(len(window.neighbours), dtype=np.float32)
    texts = [f" {passage.terms} " for passage in window.candidates]
    return np.array([sum(f" {phrase} " in text for phrase in phrases) for text in texts], dtype=np.float32)


def _idf(statistics: TermStatistics, term: str) -> float:
    return idf(statistics.passages, statistics.frequencies.get(term, 0))


def _score_dates(
    window: ContextWindow, spans: Sequence[DateSpan], past: Sequence[DateSpan], weights: Weights
) -> Floats:
    """Score turns by the named days, and statements by those that have passed.

    "On Sunday" asks for what was said then, or for what holds on Sundays; a statement of yesterday is new anyway.
    """
    dates, asks = window.columns.dates[window.candidate_order], window.columns.asks[window.candidate_order]
    closest = np.where(asks & SPOKEN, _closeness(dates, spans), _closeness(dates, past))
    return (weights.date * closest).astype(np.float32)


def _closeness(dates: NDArray[np.int64], spans: Sequence[DateSpan]) -> Floats:
    """Return how close days are to the nearest span, from 0 to 1."""
    best = np.zeros(len(dates), dtype=np.float32)
    for span in spans:
        start, end = to_micros(span.start), to_micros(span.end)
        distance = np.maximum(0, np.maximum(start - dates, dates - end + 1)) / _DAY_MICROS
        best = np.maximum(best, np.exp(-distance / _DATE_FADING_DAYS).astype(np.float32))
    return best


def _score_names(window: ContextWindow, terms: frozenset[str], weights: Weights) -> Floats:
    speaker_names = [speaker.split() for speaker in window.speakers]
    shares = [
        0.0 if terms.isdisjoint(names) else sum(name in terms for name in names) / len(names) for names in speaker_names
    ]
    return weights.name * np.array(shares, dtype=np.float32)[window.speaker_of[: len(window.neighbours)]]


def _score_manner(window: ContextWindow, weights: Weights) -> Floats:
    asks = window.columns.asks[window.candidate_order]
    asking = (asks & ~SPOKEN == _ENDS_WITH_QUESTION).astype(np.float32)
    lengths = window.lengths[: len(asks)]
    return (weights.asking * asking + weights.saying * np.log1p(lengths)).astype(np.float32)


def _score_metadata(window: ContextWindow, now: datetime, weights: Weights, *, dated: bool) -> Floats:
    """Score relevance, age, reads and tier; the newest statement answers, but not a question that names a date.

    A passage does not know the kind of its memory: all decay as facts do, and `collapse` puts that right.
    """
    columns, order, moment = window.columns, window.candidate_order, to_micros(now)
    current = weights.recency if dated else weights.current
    relevance = columns.relevances[order] * np.exp(-LASTING * _unconfirmed_days(columns.confirmed[order], moment))
    is_settled = _IS_SETTLED[columns.tiers[order]]
    recency = np.where(columns.asks[order] & SPOKEN, weights.recency, current)
    return (
        weights.relevance * (relevance - 1.0)
        + recency * _decay(moment - columns.dates[order], half_life=_RECENCY_DAYS)
        + weights.accessed * np.minimum(_MAX_LOG_ACCESSES, np.log1p(columns.accesses[order]))
        + weights.settled * is_settled
    ).astype(np.float32)


def _unconfirmed_days(confirmed: NDArray[np.int64], now: int) -> NDArray[np.float64]:
    """Return the same as `unconfirmed_days` for many passages, whose accesses do not count."""
    ages = now - confirmed
    return np.maximum(0, np.where(ages < -_DAY_MICROS, -ages, ages)) / _DAY_MICROS


def _decay(ages: NDArray[np.int64], *, half_life: float) -> Floats:
    """Return the remaining share after ages in microseconds, with a half-life in days."""
    days = ages / _DAY_MICROS
    # A time after tomorrow comes from a wrong clock, and must not stay the newest for years.
    days = np.where(days < -1, -days, np.maximum(0, days))
    return (0.5 ** (days / half_life)).astype(np.float32)
