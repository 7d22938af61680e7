"""Statements for comparison: their words, figures, days, names and denials, without the speaker and in English."""

import re
from collections import Counter
from collections.abc import Collection, Iterator, Sequence
from functools import lru_cache
from itertools import islice
from typing import NamedTuple

from scrubjay.lazy import dataclass, regex
from scrubjay.text.claims.pieces import (
    ENDS_SENTENCE,
    OF_DAYS,
    TextPiece,
    find_days,
    normalize_day,
    normalize_figure,
    normalize_time,
    pieces_of,
)
from scrubjay.text.claims.words import (
    BEINGS,
    CHANGES,
    COMPARATIVES,
    DENIALS,
    DETERMINERS,
    FAILINGS,
    FILLERS,
    HABITS,
    LABEL_NOUNS,
    LISTING,
    MODALS,
    NEVER_NAMES,
    NUMBER_WORDS,
    ONCE,
    PLACES,
    PRONOUNS,
    REVERSALS,
    VERBS,
)
from scrubjay.text.tokens import PAST_TENSE, STOP_WORDS, running_terms_of
from scrubjay.text.word_lists import WordLists

__all__ = [
    "ATTRIBUTES", "DATE", "IDENTIFIER", "LABEL", "NAME", "NUMBER", "RELATION_WORDS", "ROLES", "WORD",
    "ParsedStatement", "PlainWords", "StatementToken", "has_no_subject", "names_its_subject", "normalize_statement",
    "parse_statement", "plain_words_of",
]  # fmt: skip

RELATION_WORDS = WordLists("relations")
ATTRIBUTES = RELATION_WORDS.words("attributes")
ROLES = RELATION_WORDS.words("roles")
# The kinds of tokens. A label says which one of many is meant.
WORD, NAME, NUMBER, DATE, IDENTIFIER, LABEL = "word", "name", "number", "date", "identifier", "label"
# A statement has no more tokens; of a longer one the beginning counts.
_MAX_TOKENS = 120
_MAX_TEXT = 2_000
_CACHE_SIZE = 4_096
_SHORT = 4
# A denial denies at most so many words after it.
_MAX_DENIED = 2
_NEARLY_ALL = 0.75
_USER = "user"
_FIRST_PERSON = frozenset("i i'm i've i'd i'll my".split())
_PRESENT = frozenset("is are am be being get gets it's i'm he's she's that's we're they're".split())
_HAS = _PRESENT | {"has", "have"}
# Past or present by their form: they are taken for the present.
_EITHER_TENSE = frozenset(
    "set put read hit cut let used left felt quit based married located needed named called".split()
)
_MIN_REGULAR_PAST = 5
# The words around them decide whether these deny.
_MAY_DENY = DENIALS | FAILINGS | CHANGES | {"longer", "used"}
_WAS = frozenset("was were wasn't weren't did didn't".split())
_QUOTES = "\"'`\u201c\u201d\u00ab\u00bb"
# Every first word of a sentence has a capital letter: a long one with one of these endings is hardly a name.
_LONG = 6
_COMMON_ENDINGS = ("ing", "ed", "ly", "tion", "ness")


class StatementToken(NamedTuple):
    """A meaningful token: its kind, the key for comparison, its text, and the word that leads to it."""

    kind: str
    key: str
    text: str
    lead: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class ParsedStatement:
    """The tokens of a statement and its properties.

    `leader` is the name or pronoun with which it begins, `user` if it is about the user. `denials` are its words of
    denial, `denied` the words after each; `turns` and `modals` its small words that count. `happened` if it is about
    the past and may have happened more than once; `lists` if its value may be one of many; `compares` if it sets one
    thing against another; `passive` if it names an agent with by; `lists_up` if it has an and or an or.
    """

    tokens: tuple[StatementToken, ...]
    counted: dict[str, int]
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
        """Whether it says that it is about someone other than the user."""
        return self.leader not in ("", _USER)


def parse_statement(text: str) -> ParsedStatement:
    """Parse a statement."""
    return _parse(text if len(text) <= _MAX_TEXT else text[:_MAX_TEXT])


