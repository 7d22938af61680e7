"""What bodies may hold."""

from typing import Annotated, Literal, cast

from pydantic import Field, JsonValue
from pydantic.json_schema import SkipJsonSchema

from scrubjay.model.memory import MAIN
from scrubjay.model.query import Filter
from scrubjay.model.relation import LINK
from scrubjay.rpc.codec import from_json
from scrubjay.surfaces.rest.fields import (
    AS_OF,
    NOT_BLANK,
    WHOLE,
    Around,
    Count,
    Label,
    Line,
    Moment,
    Name,
    Text,
    Thousand,
    Until,
)
from scrubjay.surfaces.rest.route import Asked

Remark = Annotated[str, Field(max_length=1_000)]
Labels = Annotated[list[Line], Field(max_length=100)]
Tags = Annotated[list[Line], Field(max_length=64)]
Texts = Annotated[list[Text], Field(max_length=5_000)]
Share = Annotated[float, Field(ge=0, le=1, allow_inf_nan=False)]
Query = Annotated[str, Field(max_length=100_000)]
# It tells of every hit that was shown: this is enough for twenty pages of a thousand.
Cursor = Annotated[str, Field(max_length=120_000)]
Refs = Annotated[list[Label], Field(max_length=1_000, examples=[["how-to-reach-sarah"]])]
Metadata = dict[str, JsonValue]
# A text that is never empty.
Body = Annotated[str, Field(min_length=1, json_schema_extra={"pattern": NOT_BLANK})]
Patterns = Annotated[list[Line], Field(max_length=200)]
# A test holds them to what the model has.
Tiers = Literal["working", "episodic", "semantic", "procedural"]
Trusts = Literal["user", "agent", "document", "unknown"]
States = Literal["live", "merged", "archived", "trashed", "waiting", "branched"]
Methods = Literal["manual", "auto", "import", "file", "agent"]
Intents = Literal["auto", "new", "continue"]
CONTAINS = "Only memories in whose title, content or observations this text stands, in any case."
AROUND = "So many memories before and after each hit in its session come with it."
TODAY = "What `yesterday` and `in March` are counted from; now, unless given."
BRANCH = "Memories that have this branch are shown as they are on it."
SESSION_HINT = "The same for all that belongs to one task: it is gathered in one memory."
INTENT = "`new` never merges, `continue` goes on with the memory of the session hint, `auto` decides."
WAIT_FOR_LLM = "Wait for what a language model, if there is one, may improve, instead of having it done later."
EXPLAIN = "Say why each hit is there: every part of its score."


class SourceAsked(Asked):
    """Where something comes from."""

    session: Line = ""
    conversation: Line = ""
    agent: Line = ""
    tool: Line = ""
    at: Moment | None = None
    method: Methods = "manual"
    trust: Trusts = "unknown"


class RememberAsked(Asked):
    """A text to remember; without one at least an observation, or a name and a kind."""

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
    source: SourceAsked | None = None
    metadata: Metadata = Field(default_factory=dict[str, JsonValue])
    dry_run: bool = False
    wait_for_llm: bool = Field(default=False, description=WAIT_FOR_LLM)


class SmartWriteAsked(Asked):
    """Something to write: as a memory of its own, or into the one that it continues."""

    title: Line = Field(default="", examples=["Sign-in by command line"])
    content: Body = Field(examples=["The token was read before it was refreshed; the order is turned round now."])
    type: Line = Field(default="", examples=["project"])
    tags: Tags = Field(default_factory=list[str], examples=[["auth", "cli"]])
    session_hint: Line = Field(default="", description=SESSION_HINT, examples=["2026-02-21-cli-auth"])
    intent: Intents = Field(default="auto", description=INTENT, examples=["continue"])
    project: Line = ""
    source: SourceAsked | None = None
    metadata: Metadata = Field(default_factory=dict[str, JsonValue])
    dry_run: bool = False
    wait_for_llm: bool = Field(default=False, description=WAIT_FOR_LLM)


_Left = SkipJsonSchema[None]


class ReviseAsked(Asked):
    """What is to change; what is left out stays as it is, and only a time may be null: there is none any more."""

    content: Text | _Left = None
    title: Line | _Left = Field(default=None, examples=["How to reach Sarah"])
    kind: Line | _Left = None
    name: Name | _Left = None
    entity: Line | _Left = None
    category: Line | _Left = None
    project: Line | _Left = None
    scope: Line | _Left = None
    tags: Tags | _Left = None
    observations: Texts | _Left = None
    tier: Tiers | _Left = None
    pinned: bool | _Left = None
    relevance: Share | _Left = None
    expires_at: Moment | None = None
    remind_at: Moment | None = None
    metadata: Metadata | _Left = None
    add_observations: Texts = Field(default_factory=list[str], examples=[["She is in the office on Mondays"]])
    remove_observations: Annotated[list[str], Field(max_length=5_000)] = Field(default_factory=list[str])
    message: Remark = Field(default="", description="Why, for the history.")


_Wanted = Annotated[list[Label], Field(max_length=64)]


