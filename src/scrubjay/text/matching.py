"""Where in a text stands what is looked for, and how often."""

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from functools import lru_cache
from typing import NamedTuple

from scrubjay.text.clauses import Clause
from scrubjay.text.folding import FoldedText, fold, fold_in_place
from scrubjay.text.scripts import WORD, is_unspaced
from scrubjay.text.tokens import terms_of

__all__ = ["ClauseMatch", "count_matches", "find_matches"]

# What the other finds in a plain text, several times as fast.
_PLAIN_WORD = re.compile(r"[A-Za-z0-9_]+")
# Accents may stand by themselves behind their letters.
_ANY_WORD = re.compile(f"(?:{WORD.pattern}[\u0300-\u036f]*)+")


class ClauseMatch(NamedTuple):
    """A part of a text that is what one of the clauses asks for."""

    start: int
    end: int
    clause: int


def count_matches(text: str, clauses: Sequence[Clause]) -> tuple[list[int], int]:
    """How often a text has each clause, and how many words it has."""
    words = Counter((_PLAIN_WORD if text.isascii() else _ANY_WORD).findall(text))
    sought = {term for clause in clauses if clause.pattern is None for term in clause.terms}
    terms: Counter[str] = Counter()
    if sought:
        for word, count in words.items():
            for term in _terms(word)[0]:
                if term in sought:
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
    """All that is to be shown as found, from the beginning to the end; no two of them overlap."""
    folded = fold_in_place(text)
    found: list[ClauseMatch] = []
    for number, clause in enumerate(clauses):
        if clause.pattern is not None:
            spans = [one.span() for one in clause.pattern.finditer(folded.text)]
            found += [ClauseMatch(*folded.span(*span), number) for span in spans]
    found += _words(text, clauses)
    seen = {place.clause for place in found}
    for number, clause in enumerate(clauses):
        if clause.pattern is None and number not in seen:
            found += [ClauseMatch(*span, number) for span in _spelled(folded, clause)]
    return _apart(found)


def _words(text: str, clauses: Sequence[Clause]) -> Iterator[ClauseMatch]:
    """Words that have become one of the terms; those without spaces between them are no words."""
    plain = {term: number for number, one in enumerate(clauses) if one.pattern is None for term in one.terms}
    if not plain:
        return
    for found in (_PLAIN_WORD if text.isascii() else _ANY_WORD).finditer(text):
        terms, is_run = _terms(found[0])
        number = next((plain[term] for term in terms if term in plain), None)
        if number is not None and not is_run:
            yield ClauseMatch(found.start(), found.end(), number)


# The words of a few thousand notes: to find their stems takes longer than all the rest.
@lru_cache(maxsize=32_768)
def _terms(word: str) -> tuple[tuple[str, ...], bool]:
    return tuple(dict.fromkeys(terms_of(word))), is_unspaced(word)


def _spelled(folded: FoldedText, clause: Clause) -> Iterator[tuple[int, int]]:
    """A word where it stands to the letter, or else its parts: of scripts without spaces, and of signs."""
    for sought in ([clause.folded], [term for term in clause.terms if is_unspaced(term)]):
        spans = [span for one in sought if one for span in _occurrences(folded, one)]
        if spans:
            yield from spans
            return


def _occurrences(folded: FoldedText, sought: str) -> Iterator[tuple[int, int]]:
    at = folded.text.find(sought)
    while at >= 0:
        yield folded.span(at, at + len(sought))
        at = folded.text.find(sought, at + len(sought))


def _apart(found: list[ClauseMatch]) -> list[ClauseMatch]:
    """In order; of those that overlap or touch within a word, one that reaches over all."""
    kept: list[ClauseMatch] = []
    for place in sorted(found):
        if place.start == place.end:
            continue
        if kept and place.start < kept[-1].end:
            last = kept[-1]
            kept[-1] = last._replace(end=max(last.end, place.end))
        else:
            kept.append(place)
    return kept
