"""The difference of two statements: tokens that both have, tokens that exclude each other, and the rest."""

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import replace
from difflib import SequenceMatcher
from functools import lru_cache
from typing import NamedTuple

from scrubjay.lazy import dataclass
from scrubjay.text.claims.parse import (
    DATE,
    IDENTIFIER,
    LABEL,
    NAME,
    NUMBER,
    WORD,
    ParsedStatement,
    StatementToken,
)
from scrubjay.text.claims.words import (
    DAY_WORDS,
    DETERMINERS,
    NEGATING_PREFIXES,
    PERIOD_LEADS,
    PLACES,
    PREPOSITIONS,
    REVERSALS,
    are_opposites,
    may_exclude,
)
from scrubjay.text.dates.tokens import WEEKDAYS
from scrubjay.text.related_words import related_terms

__all__ = ["MOSTLY", "StatementDiff", "are_same_name", "exclude_each_other", "may_contain", "share_little"]

MOSTLY = 0.84
"""So much of two statements must be the same, except for the contradiction."""

# Statements that share less than this are not compared token by token.
_MIN_SHARED_RATIO = 0.4
# So many tokens must be the same, and so many where both statements may hold: that two people do the same, or one does
# it twice, is no contradiction; the same in many particulars is one.
_MIN_SHARED = 2
_MIN_SHARED_BY_OTHERS = 5
_MIN_SHARED_BY_MANY = 4
_MIN_SHARED_BY_TIMES = 3
# An event with so many particulars hardly happened twice.
_PARTICULARS = 6
# Words this close in meaning may replace each other.
_MIN_CLOSENESS = 0.6
# Two spellings of one name.
_MIN_SPELLING_RATIO = 0.72
_LONG_NAME = 5
_STEM = 4
_COUNTRIES = frozenset(PLACES.values())
_PLACING = frozenset({"in", "at", "to", "from"})
# They lead to the same kind of value: works at, works for.
_SAME_LEADS = {"for": "at", "into": "to"}
_Pair = tuple[StatementToken, StatementToken]


