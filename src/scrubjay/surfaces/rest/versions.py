"""The history of a memory: list, compare, revert and commit versions, and undo changes."""

from typing import Annotated

from fastapi import Depends, Query, Response

from scrubjay.errors import InvalidInput
from scrubjay.model.branch import parse_version_or_branch
from scrubjay.model.requests import CommitRequest, HistoryRequest, RevertRequest, UndoRequest
from scrubjay.model.results import History, Undone, Written
from scrubjay.surfaces.rest.deps import ReadContext, WriteContext
from scrubjay.surfaces.rest.memories import IdempotencyKey, IfMatch, require_version
from scrubjay.surfaces.rest.requests import Fields, Name, body_of, query_of
from scrubjay.surfaces.rest.route import MemoryRef, OnBranch, branch_from, etag, json_response, router
from scrubjay.surfaces.rest.schemas import response_schema

routes = router("history")
_VERSION_OR_BRANCH = "A version, or the name of a branch for its newest version."


@routes.get(
    "/memories/{id}/versions",
    summary="List the versions of a memory",
    responses=response_schema(History),
)
async def versions(
    ref: MemoryRef,
    context: ReadContext,
    query: Annotated[Fields, Depends(query_of(HistoryRequest, without=["id", "diff"]))],
) -> Response:
    """List the versions of a memory, newest first."""
    return json_response(await context.call(HistoryRequest.of(id=ref, **query)))


@routes.get("/memories/{id}/diff", summary="Compare two versions", responses=response_schema(History))
async def diff(
    ref: MemoryRef,
    context: ReadContext,
    first: Annotated[Name, Query(alias="from", examples=["1"], description=_VERSION_OR_BRANCH)],
    second: Annotated[Name, Query(alias="to", examples=["2"], description=_VERSION_OR_BRANCH)],
    branch: OnBranch = "",
) -> Response:
    """Return the differences between two versions."""
    versions = (parse_version_or_branch(first), parse_version_or_branch(second))
    return json_response(await context.call(HistoryRequest(id=ref, diff=versions, branch=branch)))


@routes.post(
    "/memories/{id}/revert",
    summary="Revert to a version",
    responses=response_schema(Written, headers=("ETag",)),
)
async def revert(
    ref: MemoryRef,
    body: Annotated[Fields, body_of(RevertRequest, without=["id", "branch"])],
    context: WriteContext,
    branch: OnBranch = "",
    match: IfMatch = "",
    key: IdempotencyKey = "",
) -> Response:
    """Create a new version with the content of an older one."""
    if match and key:
        # A retry would find another version and fail, instead of returning the first response.
        raise InvalidInput(
            "If-Match and Idempotency-Key cannot be combined here", hint="Send one of them", field="If-Match"
        )
    target = branch_from(match, branch)
    await require_version(context, ref, match, branch=target)
    written = await context.call(RevertRequest.of(id=ref, branch=target, idempotency_key=key, **body))
    return json_response(written, headers=etag(written.version, written.branch))


@routes.post(
    "/memories/{id}/commit",
    summary="Commit a memory",
    responses=response_schema(Written, headers=("ETag",)),
)
async def commit(
    ref: MemoryRef,
    body: Annotated[Fields, body_of(CommitRequest, without=["id", "branch"])],
    context: WriteContext,
    branch: OnBranch = "",
    key: IdempotencyKey = "",
) -> Response:
    """Create a new version with the same content and a message."""
    written = await context.call(CommitRequest.of(id=ref, branch=branch, idempotency_key=key, **body))
    return json_response(written, headers=etag(written.version, written.branch))


@routes.post("/undo", summary="Undo", responses=response_schema(Undone))
async def undo(
    body: Annotated[Fields, body_of(UndoRequest)], context: WriteContext, key: IdempotencyKey = ""
) -> Response:
    """Revert the last change of this agent (`X-Scrubjay-Agent`), or a named run."""
    return json_response(await context.call(UndoRequest.of(idempotency_key=key, **body)))
