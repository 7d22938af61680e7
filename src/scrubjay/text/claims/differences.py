"""Two statements beside each other: what they have in common, what excludes each other, and what only one says."""

from collections.abc import Sequence
from dataclasses import dataclass

from scrubjay.text.claims.opposites import DETERMINERS, TURNS
from scrubjay.text.claims.pairing import clash, in_same_place, may_stand_for, paired, rest_of, without
from scrubjay.text.claims.reading import DATE, IDENTIFIER, LABEL, NAME, NUMBER, WORD, ParsedStatement, StatementToken

__all__ = ["StatementDiff"]

# What shares less than this is not told apart word by word.
_WORTH_A_LOOK = 0.4
# So many telling words must be the same, and so many where both may hold: that two people do the same, or one does it
# twice, is no news; that they do so in all particulars is.
_SHARED = 2
_SHARED_BY_OTHERS = 5
_SHARED_BY_MANY = 4
_SHARED_BY_TIMES = 3
# What is told in so many particulars hardly happened twice.
_PARTICULARS = 6


@dataclass(frozen=True, slots=True, kw_only=True)
class StatementDiff:
    """What two statements have in common, and what only one of them says.

    `clashes` are the values of one kind that stand in the same place, or in another (`moved`) where all else is the
    same; `reworded` words may stand for each other; `left` and `right` are what remains.
    """

    one: ParsedStatement
    other: ParsedStatement
    shared: int
    left: tuple[StatementToken, ...]
    right: tuple[StatementToken, ...]
    clashes: tuple[tuple[StatementToken, StatementToken], ...] = ()
    reworded: int = 0
    moved: bool = False

    @classmethod
    def of(cls, one: ParsedStatement, other: ParsedStatement, *, closely: bool) -> "StatementDiff":
        """Compare two readings; unless closely, those that share little are not looked at any further."""
        others = other.counted
        common = {key: min(count, others[key]) for key, count in one.counted.items() if key in others}
        shared = sum(common.values())
        if not closely and 2 * shared < _WORTH_A_LOOK * (len(one.tokens) + len(other.tokens)):
            return cls(one=one, other=other, shared=shared, left=one.tokens, right=other.tokens)
        left, right = without(one.tokens, common), without(other.tokens, common)
        candidates = paired(left, right, clash)
        clashes = [
            (mine, its)
            for mine, its in candidates
            if in_same_place(one.tokens, mine, other.tokens, its, common=common.keys())
        ]
        moved = not clashes and len(left) == len(right) == len(candidates) == 1
        clashes = candidates if moved else clashes
        left, right = rest_of(left, right, clashes)
        reworded = paired(left, right, may_stand_for)
        left, right = rest_of(left, right, reworded)
        return cls(
            one=one, other=other, shared=shared, clashes=tuple(clashes), left=tuple(left), right=tuple(right),
            reworded=len(reworded), moved=moved,
        )  # fmt: skip

    @property
    def denials(self) -> tuple[str, ...]:
        """The words for no that only one of them has."""
        fewer, more = sorted((self.one.denials, self.other.denials), key=len)
        return more[len(fewer) :]

    @property
    def denied(self) -> str:
        """What one says that is not so in the other, in words."""
        if len(self.one.denials) != len(self.other.denials):
            return f"negation: one says {max(self.one.denials, self.other.denials, key=len)[-1]}"
        return self._crossed

    @property
    def _crossed(self) -> str:
        """What is not done is the same, but to what it is not done is not."""
        if len(self.one.denied) != len(self.other.denied):
            return ""
        for mine, its in zip(self.one.denied, self.other.denied, strict=True):
            (verb, _, what), (its_verb, _, other) = mine.partition(" "), its.partition(" ")
            if self._is_plain and verb == its_verb and what and other and what != other:
                return f"negation: not {mine} or not {its}"
        return ""

    @property
    def _is_plain(self) -> bool:
        """Whether nothing but a not is told apart."""
        plain = all(
            word in ("not", "never") or word.endswith("n't") for word in (*self.one.denials, *self.other.denials)
        )
        return plain and not (self.left or self.right or self.clashes or self.reworded)

    @property
    def turned(self) -> tuple[str, ...]:
        """The small words that are turned round where all else is the same: on, off."""
        if self.left or self.right:
            return ()
        mine, its = self.one.turns - self.other.turns, self.other.turns - self.one.turns
        return tuple(f"state: {word} or {TURNS[word]}" for word in sorted(mine) if TURNS[word] in its)

    @property
    def other_subject(self) -> bool:
        """Whether all that differs is whom it is about."""
        if len(self.clashes) != 1 or self.denied or not (self.one.leader and self.other.leader):
            return False
        mine, its = self.clashes[0]
        return (mine.key, its.key) == (self.one.leader, self.other.leader)

    @property
    def another_one(self) -> bool:
        """Whether two of many are told of: the first step, the second step; or two times, each with what was then."""
        if any(token.kind == LABEL for token in (*self.left, *self.right)):
            return True
        values = {(mine.key, its.key) for mine, its in self.clashes if mine.kind != WORD}
        # What is not so of one thing goes with what is so of another; and who differs in two things tells of two.
        flips = len(self.denials) % 2 + len({mine.key for mine, _ in self.clashes if mine.kind == WORD})
        return len(values) + flips > 1 or (not values and flips == 0 and not self.turned and not self._crossed)

    @property
    def bygone(self) -> bool:
        """Whether what one says was so is not so any more in the other: both hold."""
        affirming, denying = sorted((self.one, self.other), key=lambda one: len(one.denials))
        return bool(self.denials) and affirming.happened and not denying.happened

    @property
    def another_subject(self) -> bool:
        """Whether what a value is told of differs as well: Ada's cat is three, Ada's dog is four."""
        for mine, its in self.clashes:
            if mine.kind == WORD:
                if all(_is_of_subject(token, one) for token, one in ((mine, self.one), (its, self.other))):
                    return True
            elif self._differ_before(mine, its):
                return True
        return bool(self.reworded and self.shared < _SHARED_BY_MANY and (self.denied or self._opposed))

    def _differ_before(self, mine: StatementToken, its: StatementToken) -> bool:
        common = self.one.counted.keys() & self.other.counted.keys()
        sides = ((mine, self.one.tokens), (its, self.other.tokens))
        return all(
            any(one.key not in common and one.kind != DATE for one in _before(token, tokens)) for token, tokens in sides
        )

    @property
    def _opposed(self) -> bool:
        return any(mine.kind == WORD for mine, _ in self.clashes)

    @property
    def is_open(self) -> bool:
        """Whether another value is no contradiction as such: what happened before, and what can have many values."""
        kinds = {mine.kind for mine, _ in self.clashes}
        if kinds <= {WORD}:
            return False
        if kinds & {NAME, IDENTIFIER}:
            return True
        happened, lists = (self.one.happened and self.other.happened), (self.one.lists and self.other.lists)
        return (happened or lists) and self.shared < _PARTICULARS

    def needed(self, *, single: bool) -> int:
        """How many things must be said by both."""
        if self.other_subject:
            return _SHARED_BY_OTHERS
        if self.is_open and not single:
            times = self.one.happened and all(mine.kind in (NUMBER, DATE) for mine, _ in self.clashes)
            return _SHARED_BY_TIMES if times else _SHARED_BY_MANY
        return _SHARED if self.left or self.right else 1

    @property
    def denies_part(self) -> bool:
        """Whether the shorter one denies what the longer one says besides other things."""
        sides = ((self.one, self.left), (self.other, self.right))
        (short, rest), (long, _) = sorted(sides, key=lambda side: len(side[0].tokens))
        more = len(short.denials) > len(long.denials) and short.leader == long.leader
        return (
            more
            and not rest
            and not self.clashes
            and not self.reworded
            and self.shared - (short.leader in short.counted) >= _SHARED
        )

    @property
    def likeness(self) -> float:
        """How much of both is the same but for the clashes, from 0 to 1."""
        return 1 - (len(self.left) + len(self.right)) / max(1, len(self.one.tokens) + len(self.other.tokens))

    @property
    def says_the_same_of_each(self) -> bool:
        """Whether the order of the same words does not matter: Ada calls Boris is not that Boris calls Ada."""
        mine, its = ([token.key for token in one.tokens if token.kind != DATE] for one in (self.one, self.other))
        turned = any(mine[at:] + mine[:at] == its for at in range(1, len(mine)))
        return (
            mine == its
            or turned
            or (self.one.lists_up and self.other.lists_up)
            or self.one.passive != self.other.passive
        )

    @property
    def is_alike(self) -> bool:
        """Whether both are of the same one, of what is, was or may be so, and deny the same."""
        # Whose memory it is, needs not be said.
        mine, its = (one.leader if one.names_another else "" for one in (self.one, self.other))
        same = mine == its and self.one.modals == self.other.modals and self.one.happened == self.other.happened
        return same and sorted(self.one.denied) == sorted(self.other.denied)


def _before(token: StatementToken, tokens: Sequence[StatementToken]) -> Sequence[StatementToken]:
    return tokens[: next(place for place, one in enumerate(tokens) if one is token)]


def _is_of_subject(token: StatementToken, reading: ParsedStatement) -> bool:
    """Whether a word says which one is meant, of what the statement is about: the old server, her brother."""
    first = token in reading.tokens[:_SHARED]
    return first and (token.lead == "'s" or token.lead in DETERMINERS) and token is not reading.tokens[-1]
