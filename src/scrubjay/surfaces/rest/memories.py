"""Memories: write, read, revise, forget, restore and purge them."""

from dataclasses import replace
from typing import Annotated

from fastapi import Depends, Header, Query, Response

from scrubjay.errors import InvalidInput, NotFound, StaleVersion
from scrubjay.lazy import dataclass
from scrubjay.lookup.references import TolerantReader
from scrubjay.model.decay import as_shown
from scrubjay.model.identity import is_id
from scrubjay.model.memory import Memory
from scrubjay.model.notes import NoteWritten
from scrubjay.model.query import Filter
from scrubjay.model.requests import (
    ConfirmRequest,
    ForgetRequest,
    PurgeRequest,
    ReadRequest,
    RememberManyRequest,
    RememberRequest,
    RestoreRequest,
    ReviseRequest,
    RulesRequest,
)
from scrubjay.model.results import Missing, Outcome, ReadResult, Remembered, RememberedMany, Written
from scrubjay.model.rules import rejection
from scrubjay.surfaces.rest.deps import OneSpaceContext, ReadContext, RequestContext, WriteContext
from scrubjay.surfaces.rest.requests import (
    MAX_LABEL_LENGTH,
    REMEMBER,
    Fields,
    Flag,
    Label,
    SelectionBody,
    body_of,
    query_of,
)
from scrubjay.surfaces.rest.route import (
    ETAG,
    MARKDOWN,
    MemoryRef,
    OnBranch,
    branch_from,
    etag,
    json_response,
    location,
    router,
    version_from,
)
from scrubjay.surfaces.rest.schemas import response_schema
from scrubjay.writing.tags import warn_few_tags

routes = router("memories")


@dataclass(frozen=True, slots=True, kw_only=True)
class MemoryList:
    """A page of memories; `cursor` leads to the next one."""

    memories: tuple[Memory, ...]
    cursor: str = ""


IdempotencyKey = Annotated[
    Label,
    Header(
        alias="Idempotency-Key",
        description="Makes a retry safe: the same key and request return the first response again.",
        examples=["7d0a2f7e"],
    ),
]
IfMatch = Annotated[
    str,
    Header(
        alias="If-Match",
        max_length=100,
        description="The version that you expect; `*` matches any.",
        examples=['"2"'],
        json_schema_extra={"pattern": ETAG},
    ),
]
IfNoneMatch = Annotated[
    str, Header(alias="If-None-Match", max_length=1_000, description="The version that you already have.")
]
Explain = Annotated[
    Flag,
    Query(description="Include the decision of each stage of the write path, as `trace`; a dry run has it anyway."),
]
DroppedBranch = Annotated[
    str, Query(max_length=MAX_LABEL_LENGTH, description="Restore this dropped branch of the memory instead.")
]
_CREATED = 201
_NOT_MODIFIED = 304
_MEMORY_RESPONSES = response_schema(Memory, description="The memory", headers=("ETag",), other_types=(MARKDOWN,))


_WRITTEN_RESPONSES = response_schema(Written, headers=("ETag",))
_REMEMBER_RESPONSES = response_schema(
    Remembered, status=_CREATED, description="A new memory", headers=("ETag", "Location")
) | response_schema(Remembered, description="Merged into another memory, or known already", headers=("ETag",))


@routes.post("/memories", summary="Remember a text", status_code=_CREATED, responses=_REMEMBER_RESPONSES)
async def remember(
    body: Annotated[Fields, REMEMBER], context: WriteContext, key: IdempotencyKey = "", explain: Explain = False
) -> Response:
    """Store a text once, under every entity that it is about. The response says what was done, and with what result."""
    request = RememberRequest.of(idempotency_key=key, **body)
    return _remember_response(await context.call(request), context, dry_run=request.dry_run, explain=explain)


@routes.get("/memories", summary="List memories", responses=response_schema(MemoryList))
async def list_memories(
    context: OneSpaceContext,
    query: Annotated[Fields, Depends(query_of(Filter, without=["metadata"]))],
    limit: Annotated[int, Query(ge=1, le=1_000, description="Maximum number of memories.")] = 50,
    cursor: Annotated[str, Query(max_length=MAX_LABEL_LENGTH, description="The cursor of the previous page.")] = "",
) -> Response:
    """List whole memories of the space, the most recently changed first.

    `cursor` leads to the next page, and is empty on the last one. A memory that changes meanwhile moves to the front.
    """
    work = _list(context, Filter.of(**query), limit=limit, after=cursor)
    return json_response(await context.read("read", work))


