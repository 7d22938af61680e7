"""The parts of a statement that say by themselves what they say within it. It is better to find too few of them."""

import re
from collections.abc import Iterator

from scrubjay.text.claims.extract import claims_of

__all__ = ["parts_of"]

# What is shorter may mean anything.
_LEAST_WORDS = 3
_LONGEST = 1_000
_STAMP = r"\d{4}-\d\d-\d\d(?:[T ]\d\d:\d\d(?::\d\d)?Z?)?"
_OPENER = re.compile(
    rf"(?:\[{_STAMP}\]\s*|{_STAMP}\s*[:\u2013\u2014-]\s+)?"
    r"(?:(?:note|update|fyi|reminder|important|info|remember|fact)(?::\s+|\s+that\s+))?(?:(?:also|and),?\s+)?",
    re.IGNORECASE,
)
_WEEKDAY = r"(?:mon|tues|wednes|thurs|fri|satur|sun)day|yesterday|today|last\s(?:week|month|year)"
_CLOSER = re.compile(
    rf"(?:,?\s+(?:too|as\swell)|\s+\({_STAMP}\)|,?\s+(?:since|as\sof)\s(?:{_STAMP}|\d{{4}}|{_WEEKDAY}))[.!]*$",
    re.IGNORECASE,
)
_JOINT = re.compile(r",\s+and\s+", re.IGNORECASE)
# Where a clause ends is not seen at a comma within these.
_NESTED = re.compile(r"[\"\u201c\u201d\u00ab\u00bb`()\[\]{}|<>\n]")
# What follows with one of these may take back what was said before it, or make it a doubt or a condition.
_TURNS = frozenset(
    """
    if unless whether may might could would should maybe perhaps probably think thinks thought believe believes say said
    says claim claims claimed seems wants want hope hopes plan plans planned try tried tries except only until before
    almost nearly used likely once why how when instead rather that this which it these those such so but or though
    although however yet wrong untrue false lie lies lied joke joking kidding supposedly allegedly formerly
    actually both respectively vice
    """.split()
)


def parts_of(statement: str) -> Iterator[str]:
    """What a statement claims besides itself: without a note before it or a date after it, and its first clause."""
    if len(statement) > _LONGEST or "\n" in statement.strip() or statement.rstrip().endswith("?"):
        return
    bare = statement.strip()
    opener = _OPENER.match(bare)
    opened = bare[opener.end() if opener else 0 :]
    for text in (opened, _CLOSER.sub("", bare, count=1), _CLOSER.sub("", opened, count=1), _first_clause(opened)):
        if text != bare and len(text.split()) >= _LEAST_WORDS:
            yield text


def _first_clause(statement: str) -> str:
    joint = _JOINT.search(statement)
    if joint is None or _NESTED.search(statement):
        return ""
    rest = claims_of(statement[joint.end() :])
    turns = rest.negations or rest.states or not _TURNS.isdisjoint(rest.words)
    return "" if turns else statement[: joint.start()]
