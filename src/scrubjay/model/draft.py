"""A text on its way into the store, and the limits of requests."""

from collections.abc import Mapping, Sequence
from dataclasses import field, fields, replace
from functools import lru_cache
from typing import Any, Self, cast

from scrubjay.errors import InvalidInput
from scrubjay.lazy import dataclass
from scrubjay.model.checks import wrong_type
from scrubjay.model.memory import Flag, Json, Source
from scrubjay.model.requests.memories import RememberRequest
from scrubjay.model.results import Decision


# Those of most stages have no reason, and a few outcomes.
@lru_cache(maxsize=256)
def _plain_decision(stage: str, outcome: str) -> Decision:
    return Decision(stage=stage, outcome=outcome)


@dataclass(frozen=True, kw_only=True)
class Draft(RememberRequest):
    """A memory on its way into the store. Each stage returns a changed copy and adds its decision to the trace."""

    # The id that the memory already has elsewhere, as in a file; empty for a new one.
    id: str = ""
    relevance: float = 1.0
    source: Source = field(default_factory=Source)
    # The caller owns its fields, as with a file: changes that the rules would make to its tags are only reported.
    fixed: bool = False
    # The caller said where it comes from; otherwise it is taken as the caller's own word.
    is_attributed: bool = False
    # The stages of the write path set the fields below.
    suggested_tags: tuple[str, ...] = ()
    suggested_entities: tuple[str, ...] = ()
    flags: tuple[Flag, ...] = ()
    # Why it is rejected; empty if it is not.
    rejected: str = ""
    warnings: tuple[str, ...] = ()
    trace: tuple[Decision, ...] = ()

    def __post_init__(self) -> None:
        """Leave the checks to the first stage: every stage makes a copy."""

    def with_decision(self, stage: str, outcome: str, why: str = "") -> Self:
        """Return a copy with the decision of a stage."""
        decision = Decision(stage=stage, outcome=outcome, why=why) if why else _plain_decision(stage, outcome)
        return self.with_fields(trace=(*self.trace, decision))

    def with_warning(self, warning: str) -> Self:
        """Return a copy with a warning for the caller."""
        return self.with_fields(warnings=(*self.warnings, warning))

    def with_flag(self, flag: Flag) -> Self:
        """Return a copy with a flag for later readers."""
        return self if flag in self.flags else self.with_fields(flags=(*self.flags, flag))

    def with_fields(self, **changes: object) -> Self:
        """Return a changed copy. A write makes ten of them, and `replace` would set all thirty fields one by one."""
        copied = object.__new__(type(self))
        object.__setattr__(copied, "__dict__", self.__dict__ | changes)
        return copied


@dataclass(frozen=True, kw_only=True)
class UnreadableDraft(Draft):
    """An item of a batch that could not be read; it keeps its place, and the first stage raises the error."""

    error: InvalidInput


@dataclass(frozen=True, slots=True, kw_only=True)
class DraftBatch:
    """Drafts to remember in order. `atomic`: store all of them, or none if one cannot be stored.

    The key makes the whole batch idempotent; a draft may have a key of its own.
    """

    drafts: Sequence[Draft]
    atomic: bool = False
    idempotency_key: str = ""
    dry_run: bool = False


def read_draft(item: RememberRequest | Mapping[str, Json], *, agent: str) -> Draft:
    """Return an item of a batch as a draft, which may say why it cannot be read."""
    try:
        request = item if isinstance(item, RememberRequest) else RememberRequest.of(**_names(item))
    except InvalidInput as error:
        return UnreadableDraft(text="", error=error)
    return as_draft(request, agent=agent)


def _names(item: object) -> Mapping[str, object]:
    if not isinstance(item, Mapping):
        raise wrong_type("an item", "an object with the arguments of remember", item)
    return {str(name): value for name, value in cast("Mapping[object, object]", item).items()}


def as_draft(request: RememberRequest, *, agent: str) -> Draft:
    """Return a request as a draft; the agent that calls is its source unless it names another."""
    if isinstance(request, Draft):
        return request
    source = request.source or Source()
    values: dict[str, Any] = {field.name: getattr(request, field.name) for field in fields(RememberRequest)}
    values["is_attributed"] = request.source is not None
    values["source"] = source if source.agent else replace(source, agent=agent)
    return Draft(**values)


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
