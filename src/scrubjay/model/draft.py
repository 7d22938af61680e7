"""Requests of callers: a text to remember, an edit, a selection of memories."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Self

from scrubjay.errors import InvalidInput
from scrubjay.model.checks import require_text, require_texts
from scrubjay.model.memory import Flag, Json, Source
from scrubjay.model.query import Filter
from scrubjay.model.results import Decision, Missing


@dataclass(frozen=True, slots=True, kw_only=True)
class Caller:
    """The agent that calls, and its space. `run` names a series of calls that `undo` takes back together.

    Reads include the spaces in `also`; writes go to `space` alone.
    """

    space: str = "default"
    agent: str = ""
    run: str = ""
    also: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        """Refuse names that a store cannot hold."""
        for name in ("space", "agent", "run"):
            require_text(getattr(self, name), field=name)
        if not self.space.strip():
            raise InvalidInput("a space needs a name", hint="The default is `default`", field="space")
        require_texts(self.also, field="also")
        if "*" in self.spaces:
            raise InvalidInput("* means all spaces and cannot be the name of one", hint="Name one space", field="space")

    @property
    def spaces(self) -> tuple[str, ...]:
        """The spaces it reads, its own first."""
        return tuple(dict.fromkeys((self.space, *self.also)))


@dataclass(frozen=True, kw_only=True)
class Draft:
    """A memory on its way into the store. Each stage returns a changed copy and adds its decision to the trace."""

    text: str
    # The id that the memory already has elsewhere, as in a file; empty for a new one.
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
    # Wait for the improvements of a language model, instead of queueing them.
    wait_for_llm: bool = False
    # The caller owns its fields, as with a file: changes that the rules would make to its tags are only reported.
    fixed: bool = False
    # The stages of the write path set the fields below.
    suggested_tags: tuple[str, ...] = ()
    suggested_entities: tuple[str, ...] = ()
    flags: tuple[Flag, ...] = ()
    # Why it is rejected; empty if it is not.
    rejected: str = ""
    warnings: tuple[str, ...] = ()
    trace: tuple[Decision, ...] = ()

    def with_decision(self, stage: str, outcome: str, why: str = "") -> Self:
        """Return a copy with the decision of a stage."""
        return self._with(trace=(*self.trace, Decision(stage=stage, outcome=outcome, why=why)))

    def with_warning(self, warning: str) -> Self:
        """Return a copy with a warning for the caller."""
        return self._with(warnings=(*self.warnings, warning))

    def with_flag(self, flag: Flag) -> Self:
        """Return a copy with a flag for later readers."""
        return self if flag in self.flags else self._with(flags=(*self.flags, flag))

    def _with(self, **changes: tuple[Decision, ...] | tuple[str, ...] | tuple[Flag, ...]) -> Self:
        """Return a changed copy. A write makes ten of them, and `replace` would set all thirty fields one by one."""
        copied = object.__new__(type(self))
        copied.__dict__.update(self.__dict__, **changes)
        return copied


@dataclass(frozen=True, slots=True, kw_only=True)
class DraftBatch:
    """Drafts to remember in order. `atomic`: store all of them, or none if one cannot be stored.

    The key makes the whole batch idempotent; a draft may have a key of its own.
    """

    drafts: Sequence[Draft]
    atomic: bool = False
    idempotency_key: str = ""
    dry_run: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Edit:
    """Changes to one memory: `fields` replaces values, observations are added and removed one by one.

    `may_empty`: the edit may leave nothing but a name and a kind.
    """

    fields: Mapping[str, Json] = field(default_factory=dict[str, Json])
    add_observations: tuple[str, ...] = ()
    remove_observations: tuple[str, ...] = ()
    message: str = ""
    expected_version: int | None = None
    idempotency_key: str = ""
    may_empty: bool = False
    # The branch to change; empty for the one that the memory is switched to.
    branch: str = ""
    # The source of the added observations; None for the memory's own.
    source: Source | None = None
    # When the edit was made, if earlier than now; only an edit of a branch may be older than the stored version.
    at: datetime | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Selection:
    """The memories that a verb applies to: by reference, or all that pass a filter; `group` adds their siblings.

    `branch`: their branches of this name, instead of the memories themselves.
    """

    refs: tuple[str, ...] = ()
    filter: Filter | None = None
    group: bool = False
    branch: str = ""
    reason: str = ""
    dry_run: bool = False
    missing: tuple[Missing, ...] = field(default=())


@dataclass(frozen=True, slots=True, kw_only=True)
class Limits:
    """Limits on the size of a request."""

    text_bytes: int = 1_000_000
    query_bytes: int = 100_000
    tags: int = 64
    entities: int = 100
    observations: int = 5_000
    list_bytes: int = 8_000_000
    label_characters: int = 300
    metadata_bytes: int = 64_000
    results: int = 1_000
