"""A statement as what it says: its words, figures, names and days in their order, without what may come and go."""

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace

from scrubjay.curation.free_words import (
    ALONE,
    CONTRACTED,
    FREE,
    LEADS,
    PAST,
    POINTS_BACK,
    PRESENT,
    RULES_ON,
    SIGNS,
    TO_BE,
)
from scrubjay.text.claims.pieces import TextPiece, find_days, normalize_day, normalize_figure, normalize_time, pieces_of
from scrubjay.text.claims.statements import statements_of
from scrubjay.text.claims.words import AXES, NEGATIONS, NEVER_NAMES, NUMBER_WORDS, UNITS
from scrubjay.text.tokens import running_terms_of

__all__ = ["Saying", "Word", "is_same", "sayings_of"]

_SIGN = re.compile(r"[<>\u2264\u2265\u2260\u00b1\u2192]|~(?=\s?\d)|\?(?=[\s\"')\]]|$)")
_MOST_FIRM = 2
_QUOTED = re.compile(r"^\s*>+", re.MULTILINE)


@dataclass(frozen=True, slots=True)
class Word:
    """One word in its normal form. A firm one can be mixed up with another; `before` are the free words at it."""

    key: str
    firm: bool
    before: frozenset[str] = frozenset()


@dataclass(frozen=True, slots=True)
class Saying:
    """One statement: its text and its words."""

    text: str
    words: tuple[Word, ...]

    @property
    def keys(self) -> tuple[str, ...]:
        """Its words in their normal form, in order."""
        return tuple(word.key for word in self.words)

    @property
    def points_back(self) -> bool:
        """Whether it is about something that was said before."""
        return any(word.before & POINTS_BACK for word in self.words)

    @property
    def leads(self) -> bool:
        """Whether its first word rules over it."""
        return bool(self.words) and self.words[0].key in _LEADS

    @property
    def stands_alone(self) -> bool:
        """Whether joined with another it would say something of that, too."""
        return any(word.key in _ALONE for word in self.words)

    @property
    def rules_on(self) -> bool:
        """Whether what is joined behind it might be taken for part of it: what it denies, or only holds possible."""
        return any(word.key in _RULES_ON for word in self.words)


def sayings_of(text: str) -> list[Saying]:
    """What each statement of a text says; one that has free words only says nothing."""
    found = [Saying(statement, _words(statement)) for statement in statements_of(text)]
    return [one for one in found if one.words]


def is_same(said: Sequence[Word], given: Sequence[Word]) -> bool:
    """Whether words say the same as others: no other ones, in the same order, in the same time.

    What begins with what was done may end with it, where there is nothing to be mixed up: `fixed the bug`, `the bug
    was fixed`.
    """
    if len(said) != len(given):
        return False
    in_order = all(one.key == other.key for one, other in zip(said, given, strict=True))
    if not in_order and not _is_turned(said, given):
        return False
    free, known = _free(said), _free(given)
    return not (free & POINTS_BACK) - known and not _is_other_time(free, known)


def _words(statement: str) -> tuple[Word, ...]:
    plain = _SIGN.sub(lambda found: f" {SIGNS[found[0]]} ", _QUOTED.sub("", statement))
    pieces = pieces_of(plain)
    days = find_days(pieces)
    found: list[Word] = []
    free: set[str] = set()
    for at, piece in enumerate(pieces):
        for key, firm in _read(pieces, at, days):
            if not firm and key in FREE:
                free.add(key)
                continue
            found.append(Word(_normal(key) if piece.kind == "word" else key, firm, frozenset(free)))
            free.clear()
    if found and free:
        found[-1] = replace(found[-1], before=found[-1].before | free)
    return tuple(found)


def _read(pieces: Sequence[TextPiece], at: int, days: dict[int, str]) -> list[tuple[str, bool]]:
    """What a piece says, and whether that is firm."""
    piece = pieces[at]
    if at in days:
        return [(days[at], True)] if days[at] else []
    match piece.kind:
        case "sign":
            return []
        case "word":
            return _read_word(piece)
        case "number":
            return [(part, True) for part in normalize_figure(piece.text)[1].split()]
        case "day":
            return [(normalize_day(piece.text), True)]
        case "clock":
            return [(normalize_time(piece.text), True)]
        case "versions":
            return [(piece.text.lstrip("v"), True)]
        case _:
            return [(" ".join(piece.text.split()), True)]


def _read_word(piece: TextPiece) -> list[tuple[str, bool]]:
    word = piece.low
    if word in CONTRACTED or word.endswith("n't"):
        spoken = CONTRACTED.get(word) or f"{word[:-3]} not"
        return [(one, one not in FREE) for one in spoken.split()]
    if word in FREE:
        return [(word, False)]
    if word in NUMBER_WORDS:
        return [(NUMBER_WORDS[word], True)]
    named = piece.capital and word not in NEVER_NAMES
    return [(UNITS.get(word, word), named or word in NEGATIONS or word in AXES or word in LEADS or word in _PLACING)]


def _normal(word: str) -> str:
    return " ".join(running_terms_of(word)) or word


def _free(words: Sequence[Word]) -> frozenset[str]:
    return frozenset(one for word in words for one in word.before)


def _is_turned(said: Sequence[Word], given: Sequence[Word]) -> bool:
    if any(one.key != other.key for one, other in zip(said, (*given[1:], given[0]), strict=True)):
        return False
    firm = max(sum(word.firm for word in words) for words in (said, given))
    return firm < _MOST_FIRM and bool((_free(said) - _free(given)) & TO_BE)


def _is_other_time(free: frozenset[str], known: frozenset[str]) -> bool:
    """Whether what is has become what was, or the other way round."""
    return bool(
        (known & PRESENT and not known & PAST and free & PAST and not free & PRESENT)
        or (known & PAST and not known & PRESENT and free & PRESENT and not free & PAST)
    )


# Who does it and to whom: `from A to B` is not `to A from B`.
_PLACING = frozenset("from to into by for against over under with without between than can must may might".split())
_LEADS, _ALONE, _RULES_ON = (frozenset(map(_normal, words)) for words in (LEADS, ALONE, RULES_ON))
