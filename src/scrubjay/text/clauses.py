"""A search query as clauses (words, prefixes, exact phrases, exclusions), and where a text matches them."""

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import field
from functools import lru_cache
from itertools import islice
from typing import NamedTuple

from scrubjay.lazy import dataclass, regex
from scrubjay.text.scripts import WORD, FoldedText, fold, fold_in_place, is_unspaced
from scrubjay.text.tokens import DOT, IRREGULAR, running_terms_of, terms_of

__all__ = [
    "Clause", "ClauseMatch", "ParsedSearch", "count_matches", "find_matches", "parse_clauses", "phrase_pattern",
    "stems_with_prefix",
]  # fmt: skip

# A query with more than these is a text, not a search.
_MAX_CLAUSES = 32
_MAX_TOKENS = 500
_MAX_CLAUSE_LENGTH = 300
_MAX_PHRASE_WORDS = 40
# A text with more different words is no prose.
_MAX_WORDS = 30_000
_QUOTES = str.maketrans(dict.fromkeys("\u201c\u201d\u201e\u201f\u00ab\u00bb\u300c\u300d\u300e\u300f", '"'))
_TOKEN = regex(r'(?P<not>(?<!\S)-(?!-))?(?:"(?P<phrase>[^"]*)"|(?P<word>[^\s"]+))')
# The stemmer leaves at least this many letters.
_MIN_STEM_LENGTH = 3
_LETTER_OR_DIGIT = regex(r"[^\W_]")
# Signs between the words of a phrase, such as those of Markdown.
_BETWEEN = r"[\W_]{1,8}"
_OUTSIDE, _LETTERS = r"(?<![^\W_])", r"[^\W_]*"


@dataclass(frozen=True, slots=True, kw_only=True)
class Clause:
    """One part of a search; a text that matches it has all of its terms.

    The terms alone decide on a word; on a prefix or a phrase, its pattern in the folded text decides as well.
    """

    text: str
    folded: str
    terms: tuple[str, ...] = ()
    # The terms of a phrase in order.
    running: tuple[str, ...] = ()
    pattern: re.Pattern[str] | None = None
    is_beginning: bool = False
    # Whether signs are a part of it, as in `c++`: no single word of a text equals it.
    is_signed: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class ParsedSearch:
    """The clauses that a text must match, those that it must not match, and the words ignored as too frequent."""

    included: tuple[Clause, ...] = ()
    excluded: tuple[Clause, ...] = ()
    ignored: tuple[str, ...] = ()
    too_many: bool = False
    words: str = ""
    terms: tuple[str, ...] = field(default=())


class ClauseMatch(NamedTuple):
    """A part of a text that matches a clause, given by the clause's number."""

    start: int
    end: int
    clause: int


def parse_clauses(query: str) -> ParsedSearch:
    """Parse a query. Every text is a valid one: whatever is no operator is a word."""
    included: dict[tuple[str, bool, bool], Clause] = {}
    excluded: dict[tuple[str, bool, bool], Clause] = {}
    ignored: list[str] = []
    too_many = False
    seen: set[str] = set()
    for token in _TOKEN.finditer(query.translate(_QUOTES)):
        if token[0] in seen:
            continue
        seen.add(token[0])
        if max(len(included), len(excluded)) > _MAX_CLAUSES or len(seen) > _MAX_TOKENS:
            too_many = True
            break
        clause, ignored_word = _parse_token(token)
        ignored += [ignored_word] if ignored_word else []
        if clause is not None:
            clauses = excluded if token["not"] else included
            clauses.setdefault((clause.folded, clause.pattern is None, clause.is_beginning), clause)
    if not included and ignored and not excluded:
        # Only words that every text has: search for them as a phrase.
        phrase = _parse_phrase(" ".join(ignored))
        included, ignored = {("", False, False): phrase} if phrase else {}, []
    unique = list(included.values())
    return ParsedSearch(
        included=tuple(unique[:_MAX_CLAUSES]),
        excluded=tuple(list(excluded.values())[:_MAX_CLAUSES]),
        ignored=tuple(dict.fromkeys(ignored)),
        too_many=too_many or len(unique) > _MAX_CLAUSES,
        words=" ".join(clause.text for clause in unique[:_MAX_CLAUSES]),
        terms=tuple(dict.fromkeys(term for clause in unique for term in clause.terms)),
    )


