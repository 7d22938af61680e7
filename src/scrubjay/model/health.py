"""The health of a memory: what it holds, what is written by whom, and what needs attention."""

import re
from collections.abc import Mapping
from dataclasses import field, fields
from datetime import datetime
from typing import Self, cast

from scrubjay.errors import InvalidInput
from scrubjay.lazy import dataclass
from scrubjay.model.memory import Json

# The outcomes of a write that are counted: a repeated request, for example, is none.
_OUTCOMES = ("created", "merged", "updated", "unchanged", "rejected")
_MILLION = 1_000_000
_NUMBER = re.compile(r"\d{1,12}(?:\.\d{1,6})?", re.ASCII)


@dataclass(frozen=True, slots=True, kw_only=True)
class WriteNote:
    """What became of one write: the action of its answer, whether it was thin, and the conflicts that it caused."""

    space: str
    agent: str
    at: datetime
    action: str
    is_thin: bool = False
    conflicts: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class WriteCounts:
    """Writes by their outcome. `thin` said too little; `conflicts` counts the conflicts that they caused."""

    created: int = 0
    merged: int = 0
    updated: int = 0
    unchanged: int = 0
    rejected: int = 0
    thin: int = 0
    conflicts: int = 0

    @classmethod
    def of(cls, note: WriteNote) -> Self:
        """Return the counts of one write; none of an action that is not counted."""
        if note.action not in _OUTCOMES:
            return cls()
        return cls(**{note.action: 1}, thin=int(note.is_thin), conflicts=note.conflicts)

    @classmethod
    def from_json(cls, value: Json) -> Self:
        """Read stored counts; damaged ones count nothing."""
        names = [count.name for count in fields(WriteCounts)]
        if not isinstance(value, list) or len(value) != len(names):
            return cls()
        return cls(**{name: item if isinstance(item, int) else 0 for name, item in zip(names, value, strict=True)})

    @property
    def as_json(self) -> list[Json]:
        """The counts as a list, in the order of the fields."""
        return [cast("int", getattr(self, count.name)) for count in fields(WriteCounts)]

    @property
    def total(self) -> int:
        """The number of writes."""
        return self.created + self.merged + self.updated + self.unchanged + self.rejected

    @property
    def repeats(self) -> float:
        """The share of writes that said what was known."""
        return share(self.merged + self.unchanged, self.total)

    def plus(self, other: "WriteCounts") -> "WriteCounts":
        """Return the sum of both."""
        return WriteCounts(
            **{count.name: getattr(self, count.name) + getattr(other, count.name) for count in fields(WriteCounts)}
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class HealthDay:
    """A day of a space: its writes, and its sizes when they were last measured on that day, if they were."""

    date: str
    writes: WriteCounts = field(default_factory=WriteCounts)
    memories: int | None = None
    thin: int | None = None
    tags: int | None = None
    tag_entropy: float | None = None
    conflicts: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class AgentHealth:
    """What an agent has written in the period; an empty name stands for writers without one."""

    agent: str
    writes: WriteCounts
    total: int
    duplicate_rate: float = 0.0
    thin_rate: float = 0.0

    @classmethod
    def of(cls, agent: str, writes: WriteCounts) -> "AgentHealth":
        """Return the rates of an agent."""
        return cls(
            agent=agent, writes=writes, total=writes.total, duplicate_rate=writes.repeats,
            thin_rate=share(writes.thin, writes.total),
        )  # fmt: skip


@dataclass(frozen=True, slots=True, kw_only=True)
class SpaceHealth:
    """The figures of a space. Rates are from 0 to 1; `tag_entropy` is in bits.

    `duplicate_rate`: the share of the writes of the period that said what was known. `thin_rate`: the share of live
    memories that say too little. `unembedded`: memories that wait for a vector, at most a thousand. `flow`: how many
    memories curation has moved between tiers in the last 30 days.
    """

    space: str
    memories: dict[str, int] = field(default_factory=dict[str, int])
    tiers: dict[str, int] = field(default_factory=dict[str, int])
    kinds: dict[str, int] = field(default_factory=dict[str, int])
    flow: dict[str, int] = field(default_factory=dict[str, int])
    writes: WriteCounts = field(default_factory=WriteCounts)
    total: int = 0
    duplicate_rate: float = 0.0
    thin: int = 0
    thin_rate: float = 0.0
    tags: int = 0
    tag_entropy: float = 0.0
    conflicts: int = 0
    unembedded: int = 0
    days: tuple[HealthDay, ...] = ()
    agents: tuple[AgentHealth, ...] = ()

    @property
    def live(self) -> int:
        """The number of live memories."""
        return sum(self.tiers.values())


@dataclass(frozen=True, slots=True, kw_only=True)
class TokenPrice:
    """What a million tokens of the language model cost, in any currency; nothing if it is not set."""

    input: float = 0.0
    output: float = 0.0

    @classmethod
    def parse(cls, text: str) -> Self:
        """Read prices such as `0.25,2`, of input and output; an empty text means that they are not set."""
        parts = [part.strip() for part in text.split(",")]
        if parts == [""]:
            return cls()
        if len(parts) != 2 or not all(_NUMBER.fullmatch(part) for part in parts):  # noqa: PLR2004
            raise InvalidInput(
                f"{text[:60]!r} is not a price of tokens",
                hint="Write the prices of a million tokens of input and of output, for example 0.25,2",
                setting="SCRUBJAY_LLM_PRICE",
            )
        return cls(input=float(parts[0]), output=float(parts[1]))

    @property
    def is_set(self) -> bool:
        """Whether anything costs something."""
        return bool(self.input or self.output)

    def cost(self, *, input_tokens: int, output_tokens: int) -> float:
        """Return what these tokens cost."""
        return (input_tokens * self.input + output_tokens * self.output) / _MILLION


@dataclass(frozen=True, slots=True, kw_only=True)
class LlmUsage:
    """The use of the language model on a day: calls, tokens, failed calls, and what the tokens cost at that time."""

    calls: int = 0
    tokens: int = 0
    failures: int = 0
    input_tokens: int = 0
    output_tokens: int = 0
    cost: float = 0.0

    @classmethod
    def from_json(cls, value: Mapping[str, Json]) -> Self:
        """Read a stored day; a damaged count is 0."""
        counts = {count.name: value.get(count.name) for count in fields(LlmUsage)}
        cost = counts.pop("cost")
        return cls(
            **{name: count for name, count in counts.items() if isinstance(count, int)},
            cost=float(cost) if isinstance(cost, int | float) else 0.0,
        )

    def plus(self, other: "LlmUsage") -> "LlmUsage":
        """Return the sum of both."""
        return LlmUsage(
            **{count.name: getattr(self, count.name) + getattr(other, count.name) for count in fields(LlmUsage)}
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class VerbLatency:
    """How long the requests of a verb took, in milliseconds."""

    verb: str
    count: int
    p50: float
    p95: float
    p99: float


@dataclass(frozen=True, slots=True, kw_only=True)
class ServerDay:
    """A day of the whole store: the use of the language model, and how long the requests of daemons took."""

    date: str
    llm: LlmUsage = field(default_factory=LlmUsage)
    latencies: tuple[VerbLatency, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class ServerHealth:
    """The figures of the whole store, for callers that may use every space.

    `lag`: changes that the vector index has not applied. `saved`: the share that compression saves of the newest texts.
    `llm`: today's use of the language model, empty without one. `latencies` are those of a daemon since its start.
    """

    lag: int = 0
    store_bytes: int = 0
    disk_free_bytes: int = 0
    saved: float = 0.0
    latencies: tuple[VerbLatency, ...] = ()
    llm: dict[str, str | int | float | bool] = field(default_factory=dict[str, str | int | float | bool])
    days: tuple[ServerDay, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Thresholds:
    """The figures beyond which an alert begins; 0 means never.

    Rates are shares from 0 to 1: writes that said what was known, writes that were refused, memories that say too
    little, and calls of the language model that failed. `tags` counts different tags for each memory, `lag` the changes
    that the index has not applied, and `free_mb` is the least space on the disk.
    """

    duplicates: float = 0.5
    rejected: float = 0.3
    thin: float = 0.3
    tags: float = 1.0
    conflicts: float = 100
    unembedded: float = 100
    lag: float = 1_000
    free_mb: float = 500
    llm_failures: float = 0.5

    @classmethod
    def parse(cls, text: str) -> Self:
        """Read thresholds such as `conflicts=20,thin=0`; those that are left out keep their defaults."""
        values: dict[str, float] = {}
        names = [threshold.name for threshold in fields(cls)]
        for part in filter(None, (part.strip() for part in text.split(","))):
            name, _, number = (side.strip() for side in part.partition("="))
            if name not in names or not _NUMBER.fullmatch(number):
                raise InvalidInput(
                    f"{part[:60]!r} is not a threshold of an alert",
                    hint=f"Write NAME=NUMBER, of {', '.join(names)}; 0 means no alert",
                )
            values[name] = float(number)
        return cls(**values)


@dataclass(frozen=True, slots=True, kw_only=True)
class Alert:
    """A figure beyond its threshold, and what to do about it. `space` is empty for the whole store.

    `since` is when it began; empty without a daemon that watches.
    """

    name: str
    space: str
    value: float
    threshold: float
    message: str
    fix: str
    since: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class HealthReport:
    """The result of `health`: the figures of spaces since a day, and of the whole store, and the alerts."""

    since: str
    spaces: tuple[SpaceHealth, ...]
    server: ServerHealth | None = None
    alerts: tuple[Alert, ...] = ()


def share(part: float, whole: float) -> float:
    """Return a part as a share of a whole, in four digits; of nothing, nothing."""
    return round(part / whole, 4) if whole else 0.0
