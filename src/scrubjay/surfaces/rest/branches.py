"""Branches of a memory: begun, listed, switched to, merged and dropped."""

from typing import Annotated

from fastapi import Path, Response

from scrubjay.errors import Conflict
from scrubjay.model.branch import Branches, BranchMerged
from scrubjay.model.memory import Json
from scrubjay.rpc.codec import problem_from_error, to_json
from scrubjay.surfaces.http.problems import problem_response
from scrubjay.surfaces.rest import examples
from scrubjay.surfaces.rest.deps import Reading, Writing
from scrubjay.surfaces.rest.fields import LONGEST_LABEL
from scrubjay.surfaces.rest.memories import Key
from scrubjay.surfaces.rest.requests import BranchAsked, MergeAsked
from scrubjay.surfaces.rest.route import Ref, answer, etag, router
from scrubjay.surfaces.rest.schemas import gives
from scrubjay.telemetry import request_id

routes = router("branches")
_CREATED = 201
_BRANCHES = gives(Branches, examples.BRANCHES)
# With slashes, as many call their branches.
_ONE = "/memories/{id}/branches/{name:path}"
BranchName = Annotated[
    str, Path(alias="name", max_length=LONGEST_LABEL, description="Name of the branch.", examples=["draft"])
]


@routes.get("/memories/{id}/branches", summary="Branches of a memory", responses=_BRANCHES)
async def branches(ref: Ref, context: Reading) -> Response:
    """Every branch, main first, and the one that the memory is switched to."""
    return answer(await context.read("branches", context.memory.branches(ref)))


@routes.post(
    "/memories/{id}/branches",
    summary="Begin a branch",
    status_code=_CREATED,
    responses=gives(Branches, examples.BRANCHES, status=_CREATED, what="A new branch"),
)
async def branch(ref: Ref, asked: BranchAsked, context: Writing) -> Response:
    """Another line of versions. What is done there is not found on main until it is merged."""
    work = context.memory.branch(ref, asked.name, description=asked.description, at=asked.at, switch=asked.switch)
    return answer(await context.write("branch", work), status=_CREATED)


@routes.post(f"{_ONE}/switch", summary="Switch to a branch", responses=gives(Branches, examples.SWITCHED))
async def switch(ref: Ref, name: BranchName, context: Writing) -> Response:
    """Have a memory stand on another branch for whoever reads or changes it without naming one."""
    return answer(await context.write("switch", context.memory.switch(ref, name)))


@routes.post(
    f"{_ONE}/merge", summary="Merge a branch", responses=gives(BranchMerged, examples.JOINED, headers=("ETag",))
)
async def merge_branch(ref: Ref, name: BranchName, asked: MergeAsked, context: Writing, key: Key = "") -> Response:
    """Bring what a branch has changed into another.

    Where both have changed the same in their own ways nothing is done, and the problem tells the `clashes`.
    """
    work = context.memory.merge_branch(
        ref, name, into=asked.into, prefer=asked.prefer, message=asked.message, idempotency_key=key
    )
    done = await context.write("merge_branch", work)
    return _clashing(done) if done.clashes else answer(done, headers=etag(done.version, done.into))


@routes.delete(_ONE, summary="Drop a branch", responses=gives(Branches, examples.DROPPED))
async def drop_branch(ref: Ref, name: BranchName, context: Writing) -> Response:
    """Put a branch into the trash; main stays as it is."""
    return answer(await context.write("drop_branch", context.memory.drop_branch(ref, name)))


def _clashing(done: BranchMerged) -> Response:
    fields = ", ".join(dict.fromkeys(clash.field for clash in done.clashes))
    refused = Conflict(
        f"{done.branch!r} and {done.into!r} have both changed {done.name!r}: {fields}",
        hint="Merge with prefer `ours` or `theirs`, or revise one of them first",
        memory_id=done.id,
        branch=done.branch,
        into=done.into,
    )
    facts: dict[str, Json] = {"clashes": to_json(done.clashes)}
    return problem_response(problem_from_error(refused, request_id=request_id.get()) | facts)