# One statement is compared with many, and each of those with several.
@lru_cache(maxsize=_CACHE_SIZE)
def _parse(written: str) -> ParsedStatement:
    text = normalize_statement(written)
    pieces = pieces_of(text)
    if _is_capitalised(pieces):
        pieces = pieces_of(text.lower())
    tokens = tuple(_tokens(pieces)[:_MAX_TOKENS])
    denials = tuple(_denials(pieces))
    running = [piece.low for piece in pieces if piece.kind == "word"]
    words = set(running)
    return ParsedStatement(
        tokens=tokens,
        # A `Counter` would be compared key by key in Python.
        counted=dict(Counter([token.key for token in tokens])),
        denials=tuple(word for word, _ in denials),
        denied=tuple(following for _, following in denials),
        turns=frozenset(words & REVERSALS.keys()),
        modals=frozenset(words & MODALS),
        leader=_leader(pieces, tokens),
        asks=text.rstrip().endswith(("?", "\uff1f")),
        happened=_is_past_event(running),
        lists=not words.isdisjoint(LISTING) or not words.isdisjoint(HABITS),
        compares=not words.isdisjoint(COMPARATIVES),
        lists_up=not words.isdisjoint(("and", "or")),
        passive="by" in words and not words.isdisjoint(BEINGS),
    )


class PlainWords(NamedTuple):
    """What a statement of letters alone shows unparsed: the keys that its tokens can have, and their least number."""

    keys: frozenset[str]
    least: int

    def most_shared(self, other: ParsedStatement) -> int:
        """Return how many tokens of another statement it can have at most."""
        return sum([count for key, count in other.counted.items() if key in self.keys])


# A statement without figures, quotations, identifiers and abbreviations.
_PLAIN = regex(r"(?:[A-Za-z]++(?:-[A-Za-z]++)*+(?:\.(?=\s|$)|[ ,;:!?()\n])*+)++")
_MAX_PLAIN = 500
_LETTERS = regex("[a-z]+")


@lru_cache(maxsize=_CACHE_SIZE)
def plain_words_of(text: str) -> PlainWords | None:
    """Return what a statement shows before it is parsed; None if it has more than letters, or names a day."""
    if len(text) > _MAX_PLAIN or not _PLAIN.fullmatch(plain := normalize_statement(text)):
        return None
    words = _LETTERS.findall(plain.lower())
    if not OF_DAYS.isdisjoint(words):
        return None
    least = min(_MAX_TOKENS, sum([bool(_plain_term(word)) for word in words]))
    return PlainWords(frozenset[str]().union(*map(_possible_keys, words)), least)


@lru_cache(maxsize=20_000)
def _possible_keys(word: str) -> frozenset[str]:
    return frozenset((word, _term(word), _term(_root(word)), NUMBER_WORDS.get(word, word)))


def _is_capitalised(pieces: Sequence[TextPiece]) -> bool:
    """Return whether nearly all words have capital letters, as in a heading: then a capital marks no name."""
    words = [piece for piece in pieces if piece.kind == "word"]
    capitals = sum(piece.capital for piece in words)
    is_upper = len(words) >= _SHORT and all(piece.text.isupper() for piece in words)
    return is_upper or (len(words) > _SHORT and capitals > _NEARLY_ALL * len(words))


def _leader(pieces: Sequence[TextPiece], tokens: Sequence[StatementToken]) -> str:
    """Return the subject: the name or pronoun that comes first, not counting a day."""
    first = next((piece.low for piece in pieces if piece.kind == "word"), "")
    if first in PRONOUNS:
        return PRONOUNS[first]
    token = next((token for token in tokens if token.kind != DATE), None)
    if first in _FIRST_PERSON or (token and token.key == _USER):
        return _USER
    return token.key if token and token.kind == NAME else ""


def _is_past_event(words: Sequence[str]) -> bool:
    """Return whether something was so, other than an event that happens once or a change to a new value."""
    if not ONCE.isdisjoint(words):
        return False
    return any(_states_past(words, at) for at, word in enumerate(words) if word in _WAS or _is_past_tense(word))


