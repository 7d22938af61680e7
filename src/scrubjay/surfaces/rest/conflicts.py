"""Conflicts between stored statements: list, scan and resolve them."""

from dataclasses import dataclass
from typing import Annotated, Literal

from fastapi import Path, Query, Response
from pydantic import Field

from scrubjay.errors import NotFound
from scrubjay.model.conflict import ConflictDetails, Resolved, Scan
from scrubjay.model.job import Job
from scrubjay.surfaces.rest import examples
from scrubjay.surfaces.rest.deps import OneSpaceContext, WriteContext
from scrubjay.surfaces.rest.memories import IdempotencyKey
from scrubjay.surfaces.rest.requests import (
    INTEGER,
    MAX_LABEL_LENGTH,
    REASON,
    Comment,
    Label,
    Line,
    RequestBody,
)
from scrubjay.surfaces.rest.route import ListLimit, json_response, router
from scrubjay.surfaces.rest.schemas import response_schema

routes = router("conflicts")
_LIMIT = 50

ConflictId = Annotated[
    str,
    Path(alias="id", max_length=MAX_LABEL_LENGTH, description="Id of a conflict.", examples=[examples.CONFLICT["id"]]),
]
# A test compares these choices with the model.
Statuses = Literal["pending", "resolved", "ignored", "all"]
Strategies = Literal["merge", "update", "branch", "supersede", "ignore", "auto"]


class ScanBody(RequestBody):
    """How many of the conflicts that a scan finds to return."""

    limit: Annotated[int, Field(ge=0, le=1_000), INTEGER] = _LIMIT


class ScanLaterBody(RequestBody):
    """The delay of a scan in seconds."""

    after: Annotated[int, Field(ge=0, le=30 * 24 * 60 * 60), INTEGER] = 0


class ResolveBody(RequestBody):
    """How to resolve a conflict."""

    strategy: Strategies = Field(default="auto", examples=["supersede"])
    notes: Comment = Field(default="", description=REASON, examples=["She moved in May"])
    branch: Line = Field(default="", description="Name of the branch that the strategy `branch` creates.")


@dataclass(frozen=True, slots=True, kw_only=True)
class Conflicts:
    """Conflicts, the newest first."""

    conflicts: tuple[ConflictDetails, ...]


@routes.get(
    "/conflicts",
    summary="List conflicts",
    responses=response_schema(Conflicts, {"conflicts": [examples.CONFLICT]}),
)
async def conflicts(
    context: OneSpaceContext,
    status: Annotated[Statuses, Query(description="The status of the conflicts.")] = "pending",
    memory: Annotated[Label, Query(description="Only conflicts of this memory: its id, name or title.")] = "",
    limit: ListLimit = _LIMIT,
) -> Response:
    """List pairs of statements that repeat, extend or contradict each other, with the text of both sides."""
    work = context.memory.conflicts(status=status, id=memory, limit=limit)
    return json_response(Conflicts(conflicts=await context.read("conflicts", work)))


@routes.get("/conflicts/{id}", summary="Read a conflict", responses=response_schema(ConflictDetails, examples.CONFLICT))
async def conflict(conflict_id: ConflictId, context: OneSpaceContext) -> Response:
    """Read one conflict, with any status."""
    matches = await context.read("conflicts", context.memory.conflicts(status="all", id=conflict_id, limit=1))
    details = next((match for match in matches if match.id == conflict_id), None)
    if details is None:
        raise NotFound(
            f"there is no conflict {conflict_id[:100]!r}", hint="GET /conflicts lists them", ref=conflict_id[:200]
        )
    return json_response(details)


@routes.post("/scan", summary="Scan for conflicts", responses=response_schema(Scan, examples.SCAN))
async def scan_conflicts(body: ScanBody, context: WriteContext) -> Response:
    """Search all memories for conflicts. Each conflict is stored and waits for a decision."""
    work = context.memory.scan_conflicts(limit=body.limit)
    return json_response(await context.write("scan_conflicts", work, long=True))


@routes.post("/scan/later", summary="Scan for conflicts later", responses=response_schema(Job, examples.SCAN_JOB))
async def scan_later(body: ScanLaterBody, context: WriteContext) -> Response:
    """Queue a scan for conflicts as a job of the server."""
    return json_response(await context.write("scan_later", context.memory.scan_later(after=body.after)))


@routes.post(
    "/conflicts/{id}/resolve", summary="Resolve a conflict", responses=response_schema(Resolved, examples.RESOLVED)
)
async def resolve_conflict(
    conflict_id: ConflictId, body: ResolveBody, context: WriteContext, key: IdempotencyKey = ""
) -> Response:
    """Resolve a conflict with one of several strategies. `undo` reverts each of them."""
    work = context.memory.resolve_conflict(
        conflict_id, strategy=body.strategy, notes=body.notes, branch=body.branch, idempotency_key=key
    )
    return json_response(await context.write("resolve_conflict", work))
