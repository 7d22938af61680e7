"""Whom a statement is about where it does not say so itself: the thing whose record it stands in."""

import re
from functools import lru_cache

from scrubjay.model.memory import Memory
from scrubjay.text.claims.normalize import names_its_subject

__all__ = ["are_of_others", "thing_of"]

# Who keeps the memory.
_SELF = "user"
_OWNER = frozenset("user me myself owner".split())
# What a record is, and not whose: of these alone are called those of the owner.
_SORTS = frozenset(
    "profile preference preferences settings habits default personal info information details facts notes".split()
)
# A record that is only numbered is of nobody in particular.
_NUMBERED = re.compile(r"(?:fact|note|memory|item|entry|observation|learning|info|data|record|log)s?(?: [\da-f]+)*")
# A name of so many words, of which most are said, was made of what is said.
_SLUG = 3
_MOSTLY = 0.6
_YEAR = re.compile(r"(?:19|20)\d\d")
_WORD = re.compile(r"[^\W_]+")


def thing_of(memory: Memory) -> str:
    """The thing that a memory is a record of: its entity, or what it is named if it is nothing but observations."""
    if memory.entity or memory.content.strip() or not memory.observations:
        return memory.entity
    words = _words(memory.name)
    if _NUMBERED.fullmatch(" ".join(words)):
        return ""
    return _SELF if _is_owner(words) else " ".join(_own(words)).title()


def are_of_others(memory: Memory, statement: str, other: Memory, against: str) -> bool:
    """Whether two statements are of the things in whose records they stand, and these are not one."""
    if memory.id == other.id or not thing_of(memory) or not thing_of(other) or _are_one(memory, other):
        return False
    return _is_of_thing(memory, statement) or _is_of_thing(other, against)


def _are_one(memory: Memory, other: Memory) -> bool:
    """Whether two records may be of one thing, by their names: sarah and sarah-chen, user and marc-the-user."""
    mine, its = (_words(one.entity or one.name) for one in (memory, other))
    names, others = set(_own(mine)), set(_own(its))
    if names and others:
        return names <= others or others <= names
    return _is_owner(mine) and _is_owner(its)


def _is_of_thing(memory: Memory, statement: str) -> bool:
    return not names_its_subject(statement) and not _is_named_by(memory, statement)


def _is_named_by(memory: Memory, statement: str) -> bool:
    """Whether a record is called by what it says, as a note is: then it is of nothing else."""
    words = _words(memory.name)
    said = set(_words(statement))
    return len(words) >= _SLUG and sum(word in said for word in words) >= _MOSTLY * len(words)


def _is_owner(words: tuple[str, ...]) -> bool:
    return not _OWNER.isdisjoint(words) or bool(words and not _own(words))


def _own(words: tuple[str, ...]) -> tuple[str, ...]:
    """The words of a name that tell one thing from another."""
    return tuple(word for word in words if word not in _OWNER | _SORTS and not _YEAR.fullmatch(word))


@lru_cache(maxsize=1_024)
def _words(text: str) -> tuple[str, ...]:
    return tuple(_WORD.findall(text.casefold()))