@routes.post("/memories/smart-write", summary="Write smartly", status_code=_CREATED, responses=_REMEMBER_RESPONSES)
async def smart_write(
    body: Annotated[Fields, body_of(RememberRequest, name="SmartWriteBody")],
    context: WriteContext,
    key: IdempotencyKey = "",
    explain: Explain = False,
) -> Response:
    """Create a memory, or append to the memory that the content continues; `intent` controls the choice."""
    request = RememberRequest.of(idempotency_key=key, **body)
    if not request.text.strip():
        raise InvalidInput("there is nothing to remember: the text is empty", field="text")
    done = warn_few_tags(await context.call(request), request, rules=await context.call(RulesRequest()))
    return _remember_response(done, context, dry_run=request.dry_run, explain=explain)


@routes.post(
    "/memories/batch",
    summary="Remember many texts",
    responses=response_schema(RememberedMany),
)
async def remember_many(
    body: Annotated[Fields, body_of(RememberManyRequest)],
    context: WriteContext,
    key: IdempotencyKey = "",
    explain: Explain = False,
) -> Response:
    """Store many texts. The response has an entry for each, in order: what `POST /memories` returns, or its error.

    With `atomic`, all are stored, or none, and then the problem names each item that cannot be stored.
    """
    done = await context.call(RememberManyRequest.of(idempotency_key=key, **body))
    if not explain and not done.dry_run:
        items = (replace(item, result=replace(item.result, trace=())) if item.result else item for item in done.items)
        done = replace(done, items=tuple(items))
    return json_response(done)


@routes.post("/memories/read", summary="Read several memories", responses=response_schema(ReadResult))
async def read_many(body: Annotated[Fields, body_of(ReadRequest)], context: ReadContext) -> Response:
    """Read whole memories by id, name or title. The response names missing memories, with suggestions."""
    return json_response(await context.call(ReadRequest.of(**body)))


@routes.post("/memories/forget", summary="Forget several memories", responses=response_schema(Outcome))
async def forget_many(body: SelectionBody, context: WriteContext) -> Response:
    """Move memories to the trash. `restore` reverts this."""
    return json_response(await context.call(ForgetRequest.of(**body)))


@routes.post("/memories/restore", summary="Restore several memories", responses=response_schema(Outcome))
async def restore_many(body: SelectionBody, context: WriteContext) -> Response:
    """Restore memories from the trash."""
    return json_response(await context.call(RestoreRequest.of(**body)))


@routes.post("/memories/confirm", summary="Confirm several memories", responses=response_schema(Outcome))
async def confirm_many(body: SelectionBody, context: WriteContext) -> Response:
    """Confirm that memories still hold. Their relevance starts again from its stored value."""
    return json_response(await context.call(ConfirmRequest.of(**body)))


@routes.post("/memories/purge", summary="Purge several memories", responses=response_schema(Outcome))
async def purge_many(body: Annotated[Fields, body_of(PurgeRequest)], context: WriteContext) -> Response:
    """Destroy memories in the trash, with every version and every trace of their text."""
    return json_response(await context.call(PurgeRequest.of(**body)))


@routes.get(
    "/memories/{id}",
    summary="Read a memory",
    responses=_MEMORY_RESPONSES | {_NOT_MODIFIED: {"description": "You already have this version"}},
)
async def read(
    ref: MemoryRef,
    context: ReadContext,
    query: Annotated[Fields, Depends(query_of(ReadRequest, without=["ids", "format"]))],
    accept: Annotated[str, Header(include_in_schema=False)] = "",
    none_match: IfNoneMatch = "",
) -> Response:
    """Read one memory as JSON, or as Markdown with `Accept: text/markdown`."""
    is_markdown = MARKDOWN in accept.lower()
    form = "markdown" if is_markdown else "json"
    result = await context.call(ReadRequest.of(ids=[ref], format=form, **query))
    memory = only_memory(result, ref)
    headers = etag(memory.version, memory.branch) | {"vary": "accept"}
    if none_match.strip() == "*" or headers["etag"] in none_match:
        return Response(status_code=_NOT_MODIFIED, headers=headers)
    if is_markdown:
        return Response(result.texts[0], headers=headers, media_type=MARKDOWN)
    return json_response(memory, headers=headers)


@routes.patch("/memories/{id}", summary="Revise a memory", responses=_WRITTEN_RESPONSES)
async def revise(
    ref: MemoryRef,
    body: Annotated[Fields, body_of(ReviseRequest, without=["id", "branch"], not_blank=["name"], nullable=False)],
    context: WriteContext,
    branch: OnBranch = "",
    match: IfMatch = "",
    key: IdempotencyKey = "",
) -> Response:
    """Change fields of a memory. The previous state remains as a version."""
    request = ReviseRequest.of(
        id=ref, expected_version=version_from(match), branch=branch_from(match, branch), idempotency_key=key, **body
    )
    written = await context.call(request)
    return json_response(written, headers=etag(written.version, written.branch))


