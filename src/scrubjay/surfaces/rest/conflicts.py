"""Conflicts: what is stored and does not go together, and what is done about it."""

from dataclasses import dataclass
from typing import Annotated, Literal

from fastapi import Path, Query, Response
from pydantic import Field

from scrubjay.errors import NotFound
from scrubjay.model.conflict import ConflictDetails, Resolved, Scan
from scrubjay.model.job import Job
from scrubjay.model.memory import Json
from scrubjay.surfaces.rest.deps import Watching, Writing
from scrubjay.surfaces.rest.fields import LONGEST_LABEL, WHOLE, Label, Line
from scrubjay.surfaces.rest.memories import Key
from scrubjay.surfaces.rest.requests import Remark
from scrubjay.surfaces.rest.route import Asked, answer, router
from scrubjay.surfaces.rest.schemas import gives

routes = router("conflicts")
_LIMIT = 50
_ID = "c-3f8a2b1c9d0e4f67"
_AT = "2026-05-31T14:00:00Z"
_NEWER: dict[str, Json] = {
    "id": "0197f3c2-7a10-7c2f-8d11-0b1c2d3e4f5a",
    "name": "sarah-moved",
    "statement": "Sarah lives in Paris.",
    "date": _AT,
    "trust": "user",
    "agent": "rest",
    "session": "",
}
_OLDER: dict[str, Json] = _NEWER | {
    "id": "0197f3c2-6d3e-7bb0-b8a5-9f4c1e2d3a4b",
    "name": "where-sarah-lives",
    "statement": "Sarah lives in Berlin.",
    "date": "2026-05-01T12:00:00Z",
}
_CONFLICT: dict[str, Json] = {
    "id": _ID,
    "type": "contradiction",
    "confidence": 0.94,
    "suggested_action": "supersede",
    "status": "pending",
    "memory": _NEWER,
    "other": _OLDER,
    "differs": ["name: Paris or Berlin"],
    "detected_at": _AT,
    "strategy": None,
    "notes": "",
    "resolved_at": None,
    "resolved_by": "",
    "run": "",
}
_JOB: dict[str, Json] = {
    "space": "work",
    "kind": "conflicts",
    "about": {},
    "id": "0197f3c2-9a10-7c2f-8d11-0b1c2d3e4f5b",
    "state": "waiting",
    "tries": 0,
    "created_at": _AT,
    "due": _AT,
    "outcome": "",
    "version": 1,
}
_SCAN: dict[str, Json] = {"memories": 2, "found": [_CONFLICT], "count": 1, "by_type": {"contradiction": 1}}
_RESOLVED: dict[str, Json] = {
    "action": "superseded",
    "conflict": _ID,
    "strategy": "supersede",
    "kept": _NEWER["id"],
    "changed": [_OLDER["id"], _NEWER["id"]],
    "why": "",
    "run": "0197f3c2-6d3e-7bb0-b8a5-9f4c1e2d3a4c",
    "branch": "",
    "warnings": [],
}

ConflictId = Annotated[str, Path(alias="id", max_length=LONGEST_LABEL, description="Id of a conflict.", examples=[_ID])]
# A test holds them to what the model has.
Statuses = Literal["pending", "resolved", "ignored", "all"]
Strategies = Literal["merge", "update", "branch", "supersede", "ignore", "auto"]
_OF = "Only those of one memory, by its id, name or title."


class ScanAsked(Asked):
    """How many of the conflicts that are found are told."""

    limit: Annotated[int, Field(ge=0, le=1_000), WHOLE] = _LIMIT


class LaterAsked(Asked):
    """After how many seconds it is to be done."""

    after: Annotated[int, Field(ge=0, le=30 * 24 * 60 * 60), WHOLE] = 0


class ResolveAsked(Asked):
    """What is to be done about a conflict."""

    strategy: Strategies = Field(default="auto", examples=["supersede"])
    notes: Remark = Field(default="", description="Why, for the history.", examples=["She moved in May"])
    branch: Line = Field(default="", description="Name of the branch that the strategy `branch` makes.")


@dataclass(frozen=True, slots=True, kw_only=True)
class Conflicts:
    """Conflicts, the newest first."""

    conflicts: tuple[ConflictDetails, ...]


@routes.get("/conflicts", summary="List conflicts", responses=gives(Conflicts, {"conflicts": [_CONFLICT]}))
async def conflicts(
    context: Watching,
    status: Annotated[Statuses, Query(description="What has become of them.")] = "pending",
    memory: Annotated[Label, Query(description=_OF)] = "",
    limit: Annotated[int, Query(ge=1, le=1_000, description="So many at most.")] = _LIMIT,
) -> Response:
    """Statements that say the same, more, or something else, each with the words of both sides."""
    work = context.memory.conflicts(status=status, id=memory, limit=limit)
    return answer(Conflicts(conflicts=await context.read("conflicts", work)))


@routes.get("/conflicts/{id}", summary="Read a conflict", responses=gives(ConflictDetails, _CONFLICT))
async def conflict(conflict_id: ConflictId, context: Watching) -> Response:
    """One conflict, whatever has become of it."""
    reported = await context.read("conflicts", context.memory.conflicts(status="all", id=conflict_id, limit=1))
    results = [item for item in reported if item.id == conflict_id]
    if not results:
        raise NotFound(
            f"there is no conflict {conflict_id[:100]!r}", hint="GET /conflicts lists them", ref=conflict_id[:200]
        )
    return answer(results[0])


@routes.post("/scan", summary="Look for conflicts", responses=gives(Scan, _SCAN))
async def scan_conflicts(asked: ScanAsked, context: Writing) -> Response:
    """Look through everything that is stored; what is found waits for a decision."""
    work = context.memory.scan_conflicts(limit=asked.limit)
    return answer(await context.write("scan_conflicts", work, long=True))


@routes.post("/scan/later", summary="Look for conflicts later", responses=gives(Job, _JOB))
async def scan_later(asked: LaterAsked, context: Writing) -> Response:
    """Leave the look through everything to the server, as a job."""
    return answer(await context.write("scan_later", context.memory.scan_later(after=asked.after)))


@routes.post("/conflicts/{id}/resolve", summary="Resolve a conflict", responses=gives(Resolved, _RESOLVED))
async def resolve_conflict(conflict_id: ConflictId, asked: ResolveAsked, context: Writing, key: Key = "") -> Response:
    """Settle a conflict in one of several ways; `undo` takes each of them back."""
    work = context.memory.resolve_conflict(
        conflict_id, strategy=asked.strategy, notes=asked.notes, branch=asked.branch, idempotency_key=key
    )
    return answer(await context.write("resolve_conflict", work))
