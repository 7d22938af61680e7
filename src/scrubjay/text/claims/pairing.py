"""Which things of two statements belong together: those that exclude each other, and those that mean the same."""

from collections.abc import Callable, Collection, Mapping, Sequence
from difflib import SequenceMatcher
from functools import lru_cache

from scrubjay.text.claims.claim_words import AFFIXES, DAY_WORDS, LEADING, PLACES
from scrubjay.text.claims.opposites import PREPOSITIONS, opposite
from scrubjay.text.claims.reading import DATE, IDENTIFIER, LABEL, NAME, NUMBER, WORD, StatementToken
from scrubjay.text.dates.tokens import WEEKDAYS
from scrubjay.text.related_words import related_terms

__all__ = ["clash", "in_same_place", "lies_in", "may_stand_for", "paired", "rest_of", "same_name", "without"]

# Words this near in meaning may stand for each other.
_AKIN = 0.6
# Two spellings of one name.
_SPELLED_ALIKE = 0.72
_LONG_NAME = 5
_STEM = 4
_COUNTRIES = frozenset(PLACES.values())
_PLACING = frozenset({"in", "at", "to", "from"})
# They lead to the same kind of value: works at, works for.
_LEADING_ALIKE = {"for": "at", "into": "to"}


def without(tokens: Sequence[StatementToken], common: Mapping[str, int]) -> list[StatementToken]:
    """What is not common, the last of what is said more often."""
    rest = dict(common)
    found: list[StatementToken] = []
    for token in tokens:
        left = rest.get(token.key, 0)
        if left > 0:
            rest[token.key] = left - 1
        else:
            found.append(token)
    return found


def paired(
    left: Sequence[StatementToken],
    right: Sequence[StatementToken],
    fit: Callable[[StatementToken, StatementToken], bool],
) -> list[tuple[StatementToken, StatementToken]]:
    """Each with the first of the others of its kind that fits it."""
    free = list(right)
    found: list[tuple[StatementToken, StatementToken]] = []
    for token in left:
        other = next((one for one in free if one.kind == token.kind and fit(token, one)), None)
        if other is not None:
            free.remove(other)
            found.append((token, other))
    return found


def rest_of(
    left: list[StatementToken], right: list[StatementToken], pairs: Sequence[tuple[StatementToken, StatementToken]]
) -> tuple[list[StatementToken], list[StatementToken]]:
    left, right = list(left), list(right)
    for mine, its in pairs:
        left.remove(mine)
        right.remove(its)
    return left, right


def clash(mine: StatementToken, its: StatementToken) -> bool:
    """Whether two things of one kind exclude each other."""
    if mine.kind != its.kind or mine.kind == LABEL:
        return False
    if mine.kind == WORD:
        return opposite(mine.said, its.said) or _negated(mine.said, its.said) or _negated(its.said, mine.said)
    if len({_led(mine), _led(its)} - {""}) > 1:
        return False
    if mine.kind == NAME:
        return not same_name(mine.said, its.said) and not (mine.lead in _PLACING and lies_in(mine.said, its.said))
    parts, others = set(mine.key.split()), set(its.key.split())
    if parts <= others or others <= parts:
        return False
    return mine.kind == IDENTIFIER or not _forms(mine).isdisjoint(_forms(its))


def lies_in(one: str, other: str) -> bool:
    """Whether one of two places may lie in the other: a city in a country."""
    first, second = (
        any(PLACES.get(word, word) in _COUNTRIES for word in _plain(name).split()) for name in (one, other)
    )
    return first != second


def same_name(one: str, other: str) -> bool:
    """Whether two names may be one: in two spellings, cut short, or by their initials."""
    short, long = sorted((one, other), key=lambda name: (not name.isupper(), len(name)))
    initials = "".join(word[0] for word in long.split()).upper()
    if " " in long and " " not in short and short.isupper() and short.startswith(initials):
        return True
    return _spelled_alike(_plain(one), _plain(other))


def _plain(name: str) -> str:
    return " ".join(name.lower().split()).removesuffix("'s")


def _led(token: StatementToken) -> str:
    """The small word that leads to a value."""
    return _LEADING_ALIKE.get(token.lead, token.lead) if token.lead in PREPOSITIONS else ""


def _negated(word: str, plain: str) -> bool:
    return word.endswith(plain) and len(plain) >= _STEM and word[: -len(plain)] in AFFIXES


def _forms(token: StatementToken) -> set[str]:
    """How a figure or a day is told: what is told in another way may still be the same."""
    if token.kind == NUMBER:
        figure, _, unit = token.key.partition(" ")
        return {"ordinal"} if figure.endswith("th") else {unit}
    words = token.key.split()
    if ":" in token.key:
        return {"clock"}
    found = {"weekday"} if any(word in WEEKDAYS for word in words) else set[str]()
    if any(word in LEADING or (word in DAY_WORDS and word not in WEEKDAYS) for word in words):
        found.add("relative")
    return found or {"calendar"}


def may_stand_for(mine: StatementToken, its: StatementToken) -> bool:
    if mine.kind == NAME and its.kind == NAME:
        return _spelled_alike(mine.key, its.key)
    if mine.kind in (NUMBER, DATE) and mine.kind == its.kind:
        parts, others = set(mine.key.split()), set(its.key.split())
        return parts <= others or others <= parts
    return mine.kind == WORD and its.kind == WORD and _closeness(mine.key, its.key) >= _AKIN


def _spelled_alike(one: str, other: str) -> bool:
    """Whether two names may be one: in two spellings, or one of them cut short."""
    short, long = sorted((one, other), key=len)
    if short[0] != long[0]:
        return False
    if long.startswith(short):
        return True
    if len(short) < _LONG_NAME:
        return len(short) < _STEM and len(long) > _LONG_NAME and _runs_through(short, long)
    return SequenceMatcher(None, one, other).ratio() >= _SPELLED_ALIKE


def _runs_through(short: str, long: str) -> bool:
    letters = iter(long)
    return all(letter in letters for letter in short)


def in_same_place(
    tokens: Sequence[StatementToken],
    mine: StatementToken,
    others: Sequence[StatementToken],
    its: StatementToken,
    *,
    common: Collection[str],
) -> bool:
    """Whether two things stand beside the same ones."""
    before, after = _beside(tokens, mine, common)
    its_before, its_after = _beside(others, its, common)
    return before == its_before or after == its_after


def _beside(tokens: Sequence[StatementToken], token: StatementToken, common: Collection[str]) -> tuple[str, str]:
    """The nearest common things before and after one."""
    at = next(place for place, one in enumerate(tokens) if one is token)
    before = next((token.key for token in reversed(tokens[:at]) if token.key in common), "")
    after = next((token.key for token in tokens[at + 1 :] if token.key in common), "")
    return before, after


@lru_cache(maxsize=20_000)
def _closeness(one: str, other: str) -> float:
    return max(_kin(one).get(other, 0.0), _kin(other).get(one, 0.0))


@lru_cache(maxsize=2_048)
def _kin(term: str) -> dict[str, float]:
    return dict(related_terms(term))
