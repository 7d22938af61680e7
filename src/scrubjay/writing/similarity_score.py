"""How similar two texts are, by meaning and by words, and in what they differ nevertheless."""

import re
from collections.abc import Iterable, Mapping, Sequence
from functools import lru_cache
from itertools import pairwise

from scrubjay.lazy import dataclass
from scrubjay.text.claims.extract import claims_of, count_extra_figures, find_differences
from scrubjay.text.claims.pairs import value_differences, words_without_change
from scrubjay.text.related_words import related_terms
from scrubjay.text.tokens import STOP_WORDS, running_terms_of

__all__ = ["TextSimilarity", "compare_texts", "exchanged_word", "max_similarity", "overlap"]

# The weight of the words beside the cosine, and the cost of a figure or day that only one text has. Found with pairs
# judged by people; `scrubjay calibrate same` finds a model's own threshold with the same scoring.
_WORD_WEIGHT = 0.1
_ONE_SIDED_COST = 0.06
_MAX_ONE_SIDED = 2
_MIN_COSINE = 0.5
# More than what rounding makes of a share that is just enough.
_ROUNDING = 1e-9
# So few words make one clause, and the first of them is its subject.
_ONE_CLAUSE = 6
_WORD = re.compile(r"\w+")
# From this closeness on one word can replace another; from the second on they mean the same.
_REPLACEABLE = 0.6
_SYNONYMOUS = 0.75
# Stop words that are opposites.
_OPPOSITES = frozenset({frozenset({"in", "out"})})
# Enough to distinguish texts; longer ones are compared in passages.
_MAX_TERMS = 200
_CACHED_TERMS = 20_000
_CACHED_TEXTS = 2_048


@dataclass(frozen=True, slots=True, kw_only=True)
class TextSimilarity:
    """The similarity of two texts, from 0 to 1, and the differences that make them contradict or mean other things."""

    similarity: float
    differs: tuple[str, ...] = ()


def compare_texts(first: str, second: str, *, cosine: float, least: float = -1.0) -> TextSimilarity:
    """Compare two texts whose vectors have a known cosine; where they are less similar than `least`, roughly."""
    terms, other_terms = _terms(first), _terms(second)
    # Below the least cosine the words do not matter.
    least_words = (least * (1 + _WORD_WEIGHT) - cosine) / _WORD_WEIGHT - _ROUNDING
    words = overlap(terms, other_terms, least=least_words) if cosine >= _MIN_COSINE else 0.0
    most = (cosine + _WORD_WEIGHT * words) / (1 + _WORD_WEIGHT)
    if most < least:
        return TextSimilarity(similarity=max(0.0, most))
    claims, other_claims = claims_of(first), claims_of(second)
    one_sided = min(count_extra_figures(claims, other_claims), _MAX_ONE_SIDED)
    similarity = (cosine + _WORD_WEIGHT * words - _ONE_SIDED_COST * one_sided) / (1 + _WORD_WEIGHT)
    if similarity < least:
        return TextSimilarity(similarity=max(0.0, similarity))
    differs = (
        find_differences(claims, other_claims)
        # Claims are read in English only.
        or value_differences(first, second)
        or _swapped_subject(terms, other_terms)
        or exchanged_word(first, second)
    )
    return TextSimilarity(similarity=min(1.0, max(0.0, similarity)), differs=differs)


def max_similarity(cosine: float) -> float:
    """Return the greatest similarity that two texts of a cosine can have."""
    return min(1.0, max(0.0, (cosine + _WORD_WEIGHT) / (1 + _WORD_WEIGHT)))


def overlap(first: Sequence[str], second: Sequence[str], *, least: float = 0.0) -> float:
    """Return the share of terms that occur, or have a related word, in the other text.

    It is the lesser of both shares, or one that is less than `least`.
    """
    if not first or not second:
        return float(not first and not second)
    own, other = _vocabulary(tuple(first)), _vocabulary(tuple(second))
    share = _covered(first, own, other)
    return share if share < least else min(share, _covered(second, other, own))