def _states_past(words: Sequence[str], at: int) -> bool:
    """Return whether a word in the past tense says that something was so."""
    word, before, after = words[at], words[max(0, at - 2) : at], words[at + 1 : at + 5]
    if "to" in after and not CHANGES.isdisjoint((word, *after)):
        return False
    # She has a parrot that came from Oslo: she has it now.
    if not _HAS.isdisjoint(words[: max(0, at - 2)]):
        return False
    if word in _WAS:
        return True
    # The required version, a married man: an adjective.
    is_verb = not before or before[-1] not in DETERMINERS
    return _PRESENT.isdisjoint(before) and is_verb


@lru_cache(maxsize=20_000)
def _is_past_tense(word: str) -> bool:
    is_regular = len(word) >= _MIN_REGULAR_PAST and word.endswith("ed")
    return word not in _EITHER_TENSE and (word in PAST_TENSE or is_regular)


def _tokens(pieces: Sequence[TextPiece]) -> list[StatementToken]:
    days = find_days(pieces)
    tokens: list[StatementToken] = []
    for at, piece in enumerate(pieces):
        if at in days:
            if days[at]:
                lead = _lead(pieces, _first_of_day(days, at))
                tokens.append(StatementToken(DATE, days[at].lower(), days[at], lead))
        elif piece.kind == "word":
            term = None if piece.capital else _plain_term(piece.low)
            if term:
                tokens.append(StatementToken(WORD, term, piece.low, _lead(pieces, at)))
            elif term is None and (token := _word_token(pieces, at, piece)) is not None:
                tokens.append(token)
        elif piece.kind == "quote":
            tokens += _tokens(pieces_of(piece.text.strip(_QUOTES)))
        elif piece.kind != "sign":
            value = _value_token(piece)
            follows_noun = bool(at) and pieces[at - 1].low in LABEL_NOUNS
            is_label = value.kind == NUMBER and follows_noun and _is_in_subject(pieces, at)
            tokens.append(value._replace(kind=LABEL if is_label else value.kind, lead=_lead(pieces, at)))
    return tokens


@lru_cache(maxsize=20_000)
def _plain_term(word: str) -> str | None:
    """Return the term of a word in small letters, empty if it has none; None where the words around it decide."""
    if word in NUMBER_WORDS or ((word in _MAY_DENY or word.endswith("n't")) and word not in FILLERS):
        return None
    return "" if word in FILLERS or word in STOP_WORDS else _term(word)


def _first_of_day(days: Collection[int], at: int) -> int:
    while at - 1 in days:
        at -= 1
    return at


def _lead(pieces: Sequence[TextPiece], at: int) -> str:
    """Return the word before a piece, skipping an article; `'s` after an owner."""
    before = at - 1
    if before > 0 and pieces[before].low in ("the", "a", "an", "about", "around", "version"):
        before -= 1
    if before < 0 or pieces[before].kind != "word":
        return ""
    return "'s" if pieces[before].text.endswith(("'s", "\u2019s")) else pieces[before].low


def _is_in_subject(pieces: Sequence[TextPiece], at: int) -> bool:
    """Return whether a piece belongs to the subject of the statement, before its verb."""
    return all(piece.low not in BEINGS for piece in pieces[:at])


def _word_token(pieces: Sequence[TextPiece], at: int, piece: TextPiece) -> StatementToken | None:
    word = piece.low
    if word in NUMBER_WORDS:
        kind = LABEL if _is_ordinal_label(pieces, at) else NUMBER
        return StatementToken(kind, NUMBER_WORDS[word], piece.text, _lead(pieces, at))
    if piece.capital and _is_letter_label(pieces, at):
        return StatementToken(LABEL if _is_in_subject(pieces, at) else NAME, word, piece.text, _lead(pieces, at))
    if word in FILLERS or ((word in _MAY_DENY or word.endswith("n't")) and _is_function_word(pieces, at)):
        return None
    opens = at == 0 or pieces[at - 1].text in ENDS_SENTENCE
    if piece.capital and word not in NEVER_NAMES and (not opens or _may_be_name(piece)):
        return StatementToken(NAME, _term(_root(word)) or word, piece.text, _lead(pieces, at))
    if word not in STOP_WORDS and (term := _term(word)):
        return StatementToken(WORD, term, word, _lead(pieces, at))
    return None


