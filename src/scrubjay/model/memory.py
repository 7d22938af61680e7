"""What a memory is: the record that every backend keeps and every surface shows."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum

Json = None | bool | int | float | str | list["Json"] | dict[str, "Json"]
Metadata = Mapping[str, Json]
MAIN = "main"
"""The branch that every memory has."""


class Tier(StrEnum):
    """How settled a memory is."""

    WORKING = "working"
    EPISODIC = "episodic"
    SEMANTIC = "semantic"
    PROCEDURAL = "procedural"


class State(StrEnum):
    """Where a memory is in its life; only a live one is found unless asked otherwise."""

    LIVE = "live"
    MERGED = "merged"
    ARCHIVED = "archived"
    TRASHED = "trashed"
    # Written by an agent where a person says first whether it is kept.
    WAITING = "waiting"
    # Another line of versions of a live memory: its `trunk` says of which.
    BRANCHED = "branched"


class Flag(StrEnum):
    """What the write path noticed about a memory, for later readers."""

    THIN = "thin"
    REDACTED = "redacted"
    SUSPICIOUS = "suspicious"
    # It waited for a person's yes, and never got it.
    UNAPPROVED = "unapproved"


class Method(StrEnum):
    """How a memory came in."""

    MANUAL = "manual"
    AUTO = "auto"
    IMPORT = "import"
    FILE = "file"
    AGENT = "agent"


class Trust(StrEnum):
    """Whose word it is."""

    USER = "user"
    AGENT = "agent"
    DOCUMENT = "document"
    UNKNOWN = "unknown"

    def outranks(self, other: "Trust") -> bool:
        """Whether this one's word counts more: a user's goes before all others, and a document's after them."""
        return _RANKS[self] > _RANKS[other]


# Who says nothing of themselves is no less than an agent.
_RANKS = {Trust.DOCUMENT: 0, Trust.UNKNOWN: 1, Trust.AGENT: 1, Trust.USER: 2}


@dataclass(frozen=True, slots=True, kw_only=True)
class Source:
    """Where a memory comes from."""

    session: str = ""
    conversation: str = ""
    at: datetime | None = None
    method: Method = Method.MANUAL
    agent: str = ""
    tool: str = ""
    trust: Trust = Trust.UNKNOWN


@dataclass(frozen=True, slots=True, kw_only=True)
class Observation:
    """One atomic fact about the memory's subject; one that was superseded says until when it held.

    `source` is None where it is the memory's own.
    """

    text: str
    recorded_at: datetime
    valid_until: datetime | None = None
    source: Source | None = None

    def holds(self, at: datetime) -> bool:
        """Whether nothing had taken its place at a moment."""
        return self.valid_until is None or self.valid_until > at


@dataclass(frozen=True, slots=True, kw_only=True)
class Merged:
    """A memory that was merged into another: whose word it was, and what of it was new there."""

    id: str
    at: datetime
    source: Source = field(default_factory=Source)
    statements: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Memory:
    """One record. `version` counts its writes; access counts change without a version."""

    id: str
    space: str
    name: str
    created_at: datetime
    updated_at: datetime
    title: str = ""
    kind: str = "note"
    category: str = ""
    project: str = ""
    scope: str = ""
    content: str = ""
    observations: tuple[Observation, ...] = ()
    entity: str = ""
    group: str = ""
    tags: tuple[str, ...] = ()
    tier: Tier = Tier.WORKING
    pinned: bool = False
    relevance: float = 1.0
    expires_at: datetime | None = None
    # When something else took the place of all it says.
    valid_until: datetime | None = None
    remind_at: datetime | None = None
    state: State = State.LIVE
    merged_into: str = ""
    merged: tuple[Merged, ...] = ()
    flags: tuple[Flag, ...] = ()
    version: int = 1
    branch: str = MAIN
    # Of a branch: the memory it is one of, and the version of that which both have in common.
    trunk: str = ""
    forked: int = 0
    resolution: str = ""
    source: Source = field(default_factory=Source)
    metadata: Metadata = field(default_factory=dict[str, Json])
    last_accessed: datetime | None = None
    last_confirmed: datetime | None = None
    last_reviewed: datetime | None = None
    access_count: int = 0

    def said(self, at: datetime) -> tuple[Observation, ...]:
        """The observations that hold at a moment."""
        return tuple(observation for observation in self.observations if observation.holds(at))

    def holds(self, at: datetime) -> bool:
        """Whether it had neither expired nor been superseded at a moment."""
        return all(end is None or end > at for end in (self.expires_at, self.valid_until))

    @property
    def date(self) -> datetime:
        """When what it tells was said: the source's time if known, else when it was stored."""
        return self.source.at or self.created_at

    @property
    def thread(self) -> str:
        """What its passages stand in a row with: its session's, else its own alone."""
        return self.source.session or self.id

    @property
    def label(self) -> str:
        """What a person would call it."""
        return self.title or self.name
