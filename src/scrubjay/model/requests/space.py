"""The verbs of a space and of the whole store: rules, tags, inbox, jobs, health, tokens, and its files."""

from collections.abc import AsyncIterator
from dataclasses import fields
from pathlib import Path
from typing import Annotated, Any, Literal

from scrubjay.lazy import dataclass
from scrubjay.model.arguments import UNSET, Arg, Request, Unset
from scrubjay.model.health import HealthReport
from scrubjay.model.job import Job
from scrubjay.model.memory import Json, Memory
from scrubjay.model.query import LABEL
from scrubjay.model.requests.memories import MAX_TAGS, Selection
from scrubjay.model.results import DoctorReport, Outcome, Reembedded, Status
from scrubjay.model.rules import Rules
from scrubjay.model.tags import TagPreview, TagTable
from scrubjay.model.token import NewToken, Token
from scrubjay.model.transfer import Imported

__all__ = [
    "AddSynonymsRequest",
    "ApproveRequest",
    "BackupRequest",
    "CancelJobRequest",
    "CreateTokenRequest",
    "DeclineRequest",
    "DoctorRequest",
    "EmbedMissingRequest",
    "ExportRequest",
    "HealthRequest",
    "ImportRequest",
    "InboxRequest",
    "JobsRequest",
    "PreviewTagsRequest",
    "ReembedRequest",
    "RemoveSynonymsRequest",
    "RetryJobRequest",
    "RevokeTokenRequest",
    "RulesRequest",
    "SetRulesRequest",
    "SpacesRequest",
    "StatusRequest",
    "TagsRequest",
    "TokensRequest",
]

Variants = Annotated[
    tuple[str, ...],
    Arg("Synonyms of a tag.", example=["payments-fix", "paying"], length=LABEL, items=100, positional=True),
]
JobId = Annotated[
    str, Arg("Id of the job.", example="0197f3c2-6d3e-7bb0-b8a5-9f4c1e2d3a4b", length=LABEL, positional=True)
]