@routes.delete("/memories/{id}", summary="Forget a memory", responses=_WRITTEN_RESPONSES)
async def forget(
    ref: MemoryRef,
    context: WriteContext,
    query: Annotated[Fields, Depends(query_of(ForgetRequest, without=["ids", "filter", "dry_run"]))],
    match: IfMatch = "",
) -> Response:
    """Move a memory to the trash. `restore` reverts this."""
    await require_version(context, ref, match)
    return _single_response(await context.call(ForgetRequest.of(ids=[ref], **query)))


@routes.post("/memories/{id}/restore", summary="Restore a memory", responses=_WRITTEN_RESPONSES)
async def restore(ref: MemoryRef, context: WriteContext, match: IfMatch = "", branch: DroppedBranch = "") -> Response:
    """Restore a memory, or a dropped branch of it, from the trash."""
    await require_version(context, ref, match)
    return _single_response(await context.call(RestoreRequest(ids=(ref,), branch=branch)))


@routes.post("/memories/{id}/confirm", summary="Confirm a memory", responses=_WRITTEN_RESPONSES)
async def confirm(ref: MemoryRef, context: WriteContext, match: IfMatch = "") -> Response:
    """Confirm that a memory still holds. Its relevance starts again from its stored value."""
    await require_version(context, ref, match)
    return _single_response(await context.call(ConfirmRequest(ids=(ref,))))


@routes.post("/memories/{id}/purge", summary="Purge a memory", responses=_WRITTEN_RESPONSES)
async def purge(
    ref: MemoryRef,
    context: WriteContext,
    query: Annotated[Fields, Depends(query_of(PurgeRequest, without=["ids", "filter", "dry_run", "group", "reason"]))],
    match: IfMatch = "",
) -> Response:
    """Destroy a memory in the trash, with every version and every trace of its text."""
    await require_version(context, ref, match)
    return _single_response(await context.call(PurgeRequest.of(ids=[ref], **query)))


async def _list(context: RequestContext, filter: Filter, *, limit: int, after: str) -> MemoryList:
    reader, space = context.dependencies.engine.reader, context.who.space
    if after and not (is_id(after) and await reader.get(space, [after])):
        raise InvalidInput("the cursor is not one of this list", hint="List again without a cursor", field="cursor")
    # One more tells whether there is another page.
    ids = await reader.list_ids(space, filter, limit=limit + 1, after=after or None)
    memories = await TolerantReader(reader, space=space).get(ids[:limit])
    shown = tuple(as_shown(memory, context.dependencies.engine.clock.now()) for memory in memories)
    return MemoryList(memories=shown, cursor=ids[limit - 1] if len(ids) > limit else "")


async def require_version(context: RequestContext, ref: str, match: str, *, branch: str = "") -> None:
    """Raise StaleVersion if a memory is not at the version of an If-Match header.

    A concurrent write may still follow the check. That is harmless here: these verbs can be undone, or purge the trash.
    """
    expected = version_from(match)
    if expected is None:
        return
    current = only_memory(await context.call(ReadRequest(ids=(ref,), format="json", branch=branch)), ref)
    if current.version != expected:
        raise StaleVersion(
            f"memory {current.name!r} is at version {current.version}, not {expected}",
            hint="Read it again before you decide",
            memory_id=current.id,
            expected=expected,
            current=current.version,
        )


def only_memory(result: ReadResult, ref: str) -> Memory:
    """Return the memory of a result; raise NotFound if it is missing."""
    if not result.memories:
        raise _not_found(result.missing[0] if result.missing else Missing(ref=ref))
    return result.memories[0]


def require_accepted(written: Remembered | NoteWritten) -> None:
    """Raise Rejected if a rule of the space rejects a text."""
    if written.action == "rejected":
        reason, *warnings = written.warnings
        raise rejection(reason, warnings=warnings)


def _remember_response(remembered: Remembered, context: RequestContext, *, dry_run: bool, explain: bool) -> Response:
    require_accepted(remembered)
    if not explain and not dry_run:
        remembered = replace(remembered, trace=())
    is_new = remembered.action == "created" and not dry_run
    headers = etag(remembered.version) if remembered.id else {}
    if is_new:
        headers |= location("memories", remembered.id, context)
    return json_response(remembered, status=_CREATED if is_new else 200, headers=headers)


def _single_response(outcome: Outcome) -> Response:
    if not outcome.done:
        raise _not_found(outcome.missing[0])
    written = outcome.done[0]
    return json_response(written, headers=etag(written.version, written.branch))


def _not_found(missing: Missing) -> NotFound:
    if missing.why:
        return NotFound(f"no memory is called {missing.ref[:100]!r}: {missing.why}", ref=missing.ref[:200])
    names = missing.suggestions
    hint = f"Did you mean {' or '.join(names)}?" if names else "Find it with GET /api/v1/search"
    return NotFound(f"no memory is called {missing.ref[:100]!r}", hint=hint, ref=missing.ref[:200], suggestions=names)
