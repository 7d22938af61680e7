"""One score for each passage: BM25 over its terms, plus the weighted cosine as it is.

The cosine is added raw. When rare words match, the lexical part is large and meaning counts less; when no word
matches, meaning decides. Ranks would throw that information away.
"""

import math
from collections import Counter
from dataclasses import dataclass

import numpy as np

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
    cosines = _cosines(candidates)
    scored = [_score(passage, weights, average, cosines, candidates.weight) for passage in candidates.passages]
    return sorted((one for one in scored if one.score > 0), key=lambda one: (-one.score, -one.passage.id))


def _score(
    passage: StoredPassage, weights: dict[str, float], average: float, cosines: dict[bytes, float], weight: float
) -> Scored:
    counts = Counter(passage.terms)
    norm = _K1 * (1 - _B + _B * len(passage.terms) / max(1.0, average))
    matched = tuple(term for term in weights if term in counts)
    lexical = sum(weights[term] * counts[term] * (_K1 + 1) / (counts[term] + norm) for term in matched)
    cosine = cosines.get(passage.hash, 0.0)
    return Scored(passage=passage, score=lexical + weight * cosine, lexical=lexical, cosine=cosine, matched=matched)


def _term_weights(statistics: TermStatistics, terms: tuple[str, ...]) -> dict[str, float]:
    total = statistics.passages
    frequencies = statistics.frequencies
    return {
        term: math.log(1 + (total - frequencies[term] + 0.5) / (frequencies[term] + 0.5))
        for term in terms
        if term in frequencies
    }


def _cosines(candidates: Candidates) -> dict[bytes, float]:
    if candidates.query_vector is None or not candidates.vectors:
        return {}
    matrix = np.stack(list(candidates.vectors.values()))
    return dict(zip(candidates.vectors, (matrix @ candidates.query_vector).tolist(), strict=True))