@dataclass(frozen=True, slots=True, kw_only=True)
class StatementDiff:
    """What two statements share, and what only one of them says.

    `clashes` are pairs of values of one kind in the same place, or in another place (`moved`) where all else is the
    same; `reworded` counts pairs of words that may replace each other; `left` and `right` are the rest.
    """

    statement: ParsedStatement
    other: ParsedStatement
    shared: int
    left: tuple[StatementToken, ...]
    right: tuple[StatementToken, ...]
    clashes: tuple[_Pair, ...] = ()
    reworded: int = 0
    moved: bool = False

    @classmethod
    def of(cls, statement: ParsedStatement, other: ParsedStatement, *, closely: bool) -> "StatementDiff | None":
        """Compare two statements; None where they share little, unless `closely`, or have nothing to be found."""
        counts, others = statement.counted, other.counted
        common = {key: min(counts[key], others[key]) for key in counts.keys() & others.keys()}
        shared = sum(common.values())
        if not closely and share_little(shared, len(statement.tokens) + len(other.tokens)):
            return None
        left, right = _without(statement.tokens, common), _without(other.tokens, common)
        candidates = _pair(_without_neutral(left, right), _without_neutral(right, left), exclude_each_other) or []
        clashes = [
            (first, second)
            for first, second in candidates
            if _neighbours(statement.tokens, first, common).share_with(_neighbours(other.tokens, second, common))
        ]
        moved = not clashes and len(left) == len(right) == len(candidates) == 1
        clashes = candidates if moved else clashes
        left, right = _remove_pairs(left, right, clashes)
        diff = cls(
            statement=statement, other=other, shared=shared, left=tuple(left), right=tuple(right),
            clashes=tuple(clashes), moved=moved,
        )  # fmt: skip
        if not clashes and (not left or not right):
            return diff
        least = diff._least_reworded(closely=closely)
        reworded = None if least is None else _pair(left, right, _may_replace, least=least)
        if reworded is None:
            return None
        left, right = _remove_pairs(left, right, reworded)
        return replace(diff, left=tuple(left), right=tuple(right), reworded=len(reworded)) if reworded else diff

    def _least_reworded(self, *, closely: bool) -> int | None:
        """Return how much of the rest must be said in other words for `compare` to find anything; None if it cannot.

        For most pairs it cannot, or the first few words show it.
        """
        if not self.clashes and self.is_alike and (closely or _covers(self.left, self.right)):
            return 0
        statement, other = self.statement, self.other
        if self.clashes:
            may_contradict = not self.is_another_thing
        else:
            may_contradict = bool(statement.denials or other.denials) or statement.turns != other.turns
        if not may_contradict:
            return None
        rest, tokens = len(self.left) + len(self.right), len(statement.tokens) + len(other.tokens)
        return next(
            (
                pairs
                for pairs in range(min(len(self.left), len(self.right)) + 1)
                if 1 - (rest - 2 * pairs) / tokens >= MOSTLY
            ),
            None,
        )

    @property
    def denials(self) -> tuple[str, ...]:
        """The words of denial that only one of them has."""
        fewer, more = sorted((self.statement.denials, self.other.denials), key=len)
        return more[len(fewer) :]

    @property
    def denied(self) -> str:
        """A description of what one statement denies and the other does not."""
        if len(self.statement.denials) != len(self.other.denials):
            return f"negation: one says {max(self.statement.denials, self.other.denials, key=len)[-1]}"
        return self._crossed

    @property
    def _crossed(self) -> str:
        """A description of two denials of the same verb with different objects."""
        if len(self.statement.denied) != len(self.other.denied):
            return ""
        for first, second in zip(self.statement.denied, self.other.denied, strict=True):
            (verb, _, thing), (other_verb, _, other_thing) = first.partition(" "), second.partition(" ")
            if self._differs_in_denial_only and verb == other_verb and thing and other_thing and thing != other_thing:
                return f"negation: not {first} or not {second}"
        return ""

    @property
    def _differs_in_denial_only(self) -> bool:
        """Whether the statements differ in a plain not and in nothing else."""
        plain = all(
            word in ("not", "never") or word.endswith("n't") for word in (*self.statement.denials, *self.other.denials)
        )
        return plain and not (self.left or self.right or self.clashes or self.reworded)

    @property
    def turned(self) -> tuple[str, ...]:
        """Descriptions of the small words that are reversed where all else is the same: on, off."""
        if self.left or self.right:
            return ()
        turns, other_turns = self.statement.turns - self.other.turns, self.other.turns - self.statement.turns
        return tuple(f"state: {word} or {REVERSALS[word]}" for word in sorted(turns) if REVERSALS[word] in other_turns)

    @property
    def other_subject(self) -> bool:
        """Whether the statements differ in their subject only."""
        if len(self.clashes) != 1 or self.denied or not (self.statement.leader and self.other.leader):
            return False
        first, second = self.clashes[0]
        return (first.key, second.key) == (self.statement.leader, self.other.leader)

    @property
    def is_another_thing(self) -> bool:
        """Whether they are about two of many: the first step, the second step; or two times with different events."""
        if any(token.kind == LABEL for token in (*self.left, *self.right)):
            return True
        values = {(first.key, second.key) for first, second in self.clashes if first.kind != WORD}
        # Two differences make two things: what is denied of one may hold of the other.
        flips = len(self.denials) % 2 + len({first.key for first, _ in self.clashes if first.kind == WORD})
        return len(values) + flips > 1 or (not values and flips == 0 and not self.turned and not self._crossed)

    @property
    def is_past(self) -> bool:
        """Whether one statement is about the past and the other denies it for the present: both hold."""
        affirming, denying = sorted((self.statement, self.other), key=lambda statement: len(statement.denials))
        return bool(self.denials) and affirming.happened and not denying.happened

    @property
    def another_subject(self) -> bool:
        """Whether the things with the values differ as well: Ada's cat is three, Ada's dog is four."""
        for first, second in self.clashes:
            if first.kind == WORD:
                if _describes_subject(first, self.statement) and _describes_subject(second, self.other):
                    return True
            elif self._differ_before(first, second):
                return True
        has_opposites = any(first.kind == WORD for first, _ in self.clashes)
        return bool(self.reworded and self.shared < _MIN_SHARED_BY_MANY and (self.denied or has_opposites))

    def _differ_before(self, first: StatementToken, second: StatementToken) -> bool:
        common = self.statement.counted.keys() & self.other.counted.keys()
        sides = ((first, self.statement.tokens), (second, self.other.tokens))
        return all(
            any(before.key not in common and before.kind != DATE for before in tokens[: _position(token, tokens)])
            for token, tokens in sides
        )

    @property
    def is_open(self) -> bool:
        """Whether another value alone is no contradiction: for a past event, or where many values are possible."""
        kinds = {first.kind for first, _ in self.clashes}
        if kinds <= {WORD}:
            return False
        if kinds & {NAME, IDENTIFIER}:
            return True
        happened, lists = (self.statement.happened and self.other.happened), (self.statement.lists and self.other.lists)
        return (happened or lists) and self.shared < _PARTICULARS

    def min_shared(self, *, single: bool) -> int:
        """Return how many tokens both must have."""
        if self.other_subject:
            return _MIN_SHARED_BY_OTHERS
        if self.is_open and not single:
            times = self.statement.happened and all(first.kind in (NUMBER, DATE) for first, _ in self.clashes)
            return _MIN_SHARED_BY_TIMES if times else _MIN_SHARED_BY_MANY
        return _MIN_SHARED if self.left or self.right else 1

    @property
    def denies_part(self) -> bool:
        """Whether the shorter one denies a part of the longer one."""
        sides = ((self.statement, self.left), (self.other, self.right))
        (short, rest), (long, _) = sorted(sides, key=lambda side: len(side[0].tokens))
        more = len(short.denials) > len(long.denials) and short.leader == long.leader
        return (
            more
            and not rest
            and not self.clashes
            and not self.reworded
            and self.shared - (short.leader in short.counted) >= _MIN_SHARED
        )

    @property
    def likeness(self) -> float:
        """The share of both that is the same except for the clashes, from 0 to 1."""
        return 1 - (len(self.left) + len(self.right)) / max(1, len(self.statement.tokens) + len(self.other.tokens))

    @property
    def same_in_any_order(self) -> bool:
        """Whether the order of the same words does not matter; Ada calls Boris is not Boris calls Ada."""
        keys, others = (
            [token.key for token in statement.tokens if token.kind != DATE]
            for statement in (self.statement, self.other)
        )
        rotated = any(keys[at:] + keys[:at] == others for at in range(1, len(keys)))
        return (
            keys == others
            or rotated
            or (self.statement.lists_up and self.other.lists_up)
            or self.statement.passive != self.other.passive
        )

    @property
    def is_alike(self) -> bool:
        """Whether both have the same subject, tense and modality, and deny the same."""
        statement, other = self.statement, self.other
        if statement.happened != other.happened or statement.modals != other.modals:
            return False
        # A statement need not name the user.
        leader, other_leader = (each.leader if each.names_another else "" for each in (statement, other))
        return leader == other_leader and sorted(statement.denied) == sorted(other.denied)


