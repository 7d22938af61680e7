"""The normal form of a statement: its words, figures, names and days in order, without words that may vary.

A rewritten text may add and drop the free words below; all other words carry meaning and must stay. So `only`, `some`,
`all`, `might`, `will`, `before`, `because`, `by`, `from` and `to` are in none of these lists.
"""

import re
from collections.abc import Sequence
from dataclasses import replace
from functools import lru_cache

from scrubjay.lazy import dataclass
from scrubjay.text.claims.pieces import TextPiece, find_days, normalize_day, normalize_figure, normalize_time, pieces_of
from scrubjay.text.claims.statements import statements_of
from scrubjay.text.claims.words import AXES, NEGATIONS, NEVER_NAMES, NUMBER_WORDS, UNITS
from scrubjay.text.tokens import running_terms_of

_PRESENT = frozenset("is are am do does".split())
_PAST = frozenset("was were did".split())
_TO_BE = frozenset("is are am was were be been being".split())
# Words that refer to an earlier statement: they may be dropped, but not added.
_REFERRING = frozenset(
    "it its itself he him his she her hers they them their theirs this these those".split()
)  # fmt: skip
_FREE = _PRESENT | _PAST | _REFERRING | frozenset("a an the and of in at be been being that also".split())
# Words that govern their whole sentence: such a statement is joined with no other.
_STANDALONE = frozenset(
    """
    if unless because since when whenever while until although though except besides so therefore otherwise instead but
    questioned
    """.split()
)
# Words that may govern the words after them: nothing is joined after such a statement.
_GOVERNING = frozenset(
    """
    not no never none neither nor without nobody nothing hardly barely only might may could should would will must can
    shall perhaps maybe probably possibly likely think thinks thought believe believes believed say says said tell
    tells told claim claims claimed guess guesses assume assumes assumed report reports reported suspect suspects
    suspected hope hopes hoped deny denies denied plan plans planned want wants wanted expect expects
    expected propose proposes proposed suggest suggests suggested
    """.split()
)
# Words that govern a statement from its start: they must stay at the start.
_STARTING = _STANDALONE | frozenset(
    "before after only all every each some most few any none no first last then perhaps maybe probably".split()
)
_CONTRACTIONS = {
    "can't": "can not", "cannot": "can not", "cant": "can not", "won't": "will not", "wont": "will not",
    "shan't": "shall not", "dont": "do not", "doesnt": "does not", "didnt": "did not", "isnt": "is not",
    "wasnt": "was not", "werent": "were not", "wouldnt": "would not", "couldnt": "could not",
    "shouldnt": "should not", "hasnt": "has not", "havent": "have not", "hadnt": "had not",
}  # fmt: skip
# Signs that mean as much as a word.
_SIGN_WORDS = {
    "<": "lessthan", ">": "greaterthan", "\u2264": "atmost", "\u2265": "atleast", "\u2260": "unequal",
    "\u00b1": "plusminus", "\u2192": "becomes", "~": "roughly", "?": "questioned",
}  # fmt: skip
# Prepositions that assign roles: `from A to B` is not `to A from B`.
_ROLE_WORDS = frozenset("from to into by for against over under with without between than can must may might".split())
_SIGN = re.compile(r"[<>\u2264\u2265\u2260\u00b1\u2192]|~(?=\s?\d)|\?(?=[\s\"')\]]|$)")
_CURLY_QUOTE = re.compile("[\u201c\u201d\u201e\u00ab\u00bb]")
_QUOTE_MARK = re.compile(r"^\s*>+", re.MULTILINE)
_MAX_CACHED_TEXT = 500
_MIN_SENTENCE = 3
# Keys of words that may stand in several places of a statement: `on Monday`, `at 02:30`; `nightly`, `every morning`.
_TIME = re.compile(r"\d{1,2}:\d\d|(?:mon|tues|wednes|thurs|fri|satur|sun)day|\d{1,2} [a-z]+(?: \d{4})?")
_FREQUENCY = re.compile(r"night|daili|weekli|monthli|yearli|(?:everi|each) \w+")
_CLAUSES = re.compile(r"[,;]|:(?!\d)|\b(?:and|or|nor|but|while|then)\b", re.IGNORECASE)
# Statements with so many firm words are not recognised in the passive voice: their roles could be exchanged.
_MIN_AMBIGUOUS = 2


@dataclass(frozen=True, slots=True)
class NormalWord:
    """A word in normal form; a firm one could be exchanged with another, and `free` are the free words before it."""

    key: str
    is_firm: bool
    free: frozenset[str] = frozenset()


@dataclass(frozen=True, slots=True)
class NormalStatement:
    """A statement: its text and its normal words."""

    text: str
    words: tuple[NormalWord, ...]

    @property
    def keys(self) -> tuple[str, ...]:
        """The keys of its words, in order."""
        return tuple(word.key for word in self.words)

    @property
    def refers_back(self) -> bool:
        """Whether it refers to an earlier statement."""
        return any(word.free & _REFERRING for word in self.words)

    @property
    def has_governing_start(self) -> bool:
        """Whether its first word governs it."""
        return bool(self.words) and self.words[0].key in _NORMAL_STARTING

    @property
    def is_standalone(self) -> bool:
        """Whether it would change the meaning of a statement joined with it."""
        return any(word.key in _NORMAL_STANDALONE for word in self.words)

    @property
    def governs_following(self) -> bool:
        """Whether a statement joined after it might be taken as denied, uncertain or reported."""
        return any(word.key in _NORMAL_GOVERNING for word in self.words)


