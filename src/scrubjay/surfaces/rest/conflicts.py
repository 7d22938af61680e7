"""Conflicts between stored statements: list, scan and resolve them."""

from contextlib import suppress
from typing import Annotated

from fastapi import Depends, Path, Response

from scrubjay.errors import NotFound
from scrubjay.lazy import dataclass
from scrubjay.model.conflict import ConflictDetails, Resolved, Scan
from scrubjay.model.job import Job
from scrubjay.model.requests import (
    ConflictsRequest,
    ResolveConflictRequest,
    ScanConflictsRequest,
    ScanLaterRequest,
)
from scrubjay.surfaces.rest.deps import OneSpaceContext, WriteContext
from scrubjay.surfaces.rest.memories import IdempotencyKey
from scrubjay.surfaces.rest.requests import MAX_LABEL_LENGTH, Fields, body_of, query_of
from scrubjay.surfaces.rest.route import json_response, router
from scrubjay.surfaces.rest.schemas import response_schema

routes = router("conflicts")

EXAMPLE_CONFLICT = "c-3f8a2b1c9d0e4f67"
ConflictId = Annotated[
    str, Path(alias="id", max_length=MAX_LABEL_LENGTH, description="Id of a conflict.", examples=[EXAMPLE_CONFLICT])
]
_Query = query_of(ConflictsRequest, renamed={"id": "memory"})


@dataclass(frozen=True, slots=True, kw_only=True)
class Conflicts:
    """Conflicts, the newest first."""

    conflicts: tuple[ConflictDetails, ...]


@routes.get(
    "/conflicts",
    summary="List conflicts",
    responses=response_schema(Conflicts),
)
async def conflicts(context: OneSpaceContext, query: Annotated[Fields, Depends(_Query)]) -> Response:
    """List pairs of statements that repeat, extend or contradict each other, with the text of both sides."""
    return json_response(Conflicts(conflicts=await context.call(ConflictsRequest.of(**query))))


@routes.get("/conflicts/{id}", summary="Read a conflict", responses=response_schema(ConflictDetails))
async def conflict(conflict_id: ConflictId, context: OneSpaceContext) -> Response:
    """Read one conflict, with any status."""
    details = None
    # What is neither the id of a conflict nor the name of a memory.
    with suppress(NotFound):
        matches = await context.call(ConflictsRequest(status="all", id=conflict_id, limit=1))
        details = next((match for match in matches if match.id == conflict_id), None)
    if details is None:
        raise NotFound(
            f"there is no conflict {conflict_id[:100]!r}", hint="GET /conflicts lists them", ref=conflict_id[:200]
        )
    return json_response(details)


@routes.post("/scan", summary="Scan for conflicts", responses=response_schema(Scan))
async def scan_conflicts(body: Annotated[Fields, body_of(ScanConflictsRequest)], context: WriteContext) -> Response:
    """Search all memories for conflicts. Each conflict is stored and waits for a decision."""
    return json_response(await context.call(ScanConflictsRequest.of(**body)))


@routes.post("/scan/later", summary="Scan for conflicts later", responses=response_schema(Job))
async def scan_later(body: Annotated[Fields, body_of(ScanLaterRequest)], context: WriteContext) -> Response:
    """Queue a scan for conflicts as a job of the server."""
    return json_response(await context.call(ScanLaterRequest.of(**body)))


@routes.post("/conflicts/{id}/resolve", summary="Resolve a conflict", responses=response_schema(Resolved))
async def resolve_conflict(
    conflict_id: ConflictId,
    body: Annotated[Fields, body_of(ResolveConflictRequest, without=["id"])],
    context: WriteContext,
    key: IdempotencyKey = "",
) -> Response:
    """Resolve a conflict with one of several strategies. `undo` reverts each of them."""
    request = ResolveConflictRequest.of(id=conflict_id, idempotency_key=key, **body)
    return json_response(await context.call(request))