def _covers(left: Sequence[StatementToken], right: Sequence[StatementToken]) -> bool:
    """Return whether each token of the shorter side may be replaced by one of the other side."""
    if len(left) <= len(right):
        return all(any(_may_replace(token, other) for other in right) for token in left)
    return all(any(_may_replace(other, token) for other in left) for token in right)


def share_little(shared: int, tokens: int) -> bool:
    """Return whether two statements that share so many of their tokens are not compared token by token."""
    return 2 * shared < _MIN_SHARED_RATIO * tokens


def _describes_subject(token: StatementToken, statement: ParsedStatement) -> bool:
    """Return whether a word says which one the statement is about: the old server, her brother."""
    first = token in statement.tokens[:_MIN_SHARED]
    return first and (token.lead == "'s" or token.lead in DETERMINERS) and token is not statement.tokens[-1]


def _without(tokens: Sequence[StatementToken], common: Mapping[str, int]) -> list[StatementToken]:
    """Return the tokens that are not common; of a repeated one, the last."""
    rest = dict(common)
    remaining: list[StatementToken] = []
    for token in tokens:
        left = rest.get(token.key, 0)
        if left > 0:
            rest[token.key] = left - 1
        else:
            remaining.append(token)
    return remaining


def _without_neutral(tokens: Sequence[StatementToken], others: Sequence[StatementToken]) -> list[StatementToken]:
    """Drop the words that exclude none of the others: of two that do, one at least has an opposite."""
    if any(other.kind == WORD and may_exclude(other.text) for other in others):
        return list(tokens)
    return [token for token in tokens if token.kind != WORD or may_exclude(token.text)]


def _pair(
    left: Sequence[StatementToken],
    right: Sequence[StatementToken],
    fit: Callable[[StatementToken, StatementToken], bool],
    *,
    least: int = 0,
) -> list[_Pair] | None:
    """Pair each token with the first free one of its kind that fits; None if there are fewer pairs than `least`."""
    free = list(right)
    pairs: list[_Pair] = []
    for remaining, token in zip(range(len(left), 0, -1), left, strict=True):
        if len(pairs) + min(remaining, len(free)) < least:
            return None
        for other in free:
            if other.kind == token.kind and fit(token, other):
                free.remove(other)
                pairs.append((token, other))
                break
    return pairs if len(pairs) >= least else None


def _remove_pairs(
    left: list[StatementToken], right: list[StatementToken], pairs: Sequence[_Pair]
) -> tuple[list[StatementToken], list[StatementToken]]:
    left, right = list(left), list(right)
    for first, second in pairs:
        left.remove(first)
        right.remove(second)
    return left, right


