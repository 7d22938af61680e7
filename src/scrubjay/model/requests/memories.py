"""The verbs of single memories: write, find, read, change, remove and relate them."""

from collections.abc import Mapping
from dataclasses import field, fields
from datetime import datetime
from typing import Annotated, Literal, cast

from scrubjay.lazy import dataclass
from scrubjay.model.arguments import UNSET, Arg, ArgumentGroup, Request, Unset
from scrubjay.model.memory import MAIN, Json, Source
from scrubjay.model.query import LABEL, Filter, TextsFound, no_filter
from scrubjay.model.relation import LINK
from scrubjay.model.results import Missing, Outcome, ReadResult, Recalled, Related, Remembered, RememberedMany, Written
from scrubjay.model.timestamps import to_iso

__all__ = [
    "ConfirmRequest",
    "Edit",
    "ForgetRequest",
    "PurgeRequest",
    "ReadRequest",
    "RecallRequest",
    "RelateRequest",
    "RememberManyRequest",
    "RememberRequest",
    "RestoreRequest",
    "ReviseRequest",
    "SearchTextRequest",
    "Selection",
    "UnrelateRequest",
]

MAX_ITEMS = 100_000
"""The most texts in one call."""

Ref = Annotated[str, Arg("Id, name or title.", example="how-to-reach-sarah", length=LABEL, positional=True)]
OtherRef = Annotated[
    str, Arg("Id, name or title of the other memory.", example="sarah", length=LABEL, positional=True)
]  # fmt: skip
Refs = Annotated[
    tuple[str, ...],
    Arg(
        "Ids, names or titles.",
        example=["how-to-reach-sarah"],
        length=LABEL,
        items=1_000,
        positional=True,
        single=True,
    ),
]
AsOf = Annotated[
    datetime | None, Arg("Show the state at this time.", example="2026-05-31T14:00:00Z", metavar="TIME")
]  # fmt: skip
OnBranch = Annotated[
    str,
    Arg(
        "Branch to use. Default: the current branch of the memory.",
        length=LABEL,
        flags="--branch -b",
        metavar="NAME",
    ),
]
Reason = Annotated[str, Arg("Reason, recorded in the history.", length=1_000)]
Message = Annotated[str, Arg("Reason, recorded in the history.", length=1_000, flags="--message -m")]
IdempotencyKey = Annotated[str, Arg("Key that makes a repeated call safe.", example="7d0a2f7e", length=LABEL)]
DryRun = Annotated[bool, Arg("Only show what would be done.")]
Project = Annotated[str, Arg("Project.", length=LABEL)]
Metadata = Annotated[
    Mapping[str, Json], Arg("Values of your own, as an object.", example={"ticket": "A-1"})
]  # fmt: skip
MAX_AROUND = 10
MAX_TAGS = 64
_NO_TOKEN_LIMIT = 2**31


