"""Branches: further lines of versions of one memory."""

from dataclasses import dataclass
from datetime import datetime

from scrubjay.model.conflict import ConflictDetails
from scrubjay.model.memory import MAIN


@dataclass(frozen=True, slots=True, kw_only=True)
class Branch:
    """One line of versions. `forked` is the version of main that it has in common with it."""

    name: str
    version: int
    forked: int = 0
    description: str = ""
    created_at: datetime | None = None
    updated_at: datetime
    agent: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Branches:
    """The branches of a memory, main first; `current` is the one that it is switched to."""

    id: str
    name: str
    current: str = MAIN
    branches: tuple[Branch, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class MergeConflict:
    """One thing that both branches have changed, each in its own way."""

    field: str
    base: str
    ours: str
    theirs: str


@dataclass(frozen=True, slots=True, kw_only=True)
class BranchMerged:
    """What merging a branch did: `merged`, `unchanged`, or `conflict`, and then nothing was written."""

    action: str
    id: str
    name: str
    branch: str
    into: str
    version: int
    clashes: tuple[MergeConflict, ...] = ()
    warnings: tuple[str, ...] = ()
    # What is stored and does not go with what came to main.
    conflicts: tuple[ConflictDetails, ...] = ()
