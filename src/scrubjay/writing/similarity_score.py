"""When two texts say the same: how alike they are, by meaning and by words, and what they differ in all the same."""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import pairwise

from scrubjay.text.claims.extract import claims_of, count_extra_figures, find_differences
from scrubjay.text.related_words import related_terms
from scrubjay.text.tokens import STOP_WORDS, running_terms_of

__all__ = ["Sameness", "at_most", "exchanged", "overlap", "sameness"]

# How much the words count beside the cosine, and what a figure or day costs that only one of the texts has. Found with
# pairs that people have judged; a model's own threshold is found with the same scoring, by `scrubjay calibrate same`.
_WORDS = 0.1
_ONE_SIDED = 0.06
_MOST_ONE_SIDED = 2
_NOT_FAR = 0.5
# So few words make one clause, whose first one is who does it.
_ONE_CLAUSE = 6
_WORD = re.compile(r"\w+")
# From this closeness on one word may stand for another, and from that on nobody need be told: they mean the same.
_MAY_STAND_FOR = 0.6
_MEANS_THE_SAME = 0.75
# Small words, of which one is the opposite of the other.
_OPPOSITE = frozenset({frozenset({"in", "out"})})
# Enough to tell texts apart; longer ones are compared in pieces.
_MOST_TERMS = 200
_KNOWN_TERMS = 20_000


@dataclass(frozen=True, slots=True, kw_only=True)
class Sameness:
    """How alike two texts are, from 0 to 1, and in what they cannot both be right or mean the same, in words."""

    similarity: float
    differs: tuple[str, ...] = ()


def sameness(first: str, second: str, *, cosine: float) -> Sameness:
    """Compare two texts whose vectors have a known cosine."""
    claims, others = claims_of(first), claims_of(second)
    terms, other_terms = _terms(first), _terms(second)
    # What is far apart is so whatever its words are.
    words = overlap(terms, other_terms) if cosine >= _NOT_FAR else 0.0
    extra = min(count_extra_figures(claims, others), _MOST_ONE_SIDED)
    similarity = (cosine + _WORDS * words - _ONE_SIDED * extra) / (1 + _WORDS)
    differs = find_differences(claims, others) or _other_subject(terms, other_terms) or exchanged(first, second)
    return Sameness(similarity=min(1.0, max(0.0, similarity)), differs=differs)


def at_most(cosine: float) -> float:
    """The similarity that two texts of a cosine can have, whatever they say."""
    return min(1.0, max(0.0, (cosine + _WORDS) / (1 + _WORDS)))


def overlap(first: Sequence[str], second: Sequence[str]) -> float:
    """The share of terms that the other text has too or words akin to them, of the text that shares less."""
    if not first or not second:
        return float(not first and not second)
    return min(_covered(first, second), _covered(second, first))


def exchanged(first: str, second: str, *, strictly: bool = False) -> tuple[str, ...]:
    """The one name or word that stands in the place of another where all else is the same.

    What may stand for it is no difference; strictly, only what means the same is none.
    """
    words, others = _WORD.findall(first), _WORD.findall(second)
    if len(words) != len(others):
        return ()
    places = [at for at, pair in enumerate(zip(words, others, strict=True)) if pair[0] != pair[1]]
    pairs = {(words[at], others[at]) for at in places if words[at].casefold() != others[at].casefold()}
    if len(pairs) != 1:
        return ()
    one, other = pairs.pop()
    low = frozenset({one.lower(), other.lower()})
    # A sentence may begin with any word, but only with the small ones for no reason.
    small = places == [0] and low <= STOP_WORDS
    named = one[0].isupper() or other[0].isupper()
    if named and not small and (min(len(one), len(other)) > 1 or len(one) == len(other)):
        return (f"name: {one} or {other}",)
    enough = _MEANS_THE_SAME if strictly else _MAY_STAND_FOR
    apart = low in _OPPOSITE or (low.isdisjoint(STOP_WORDS) and _closeness(one, other) < enough)
    return (f"word: {one} or {other}",) if apart else ()


def _covered(terms: Sequence[str], others: Sequence[str]) -> float:
    # Sunglasses are sun glasses.
    known = {*others, *(one + other for one, other in pairwise(others))}
    written_apart = {part for one, other in pairwise(terms) if one + other in others for part in (one, other)}
    akin = [(other, _kin(other)) for other in others]
    return sum(
        1.0 if term in known or term in written_apart else _closest(term, akin) for term in terms
    ) / len(terms)  # fmt: skip


def _closest(term: str, akin: Sequence[tuple[str, dict[str, float]]]) -> float:
    """How near a term is to the nearest of others; each is known to some, and need not know them."""
    own = _kin(term)
    return max(max(own.get(other, 0.0), near.get(term, 0.0)) for other, near in akin)


def _other_subject(first: Sequence[str], second: Sequence[str]) -> tuple[str, ...]:
    """The same words in a short sentence, but another one does it: a dog bites a man, a man bites a dog."""
    if len(first) > _ONE_CLAUSE or first[:1] == second[:1] or set(first) != set(second):
        return ()
    return (f"order: {first[0]} or {second[0]}",)


def _closeness(one: str, other: str) -> float:
    terms, others = running_terms_of(one), running_terms_of(other)
    if not terms or not others or terms == others:
        return 1.0
    term, near = terms[0], others[0]
    return max(_kin(term).get(near, 0.0), _kin(near).get(term, 0.0))


@lru_cache(maxsize=_KNOWN_TERMS)
def _kin(term: str) -> dict[str, float]:
    return dict(related_terms(term))


@lru_cache(maxsize=64)
def _terms(text: str) -> tuple[str, ...]:
    return tuple(dict.fromkeys(running_terms_of(text)))[:_MOST_TERMS]
