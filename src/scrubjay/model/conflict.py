"""Conflicts: two memories, or two statements, that say the same, more, or something else of one thing."""

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum
from typing import cast

from scrubjay.errors import InvalidInput
from scrubjay.model.document import Document
from scrubjay.model.memory import Json
from scrubjay.model.timestamps import parse_moment, to_iso

# Those that wait for a decision, and those that had one: the first are asked for often and are few.
PENDING_COLLECTION = "conflicts"
SETTLED_COLLECTION = "settled"
_DIGITS = 16


class ConflictType(StrEnum):
    """What two statements are to each other."""

    DUPLICATE = "duplicate"
    UPDATE = "update"
    CONTRADICTION = "contradiction"


class ConflictStatus(StrEnum):
    """Whether somebody has decided."""

    PENDING = "pending"
    RESOLVED = "resolved"
    IGNORED = "ignored"


class Strategy(StrEnum):
    """What can be done about a conflict; `auto` chooses one of the others."""

    MERGE = "merge"
    UPDATE = "update"
    BRANCH = "branch"
    SUPERSEDE = "supersede"
    IGNORE = "ignore"
    AUTO = "auto"


@dataclass(frozen=True, slots=True, kw_only=True)
class Conflict:
    """One conflict of `memory`, which came later, with `other`; both are the same for two observations of one memory.

    It holds no words of theirs, so that what is purged is gone: `statement` and `against` are keys of the two
    statements (see `statement_key`), empty where the memories as a whole are meant. Who tells of it reads the
    memories.
    """

    space: str
    type: ConflictType
    memory: str
    other: str
    confidence: float
    suggested: Strategy
    detected_at: datetime
    statement: str = ""
    against: str = ""
    detected_by: str = ""
    status: ConflictStatus = ConflictStatus.PENDING
    strategy: Strategy | None = None
    notes: str = ""
    resolved_at: datetime | None = None
    resolved_by: str = ""
    # The run that resolved it, by which it can be undone.
    run: str = ""
    version: int = 1

    @property
    def id(self) -> str:
        """The same for the same two statements, whoever finds them and whichever was there first."""
        ends = sorted(((self.memory, self.statement), (self.other, self.against)))
        spelled = "\n".join(part for end in ends for part in end)
        return f"c-{hashlib.sha256(spelled.encode()).hexdigest()[:_DIGITS]}"

    @property
    def collection(self) -> str:
        """Where it is kept."""
        return PENDING_COLLECTION if self.status is ConflictStatus.PENDING else SETTLED_COLLECTION

    def document(self, *, at: datetime) -> Document:
        """As it is kept."""
        value: dict[str, Json] = {
            # By this the papers of a memory are found, and a purge takes them along.
            "about": {"memory_id": self.memory, "other_id": self.other}, "other": self.other, "type": self.type.value,
            "confidence": self.confidence, "suggested": self.suggested.value, "status": self.status.value,
            "detected_at": to_iso(self.detected_at), "detected_by": self.detected_by, "statement": self.statement,
            "against": self.against, "strategy": self.strategy.value if self.strategy else "", "notes": self.notes,
            "resolved_at": to_iso(self.resolved_at) if self.resolved_at else "", "resolved_by": self.resolved_by,
            "run": self.run,
        }  # fmt: skip
        return Document(
            space=self.space, collection=self.collection, key=self.id, value=value, version=self.version, at=at
        )

    @classmethod
    def of(cls, document: Document) -> "Conflict":
        """As it was kept."""
        value = document.value
        about = cast("Mapping[str, Json]", value["about"])
        resolved_at, strategy = str(value["resolved_at"]), str(value["strategy"])
        return cls(
            space=document.space,
            type=ConflictType(str(value["type"])),
            memory=str(about["memory_id"]),
            other=str(value["other"]),
            confidence=float(cast("float", value["confidence"])),
            suggested=Strategy(str(value["suggested"])),
            detected_at=parse_moment(str(value["detected_at"]), field="detected_at"),
            statement=str(value["statement"]),
            against=str(value["against"]),
            detected_by=str(value["detected_by"]),
            status=ConflictStatus(str(value["status"])),
            strategy=Strategy(strategy) if strategy else None,
            notes=str(value["notes"]),
            resolved_at=parse_moment(resolved_at, field="resolved_at") if resolved_at else None,
            resolved_by=str(value["resolved_by"]),
            run=str(value["run"]),
            version=document.version,
        )


def sound(document: Document | None) -> Conflict | None:
    """The conflict on a paper, unless it cannot be read."""
    try:
        return None if document is None else Conflict.of(document)
    except (InvalidInput, KeyError, ValueError, TypeError):
        return None


def statement_key(text: str) -> str:
    """What a statement is known by without its words."""
    return hashlib.sha256(" ".join(text.split()).casefold().encode("utf-8", "surrogatepass")).hexdigest()[:_DIGITS]


@dataclass(frozen=True, slots=True, kw_only=True)
class Side:
    """One end of a conflict, in words."""

    id: str
    name: str
    statement: str
    date: datetime
    trust: str = ""
    agent: str = ""
    session: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class ConflictDetails:
    """A conflict with the words of both ends; `differs` says in what they cannot both be right."""

    id: str
    type: ConflictType
    confidence: float
    suggested_action: Strategy
    status: ConflictStatus
    memory: Side
    other: Side
    differs: tuple[str, ...] = ()
    detected_at: datetime
    strategy: Strategy | None = None
    notes: str = ""
    resolved_at: datetime | None = None
    resolved_by: str = ""
    run: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Resolved:
    """What was done about a conflict. `kept` is the id of what stands now, `changed` all memories that were changed."""

    action: str
    conflict: str
    strategy: Strategy
    kept: str
    changed: tuple[str, ...] = ()
    why: str = ""
    run: str = ""
    branch: str = ""
    warnings: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Scan:
    """What a look through a whole space has found."""

    memories: int
    found: tuple[ConflictDetails, ...] = ()
    count: int = 0
    by_type: Mapping[str, int] = field(default_factory=dict[str, int])
