"""The verbs of the graph, of conflicts, and of conversations."""

from collections.abc import Mapping
from dataclasses import field
from datetime import datetime
from typing import Annotated, Literal

from scrubjay.lazy import dataclass
from scrubjay.model.arguments import Arg, Request
from scrubjay.model.conflict import ConflictDetails, Duplicates, Resolved, Scan
from scrubjay.model.fact import Extracted
from scrubjay.model.job import Job
from scrubjay.model.memory import Json
from scrubjay.model.query import LABEL, Filter, no_filter
from scrubjay.model.relation import Network
from scrubjay.model.requests.memories import AsOf, IdempotencyKey, Project, Ref, Refs, RememberRequest
from scrubjay.model.results import Context, DueReminders, Summary

__all__ = [
    "ConflictsRequest",
    "ContextRequest",
    "CreateEntitiesRequest",
    "DueRequest",
    "DuplicatesRequest",
    "ExtractRequest",
    "GetMemoryStatusRequest",
    "GraphRequest",
    "PathRequest",
    "ProbeConflictsRequest",
    "RelatedRequest",
    "ResolveConflictRequest",
    "ScanConflictsRequest",
    "ScanLaterRequest",
    "SearchNodesRequest",
    "SummarizeRequest",
    "UpdateEntityRequest",
]

Types = Annotated[
    tuple[str, ...],
    Arg("Only relations of this type; repeatable.", length=LABEL, items=100, flags="--type -t", metavar="NAME"),
]
Direction = Annotated[Literal["out", "in", "both"], Arg("Follow relations forwards, backwards, or both.")]
MaxMemories = Annotated[int, Arg("Maximum number of memories.", maximum=10_000, flags="--limit -n", metavar="N")]
_MONTH = 30 * 24 * 60 * 60


@dataclass(frozen=True, slots=True, kw_only=True)
class GraphRequest(Request[Network]):
    """Return the memories that relations connect to the given ones, up to `depth` steps away."""

    ids: Refs
    depth: Annotated[
        int, Arg("Maximum distance in relations.", minimum=0, maximum=10, flags="--depth -d", metavar="N")
    ] = 1  # fmt: skip
    types: Types = ()
    direction: Direction = "both"
    limit: MaxMemories = 200
    as_of: AsOf = None


@dataclass(frozen=True, slots=True, kw_only=True)
class RelatedRequest(Request[Network]):
    """Return the memories that relations of a memory lead to, and suggest some that are near it by meaning."""

    id: Ref
    types: Types = ()
    direction: Direction = "both"
    limit: MaxMemories = 200
    as_of: AsOf = None
    suggest: Annotated[
        int,
        Arg("Suggest so many memories that are near it by meaning and not related yet.", minimum=0, maximum=100),
    ] = 5


@dataclass(frozen=True, slots=True, kw_only=True)
class DueRequest(Request[DueReminders]):
    """Return the memories whose reminder is due, the latest first."""

    by: Annotated[
        datetime | None, Arg("Due by this time. Default: now.", example="2026-05-31T14:00:00Z", metavar="TIME")
    ] = None
    limit: Annotated[int, Arg("Maximum number of memories.", maximum=1_000, flags="--limit -n")] = 20


@dataclass(frozen=True, slots=True, kw_only=True)
class SummarizeRequest(Request[Summary]):
    """Summarize the memories of a tag, an entity, a project or a period by their central statements, oldest first."""

    filter: Annotated[Filter, Arg("Conditions on the memories; at least one.", flat=True)] = field(
        default_factory=no_filter
    )
    limit: Annotated[int, Arg("Maximum number of statements.", maximum=100, flags="--limit -n")] = 12
    max_tokens: Annotated[int, Arg("Token budget of the result.")] = 1000
    prose: Annotated[bool, Arg("Let the language model, if there is one, make one text of the statements.")] = False


@dataclass(frozen=True, slots=True, kw_only=True)
class PathRequest(Request[Network]):
    """Return a shortest path from one memory to another, of at most `most` steps."""

    source: Ref
    target: Ref
    types: Types = ()
    direction: Direction = "both"
    most: Annotated[int, Arg("Maximum number of relations.", minimum=0, maximum=20, metavar="N")] = 6
    as_of: AsOf = None


@dataclass(frozen=True, slots=True, kw_only=True)
class ConflictsRequest(Request[tuple[ConflictDetails, ...]]):
    """Return the conflicts of the space, or of one memory."""

    status: Annotated[
        Literal["pending", "resolved", "ignored", "all"], Arg("Which conflicts to return.")
    ] = "pending"  # fmt: skip
    id: Annotated[
        str, Arg("Only conflicts of this memory: its id, name or title.", length=LABEL, flags="--memory")
    ] = ""  # fmt: skip
    limit: Annotated[int, Arg("Maximum number of conflicts.", maximum=1_000, flags="--limit -n")] = 50


@dataclass(frozen=True, slots=True, kw_only=True)
class ProbeConflictsRequest(Request[tuple[tuple[ConflictDetails, ...], ...]]):
    """Return the conflicts that each draft would have if it were stored."""

    drafts: Annotated[
        tuple[RememberRequest, ...],
        Arg("Texts that are not stored yet.", example=[{"text": "Sarah lives in Paris"}], positional=True),
    ]
    threshold: Annotated[float, Arg("Least confidence of a conflict, from 0 to 1.")] = 0.5


