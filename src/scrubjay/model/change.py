"""The change log: everything that happened, in the order in which it was committed."""

from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum

from scrubjay.model.relation import Relation


class Action(StrEnum):
    """What one change did to one memory."""

    CREATED = "created"
    REVISED = "revised"
    TRASHED = "trashed"
    RESTORED = "restored"
    MERGED = "merged"
    APPROVED = "approved"
    REVERTED = "reverted"
    COMMITTED = "committed"
    BRANCHED = "branched"
    JOINED = "joined"
    RESOLVED = "resolved"
    UNDONE = "undone"
    PURGED = "purged"
    IMPORTED = "imported"
    RELATED = "related"
    UNRELATED = "unrelated"
    EMBEDDED = "embedded"


@dataclass(frozen=True, slots=True, kw_only=True)
class Origin:
    """Who makes a change, and as part of which run (one call, or a named series of calls)."""

    at: datetime
    run: str
    agent: str = ""
    undoes: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Change:
    """One entry of the log. `number` and `passages_before` tell an index which points may be stale.

    `seq` is its place among all changes, which tells of other spaces; `place` is that among the changes of its own.
    """

    seq: int
    place: int
    space: str
    memory_id: str
    number: int
    action: Action
    version: int
    base: int | None
    passages_before: int
    at: datetime
    agent: str = ""
    run: str = ""
    relation: Relation | None = None