@dataclass(frozen=True, slots=True, kw_only=True)
class RulesRequest(Request[Rules]):
    """Return the rules of the space."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SetRulesRequest(Request[Rules]):
    """Change rules of the space, such as `gate="report"`; null restores a default."""

    gate: Annotated[
        Literal["merge", "report", "off"] | Unset | None,
        Arg("Merge similar memories, only report them, or do not search for them.", example="report"),
    ] = UNSET
    window_days: Annotated[
        int | Unset | None,
        Arg("How many days back to search for similar memories.", example=14, minimum=0, maximum=36_500),
    ] = UNSET
    same: Annotated[
        float | Unset | None,
        Arg("Similarity from which two texts count as the same; 0 means the default of the model."),
    ] = UNSET
    density: Annotated[
        Literal["warn", "reject", "reconstruct", "off"] | Unset | None,
        Arg("Treatment of texts that say too little."),
    ] = UNSET
    least_characters: Annotated[
        int | Unset | None,
        Arg("Length below which a text says too little; 0 means any.", minimum=0, maximum=10_000),
    ] = UNSET
    tags: Annotated[Literal["normalise", "off"] | Unset | None, Arg("Whether tags are normalized.")] = UNSET
    least_tags: Annotated[
        int | Unset | None, Arg("Least number of tags to suggest.", minimum=0, maximum=MAX_TAGS)
    ] = UNSET  # fmt: skip
    most_tags: Annotated[
        int | Unset | None, Arg("Largest number of tags of a memory.", minimum=1, maximum=MAX_TAGS)
    ] = UNSET  # fmt: skip
    secrets: Annotated[Literal["redact", "off"] | Unset | None, Arg("Whether secrets are redacted.")] = UNSET
    injection: Annotated[
        Literal["label", "off"] | Unset | None, Arg("Whether texts with instructions for models are labelled.")
    ] = UNSET
    conflicts: Annotated[
        Literal["detect", "off"] | Unset | None, Arg("Whether to detect conflicts with stored memories.")
    ] = UNSET
    review: Annotated[
        Literal["none", "agents", "all"] | Unset | None, Arg("Whose memories wait for approval.")
    ] = UNSET  # fmt: skip
    never: Annotated[
        tuple[str, ...] | Unset | None,
        Arg(
            "Refuse texts with these words; `*` matches anything.",
            example=["do not remember*"],
            length=LABEL,
            items=200,
            single=True,
        ),
    ] = UNSET
    never_paths: Annotated[
        tuple[str, ...] | Unset | None,
        Arg(
            "Refuse texts that come from or name these files; `*` matches anything.",
            length=LABEL,
            items=200,
            single=True,
        ),
    ] = UNSET
    llm: Annotated[
        Literal["later", "wait", "off"] | Unset | None,
        Arg("Whether a language model, if there is one, improves new memories later, at once, or not at all."),
    ] = UNSET
    prune_days: Annotated[
        int | Unset | None,
        Arg("Curation moves what was not used for so many days to the trash; 0: never.", minimum=0, maximum=36_500),
    ] = UNSET
    purge_days: Annotated[
        int | Unset | None,
        Arg("Curation destroys what was in the trash for so many days; 0: never.", minimum=0, maximum=36_500),
    ] = UNSET
    most_memories: Annotated[
        int | Unset | None,
        Arg("Of more memories, curation keeps the best; 0: no limit.", minimum=0, maximum=1_000_000_000),
    ] = UNSET
    most_bytes: Annotated[
        int | Unset | None,
        Arg("Of more bytes of text, curation keeps the best; 0: no limit.", minimum=0, maximum=1_000_000_000_000),
    ] = UNSET

    @property
    def changes(self) -> dict[str, Json]:
        """The rules that it changes."""
        values: dict[str, Any] = {field.name: getattr(self, field.name) for field in fields(self)}
        changed = {name: value for name, value in values.items() if value is not UNSET}
        return {name: [*value] if isinstance(value, tuple) else value for name, value in changed.items()}


@dataclass(frozen=True, slots=True, kw_only=True)
class TagsRequest(Request[TagTable]):
    """Return the tags of the space with their counts, and their synonyms."""

    limit: Annotated[int, Arg("Maximum number of tags.", maximum=5_000, metavar="N")] = 200


@dataclass(frozen=True, slots=True, kw_only=True)
class AddSynonymsRequest(Request[TagTable]):
    """Make other words synonyms of a tag."""

    tag: Annotated[str, Arg("The tag that replaces them.", example="payment", length=LABEL, positional=True)]
    variants: Variants


@dataclass(frozen=True, slots=True, kw_only=True)
class RemoveSynonymsRequest(Request[TagTable]):
    """Remove synonyms: the words become tags of their own again."""

    variants: Variants


@dataclass(frozen=True, slots=True, kw_only=True)
class PreviewTagsRequest(Request[TagPreview]):
    """Preview the normalization of tags, and suggest tags for a text."""

    tags: Annotated[
        tuple[str, ...],
        Arg(
            "Tags to normalize.",
            example=["auth-fix", "oauth", "cli"],
            length=LABEL,
            items=MAX_TAGS,
            positional=True,
        ),
    ] = ()
    text: Annotated[str, Arg("Text for which to suggest more tags.")] = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class InboxRequest(Request[tuple[Memory, ...]]):
    """Return the memories that wait for approval, newest first."""

    limit: Annotated[int, Arg("Maximum number of memories.", maximum=1_000, flags="--limit -n")] = 50


@dataclass(frozen=True, slots=True, kw_only=True)
class ApproveRequest(Selection, Request[Outcome]):
    """Approve waiting memories."""


@dataclass(frozen=True, slots=True, kw_only=True)
class DeclineRequest(Selection, Request[Outcome]):
    """Move waiting memories to the trash."""


@dataclass(frozen=True, slots=True, kw_only=True)
class JobsRequest(Request[tuple[Job, ...]]):
    """Return queued and finished jobs, newest first."""

    limit: Annotated[int, Arg("Maximum number of jobs.", maximum=1_000, flags="--limit -n")] = 50


@dataclass(frozen=True, slots=True, kw_only=True)
class RetryJobRequest(Request[Job]):
    """Run a failed job again."""

    id: JobId


@dataclass(frozen=True, slots=True, kw_only=True)
class CancelJobRequest(Request[Job]):
    """Cancel a job."""

    id: JobId


@dataclass(frozen=True, slots=True, kw_only=True)
class StatusRequest(Request[Status]):
    """Return health, sizes, backends and degraded parts."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SpacesRequest(Request[tuple[str, ...]]):
    """Return the names of the spaces, in order."""

    name: Annotated[
        str, Arg("Only this space; if it does not exist, those with similar names.", example="work", length=LABEL)
    ] = ""  # fmt: skip


