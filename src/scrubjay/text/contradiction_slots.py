"""Relations that have one value at a time: where somebody lives, whom they work for, what they like best."""

import re
from dataclasses import dataclass
from functools import lru_cache

from scrubjay.text.contradiction_reading import reading_of

__all__ = ["clash_of_slots"]

_LONGEST = 400
_SOMEBODY = r"(?P<who>[\w'\u2019 ]{1,40}?)"
_NAMED = r"(?P<value>(?:the )?[A-Z][\w'.&-]*(?:,? (?:of |the |and )?[A-Z][\w'.&-]*){0,3})"
_ANY = r"(?:the |a |an |now |on )*(?P<value>[\w'-]+(?: [\w'-]+){0,2})"
_DOES = rf"^{_SOMEBODY} (?:has |have |had |is |are )?(?:now |currently |recently |just |already |still |also )?"
_LIVING = r"(?:lives?|living|resides?|residing|based|stays|moved|relocated)(?: back)? (?:in|to|at)"
_WORKING = r"(?:works?|working|employed|joined|started|(?:got|took) a (?:new )?job)(?: (?:at|for|by|with))?"
_ONE_EACH = (
    r"(?:birthday|deadline|password|time ?zone|nationality|blood type|address|diet|budget|version|status"
    r"|(?:default|primary|main) \w+)"
)
_CHOSEN = r"as (?:[a-z]+ )?(?:main|primary|default|preferred|favou?rite) \w+"
# Each relation and how it is told.
_PATTERNS = (
    ("lives in", rf"{_DOES}{_LIVING} {_NAMED}"),
    ("works for", rf"{_DOES}{_WORKING} {_NAMED}"),
    ("is married to", rf"{_DOES}(?:married|engaged|dating)(?: to)? {_NAMED}"),
    ("is called", rf"^{_SOMEBODY}(?: name)? (?:is|are|was) (?:called|named) {_NAMED}"),
    ("name is", rf"^{_SOMEBODY} name is {_NAMED}"),
    ("favourite", rf"^(?P<who>[\w'\u2019 ]{{1,40}}? favou?rite [\w ]{{1,30}}?) (?:is|are|has become) {_ANY}"),
    ("uses as", rf"^(?:[\w'\u2019 ]{{1,40}}? )?[Uu]ses? (?P<value>[\w.-]+) (?P<who>{_CHOSEN})"),
    ("is", rf"^(?P<who>[\w'\u2019 ]{{1,40}}? {_ONE_EACH}) is {_ANY}"),
)
_SLOTS = tuple((relation, re.compile(pattern)) for relation, pattern in _PATTERNS)
_CHANGED = re.compile(
    r"\b(?:switch\w*|mov\w+|migrat\w+|chang\w+|convert\w*|transition\w*|upgrad\w+|downgrad\w+) (?:\w+ ){0,3}?"
    r"from (?P<old>[\w.-]*\w) to (?P<new>[\w.-]*\w)"
    r"|\breplac\w+ (?P<gone>[\w.-]*\w) (?:with|by) (?P<instead>[\w.-]*\w)",
    re.IGNORECASE,
)
# Whose memory it is, needs not be said.
_SELF = frozenset({"user"})


@dataclass(frozen=True, slots=True)
class _Slot:
    relation: str
    who: frozenset[str]
    value: str
    keys: frozenset[str]


def clash_of_slots(first: str, second: str) -> str:
    """What two statements give as the one value of the same relation, in words; nothing if they do not."""
    return (
        _values(_slot(first[:_LONGEST]), _slot(second[:_LONGEST])) or _change(first, second) or _change(second, first)
    )


def _values(one: _Slot | None, other: _Slot | None) -> str:
    if one is None or other is None or one.relation != other.relation:
        return ""
    if one.who != other.who or not one.keys or not other.keys or one.keys <= other.keys or other.keys <= one.keys:
        return ""
    return f"{one.relation}: {one.value} or {other.value}"


@lru_cache(maxsize=2_048)
def _slot(text: str) -> _Slot | None:
    reading = reading_of(text)
    if reading.denials or reading.asks:
        return None
    for relation, pattern in _SLOTS:
        if found := pattern.match(text.lstrip("-*+ ")):
            value = found["value"].rstrip(".,")
            return _Slot(relation, _who(found["who"]), value, frozenset(reading_of(value.lower()).counted))
    return None


def _who(text: str) -> frozenset[str]:
    return frozenset(reading_of(text.lower()).counted) - _SELF


def _change(changed: str, other: str) -> str:
    """That one tells of a change from what the other still says."""
    found = _CHANGED.search(changed[:_LONGEST])
    if not found:
        return ""
    old, new = (found["old"], found["new"]) if found["old"] else (found["gone"], found["instead"])
    said, names = reading_of(other), _names(changed[: found.start()])
    keys = said.counted.keys()
    before, after = reading_of(old.lower()).counted.keys(), reading_of(new.lower()).counted.keys()
    if said.denials or not before or not before <= keys or after & keys or _CHANGED.search(other):
        return ""
    return f"state: {old} or {new}" if names <= keys and len(keys) > len(before) else ""


def _names(text: str) -> set[str]:
    return set(reading_of(text).counted)
