"""Decay: the relevance of a memory falls by itself until it is confirmed, at a rate that depends on its kind.

    relevance now = stored relevance * exp(-rate * days since it was confirmed)

It is computed when a memory is read: the stored value is what its writer said, and changes by a write alone.
"""

import math
from dataclasses import replace
from datetime import datetime
from functools import lru_cache
from types import MappingProxyType

from scrubjay.model.memory import Memory
from scrubjay.model.timestamps import to_micros

PROFILE_KINDS = frozenset({"user_profile", "profile", "preference", "identity"})
"""The kinds of memories that describe the user and their preferences."""
INSTRUCTION_KINDS = frozenset({"instruction", "standing_instruction", "user_instruction", "feedback"})
"""The kinds of memories that say how the user wants an agent to work."""

# What happened or was jotted down matters less each week: half of it is left after ten weeks.
_PASSING = 0.01
LASTING = 0.002
"""What a thing is, or what was decided, holds until it changes: half of it is left after a year."""
# What the user is and wants holds until the user says otherwise, however long ago that was.
_NONE = 0.0
_PASSING_KINDS = (
    "note", "event", "episode", "meeting", "conversation", "message", "turn", "session", "summary", "task", "todo",
    "reminder", "status", "log", "news",
)  # fmt: skip
RATES = MappingProxyType(
    {**dict.fromkeys(_PASSING_KINDS, _PASSING), **dict.fromkeys(sorted(PROFILE_KINDS | INSTRUCTION_KINDS), _NONE)}
)
"""The rate a day by kind; `rate_of_kind` knows the others."""
# A read is a weak confirmation: of the time between the last confirmation and the last read, so much does not count.
_USED_SHARE = 0.5
_DAY_MICROS = 86_400_000_000
_DIGITS = 3


def kind_key(kind: str) -> str:
    """Return a kind as the tables of kinds spell it: `User-Profile` is `user_profile`."""
    return "_".join(kind.casefold().replace("-", " ").replace("_", " ").split())


@lru_cache(maxsize=1_024)
def rate_of_kind(kind: str) -> float:
    """Return the rate a day of a kind; one that is not in the table names a thing, and what a thing is lasts."""
    return RATES.get(kind_key(kind), LASTING)


def rate_of(memory: Memory) -> float:
    """Return the rate a day of a memory; a pinned one does not decay."""
    return _NONE if memory.pinned else rate_of_kind(memory.kind)


def unconfirmed_days(*, confirmed: int, accessed: int | None, now: int) -> float:
    """Return the days since a confirmation that count, with times in microseconds.

    A time after tomorrow comes from a wrong clock, and must not keep a memory fresh for years.
    """
    age = now - confirmed
    if age < -_DAY_MICROS:
        age = -age
    if accessed is not None and confirmed < accessed:
        age -= int(_USED_SHARE * max(0, min(accessed, now) - confirmed))
    return max(0, age) / _DAY_MICROS


def decayed(relevance: float, *, rate: float, days: float) -> float:
    """Return what is left of a relevance after some days without a confirmation."""
    return relevance * math.exp(-rate * days)


def relevance_at(memory: Memory, now: datetime) -> float:
    """Return the relevance of a memory at a moment, as it is shown."""
    rate = rate_of(memory)
    if rate == _NONE:
        return memory.relevance
    return round(decayed(memory.relevance, rate=rate, days=_unconfirmed_days_of(memory, now)), _DIGITS)


def gain_by_kind(memory: Memory, now: datetime) -> float:
    """Return how much more relevant a memory is at a moment than if it decayed as what lasts."""
    rate = rate_of(memory)
    if rate == LASTING:
        return 0.0
    days = _unconfirmed_days_of(memory, now)
    lasting = round(decayed(memory.relevance, rate=LASTING, days=days), _DIGITS)
    if rate == _NONE:
        return memory.relevance - lasting
    return round(decayed(memory.relevance, rate=rate, days=days), _DIGITS) - lasting


def _unconfirmed_days_of(memory: Memory, now: datetime) -> float:
    accessed = None if memory.last_accessed is None else to_micros(memory.last_accessed)
    return unconfirmed_days(
        confirmed=to_micros(memory.last_confirmed or memory.date), accessed=accessed, now=to_micros(now)
    )


def as_shown(memory: Memory, now: datetime) -> Memory:
    """Return a memory with its relevance at a moment in place of the stored one."""
    relevance = relevance_at(memory, now)
    return memory if relevance == memory.relevance else replace(memory, relevance=relevance)
