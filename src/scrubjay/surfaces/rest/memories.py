"""Memories: write, read, revise, forget, restore and purge them."""

from collections.abc import Mapping
from typing import Annotated

from fastapi import Header, Query, Response

from scrubjay.errors import InvalidInput, NotFound, StaleVersion
from scrubjay.model.memory import Json, Memory
from scrubjay.model.requests import ForgetRequest, PurgeRequest, RestoreRequest, ReviseRequest
from scrubjay.model.results import Missing, Outcome, ReadResult, Remembered, Written
from scrubjay.surfaces.rest import examples
from scrubjay.surfaces.rest.deps import ReadContext, RequestContext, WriteContext
from scrubjay.surfaces.rest.requests import (
    GROUP,
    MAX_LABEL_LENGTH,
    REASON,
    Label,
    ReadBody,
    RememberBody,
    ReviseBody,
    SelectionBody,
    SmartWriteBody,
)
from scrubjay.surfaces.rest.route import (
    ETAG,
    MARKDOWN,
    AsOf,
    MemoryRef,
    OnBranch,
    branch_from,
    etag,
    json_response,
    location,
    router,
    version_from,
)
from scrubjay.surfaces.rest.schemas import ResponseSchemas, response_schema

routes = router("memories")

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
DroppedBranch = Annotated[
    str, Query(max_length=MAX_LABEL_LENGTH, description="Restore this dropped branch of the memory instead.")
]
_CREATED = 201
_NOT_MODIFIED = 304
_MEMORY_RESPONSES = response_schema(
    Memory, examples.MEMORY, description="The memory", headers=("ETag",), other_types={MARKDOWN: examples.TEXT}
)


def _written_response(example: Mapping[str, Json]) -> ResponseSchemas:
    return response_schema(Written, example, headers=("ETag",))


_REMEMBER_RESPONSES = response_schema(
    Remembered, examples.CREATED, status=_CREATED, description="A new memory", headers=("ETag", "Location")
) | response_schema(
    Remembered, examples.MERGED, description="Merged into another memory, known already, or refused", headers=("ETag",)
)


@routes.post("/memories", summary="Remember a text", status_code=_CREATED, responses=_REMEMBER_RESPONSES)
async def remember(body: RememberBody, context: WriteContext, key: IdempotencyKey = "") -> Response:
    """Store a text once, under every entity that it is about. The response lists the decision of each stage."""
    fields = body.model_dump(exclude_none=True, exclude_defaults=True)
    remembered = await context.write("remember", context.memory.remember(**fields, idempotency_key=key))
    return _remember_response(remembered, context, dry_run=body.dry_run)


@routes.post("/memories/smart-write", summary="Write smartly", status_code=_CREATED, responses=_REMEMBER_RESPONSES)
async def smart_write(body: SmartWriteBody, context: WriteContext, key: IdempotencyKey = "") -> Response:
    """Create a memory, or append to the memory that the content continues; `intent` controls the choice."""
    fields = body.model_dump(exclude_none=True, exclude_defaults=True)
    text, kind = fields.pop("content"), fields.pop("type", "")
    if not text.strip():
        raise InvalidInput("there is nothing to remember: the content is empty", field="content")
    work = context.memory.remember(text, kind=kind, **fields, idempotency_key=key)
    return _remember_response(await context.write("remember", work), context, dry_run=body.dry_run)


@routes.post("/memories/read", summary="Read several memories", responses=response_schema(ReadResult, examples.READ))
async def read_many(body: ReadBody, context: ReadContext) -> Response:
    """Read whole memories by id, name or title. The response names missing memories, with suggestions."""
    work = context.memory.read(body.ids, format=body.format, version=body.version, branch=body.branch, as_of=body.as_of)
    return json_response(await context.read("read", work))


@routes.post(
    "/memories/forget", summary="Forget several memories", responses=response_schema(Outcome, examples.FORGOTTEN)
)
async def forget_many(body: SelectionBody, context: WriteContext) -> Response:
    """Move memories to the trash. `restore` reverts this."""
    work = context.dependencies.engine.forget(ForgetRequest.of(**selection_from(body)), who=context.who)
    return json_response(await context.write("forget", work))


@routes.post(
    "/memories/restore", summary="Restore several memories", responses=response_schema(Outcome, examples.RESTORED)
)
async def restore_many(body: SelectionBody, context: WriteContext) -> Response:
    """Restore memories from the trash."""
    work = context.dependencies.engine.restore(RestoreRequest.of(**selection_from(body)), who=context.who)
    return json_response(await context.write("restore", work))


@routes.post("/memories/purge", summary="Purge several memories", responses=response_schema(Outcome, examples.PURGED))
async def purge_many(body: SelectionBody, context: WriteContext) -> Response:
    """Destroy memories in the trash, with every version and every trace of their text."""
    work = context.dependencies.engine.purge(PurgeRequest.of(**selection_from(body)), who=context.who)
    return json_response(await context.write("purge", work, long=True))


