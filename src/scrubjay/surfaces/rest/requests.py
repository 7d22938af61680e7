"""Request bodies, and the types of their fields.

The patterns of fields appear only in the OpenAPI description: the engine checks the values and words the errors.
"""

from typing import Annotated, Literal, cast

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, JsonValue
from pydantic.json_schema import SkipJsonSchema

from scrubjay.model.memory import MAIN
from scrubjay.model.query import Filter
from scrubjay.model.relation import LINK
from scrubjay.recalling.understand import MAX_AROUND
from scrubjay.rpc.codec import from_json

MAX_LABEL_LENGTH = 300
# The characters that count as blank, listed because `\s` differs between regex engines.
_BLANK = r"\t-\r\u001c- \u0085\u00a0\u1680\u2000-\u200a\u2028\u2029\u202f\u205f\u3000"
_NO_NUL = r"^[^\u0000]*$"
NOT_BLANK = rf"^[^\u0000]*[^\u0000{_BLANK}][^\u0000]*$"
_NOT_ONLY_BLANK = rf"[^{_BLANK}]"
# The largest integer that every JSON parser represents exactly.
_MAX_INTEGER = (1 << 53) - 1


def _as_integer(value: object) -> object:
    """Accept 3.0 as 3: JSON does not distinguish them."""
    return int(value) if isinstance(value, float) and value.is_integer() else value


INTEGER = BeforeValidator(_as_integer)
Label = Annotated[str, Field(max_length=MAX_LABEL_LENGTH)]
Line = Annotated[str, Field(max_length=MAX_LABEL_LENGTH, json_schema_extra={"pattern": _NO_NUL})]
"""A label that is stored."""
Name = Annotated[str, Field(max_length=MAX_LABEL_LENGTH, min_length=1, json_schema_extra={"pattern": NOT_BLANK})]
SpaceName = Annotated[str, Field(max_length=MAX_LABEL_LENGTH, json_schema_extra={"pattern": rf"^$|{_NOT_ONLY_BLANK}"})]
"""An empty name is the default space."""
# A setting limits its length, and the engine enforces it.
Text = Annotated[str, Field(json_schema_extra={"pattern": _NO_NUL})]
NonBlankText = Annotated[str, Field(min_length=1, json_schema_extra={"pattern": NOT_BLANK})]
_Time = Annotated[str, Field(min_length=1, json_schema_extra={"format": "date-time"})]
Moment = Annotated[_Time, Field(examples=["2026-05-31T14:00:00Z"])]
Until = Annotated[_Time, Field(examples=["2026-06-30T14:00:00Z"])]
Count = Annotated[int, Field(ge=1, le=_MAX_INTEGER), INTEGER]
UpTo1000 = Annotated[int, Field(ge=1, le=1_000), INTEGER]
Around = Annotated[int, Field(ge=0, le=MAX_AROUND), INTEGER]
Comment = Annotated[str, Field(max_length=1_000)]
Labels = Annotated[list[Line], Field(max_length=100)]
Tags = Annotated[list[Line], Field(max_length=64)]
Texts = Annotated[list[Text], Field(max_length=5_000)]
Fraction = Annotated[float, Field(ge=0, le=1, allow_inf_nan=False)]
Query = Annotated[str, Field(max_length=100_000)]
# A cursor names every hit shown so far: this is enough for twenty pages of a thousand.
Cursor = Annotated[str, Field(max_length=120_000)]
Refs = Annotated[list[Label], Field(max_length=1_000, examples=[["how-to-reach-sarah"]])]
Metadata = dict[str, JsonValue]
Patterns = Annotated[list[Line], Field(max_length=200)]
Omitted = SkipJsonSchema[None]
"""The value of an omitted field; the description does not offer null."""
_FilterTags = Annotated[list[Label], Field(max_length=64)]
# A test compares these choices with the model.
Tiers = Literal["working", "episodic", "semantic", "procedural"]
Trusts = Literal["user", "agent", "document", "unknown"]
States = Literal["live", "merged", "archived", "trashed", "waiting", "branched"]
Methods = Literal["manual", "auto", "import", "file", "agent"]
Intents = Literal["auto", "new", "continue"]
AS_OF = "Read the state at this moment."
CONTAINS = "Only memories whose title, content or observations contain this text, in any case."
AROUND = "Return this many memories before and after each hit in its session."
TODAY = "The moment that `yesterday` and `in March` refer to. Default: now."
BRANCH = "Show memories that have this branch as they are on it."
SESSION_HINT = "The same value for everything that belongs to one task: one memory collects it."
INTENT = "`new` never merges, `continue` appends to the memory of the session hint, `auto` decides."
WAIT_FOR_LLM = "Wait for the improvements of a language model, if one is configured, instead of leaving them to a job."
EXPLAIN = "Explain each hit: every part of its score."
REASON = "The reason, for the history."
GROUP = "Include the memories that were made from the same text."


