"""One score for each passage: BM25 over its terms, plus the weighted cosine as it is.

The cosine is added raw. When rare words match, the lexical part is large and meaning counts less; when no word
matches, meaning decides. Ranks would throw that information away.
"""

import math
from dataclasses import dataclass

from scrubjay.model.passage import StoredPassage
from scrubjay.ports import TermStatistics
from scrubjay.recalling.candidates import Candidates

# Memories are short: a low k1 and b keep a repeated word, or a long passage, from deciding.
_K1 = 0.9
_B = 0.3


@dataclass(frozen=True, slots=True, kw_only=True)
class Scored:
    """A passage with its score and where it comes from."""

    passage: StoredPassage
    score: float
    lexical: float
    cosine: float
    matched: tuple[str, ...]


def fuse(candidates: Candidates, terms: tuple[str, ...]) -> list[Scored]:
    """The candidates that speak for themselves, best first; ties go to the newest."""
    weights = _term_weights(candidates.statistics, terms)
    average = candidates.statistics.total_length / max(1, candidates.statistics.passages)
    cosines, weight = candidates.cosines, candidates.weight
    scored = [
        _score(passage, weights, average, cosines.get(passage.id, 0.0), weight) for passage in candidates.passages
    ]
    return sorted((one for one in scored if one.score > 0), key=lambda one: (-one.score, -one.passage.id))


def _score(passage: StoredPassage, weights: dict[str, float], average: float, cosine: float, weight: float) -> Scored:
    terms = passage.terms
    norm = _K1 * (1 - _B + _B * len(terms) / max(1.0, average))
    lexical = 0.0
    matched: list[str] = []
    # Counting the few terms of the question is ten times faster than counting all terms of the passage.
    for term, importance in weights.items():
        if count := terms.count(term):
            lexical += importance * count * (_K1 + 1) / (count + norm)
            matched.append(term)
    return Scored(
        passage=passage, score=lexical + weight * cosine, lexical=lexical, cosine=cosine, matched=tuple(matched)
    )


def _term_weights(statistics: TermStatistics, terms: tuple[str, ...]) -> dict[str, float]:
    total = statistics.passages
    frequencies = statistics.frequencies
    return {
        term: math.log(1 + (total - frequencies[term] + 0.5) / (frequencies[term] + 0.5))
        for term in terms
        if term in frequencies
    }
