"""A statement as what it can be told apart by: its telling words, figures, days, names, and how often it says no."""

from collections import Counter
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import islice
from typing import NamedTuple

from scrubjay.text.claim_days import clock_of, day_of, days_in
from scrubjay.text.claim_pieces import ENDS_SENTENCE, Piece, figure_of, pieces_of
from scrubjay.text.claim_words import NEVER_NAMES, NUMBER_WORDS, PLACES
from scrubjay.text.contradiction_words import BEINGS, COMPARING, DENIALS, LABELS, LIGHT, MODALS, OTHERS, TURNS
from scrubjay.text.tokens import STOP_WORDS, running_terms_of

__all__ = ["DATE", "IDENTIFIER", "LABEL", "NAME", "NUMBER", "WORD", "Reading", "Token", "reading_of"]

WORD, NAME, NUMBER, DATE, IDENTIFIER = "word", "name", "number", "date", "identifier"
# Which one of many is meant.
LABEL = "label"
# Nobody says more in one statement; of a longer one the beginning counts.
_MOST_TOKENS = 120
_LONGEST = 2_000
_REMEMBERED = 2_048
_SHORT = 4
# So many words after a no are what it is said of.
_REACH = 2
_NEARLY_ALL = 0.75
_SELF = "user"
_DETERMINERS = frozenset("the my our this your his her their its".split())
_PLACING = frozenset("in at on from".split())
_QUOTES = "\"'`\u201c\u201d\u00ab\u00bb"
# A sentence may begin with any word in capitals: a long one with these endings is hardly a name.
_LONG = 6
_COMMON_ENDINGS = ("ing", "ed", "ly", "tion", "ness")


class Token(NamedTuple):
    """One telling thing: what kind it is, what it is compared by, and as it was written."""

    kind: str
    key: str
    said: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Reading:
    """What a statement says, in order and how often; `leader` is the name or the he or she that it begins with.

    `denials` are its words for no and `denied` what they are said of; `turns` and `modals` are its small words that
    count. `is_being` if it says what something is, `is_state` if that can be one thing only; `compares` if it sets one
    thing against another.
    """

    tokens: tuple[Token, ...]
    counted: Counter[str]
    denials: tuple[str, ...]
    denied: tuple[str, ...]
    turns: frozenset[str]
    modals: frozenset[str]
    leader: str
    asks: bool
    is_being: bool
    is_state: bool
    compares: bool


def reading_of(text: str) -> Reading:
    """Read a statement."""
    return _remembered(text[:_LONGEST])


@lru_cache(maxsize=_REMEMBERED)
def _remembered(text: str) -> Reading:
    pieces = pieces_of(text)
    if _shouts(pieces):
        pieces = pieces_of(text.lower())
    tokens = tuple(_tokens(pieces))[:_MOST_TOKENS]
    denials = tuple(_denials(pieces))
    words = {piece.low for piece in pieces if piece.kind == "word"}
    return Reading(
        tokens=tokens,
        counted=Counter(token.key for token in tokens),
        denials=tuple(word for word, _ in denials),
        denied=tuple(what for _, what in denials),
        turns=frozenset(words & TURNS.keys()),
        modals=frozenset(words & MODALS),
        leader=_leader(pieces, tokens),
        asks=text.rstrip().endswith(("?", "\uff1f")),
        is_being=not words.isdisjoint(BEINGS),
        is_state=_is_state(pieces, words),
        compares=not words.isdisjoint(COMPARING),
    )


def _shouts(pieces: Sequence[Piece]) -> bool:
    """Whether nearly all words have capital letters, as in headings: then these say nothing of names."""
    words = [piece for piece in pieces if piece.kind == "word"]
    capitals = sum(piece.capital for piece in words)
    loud = len(words) >= _SHORT and all(piece.text.isupper() for piece in words)
    return loud or (len(words) > _SHORT and capitals > _NEARLY_ALL * len(words))


def _leader(pieces: Sequence[Piece], tokens: Sequence[Token]) -> str:
    """Who it is about: the name or the he or she that comes first, but for the day."""
    first = next((piece.low for piece in pieces if piece.kind == "word"), "")
    if first in OTHERS:
        return OTHERS[first]
    told = next((token for token in tokens if token.kind != DATE), None)
    return told.key if told and told.kind == NAME and told.key != _SELF else ""