class RequestBody(BaseModel):
    """A JSON body. Unknown fields are an error, so that a misspelled name is noticed."""

    model_config = ConfigDict(extra="forbid", strict=True)


class SourceBody(RequestBody):
    """The source of a memory."""

    session: Line = ""
    conversation: Line = ""
    agent: Line = ""
    tool: Line = ""
    at: Moment | None = None
    method: Methods = "manual"
    trust: Trusts = "unknown"


class RememberBody(RequestBody):
    """A text to remember. Without a text, send an observation, or a name and a kind."""

    text: Text = Field(examples=["Sarah prefers voice calls to mail"])
    title: Line = ""
    kind: Line = Field(default="", examples=["preference"])
    name: Line = ""
    entities: Labels = Field(default_factory=list[str], examples=[["Sarah"]])
    observations: Texts = Field(default_factory=list[str])
    tags: Tags = Field(default_factory=list[str], examples=[["contact"]])
    category: Line = ""
    project: Line = ""
    scope: Line = ""
    session_hint: Line = Field(default="", description=SESSION_HINT)
    intent: Intents = "auto"
    pinned: bool = False
    expires_at: Moment | None = None
    remind_at: Moment | None = None
    source: SourceBody | None = None
    metadata: Metadata = Field(default_factory=dict[str, JsonValue])
    dry_run: bool = False
    wait_for_llm: bool = Field(default=False, description=WAIT_FOR_LLM)


class SmartWriteBody(RequestBody):
    """Content to write: as a new memory, or appended to the memory that it continues."""

    title: Line = Field(default="", examples=["Sign-in by command line"])
    content: NonBlankText = Field(examples=["The token was read before it was refreshed; the order is reversed now."])
    type: Line = Field(default="", examples=["project"])
    tags: Tags = Field(default_factory=list[str], examples=[["auth", "cli"]])
    session_hint: Line = Field(default="", description=SESSION_HINT, examples=["2026-02-21-cli-auth"])
    intent: Intents = Field(default="auto", description=INTENT, examples=["continue"])
    project: Line = ""
    source: SourceBody | None = None
    metadata: Metadata = Field(default_factory=dict[str, JsonValue])
    dry_run: bool = False
    wait_for_llm: bool = Field(default=False, description=WAIT_FOR_LLM)


class ReviseBody(RequestBody):
    """Fields to change. An omitted field stays as it is; only a time may be null, which removes it."""

    content: Text | Omitted = None
    title: Line | Omitted = Field(default=None, examples=["How to reach Sarah"])
    kind: Line | Omitted = None
    name: Name | Omitted = None
    entity: Line | Omitted = None
    category: Line | Omitted = None
    project: Line | Omitted = None
    scope: Line | Omitted = None
    tags: Tags | Omitted = None
    observations: Texts | Omitted = None
    tier: Tiers | Omitted = None
    pinned: bool | Omitted = None
    relevance: Fraction | Omitted = None
    expires_at: Moment | None = None
    remind_at: Moment | None = None
    metadata: Metadata | Omitted = None
    add_observations: Texts = Field(default_factory=list[str], examples=[["She is in the office on Mondays"]])
    remove_observations: Annotated[list[str], Field(max_length=5_000)] = Field(default_factory=list[str])
    message: Comment = Field(default="", description=REASON)


class FilterBody(RequestBody):
    """A filter of memories. An omitted field matches everything."""

    entity: Label = ""
    kind: Label = ""
    category: Label = ""
    tags: _FilterTags = Field(default_factory=list[str])
    any_tags: _FilterTags = Field(default_factory=list[str])
    project: Label = ""
    scope: Label = ""
    tier: Literal[Tiers, ""] = ""
    session: Label = ""
    agent: Label = ""
    trust: Literal[Trusts, ""] = ""
    metadata: Metadata = Field(default_factory=dict[str, JsonValue])
    since: Moment | None = None
    until: Until | None = None


