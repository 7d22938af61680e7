"""Which terms of a question are looked up, and what each tells: the same in every store."""

import math
from collections.abc import Mapping
from typing import NamedTuple

# A common word visits every passage that has it. So at least one rare word must be there, and the rare words stand
# in so many passages together at most; the common ones count only where a rare one stands too.
_RARE_PASSAGES = 3000


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
