"""The tag in use that a new tag means: by the spelling of both, and by how close they are in meaning."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from enum import StrEnum
from functools import lru_cache
from heapq import nlargest
from math import log, sqrt
from typing import NamedTuple

from rapidfuzz.distance import DamerauLevenshtein

from scrubjay.lazy import dataclass
from scrubjay.text.fuzzy import grams_of
from scrubjay.text.related_words import is_word
from scrubjay.text.tags.spelling import NO_PLURALS, TAG_WORDS, FoldedTag, fold_tag, initials, tag_key
from scrubjay.text.tokens import running_terms_of

__all__ = ["TagMatch", "TagRelation", "TagVocabulary", "best_match", "relate_tags"]

_CACHE_SIZE = 8_192


class TagRelation(StrEnum):
    """How a tag is related to one in use, the surest first."""

    SAME = "the same in another spelling"
    ORDER = "the same words in another order"
    FULL = "the same with an abbreviation"
    ACRONYM = "its initials or what they stand for"
    VERSION = "a version of it"
    PLAIN = "the same but for a word that says little"
    FORM = "another form of the same word"
    SLIP = "a slip of the keyboard"
    SLIPS = "two slips of the keyboard"
    PAIR = "two letters for it"
    DETAIL = "a detail of it"
    SPECIAL = "a special case of it"
    NAME = "a part of its name"
    KINDRED = "much the same in other words"
    ALIKE = "nearly the same"


@dataclass(frozen=True, slots=True, kw_only=True)
class TagMatch:
    """The tag in use that another tag means; unless it `replaces` the other, a memory has both."""

    tag: str
    relation: TagRelation
    replaces: bool
    similarity: float | None = None


class _Rule(NamedTuple):
    """The least similarity in meaning, None if none is needed, and whether one tag then replaces the other."""

    cosine: float | None
    replaces: bool


# Chosen with a thousand synonyms; benchmarks/writing_tags.py measures the outcome.
_RULES = {
    TagRelation.SAME: _Rule(None, replaces=True),
    TagRelation.ORDER: _Rule(None, replaces=True),
    TagRelation.FULL: _Rule(None, replaces=True),
    TagRelation.ACRONYM: _Rule(None, replaces=True),
    TagRelation.VERSION: _Rule(None, replaces=False),
    TagRelation.PLAIN: _Rule(0.6, replaces=True),
    TagRelation.FORM: _Rule(0.75, replaces=True),
    TagRelation.SLIP: _Rule(0.3, replaces=True),
    TagRelation.SLIPS: _Rule(0.75, replaces=True),
    TagRelation.PAIR: _Rule(0.5, replaces=True),
    TagRelation.DETAIL: _Rule(0.7, replaces=False),
    TagRelation.SPECIAL: _Rule(0.84, replaces=False),
    TagRelation.NAME: _Rule(0.65, replaces=False),
    TagRelation.KINDRED: _Rule(0.86, replaces=False),
    TagRelation.ALIKE: _Rule(0.82, replaces=False),
}
_SURE = (TagRelation.SAME, TagRelation.ORDER, TagRelation.FULL, TagRelation.ACRONYM)
# Another tag that is closer in meaning by this much makes a match doubtful.
_RIVAL_MARGIN = 0.04
_ONE_ERROR_LENGTH, _TWO_ERRORS_LENGTH = 5, 8
_MAX_ACRONYM = 6
_MIN_NAME = 2
_PLAIN = TAG_WORDS.words("plain")
_VAGUE = TAG_WORDS.words("vague")
_DISTINCT = frozenset(frozenset(map(tag_key, pair)) for pair in TAG_WORDS.pairs("distinct"))


def best_match(tag: str, existing: Sequence[str], *, cosines: Mapping[str, float] | None = None) -> TagMatch | None:
    """Return the tag in use that is meant, if one is; without cosines only if the spelling proves it."""
    related = [(other, relation) for other in existing if (relation := relate_tags(tag, other)) is not None]
    similarity = cosines or {}
    for relation in _SURE:
        same = [other for other, its in related if its is relation]
        if same and not (relation is TagRelation.ACRONYM and (len(same) > 1 or cosines is None)):
            return _match(_closest(same, similarity), relation, similarity)
    candidates = [
        (similarity[other] - least, other, relation)
        for other, relation in related
        if other in similarity and (least := _RULES[relation].cosine) is not None and similarity[other] >= least
    ]
    if not candidates:
        versions = [other for other, relation in related if relation is TagRelation.VERSION]
        return _match(_closest(versions, similarity), TagRelation.VERSION, similarity) if versions else None
    _, best, relation = max(candidates)
    numbers = fold_tag(tag).numbers
    rivals = (cosine for other, cosine in similarity.items() if other != best and fold_tag(other).numbers == numbers)
    is_doubtful = max(rivals, default=-1.0) > similarity[best] + _RIVAL_MARGIN
    return None if is_doubtful else _match(best, relation, similarity)


def relate_tags(tag: str, existing: str) -> TagRelation | None:
    """Return how the spellings of two tags are related; None when they seem to name different things."""
    folded, other = fold_tag(tag), fold_tag(existing)
    if folded.key == other.key:
        return TagRelation.SAME
    if frozenset((folded.key, other.key)) in _DISTINCT or _are_opposed(folded, other):
        return None
    if folded.full == other.full:
        return TagRelation.FULL
    if folded.numbers != other.numbers:
        # A version is a special case of the tag without one, or with fewer numbers; two versions are two things.
        if folded.words != other.words or not folded.numbers or len(folded.parts[0]) < _MIN_NAME:
            return None
        return TagRelation.VERSION if folded.numbers[: len(other.numbers)] == other.numbers else None
    if sorted(folded.words) == sorted(other.words):
        return TagRelation.ORDER
    return _relate_words(folded, other) or _relate_letters(folded, other) or _relate_overlap(folded, other)


def _match(tag: str, relation: TagRelation, similarity: Mapping[str, float]) -> TagMatch:
    return TagMatch(tag=tag, relation=relation, replaces=_RULES[relation].replaces, similarity=similarity.get(tag))


def _closest(tags: Sequence[str], similarity: Mapping[str, float]) -> str:
    # The most exact of several versions: 8.1 belongs to 8 rather than to no version.
    return max(tags, key=lambda tag: (len(fold_tag(tag).numbers), similarity.get(tag, 0.0), tag))


def _are_opposed(tag: FoldedTag, other: FoldedTag) -> bool:
    """Return whether the words that differ are different things: `file-upload` is no `file-download`."""
    left, right = set(tag.words) - set(other.words), set(other.words) - set(tag.words)
    return any(frozenset((a, b)) in _DISTINCT for a in left for b in right)


def _relate_words(tag: FoldedTag, other: FoldedTag) -> TagRelation | None:
    if _without_plain(tag) == other.key or _without_plain(other) == tag.key:
        return TagRelation.PLAIN
    if "".join(tag.stems) == "".join(other.stems):
        return TagRelation.FORM
    for short, long in ((tag, other), (other, tag)):
        if len(short.words) == 1 and len(long.words) > 1 and short.words[0] in initials(long.words):
            size = len(short.words[0])
            if 2 < size <= _MAX_ACRONYM:  # noqa: PLR2004
                return TagRelation.ACRONYM
            return TagRelation.PAIR if size == 2 else None  # noqa: PLR2004
    return None


def _without_plain(tag: FoldedTag) -> str:
    return "".join(part for part in tag.parts if part not in _PLAIN)


def _relate_letters(tag: FoldedTag, other: FoldedTag) -> TagRelation | None:
    """Find typing errors in one long word: short words are too close to each other, and the first letter is right."""
    if len(tag.words) == len(other.words):
        pairs = [(a, b) for a, b in zip(tag.words, other.words, strict=True) if a != b]
        if len(pairs) != 1:
            return None
        ((a, b),) = pairs
    else:
        a, b = tag.key, other.key
    size = min(len(a), len(b))
    # A common word is no typing error: stock is not meant as stack.
    if size < _ONE_ERROR_LENGTH or a[0] != b[0] or a in NO_PLURALS or is_word("".join(running_terms_of(a))):
        return None
    errors = DamerauLevenshtein.distance(a, b, score_cutoff=2)
    if errors == 1:
        return TagRelation.SLIP
    return TagRelation.SLIPS if errors == 2 and size >= _TWO_ERRORS_LENGTH else None  # noqa: PLR2004


def _relate_overlap(tag: FoldedTag, other: FoldedTag) -> TagRelation | None:
    stems, others = set(tag.stems), set(other.stems)
    if others < stems:
        is_detail = set(tag.words) - set(other.words) <= _VAGUE | _PLAIN
        return TagRelation.DETAIL if is_detail else TagRelation.SPECIAL
    if stems < others:
        return TagRelation.NAME if _is_short_name(tag, other) else None
    if stems & others:
        return TagRelation.KINDRED
    shorter, longer = sorted((tag.key, other.key), key=len)
    return TagRelation.ALIKE if len(shorter) >= _ONE_ERROR_LENGTH and shorter in longer else None


def _is_short_name(tag: FoldedTag, other: FoldedTag) -> bool:
    """Return whether a tag is a short name of another: `pgvector` of `postgres-pgvector`, no `type` of `a-type`."""
    if tag.numbers:
        return True
    is_end = other.words[-len(tag.words) :] == tag.words
    return (is_end or set(other.words) - set(tag.words) <= _VAGUE) and not all(map(is_word, tag.stems))


# Sets that keep their order: a result must not depend on how Python hashes strings.
_Tags = dict[str, None]


class TagVocabulary:
    """The tags in use, to find those that share letters, words or initials with another."""

    def __init__(self, tags: Sequence[str] = ()) -> None:
        self._features: dict[str, frozenset[str]] = {}
        self._by_feature: dict[str, _Tags] = {}
        self._by_initials: dict[str, _Tags] = {}
        self.follow(tags)

    def __len__(self) -> int:
        return len(self._features)

    def __contains__(self, tag: object) -> bool:
        return tag in self._features

    def follow(self, tags: Sequence[str]) -> None:
        """Hold these tags and no others; tags that stay cost next to nothing."""
        current = set(tags)
        for tag in [tag for tag in self._features if tag not in current]:
            for feature in self._features.pop(tag):
                _discard(self._by_feature, feature, tag)
            for letters in _initials_of(tag):
                _discard(self._by_initials, letters, tag)
        for tag in tags:
            if tag not in self._features:
                self._features[tag] = features = _features_of(tag)
                for feature in features:
                    self._by_feature.setdefault(feature, {})[tag] = None
                for letters in _initials_of(tag):
                    self._by_initials.setdefault(letters, {})[tag] = None

    def nearest(self, tag: str, *, limit: int) -> list[str]:
        """Return the tags that share the most with a tag, after its abbreviations and its long forms."""
        sums: dict[str, float] = {}
        for feature in sorted(_features_of(tag)):
            if tags := self._by_feature.get(feature):
                weight = log(1 + len(self._features) / len(tags))
                for other in tags:
                    sums[other] = sums.get(other, 0.0) + weight
        scores = {other: total / sqrt(len(self._features[other])) for other, total in sums.items()}
        best = nlargest(limit, scores, key=lambda other: (scores[other], other))
        return [other for other in dict.fromkeys([*self._abbreviations(tag, limit=limit), *best]) if other != tag]

    def _abbreviations(self, tag: str, *, limit: int) -> Iterable[str]:
        folded = fold_tag(tag)
        if len(folded.words) == 1:
            return sorted(self._by_initials.get(folded.words[0], ()))[:limit]
        numbers = "".join(folded.numbers)
        short_forms = sorted({letters + numbers for letters in _initials_of(tag)})
        return [short for short in short_forms if short in self._features]


# Each transaction has a vocabulary of its own, made from the same tags.
@lru_cache(maxsize=_CACHE_SIZE)
def _features_of(tag: str) -> frozenset[str]:
    """Return trigrams, words and stems; a sign keeps words and stems apart from trigrams."""
    folded = fold_tag(tag)
    words, stems = (f"={part}" for part in folded.parts), (f"~{stem}" for stem in folded.stems)
    return frozenset((*grams_of(folded.key), *words, *stems))


def _initials_of(tag: str) -> Iterator[str]:
    words = fold_tag(tag).words
    return iter(dict.fromkeys(initials(words) if len(words) > 1 else ()))


def _discard(index: dict[str, _Tags], name: str, tag: str) -> None:
    tags = index[name]
    del tags[tag]
    if not tags:
        del index[name]