def normalize_statements(text: str) -> list[NormalStatement]:
    """Return the statements of a text in normal form, without those that have free words only."""
    statements = [
        NormalStatement(
            statement, _cached_words(statement) if len(statement) <= _MAX_CACHED_TEXT else _normal_words(statement)
        )
        for statement in statements_of(text)
    ]
    return [statement for statement in statements if statement.words]


def normalize_lines(text: str) -> list[NormalStatement]:
    """Return the statements of a text in which each line is a sentence, with or without a full stop.

    A line that needs its neighbours, such as a heading, an item, code or the rest of a sentence, is not cut off.
    """
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    if not all(map(_is_sentence, lines)) or not all(line[0].isupper() for line in lines):
        return normalize_statements(text)
    return [statement for line in lines for statement in normalize_statements(line)]


def is_reworded(statement: NormalStatement, other: NormalStatement) -> bool:
    """Return whether two statements have the same words, and differ only in the place of a time and of a frequency.

    Only single clauses are compared: with two of them, a time could belong to either.
    """
    both = (statement, other)
    if sorted(statement.keys) != sorted(other.keys) or not _NORMAL_ROLES.isdisjoint(statement.keys):
        return False
    if any(part.is_standalone or part.governs_following or part.has_governing_start for part in both):
        return False
    if any(part.refers_back or _CLAUSES.search(part.text) for part in both):
        return False
    times, frequencies = [[key for key in statement.keys if kind.fullmatch(key)] for kind in (_TIME, _FREQUENCY)]
    if len(times) > 1 or len(frequencies) > 1:
        return False
    movable = {"on", *times, *frequencies}
    fixed, other_fixed = [[key for key in part.keys if key not in movable] for part in both]
    return fixed == other_fixed and not _has_other_tense(_free_words(statement.words), _free_words(other.words))


def _is_sentence(line: str) -> bool:
    words = line.split()
    last = words[-1].lower().strip(".!?")
    return (
        len(words) >= _MIN_SENTENCE
        and line[-1] not in ":,;-"
        and last not in (_FREE | _ROLE_WORDS | _STARTING) - _REFERRING
    )


def is_same(words: Sequence[NormalWord], original: Sequence[NormalWord]) -> bool:
    """Return whether words mean the same as the original: the same keys in the same order and tense.

    The passive voice counts as the same where no roles can be exchanged: `fixed the bug`, `the bug was fixed`.
    """
    if len(words) != len(original):
        return False
    is_ordered = all(word.key == other.key for word, other in zip(words, original, strict=True))
    if not is_ordered and not _is_passive(words, original):
        return False
    free, original_free = _free_words(words), _free_words(original)
    return not (free & _REFERRING) - original_free and not _has_other_tense(free, original_free)


def _normal_words(statement: str) -> tuple[NormalWord, ...]:
    straight = _CURLY_QUOTE.sub('"', _QUOTE_MARK.sub("", statement))
    plain = _SIGN.sub(lambda sign: f" {_SIGN_WORDS[sign[0]]} ", straight)
    pieces = pieces_of(plain)
    days = find_days(pieces)
    words: list[NormalWord] = []
    free: set[str] = set()
    for position, piece in enumerate(pieces):
        for key, is_firm in _read_piece(pieces, position, days):
            if not is_firm and key in _FREE:
                free.add(key)
                continue
            words.append(NormalWord(_stem(key) if piece.kind == "word" else key, is_firm, frozenset(free)))
            free.clear()
    if words and free:
        words[-1] = replace(words[-1], free=words[-1].free | free)
    return tuple(words)


# A rewritten text has most statements of the original, which are compared one by one.
_cached_words = lru_cache(maxsize=1_024)(_normal_words)


def _read_piece(pieces: Sequence[TextPiece], position: int, days: dict[int, str]) -> list[tuple[str, bool]]:
    """Return the keys of a piece, each with whether it is firm."""
    piece = pieces[position]
    if position in days:
        return [(days[position], True)] if days[position] else []
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
    if word in _CONTRACTIONS or word.endswith("n't"):
        expanded = _CONTRACTIONS.get(word) or f"{word[:-3]} not"
        return [(part, part not in _FREE) for part in expanded.split()]
    if word in _FREE:
        return [(word, False)]
    if word in NUMBER_WORDS:
        return [(NUMBER_WORDS[word], True)]
    is_name = piece.capital and word not in NEVER_NAMES
    is_firm = is_name or word in NEGATIONS or word in AXES or word in _STARTING or word in _ROLE_WORDS
    return [(UNITS.get(word, word), is_firm)]


def _stem(word: str) -> str:
    return " ".join(running_terms_of(word)) or word


def _free_words(words: Sequence[NormalWord]) -> frozenset[str]:
    return frozenset(free for word in words for free in word.free)


def _is_passive(words: Sequence[NormalWord], original: Sequence[NormalWord]) -> bool:
    if any(word.key != other.key for word, other in zip(words, (*original[1:], original[0]), strict=True)):
        return False
    firm_count = max(sum(word.is_firm for word in sequence) for sequence in (words, original))
    return firm_count < _MIN_AMBIGUOUS and bool((_free_words(words) - _free_words(original)) & _TO_BE)


def _has_other_tense(free: frozenset[str], original: frozenset[str]) -> bool:
    """Return whether the present has become the past, or the other way round."""
    return bool(
        (original & _PRESENT and not original & _PAST and free & _PAST and not free & _PRESENT)
        or (original & _PAST and not original & _PRESENT and free & _PRESENT and not free & _PAST)
    )


_NORMAL_STARTING, _NORMAL_STANDALONE, _NORMAL_GOVERNING, _NORMAL_ROLES = (
    frozenset(map(_stem, words)) for words in (_STARTING, _STANDALONE, _GOVERNING, _ROLE_WORDS)
)