def _is_function_word(pieces: Sequence[TextPiece], at: int) -> bool:
    """Return whether a word only says that something is not so, no longer so, or so since a change."""
    return _denies(pieces, at) or _is_no_longer(pieces, at) or _is_change(pieces, at)


def _is_letter_label(pieces: Sequence[TextPiece], at: int) -> bool:
    """Return whether a letter says which one is meant: team B, room A."""
    text = pieces[at].text
    return len(text) == 1 and text.isupper() and text != "I" and at > 0 and pieces[at - 1].kind == "word"


def _is_ordinal_label(pieces: Sequence[TextPiece], at: int) -> bool:
    """Return whether an ordinal says which one of several is the subject: the second daughter."""
    if not NUMBER_WORDS[pieces[at].low].endswith("th") or at + 1 == len(pieces):
        return False
    leads = at == 0 or pieces[at - 1].low in DETERMINERS or _lead(pieces, at) == "'s"
    return leads and pieces[at + 1].kind == "word" and _is_in_subject(pieces, at)


def _denies(pieces: Sequence[TextPiece], at: int) -> bool:
    word = pieces[at].low
    if word in FAILINGS:
        return at + 1 < len(pieces) and pieces[at + 1].low == "to"
    return word in DENIALS or word.endswith("n't")


def _is_change(pieces: Sequence[TextPiece], at: int) -> bool:
    """Return whether a word only says that the value is new: was moved to Friday."""
    after = [piece.low for piece in pieces[at + 1 : at + 2]]
    return pieces[at].low in CHANGES and "to" in after and at > 0 and pieces[at - 1].low in BEINGS


def _is_no_longer(pieces: Sequence[TextPiece], at: int) -> bool:
    """Return whether a word is part of `no longer` or of `used to`, which deny."""
    word, before = pieces[at].low, pieces[at - 1].low if at else ""
    after = pieces[at + 1].low if at + 1 < len(pieces) else ""
    return (word == "longer" and before == "no") or (word == "used" and after == "to" and before not in BEINGS)


def _may_be_name(piece: TextPiece) -> bool:
    word = piece.low
    if word in VERBS or _is_third_person(word):
        return False
    return piece.text.isupper() or len(word) < _LONG or not word.endswith(_COMMON_ENDINGS)


def _is_third_person(word: str) -> bool:
    return word.endswith("s") and (word[:-1] in VERBS or word.removesuffix("es") in VERBS)


def _value_token(piece: TextPiece) -> StatementToken:
    if piece.kind == "number":
        kind, value = normalize_figure(piece.text)
        return StatementToken(DATE if kind == "dates" else NUMBER, value, piece.text)
    if piece.kind == "day":
        return StatementToken(DATE, normalize_day(piece.text).lower(), piece.text)
    if piece.kind == "clock":
        return StatementToken(DATE, normalize_time(piece.text), piece.text)
    return StatementToken(IDENTIFIER, " ".join(piece.text.strip("`").split()).casefold(), piece.text)


def _denials(pieces: Sequence[TextPiece]) -> Iterator[tuple[str, str]]:
    """Return each word of denial with the words after it; `used to` denies, too."""
    words = [piece for piece in _inline_quotes(pieces) if piece.kind == "word"]
    if _MAY_DENY.isdisjoint([piece.low for piece in words]) and not any("'" in piece.low for piece in words):
        return
    for at, piece in enumerate(words):
        # Most words are none of these.
        if (piece.low not in _MAY_DENY and not piece.low.endswith("n't")) or piece.low == "anymore":
            continue
        is_past = piece.low == "used" and _is_no_longer(words, at)
        if is_past or _denies(words, at):
            following = (
                _term(word.low) for word in words[at + 1 :] if word.low not in STOP_WORDS and word.low != "longer"
            )
            yield "used to" if is_past else piece.low, " ".join(islice(following, _MAX_DENIED))