def count_matches(text: str, clauses: Sequence[Clause]) -> tuple[list[int], int]:
    """Return how often a text matches each clause, and how many words it has."""
    words = Counter((_PLAIN_WORD if text.isascii() else _ANY_WORD).findall(text))
    searched = {term for clause in clauses if clause.pattern is None for term in clause.terms}
    terms: Counter[str] = Counter()
    if searched:
        for word, count in islice(words.items(), _MAX_WORDS):
            for term in _terms(word)[0]:
                if term in searched:
                    terms[term] += count
    if any(clause.is_signed for clause in clauses):
        terms |= Counter(terms_of(text))
    folded = fold(text) if any(clause.pattern is not None for clause in clauses) else ""
    counts = [
        sum(1 for _ in clause.pattern.finditer(folded))
        if clause.pattern is not None
        else min(terms[term] for term in clause.terms)
        for clause in clauses
    ]
    return counts, words.total()


def find_matches(text: str, clauses: Sequence[Clause]) -> list[ClauseMatch]:
    """Return all parts of a text to highlight, in order and without overlaps."""
    folded = fold_in_place(text)
    matches: list[ClauseMatch] = []
    for number, clause in enumerate(clauses):
        if clause.pattern is not None:
            spans = [match.span() for match in clause.pattern.finditer(folded.text)]
            matches += [ClauseMatch(*folded.span(*span), number) for span in spans]
    matches += _match_words(text, clauses)
    matched = {match.clause for match in matches}
    for number, clause in enumerate(clauses):
        if clause.pattern is None and number not in matched:
            matches += [ClauseMatch(*span, number) for span in _match_letters(folded, clause)]
    return _merge_overlaps(matches)


def phrase_pattern(words: Iterable[str]) -> re.Pattern[str] | None:
    """Return a pattern that finds words in a row in a folded text, with any signs between them."""
    phrase = [word for word in words if word][:_MAX_PHRASE_WORDS]
    if not phrase:
        return None
    start = "" if is_unspaced(phrase[0][:1]) else _OUTSIDE
    end = "" if is_unspaced(phrase[-1][-1:]) else r"(?![^\W_])"
    return regex(f"{start}{_join_words(phrase)}{end}")


def stems_with_prefix(prefix: str) -> tuple[str, ...]:
    """Return the terms of words with a prefix that do not have the prefix themselves.

    For `runn` that is `run`, for `story` it is `stori`: the stemmer cuts endings off and changes letters before them.
    """
    shorter = [prefix[:end] for end in range(_MIN_STEM_LENGTH, len(prefix))]
    irregular = [form for form in IRREGULAR if form.startswith(prefix)]
    return tuple(dict.fromkeys((*terms_of(f"{prefix} {' '.join(irregular)}"), *reversed(shorter))))


def _parse_token(token: re.Match[str]) -> tuple[Clause | None, str]:
    """Return the clause of a token, or the word to ignore."""
    if token["phrase"] is not None:
        return _parse_phrase(token["phrase"][:_MAX_CLAUSE_LENGTH]), ""
    raw = token["word"][:_MAX_CLAUSE_LENGTH]
    bare = raw.strip("*")
    if not _LETTER_OR_DIGIT.search(bare) and not terms_of(bare):
        return None, ""
    if raw == f"{bare}*":
        return _parse_prefix(bare), ""
    # A version or an address counts as a whole, another word by its parts, the rest by its signs.
    all_terms = terms_of(bare)
    terms = tuple(term for term in all_terms if DOT in term) or running_terms_of(bare) or all_terms
    if not terms:
        phrase = _parse_phrase(bare) if token["not"] else None
        return (phrase, "") if phrase else (None, bare)
    parts = {term for word in WORD.findall(bare) for term in terms_of(word)}
    clause = Clause(
        text=bare,
        folded=fold(bare).strip(".,;:!?()[]{}<>"),
        terms=tuple(dict.fromkeys(terms)),
        is_signed=not parts.issuperset(terms),
    )
    return clause, ""


