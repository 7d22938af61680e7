"""A statement as what it can be told apart by: its telling words, figures, days, names, and how often it says no."""

from collections import Counter
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import islice
from typing import NamedTuple

from scrubjay.text.claims.claim_words import NEVER_NAMES, NUMBER_WORDS, PLACES
from scrubjay.text.claims.days import find_days, normalize_day, normalize_time
from scrubjay.text.claims.normalize import normalize_statement
from scrubjay.text.claims.opposites import (
    BEINGS,
    CHANGES,
    COMPARING,
    DENIALS,
    DETERMINERS,
    FAILINGS,
    HABITS,
    LABELS,
    LIGHT,
    LISTING,
    MODALS,
    ONCE,
    OTHERS,
    TURNS,
    VERBS,
)
from scrubjay.text.claims.pieces import ENDS_SENTENCE, TextPiece, normalize_figure, pieces_of
from scrubjay.text.fact_words import PAST
from scrubjay.text.tokens import STOP_WORDS, running_terms_of

__all__ = [
    "DATE",
    "IDENTIFIER",
    "LABEL",
    "NAME",
    "NUMBER",
    "WORD",
    "ParsedStatement",
    "StatementToken",
    "parse_statement",
]

WORD, NAME, NUMBER, DATE, IDENTIFIER = "word", "name", "number", "date", "identifier"
# Which one of many is meant.
LABEL = "label"
# Nobody says more in one statement; of a longer one the beginning counts.
_MOST_TOKENS = 120
_LONGEST = 2_000
_REMEMBERED = 4_096
_SHORT = 4
# So many words after a no are what it is said of.
_REACH = 2
_NEARLY_ALL = 0.75
_SELF = "user"
_FIRST_PERSON = frozenset("i i'm i've i'd i'll my".split())
_NOW = frozenset("is are am be being get gets it's i'm he's she's that's we're they're".split())
_HAS = _NOW | {"has", "have"}
# Past or present, by their form alone: these are told of what is.
_EITHER = frozenset("set put read hit cut let used left felt quit based married located needed named called".split())
_LONG_PAST = 5
# Which of them do is seen at the words around them.
_MAY_DENY = DENIALS | FAILINGS | CHANGES | {"longer", "used"}
_WAS = frozenset("was were wasn't weren't did didn't".split())
_QUOTES = "\"'`\u201c\u201d\u00ab\u00bb"
# A sentence may begin with any word in capitals: a long one with these endings is hardly a name.
_LONG = 6
_COMMON_ENDINGS = ("ing", "ed", "ly", "tion", "ness")


class StatementToken(NamedTuple):
    """One telling thing: what kind it is, what it is compared by, as it was written, and the word that leads to it."""

    kind: str
    key: str
    said: str
    lead: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class ParsedStatement:
    """What a statement says, in order and how often; `leader` is the name or the he or she that it begins with.

    The leader of what is told of the one whose memory it is, is `user`. `denials` are its words for no and `denied`
    what they are said of; `turns` and `modals` are its small words that count. `happened` if it tells of what was, and
    may have been more than once; `lists` if of one of many; `compares` if it sets one thing against another; `passive`
    if it says by whom something is done, `lists_up` if it says and.
    """

    tokens: tuple[StatementToken, ...]
    counted: Counter[str]
    denials: tuple[str, ...]
    denied: tuple[str, ...]
    turns: frozenset[str]
    modals: frozenset[str]
    leader: str
    asks: bool
    happened: bool
    lists: bool
    compares: bool
    passive: bool
    lists_up: bool

    @property
    def names_another(self) -> bool:
        """Whether it says whom it is about, other than the one whose memory it is."""
        return self.leader not in ("", _SELF)


def parse_statement(text: str) -> ParsedStatement:
    """Read a statement."""
    return _remembered(normalize_statement(text[:_LONGEST]))


@lru_cache(maxsize=_REMEMBERED)
def _remembered(text: str) -> ParsedStatement:
    pieces = pieces_of(text)
    if _shouts(pieces):
        pieces = pieces_of(text.lower())
    tokens = tuple(_tokens(pieces))[:_MOST_TOKENS]
    denials = tuple(_denials(pieces))
    running = [piece.low for piece in pieces if piece.kind == "word"]
    words = set(running)
    return ParsedStatement(
        tokens=tokens,
        counted=Counter([token.key for token in tokens]),
        denials=tuple(word for word, _ in denials),
        denied=tuple(what for _, what in denials),
        turns=frozenset(words & TURNS.keys()),
        modals=frozenset(words & MODALS),
        leader=_leader(pieces, tokens),
        asks=text.rstrip().endswith(("?", "\uff1f")),
        happened=_happened(running),
        lists=not words.isdisjoint(LISTING) or not words.isdisjoint(HABITS),
        compares=not words.isdisjoint(COMPARING),
        lists_up=not words.isdisjoint(("and", "or")),
        passive="by" in words and not words.isdisjoint(BEINGS),
    )