def _is_state(pieces: Sequence[Piece], words: Collection[str]) -> bool:
    """Whether it says what something is, or where."""
    if BEINGS.isdisjoint(words):
        return False
    first = next((piece.low for piece in pieces if piece.kind == "word"), "")
    return first in _DETERMINERS or not _PLACING.isdisjoint(words)


def _tokens(pieces: Sequence[Piece]) -> Iterator[Token]:
    days = days_in(pieces)
    for at, piece in enumerate(pieces):
        if at in days:
            if days[at]:
                yield Token(DATE, days[at].lower(), days[at])
        elif piece.kind == "word":
            yield from _word(pieces, at, piece)
        elif piece.kind == "quote":
            yield from _tokens(pieces_of(piece.text.strip(_QUOTES)))
        elif piece.kind != "sign":
            value = _value(piece)
            is_label = value.kind == NUMBER and at and pieces[at - 1].low in LABELS
            yield value._replace(kind=LABEL) if is_label else value


def _word(pieces: Sequence[Piece], at: int, piece: Piece) -> Iterator[Token]:
    word = piece.low
    if word in NUMBER_WORDS:
        yield Token(NUMBER, NUMBER_WORDS[word], piece.text)
        return
    if word in DENIALS or word in LIGHT or word.endswith("n't") or _is_no_more(pieces, at):
        return
    if piece.capital and word not in NEVER_NAMES and (not _opens(pieces, at) or _may_be_named(piece)):
        yield Token(NAME, _term(_root(word)) or word, piece.text)
        return
    if word not in STOP_WORDS and (term := _term(word)):
        yield Token(WORD, term, word)


def _is_no_more(pieces: Sequence[Piece], at: int) -> bool:
    """Whether a word is part of `no longer` or of `used to`, which are words for not."""
    word, before = pieces[at].low, pieces[at - 1].low if at else ""
    after = pieces[at + 1].low if at + 1 < len(pieces) else ""
    return (word == "longer" and before == "no") or (word == "used" and after == "to" and before not in BEINGS)


def _opens(pieces: Sequence[Piece], at: int) -> bool:
    return at == 0 or pieces[at - 1].text in ENDS_SENTENCE


def _may_be_named(piece: Piece) -> bool:
    return piece.text.isupper() or len(piece.low) < _LONG or not piece.low.endswith(_COMMON_ENDINGS)


def _value(piece: Piece) -> Token:
    if piece.kind == "number":
        kind, value = figure_of(piece.text)
        return Token(DATE if kind == "dates" else NUMBER, value, piece.text)
    if piece.kind == "day":
        return Token(DATE, day_of(piece.text).lower(), piece.text)
    if piece.kind == "clock":
        return Token(DATE, clock_of(piece.text), piece.text)
    return Token(IDENTIFIER, " ".join(piece.text.strip("`").split()).casefold(), piece.text)


def _denials(pieces: Sequence[Piece]) -> Iterator[tuple[str, str]]:
    """The words for no with what they are said of, and `used to`, which says that it is so no more."""
    words = [
        piece
        for one in pieces
        for piece in (pieces_of(one.text.strip(_QUOTES)) if one.kind == "quote" else [one])
        if piece.kind == "word"
    ]
    for at, piece in enumerate(words):
        if piece.low == "anymore":
            continue
        is_past = piece.low == "used" and _is_no_more(words, at)
        if is_past or piece.low in DENIALS or piece.low.endswith("n't"):
            following = (_term(one.low) for one in words[at + 1 :] if one.low not in STOP_WORDS and one.low != "longer")
            yield "used to" if is_past else piece.low, " ".join(islice(following, _REACH))


def _root(word: str) -> str:
    word = PLACES.get(word, word)
    # A shorter one is a name as it is.
    return word[:-1] if len(word) > _SHORT and word.endswith("s") else word


@lru_cache(maxsize=20_000)
def _term(word: str) -> str:
    # She goes is of go, as she plays is of play.
    return " ".join(running_terms_of(word.removesuffix("es") if word.endswith("oes") else word))