def _parse_phrase(text: str) -> Clause | None:
    text = " ".join(text.split())
    pattern = phrase_pattern(WORD.findall(fold(text).replace("_", " ")))
    running = running_terms_of(text)
    terms = tuple(dict.fromkeys(running or terms_of(text)))
    if pattern is None:
        # Only signs: search for them literally.
        return Clause(text=text, folded=fold(text), terms=terms, pattern=regex(re.escape(text))) if text else None
    return Clause(text=text, folded=fold(text), terms=terms, running=running, pattern=pattern)


def _parse_prefix(text: str) -> Clause | None:
    """Parse a word given by its first letters; of several words joined by signs, the last one."""
    words = WORD.findall(fold(text).replace("_", " "))
    if not words:
        return None
    *before, last = words
    start, rest = ("", "") if is_unspaced(last) else (_OUTSIDE, _LETTERS)
    pattern = regex(f"{start}{_join_words([*before, last])}{rest}")
    terms = tuple(dict.fromkeys(term for word in before for term in running_terms_of(word)))
    return Clause(text=f"{text}*", folded=last, terms=terms, pattern=pattern, is_beginning=True)


def _join_words(words: Iterable[str]) -> str:
    return _BETWEEN.join(re.escape(word) for word in words)


# For plain text: it finds the same as the other, several times as fast.
_PLAIN_WORD = regex(r"[A-Za-z0-9_]+")
# Accents may follow their letters as characters of their own.
_ANY_WORD = regex(f"(?:{WORD.pattern}[\u0300-\u036f]*)+")


# The words of a few thousand notes: stemming takes longer than all the rest.
@lru_cache(maxsize=32_768)
def _terms(word: str) -> tuple[tuple[str, ...], bool]:
    return tuple(dict.fromkeys(terms_of(word))), is_unspaced(word)


def _match_words(text: str, clauses: Sequence[Clause]) -> Iterator[ClauseMatch]:
    """Match the words of a text by their terms, except in scripts without spaces."""
    numbers = {term: number for number, clause in enumerate(clauses) if clause.pattern is None for term in clause.terms}
    if not numbers:
        return
    matched: dict[str, int | None] = {}
    for word in (_PLAIN_WORD if text.isascii() else _ANY_WORD).finditer(text):
        spelling = word[0]
        if spelling not in matched:
            if len(matched) == _MAX_WORDS:
                continue
            terms, is_run = _terms(spelling)
            matched[spelling] = None if is_run else next((numbers[term] for term in terms if term in numbers), None)
        if (number := matched[spelling]) is not None:
            yield ClauseMatch(word.start(), word.end(), number)


def _match_letters(folded: FoldedText, clause: Clause) -> Iterator[tuple[int, int]]:
    """Match a word letter by letter, or else its parts in scripts without spaces."""
    for strings in ([clause.folded], [term for term in clause.terms if is_unspaced(term)]):
        spans = [span for string in strings if string for span in _find_string(folded, string)]
        if spans:
            yield from spans
            return


def _find_string(folded: FoldedText, string: str) -> Iterator[tuple[int, int]]:
    at = folded.text.find(string)
    while at >= 0:
        yield folded.span(at, at + len(string))
        at = folded.text.find(string, at + len(string))


def _merge_overlaps(matches: list[ClauseMatch]) -> list[ClauseMatch]:
    """Return the matches in order, with one in place of those that overlap."""
    merged: list[ClauseMatch] = []
    for match in sorted(matches):
        if match.start == match.end:
            continue
        if merged and match.start < merged[-1].end:
            last = merged[-1]
            merged[-1] = last._replace(end=max(last.end, match.end))
        else:
            merged.append(match)
    return merged