@routes.get(
    "/memories/{id}",
    summary="Read a memory",
    responses=_MEMORY_RESPONSES | {_NOT_MODIFIED: {"description": "You already have this version"}},
)
async def read(
    ref: MemoryRef,
    context: ReadContext,
    version: Annotated[int | None, Query(ge=1, le=(1 << 63) - 1, description="An earlier version.")] = None,
    branch: OnBranch = "",
    as_of: AsOf = None,
    accept: Annotated[str, Header(include_in_schema=False)] = "",
    none_match: IfNoneMatch = "",
) -> Response:
    """Read one memory as JSON, or as Markdown with `Accept: text/markdown`."""
    is_markdown = MARKDOWN in accept.lower()
    form = "markdown" if is_markdown else "json"
    work = context.memory.read(ref, format=form, version=version, branch=branch, as_of=as_of)
    result = await context.read("read", work)
    memory = only_memory(result, ref)
    headers = etag(memory.version, memory.branch) | {"vary": "accept"}
    if none_match.strip() == "*" or headers["etag"] in none_match:
        return Response(status_code=_NOT_MODIFIED, headers=headers)
    if is_markdown:
        return Response(result.texts[0], headers=headers, media_type=MARKDOWN)
    return json_response(memory, headers=headers)


@routes.patch("/memories/{id}", summary="Revise a memory", responses=_written_response(examples.REVISED))
async def revise(
    ref: MemoryRef,
    body: ReviseBody,
    context: WriteContext,
    branch: OnBranch = "",
    match: IfMatch = "",
    key: IdempotencyKey = "",
) -> Response:
    """Change fields of a memory. The previous state remains as a version."""
    fields = body.model_dump(mode="json", exclude_unset=True)
    request = ReviseRequest.of(
        id=ref, expected_version=version_from(match), branch=branch_from(match, branch), idempotency_key=key, **fields
    )
    written = await context.write("revise", context.memory.call(request))
    return json_response(written, headers=etag(written.version, written.branch))


@routes.delete("/memories/{id}", summary="Forget a memory", responses=_written_response(examples.FORGOTTEN_ONE))
async def forget(
    ref: MemoryRef,
    context: WriteContext,
    match: IfMatch = "",
    group: Annotated[bool, Query(description=GROUP)] = False,
    reason: Annotated[str, Query(max_length=1_000, description=REASON)] = "",
) -> Response:
    """Move a memory to the trash. `restore` reverts this."""
    await require_version(context, ref, match)
    return _single_response(await context.write("forget", context.memory.forget(ref, group=group, reason=reason)))


@routes.post("/memories/{id}/restore", summary="Restore a memory", responses=_written_response(examples.RESTORED_ONE))
async def restore(ref: MemoryRef, context: WriteContext, match: IfMatch = "", branch: DroppedBranch = "") -> Response:
    """Restore a memory, or a dropped branch of it, from the trash."""
    await require_version(context, ref, match)
    return _single_response(await context.write("restore", context.memory.restore(ref, branch=branch)))


@routes.post("/memories/{id}/purge", summary="Purge a memory", responses=_written_response(examples.PURGED_ONE))
async def purge(ref: MemoryRef, context: WriteContext, match: IfMatch = "") -> Response:
    """Destroy a memory in the trash, with every version and every trace of its text."""
    await require_version(context, ref, match)
    return _single_response(await context.write("purge", context.memory.purge(ref), long=True))


async def require_version(context: RequestContext, ref: str, match: str, *, branch: str = "") -> None:
    """Raise StaleVersion if a memory is not at the version of an If-Match header.

    A concurrent write may still follow the check. That is harmless here: these verbs can be undone, or purge the trash.
    """
    expected = version_from(match)
    if expected is None:
        return
    current = only_memory(await context.read("read", context.memory.read(ref, format="json", branch=branch)), ref)
    if current.version != expected:
        raise StaleVersion(
            f"memory {current.name!r} is at version {current.version}, not {expected}",
            hint="Read it again before you decide",
            memory_id=current.id,
            expected=expected,
            current=current.version,
        )


def selection_from(body: SelectionBody) -> dict[str, object]:
    """Return the selection of memories that a body describes, as arguments."""
    return body.model_dump(exclude_none=True, exclude_defaults=True)


def only_memory(result: ReadResult, ref: str) -> Memory:
    """Return the memory of a result; raise NotFound if it is missing."""
    if not result.memories:
        raise _not_found(result.missing[0] if result.missing else Missing(ref=ref))
    return result.memories[0]


def _remember_response(remembered: Remembered, context: RequestContext, *, dry_run: bool) -> Response:
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
