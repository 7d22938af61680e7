"""Lexical search, as far as it is the same in every store: weights of terms, and names that resemble a reference."""

import math
from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

from rapidfuzz import fuzz, process

from scrubjay.text.slug import slug

# A lookup of a common term visits every passage that has it. So a passage must have at least one rare term, rare terms
# have at most so many passages together, and common terms count only in passages with a rare one.
_RARE_PASSAGES = 3000
# The same for groups of terms: more passages are visited, so that fewer matches are missed.
_RARE_GROUP_PASSAGES = 20_000
_MIN_SIMILARITY = 60


class WeightedTerm(NamedTuple):
    """A term, how many passages have it, and its weight in a passage."""

    term: str
    passages: int
    weight: float


class WeightedGroup(NamedTuple):
    """Alternative terms, how many passages have one of them at most, and the weight of a match."""

    terms: tuple[str, ...]
    passages: int
    weight: float


def weigh_terms(frequencies: Mapping[str, int], *, total: int) -> list[WeightedTerm]:
    """Return the terms that occur at all, rarest first; equally rare ones in order, however the store returns them."""
    weighted = [WeightedTerm(term, passages, math.log(1 + total / passages)) for term, passages in frequencies.items()]
    return sorted(weighted, key=lambda term: (term.passages, term.term))


def rare_terms(weighted: list[WeightedTerm]) -> list[WeightedTerm]:
    """Return the first terms: at least one, and as many as few enough passages have together."""
    visited = 0
    for position, term in enumerate(weighted):
        visited += term.passages
        if position and visited > _RARE_PASSAGES:
            return weighted[:position]
    return weighted


def weigh_groups(
    groups: Sequence[Sequence[str]], frequencies: Mapping[str, int], *, total: int
) -> tuple[list[WeightedGroup], list[WeightedGroup]]:
    """Return the groups that occur at all, rarest first: the rare ones, at least one, and the common ones."""
    existing = [tuple(term for term in dict.fromkeys(group) if frequencies.get(term)) for group in groups]
    counted = [(terms, min(total, sum(frequencies[term] for term in terms))) for terms in existing if terms]
    weighted = [WeightedGroup(terms, passages, math.log(1 + total / passages)) for terms, passages in counted]
    weighted.sort(key=lambda group: group.passages)
    visited = 0
    for position, group in enumerate(weighted):
        visited += group.passages
        if position and visited > _RARE_GROUP_PASSAGES:
            return weighted[:position], weighted[position:]
    return weighted, []


def similar_names(ref: str, names: Iterable[str], *, limit: int) -> tuple[str, ...]:
    """Return the names that resemble a reference most; equally similar ones in alphabetical order."""
    # The order in which a store returns names may depend on other spaces.
    candidates = sorted(set(names))
    best = process.extract(slug(ref), candidates, scorer=fuzz.WRatio, limit=limit, score_cutoff=_MIN_SIMILARITY)
    return tuple(name for name, _, _ in best)
