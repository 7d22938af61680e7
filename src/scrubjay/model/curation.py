"""Curation: planned changes, the stored run that carries them out, and the report that people read."""

from collections.abc import Mapping
from dataclasses import field, replace
from datetime import datetime
from enum import StrEnum
from typing import Literal, Self, cast

from scrubjay.lazy import dataclass
from scrubjay.model.document import Document
from scrubjay.model.memory import Json
from scrubjay.model.timestamps import parse_moment, to_iso

JobName = Literal["tiers", "duplicates", "consolidate", "prune", "tags", "vectors", "bodies"]
"""The jobs of curation."""
AGENT = "curation"
"""The author of the versions that curation makes."""
RUNS = "curation-runs"
"""The collection of runs, by their id."""
SCHEDULE = "curation"
"""The collection of what is due: one document a space."""
SCHEDULE_KEY = "schedule"
ARROW = " → "
REPORT = "report"
"""The action of a change that only tells a person something."""
UPKEEP = frozenset({REPORT, "embed", "drop", "purge"})
"""The actions that make no version, so that there is nothing of them to take back."""


class RunState(StrEnum):
    """The progress of a run of curation."""

    # A dry run stays so.
    PLANNED = "planned"
    RUNNING = "running"
    DONE = "done"
    # It failed, or another run took its place; `problems` says why.
    STOPPED = "stopped"
    # An undo takes several commits; one that was interrupted goes on.
    UNDOING = "undoing"
    UNDONE = "undone"


@dataclass(frozen=True, slots=True, kw_only=True)
class PlannedChange:
    """One small change that a job of curation proposes; it becomes one commit.

    `versions` are those of the memories `ids` when it was planned: if one has changed since, the change is skipped.
    `before` and `after` are for the table, `details` is what the job needs to apply it. They are stored beside the
    memories, where a purge does not reach, so they must not quote the text of a memory: name its id instead.
    """

    job: str
    # move, archive, trash, merge, create, retag, embed, purge or report
    action: str
    ids: tuple[str, ...]
    versions: tuple[int, ...]
    why: str
    before: str = ""
    after: str = ""
    details: Mapping[str, Json] = field(default_factory=dict[str, Json])

    @property
    def step(self) -> str:
        """What it changes, for counting: `working → episodic`, else its action."""
        return f"{self.before}{ARROW}{self.after}" if self.action == "move" else self.action

    @property
    def as_json(self) -> dict[str, Json]:
        """The form in which a plan stores it."""
        return {
            "job": self.job, "action": self.action, "ids": [*self.ids], "versions": [*self.versions], "why": self.why,
            "before": self.before, "after": self.after, "details": dict(self.details),
        }  # fmt: skip

    @classmethod
    def from_json(cls, value: Mapping[str, Json]) -> Self:
        """Read a stored change."""
        return cls(
            job=str(value["job"]), action=str(value["action"]), why=str(value["why"]),
            ids=tuple(cast("list[str]", value["ids"])), versions=tuple(cast("list[int]", value["versions"])),
            before=str(value["before"]), after=str(value["after"]), details=cast("dict[str, Json]", value["details"]),
        )  # fmt: skip


@dataclass(frozen=True, slots=True, kw_only=True)
class CurationChange:
    """A change in a report. `outcome` is empty for a planned change, `done`, or the reason why it was skipped."""

    job: str
    action: str
    ids: tuple[str, ...]
    # The names of the memories now; empty for one that was purged.
    names: tuple[str, ...]
    why: str
    before: str = ""
    after: str = ""
    outcome: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class CurationReport:
    """What a run of curation did, or with `dry_run` what it would do; `changes` are the first of its changes.

    `counts` says for each job how many changes of each sort were made, or are planned. `notes` say what the plan of a
    job comes to as a whole. `problems` names the jobs that failed, and why.
    """

    run: str
    state: RunState
    jobs: tuple[str, ...]
    started_at: datetime
    ended_at: datetime | None = None
    dry_run: bool = False
    planned: int = 0
    done: int = 0
    skipped: int = 0
    counts: Mapping[str, Mapping[str, int]] = field(default_factory=dict[str, Mapping[str, int]])
    changes: tuple[CurationChange, ...] = ()
    notes: tuple[str, ...] = ()
    problems: tuple[str, ...] = ()

    @property
    def has_versions(self) -> bool:
        """Whether it has changed something that can be taken back."""
        return any(step not in UPKEEP for steps in self.counts.values() for step in steps)

    @property
    def reported(self) -> int:
        """How many of its changes only tell a person something."""
        return sum(steps.get(REPORT, 0) for steps in self.counts.values())


@dataclass(frozen=True, slots=True, kw_only=True)
class CurationRun:
    """A run as it is stored, so that it can go on after a kill.

    Job by job, a plan is stored in pages and then applied. `job` is the place of the current job in `jobs`, `pages` the
    length of its complete plan, None while it is being planned, and `page` the first page that is not applied.
    """

    id: str
    space: str
    jobs: tuple[str, ...]
    state: RunState = RunState.RUNNING
    started_at: datetime
    ended_at: datetime | None = None
    job: int = 0
    pages: int | None = None
    page: int = 0
    planned: int = 0
    done: int = 0
    skipped: int = 0
    counts: Mapping[str, Mapping[str, int]] = field(default_factory=dict[str, Mapping[str, int]])
    # They stay when a memory is purged, so they name none, and no label of one.
    notes: tuple[str, ...] = ()
    problems: tuple[str, ...] = ()
    version: int = 0

    def count(self, job: str, step: str) -> Self:
        """Return the run with one more change."""
        steps = self.counts.get(job, {})
        return replace(self, done=self.done + 1, counts={**self.counts, job: {**steps, step: steps.get(step, 0) + 1}})

    def document(self, *, at: datetime) -> Document:
        """Return the document that stores it."""
        value: dict[str, Json] = {
            "jobs": [*self.jobs], "state": self.state.value, "started_at": to_iso(self.started_at),
            "ended_at": None if self.ended_at is None else to_iso(self.ended_at), "job": self.job, "pages": self.pages,
            "page": self.page, "planned": self.planned, "done": self.done, "skipped": self.skipped,
            "counts": {job: dict(steps) for job, steps in self.counts.items()}, "problems": [*self.problems],
            "notes": [*self.notes],
        }  # fmt: skip
        return Document(
            space=self.space, collection=RUNS, key=self.id, value=value, version=self.version or 1, at=at
        )  # fmt: skip

    @classmethod
    def from_document(cls, document: Document) -> Self:
        """Read a stored run."""
        value = document.value
        ended_at, counts = value["ended_at"], cast("dict[str, dict[str, int]]", value["counts"])
        return cls(
            id=document.key, space=document.space, jobs=tuple(cast("list[str]", value["jobs"])),
            state=RunState(str(value["state"])), counts=counts, version=document.version,
            started_at=parse_moment(str(value["started_at"]), field="started_at"),
            ended_at=None if ended_at is None else parse_moment(str(ended_at), field="ended_at"),
            job=cast("int", value["job"]), pages=cast("int | None", value["pages"]), page=cast("int", value["page"]),
            planned=cast("int", value["planned"]), done=cast("int", value["done"]),
            skipped=cast("int", value["skipped"]), problems=tuple(cast("list[str]", value["problems"])),
            notes=tuple(cast("list[str]", value.get("notes", []))),
        )  # fmt: skip