def _shouts(pieces: Sequence[TextPiece]) -> bool:
    """Whether nearly all words have capital letters, as in headings: then these say nothing of names."""
    words = [piece for piece in pieces if piece.kind == "word"]
    capitals = sum(piece.capital for piece in words)
    loud = len(words) >= _SHORT and all(piece.text.isupper() for piece in words)
    return loud or (len(words) > _SHORT and capitals > _NEARLY_ALL * len(words))


def _leader(pieces: Sequence[TextPiece], tokens: Sequence[StatementToken]) -> str:
    """Who it is about: the name or the he or she that comes first, but for the day."""
    first = next((piece.low for piece in pieces if piece.kind == "word"), "")
    if first in OTHERS:
        return OTHERS[first]
    told = next((token for token in tokens if token.kind != DATE), None)
    if first in _FIRST_PERSON or (told and told.key == _SELF):
        return _SELF
    return told.key if told and told.kind == NAME else ""


def _happened(words: Sequence[str]) -> bool:
    """Whether something was done or was so, and not what is, or happens once, or was changed to something."""
    if not ONCE.isdisjoint(words):
        return False
    return any(_tells_of_past(words, at) for at, word in enumerate(words) if word in _WAS or _is_past(word))


def _tells_of_past(words: Sequence[str], at: int) -> bool:
    """Whether a word that is in the past tense says that something was so."""
    word, before, after = words[at], words[max(0, at - 2) : at], words[at + 1 : at + 5]
    if "to" in after and not CHANGES.isdisjoint((word, *after)):
        return False
    # She has a parrot that came from Oslo: what she has, she has now.
    if not _HAS.isdisjoint(words[: max(0, at - 2)]):
        return False
    if word in _WAS:
        return True
    # The required version, a married man: nothing happened.
    is_told = not before or before[-1] not in DETERMINERS
    return _NOW.isdisjoint(before) and is_told


def _is_past(word: str) -> bool:
    return word not in _EITHER and (word in PAST or (len(word) >= _LONG_PAST and word.endswith("ed")))


def _tokens(pieces: Sequence[TextPiece]) -> Iterator[StatementToken]:
    days = find_days(pieces)
    for at, piece in enumerate(pieces):
        if at in days:
            if days[at]:
                yield StatementToken(
                    DATE, days[at].lower(), days[at], _lead(pieces, min(one for one in _run(days, at)))
                )
        elif piece.kind == "word":
            token = _word(pieces, at, piece)
            if token is not None:
                yield token
        elif piece.kind == "quote":
            yield from _tokens(pieces_of(piece.text.strip(_QUOTES)))
        elif piece.kind != "sign":
            value = _value(piece)
            is_label = value.kind == NUMBER and at and pieces[at - 1].low in LABELS and _names_subject(pieces, at)
            yield value._replace(kind=LABEL if is_label else value.kind, lead=_lead(pieces, at))


def _run(days: Collection[int], at: int) -> Iterator[int]:
    """The places of a day that ends or begins at one."""
    while at in days:
        yield at
        at -= 1


def _lead(pieces: Sequence[TextPiece], at: int) -> str:
    """The word right before one, but for an article; `'s` after an owner."""
    before = at - 1
    if before > 0 and pieces[before].low in ("the", "a", "an", "about", "around", "version"):
        before -= 1
    if before < 0 or pieces[before].kind != "word":
        return ""
    return "'s" if pieces[before].text.endswith(("'s", "\u2019s")) else pieces[before].low


def _names_subject(pieces: Sequence[TextPiece], at: int) -> bool:
    """Whether what stands here is part of what the statement is about, and not of what it says of it."""
    return all(piece.low not in BEINGS for piece in pieces[:at])


def _word(pieces: Sequence[TextPiece], at: int, piece: TextPiece) -> StatementToken | None:
    word = piece.low
    if word in NUMBER_WORDS:
        kind = LABEL if _is_one_of_several(pieces, at) else NUMBER
        return StatementToken(kind, NUMBER_WORDS[word], piece.text, _lead(pieces, at))
    if piece.capital and _is_letter(pieces, at):
        return StatementToken(LABEL if _names_subject(pieces, at) else NAME, word, piece.text, _lead(pieces, at))
    if word in LIGHT or ((word in _MAY_DENY or word.endswith("n't")) and _says_how(pieces, at)):
        return None
    if piece.capital and word not in NEVER_NAMES and (not _opens(pieces, at) or _may_be_named(piece)):
        return StatementToken(NAME, _term(_root(word)) or word, piece.text, _lead(pieces, at))
    if word not in STOP_WORDS and (term := _term(word)):
        return StatementToken(WORD, term, word, _lead(pieces, at))
    return None


