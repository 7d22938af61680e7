"""What bodies may hold."""

from typing import Annotated, Literal, cast

from pydantic import Field, JsonValue

from scrubjay.model.query import Filter
from scrubjay.model.relation import LINK
from scrubjay.remote.shapes import built
from scrubjay.surfaces.rest.route import Asked, Label, Moment

_LARGEST = (1 << 63) - 1

Text = Annotated[str, Field(max_length=1_000_000)]
Remark = Annotated[str, Field(max_length=1_000)]
Labels = Annotated[list[Label], Field(max_length=100)]
Tags = Annotated[list[Label], Field(max_length=64)]
Texts = Annotated[list[Text], Field(max_length=5_000)]
Count = Annotated[int, Field(ge=1, le=_LARGEST)]
Share = Annotated[float, Field(ge=0, le=1, allow_inf_nan=False, strict=False)]
Query = Annotated[str, Field(max_length=100_000)]
Refs = Annotated[list[Label], Field(max_length=1_000)]
Metadata = dict[str, JsonValue]
# A test holds them to what the model has.
Tiers = Literal["working", "episodic", "semantic", "procedural"]
Trusts = Literal["user", "agent", "document", "unknown"]
States = Literal["live", "merged", "archived", "trashed"]
Methods = Literal["manual", "auto", "import", "file", "agent"]


class SourceAsked(Asked):
    """Where something comes from."""

    session: Label = ""
    conversation: Label = ""
    agent: Label = ""
    tool: Label = ""
    at: Moment | None = None
    method: Methods = "manual"
    trust: Trusts = "unknown"


class RememberAsked(Asked):
    """A text to remember."""

    text: Text = Field(examples=["Sarah prefers voice calls to mail"])
    title: Label = ""
    kind: Label = Field(default="", examples=["preference"])
    name: Label = ""
    entities: Labels = Field(default_factory=list[str], examples=[["Sarah"]])
    observations: Texts = Field(default_factory=list[str])
    tags: Tags = Field(default_factory=list[str], examples=[["contact"]])
    category: Label = ""
    project: Label = ""
    scope: Label = ""
    session_hint: Label = ""
    intent: Literal["auto", "new", "continue"] = "auto"
    pinned: bool = False
    expires_at: Moment | None = None
    remind_at: Moment | None = None
    source: SourceAsked | None = None
    metadata: Metadata = Field(default_factory=dict[str, JsonValue])
    dry_run: bool = False


class ReviseAsked(Asked):
    """What is to change; what is left out stays as it is."""

    content: Text | None = None
    title: Label | None = Field(default=None, examples=["How to reach Sarah"])
    kind: Label | None = None
    name: Label | None = None
    entity: Label | None = None
    category: Label | None = None
    project: Label | None = None
    scope: Label | None = None
    tags: Tags | None = None
    observations: Texts | None = None
    tier: Tiers | None = None
    pinned: bool | None = None
    relevance: Share | None = None
    expires_at: Moment | None = None
    remind_at: Moment | None = None
    metadata: Metadata | None = None
    add_observations: Texts = Field(default_factory=list[str], examples=[["She is in the office on Mondays"]])
    remove_observations: Texts = Field(default_factory=list[str])
    message: Remark = Field(default="", description="Why, for the history.")


class FilterAsked(Asked):
    """Which memories; a field that is left out asks nothing."""

    entity: Label = ""
    kind: Label = ""
    category: Label = ""
    tags: Tags = Field(default_factory=list[str])
    any_tags: Tags = Field(default_factory=list[str])
    project: Label = ""
    scope: Label = ""
    tier: Tiers | Literal[""] = ""
    session: Label = ""
    agent: Label = ""
    trust: Trusts | Literal[""] = ""
    metadata: Metadata = Field(default_factory=dict[str, JsonValue])
    since: Moment | None = None
    until: Moment | None = None


class SearchAsked(FilterAsked):
    """A question, and which memories may answer it."""

    query: Annotated[str, Field(max_length=100_000)] = Field(
        default="", examples=["how does Sarah like to be reached?"]
    )
    state: States = "live"
    limit: Annotated[int, Field(ge=1, le=1_000)] = 8
    max_tokens: Count = 1_500
    detail: Literal["concise", "full"] = "concise"
    explain: bool = False
    cursor: Annotated[str, Field(max_length=1_000)] = Field(default="", description="From the answer before.")


class SelectionAsked(Asked):
    """Which memories: by id, name or title, or all that pass a filter."""

    ids: Annotated[list[Label], Field(max_length=1_000)] = Field(
        default_factory=list[str], examples=[["how-to-reach-sarah"]]
    )
    filter: FilterAsked | None = None
    group: bool = Field(default=False, description="Take along what was made from the same text.")
    reason: Remark = ""
    dry_run: bool = False


class ReadAsked(Asked):
    """Which memories to read."""

    ids: Annotated[list[Label], Field(min_length=1, max_length=1_000)] = Field(examples=[["how-to-reach-sarah"]])
    format: Literal["markdown", "plain", "json"] = "markdown"
    version: Count | None = None


class RevertAsked(Asked):
    """Which version to go back to."""

    to: Count = Field(examples=[1])
    message: Remark = ""


class LinkAsked(Asked):
    """An edge to another memory."""

    target: Annotated[Label, Field(min_length=1)] = Field(examples=["sarah"])
    relation: Annotated[Label, Field(min_length=1)] = LINK
    text: Label = ""
    strength: Share = 0.5
    metadata: Metadata = Field(default_factory=dict[str, JsonValue])


class UndoAsked(Asked):
    """What to take back; without a name the last run of this agent."""

    run: Label = ""


def filter_of(asked: FilterAsked) -> Filter:
    """The filter that a body describes."""
    return cast("Filter", built(Filter, asked.model_dump(mode="json", include=set(FilterAsked.model_fields))))
