"""Which known tag is meant by one that is not known: by how both are spelt, and how near they are in meaning."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import NamedTuple

from rapidfuzz.distance import DamerauLevenshtein

from scrubjay.text.related_words import is_word
from scrubjay.text.tags.builtin import DISTINCT, NO_PLURALS, PLAIN, VAGUE
from scrubjay.text.tags.spelling import FoldedTag, fold_tag, initials, tag_key
from scrubjay.text.tokens import running_terms_of

__all__ = ["TagMatch", "TagRelation", "best_match", "relate_tags"]


class TagRelation(StrEnum):
    """How a tag is related to one that is known, the surest first."""

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
    """A tag that is meant by another. What it `replaces` says no more than it; else the other stays beside it."""

    tag: str
    relation: TagRelation
    replaces: bool
    similarity: float | None = None


class _Terms(NamedTuple):
    """How near in meaning two tags must be, None for not at all; whether one then replaces the other."""

    cosine: float | None
    replaces: bool


# Chosen with some thousand synonyms, of which benchmarks/writing_tags.py measures the outcome.
_TERMS = {
    TagRelation.SAME: _Terms(None, replaces=True),
    TagRelation.ORDER: _Terms(None, replaces=True),
    TagRelation.FULL: _Terms(None, replaces=True),
    TagRelation.ACRONYM: _Terms(None, replaces=True),
    TagRelation.VERSION: _Terms(None, replaces=False),
    TagRelation.PLAIN: _Terms(0.6, replaces=True),
    TagRelation.FORM: _Terms(0.75, replaces=True),
    TagRelation.SLIP: _Terms(0.3, replaces=True),
    TagRelation.SLIPS: _Terms(0.75, replaces=True),
    TagRelation.PAIR: _Terms(0.5, replaces=True),
    TagRelation.DETAIL: _Terms(0.7, replaces=False),
    TagRelation.SPECIAL: _Terms(0.78, replaces=False),
    TagRelation.NAME: _Terms(0.65, replaces=False),
    TagRelation.KINDRED: _Terms(0.86, replaces=False),
    TagRelation.ALIKE: _Terms(0.82, replaces=False),
}
_SURE = (TagRelation.SAME, TagRelation.ORDER, TagRelation.FULL, TagRelation.ACRONYM)
# Another that is so much nearer in meaning makes a match doubtful.
_NEARER = 0.04
_ONE_SLIP, _TWO_SLIPS = 5, 8
_LONGEST_ACRONYM = 6
_SHORTEST_NAME = 2
_DISTINCT = frozenset(frozenset(map(tag_key, pair)) for pair in DISTINCT)


def best_match(tag: str, known: Sequence[str], *, cosines: Mapping[str, float] | None = None) -> TagMatch | None:
    """The one that is meant, if one is; without cosines only what the spelling proves."""
    found = [(one, kind) for one in known if (kind := relate_tags(tag, one)) is not None]
    near = cosines or {}
    for kind in _SURE:
        same = [one for one, its in found if its is kind]
        if same and not (kind is TagRelation.ACRONYM and (len(same) > 1 or cosines is None)):
            return _match(_nearest(same, near), kind, near)
    worth = [
        (near[one] - least, one, kind)
        for one, kind in found
        if one in near and (least := _TERMS[kind].cosine) is not None and near[one] >= least
    ]
    if not worth:
        versions = [one for one, kind in found if kind is TagRelation.VERSION]
        return _match(_nearest(versions, near), TagRelation.VERSION, near) if versions else None
    _, best, kind = max(worth)
    rivals = (value for one, value in near.items() if one != best and fold_tag(one).numbers == fold_tag(tag).numbers)
    return None if max(rivals, default=-1.0) > near[best] + _NEARER else _match(best, kind, near)


def relate_tags(tag: str, known: str) -> TagRelation | None:
    """How the spellings of two tags are related; None when they are of different things, as far as one can see."""
    one, other = fold_tag(tag), fold_tag(known)
    if one.key == other.key:
        return TagRelation.SAME
    if frozenset((one.key, other.key)) in _DISTINCT or _opposed(one, other):
        return None
    if one.full == other.full:
        return TagRelation.FULL
    if one.numbers != other.numbers:
        return _version(one, other)
    if sorted(one.words) == sorted(other.words):
        return TagRelation.ORDER
    return _by_words(one, other) or _by_letters(one, other) or _by_overlap(one, other)


def _match(tag: str, kind: TagRelation, near: Mapping[str, float]) -> TagMatch:
    return TagMatch(tag=tag, relation=kind, replaces=_TERMS[kind].replaces, similarity=near.get(tag))


def _nearest(tags: Sequence[str], near: Mapping[str, float]) -> str:
    # Of several versions the most exact: 8.1 is rather an 8 than none.
    return max(tags, key=lambda one: (len(fold_tag(one).numbers), near.get(one, 0.0), one))


def _opposed(one: FoldedTag, other: FoldedTag) -> bool:
    """Whether what they do not share is known to be different: `file-upload` is no `file-download`."""
    left, right = set(one.words) - set(other.words), set(other.words) - set(one.words)
    return any(frozenset((a, b)) in _DISTINCT for a in left for b in right)


def _version(one: FoldedTag, other: FoldedTag) -> TagRelation | None:
    """A version is a special case of what has none, or less of it; two versions are two things."""
    if one.words != other.words or not one.numbers or len(one.parts[0]) < _SHORTEST_NAME:
        return None
    return TagRelation.VERSION if one.numbers[: len(other.numbers)] == other.numbers else None


def _by_words(one: FoldedTag, other: FoldedTag) -> TagRelation | None:
    if _core(one, PLAIN) == other.key or _core(other, PLAIN) == one.key:
        return TagRelation.PLAIN
    if "".join(one.stems) == "".join(other.stems):
        return TagRelation.FORM
    for short, long in ((one, other), (other, one)):
        if len(short.words) == 1 and len(long.words) > 1 and short.words[0] in initials(long.words):
            size = len(short.words[0])
            return TagRelation.ACRONYM if 2 < size <= _LONGEST_ACRONYM else TagRelation.PAIR if size == 2 else None  # noqa: PLR2004
    return None


def _core(tag: FoldedTag, without: frozenset[str]) -> str:
    return "".join(part for part in tag.parts if part not in without)


def _by_letters(one: FoldedTag, other: FoldedTag) -> TagRelation | None:
    """Slips within one long word; short ones are too close to each other, and nobody mistakes the first letter."""
    if len(one.words) == len(other.words):
        pairs = [(a, b) for a, b in zip(one.words, other.words, strict=True) if a != b]
        if len(pairs) != 1:
            return None
        ((a, b),) = pairs
    else:
        a, b = one.key, other.key
    size = min(len(a), len(b))
    # A word of the language is meant as it stands: nobody writes stock for stack.
    if size < _ONE_SLIP or a[0] != b[0] or a in NO_PLURALS or is_word("".join(running_terms_of(a))):
        return None
    slips = DamerauLevenshtein.distance(a, b, score_cutoff=2)
    if slips == 1:
        return TagRelation.SLIP
    return TagRelation.SLIPS if slips == 2 and size >= _TWO_SLIPS else None  # noqa: PLR2004


def _by_overlap(one: FoldedTag, other: FoldedTag) -> TagRelation | None:
    mine, its = set(one.stems), set(other.stems)
    if its < mine:
        return TagRelation.DETAIL if set(one.words) - set(other.words) <= VAGUE | PLAIN else TagRelation.SPECIAL
    if mine < its:
        return TagRelation.NAME if _names(one, other) else None
    if mine & its:
        return TagRelation.KINDRED
    shorter, longer = sorted((one.key, other.key), key=len)
    return TagRelation.ALIKE if len(shorter) >= _ONE_SLIP and shorter in longer else None


def _names(one: FoldedTag, other: FoldedTag) -> bool:
    """Whether a tag is what people call another by: `pgvector` is `postgres-pgvector`, and `type` not `known-type`."""
    if one.numbers:
        return True
    is_end = other.words[-len(one.words) :] == one.words
    return (is_end or set(other.words) - set(one.words) <= VAGUE) and not all(map(is_word, one.stems))
