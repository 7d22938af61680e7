"""Facts: what a conversation says that is worth keeping, statement by statement."""

from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum

from scrubjay.model.conflict import ConflictDetails


class FactType(StrEnum):
    """What sort of thing a fact tells."""

    PREFERENCE = "preference"
    REQUIREMENT = "requirement"
    HABIT = "habit"
    DECISION = "decision"
    EVENT = "event"
    IDENTITY = "identity"


@dataclass(frozen=True, slots=True, kw_only=True)
class Turn:
    """One thing that somebody said. `id` is what the log calls it, else its number, counted from 1."""

    speaker: str
    text: str
    id: str
    at: datetime | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Fact:
    """One statement, who made it, whom or what it is about, and how sure it is that it is one."""

    statement: str
    type: FactType
    subject: str
    speaker: str
    turn: str
    confidence: float
    at: datetime | None = None
    # patterns, or llm
    method: str = "patterns"


@dataclass(frozen=True, slots=True, kw_only=True)
class StoredFact:
    """A fact and what became of it: what `remember` answers, or nothing where none is stored."""

    fact: Fact
    action: str = ""
    id: str = ""
    conflicts: tuple[ConflictDetails, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Extracted:
    """All that was found in a conversation."""

    facts: tuple[StoredFact, ...]
    turns: int
    session: str = ""
    run: str = ""
    method: str = "patterns"
    warnings: tuple[str, ...] = field(default=())
