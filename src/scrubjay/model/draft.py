"""What callers hand in: a text to remember, an edit to make."""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import Self

from scrubjay.errors import InvalidInput
from scrubjay.model.checks import require_text, require_texts
from scrubjay.model.memory import Flag, Json, Source
from scrubjay.model.results import Decision


@dataclass(frozen=True, slots=True, kw_only=True)
class Caller:
    """Who calls, in which space. `run` names a series of calls that `undo` takes back together.

    What is asked is looked for in `also` too; what is written goes to `space` alone.
    """

    space: str = "default"
    agent: str = ""
    run: str = ""
    also: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        """Refuse names that no store can keep."""
        for name in ("space", "agent", "run"):
            require_text(getattr(self, name), field=name)
        if not self.space.strip():
            raise InvalidInput("a space needs a name", hint="The default is `default`", field="space")
        require_texts(self.also, field="also")
        if "*" in self.spaces:
            raise InvalidInput("* stands for all spaces and is the name of none", hint="Name one", field="space")

    @property
    def spaces(self) -> tuple[str, ...]:
        """Every space it reads, its own first."""
        return tuple(dict.fromkeys((self.space, *self.also)))


@dataclass(frozen=True, slots=True, kw_only=True)
class Draft:
    """A memory on its way in. Stages return it changed, with what they decided added to the trace."""

    text: str
    # The id of a memory that is known by it elsewhere, as in a file; empty: one is made.
    id: str = ""
    title: str = ""
    kind: str = ""
    name: str = ""
    entities: tuple[str, ...] = ()
    observations: tuple[str, ...] = ()
    tags: tuple[str, ...] = ()
    category: str = ""
    project: str = ""
    scope: str = ""
    session_hint: str = ""
    intent: str = "auto"
    pinned: bool = False
    relevance: float = 1.0
    expires_at: datetime | None = None
    remind_at: datetime | None = None
    source: Source = field(default_factory=Source)
    metadata: Mapping[str, Json] = field(default_factory=dict[str, Json])
    idempotency_key: str = ""
    dry_run: bool = False
    # What a language model may improve is waited for, instead of being done later.
    wait_for_llm: bool = False
    # It is the caller's own unit, as a file is: what the rules would make of its tags is told, and not done.
    fixed: bool = False
    # From here on it is the stages that write.
    suggested_tags: tuple[str, ...] = ()
    suggested_entities: tuple[str, ...] = ()
    flags: tuple[Flag, ...] = ()
    # Why it is not to be kept; empty as long as it is.
    rejected: str = ""
    warnings: tuple[str, ...] = ()
    trace: tuple[Decision, ...] = ()

    def decided(self, stage: str, outcome: str, why: str = "") -> Self:
        """With what a stage has decided."""
        return replace(self, trace=(*self.trace, Decision(stage=stage, outcome=outcome, why=why)))

    def warned(self, warning: str) -> Self:
        """With something that the caller should know."""
        return replace(self, warnings=(*self.warnings, warning))

    def flagged(self, flag: Flag) -> Self:
        """With something that later readers should know."""
        return self if flag in self.flags else replace(self, flags=(*self.flags, flag))


@dataclass(frozen=True, slots=True, kw_only=True)
class Edit:
    """Changes to one memory: `fields` replace, observations are added and removed one by one.

    `may_empty`: its name and kind may be all that is left of it.
    """

    fields: Mapping[str, Json] = field(default_factory=dict[str, Json])
    add_observations: tuple[str, ...] = ()
    remove_observations: tuple[str, ...] = ()
    message: str = ""
    expected_version: int | None = None
    idempotency_key: str = ""
    may_empty: bool = False
    # The branch to be changed; empty: the one that the memory is switched to.
    branch: str = ""
    # Whose word the added observations are; None where it is that of whoever told the memory.
    source: Source | None = None
    # When it was made, where that was before it is handed in; only an edit of a branch may be older than what is there.
    at: datetime | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Limits:
    """How much a caller may hand in at once."""

    text_bytes: int = 1_000_000
    query_bytes: int = 100_000
    tags: int = 64
    entities: int = 100
    observations: int = 5_000
    list_bytes: int = 8_000_000
    label_characters: int = 300
    metadata_bytes: int = 64_000
    results: int = 1_000
