"""What the verbs answer."""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import cast

from scrubjay.model.conflict import ConflictDetails
from scrubjay.model.memory import MAIN, Json, Memory, Source
from scrubjay.model.relation import Relation
from scrubjay.model.version import FieldDiff, Version


@dataclass(frozen=True, slots=True, kw_only=True)
class Decision:
    """What one stage of the write path decided, and why."""

    stage: str
    outcome: str
    why: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Similar:
    """A memory that is like the one being written; `differs` says in what they may contradict each other."""

    id: str
    name: str
    similarity: float
    differs: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Remembered:
    """What `remember` did: `created`, `merged`, `updated`, `unchanged` or `rejected`."""

    action: str
    id: str
    ids: tuple[str, ...]
    name: str
    version: int
    tags: tuple[str, ...] = ()
    merged_into: str = ""
    similarity: float | None = None
    similar: tuple[Similar, ...] = ()
    # What is stored and cannot be right, or need not be said, beside it.
    conflicts: tuple[ConflictDetails, ...] = ()
    # Whom or what it seems to be about, where nobody said.
    suggested_entities: tuple[str, ...] = ()
    flags: tuple[str, ...] = ()
    warnings: tuple[str, ...] = ()
    trace: tuple[Decision, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Neighbour:
    """A memory of the same session as a hit; `place` counts from the hit, below zero for what was before it."""

    id: str
    name: str
    passage: str
    date: datetime
    place: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Hit:
    """One found memory: enough to decide whether to read it whole."""

    id: str
    name: str
    title: str
    passage: str
    score: float
    date: datetime
    entities: tuple[str, ...]
    source: Source
    trust: str
    space: str = ""
    why: tuple[str, ...] = ()
    around: tuple[Neighbour, ...] = ()
    memory: Memory | None = None
    branch: str = MAIN


@dataclass(frozen=True, slots=True, kw_only=True)
class Recalled:
    """What `recall` found. `degraded` says what could not be used, in words.

    `stale`: the daemon could not be reached, and this is what it answered before.
    """

    hits: tuple[Hit, ...]
    pinned: tuple[Hit, ...] = ()
    cursor: str = ""
    tokens: int = 0
    degraded: tuple[str, ...] = ()
    stale: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Missing:
    """A reference that no memory answers to, and the nearest that do; `why` where one does and cannot be told."""

    ref: str
    suggestions: tuple[str, ...] = ()
    why: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class ReadResult:
    """The memories asked for, in order, rendered as asked."""

    memories: tuple[Memory, ...]
    texts: tuple[str, ...] = ()
    relations: tuple[Relation, ...] = ()
    missing: tuple[Missing, ...] = ()
    stale: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Written:
    """What a write did to one memory."""

    action: str
    id: str
    name: str
    version: int
    warnings: tuple[str, ...] = ()
    branch: str = MAIN
    # What the change has brought into conflict.
    conflicts: tuple[ConflictDetails, ...] = ()

    @property
    def as_json(self) -> dict[str, Json]:
        """All of it, for the answer that is kept under an idempotency key."""
        return {
            "action": self.action, "id": self.id, "name": self.name, "version": self.version,
            "warnings": list(self.warnings), "branch": self.branch,
        }  # fmt: skip

    @classmethod
    def from_json(cls, told: Mapping[str, Json]) -> "Written":
        """What was kept."""
        warnings = cast("list[str]", told["warnings"])
        return cls(**{**told, "warnings": tuple(warnings)})  # type: ignore[arg-type]


@dataclass(frozen=True, slots=True, kw_only=True)
class Outcome:
    """What a verb over many memories did, each in turn; `dry_run` means it would have."""

    done: tuple[Written, ...]
    missing: tuple[Missing, ...] = ()
    dry_run: bool = False
    run: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Related:
    """The edges of both ends after `relate` or `unrelate`."""

    action: str
    source: str
    source_name: str
    target: str
    target_name: str
    source_links: tuple[Relation, ...]
    target_links: tuple[Relation, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class History:
    """The versions of one memory, newest first, or the difference of two."""

    id: str
    name: str
    branch: str = MAIN
    versions: tuple[Version, ...] = ()
    diff: tuple[FieldDiff, ...] = ()
    stale: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Undone:
    """What `undo` took back. `skipped` names what was changed since and therefore left alone."""

    run: str
    done: tuple[Written, ...]
    skipped: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Status:
    """Health and sizes in one look."""

    space: str
    version: str
    data: str
    memories: dict[str, int]
    versions: int
    relations: int
    store: dict[str, str | int | float | bool]
    embedding: dict[str, str | int | bool]
    index: dict[str, str | int | bool]
    compression: dict[str, float | int]
    # The folder of notes; empty where there is none.
    vault: dict[str, str | int | bool] = field(default_factory=dict[str, str | int | bool])
    # What the language model was asked today; empty where there is none.
    llm: dict[str, str | int | float | bool] = field(default_factory=dict[str, str | int | float | bool])
    degraded: tuple[str, ...] = ()
    # Empty when the store was opened by whoever asks.
    daemon: dict[str, str | int] = field(default_factory=dict[str, str | int])

    @property
    def of_space(self) -> "Status":
        """What it tells of the space alone, for those to whom others are not open."""
        problems = {name: value for name, value in self.index.items() if name == "problem"}
        return replace(self, data="", store={}, index=problems, compression={}, vault={}, llm={}, daemon={})


@dataclass(frozen=True, slots=True, kw_only=True)
class Check:
    """One thing `doctor` looked at; `fix` says what to do when it is not fine."""

    name: str
    ok: bool
    detail: str
    fix: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Examination:
    """All that `doctor` looked at."""

    checks: tuple[Check, ...] = field(default=())

    @property
    def ok(self) -> bool:
        """Whether nothing needs attention."""
        return all(check.ok for check in self.checks)


@dataclass(frozen=True, slots=True, kw_only=True)
class Restored:
    """What a restore did."""

    memories: int
    store: str
    kept: str

    def __str__(self) -> str:
        kept = f"; the store that was there is kept as {self.kept}" if self.kept else ""
        return f"restored {self.memories} memories to {self.store}{kept}"
