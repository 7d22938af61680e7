"""Which terms of a question are looked up, and what each tells: the same in every store."""

import math
from collections.abc import Mapping, Sequence
from typing import NamedTuple

# A common word visits every passage that has it. So at least one rare word must be there, and the rare words stand
# in so many passages together at most; the common ones count only where a rare one stands too.
_RARE_PASSAGES = 3000
# The same where each group of terms should be there: more is visited, so that fewer are passed over.
_SOUGHT_PASSAGES = 20_000


class Weighed(NamedTuple):
    """A term, how many passages have it, and what having it tells."""

    term: str
    passages: int
    weight: float


def weigh(frequencies: Mapping[str, int], *, total: int) -> list[Weighed]:
    """The terms that occur at all, rarest first."""
    weighed = [Weighed(term, passages, math.log(1 + total / passages)) for term, passages in frequencies.items()]
    return sorted(weighed, key=lambda one: one.passages)


def rare_of(weighed: list[Weighed]) -> list[Weighed]:
    """At least one term, and as many as stand in few enough passages together."""
    visited = 0
    for place, one in enumerate(weighed):
        visited += one.passages
        if place and visited > _RARE_PASSAGES:
            return weighed[:place]
    return weighed


class WeighedGroup(NamedTuple):
    """Terms of which any one will do, how many passages have one at most, and what having one tells."""

    terms: tuple[str, ...]
    passages: int
    weight: float


def weigh_groups(
    groups: Sequence[Sequence[str]], frequencies: Mapping[str, int], *, total: int
) -> tuple[list[WeighedGroup], list[WeighedGroup]]:
    """The groups that occur at all, rarest first: at least one that is looked up by itself, and the common ones."""
    known = [tuple(term for term in dict.fromkeys(group) if frequencies.get(term)) for group in groups]
    counted = [(terms, min(total, sum(frequencies[term] for term in terms))) for terms in known if terms]
    weighed = [WeighedGroup(terms, passages, math.log(1 + total / passages)) for terms, passages in counted]
    weighed.sort(key=lambda one: one.passages)
    visited = 0
    for place, one in enumerate(weighed):
        visited += one.passages
        if place and visited > _SOUGHT_PASSAGES:
            return weighed[:place], weighed[place:]
    return weighed, []