class FilterAsked(Asked):
    """Which memories; a field that is left out asks nothing."""

    entity: Label = ""
    kind: Label = ""
    category: Label = ""
    tags: _Wanted = Field(default_factory=list[str])
    any_tags: _Wanted = Field(default_factory=list[str])
    project: Label = ""
    scope: Label = ""
    tier: Literal[Tiers, ""] = ""
    session: Label = ""
    agent: Label = ""
    trust: Literal[Trusts, ""] = ""
    metadata: Metadata = Field(default_factory=dict[str, JsonValue])
    since: Moment | None = None
    until: Until | None = None


class SearchAsked(FilterAsked):
    """A question, and which memories may answer it."""

    query: Query = Field(default="", examples=["how does Sarah like to be reached?"])
    contains: Query = Field(default="", description=CONTAINS)
    state: States = "live"
    limit: Thousand = 8
    around: Around = Field(default=0, description=AROUND)
    max_tokens: Count = 1_500
    detail: Literal["concise", "full"] = "concise"
    explain: bool = Field(default=False, description=EXPLAIN)
    today: Moment | None = Field(default=None, description=TODAY)
    as_of: Moment | None = Field(default=None, description=AS_OF)
    branch: Label = Field(default=MAIN, description=BRANCH)
    cursor: Cursor = Field(default="", description="From the answer before.")


class SelectionAsked(Asked):
    """Which memories: by id, name or title, or all that pass a filter."""

    ids: Refs = Field(default_factory=list[str])
    filter: FilterAsked | None = None
    group: bool = Field(default=False, description="Take along what was made from the same text.")
    reason: Remark = ""
    dry_run: bool = False


class ReadAsked(Asked):
    """Which memories to read."""

    ids: Refs = Field(min_length=1)
    format: Literal["markdown", "plain", "json"] = "markdown"
    version: Count | None = None
    branch: Label = Field(default="", description="Default: the one that each is switched to.")
    as_of: Moment | None = Field(default=None, description=AS_OF)


class RevertAsked(Asked):
    """Which version to go back to."""

    to: Count = Field(examples=[1])
    message: Remark = ""


class CommitAsked(Asked):
    """What the version that a memory is at now is to be known by."""

    message: Annotated[Remark, Field(min_length=1)] = Field(examples=["As agreed with Sarah"])


class BranchAsked(Asked):
    """A branch to begin."""

    name: Name = Field(examples=["draft"])
    description: Remark = Field(default="", examples=["What if she moves?"])
    at: Count | None = Field(default=None, description="Begin at this version of main, not at its newest.")
    switch: bool = Field(default=False, description="Have the memory stand on it at once.")


class MergeAsked(Asked):
    """Where a branch goes, and who is right where both have changed the same."""

    into: Name = Field(default=MAIN, description="The branch that takes it in.")
    prefer: Literal["", "ours", "theirs"] = Field(
        default="", description="Settles clashes: `ours` is what `into` says, `theirs` what the branch says."
    )
    message: Remark = ""


class LinkAsked(Asked):
    """An edge to another memory."""

    target: Annotated[Label, Field(min_length=1)] = Field(examples=["sarah"])
    relation: Name = LINK
    text: Line = ""
    strength: Share = 0.5
    metadata: Metadata = Field(default_factory=dict[str, JsonValue])


class RulesAsked(Asked):
    """Rules to set anew; what is left out stays as it is, and null is the default again."""

    gate: Literal["merge", "report", "off"] | None = Field(default=None, examples=["report"])
    window_days: Annotated[int, Field(ge=0, le=36_500), WHOLE] | None = Field(default=None, examples=[14])
    same: Share | None = None
    density: Literal["warn", "reject", "reconstruct", "off"] | None = None
    least_characters: Annotated[int, Field(ge=0, le=10_000), WHOLE] | None = None
    tags: Literal["normalise", "off"] | None = None
    least_tags: Annotated[int, Field(ge=0, le=64), WHOLE] | None = None
    most_tags: Annotated[int, Field(ge=1, le=64), WHOLE] | None = None
    secrets: Literal["redact", "off"] | None = None
    injection: Literal["label", "off"] | None = None
    conflicts: Literal["detect", "off"] | None = None
    review: Literal["none", "agents", "all"] | None = None
    never: Patterns | None = Field(default=None, examples=[["do not remember*"]])
    never_paths: Patterns | None = None
    llm: Literal["later", "wait", "off"] | None = None


class SynonymsAsked(Asked):
    """A tag, and what stands for it from now on."""

    tag: Name = Field(examples=["payment"])
    variants: Annotated[list[Name], Field(min_length=1, max_length=100)] = Field(examples=[["payments-fix", "paying"]])


class PreviewAsked(Asked):
    """Tags to be tried out, and the text that would have them."""

    tags: Tags = Field(default_factory=list[str], examples=[["auth-fix", "oauth", "cli"]])
    text: Text = ""


class UndoAsked(Asked):
    """What to take back; without a name the last run of this agent."""

    run: Label = ""


def filter_of(asked: FilterAsked) -> Filter:
    """The filter that a body describes."""
    return cast("Filter", from_json(Filter, asked.model_dump(mode="json", include=set(FilterAsked.model_fields))))