def _inline_quotes(pieces: Sequence[TextPiece]) -> Sequence[TextPiece]:
    """Replace each quotation by its pieces."""
    if all(piece.kind != "quote" for piece in pieces):
        return pieces
    return [
        inner
        for piece in pieces
        for inner in (pieces_of(piece.text.strip(_QUOTES)) if piece.kind == "quote" else [piece])
    ]  # fmt: skip


def _root(word: str) -> str:
    word = PLACES.get(word, word)
    # A shorter name keeps its s.
    return word[:-1] if len(word) > _SHORT and word.endswith("s") else word


@lru_cache(maxsize=20_000)
def _term(word: str) -> str:
    # The verbs goes and lives: the stemmer would take them for other words.
    plain = "live" if word == "lives" else word.removesuffix("es") if word.endswith("oes") else word
    return " ".join(running_terms_of(plain))


_BULLET = regex(r"^[\s*+\u2022-]+(?=\w)")
_SPEAKER = regex(r"(?P<who>\w[\w.-]{0,30}(?: [A-Z][\w.-]{0,30})?): +(?=\S)")
# Speakers that are the user: the memory is about them.
_USERS = frozenset("user human me myself customer client owner ich nutzer".split())
_FIRST = {"I": "", "I'm": " is", "I've": " has", "I'll": " will", "I'd": " would", "My": "'s", "Mine": "'s"}
_FIRST_WORD = regex(r"(?:I(?:'(?:m|ve|ll|d))?|My|Mine)\b")
_OPENING = regex(r"(?:(?:no longer|never|not|always|currently|now|also|does not|doesn't|is|was|has|had) )?([a-z]+)")
_VERBS_WITHOUT_SUBJECT = frozenset(
    "is was has had no does doesn't did didn't never located based born married allergic".split()
)
_CANNOT_STAND = regex(
    r"\bcan(?:'t|not| not) stand(?= )(?! (?:up|still|in|on|at|by|for|there|here|straight|alone)\b)", re.IGNORECASE
)
_ABOUT_USER = regex(r"(?:the )?user\b|(?:i|my|mine)\b", re.IGNORECASE)
# A name or two, and the next word: Ada's, Ada Stern lives.
_NAMED = regex(r"(?P<who>[A-Z][\w.-]*)(?P<owner>'s?(?= ))?(?: [A-Z][\w.-]*)*(?P<owners>'s?(?= ))? (?P<does>[\w']+)")
_AFTER_NAME = BEINGS | MODALS | DENIALS | frozenset("has have had and no now also always often does did".split())
# A statement with one of these as its subject is about the subject of its memory: she, the deadline, birthday.
_NO_NAMES = STOP_WORDS | ATTRIBUTES | ROLES
# German words that are no English words; one of these is enough.
_GERMAN_WORDS = (
    r"\b(?:ich|und|der|das|ist|sind|nicht|niemals|kein\w{0,2}|ein|eine[mnr]?|mein\w{0,2}|unser\w{0,2}|wir|bei|auf|f\u00fcr|mit"
    r"|hei(?:ss|\u00df)[et]|wohn(?:e|t|en)|arbeitet?|l\u00e4uft|haben|seit|jetzt|nie|mag|hat (?:ein|zwei|drei)\w*)\b"
)
_GERMAN = regex(_GERMAN_WORDS, re.IGNORECASE)
# The same in lower case: it takes a third of the time.
_GERMAN_IN_LOWER_CASE = regex(_GERMAN_WORDS)
_GLOSSARY = {
    form: english.strip()
    for forms, _, english in (line.partition(":") for line in reversed(WordLists("german").lines("glossary")))
    for form in forms.split()
}
# Phrases that cannot be translated word by word.
_PHRASES = tuple(
    (regex(pattern, re.IGNORECASE), english)
    for pattern, english in (
        (r"\b(nicht|kein\w{0,2})\b(.{0,60}?) mehr\b", r"\1\2"),
        (r"\b(?:bin|ist|sind) nach (\w+) (?:um)?gezogen\b", r"moved to \1"),
        (r"\b(?:komme|kommt|kommen|stamme|stammt) aus\b", "is from"),
        (r"\bLieblings(\w+)", r"favourite \1"),
        (r"(\d{1,2})\. (?=[A-Z])", r"\1 "),
        (r"\bnutz(?:e|t|en)\b|\bverwende[tn]?\b", "uses"),
    )
)
_WORD = regex(r"[^\W\d_]+")