# Without slots: a draft, which extends it, is copied many times.
@dataclass(frozen=True, kw_only=True)
class RememberRequest(Request[Remembered]):
    """Store a text once, under every entity it is about; the result says what was done."""

    text: Annotated[
        str,
        Arg(
            "Text to remember.",
            example="Sarah prefers voice calls to mail",
            positional=True,
            aliases=("content",),
        ),
    ]
    title: Annotated[str, Arg("Title.", length=LABEL)] = ""
    kind: Annotated[
        str,
        Arg(
            "Kind: fact, preference, decision …",
            example="preference",
            brief="fact, preference, decision, …",
            length=LABEL,
            aliases=("type",),
        ),
    ] = ""
    name: Annotated[
        str, Arg("Name, unique among live memories. Default: derived from the title.", length=LABEL)
    ] = ""  # fmt: skip
    entities: Annotated[
        tuple[str, ...],
        Arg(
            "Person or thing the text is about; repeatable.",
            example=["Sarah"],
            brief="who or what it is about",
            length=LABEL,
            items=100,
            flags="--entity -e",
        ),
    ] = ()
    observations: Annotated[
        tuple[str, ...], Arg("An atomic fact; repeatable.", items=5_000, flags="--observation -o")
    ] = ()  # fmt: skip
    tags: Annotated[
        tuple[str, ...], Arg("Tag; repeatable.", example=["contact"], length=LABEL, items=MAX_TAGS, flags="--tag -t")
    ] = ()
    category: Annotated[str, Arg("Category, such as work or work/meetings.", length=LABEL)] = ""
    project: Project = ""
    scope: Annotated[str, Arg("Scope, for example personal or team.", length=LABEL)] = ""
    session_hint: Annotated[
        str,
        Arg(
            "Name of a task: its texts are collected in one memory.",
            brief="the same for a whole task",
            length=LABEL,
            metavar="NAME",
        ),
    ] = ""
    intent: Annotated[
        Literal["auto", "new", "continue"],
        Arg("`new` never merges, `continue` appends to the memory of the session hint, `auto` decides."),
    ] = "auto"
    pinned: Annotated[bool, Arg("Include it in every answer to a question.")] = False
    expires_at: Annotated[
        datetime | None, Arg("Hide it from recall after this time.", example="2026-06-30T14:00:00Z")
    ] = None
    remind_at: Annotated[datetime | None, Arg("When to remind you of it.", example="2026-05-31T14:00:00Z")] = None
    source: Annotated[
        Source | None,
        Arg("Where the text comes from: session, conversation, agent, tool, at, method and trust."),
    ] = None
    metadata: Metadata = field(default_factory=dict[str, Json])
    idempotency_key: IdempotencyKey = ""
    dry_run: DryRun = False
    wait_for_llm: Annotated[
        bool,
        Arg("Wait for the improvements of the language model, if one is configured, instead of leaving them to a job."),
    ] = False


@dataclass(frozen=True, slots=True, kw_only=True)
class RememberManyRequest(Request[RememberedMany]):
    """Store many texts, each as `remember` does; the result has an entry for each, in order."""

    items: Annotated[
        tuple[RememberRequest | Mapping[str, Json], ...],
        Arg(
            "The texts, each with the arguments of `remember`.",
            example=[{"text": "Sarah prefers voice calls to mail"}, {"text": "The office closes at six"}],
            brief="many, each with these arguments",
            items=MAX_ITEMS,
            positional=True,
        ),
    ]
    atomic: Annotated[bool, Arg("Store all of them, or none if one cannot be stored.")] = False
    idempotency_key: IdempotencyKey = ""
    dry_run: DryRun = False


@dataclass(frozen=True, slots=True, kw_only=True)
class RecallRequest(Request[Recalled]):
    """Find the memories that answer a question; without one, the most recent."""

    query: Annotated[
        str,
        Arg(
            "Question or words; without it, the most recent memories.",
            example="how does Sarah like to be reached?",
            length=100_000,
            positional=True,
            is_searched=True,
        ),
    ] = ""
    limit: Annotated[int, Arg("Maximum number of memories.", maximum=1_000, flags="--limit -n")] = 8
    filter: Annotated[Filter, Arg("Conditions on the memories.", flat=True)] = field(default_factory=no_filter)
    from_project: Annotated[
        str,
        Arg(
            "The project in which it is asked: its memories come first, those of others last and marked.",
            length=LABEL,
        ),
    ] = ""
    contains: Annotated[
        str,
        Arg(
            "Only memories whose title, content or observations contain this text, in upper or lower case.",
            length=100_000,
            is_searched=True,
            metavar="TEXT",
        ),
    ] = ""
    around: Annotated[
        int,
        Arg(
            "Show so many neighbours before and after each hit in its session.",
            brief="neighbours of each hit in its session",
            minimum=0,
            maximum=MAX_AROUND,
            metavar="N",
        ),
    ] = 0
    max_tokens: Annotated[
        int | None, Arg("Token budget of the result, which may leave hits to the next page. Default: none.")
    ] = None
    min_score: Annotated[
        float | None,
        Arg("Least score of a hit, from 0 to 1. Without it, what hardly answers is left out or marked as weak."),
    ] = None
    detail: Annotated[Literal["concise", "full"], Arg("Show a part of each memory, or all of it.")] = "concise"
    cursor: Annotated[str, Arg("Continue after the previous page.", length=120_000)] = ""
    explain: Annotated[bool, Arg("Show the parts of each score.")] = False
    today: Annotated[
        datetime | None,
        Arg("Reference time for 'yesterday' and 'in March'. Default: now.", example="2026-05-31T14:00:00Z"),
    ] = None
    as_of: AsOf = None
    branch: Annotated[
        str,
        Arg(
            "Show memories that have this branch as they are on it.", length=LABEL, flags="--branch -b", metavar="NAME"
        ),
    ] = MAIN

    @property
    def token_budget(self) -> int:
        """How many tokens the result may cost."""
        return _NO_TOKEN_LIMIT if self.max_tokens is None else self.max_tokens


