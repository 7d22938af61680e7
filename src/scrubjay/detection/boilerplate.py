"""Boilerplate: the lines of a note that its template gave it, which claim nothing and so contradict nothing.

Some lines show it by their form: headings, tasks, embedded files, tags, fields without a value, the date of the note
itself. All others are recognised by how many notes have them. A sentence that two notes share may be news; one that
three share is a template's.
"""

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import lru_cache

from scrubjay.lazy import dataclass, regex
from scrubjay.model.conflict import statement_key
from scrubjay.model.memory import Memory
from scrubjay.text.claims.statements import comparison_key, statements_of

__all__ = ["SHARED_BY", "Boilerplate", "StatementPlace", "find_boilerplate", "is_formal"]

SHARED_BY = 3
"""So many notes that have a line make it boilerplate."""

# A longer text is a document: only its beginning is compared.
_MAX_CONTENT = 20_000
_DATE = (
    r"(?:\d{4}-\d\d?-\d\d?|\d{4}-W\d\d|\d{1,2}[./]\d{1,2}[./]\d{2,4}|\d{1,2}\.?\s+[^\W\d]{3,9}\.?\s+\d{4}"
    r"|[^\W\d]{3,9}\.?\s+\d{1,2}(?:st|nd|rd|th)?,?\s+\d{4})"
)
_TIME = r"(?:[T,\s]\s*(?:at\s+)?\d{1,2}:\d\d(?::\d\d)?(?:\s*[ap]m|Z)?)"
_DAY = r"(?:[^\W\d]{6,10},?\s+)"
_MOMENT = rf"{_DAY}?\[*(?:{_DATE}){_TIME}?\]*"
_MOMENTS = regex(_MOMENT, re.IGNORECASE)
# Labels of the date of the note itself; any other date may be what the note is about.
_LABEL = (
    r"(?:date|day|week(?:\s+of)?|time|when|created|updated|modified|changed|written|logged|noted|saved|started|decided"
    r"|last\s+\w+|daily\s+note|journal|datum|tag|erstellt|ge\u00e4ndert|fecha|creado|fait\s+le|cr\u00e9\u00e9)"
)
_FORMAL = regex(
    r"\s*(?:"
    r"#{1,6}(?:\s.*)?"  # a heading
    r"|(?:[-*+]|\d{1,3}[.)])\s*(?:\[.\](?:\s.*)?)?"  # a task, or an item without a text
    r"|(?:[-*+]\s+)?!\[\[[^\]\n]*\]\]|(?:[-*+]\s+)?!\[[^\]\n]*\]\([^)\n]*\)"  # an embedded file
    r"|(?:(?:tags?|keywords?)\s*:+\s*)?(?:#[\w/-]+[\s,]*)+"
    r"|[-*_=]{3,}|<!--.*-->|%%.*%%"
    r"|[*_>\s-]{0,6}[^\W\d][\w /-]{0,30}[*_]{0,2}\s?::?[*_]{0,2}"  # a field without a value
    rf"|[*_>\s-]{{0,6}}(?:{_LABEL}[*_]{{0,2}}\s?:{{0,2}}[*_]{{0,2}}\s*(?:on\s+|at\s+)?)?{_MOMENT}[*_.\s]{{0,5}}"
    r")\s*",
    re.IGNORECASE,
)

StatementPlace = tuple[str, str]
"""A statement: the id of its memory, and the key by which a conflict stores it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Boilerplate:
    """The boilerplate among some statements: their keys for comparison, and every place that they were found in."""

    keys: frozenset[str] = frozenset()
    places: frozenset[StatementPlace] = frozenset()

    def includes(self, memory: Memory, statement: str) -> bool:
        """Check whether a statement of a note is boilerplate."""
        return _is_note(memory.content) and (_has_formal_lines(statement) or _line_key(statement) in self.keys)

    def without_heading(self, statement: str) -> str:
        """Return a statement without the template's heading over it; a heading of its own may name its subject."""
        heading, body = _split_heading(statement)
        return body if heading and _line_key(heading) in self.keys else statement

    def own_text(self, memory: Memory) -> str:
        """Return a content without its boilerplate."""
        if not _is_note(memory.content):
            return memory.content.strip()
        statements = statements_of(memory.content)
        own = [text for text in statements if not self.includes(memory, text)]
        return memory.content.strip() if len(own) == len(statements) else "\n\n".join(own)


def is_formal(memory: Memory, statement: str) -> bool:
    """Check whether a statement of a note shows by its form that it claims nothing.

    A text of one statement is no note: its writer meant it.
    """
    return _is_note(memory.content) and _has_formal_lines(statement)


def find_boilerplate(memory: Memory, statements: Iterable[str], others: Mapping[str, Memory]) -> Boilerplate:
    """Return which statements of a note so many others have that they are boilerplate."""
    if len(others) < SHARED_BY - 1 or not _is_note(memory.content):
        return Boilerplate()
    own = {_line_key(text): text for text in _with_headings(statements)}
    places: dict[str, list[StatementPlace]] = {key: [(memory.id, statement_key(text))] for key, text in own.items()}
    for other in others.values():
        if other.id == memory.id or not _is_note(other.content):
            continue
        by_key = {_line_key(text): text for text in _with_headings(_statements(other.content))}
        for key in by_key.keys() & own.keys():
            places[key].append((other.id, statement_key(by_key[key])))
    shared = {key: ends for key, ends in places.items() if len(ends) >= SHARED_BY}
    return Boilerplate(
        keys=frozenset(shared), places=frozenset(place for ends in shared.values() for place in ends)
    )  # fmt: skip


def _statements(content: str) -> Sequence[str]:
    return statements_of(content[:_MAX_CONTENT])


def _with_headings(statements: Iterable[str]) -> Iterator[str]:
    for statement in statements:
        yield statement
        if heading := _split_heading(statement)[0]:
            yield heading


def _split_heading(statement: str) -> tuple[str, str]:
    """Split a heading from the text under it; empty if there is none."""
    first, _, rest = statement.partition("\n")
    return (first, rest.strip("\n")) if first.lstrip().startswith("#") and rest.strip() else ("", statement)


def _is_note(content: str) -> bool:
    # A text in one line is mostly one statement, or a few: no template is so short.
    return "\n" in content.strip() and len(_statements(content)) > 1


@lru_cache(maxsize=2_048)
def _has_formal_lines(statement: str) -> bool:
    return all(_FORMAL.fullmatch(line) for line in statement.splitlines() if line.strip())


@lru_cache(maxsize=2_048)
def _line_key(statement: str) -> str:
    """Return the form in which the notes of one template have a line: a date that is no part of a sentence differs."""
    is_sentence = statement.rstrip(" *_").endswith((".", "!"))
    return comparison_key(statement if is_sentence else _MOMENTS.sub("{date}", statement)).casefold()