def normalize_statement(text: str) -> str:
    """Return a statement without its bullet, with its speaker as the subject, and German word by word in English."""
    return _normalize(text[:_MAX_TEXT])


def has_no_subject(text: str) -> bool:
    """Return whether a statement begins with its verb, as in a record of an entity: lives in Rome."""
    return _begins_with_verb(text if len(text) <= _MAX_TEXT else text[:_MAX_TEXT])


@lru_cache(maxsize=_CACHE_SIZE)
def _begins_with_verb(written: str) -> bool:
    opening = _OPENING.match(normalize_statement(written).casefold())
    if opening is None:
        return False
    first, word = opening[0].split()[0], opening[1]
    is_verb = word in _VERBS_WITHOUT_SUBJECT or word in PAST_TENSE or _is_third_person(word)
    return first in _VERBS_WITHOUT_SUBJECT or is_verb


def names_its_subject(text: str) -> bool:
    """Return whether a statement names its subject in any memory: I, the user, a name, a speaker."""
    plain, whole = normalize_statement(text), _BULLET.sub("", text.strip())
    spoken = _SPEAKER.match(whole)
    if _ABOUT_USER.match(plain) or (spoken and _is_speaker(spoken["who"], whole[spoken.end() :])):
        return True
    named = _NAMED.match(plain)
    if named is None or has_no_subject(plain) or named["who"].casefold() in _NO_NAMES:
        return False
    if named["owner"] or named["owners"]:
        return True
    does = named["does"].casefold()
    return does in _AFTER_NAME or does in PAST_TENSE or does.endswith(("n't", "ed")) or _is_third_person(does)


def _is_speaker(who: str, rest: str) -> bool:
    """Return whether the words before a colon are the speaker of the rest, and not a heading."""
    return who.casefold() in _USERS or _FIRST_WORD.match(rest) is not None


@lru_cache(maxsize=_CACHE_SIZE)
def _normalize(text: str) -> str:
    text = _BULLET.sub("", text.strip()).replace("\u2019", "'")
    speaker = _SPEAKER.match(text)
    if speaker:
        text = _resolve_speaker(speaker["who"], text[speaker.end() :], whole=text)
    if "stand" in text:
        text = _CANNOT_STAND.sub("hates", text)
    return _translate(text) if _is_german(text) else text


def _is_german(text: str) -> bool:
    if text.isascii() and not _GERMAN_IN_LOWER_CASE.search(text.lower()):
        return False
    return any(not word[0].isupper() for word in _GERMAN.finditer(text))


def _resolve_speaker(who: str, rest: str, *, whole: str) -> str:
    if who.casefold() in _USERS:
        return rest
    first = _FIRST_WORD.match(rest)
    # The words before a colon may be a heading.
    return f"{who[0].upper()}{who[1:]}{_FIRST[first[0]]}{rest[first.end() :]}" if first else whole


def _translate(text: str) -> str:
    for pattern, english in _PHRASES:
        text = pattern.sub(english, text)
    return _WORD.sub(_translate_word, text)


def _translate_word(match: re.Match[str]) -> str:
    word = match[0]
    english = _GLOSSARY.get(word.casefold(), word)
    opens = match.start() == 0
    return english[0].upper() + english[1:] if opens and word[0].isupper() else english
