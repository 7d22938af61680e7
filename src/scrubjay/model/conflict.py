"""Conflicts: two memories or statements that repeat, update or contradict each other."""

import hashlib
from collections.abc import Mapping
from dataclasses import field, replace
from datetime import datetime
from enum import StrEnum
from typing import cast

from scrubjay.errors import InvalidInput
from scrubjay.lazy import dataclass
from scrubjay.model.change import Origin
from scrubjay.model.document import Document
from scrubjay.model.memory import Json
from scrubjay.model.timestamps import parse_moment, to_iso

# Pending conflicts have a collection of their own: they are few and read often.
PENDING_COLLECTION = "conflicts"
SETTLED_COLLECTION = "settled"
# The conflicts that a run has resolved, by its name and the conflict's id.
RESOLUTIONS_COLLECTION = "resolutions"
_DIGEST_LENGTH = 16


class ConflictType(StrEnum):
    """The relation between two statements."""

    DUPLICATE = "duplicate"
    UPDATE = "update"
    CONTRADICTION = "contradiction"


class ConflictStatus(StrEnum):
    """Whether a conflict waits for a decision."""

    PENDING = "pending"
    RESOLVED = "resolved"
    IGNORED = "ignored"


class Strategy(StrEnum):
    """A way to resolve a conflict; `auto` chooses one of the others."""

    MERGE = "merge"
    UPDATE = "update"
    BRANCH = "branch"
    SUPERSEDE = "supersede"
    IGNORE = "ignore"
    AUTO = "auto"


@dataclass(frozen=True, slots=True, kw_only=True)
class ConflictRecord:
    """A conflict of `memory`, the later one, with `other`; both are the same for two observations of one memory.

    It holds no text, so that a purge removes every trace: `statement` and `against` are the keys of the two statements
    (see `statement_key`), empty for the memories as a whole. The text is read from the memories.
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
    # The run that resolved it; `undo` takes it back.
    run: str = ""
    version: int = 1

    @property
    def id(self) -> str:
        """The id: the same for the same two statements, in either order."""
        sides = sorted(((self.memory, self.statement), (self.other, self.against)))
        identity = "\n".join(part for side in sides for part in side)
        return f"c-{hashlib.sha256(identity.encode()).hexdigest()[:_DIGEST_LENGTH]}"

    @property
    def collection(self) -> str:
        """The collection it is stored in."""
        return PENDING_COLLECTION if self.status is ConflictStatus.PENDING else SETTLED_COLLECTION

    def document(self, *, at: datetime) -> Document:
        """Return the document that stores it."""
        value: dict[str, Json] = {
            # Stores find the documents of a memory by this, and purge them with it.
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

    def settled(self, strategy: Strategy, *, notes: str, origin: Origin) -> "ConflictRecord":
        """Return the conflict as a run has settled it."""
        return replace(
            self,
            status=ConflictStatus.IGNORED if strategy is Strategy.IGNORE else ConflictStatus.RESOLVED,
            strategy=strategy,
            notes=notes,
            resolved_at=origin.at,
            resolved_by=origin.agent,
            run=origin.run,
        )

    def reopened(self) -> "ConflictRecord":
        """Return the conflict as one that waits for a decision."""
        return replace(
            self, status=ConflictStatus.PENDING, strategy=None, notes="", resolved_at=None, resolved_by="", run=""
        )

    def resolution_document(self, *, at: datetime) -> Document:
        """Return the document by which the undo of a run finds the conflicts that it has resolved."""
        return Document(
            space=self.space,
            collection=RESOLUTIONS_COLLECTION,
            key=f"{self.run}/{self.id}",
            value={
                "about": {"memory_id": self.memory, "other_id": self.other},
                "run": self.run,
                "conflict": self.id,
            },
            at=at,
        )

    @classmethod
    def from_document(cls, document: Document) -> "ConflictRecord":
        """Read a stored conflict."""
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


def parse_conflict(document: Document | None) -> ConflictRecord | None:
    """Return the conflict in a document, or None if it cannot be read."""
    try:
        return None if document is None else ConflictRecord.from_document(document)
    except (InvalidInput, KeyError, ValueError, TypeError):
        return None


def statement_key(text: str) -> str:
    """Return a digest that identifies a statement without revealing it."""
    return hashlib.sha256(" ".join(text.split()).casefold().encode("utf-8", "surrogatepass")).hexdigest()[
        :_DIGEST_LENGTH
    ]


@dataclass(frozen=True, slots=True, kw_only=True)
class ConflictSide:
    """One side of a conflict, with its text."""

    id: str
    name: str
    statement: str
    date: datetime
    trust: str = ""
    agent: str = ""
    session: str = ""
    # Whose word it is; empty for the user's. See `labels`.
    mark: str = ""
    # When it stopped to hold; there is nothing to decide about such a side.
    valid_until: datetime | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class ConflictDetails:
    """A conflict with the text of both sides; `differs` lists the points on which they cannot both be right."""

    id: str
    type: ConflictType
    confidence: float
    suggested_action: Strategy
    status: ConflictStatus
    memory: ConflictSide
    other: ConflictSide
    differs: tuple[str, ...] = ()
    detected_at: datetime
    strategy: Strategy | None = None
    notes: str = ""
    resolved_at: datetime | None = None
    resolved_by: str = ""
    run: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Resolved:
    """The result of resolving a conflict. `kept` is the memory that remains, `changed` are all that were changed."""

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
    """The result of scanning a space for conflicts."""

    memories: int
    found: tuple[ConflictDetails, ...] = ()
    count: int = 0
    by_type: Mapping[str, int] = field(default_factory=dict[str, int])


@dataclass(frozen=True, slots=True, kw_only=True)
class Duplicate:
    """A memory of a group that says the same; `similarity` is that to the memory that would remain."""

    id: str
    name: str
    version: int
    similarity: float
    statement: str
    mark: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class DuplicateGroup:
    """Memories that say the same as wholes. `remaining` is the one that the others are merged into.

    `confidence` is the least similarity in the group.
    """

    remaining: Duplicate
    others: tuple[Duplicate, ...]
    confidence: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Duplicates:
    """Groups of memories that say the same, the surest first; `count` counts all, `merged` those joined in `run`."""

    groups: tuple[DuplicateGroup, ...] = ()
    count: int = 0
    merged: int = 0
    run: str = ""
    warnings: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class DatedStatement:
    """A statement, when it was made, and the subject and project that it was filed under."""

    text: str
    date: datetime
    subject: str = ""
    project: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class PairShares:
    """The probabilities, by a model that has read both, of what a statement does to an earlier one."""

    same: float
    more: float
    changes: float
    contradicts: float
    unrelated: float

    @property
    def repeats(self) -> float:
        """How likely one of the two says all that the other does."""
        return self.same + self.more

    @property
    def replaces(self) -> float:
        """How likely only one of the two can hold."""
        return self.changes + self.contradicts

    @property
    def likeliest(self) -> tuple[str, float]:
        """The likeliest label, and how likely it is."""
        shares = {name: getattr(self, name) for name in ("same", "more", "changes", "contradicts", "unrelated")}
        return max(shares.items(), key=lambda each: each[1])