class _Neighbours(NamedTuple):
    """The nearest common tokens before and after a token."""

    before: str
    after: str

    def share_with(self, other: "_Neighbours") -> bool:
        """Return whether two tokens are in the same place of their statements."""
        return self.before == other.before or self.after == other.after


def _neighbours(tokens: Sequence[StatementToken], token: StatementToken, common: Collection[str]) -> _Neighbours:
    before, after, is_before = "", "", True
    for other in tokens:
        if other is token:
            is_before = False
        elif other.key in common:
            if not is_before:
                after = other.key
                break
            before = other.key
    return _Neighbours(before, after)


def _position(token: StatementToken, tokens: Sequence[StatementToken]) -> int:
    return next(at for at, other in enumerate(tokens) if other is token)


# The same names and figures are compared again and again.
@lru_cache(maxsize=20_000)
def exclude_each_other(token: StatementToken, other: StatementToken) -> bool:
    """Return whether two tokens of one kind cannot both be true."""
    if token.kind != other.kind or token.kind == LABEL:
        return False
    if token.kind == WORD:
        return (
            are_opposites(token.text, other.text)
            or _negates(token.text, other.text)
            or _negates(other.text, token.text)
        )
    if len({_preposition(token), _preposition(other)} - {""}) > 1:
        return False
    if token.kind == NAME:
        return not are_same_name(token.text, other.text) and not (
            token.lead in _PLACING and may_contain(token.text, other.text)
        )
    parts, others = set(token.key.split()), set(other.key.split())
    if parts <= others or others <= parts:
        return False
    return token.kind == IDENTIFIER or not _forms(token).isdisjoint(_forms(other))


def may_contain(place: str, other: str) -> bool:
    """Return whether one of two places may contain the other: a country, a city."""
    first, second = (
        any(PLACES.get(word, word) in _COUNTRIES for word in _plain_name(name).split()) for name in (place, other)
    )
    return first != second


def are_same_name(first: str, second: str) -> bool:
    """Return whether two names may be one: in two spellings, cut short, or by their initials."""
    short, long = sorted((first, second), key=lambda name: (not name.isupper(), len(name)))
    initials = "".join(word[0] for word in long.split()).upper()
    if " " in long and " " not in short and short.isupper() and short.startswith(initials):
        return True
    return _are_spellings(_plain_name(first), _plain_name(second))


def _plain_name(name: str) -> str:
    return " ".join(name.lower().split()).removesuffix("'s")


def _preposition(token: StatementToken) -> str:
    return _SAME_LEADS.get(token.lead, token.lead) if token.lead in PREPOSITIONS else ""


def _negates(word: str, plain: str) -> bool:
    return word.endswith(plain) and len(plain) >= _STEM and word[: -len(plain)] in NEGATING_PREFIXES


def _forms(token: StatementToken) -> set[str]:
    """Return the forms of a figure or a day: in different forms, two may be the same."""
    if token.kind == NUMBER:
        figure, _, unit = token.key.partition(" ")
        return {"ordinal"} if figure.endswith("th") else {unit}
    words = token.key.split()
    if ":" in token.key:
        return {"clock"}
    forms = {"weekday"} if any(word in WEEKDAYS for word in words) else set[str]()
    if any(word in PERIOD_LEADS or (word in DAY_WORDS and word not in WEEKDAYS) for word in words):
        forms.add("relative")
    return forms or {"calendar"}


def _may_replace(token: StatementToken, other: StatementToken) -> bool:
    if token.kind == NAME and other.kind == NAME:
        return _are_spellings(token.key, other.key)
    if token.kind in (NUMBER, DATE) and token.kind == other.kind:
        parts, others = set(token.key.split()), set(other.key.split())
        return parts <= others or others <= parts
    return token.kind == WORD and other.kind == WORD and _closeness(token.key, other.key) >= _MIN_CLOSENESS


def _are_spellings(first: str, second: str) -> bool:
    """Return whether two names may be one: in two spellings, or one of them cut short."""
    short, long = sorted((first, second), key=len)
    if short[0] != long[0]:
        return False
    if long.startswith(short):
        return True
    if len(short) < _LONG_NAME:
        letters = iter(long)
        return len(short) < _STEM and len(long) > _LONG_NAME and all(letter in letters for letter in short)
    return SequenceMatcher(None, first, second).ratio() >= _MIN_SPELLING_RATIO


@lru_cache(maxsize=20_000)
def _closeness(term: str, other: str) -> float:
    return max(_related_terms(term).get(other, 0.0), _related_terms(other).get(term, 0.0))


@lru_cache(maxsize=2_048)
def _related_terms(term: str) -> dict[str, float]:
    return dict(related_terms(term))
