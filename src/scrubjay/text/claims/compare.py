"""The relation of two statements: the same, more of the same, or contradictory. `compare` gives the label.

All callers go through `compare`, so that a trained model can replace the rules behind it.
"""

import re
from collections.abc import Sequence
from functools import lru_cache

from scrubjay.lazy import dataclass
from scrubjay.model.conflict import ConflictType, Strategy
from scrubjay.text.claims.differences import MOSTLY, StatementDiff, share_little
from scrubjay.text.claims.parse import DATE, NAME, WORD, ParsedStatement, parse_statement, plain_words_of
from scrubjay.text.claims.relations import find_relation_conflict
from scrubjay.text.claims.statements import comparison_key
from scrubjay.text.claims.words import NUMBER_WORDS

__all__ = [
    "DUPLICATE_FROM", "SAME", "UPDATE_FROM", "Finding", "compare", "compare_lists", "may_be_duplicate", "overlap_ratio",
]  # fmt: skip

_LETTERS = re.compile(r"[a-z]+")
# Shares of observations that two lists have in common, of the longer one: from here on they are duplicates, or updates.
DUPLICATE_FROM = 0.85
UPDATE_FROM = 0.30
# Statements with a lower cosine are about different things, whatever words they share.
_MIN_COSINE = 0.35
# From this cosine on two statements mean the same, unless the caller knows the value of its model.
SAME = 0.9
_NEARLY_ALL = 0.9
# So many meaningful words must be the same.
_MIN_SHARED = 2
# Statements in other words still have this much in common.
_HALF = 0.5
# From this cosine on the words alone decide on the confidence.
_HIGH_COSINE = 0.8
_BY_RELATION = 0.75
_BY_PART = 0.65
_MAX_CONFIDENCE, _MIN_CONFIDENCE = 0.95, 0.3
# Below this confidence no change is suggested.
_UNSURE = 0.6
# The highest confidence where a thing may happen twice, or have many values.
_MAYBE = 0.5


@dataclass(frozen=True, slots=True, kw_only=True)
class Finding:
    """The relation of two statements, its confidence from 0 to 1, the differences, and the suggested strategy."""

    type: ConflictType
    confidence: float
    differs: tuple[str, ...] = ()
    suggested: Strategy


def compare(first: str, second: str, *, cosine: float | None, same: float = SAME) -> Finding | None:
    """Return the relation of two statements; None if they are unrelated or simply go together.

    `cosine` is that of their vectors, None without vectors; from `same` on they say the same in other words.
    """
    if (key := _key(first)) == _key(second):
        return _duplicate(1.0) if key else None
    statement, is_near = parse_statement(first), cosine is not None and cosine >= same
    relation = find_relation_conflict(first, second)
    words = None if relation or is_near else plain_words_of(second)
    if words is not None and share_little(words.most_shared(statement), len(statement.tokens) + words.least):
        # Most pairs share so little that the second need not be parsed.
        return None
    other = parse_statement(second)
    # A question claims nothing.
    if statement.asks or other.asks:
        return None
    if cosine is not None and cosine < _MIN_COSINE and not relation:
        return None
    diff = StatementDiff.of(statement, other, closely=is_near)
    if diff and (contradiction := _find_contradiction(diff, cosine, single=bool(relation))):
        return contradiction
    if relation:
        return _contradiction(_BY_RELATION, (relation,))
    return diff and (_find_update(diff) or _find_duplicate(diff, cosine, same=same))


def may_be_duplicate(first: str, second: str, *, cosine: float | None, same: float = SAME) -> bool:
    """Check whether `compare` can find a duplicate, whichever comes first: for most pairs it cannot."""
    if (key := _key(first)) == _key(second):
        return bool(key)
    is_near = cosine is not None and cosine >= same
    other, words = parse_statement(second), plain_words_of(first)
    if not is_near and words is not None and not other.counted.keys() <= words.keys:
        return False
    statement = parse_statement(first)
    return (is_near or statement.counted == other.counted) and _names(statement) == _names(other)


# A search for conflicts compares one statement with many in a row, and each of those with several.
@lru_cache(maxsize=2_048)
def _key(statement: str) -> str:
    """Return a form in which case, space and the spelling of numbers do not count."""
    key = comparison_key(statement).casefold()
    if NUMBER_WORDS.keys().isdisjoint(_LETTERS.findall(key)):
        return key
    return _LETTERS.sub(lambda match: NUMBER_WORDS.get(match.group(), match.group()), key)


