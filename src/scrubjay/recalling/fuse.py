"""One score for each passage: BM25 over its terms and those around it, the weighted cosine as it is, and its prior.

The cosine is added raw. When rare words match, the lexical part is large and meaning counts less; when no word
matches, meaning decides. Ranks would throw that information away.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from itertools import chain, repeat
from typing import NamedTuple

import numpy as np

from scrubjay.model.passage import StoredPassage
from scrubjay.model.ranking import Ranking, Weights
from scrubjay.ports import TermStatistics
from scrubjay.recalling.context_window import ContextWindow, Floats
from scrubjay.recalling.prior import priors_of
from scrubjay.recalling.query_terms import QueryTerms, idf
from scrubjay.recalling.understand import Understood

# What is farther apart in meaning has nothing to do with each other; whether a cosine is above 0 is for the last digit.
_LEAST_ALIKE = 0.05


class Scored(NamedTuple):
    """A passage with its score and the parts that add up to it; `cosine` is what its meaning was weighed by."""

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
    cosine: float = 0.0
    rerank: float | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Worded:
    """What words say of each candidate of a scene: its own, those around it, pairs and phrases."""

    scene: ContextWindow
    words: Floats
    context: Floats
    pairs: Floats
    phrases: Floats

    @property
    def total(self) -> Floats:
        """All of it together."""
        return self.words + self.context + self.pairs + self.phrases

    def best_neighbours(self, count: int) -> list[StoredPassage]:
        """Candidates that are there for what they stand beside: those that words speak for most."""
        candidates = self.scene.candidates
        places = range(self.scene.searched, len(candidates))
        best = sorted(places, key=self.total.__getitem__, reverse=True)[:count]
        return [candidates[place] for place in best]


def weigh_words(scene: ContextWindow, sought: QueryTerms, asked: Understood, ranking: Ranking) -> Worded:
    """BM25 of each candidate alone, and what it gains by the words around it."""
    weights, statistics = ranking.weights, sought.statistics
    count = len(scene.beside)
    nothing = np.zeros(count, dtype=np.float32)
    if not ranking.uses("words"):
        return Worded(scene=scene, words=nothing, context=nothing, pairs=nothing, phrases=nothing)
    terms = [term for term in sought.worth if statistics.frequencies.get(term)]
    rarity = np.array([sought.worth[term] * _idf(statistics, term) for term in terms], dtype=np.float32)
    counts = _counts(scene, terms, sought)
    average = max(1.0, statistics.total_length / max(1, statistics.passages))
    own = _bm25(counts[:count], scene.lengths[:count] / average, rarity, weights)
    around = (scene.shares[:, :, None] * counts[scene.beside]).sum(axis=1) * weights.context
    lengths = scene.weighed_lengths
    # With what is around them passages are longer, and so is the average that they are measured by.
    longer = lengths.mean() / max(1.0, float(scene.lengths[:count].mean())) if count else 1.0
    whole = _bm25(counts[:count] + around, lengths / (average * longer), rarity, weights)
    return Worded(
        scene=scene,
        words=own,
        context=whole - own,
        pairs=weights.pair * _runs(scene, asked.pairs, dict(zip(terms, counts.T, strict=True)), statistics),
        phrases=weights.phrase * _having(scene, asked.phrases),
    )


def fuse(
    worded: Worded,
    cosines: Mapping[int, float],
    *,
    weight: float,
    asked: Understood,
    ranking: Ranking,
    now: datetime,
) -> Iterator[Scored]:
    """The candidates that speak for themselves, best first; ties go to the newest."""
    scene, candidates = worded.scene, worded.scene.candidates
    alike = np.array([*map(cosines.get, scene.numbers.tolist(), repeat(0.0)), 0.0], dtype=np.float32)
    near = alike[: len(candidates)]
    said, meaning = worded.total, weight * near
    # How near the question is that each replies to; the last is nobody's.
    reply = weight * ranking.weights.reply * scene.replies * alike[scene.beside[:, 0]]
    priors = priors_of(scene, asked=asked, ranking=ranking, now=now)
    parts = np.stack([worded.words, worded.context, worded.pairs, worded.phrases, meaning, reply, *priors], axis=1)
    scores = parts.sum(axis=1)
    # Whoever has a word of the question is told, however little the meaning fits.
    told = np.flatnonzero((said > 0) | ((near > _LEAST_ALIKE) & (meaning > 0)))
    best = told[np.lexsort((-scene.numbers[told], -scores[told]))]
    # One by one: few of them are ever told.
    for place in map(int, best):
        yield Scored._make((candidates[place], float(scores[place]), *parts[place].tolist(), float(near[place]), None))


def _bm25(counts: Floats, lengths: Floats, rarity: Floats, weights: Weights) -> Floats:
    k1, b = weights.saturation, weights.length
    norm = k1 * (1 - b + b * lengths)
    return (rarity * counts * (k1 + 1) / np.maximum(counts + norm[:, None], 1e-9)).sum(axis=1)


def _counts(scene: ContextWindow, terms: Sequence[str], sought: QueryTerms) -> Floats:
    """How often each row has each term; where it is missing, what its nearest kin there counts."""
    names = {name for who in scene.speakers for name in who.split()}
    # A name has no kin and is none, and a term counts for itself alone.
    aside = names.union(terms)
    near = {
        term: {other: share for other, share in sought.kin[term].items() if other not in aside}
        for term in terms
        if term in sought.kin and term not in names
    }
    words = dict.fromkeys([*terms, *chain.from_iterable(near.values())])
    at = {word: place for place, word in enumerate(words)}
    counts = scene.spoken.count(list(words))
    for term, shares in near.items():
        if shares:
            is_heard = counts[[at[other] for other in shares]] > 0
            nearest = (is_heard * np.array([*shares.values()], dtype=np.float32)[:, None]).max(axis=0)
            own = counts[at[term]]
            counts[at[term]] = np.where(own > 0, own, nearest)
    return np.ascontiguousarray(counts[: len(terms)].T)


def _runs(
    scene: ContextWindow, pairs: Sequence[str], counts: Mapping[str, Floats], statistics: TermStatistics
) -> Floats:
    """What pairs of the question's terms are worth that stand side by side; as rare as the rarer of the two."""
    candidates = scene.candidates
    worth = np.zeros(len(candidates), dtype=np.float32)
    for pair in pairs:
        terms = pair.split()
        rarity = max(_idf(statistics, term) for term in terms)
        # Only those who have both words are looked at.
        both = [counts[term][: len(candidates)] > 0 for term in terms if term in counts]
        places: Iterable[int] = np.flatnonzero(np.all(both, axis=0)).tolist() if both else range(len(candidates))
        worth[[place for place in places if f" {pair} " in f" {candidates[place].terms} "]] += rarity
    return worth


def _having(scene: ContextWindow, phrases: Sequence[str]) -> Floats:
    if not phrases:
        return np.zeros(len(scene.candidates), dtype=np.float32)
    texts = [f" {passage.terms} " for passage in scene.candidates]
    return np.array([sum(f" {phrase} " in text for phrase in phrases) for text in texts], dtype=np.float32)


def _idf(statistics: TermStatistics, term: str) -> float:
    return idf(statistics.passages, statistics.frequencies.get(term, 0))
