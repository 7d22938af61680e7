"""The memory: the record that every backend stores and every surface shows."""

from collections.abc import Mapping
from dataclasses import field
from datetime import datetime
from enum import StrEnum

from scrubjay.lazy import dataclass

Json = None | bool | int | float | str | list["Json"] | dict[str, "Json"]
Metadata = Mapping[str, Json]
MAIN = "main"
"""The branch that every memory has."""


class Tier(StrEnum):
    """How consolidated a memory is."""

    WORKING = "working"
    EPISODIC = "episodic"
    SEMANTIC = "semantic"
    PROCEDURAL = "procedural"


class State(StrEnum):
    """The stage of the life cycle; a search returns live memories unless a filter says otherwise."""

    LIVE = "live"
    MERGED = "merged"
    ARCHIVED = "archived"
    TRASHED = "trashed"
    # Written by an agent, and waiting for the approval of a person.
    WAITING = "waiting"
    # A branch of a live memory: `trunk` is the id of that memory.
    BRANCHED = "branched"


class Flag(StrEnum):
    """A remark of the write path for later readers."""

    THIN = "thin"
    REDACTED = "redacted"
    SUSPICIOUS = "suspicious"
    # It waited for approval and never got it.
    UNAPPROVED = "unapproved"


class Method(StrEnum):
    """The way a memory was written."""

    MANUAL = "manual"
    AUTO = "auto"
    IMPORT = "import"
    FILE = "file"
    AGENT = "agent"


AGENT_METHODS = (Method.AGENT, Method.AUTO)
"""The ways in which an agent writes by itself."""


class Trust(StrEnum):
    """The kind of source a statement comes from."""

    USER = "user"
    AGENT = "agent"
    DOCUMENT = "document"
    UNKNOWN = "unknown"

    def outranks(self, other: "Trust") -> bool:
        """Whether this source outranks another: a user ranks first, a document last."""
        return _RANKS[self] > _RANKS[other]

    @property
    def is_own(self) -> bool:
        """Whether the user or an agent says it; anything else was read, and must be approved to stand out."""
        return self in (Trust.USER, Trust.AGENT)


def trust_of(method: Method) -> Trust:
    """Return the trust in a statement of which only the way it was written is known."""
    return Trust.AGENT if method is Method.AGENT else Trust.UNKNOWN


# An unknown source ranks like an agent.
_RANKS = {Trust.DOCUMENT: 0, Trust.UNKNOWN: 1, Trust.AGENT: 1, Trust.USER: 2}


@dataclass(frozen=True, slots=True, kw_only=True)
class Source:
    """The origin of a memory or an observation."""

    session: str = ""
    conversation: str = ""
    at: datetime | None = None
    method: Method = Method.MANUAL
    agent: str = ""
    tool: str = ""
    trust: Trust = Trust.UNKNOWN


@dataclass(frozen=True, slots=True, kw_only=True)
class Observation:
    """One atomic fact about the memory's subject; `valid_until` is the time at which another superseded it.

    `source` is None if it is the memory's own.
    """

    text: str
    recorded_at: datetime
    valid_until: datetime | None = None
    source: Source | None = None

    def holds(self, at: datetime) -> bool:
        """Return whether it was valid at a time."""
        return self.valid_until is None or self.valid_until > at


@dataclass(frozen=True, slots=True, kw_only=True)
class Merged:
    """A memory that was merged into another: its source, and the statements it added."""

    id: str
    at: datetime
    source: Source = field(default_factory=Source)
    statements: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Memory:
    """One record. `version` counts its writes; access counts change without a new version."""

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
    # When another memory superseded it.
    valid_until: datetime | None = None
    remind_at: datetime | None = None
    state: State = State.LIVE
    merged_into: str = ""
    merged: tuple[Merged, ...] = ()
    flags: tuple[Flag, ...] = ()
    version: int = 1
    branch: str = MAIN
    # For a branch: the id of its memory, and the version that it starts from.
    trunk: str = ""
    forked: int = 0
    resolution: str = ""
    source: Source = field(default_factory=Source)
    metadata: Metadata = field(default_factory=dict[str, Json])
    last_accessed: datetime | None = None
    last_confirmed: datetime | None = None
    last_reviewed: datetime | None = None
    access_count: int = 0

    def current_observations(self, at: datetime) -> tuple[Observation, ...]:
        """Return the observations that are valid at a time."""
        return tuple(observation for observation in self.observations if observation.holds(at))

    def holds(self, at: datetime) -> bool:
        """Return whether it was neither expired nor superseded at a time."""
        expires_at, valid_until = self.expires_at, self.valid_until
        return (expires_at is None or expires_at > at) and (valid_until is None or valid_until > at)

    @property
    def date(self) -> datetime:
        """The time of its statements: that of the source if known, else when it was stored."""
        return self.source.at or self.created_at

    @property
    def characters(self) -> int:
        """The length of its texts, by which the work on them is estimated."""
        # A write asks some twenty times, mostly of a memory without observations.
        observations = self.observations
        return len(self.content) + (sum([len(each.text) for each in observations]) if observations else 0)

    @property
    def thread(self) -> str:
        """The sequence that its passages belong to: its session or conversation, else the memory alone."""
        return self.source.session or self.source.conversation or self.id

    @property
    def label(self) -> str:
        """The title, else the name."""
        return self.title or self.name
