"""One score for each passage: BM25 over its terms, plus the weighted cosine as it is.

The cosine is added raw. When rare words match, the lexical part is large and meaning counts less; when no word
matches, meaning decides. Ranks would throw that information away.
"""

import math
from typing import NamedTuple

from scrubjay.model.passage import StoredPassage
from scrubjay.ports import TermStatistics
from scrubjay.recalling.candidates import Candidates

# Memories are short: a low k1 and b keep a repeated word, or a long passage, from deciding.
_K1 = 0.9
_B = 0.3


class Scored(NamedTuple):
    """A passage with its score and where it comes from."""

    passage: StoredPassage
    score: float
    lexical: float
    cosine: float


def fuse(candidates: Candidates, terms: tuple[str, ...]) -> list[Scored]:
    """The candidates that speak for themselves, best first; ties go to the newest."""
    weights = _term_weights(candidates.statistics, terms)
    average = max(1.0, candidates.statistics.total_length / max(1, candidates.statistics.passages))
    cosines, weight = candidates.cosines, candidates.weight
    scored: list[Scored] = []
    for passage in candidates.passages:
        lexical, cosine = _lexical(passage.terms, weights, average), cosines.get(passage.id, 0.0)
        # Whoever has a word of the question is told, however little the meaning fits.
        if (score := lexical + weight * cosine) > 0 or lexical > 0:
            scored.append(Scored(passage, score, lexical, cosine))
    return sorted(scored, key=lambda one: (-one.score, -one.passage.id))


def _lexical(terms: tuple[str, ...], weights: list[tuple[str, float]], average: float) -> float:
    norm = _K1 * (1 - _B + _B * len(terms) / average)
    total = 0.0
    # Counting the few terms of the question is ten times faster than counting all terms of the passage.
    for term, importance in weights:
        if term in terms:
            count = terms.count(term)
            total += importance * count * (_K1 + 1) / (count + norm)
    return total


def _term_weights(statistics: TermStatistics, terms: tuple[str, ...]) -> list[tuple[str, float]]:
    total = statistics.passages
    frequencies = statistics.frequencies
    return [
        (term, math.log(1 + (total - frequencies[term] + 0.5) / (frequencies[term] + 0.5)))
        for term in terms
        if term in frequencies
    ]
