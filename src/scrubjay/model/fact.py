"""Facts: the statements of a conversation that are worth remembering."""

from dataclasses import field
from datetime import datetime
from enum import StrEnum

from scrubjay.lazy import dataclass
from scrubjay.model.conflict import ConflictDetails

EXTRACTION = "extract"
"""The tool in the source of a fact that was extracted."""


class FactType(StrEnum):
    """The sort of statement that a fact is."""

    PREFERENCE = "preference"
    REQUIREMENT = "requirement"
    HABIT = "habit"
    DECISION = "decision"
    EVENT = "event"
    IDENTITY = "identity"


@dataclass(frozen=True, slots=True, kw_only=True)
class Turn:
    """One turn of a conversation. `id` comes from the log, else it is the number of the turn, counted from 1."""

    speaker: str
    text: str
    id: str
    at: datetime | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Fact:
    """One statement with its speaker, its subject, and the confidence that it is a fact."""

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
    """A fact and the result of remembering it; the result is empty if nothing is stored."""

    fact: Fact
    action: str = ""
    id: str = ""
    conflicts: tuple[ConflictDetails, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Extracted:
    """The facts of a conversation."""

    facts: tuple[StoredFact, ...]
    turns: int
    session: str = ""
    run: str = ""
    method: str = "patterns"
    warnings: tuple[str, ...] = field(default=())
