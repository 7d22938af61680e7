"""The schemas of responses in the OpenAPI description, derived from the types of the results."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import fields, is_dataclass
from datetime import datetime
from enum import Enum
from functools import cache, reduce
from pathlib import Path
from types import NoneType, UnionType
from typing import Union, cast, get_args, get_origin

from pydantic import BaseModel, ConfigDict, Field, JsonValue, create_model
from pydantic.json_schema import models_json_schema

from scrubjay.model.arguments import arguments_of
from scrubjay.model.memory import Json, Memory
from scrubjay.model.requests import SetRulesRequest
from scrubjay.model.results import Hit
from scrubjay.rpc.codec import type_hints

_REF = "#/components/schemas/{model}"
ResponseSchemas = dict[int | str, dict[str, object]]


def response_schema(
    result_type: type,
    example: Mapping[str, Json],
    *,
    status: int = 200,
    description: str = "Success",
    headers: Sequence[str] = (),
    other_types: Mapping[str, str] | None = None,
) -> ResponseSchemas:
    """Describe the successful response of a route; `component_schemas` builds the schema itself.

    `other_types` maps other content types than JSON to an example.
    """
    _RESULT_TYPES.add(result_type)
    content: dict[str, object] = {
        "application/json": {"schema": {"$ref": _REF.format(model=result_type.__name__)}, "example": dict(example)}
    }
    content |= {name: {"schema": {"type": "string"}, "example": text} for name, text in (other_types or {}).items()}
    response: dict[str, object] = {"description": description, "content": content}
    if headers:
        response["headers"] = {name: {"description": _HEADERS[name], "schema": {"type": "string"}} for name in headers}
    return {status: response}


def component_schemas() -> dict[str, Json]:
    """Return the schemas of all responses, by name."""
    models = [_publish(ProblemSchema, "Problem"), *(_model_of(result_type) for result_type in _RESULT_TYPES)]
    _, document = models_json_schema(
        [(model, "serialization") for model in sorted(models, key=lambda model: model.__name__)], ref_template=_REF
    )
    schemas = cast("dict[str, dict[str, dict[str, dict[str, Json]]]]", document["$defs"])
    for name, schema in schemas.items():
        for field_name, member in schema.get("properties", {}).items():
            member.setdefault("description", _description(name, field_name))
    return cast("dict[str, Json]", schemas)


def _description(schema: str, field_name: str) -> str:
    return _DESCRIPTIONS.get(f"{schema}.{field_name}") or _DESCRIPTIONS.get(field_name, "")


_RESULT_TYPES: set[type] = set()
_HEADERS = {
    "ETag": "The version of the memory, for `If-Match` and `If-None-Match`.",
    "Location": "The path of the new memory.",
}


class MemorySchema(BaseModel):
    """A memory. Fields with default values are omitted."""

    model_config = ConfigDict(extra="allow", defer_build=True)

    id: str
    space: str
    version: int
    name: str
    created_at: datetime
    updated_at: datetime
    title: str = ""
    kind: str = "note"
    category: str = ""
    project: str = ""
    scope: str = ""
    content: str = ""
    observations: list[dict[str, JsonValue]] = Field(default_factory=list[dict[str, JsonValue]])
    entity: str = ""
    group: str = ""
    tags: list[str] = Field(default_factory=list[str])
    tier: str = "working"
    pinned: bool = False
    relevance: float = 1.0
    expires_at: datetime | None = None
    remind_at: datetime | None = None
    state: str = "live"
    merged_into: str = ""
    merged: list[dict[str, JsonValue]] = Field(default_factory=list[dict[str, JsonValue]])
    flags: list[str] = Field(default_factory=list[str])
    branch: str = "main"
    trunk: str = ""
    forked: int = 0
    resolution: str = ""
    valid_until: datetime | None = None
    source: dict[str, JsonValue] = Field(default_factory=dict[str, JsonValue])
    metadata: dict[str, JsonValue] = Field(default_factory=dict[str, JsonValue])
    last_accessed: datetime | None = None
    last_confirmed: datetime | None = None
    last_reviewed: datetime | None = None
    access_count: int = 0


class ProblemSchema(BaseModel):
    """An error as in RFC 9457. Further members give details."""

    model_config = ConfigDict(extra="allow", defer_build=True)

    type: str = Field(examples=["urn:scrubjay:problem:not_found"])
    title: str
    status: int
    detail: str
    code: str = Field(description="The code for programs; the reference of errors lists all codes.")
    hint: str = Field(default="", description="What to do next.")
    request_id: str = Field(default="", description="The id of the request in the server's log.")
    field: str = Field(default="", description="The field of the request that is not valid.")
    errors: list[str] = Field(default_factory=list[str], description="All errors of the request.")


@cache
def _model_of(result_type: type) -> type[BaseModel]:
    """Return the pydantic model of a result type."""
    if result_type is Memory:
        return _publish(MemorySchema, "Memory")
    if issubclass(result_type, BaseModel):
        return result_type
    hints = type_hints(cast("object", result_type))
    members = {field.name: (_json_type(hints[field.name]), ...) for field in fields(cast("type[Hit]", result_type))}
    return cast("type[BaseModel]", _create(result_type.__name__, __doc__=result_type.__doc__, **members))


def _publish(model: type[BaseModel], name: str) -> type[BaseModel]:
    """Return a model under the name that clients see."""
    return cast("type[BaseModel]", _create(name, __base__=model, __doc__=model.__doc__))


def _json_type(annotation: object) -> object:
    """Return the type of a field in JSON."""
    origin, arguments = get_origin(annotation), get_args(annotation)
    if is_dataclass(annotation):
        return _model_of(cast("type[Hit]", annotation))
    if isinstance(annotation, type) and issubclass(annotation, Enum | Path):
        return str
    if origin is tuple:
        return list.__class_getitem__(_json_type(arguments[0]))
    if origin in (Union, UnionType):
        members = [cast("type", None if argument is NoneType else _json_type(argument)) for argument in arguments]
        return reduce(lambda left, right: cast("type", left | right), members)
    return dict[str, JsonValue] if origin in (dict, Mapping) else cast("object", annotation)


# What fields mean: by name, and for a schema in which the name means something else.
_DESCRIPTIONS: Mapping[str, str] = {
    "access_count": "How often it was accessed.",
    "action": "What was done.",
    "after": "The value afterwards.",
    "agent": "The agent that wrote it.",
    "around": "The memories before and after it in its session.",
    "at": "When it was said or written.",
    "attachment": "The attachment.",
    "attachments": "The files that the note embeds.",
    "backlinks": "The links to the note.",
    "base": "The value in the version that both branches start from.",
    "becomes": "The tags that replace it.",
    "before": "The value before.",
    "branch": "The branch it is on.",
    "branches": "The branches, main first.",
    "built_in": "Whether it comes with Scrubjay.",
    "by_type": "The number of conflicts of each type.",
    "bytes": "The size of the file.",
    "caption": "The description of the file.",
    "categories": "The categories.",
    "category": "The category.",
    "changed": "The ids of all memories that were changed.",
    "checked": "The number of files that were compared.",
    "clashes": "The fields that both branches have changed; nothing is merged then.",
    "code": "The code of the error, for programs.",
    "compression": "The compression of texts.",
    "confidence": "How sure Scrubjay is, from 0 to 1.",
    "conflict": "The id of the conflict.",
    "conflicts": "Stored statements that it repeats, extends or contradicts.",
    "content": "The text.",
    "conversation": "The conversation it comes from.",
    "count": "The number of conflicts.",
    "created": "The number of notes that were created from files.",
    "created_at": "When it was created.",
    "current": "The branch that the memory is switched to.",
    "cursor": "The cursor of the next page; empty on the last one.",
    "daemon": "The process that serves the store; empty if there is none.",
    "data": "The folder of the store.",
    "date": "The date.",
    "days": "The days since the last review.",
    "degraded": "Parts that were not used, and why.",
    "description": "The purpose.",
    "detail": "What is wrong.",
    "detected_at": "When it was detected.",
    "diff": "The differences between two versions, if they were asked for.",
    "differs": "Where the two may contradict each other.",
    "distance": "The number of relations from the start.",
    "done": "What was done to each memory.",
    "dry_run": "Whether nothing was stored.",
    "due": "When it runs; for a running job, when its worker counts as gone.",
    "duplicates": "Records that the file contains twice; they are stored once.",
    "edges": "The relations between the memories.",
    "embedding": "The model that embeds texts.",
    "entities": "The entities it is filed under.",
    "entity": "The entity it is filed under.",
    "error": "The error, if it could not be stored.",
    "expires_at": "When it is hidden from searches.",
    "fact": "The fact.",
    "facts": "The facts, in the order of the conversation.",
    "field": "The field.",
    "file": "The path of the file in the folder of notes.",
    "file_path": "The path of the file in the folder of notes; empty if it has none.",
    "flags": "Remarks of the write path, such as `thin` or `redacted`.",
    "folder": "The folder.",
    "forked": "The version of main that the branch starts from.",
    "format": "The format.",
    "found": "The newest conflicts.",
    "group": "The id that memories of the same text share.",
    "hint": "What to do next.",
    "hits": "The memories that match, the best first.",
    "id": "The id of the memory.",
    "ids": "The ids of all memories that hold the text.",
    "imported": "The number of memories that were imported.",
    "index": "The state of the vector index.",
    "into": "The target branch.",
    "iso": "The moment in ISO 8601.",
    "items": "The result of each item, in order.",
    "jobs": "The jobs, newest first.",
    "kept": "The id of the memory that remains.",
    "kind": "The kind, such as `fact` or `preference`.",
    "known": "The number of memories that were stored before.",
    "last_accessed": "When it was last accessed.",
    "last_confirmed": "When it was last confirmed.",
    "last_reviewed": "When it was last reviewed.",
    "last_session": "A summary of the last session.",
    "left_out": "The parts that did not fit into the budget.",
    "lines": "The lines that differ, as in a unified diff.",
    "links": "The links.",
    "llm": "The use of the language model today; empty if there is none.",
    "markdown_link": "The link as it stands in the note.",
    "matched": "The fields that match.",
    "media_type": "The type of the file.",
    "memories": "The memories.",
    "memory": "The memory.",
    "merged": "The memories that were merged into it.",
    "merged_into": "The id of the memory that it was merged into.",
    "message": "The message.",
    "metadata": "Values of your own.",
    "method": "How it was written or extracted.",
    "missing": "The references that no memory has, with suggestions.",
    "more": "Whether there are others.",
    "moved": "The number of files that were moved.",
    "name": "The name.",
    "named": "More specific tags that stay next to it.",
    "nodes": "The memories; those of a path in its order.",
    "note": "The note.",
    "notes": "The notes.",
    "number": "The number of the version.",
    "observations": "Atomic facts about its subject.",
    "off": "Built-in synonyms that the space switches off.",
    "ok": "Whether the server runs.",
    "orphans": "The files and attachments.",
    "other": "The older statement.",
    "ours": "The value of the target branch.",
    "outcome": "The outcome.",
    "parent": "The version it was made from.",
    "passage": "The part of its text that fits best.",
    "path": "The path.",
    "pinned": "Whether it is part of every search.",
    "place": "Its distance from the hit, negative for earlier ones.",
    "problems": "The files that were left alone, and why.",
    "profile": "What is stored about the user.",
    "project": "The project.",
    "ready": "Whether the store is available.",
    "recent": "The latest memories.",
    "ref": "The reference that was given.",
    "relations": "The relations.",
    "relevance": "Its relevance, from 0 to 1.",
    "remind_at": "When to remind the user of it.",
    "reminders": "The reminders that are due.",
    "renamed": "Memories whose name was taken, and their new names.",
    "resolution": "How a conflict about it was resolved.",
    "resolved_at": "When it was resolved.",
    "resolved_by": "Who resolved it.",
    "result": "What `POST /memories` returns, if it was stored.",
    "results": "The notes that match, the best first.",
    "run": "The run that `POST /undo` reverts.",
    "scope": "The scope, such as `personal` or `team`.",
    "score": "How well it matches; higher is better.",
    "scrubjay": "The version of Scrubjay.",
    "session": "The session it comes from.",
    "sha256": "The digest of the bytes.",
    "similar": "Similar memories.",
    "similarity": "The similarity, up to 1.",
    "skipped": "Memories that have changed since, which are left alone.",
    "snippet": "The text around the match.",
    "source": "Where it comes from.",
    "source_id": "The id of the first note.",
    "source_links": "The links of the first note.",
    "source_name": "The name of the first memory.",
    "source_title": "The title of the first note.",
    "space": "The space.",
    "speaker": "The one who said it.",
    "stage": "The stage of the write path.",
    "stale": "Whether this is an earlier answer, repeated while the server was away.",
    "state": "The state.",
    "statement": "The statement.",
    "status": "The status.",
    "store": "The state of the store.",
    "strategy": "The strategy that resolved it.",
    "strength": "The strength, from 0 to 1.",
    "subject": "Whom or what it is about.",
    "success": "Whether it was done.",
    "suggested": "Tags that the text suggests.",
    "suggested_action": "The strategy that fits best.",
    "suggested_entities": "Guesses at its subject, if none was given.",
    "suggestions": "Similar names.",
    "synonyms": "The synonyms of the space.",
    "tag": "The tag.",
    "tags": "The tags.",
    "taken": "The number of files whose changes were stored.",
    "target": "The reference of the other one.",
    "target_id": "The id of the second note.",
    "target_links": "The links of the second note.",
    "target_name": "The name of the second memory.",
    "target_title": "The title of the second note.",
    "templates": "The templates.",
    "text": "The text.",
    "texts": "The memories as text, in the format that was asked for.",
    "theirs": "The value of the merged branch.",
    "tier": "How consolidated it is.",
    "timestamp": "The seconds since 1970.",
    "timezone": "The time zone.",
    "title": "The title.",
    "tokens": "The length of the result in tokens.",
    "tool": "The tool that wrote it.",
    "total": "The number of notes with those of subcategories.",
    "trace": "The decision of each stage of the write path.",
    "trashed": "The number of notes that were moved to the trash.",
    "tries": "How often it was tried.",
    "truncated": "Whether there are more.",
    "trunk": "For a branch, the id of its memory.",
    "trust": "The kind of source it comes from.",
    "turn": "The turn of the conversation.",
    "turns": "The number of turns.",
    "type": "The type.",
    "updated_at": "When it was last changed.",
    "utc_offset": "The offset from UTC.",
    "valid_until": "When another statement superseded it.",
    "variants": "The words that it replaces.",
    "vault": "The folder of notes; empty if there is none.",
    "version": "The version; each write counts it up.",
    "versions": "The versions, newest first.",
    "warnings": "What to look at.",
    "weekday": "The day of the week.",
    "why": "The reason.",
    "written": "The number of files that were written.",
    "BranchMerged.branch": "The merged branch.",
    "Branches.name": "The name of the memory.",
    "Category.notes": "The number of notes in the category itself.",
    "ConflictDetails.differs": "The points on which they cannot both be right.",
    "ConflictDetails.id": "The id of the conflict.",
    "ConflictDetails.memory": "The newer statement.",
    "ConflictDetails.notes": "The reason that was given for the resolution.",
    "ConflictDetails.type": "Whether they repeat, extend or contradict each other.",
    "Conflicts.conflicts": "The conflicts, newest first.",
    "Context.conflicts": "The conflicts that wait for a decision.",
    "Context.pinned": "The pinned memories.",
    "Context.text": "The whole context as Markdown.",
    "CurrentDate.date": "The date in the format that was asked for.",
    "Hit.memory": "The whole memory, with the detail `full`.",
    "Hit.why": "The parts of its score, with `explain`.",
    "Imported.relations": "The number of relations that were imported.",
    "Inbox.memories": "The memories that wait for approval.",
    "Job.about": "What the job works on.",
    "Job.id": "The id of the job.",
    "Job.kind": "The kind of work.",
    "Job.version": "How often the record of the job has changed.",
    "Links.links": "Every relation of the memory.",
    "NotesSynced.conflicts": "The number of notes that changed on both sides.",
    "RememberedItem.index": "The position of the item in the request, from 0.",
    "Recalled.pinned": "Pinned memories, on the first page.",
    "Relation.source": "The id of the first memory.",
    "Relation.target": "The id of the second memory.",
    "Related.source": "The id of the first memory.",
    "Related.target": "The id of the second memory.",
    "Related.source_links": "The relations of the first memory.",
    "Related.target_links": "The relations of the second memory.",
    "Resolved.branch": "The branch that was created, if any.",
    "Scan.memories": "The number of memories that were compared.",
    "Status.index": "The vector index.",
    "Status.memories": "The number of memories in each state.",
    "Status.relations": "The number of relations.",
    "Status.version": "The version of Scrubjay.",
    "Status.versions": "The number of versions.",
    "TagCount.memories": "The number of memories that have it.",
    "TagPreview.after": "The tags after normalization.",
    "TagPreview.before": "The tags as given.",
    "TagPreview.why": "The change of each tag, and its reason.",
    "TagTable.built_in": "The synonyms that come with Scrubjay.",
    "Templates.folder": "The folder of your own templates.",
    "Problem.status": "The HTTP status.",
    "Problem.title": "The code in words.",
    "Problem.type": "The code as a URN.",
} | {f"Rules.{argument.name}": argument.about.help for argument in arguments_of(SetRulesRequest)}
# Its annotations cannot express fields that are known only at run time.
_create = cast("Callable[..., object]", create_model)
