"""The past of a memory, and ways back."""

from typing import Annotated

from fastapi import Query, Response

from scrubjay.errors import InvalidInput
from scrubjay.model.branch import parse_version_or_branch
from scrubjay.model.results import History, Undone, Written
from scrubjay.surfaces.rest import examples
from scrubjay.surfaces.rest.deps import Reading, Writing
from scrubjay.surfaces.rest.fields import Count, Name
from scrubjay.surfaces.rest.memories import IfMatch, Key, require_version
from scrubjay.surfaces.rest.requests import CommitAsked, RevertAsked, UndoAsked
from scrubjay.surfaces.rest.route import OnBranch, Ref, answer, branch_from, etag, router
from scrubjay.surfaces.rest.schemas import gives

routes = router("history")
_REVERTED = gives(Written, examples.REVERTED, headers=("ETag",))
_COMMITTED = gives(Written, examples.COMMITTED, headers=("ETag",))
_EITHER = "A version, or the name of a branch: its newest version."


@routes.get("/memories/{id}/versions", summary="Versions of a memory", responses=gives(History, examples.VERSIONS))
async def versions(
    ref: Ref,
    context: Reading,
    limit: Annotated[int, Query(ge=1, le=1_000)] = 20,
    before: Annotated[Count | None, Query(description="Only versions before this one: the next page.")] = None,
    branch: OnBranch = "",
) -> Response:
    """Every version, newest first."""
    return answer(await context.read("history", context.memory.history(ref, limit=limit, before=before, branch=branch)))


@routes.get("/memories/{id}/diff", summary="Compare two versions", responses=gives(History, examples.DIFF))
async def diff(
    ref: Ref,
    context: Reading,
    first: Annotated[Name, Query(alias="from", examples=["1"], description=_EITHER)],
    second: Annotated[Name, Query(alias="to", examples=["2"], description=_EITHER)],
    branch: OnBranch = "",
) -> Response:
    """How one version became another."""
    work = context.memory.history(
        ref, diff=[parse_version_or_branch(first), parse_version_or_branch(second)], branch=branch
    )
    return answer(await context.read("diff", work))


@routes.post("/memories/{id}/revert", summary="Go back to a version", responses=_REVERTED)
async def revert(
    ref: Ref, asked: RevertAsked, context: Writing, branch: OnBranch = "", match: IfMatch = "", key: Key = ""
) -> Response:
    """A new version with the content of an older one."""
    if match and key:
        # What was done once is at another version the second time, and the first answer would never come.
        raise InvalidInput("If-Match and Idempotency-Key do not go together here", hint="Send one", field="If-Match")
    chosen = branch_from(match, branch)
    await require_version(context, ref, match, branch=chosen)
    work = context.memory.revert(ref, to=asked.to, message=asked.message, branch=chosen, idempotency_key=key)
    done = await context.write("revert", work)
    return answer(done, headers=etag(done.version, done.branch))


@routes.post("/memories/{id}/commit", summary="Commit a memory", responses=_COMMITTED)
async def commit(ref: Ref, asked: CommitAsked, context: Writing, branch: OnBranch = "", key: Key = "") -> Response:
    """A new version that says the same, with a message."""
    work = context.memory.commit(ref, message=asked.message, branch=branch, idempotency_key=key)
    done = await context.write("commit", work)
    return answer(done, headers=etag(done.version, done.branch))


@routes.post("/undo", summary="Undo", responses=gives(Undone, examples.UNDONE))
async def undo(asked: UndoAsked, context: Writing, key: Key = "") -> Response:
    """Take back the last change of this agent (`X-Scrubjay-Agent`), or a named run."""
    return answer(await context.write("undo", context.memory.undo(run=asked.run, idempotency_key=key)))