@dataclass(frozen=True, slots=True, kw_only=True)
class ScanConflictsRequest(Request[Scan]):
    """Scan the whole space for conflicts."""

    limit: Annotated[
        int, Arg("Maximum number of conflicts.", minimum=0, maximum=1_000, flags="--limit -n")
    ] = 50  # fmt: skip


@dataclass(frozen=True, slots=True, kw_only=True)
class DuplicatesRequest(Request[Duplicates]):
    """Find the memories that say the same, in groups; with `merge`, join each group into its most trusted memory."""

    id: Annotated[str, Arg("Only the group of this memory: id, name or title.", length=LABEL)] = ""
    threshold: Annotated[float, Arg("Least confidence of a group, from 0 to 1.")] = 0.0
    merge: Annotated[bool, Arg("Merge the groups; `undo` takes it back.")] = False
    limit: Annotated[int, Arg("Maximum number of groups.", maximum=1_000, flags="--limit -n")] = 50


@dataclass(frozen=True, slots=True, kw_only=True)
class ScanLaterRequest(Request[Job]):
    """Have the daemon scan the whole space after a delay; a waiting scan is reused."""

    after: Annotated[int, Arg("Delay in seconds.", minimum=0, maximum=_MONTH)] = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class ResolveConflictRequest(Request[Resolved]):
    """Resolve a conflict; `undo` takes it back."""

    id: Annotated[str, Arg("Id of the conflict.", example="c-3f8a2b1c9d0e4f67", length=LABEL, positional=True)]
    strategy: Annotated[
        Literal["merge", "update", "branch", "supersede", "ignore", "auto"],
        Arg("How to resolve it; `auto` chooses.", example="supersede"),
    ] = "auto"
    notes: Annotated[
        str, Arg("Reason, recorded in the history.", example="She moved in May", length=1_000)
    ] = ""  # fmt: skip
    branch: Annotated[str, Arg("Name of the new branch for `branch`.", length=LABEL)] = ""
    keep: Annotated[
        str, Arg("The memory whose statement holds, for `supersede`; the newer one by default.", length=LABEL)
    ] = ""  # fmt: skip
    idempotency_key: IdempotencyKey = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class ExtractRequest(Request[Extracted]):
    """Extract the facts of a conversation, and store them."""

    text: Annotated[
        str, Arg("The chat log.", example="Sarah: I prefer voice calls to mail.", positional=True)
    ]  # fmt: skip
    session: Annotated[str, Arg("Session of the log. Default: the name in the log.", length=LABEL)] = ""
    store: Annotated[bool, Arg("Store the facts, or only return them.")] = True
    format: Annotated[
        Literal["auto", "text", "markdown", "whatsapp", "json", "jsonl", "chatgpt", "claude", "slack", "telegram"],
        Arg("Format of the log; `auto` detects it."),
    ] = "auto"
    method: Annotated[Literal["auto", "patterns", "llm"], Arg("`auto` uses a language model if one is configured.")] = (
        "auto"
    )
    project: Project = ""
    me: Annotated[
        str, Arg("Your name in a conversation between people.", length=LABEL, metavar="NAME")
    ] = ""  # fmt: skip
    trusted: Annotated[
        bool, Arg("Whether you trust the log: the statements of another count as read in a document.")
    ] = True  # fmt: skip


@dataclass(frozen=True, slots=True, kw_only=True)
class ContextRequest(Request[Context]):
    """Return the context for the start of a session."""

    session: Annotated[
        str, Arg("The session that starts; it is not shown as the last one.", length=LABEL)
    ] = ""  # fmt: skip
    project: Annotated[
        str, Arg("The project whose decisions and last session are shown; others are left out.", length=LABEL)
    ] = ""  # fmt: skip
    session_hint: Annotated[
        str, Arg("The session to show as the last one. The other parts stay the same.", length=LABEL)
    ] = ""  # fmt: skip
    max_tokens: Annotated[int, Arg("Token budget of the result.")] = 1500


@dataclass(frozen=True, slots=True, kw_only=True)
class CreateEntitiesRequest(Request[dict[str, Json]]):
    """Create or update entities by name; an invalid one does not affect the others."""

    entities: Annotated[
        tuple[Mapping[str, Json], ...],
        Arg(
            "Entities, each with name, entityType and observations.",
            example=[{"name": "Sarah", "entityType": "person", "observations": ["Prefers voice calls"]}],
            positional=True,
        ),
    ]


@dataclass(frozen=True, slots=True, kw_only=True)
class UpdateEntityRequest(Request[dict[str, Json]]):
    """Change fields of an entity."""

    id: Ref
    changes: Annotated[
        Mapping[str, Json], Arg("New values by field.", example={"entityType": "colleague"}, positional=True)
    ]


@dataclass(frozen=True, slots=True, kw_only=True)
class SearchNodesRequest(Request[dict[str, Json]]):
    """Find entities by name, type and meaning; pinned ones come first."""

    query: Annotated[str, Arg("Name, type or question.", example="Sarah", positional=True)]
    limit: Annotated[int, Arg("Maximum number of entities.")] = 10


@dataclass(frozen=True, slots=True, kw_only=True)
class GetMemoryStatusRequest(Request[dict[str, Json]]):
    """Return counts by type and tier, sizes and versions."""
