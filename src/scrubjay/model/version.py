"""Versions: the immutable snapshots that every write creates."""

from datetime import datetime

from scrubjay.lazy import dataclass
from scrubjay.model.memory import Memory


@dataclass(frozen=True, slots=True, kw_only=True)
class Version:
    """A memory after one write, and the agent that wrote it."""

    number: int
    memory: Memory
    parent: int | None
    action: str
    created_at: datetime
    agent: str = ""
    run: str = ""
    message: str = ""

    @property
    def branch(self) -> str:
        """The branch it belongs to."""
        return self.memory.branch


@dataclass(frozen=True, slots=True, kw_only=True)
class MemoryHistory:
    """A memory with all its versions: the unit of export and import."""

    memory: Memory
    versions: tuple[Version, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class FieldDiff:
    """How one field differs between two versions; `lines` is a unified diff for texts."""

    field: str
    before: str
    after: str
    lines: tuple[str, ...] = ()