@dataclass(frozen=True, slots=True, kw_only=True)
class HealthRequest(Request[HealthReport]):
    """Return the figures of the space by day, who writes what, the alerts about them, and what to do."""

    days: Annotated[int, Arg("Count the last days, so many of them.", maximum=400)] = 30
    all_spaces: Annotated[
        bool, Arg("Every space, the busiest first; for callers that may use all of them.", flags="--all")
    ] = False  # fmt: skip


@dataclass(frozen=True, slots=True, kw_only=True)
class DoctorRequest(Request[DoctorReport]):
    """Check everything; `repair` first repairs what it can."""

    deep: Annotated[bool, Arg("Read every page and every body of the store.")] = False
    repair: Annotated[bool, Arg("Repair the problems that can be repaired.")] = False


@dataclass(frozen=True, slots=True, kw_only=True)
class EmbedMissingRequest(Request[int]):
    """Embed texts without a vector; returns their number."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ReembedRequest(Request[Reembedded]):
    """Embed all texts with another model, beside the vectors in use, then use that model; a killed run goes on."""

    model: Annotated[
        str,
        Arg(
            "The model: an embedder such as `bundled`, with the name or folder of its model, as in "
            "`openai:nomic-embed-text` or `onnx:/models/bge-small`; a name alone is a model of the embedder in use.",
            example="openai:nomic-embed-text",
            length=1_000,
            flags="--model",
        ),
    ]
    url: Annotated[str, Arg("Address of the embedding server, if it is another one.", length=1_000)] = ""
    dimension: Annotated[
        int, Arg("Length of the vectors to request from a server; 0 means the default of the model.", minimum=0)
    ] = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class BackupRequest(Request[Path]):
    """Copy the store to a file while it is in use, and verify the copy; returns the path of the copy."""

    target: Annotated[Path, Arg("The file to write.", example="backup.db", positional=True, metavar="FILE")]


@dataclass(frozen=True, slots=True, kw_only=True)
class ExportRequest(Request[AsyncIterator[str]]):
    """Return all memories with their versions as JSON Lines."""

    format: Annotated[
        Literal["scrubjay", "kg"],
        Arg(
            "`scrubjay`: everything with its history. `kg`: the current entities and relations, in the `memory.jsonl` "
            "format of the reference knowledge-graph server."
        ),
    ] = "scrubjay"
    include: Annotated[
        tuple[str, ...],
        Arg("Sections to add: `documents`, `answers` (earlier results, by idempotency key) and `vectors`."),
    ] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class ImportRequest(Request[Imported]):
    """Import an export, or a file of the reference knowledge-graph server; everything is checked before it is stored.

    `sections`: whether the optional sections of an export are accepted, which only the owner may import. `screened`:
    the memories are screened like new ones, arrive without pins, and their source is unknown.
    """

    sections: bool = True
    screened: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class CreateTokenRequest(Request[NewToken]):
    """Create a token for access over HTTP; only this answer contains its secret."""

    name: Annotated[str, Arg("Person or program that uses the token.", example="ada")]
    spaces: Annotated[tuple[str, ...], Arg("Spaces; `*` is all.")] = ()
    access: Annotated[
        str, Arg("read; agent, which also remembers, revises, relates and forgets; write, which does all; or metrics.")
    ] = "read"
    expires: Annotated[str, Arg("90d, 12h or a time. Default: never.", metavar="WHEN")] = ""
    requests_per_minute: Annotated[int, Arg("Rate limit. Default: that of the server.", minimum=0, metavar="N")] = 0
    body_bytes: Annotated[
        int, Arg("Maximum size of a body. Default: that of the server.", minimum=0, flags="--max-body", metavar="BYTES")
    ] = 0
    mcp_only: Annotated[bool, Arg("Valid for MCP alone, and not for REST or other programs.")] = False
    trusted_imports: Annotated[bool, Arg("What it imports keeps its trust and its pins.")] = False


@dataclass(frozen=True, slots=True, kw_only=True)
class TokensRequest(Request[tuple[Token, ...]]):
    """Return all tokens, oldest first, including expired and revoked ones."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RevokeTokenRequest(Request[Token]):
    """Revoke a token by its id or name, at once and for good."""

    ref: Annotated[str, Arg("Id or name of the token.", example="ada", positional=True)]
