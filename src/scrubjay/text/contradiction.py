"""What two statements are to each other: the same, more of the same, or such that they cannot both hold."""

from collections.abc import Sequence
from dataclasses import dataclass

from scrubjay.model.conflict import ConflictType, Strategy
from scrubjay.text.contradiction_pairs import clash, in_same_place, may_stand_for, paired, rest_of, without
from scrubjay.text.contradiction_reading import DATE, LABEL, NAME, WORD, Reading, Token, reading_of
from scrubjay.text.contradiction_slots import clash_of_slots
from scrubjay.text.contradiction_words import TURNS
from scrubjay.text.statements import key_of

__all__ = ["DUPLICATE_FROM", "UPDATE_FROM", "Finding", "compare", "compare_lists", "overlap_ratio"]

# Of two lists of observations the share that both have, of the longer one: from here on they are one, or go together.
DUPLICATE_FROM = 0.85
UPDATE_FROM = 0.30
# Statements this far apart are about different things, whatever words they share.
_FAR = 0.35
# What shares less than this is not told apart word by word.
_WORTH_A_LOOK = 0.4
# Said in other words: so near that they mean the same, unless the caller knows better of its model.
_SAME = 0.9
# So much of two statements must be the same, but for what they differ in.
_MOSTLY = 0.84
_NEARLY_ALL = 0.9
# Who differs in more of it tells of something else.
_MOST_CLASHES = 2
# So many telling words must be the same, and so many where only who it is about differs: that two people do the same
# is no news, that they do so in all particulars is.
_SHARED = 2
_SHARED_BY_OTHERS = 5
# What is said in other words has this much in common all the same.
_HALF = 0.5
# From this cosine on the words alone decide how sure it is.
_NEAR = 0.8
_BY_RELATION = 0.75
_BY_PART = 0.65
_SUREST, _LEAST_SURE = 0.95, 0.3
# Below this nobody should act on it unasked.
_UNSURE = 0.6


@dataclass(frozen=True, slots=True, kw_only=True)
class Finding:
    """What two statements are to each other, how sure that is from 0 to 1, in what they differ, and what to do."""

    type: ConflictType
    confidence: float
    differs: tuple[str, ...] = ()
    suggested: Strategy


def compare(first: str, second: str, *, cosine: float | None, same: float = _SAME) -> Finding | None:
    """What two statements are to each other; None if they have nothing to do with each other, or simply go together.

    `cosine` is that of their vectors, None where there are none; from `same` on they say the same in other words.
    """
    if (key := key_of(first).casefold()) == key_of(second).casefold():
        return _duplicate(1.0) if key else None
    if cosine is not None and cosine < _FAR:
        return None
    one, other = reading_of(first), reading_of(second)
    # A question claims nothing.
    if one.asks or other.asks:
        return None
    apart = _Apart.of(one, other, closely=cosine is not None and cosine >= same)
    if found := apart.contradiction(cosine):
        return found
    if value := clash_of_slots(first, second):
        return _contradiction(_BY_RELATION, (value,))
    return apart.addition() or apart.sameness(cosine, same=same)


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


