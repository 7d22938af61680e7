"""Branches of a memory: create, list, switch, merge and drop them."""

from typing import Annotated

from fastapi import Path, Response

from scrubjay.errors import Conflict
from scrubjay.model.branch import Branches, BranchMerged
from scrubjay.model.memory import Json
from scrubjay.model.requests import (
    BranchesRequest,
    BranchRequest,
    DropBranchRequest,
    MergeBranchRequest,
    SwitchRequest,
)
from scrubjay.rpc.codec import problem_from_error, to_json
from scrubjay.surfaces.http.problems import problem_response
from scrubjay.surfaces.rest.deps import ReadContext, WriteContext
from scrubjay.surfaces.rest.memories import IdempotencyKey
from scrubjay.surfaces.rest.requests import MAX_LABEL_LENGTH, Fields, body_of
from scrubjay.surfaces.rest.route import MemoryRef, etag, json_response, router
from scrubjay.surfaces.rest.schemas import response_schema
from scrubjay.telemetry import request_id

routes = router("branches")
_CREATED = 201
# Branch names often contain slashes.
_BRANCH_PATH = "/memories/{id}/branches/{name:path}"
BranchName = Annotated[
    str, Path(alias="name", max_length=MAX_LABEL_LENGTH, description="Name of the branch.", examples=["draft"])
]


@routes.get(
    "/memories/{id}/branches",
    summary="List the branches of a memory",
    responses=response_schema(Branches),
)
async def branches(ref: MemoryRef, context: ReadContext) -> Response:
    """List every branch, main first, and name the branch that the memory is switched to."""
    return json_response(await context.call(BranchesRequest(id=ref)))


@routes.post(
    "/memories/{id}/branches",
    summary="Create a branch",
    status_code=_CREATED,
    responses=response_schema(Branches, status=_CREATED, description="A new branch"),
)
async def branch(
    ref: MemoryRef, body: Annotated[Fields, body_of(BranchRequest, without=["id"])], context: WriteContext
) -> Response:
    """Create another line of versions. Searches on main do not see its changes until it is merged."""
    return json_response(await context.call(BranchRequest.of(id=ref, **body)), status=_CREATED)


@routes.post(f"{_BRANCH_PATH}/switch", summary="Switch to a branch", responses=response_schema(Branches))
async def switch(ref: MemoryRef, name: BranchName, context: WriteContext) -> Response:
    """Select the branch that reads and writes of a memory use if they name none."""
    return json_response(await context.call(SwitchRequest(id=ref, name=name)))


@routes.post(
    f"{_BRANCH_PATH}/merge",
    summary="Merge a branch",
    responses=response_schema(BranchMerged, headers=("ETag",)),
)
async def merge_branch(
    ref: MemoryRef,
    name: BranchName,
    body: Annotated[Fields, body_of(MergeBranchRequest, without=["id", "name"])],
    context: WriteContext,
    key: IdempotencyKey = "",
) -> Response:
    """Merge the changes of a branch into another.

    If both branches have changed the same field differently, nothing is merged, and the problem lists the `clashes`.
    """
    merged = await context.call(MergeBranchRequest.of(id=ref, name=name, idempotency_key=key, **body))
    if merged.clashes:
        return _clash_response(merged)
    return json_response(merged, headers=etag(merged.version, merged.into))


@routes.delete(_BRANCH_PATH, summary="Drop a branch", responses=response_schema(Branches))
async def drop_branch(ref: MemoryRef, name: BranchName, context: WriteContext) -> Response:
    """Move a branch to the trash. Main does not change."""
    return json_response(await context.call(DropBranchRequest(id=ref, name=name)))


def _clash_response(merged: BranchMerged) -> Response:
    fields = ", ".join(dict.fromkeys(clash.field for clash in merged.clashes))
    error = Conflict(
        f"{merged.branch!r} and {merged.into!r} have both changed {merged.name!r}: {fields}",
        hint="Merge with prefer `ours` or `theirs`, or revise one of them first",
        memory_id=merged.id,
        branch=merged.branch,
        into=merged.into,
    )
    clashes: dict[str, Json] = {"clashes": to_json(merged.clashes)}
    return problem_response(problem_from_error(error, request_id=request_id.get()) | clashes)
