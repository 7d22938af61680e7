"""Results of the verbs."""

from collections import Counter
from collections.abc import Mapping
from dataclasses import field, replace
from datetime import datetime
from typing import cast

from scrubjay.errors import NotFound
from scrubjay.lazy import dataclass
from scrubjay.model.conflict import ConflictDetails
from scrubjay.model.memory import MAIN, Json, Memory, Source
from scrubjay.model.relation import Relation
from scrubjay.model.version import FieldDiff, Version


@dataclass(frozen=True, slots=True, kw_only=True)
class Decision:
    """The decision of a stage of the write path, and its reason."""

    stage: str
    outcome: str
    why: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Similar:
    """A memory similar to the new one; `differs` says where they may contradict each other."""

    id: str
    name: str
    similarity: float
    differs: str = ""
    # Whose word it is; empty for the user's. See `labels`.
    mark: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Remembered:
    """The result of `remember`: `created`, `merged`, `updated`, `unchanged` or `rejected`."""

    action: str
    id: str
    ids: tuple[str, ...]
    name: str
    version: int
    tags: tuple[str, ...] = ()
    merged_into: str = ""
    similarity: float | None = None
    similar: tuple[Similar, ...] = ()
    # Stored statements that it repeats, updates or contradicts.
    conflicts: tuple[ConflictDetails, ...] = ()
    # Guesses at its subject, if the caller named none.
    suggested_entities: tuple[str, ...] = ()
    flags: tuple[str, ...] = ()
    warnings: tuple[str, ...] = ()
    trace: tuple[Decision, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class ItemError:
    """The error of one item of a batch: its code, its message and hint, and the field that is wrong, if any."""

    code: str
    message: str
    hint: str = ""
    field: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class RememberedItem:
    """The result of one draft of a batch, by its position: what `remember` returns, or the error it raises."""

    index: int
    result: Remembered | None = None
    error: ItemError | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class RememberedMany:
    """The result of `remember_many`, in the order of the drafts; `dry_run`: nothing was stored."""

    items: tuple[RememberedItem, ...] = ()
    dry_run: bool = False

    @property
    def counts(self) -> dict[str, int]:
        """The number of items of each action; `failed` for those with an error."""
        return dict(Counter("failed" if item.result is None else item.result.action for item in self.items))


@dataclass(frozen=True, slots=True, kw_only=True)
class Neighbour:
    """A memory of the same session as a hit; `place` is its distance from the hit, negative for earlier ones."""

    id: str
    name: str
    passage: str
    date: datetime
    place: int
    mark: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Hit:
    """A memory that matches, with enough text to decide whether to read all of it."""

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
    mark: str = ""
    # Whether the text seems to give orders to agents.
    suspicious: bool = False
    # Its project, if it is not the caller's.
    project: str = ""
    # What it was before, and until when.
    before: str = ""
    # What has superseded it, and since when.
    outdated: str = ""
    # What contradicts it, and the conflict to settle.
    disputed: str = ""
    # Whether it probably does not answer.
    weak: bool = False


class WeaklyHeld:
    """An object of which others may learn that no one holds it any more."""

    __slots__ = ("__weakref__",)


@dataclass(frozen=True, slots=True, kw_only=True)
class Recalled(WeaklyHeld):
    """The result of `recall`. `degraded` describes the parts of the search that were unavailable.

    `notes` say how the question was understood where that is not plain, such as another name of the entity.
    `stale`: the daemon cannot be reached, and this is an earlier answer of it. `nothing_relevant`: no hit is likely to
    answer, and the few that there are, are weak.
    """

    hits: tuple[Hit, ...]
    pinned: tuple[Hit, ...] = ()
    cursor: str = ""
    tokens: int = 0
    degraded: tuple[str, ...] = ()
    stale: bool = False
    nothing_relevant: bool = False
    notes: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class ContextEntry:
    """A short form of a memory."""

    id: str
    name: str
    kind: str
    text: str
    date: datetime
    why: str = ""
    mark: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Context:
    """Context for the start of a session. `text` is all of it as Markdown; `left_out` lists parts over the budget."""

    space: str
    profile: tuple[ContextEntry, ...] = ()
    pinned: tuple[ContextEntry, ...] = ()
    decisions: tuple[ContextEntry, ...] = ()
    changed: tuple[ContextEntry, ...] = ()
    last_session: str = ""
    recent: tuple[ContextEntry, ...] = ()
    conflicts: tuple[ConflictDetails, ...] = ()
    reminders: tuple[ContextEntry, ...] = ()
    text: str = ""
    tokens: int = 0
    left_out: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Reminder:
    """A memory with a reminder, shortened."""

    id: str
    name: str
    kind: str
    text: str
    remind_at: datetime
    mark: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class DueReminders:
    """The result of `due`; `more` counts those that the limit leaves out."""

    reminders: tuple[Reminder, ...]
    more: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class UsageDay:
    """How often a space was asked on a day, how often it knew nothing relevant, and how many memories were read."""

    date: str
    recalls: int = 0
    nothing_relevant: int = 0
    reads: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class FrequentQuestion:
    """A question in lower case, how often it was asked, and how often nothing relevant was found."""

    text: str
    count: int
    nothing_relevant: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class UsedMemory:
    """A memory, and how often a question found it and a caller read it."""

    id: str
    name: str
    found: int = 0
    read: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class UnreadMemory:
    """A memory that no question has found and no caller has read."""

    id: str
    name: str
    created_at: datetime


@dataclass(frozen=True, slots=True, kw_only=True)
class Usage:
    """The result of `usage`: totals and counts by day, the most frequent questions, the most used memories.

    `never_read` are the oldest of `never_read_count` memories, since they were stored. `counted`: whether questions are
    counted at all.
    """

    since: str
    recalls: int = 0
    nothing_relevant: int = 0
    reads: int = 0
    days: tuple[UsageDay, ...] = ()
    questions: tuple[FrequentQuestion, ...] = ()
    memories: tuple[UsedMemory, ...] = ()
    never_read: tuple[UnreadMemory, ...] = ()
    never_read_count: int = 0
    counted: bool = True


@dataclass(frozen=True, slots=True, kw_only=True)
class SummaryStatement:
    """A statement of a summary, as its memory says it, with its date and its source."""

    id: str
    name: str
    text: str
    date: datetime
    mark: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Summary:
    """The result of `summarize`: statements, oldest first, of so many memories; `text` is all of it as Markdown.

    `more`: there are older memories than were read. `degraded`: why no language model made a text of it.
    """

    statements: tuple[SummaryStatement, ...]
    memories: int = 0
    more: bool = False
    text: str = ""
    tokens: int = 0
    degraded: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Missing:
    """A reference without a memory, and similar ones; `why` if the memory exists and cannot be read."""

    ref: str
    suggestions: tuple[str, ...] = ()
    why: str = ""

    @property
    def error(self) -> NotFound:
        """The error of a caller that needs the memory."""
        hint = f"Did you mean {' or '.join(self.suggestions)}?" if self.suggestions else "Find it with `recall`"
        message = f"{self.ref[:100]!r}: {self.why}" if self.why else f"no memory is called {self.ref[:100]!r}"
        return NotFound(message, hint="" if self.why else hint, ref=self.ref[:200], suggestions=self.suggestions)


@dataclass(frozen=True, slots=True, kw_only=True)
class ReadResult:
    """The requested memories, in order, rendered in the requested format."""

    memories: tuple[Memory, ...]
    texts: tuple[str, ...] = ()
    relations: tuple[Relation, ...] = ()
    missing: tuple[Missing, ...] = ()
    stale: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Written:
    """The result of a write to one memory."""

    action: str
    id: str
    name: str
    version: int
    warnings: tuple[str, ...] = ()
    branch: str = MAIN
    # Conflicts that the change caused.
    conflicts: tuple[ConflictDetails, ...] = ()

    @property
    def as_json(self) -> dict[str, Json]:
        """The answer that is stored under an idempotency key."""
        return {
            "action": self.action, "id": self.id, "name": self.name, "version": self.version,
            "warnings": list(self.warnings), "branch": self.branch,
        }  # fmt: skip

    @classmethod
    def from_json(cls, answer: Mapping[str, Json]) -> "Written":
        """Read a stored answer."""
        warnings = cast("list[str]", answer["warnings"])
        return cls(**{**answer, "warnings": tuple(warnings)})  # type: ignore[arg-type]


@dataclass(frozen=True, slots=True, kw_only=True)
class Outcome:
    """The result of a verb over many memories; with `dry_run` nothing was written."""

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
    """The result of `undo`. `skipped` names memories that have changed since, which `undo` leaves alone."""

    run: str
    done: tuple[Written, ...]
    skipped: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Status:
    """Health and sizes."""

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
    # How many live memories each tier has, and how many curation has moved in the last 30 days.
    tiers: dict[str, int] = field(default_factory=dict[str, int])
    tier_flow: dict[str, int] = field(default_factory=dict[str, int])
    # The last run of curation, and when the daemon starts the next; empty before the first.
    curation: dict[str, str | int] = field(default_factory=dict[str, str | int])
    # How many skills there are, and those whose success rate has fallen.
    skills: dict[str, str | int] = field(default_factory=dict[str, str | int])
    # The folder of notes; empty if there is none.
    vault: dict[str, str | int | bool] = field(default_factory=dict[str, str | int | bool])
    # Today's use of the language model; empty if there is none.
    llm: dict[str, str | int | float | bool] = field(default_factory=dict[str, str | int | float | bool])
    # The wall around programs, and their limits; empty if there are no programs.
    code: dict[str, str | int | bool] = field(default_factory=dict[str, str | int | bool])
    degraded: tuple[str, ...] = ()
    # Empty if the caller opened the store itself.
    daemon: dict[str, str | int] = field(default_factory=dict[str, str | int])

    @property
    def limited_to_space(self) -> "Status":
        """The part that concerns the space alone, for callers that may not use all spaces."""
        problems = {name: value for name, value in self.index.items() if name == "problem"}
        curation = {name: value for name, value in self.curation.items() if name != "next"}
        return replace(
            self, data="", store={}, index=problems, compression={}, curation=curation, vault={}, llm={}, code={},
            daemon={},
        )  # fmt: skip


@dataclass(frozen=True, slots=True, kw_only=True)
class Check:
    """One check of `doctor`; `fix` says what to do if it fails."""

    name: str
    ok: bool
    detail: str
    fix: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class DoctorReport:
    """The checks of `doctor`."""

    checks: tuple[Check, ...] = field(default=())

    @property
    def ok(self) -> bool:
        """Whether nothing needs attention."""
        return all(check.ok for check in self.checks)


@dataclass(frozen=True, slots=True, kw_only=True)
class Reembedded:
    """The result of `reembed`: the model in use, the one before, and how many vectors were made."""

    model: str
    previous: str
    vectors: int

    def __str__(self) -> str:
        made = f"{self.vectors:,} new vectors"
        return f"{made}; {self.model} is in use" + (
            f" instead of {self.previous}" if self.previous and self.previous != self.model else ""
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Restored:
    """The result of a restore."""

    memories: int
    store: str
    kept: str

    def __str__(self) -> str:
        previous = f"; the previous store is kept as {self.kept}" if self.kept else ""
        return f"restored {self.memories} memories to {self.store}{previous}"