@dataclass(frozen=True, slots=True, kw_only=True)
class _Apart:
    """What two statements have in common, and what only one of them says.

    `clashes` are the values of one kind that stand in the same place, or in another (`moved`) where all else is the
    same; `reworded` words may stand for each other; `left` and `right` are what remains.
    """

    one: Reading
    other: Reading
    shared: int
    left: tuple[Token, ...]
    right: tuple[Token, ...]
    clashes: tuple[tuple[Token, Token], ...] = ()
    reworded: int = 0
    moved: bool = False

    @classmethod
    def of(cls, one: Reading, other: Reading, *, closely: bool) -> "_Apart":
        """Compare two readings; unless closely, those that share little are not looked at any further."""
        common = one.counted & other.counted
        if not closely and 2 * common.total() < _WORTH_A_LOOK * (len(one.tokens) + len(other.tokens)):
            return cls(one=one, other=other, shared=common.total(), left=one.tokens, right=other.tokens)
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
            one=one, other=other, shared=common.total(), clashes=tuple(clashes), left=tuple(left), right=tuple(right),
            reworded=len(reworded), moved=moved,
        )  # fmt: skip

    @property
    def denied(self) -> str:
        """What one says that is not so in the other, in words."""
        if len(self.one.denials) != len(self.other.denials):
            return f"negation: one says {max(self.one.denials, self.other.denials, key=len)[-1]}"
        # What is not done is the same, but to what it is not done is not.
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
    def another_time(self) -> bool:
        """Whether two things are told that happened at two times: then all else may differ, too."""
        kinds = [mine.kind for mine, _ in self.clashes]
        return DATE in kinds and (bool(self.denied) or len(kinds) > 1)

    @property
    def another_one(self) -> bool:
        """Whether two of many are told of: the first step, the second step."""
        return any(token.kind == LABEL for token in (*self.left, *self.right))

    @property
    def needed(self) -> int:
        """How many things must be said by both."""
        if self.other_subject:
            return _SHARED_BY_OTHERS
        kinds = {mine.kind for mine, _ in self.clashes}
        if self.denied or WORD in kinds:
            return 1
        single = self.one.is_being and self.other.is_being and not (self.left or self.right)
        return 1 if single and (NAME not in kinds or (self.one.is_state and self.other.is_state)) else _SHARED

    @property
    def _denies_part(self) -> bool:
        """Whether the shorter one denies what the longer one says besides other things."""
        sides = ((self.one, self.left), (self.other, self.right))
        (short, rest), (long, _) = sorted(sides, key=lambda side: len(side[0].tokens))
        more = len(short.denials) > len(long.denials) and short.leader == long.leader
        return more and not rest and not self.clashes and not self.reworded and self.shared > _SHARED

    @property
    def likeness(self) -> float:
        """How much of both is the same but for the clashes, from 0 to 1."""
        return 1 - (len(self.left) + len(self.right)) / max(1, len(self.one.tokens) + len(self.other.tokens))

    def contradiction(self, cosine: float | None) -> Finding | None:
        """That they cannot both hold, if they cannot."""
        if not (self.clashes or self.denied or self.turned) or self.another_time or self.another_one:
            return None
        if self.one.leader and self.other.leader and self.one.leader != self.other.leader and not self.other_subject:
            return None
        # Names are told in many ways: there the rest must be all the more alike.
        mostly = _NEARLY_ALL if all(mine.kind == NAME for mine, _ in self.clashes) and not self.denied else _MOSTLY
        if self.likeness < mostly and self._denies_part:
            return _contradiction(_BY_PART, (self.denied,))
        if self.likeness < mostly or self.shared < self.needed or len(self.clashes) > _MOST_CLASHES:
            return None
        differs = [f"{_named(mine, its)}: {mine.said} or {its.said}" for mine, its in self.clashes]
        differs += [*self.turned, *([self.denied] if self.denied else [])]
        confidence = 0.6 + 0.35 * (self.likeness - _MOSTLY) / (1 - _MOSTLY)
        confidence -= 0.1 * (len(differs) - 1) + 0.4 * self.other_subject
        confidence -= 0.15 * self.moved + 0.05 * self.reworded
        if cosine is not None:
            confidence -= 0.2 * max(0.0, _NEAR - cosine)
        return _contradiction(confidence, differs)

    def addition(self) -> Finding | None:
        """That one says all that the other says, and more."""
        less, more = sorted((self.left, self.right), key=len)
        if self.clashes or self.denied or less or not more or not self._alike:
            return None
        longer = max(len(self.one.tokens), len(self.other.tokens))
        ratio = (longer - len(more)) / longer
        if self.shared < _SHARED + 1 or ratio < UPDATE_FROM:
            return None
        return Finding(type=ConflictType.UPDATE, confidence=round(0.5 + 0.45 * ratio, 2), suggested=Strategy.UPDATE)

    def sameness(self, cosine: float | None, *, same: float) -> Finding | None:
        """That they say the same in other words."""
        if self.clashes or self.denied or self._names(self.one) != self._names(self.other) or not self._alike:
            return None
        if not self.left and not self.right and not self.reworded and self.shared >= _SHARED:
            return self._in_other_order() or _duplicate(0.97)
        if cosine is None or cosine < same or self.likeness < _HALF:
            return None
        return _duplicate(cosine) if all(token.kind == WORD for token in (*self.left, *self.right)) else None

    def _in_other_order(self) -> Finding | None:
        """The same words, but the other way round: tea over coffee, coffee over tea."""
        mine, its = ([token.said for token in one.tokens if token.kind != DATE] for one in (self.one, self.other))
        if not (self.one.compares and self.other.compares) or mine == its or sorted(mine) != sorted(its):
            return None
        return _contradiction(_BY_RELATION, (f"order: {', '.join(mine)} or {', '.join(its)}",))

    @property
    def _alike(self) -> bool:
        """Whether both are of the same one, of what is so or of what may be so, and deny the same."""
        same = self.one.leader == self.other.leader and self.one.modals == self.other.modals
        return same and sorted(self.one.denied) == sorted(self.other.denied)

    @staticmethod
    def _names(reading: Reading) -> list[str]:
        return [token.key for token in reading.tokens if token.kind == NAME]


def _named(mine: Token, its: Token) -> str:
    return "state" if mine.kind == its.kind == WORD else mine.kind