def exchanged_word(first: str, second: str, *, is_strict: bool = False) -> tuple[str, ...]:
    """Return the one name or word that differs where all others are the same.

    Words that can replace each other are no difference; with `is_strict`, only synonyms are none. A word for a change,
    such as "now", is none of the others.
    """
    words, others = _WORD.findall(first), _WORD.findall(second)
    if len(words) != len(others):
        words, others = words_without_change(first), words_without_change(second)
    if len(words) != len(others):
        return ()
    places = [at for at, pair in enumerate(zip(words, others, strict=True)) if pair[0] != pair[1]]
    pairs = {(words[at], others[at]) for at in places if words[at].casefold() != others[at].casefold()}
    if len(pairs) != 1:
        return ()
    word, other = pairs.pop()
    lower = frozenset({word.lower(), other.lower()})
    # At the beginning of a sentence a stop word has a capital without being a name.
    is_stop_word = places == [0] and lower <= STOP_WORDS
    is_name = word[0].isupper() or other[0].isupper()
    if is_name and not is_stop_word and (min(len(word), len(other)) > 1 or len(word) == len(other)):
        return (f"name: {word} or {other}",)
    enough = _SYNONYMOUS if is_strict else _REPLACEABLE
    differs = lower in _OPPOSITES or (lower.isdisjoint(STOP_WORDS) and _closeness(word, other) < enough)
    return (f"word: {word} or {other}",) if differs else ()


@dataclass(frozen=True, slots=True)
class _Vocabulary:
    """The terms of a text, and what they cover of another one."""

    terms: frozenset[str]
    # Two neighbours written as one: "sunglasses" covers "sun glasses", and the reverse.
    joined: Mapping[str, tuple[tuple[str, str], ...]]
    # The terms that are listed as related to one of them, each with its greatest closeness.
    related: Mapping[str, float]


# Each text is compared with several.
@lru_cache(maxsize=_CACHED_TEXTS)
def _vocabulary(terms: tuple[str, ...]) -> _Vocabulary:
    joined: dict[str, tuple[tuple[str, str], ...]] = {}
    for first, second in pairwise(terms):
        joined[first + second] = (*joined.get(first + second, ()), (first, second))
    related: dict[str, float] = {}
    for term in terms:
        listed = _related_terms(term)
        # Most terms are listed at one of them only, so that few are compared by a loop of Python.
        closer = {other: related[other] for other in related.keys() & listed.keys() if related[other] > listed[other]}
        related.update(listed)
        if closer:
            related.update(closer)
    return _Vocabulary(frozenset(terms), joined, related)


def _covered(terms: Sequence[str], own: _Vocabulary, other: _Vocabulary) -> float:
    """Return the share of a text's terms that another text covers."""
    split = {part for joined in own.joined.keys() & other.terms for pair in own.joined[joined] for part in pair}
    # A relation may be listed at either of two terms. Of most texts, no term lists one of the other text.
    listed = own.related.keys() & other.terms
    shares = [
        1.0
        if term in other.terms or term in other.joined or term in split
        else max(other.related.get(term, 0.0), _closest(term, listed) if listed else 0.0)
        for term in terms
    ]
    return sum(shares) / len(shares)


def _closest(term: str, others: Iterable[str]) -> float:
    """Return how close the closest of other terms is by those that one term lists."""
    related = _related_terms(term)
    return max([related.get(other, 0.0) for other in others])


def _swapped_subject(first: Sequence[str], second: Sequence[str]) -> tuple[str, ...]:
    """Detect a short sentence of the same words with another subject: a dog bites a man, a man bites a dog."""
    if len(first) > _ONE_CLAUSE or first[:1] == second[:1] or set(first) != set(second):
        return ()
    return (f"order: {first[0]} or {second[0]}",)


def _closeness(word: str, other: str) -> float:
    terms, other_terms = running_terms_of(word), running_terms_of(other)
    if not terms or not other_terms or terms == other_terms:
        return 1.0
    term, other_term = terms[0], other_terms[0]
    return max(_related_terms(term).get(other_term, 0.0), _related_terms(other_term).get(term, 0.0))


@lru_cache(maxsize=_CACHED_TERMS)
def _related_terms(term: str) -> dict[str, float]:
    return dict(related_terms(term))


@lru_cache(maxsize=_CACHED_TEXTS)
def _terms(text: str) -> tuple[str, ...]:
    return tuple(dict.fromkeys(running_terms_of(text)))[:_MAX_TERMS]