def _says_how(pieces: Sequence[TextPiece], at: int) -> bool:
    """Whether a word is no telling one here: it says that something is not so, not any more, or since a change."""
    return _denies(pieces, at) or _is_no_more(pieces, at) or _is_change(pieces, at)


def _is_letter(pieces: Sequence[TextPiece], at: int) -> bool:
    """Whether a letter says which one is meant: team B, room A."""
    text = pieces[at].text
    return len(text) == 1 and text.isupper() and text != "I" and at > 0 and pieces[at - 1].kind == "word"


def _is_one_of_several(pieces: Sequence[TextPiece], at: int) -> bool:
    """Whether a word says which one of several the statement is about: the second daughter."""
    if not NUMBER_WORDS[pieces[at].low].endswith("th") or at + 1 == len(pieces):
        return False
    leads = at == 0 or pieces[at - 1].low in DETERMINERS or _lead(pieces, at) == "'s"
    return leads and pieces[at + 1].kind == "word" and _names_subject(pieces, at)


def _denies(pieces: Sequence[TextPiece], at: int) -> bool:
    word = pieces[at].low
    if word in FAILINGS:
        return at + 1 < len(pieces) and pieces[at + 1].low == "to"
    return word in DENIALS or word.endswith("n't")


def _is_change(pieces: Sequence[TextPiece], at: int) -> bool:
    """Whether a word only says that what follows has not always been so: was moved to Friday."""
    after = [piece.low for piece in pieces[at + 1 : at + 2]]
    return pieces[at].low in CHANGES and "to" in after and at > 0 and pieces[at - 1].low in BEINGS


def _is_no_more(pieces: Sequence[TextPiece], at: int) -> bool:
    """Whether a word is part of `no longer` or of `used to`, which are words for not."""
    word, before = pieces[at].low, pieces[at - 1].low if at else ""
    after = pieces[at + 1].low if at + 1 < len(pieces) else ""
    return (word == "longer" and before == "no") or (word == "used" and after == "to" and before not in BEINGS)


def _opens(pieces: Sequence[TextPiece], at: int) -> bool:
    return at == 0 or pieces[at - 1].text in ENDS_SENTENCE


def _may_be_named(piece: TextPiece) -> bool:
    word = piece.low
    if word in VERBS or (word.endswith("s") and (word[:-1] in VERBS or word.removesuffix("es") in VERBS)):
        return False
    return piece.text.isupper() or len(word) < _LONG or not word.endswith(_COMMON_ENDINGS)


def _value(piece: TextPiece) -> StatementToken:
    if piece.kind == "number":
        kind, value = normalize_figure(piece.text)
        return StatementToken(DATE if kind == "dates" else NUMBER, value, piece.text)
    if piece.kind == "day":
        return StatementToken(DATE, normalize_day(piece.text).lower(), piece.text)
    if piece.kind == "clock":
        return StatementToken(DATE, normalize_time(piece.text), piece.text)
    return StatementToken(IDENTIFIER, " ".join(piece.text.strip("`").split()).casefold(), piece.text)


def _denials(pieces: Sequence[TextPiece]) -> Iterator[tuple[str, str]]:
    """The words for no with what they are said of, and `used to`, which says that it is so no more."""
    words = [piece for piece in _unquoted(pieces) if piece.kind == "word"]
    for at, piece in enumerate(words):
        # Most words are none of these.
        if (piece.low not in _MAY_DENY and not piece.low.endswith("n't")) or piece.low == "anymore":
            continue
        is_past = piece.low == "used" and _is_no_more(words, at)
        if is_past or _denies(words, at):
            following = (
                _term(word.low) for word in words[at + 1 :] if word.low not in STOP_WORDS and word.low != "longer"
            )
            yield "used to" if is_past else piece.low, " ".join(islice(following, _REACH))


def _unquoted(pieces: Sequence[TextPiece]) -> Sequence[TextPiece]:
    """The pieces with those of a quotation in its place."""
    if all(piece.kind != "quote" for piece in pieces):
        return pieces
    return [
        piece
        for one in pieces
        for piece in (pieces_of(one.text.strip(_QUOTES)) if one.kind == "quote" else [one])
    ]  # fmt: skip


def _root(word: str) -> str:
    word = PLACES.get(word, word)
    # A shorter one is a name as it is.
    return word[:-1] if len(word) > _SHORT and word.endswith("s") else word


@lru_cache(maxsize=20_000)
def _term(word: str) -> str:
    # She goes is of go, as she plays is of play; who lives somewhere tells of no lives.
    plain = "live" if word == "lives" else word.removesuffix("es") if word.endswith("oes") else word
    return " ".join(running_terms_of(plain))
