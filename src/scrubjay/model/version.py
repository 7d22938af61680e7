"""Versions: the immutable snapshots that every write leaves behind."""

from dataclasses import dataclass
from datetime import datetime

from scrubjay.model.memory import Memory


@dataclass(frozen=True, slots=True, kw_only=True)
class Version:
    """A memory as it was after one write, and who wrote it."""

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
        """The line of versions it belongs to."""
        return self.memory.branch


@dataclass(frozen=True, slots=True, kw_only=True)
class MemoryHistory:
    """One memory with its whole past: what export writes and import takes."""

    memory: Memory
    versions: tuple[Version, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class FieldDiff:
    """How one field differs between two versions; `lines` is a unified diff for texts."""

    field: str
    before: str
    after: str
    lines: tuple[str, ...] = ()