@dataclass(frozen=True, slots=True, kw_only=True)
class SearchTextRequest(Request[TextsFound]):
    """Find memories by words: required words, `prefixes*`, "exact phrases" and -excluded words."""

    query: Annotated[
        str, Arg("Words, prefixes and phrases.", example="voice calls", positional=True, is_searched=True)
    ]  # fmt: skip
    filter: Annotated[Filter, Arg("Conditions on the memories.", flat=True)] = field(default_factory=no_filter)
    limit: Annotated[int, Arg("Maximum number of hits.")] = 10
    offset: Annotated[int, Arg("Number of best hits to skip, for paging.", minimum=0)] = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class ReadRequest(Request[ReadResult]):
    """Return whole memories by id, name or title; missing ones are named, with suggestions."""

    ids: Refs
    format: Annotated[
        Literal["markdown", "plain", "json"], Arg("Form of the text in the result.", flags="--format -f")
    ] = "markdown"
    version: Annotated[int | None, Arg("Show this older version.")] = None
    branch: OnBranch = ""
    as_of: AsOf = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Edit:
    """Changes to a memory: `fields` replaces values, observations are added and removed one by one.

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
class ReviseRequest(Request[Written]):
    """Change fields of a memory; the previous state remains as a version."""

    id: Ref
    text: Annotated[str | Unset, Arg("New content.", aliases=("content",))] = UNSET
    title: Annotated[str | Unset, Arg("New title.", example="How to reach Sarah", length=LABEL)] = UNSET
    name: Annotated[str | Unset, Arg("New name.", length=LABEL)] = UNSET
    kind: Annotated[str | Unset, Arg("New kind.", length=LABEL, aliases=("type",))] = UNSET
    entity: Annotated[str | Unset, Arg("New entity.", length=LABEL)] = UNSET
    category: Annotated[str | Unset, Arg("New category.", length=LABEL)] = UNSET
    project: Annotated[str | Unset, Arg("New project.", length=LABEL)] = UNSET
    scope: Annotated[str | Unset, Arg("New scope.", length=LABEL)] = UNSET
    tags: Annotated[
        tuple[str, ...] | Unset,
        Arg("New tags, which replace all tags; repeatable.", length=LABEL, items=MAX_TAGS, flags="--tag -t"),
    ] = UNSET
    observations: Annotated[
        tuple[str, ...] | Unset,
        Arg("New facts, which replace all facts; repeatable.", items=5_000, flags="--observation -o"),
    ] = UNSET
    tier: Annotated[
        Literal["working", "episodic", "semantic", "procedural"] | Unset, Arg("New tier.")
    ] = UNSET  # fmt: skip
    pinned: Annotated[bool | Unset, Arg("Pin or unpin.", flags="--pin/--unpin")] = UNSET
    relevance: Annotated[
        float | Unset, Arg("New relevance, from 0 to 1; it falls from there until you confirm the memory.")
    ] = UNSET
    expires_at: Annotated[datetime | Unset | None, Arg("Hide it from recall after this time; null cancels that.")] = (
        UNSET
    )
    remind_at: Annotated[datetime | Unset | None, Arg("When to remind you of it; null cancels the reminder.")] = UNSET
    metadata: Annotated[Mapping[str, Json] | Unset, Arg("New metadata, which replaces the old.")] = UNSET
    add_observations: Annotated[
        tuple[str, ...],
        Arg(
            "A fact to add; repeatable.",
            example=["She is in the office on Mondays"],
            items=5_000,
            flags="--add-observation",
        ),
    ] = ()
    remove_observations: Annotated[
        tuple[str, ...], Arg("A fact to remove; repeatable.", items=5_000, flags="--remove-observation")
    ] = ()
    message: Message = ""
    expected_version: Annotated[int | None, Arg("Fail if the memory has changed since this version.")] = None
    branch: OnBranch = ""
    source: Annotated[Source | None, Arg("Source of the added observations.")] = None
    idempotency_key: IdempotencyKey = ""

    @property
    def edit(self) -> Edit:
        """The changes that it makes."""
        shared = {name: getattr(self, name) for name in _EDIT_FIELDS}
        values = {field.name: getattr(self, field.name) for field in fields(self) if field.name not in shared}
        changes = {name: _plain(value) for name, value in values.items() if name != "id" and value is not UNSET}
        return Edit(fields=changes, **shared)


@dataclass(frozen=True, slots=True, kw_only=True)
class Selection(ArgumentGroup):
    """The memories that a verb applies to: by reference, or all that pass a filter; `group` adds their siblings.

    `branch`: their branches of this name, instead of the memories themselves.
    """

    ids: Annotated[
        tuple[str, ...],
        Arg(
            "Ids, names or titles; or give a filter.",
            example=["how-to-reach-sarah"],
            length=LABEL,
            items=1_000,
            positional=True,
            single=True,
        ),
    ] = ()
    filter: Annotated[Filter | None, Arg("All memories that match these conditions.")] = None
    group: Annotated[bool, Arg("Include the records of the same text for other entities.")] = False
    reason: Reason = ""
    dry_run: DryRun = False
    branch: str = ""
    missing: tuple[Missing, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class ForgetRequest(Selection, Request[Outcome]):
    """Move memories to the trash; `restore` brings them back."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ConfirmRequest(Selection, Request[Outcome]):
    """Confirm that memories still hold: their relevance stops falling and starts again from its stored value."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RestoreRequest(Selection, Request[Outcome]):
    """Restore memories from the trash, or, by its name, a dropped branch of them."""

    branch: Annotated[
        str,
        Arg(
            "Restore the dropped branch of this name, not the memories.",
            length=LABEL,
            flags="--branch -b",
            metavar="NAME",
        ),
    ] = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class PurgeRequest(Selection, Request[Outcome]):
    """Destroy memories in the trash, with every version and every trace of their text."""

    derived: Annotated[
        bool, Arg("Destroy the memories that curation made of them too, which share their statements.")
    ] = False  # fmt: skip


@dataclass(frozen=True, slots=True, kw_only=True)
class RelateRequest(Request[Related]):
    """Relate two memories; both ends show a link."""

    source: Ref
    target: OtherRef
    relation: Annotated[str, Arg("Type of the relation.", length=LABEL, flags="--relation -r")] = LINK
    text: Annotated[str, Arg("Text of the link.", length=LABEL)] = ""
    strength: Annotated[float, Arg("Strength from 0 to 1.")] = 0.5
    metadata: Metadata = field(default_factory=dict[str, Json])


@dataclass(frozen=True, slots=True, kw_only=True)
class UnrelateRequest(Request[Related]):
    """Remove a relation."""

    source: Ref
    target: OtherRef
    relation: Annotated[str, Arg("Type of the relation.", length=LABEL, flags="--relation -r")] = LINK


# The fields of an edit that a request has under the same name.
_EDIT_FIELDS = tuple({field.name for field in fields(Edit)} & {field.name for field in fields(ReviseRequest)})


def _plain(value: object) -> Json:
    if isinstance(value, datetime):
        return to_iso(value)
    return cast("Json", list(cast("tuple[str, ...]", value)) if isinstance(value, tuple) else value)