def overlap_ratio(first: Sequence[str], second: Sequence[str]) -> float:
    """Return the share of observations that two lists have in common, of the longer one, ignoring case and space."""
    keys, other_keys = ({" ".join(text.split()).casefold() for text in texts} for texts in (first, second))
    longer = max(len(keys), len(other_keys))
    return len(keys & other_keys) / longer if longer else 0.0


def compare_lists(first: Sequence[str], second: Sequence[str]) -> Finding | None:
    """Return the relation of two things by their observations: a duplicate or an update."""
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
    confidence = round(min(_MAX_CONFIDENCE, max(_MIN_CONFIDENCE, confidence)), 2)
    suggested = Strategy.SUPERSEDE if confidence >= _UNSURE else Strategy.IGNORE
    return Finding(type=ConflictType.CONTRADICTION, confidence=confidence, differs=tuple(differs), suggested=suggested)


def _find_contradiction(diff: StatementDiff, cosine: float | None, *, single: bool) -> Finding | None:
    """Return a contradiction if both cannot hold; `single` if their relation has one value at a time."""
    if not (diff.clashes or diff.denied or diff.turned):
        return None
    if diff.is_another_thing or diff.another_subject or diff.is_past:
        return None
    if (
        diff.statement.leader
        and diff.other.leader
        and diff.statement.leader != diff.other.leader
        and not diff.other_subject
    ):
        return None
    # A name has many forms: there the rest must be all the more alike.
    names_only = all(token.kind == NAME for token, _ in diff.clashes) and not diff.denied
    mostly = _NEARLY_ALL if names_only else MOSTLY
    if diff.likeness < mostly and diff.denies_part:
        return _contradiction(_BY_PART, (diff.denied,))
    if diff.likeness < mostly or diff.shared < diff.min_shared(single=single):
        return None
    differs = [
        f"{'state' if token.kind == other.kind == WORD else token.kind}: {token.text} or {other.text}"
        for token, other in diff.clashes
    ]
    differs += [*diff.turned, *([diff.denied] if diff.denied else [])]
    confidence = 0.6 + 0.35 * (diff.likeness - MOSTLY) / (1 - MOSTLY)
    confidence -= 0.1 * (len(differs) - 1) + 0.15 * diff.moved + 0.05 * diff.reworded
    if cosine is not None:
        confidence -= 0.2 * max(0.0, _HIGH_COSINE - cosine)
    if diff.other_subject or (diff.is_open and not single):
        confidence = min(confidence - 0.4, _MAYBE)
    return _contradiction(confidence, differs)


def _find_update(diff: StatementDiff) -> Finding | None:
    """Return an update if one says all that the other says, and more."""
    less, more = sorted((diff.left, diff.right), key=len)
    if diff.clashes or diff.denied or less or not more or not diff.is_alike:
        return None
    longer = max(len(diff.statement.tokens), len(diff.other.tokens))
    ratio = (longer - len(more)) / longer
    # Fewer shared tokens suffice where one statement begins with all of the other.
    begins_alike = diff.statement.tokens[: diff.shared] == diff.other.tokens[: diff.shared]
    if diff.shared < (_MIN_SHARED if begins_alike else _MIN_SHARED + 1) or ratio < UPDATE_FROM:
        return None
    return Finding(type=ConflictType.UPDATE, confidence=round(0.5 + 0.45 * ratio, 2), suggested=Strategy.UPDATE)


def _find_duplicate(diff: StatementDiff, cosine: float | None, *, same: float) -> Finding | None:
    """Return a duplicate if they say the same in other words."""
    if diff.clashes or diff.denied or _names(diff.statement) != _names(diff.other) or not diff.is_alike:
        return None
    if not diff.left and not diff.right and not diff.reworded and diff.shared >= _MIN_SHARED:
        return _find_reversed_order(diff) or (_duplicate(0.97) if diff.same_in_any_order else None)
    if cosine is None or cosine < same or diff.likeness < _HALF:
        return None
    return _duplicate(cosine) if all(token.kind == WORD for token in (*diff.left, *diff.right)) else None


def _find_reversed_order(diff: StatementDiff) -> Finding | None:
    """Return a contradiction for the same words the other way round: tea over coffee, coffee over tea."""
    words, others = (
        [token.text for token in statement.tokens if token.kind != DATE] for statement in (diff.statement, diff.other)
    )
    if not (diff.statement.compares and diff.other.compares) or words == others or sorted(words) != sorted(others):
        return None
    return _contradiction(_BY_RELATION, (f"order: {', '.join(words)} or {', '.join(others)}",))


def _names(statement: ParsedStatement) -> list[str]:
    return [token.key for token in statement.tokens if token.kind == NAME]
