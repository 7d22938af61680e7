"""What two statements are to each other: the same, more of the same, or such that they cannot both hold."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache

from scrubjay.model.conflict import ConflictType, Strategy
from scrubjay.text.claims.differences import StatementDiff
from scrubjay.text.claims.reading import DATE, NAME, WORD, ParsedStatement, StatementToken, parse_statement
from scrubjay.text.claims.relations import find_relation_conflict
from scrubjay.text.claims.statements import comparison_key

__all__ = ["DUPLICATE_FROM", "SAME", "UPDATE_FROM", "Finding", "compare", "compare_lists", "overlap_ratio"]

# Of two lists of observations the share that both have, of the longer one: from here on they are one, or go together.
DUPLICATE_FROM = 0.85
UPDATE_FROM = 0.30
# Statements this far apart are about different things, whatever words they share.
_FAR = 0.35
# Said in other words: so near that they mean the same, unless the caller knows better of its model.
SAME = 0.9
# So much of two statements must be the same, but for what they differ in.
_MOSTLY = 0.84
_NEARLY_ALL = 0.9
# So many telling words must be the same.
_SHARED = 2
# What is said in other words has this much in common all the same.
_HALF = 0.5
# From this cosine on the words alone decide how sure it is.
_NEAR = 0.8
_BY_RELATION = 0.75
_BY_PART = 0.65
_SUREST, _LEAST_SURE = 0.95, 0.3
# Below this nobody should act on it unasked; so sure at most is what may happen twice, or have many values.
_UNSURE = 0.6
_MAYBE = 0.5


@dataclass(frozen=True, slots=True, kw_only=True)
class Finding:
    """What two statements are to each other, how sure that is from 0 to 1, in what they differ, and what to do."""

    type: ConflictType
    confidence: float
    differs: tuple[str, ...] = ()
    suggested: Strategy


def compare(first: str, second: str, *, cosine: float | None, same: float = SAME) -> Finding | None:
    """What two statements are to each other; None if they have nothing to do with each other, or simply go together.

    `cosine` is that of their vectors, None where there are none; from `same` on they say the same in other words.
    """
    if (key := _key(first)) == _key(second):
        return _duplicate(1.0) if key else None
    one, other = parse_statement(first), parse_statement(second)
    # A question claims nothing.
    if one.asks or other.asks:
        return None
    value = find_relation_conflict(first, second)
    if cosine is not None and cosine < _FAR and not value:
        return None
    apart = StatementDiff.of(one, other, closely=cosine is not None and cosine >= same)
    if found := _contradicts(apart, cosine, single=bool(value)):
        return found
    if value:
        return _contradiction(_BY_RELATION, (value,))
    return _adds(apart) or _is_the_same(apart, cosine, same=same)


# Whoever looks for conflicts compares one statement with many, one after the other.
@lru_cache(maxsize=256)
def _key(statement: str) -> str:
    return comparison_key(statement).casefold()


def overlap_ratio(first: Sequence[str], second: Sequence[str]) -> float:
    """The share of observations that two lists have in common, of the longer one; case and white space do not count."""
    mine, others = ({" ".join(text.split()).casefold() for text in texts} for texts in (first, second))
    longer = max(len(mine), len(others))
    return len(mine & others) / longer if longer else 0.0


def compare_lists(first: Sequence[str], second: Sequence[str]) -> Finding | None:
    """What two things are to each other by what is observed of them: one thing told twice, or one told further."""
    ratio = overlap_ratio(first, second)
    if ratio > DUPLICATE_FROM:
        return _duplicate(ratio)
    if ratio < UPDATE_FROM:
        return None
    return Finding(type=ConflictType.UPDATE, confidence=round(ratio, 2), suggested=Strategy.UPDATE)


def _duplicate(confidence: float) -> Finding:
    confidence = round(min(1.0, confidence), 2)
    return Finding(type=ConflictType.DUPLICATE, confidence=confidence, suggested=Strategy.MERGE)


def _contradiction(confidence: float, differs: Sequence[str]) -> Finding:
    confidence = round(min(_SUREST, max(_LEAST_SURE, confidence)), 2)
    suggested = Strategy.SUPERSEDE if confidence >= _UNSURE else Strategy.IGNORE
    return Finding(type=ConflictType.CONTRADICTION, confidence=confidence, differs=tuple(differs), suggested=suggested)


def _contradicts(apart: StatementDiff, cosine: float | None, *, single: bool) -> Finding | None:
    """That they cannot both hold, if they cannot; `single` if what they tell of has one value at a time."""
    if not (apart.clashes or apart.denied or apart.turned):
        return None
    if apart.another_one or apart.another_subject or apart.bygone:
        return None
    if apart.one.leader and apart.other.leader and apart.one.leader != apart.other.leader and not apart.other_subject:
        return None
    # Names are told in many ways: there the rest must be all the more alike.
    mostly = _NEARLY_ALL if all(mine.kind == NAME for mine, _ in apart.clashes) and not apart.denied else _MOSTLY
    if apart.likeness < mostly and apart.denies_part:
        return _contradiction(_BY_PART, (apart.denied,))
    if apart.likeness < mostly or apart.shared < apart.needed(single=single):
        return None
    differs = [f"{_named(mine, its)}: {mine.said} or {its.said}" for mine, its in apart.clashes]
    differs += [*apart.turned, *([apart.denied] if apart.denied else [])]
    confidence = 0.6 + 0.35 * (apart.likeness - _MOSTLY) / (1 - _MOSTLY)
    confidence -= 0.1 * (len(differs) - 1) + 0.15 * apart.moved + 0.05 * apart.reworded
    if cosine is not None:
        confidence -= 0.2 * max(0.0, _NEAR - cosine)
    if apart.other_subject or (apart.is_open and not single):
        confidence = min(confidence - 0.4, _MAYBE)
    return _contradiction(confidence, differs)


def _adds(apart: StatementDiff) -> Finding | None:
    """That one says all that the other says, and more."""
    less, more = sorted((apart.left, apart.right), key=len)
    if apart.clashes or apart.denied or less or not more or not apart.is_alike:
        return None
    longer = max(len(apart.one.tokens), len(apart.other.tokens))
    ratio = (longer - len(more)) / longer
    # Where one begins with all of the other, that says enough.
    least = _SHARED if apart.one.tokens[: apart.shared] == apart.other.tokens[: apart.shared] else _SHARED + 1
    if apart.shared < least or ratio < UPDATE_FROM:
        return None
    return Finding(type=ConflictType.UPDATE, confidence=round(0.5 + 0.45 * ratio, 2), suggested=Strategy.UPDATE)


def _is_the_same(apart: StatementDiff, cosine: float | None, *, same: float) -> Finding | None:
    """That they say the same in other words."""
    if apart.clashes or apart.denied or _names(apart.one) != _names(apart.other) or not apart.is_alike:
        return None
    if not apart.left and not apart.right and not apart.reworded and apart.shared >= _SHARED:
        return _in_other_order(apart) or (_duplicate(0.97) if apart.says_the_same_of_each else None)
    if cosine is None or cosine < same or apart.likeness < _HALF:
        return None
    return _duplicate(cosine) if all(token.kind == WORD for token in (*apart.left, *apart.right)) else None


def _in_other_order(apart: StatementDiff) -> Finding | None:
    """The same words, but the other way round: tea over coffee, coffee over tea."""
    mine, its = ([token.said for token in one.tokens if token.kind != DATE] for one in (apart.one, apart.other))
    if not (apart.one.compares and apart.other.compares) or mine == its or sorted(mine) != sorted(its):
        return None
    return _contradiction(_BY_RELATION, (f"order: {', '.join(mine)} or {', '.join(its)}",))


def _names(reading: ParsedStatement) -> list[str]:
    return [token.key for token in reading.tokens if token.kind == NAME]


def _named(mine: StatementToken, its: StatementToken) -> str:
    return "state" if mine.kind == its.kind == WORD else mine.kind