class SearchBody(FilterBody):
    """A question, and a filter of the memories to search."""

    query: Query = Field(default="", examples=["how does Sarah like to be reached?"])
    contains: Query = Field(default="", description=CONTAINS)
    state: States = "live"
    limit: UpTo1000 = 8
    around: Around = Field(default=0, description=AROUND)
    max_tokens: Count = 1_500
    detail: Literal["concise", "full"] = "concise"
    explain: bool = Field(default=False, description=EXPLAIN)
    today: Moment | None = Field(default=None, description=TODAY)
    as_of: Moment | None = Field(default=None, description=AS_OF)
    branch: Label = Field(default=MAIN, description=BRANCH)
    cursor: Cursor = Field(default="", description="The cursor of the previous page.")


class SelectionBody(RequestBody):
    """Memories by id, name or title, or all memories that match a filter."""

    ids: Refs = Field(default_factory=list[str])
    filter: FilterBody | None = None
    group: bool = Field(default=False, description=GROUP)
    reason: Comment = ""
    dry_run: bool = False


class ReadBody(RequestBody):
    """Memories to read."""

    ids: Refs = Field(min_length=1)
    format: Literal["markdown", "plain", "json"] = "markdown"
    version: Count | None = None
    branch: Label = Field(default="", description="Default: the branch that each memory is switched to.")
    as_of: Moment | None = Field(default=None, description=AS_OF)


class RevertBody(RequestBody):
    """The version to revert to."""

    to: Count = Field(examples=[1])
    message: Comment = ""


class CommitBody(RequestBody):
    """The message of a commit."""

    message: Annotated[Comment, Field(min_length=1)] = Field(examples=["As agreed with Sarah"])


class BranchBody(RequestBody):
    """A branch to create."""

    name: Name = Field(examples=["draft"])
    description: Comment = Field(default="", examples=["What if she moves?"])
    at: Count | None = Field(default=None, description="Start at this version of main. Default: its newest.")
    switch: bool = Field(default=False, description="Switch the memory to the new branch.")


class MergeBody(RequestBody):
    """The target of a merge, and which side wins a conflict."""

    into: Name = Field(default=MAIN, description="The target branch.")
    prefer: Literal["", "ours", "theirs"] = Field(
        default="",
        description="Resolve conflicts: `ours` keeps the value of `into`, `theirs` that of the merged branch.",
    )
    message: Comment = ""


class LinkBody(RequestBody):
    """A relation to another memory."""

    target: Annotated[Label, Field(min_length=1)] = Field(examples=["sarah"])
    relation: Name = LINK
    text: Line = ""
    strength: Fraction = 0.5
    metadata: Metadata = Field(default_factory=dict[str, JsonValue])


class RulesBody(RequestBody):
    """Rules to change. An omitted rule stays as it is; null restores its default."""

    gate: Literal["merge", "report", "off"] | None = Field(default=None, examples=["report"])
    window_days: Annotated[int, Field(ge=0, le=36_500), INTEGER] | None = Field(default=None, examples=[14])
    same: Fraction | None = None
    density: Literal["warn", "reject", "reconstruct", "off"] | None = None
    least_characters: Annotated[int, Field(ge=0, le=10_000), INTEGER] | None = None
    tags: Literal["normalise", "off"] | None = None
    least_tags: Annotated[int, Field(ge=0, le=64), INTEGER] | None = None
    most_tags: Annotated[int, Field(ge=1, le=64), INTEGER] | None = None
    secrets: Literal["redact", "off"] | None = None
    injection: Literal["label", "off"] | None = None
    conflicts: Literal["detect", "off"] | None = None
    review: Literal["none", "agents", "all"] | None = None
    never: Patterns | None = Field(default=None, examples=[["do not remember*"]])
    never_paths: Patterns | None = None
    llm: Literal["later", "wait", "off"] | None = None


class SynonymsBody(RequestBody):
    """A tag, and the synonyms to replace with it."""

    tag: Name = Field(examples=["payment"])
    variants: Annotated[list[Name], Field(min_length=1, max_length=100)] = Field(examples=[["payments-fix", "paying"]])


class PreviewBody(RequestBody):
    """Tags to normalise for a preview, and the text of the memory."""

    tags: Tags = Field(default_factory=list[str], examples=[["auth-fix", "oauth", "cli"]])
    text: Text = ""


class UndoBody(RequestBody):
    """The run to undo. Default: the last run of this agent."""

    run: Label = ""


def filter_from(body: FilterBody) -> Filter:
    """Return the filter that a body describes."""
    return cast("Filter", from_json(Filter, body.model_dump(mode="json", include=set(FilterBody.model_fields))))
