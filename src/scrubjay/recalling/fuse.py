"""One score for each passage: BM25 over its terms and those around it, the weighted cosine as it is, and its prior.

The cosine is added raw. When rare words match, the lexical part is large and meaning counts less; when no word
matches, meaning decides. Ranks would throw that information away.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import NamedTuple

import numpy as np

from scrubjay.model.passage import StoredPassage
from scrubjay.model.ranking import Ranking, Weights
from scrubjay.ports import TermStatistics
from scrubjay.recalling.prior import priors_of
from scrubjay.recalling.scene import Floats, Scene
from scrubjay.recalling.sought import Sought, idf
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

    scene: Scene
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


def weigh_words(scene: Scene, sought: Sought, asked: Understood, ranking: Ranking) -> Worded:
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
    own_texts = [f" {passage.terms} " for passage in scene.candidates] if asked.pairs or asked.phrases else [""] * count
    return Worded(
        scene=scene,
        words=own,
        context=whole - own,
        pairs=weights.pair * _runs(own_texts, asked.pairs, statistics),
        phrases=weights.phrase * _having(own_texts, asked.phrases),
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
    near = np.array([cosines.get(passage.id, 0.0) for passage in candidates], dtype=np.float32)
    said, meaning = worded.total, weight * near
    reply = weight * ranking.weights.reply * _heard(scene, cosines)
    priors = priors_of(scene, asked=asked, ranking=ranking, now=now)
    parts = np.stack([worded.words, worded.context, worded.pairs, worded.phrases, meaning, reply, *priors], axis=1)
    scores = parts.sum(axis=1)
    # Whoever has a word of the question is told, however little the meaning fits.
    told = np.flatnonzero((said > 0) | ((near > _LEAST_ALIKE) & (meaning > 0)))
    numbers = np.array([passage.id for passage in candidates], dtype=np.int64)
    best = told[np.lexsort((-numbers[told], -scores[told]))]
    # One by one: few of them are ever told.
    for place in map(int, best):
        yield Scored._make((candidates[place], float(scores[place]), *parts[place].tolist(), float(near[place]), None))


def _heard(scene: Scene, cosines: Mapping[int, float]) -> Floats:
    """How near the question is that each candidate replies to."""
    near = np.array([*(cosines.get(row.id, 0.0) for row in scene.rows), 0.0], dtype=np.float32)
    return scene.replies * near[scene.beside[:, 0]]


def _bm25(counts: Floats, lengths: Floats, rarity: Floats, weights: Weights) -> Floats:
    k1, b = weights.saturation, weights.length
    norm = k1 * (1 - b + b * lengths)
    return (rarity * counts * (k1 + 1) / np.maximum(counts + norm[:, None], 1e-9)).sum(axis=1)


def _counts(scene: Scene, terms: Sequence[str], sought: Sought) -> Floats:
    """How often each row has each term; where it is missing, what its nearest kin there counts."""
    own = {term: column for column, term in enumerate(terms)}
    names = {name for who in {row.who for row in scene.rows} for name in who.split()}
    akin: dict[str, list[tuple[int, float]]] = {}
    for term in own.keys() & sought.kin.keys() - names:
        for other, share in sought.kin[term].items():
            if other not in names:
                akin.setdefault(other, []).append((own[term], share))
    counts = np.zeros((len(scene.rows), len(own)), dtype=np.float32)
    wanted = own.keys() | akin.keys()
    for place, row in enumerate(scene.rows):
        words = row.terms.split()
        said: dict[int, float] = {}
        for word in wanted.intersection(words):
            if word in own:
                said[own[word]] = words.count(word)
            else:
                for column, share in akin[word]:
                    # Of several kin the nearest counts, and the term itself, where it is there, counts alone.
                    if share > said.get(column, 0.0):
                        said[column] = share
        for column, count in said.items():
            counts[place, column] = count
    return counts


def _runs(texts: Sequence[str], pairs: Sequence[str], statistics: TermStatistics) -> Floats:
    """What pairs of the question's terms are worth that stand side by side; as rare as the rarer of the two."""
    worth = np.zeros(len(texts), dtype=np.float32)
    for pair in pairs:
        rarity = max(_idf(statistics, term) for term in pair.split())
        sought = f" {pair} "
        worth[[place for place, text in enumerate(texts) if sought in text]] += rarity
    return worth


def _having(texts: Sequence[str], phrases: Sequence[str]) -> Floats:
    return np.array([sum(f" {one} " in text for one in phrases) for text in texts], dtype=np.float32)


def _idf(statistics: TermStatistics, term: str) -> float:
    return idf(statistics.passages, statistics.frequencies.get(term, 0))
