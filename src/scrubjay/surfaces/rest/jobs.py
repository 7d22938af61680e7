"""Jobs: what a write left for later, and what came of it."""

from dataclasses import dataclass
from typing import Annotated

from fastapi import Path, Query, Response

from scrubjay.model.job import Job
from scrubjay.model.memory import Json
from scrubjay.surfaces.rest.deps import Watching, Writing
from scrubjay.surfaces.rest.fields import LONGEST_LABEL
from scrubjay.surfaces.rest.route import answer, router
from scrubjay.surfaces.rest.schemas import gives

routes = router("jobs")
_LIMIT = 50
_ID = "0197f3c2-7a10-7c2f-8d11-0b1c2d3e4f5b"
_JOB: dict[str, Json] = {
    "space": "default",
    "kind": "polish",
    "about": {"memory_id": "0197f3c2-6d3e-7bb0-b8a5-9f4c1e2d3a4b"},
    "id": _ID,
    "state": "done",
    "tries": 1,
    "created_at": "2026-05-31T14:00:00Z",
    "due": "2026-06-01T14:00:05Z",
    "outcome": "polished: version 3",
    "version": 3,
}
_RETRIED: dict[str, Json] = {"state": "waiting", "tries": 0, "outcome": "", "version": 4}

JobId = Annotated[str, Path(alias="id", max_length=LONGEST_LABEL, description="Id of a job.", examples=[_ID])]


@dataclass(frozen=True, slots=True, kw_only=True)
class Jobs:
    """The jobs of a space, newest first."""

    jobs: tuple[Job, ...]


@routes.get("/jobs", summary="List jobs", responses=gives(Jobs, {"jobs": [_JOB]}))
async def jobs(
    context: Watching, limit: Annotated[int, Query(ge=1, le=1_000, description="So many at most.")] = _LIMIT
) -> Response:
    """What was left for later. What is done stays for a day, what failed for a week."""
    return answer(Jobs(jobs=await context.read("jobs", context.dependencies.engine.jobs(who=context.who, limit=limit))))


@routes.post("/jobs/{id}/retry", summary="Retry a job", responses=gives(Job, _JOB | _RETRIED))
async def retry_job(job_id: JobId, context: Writing) -> Response:
    """Have a job done again that failed or is done."""
    return answer(await context.write("retry_job", context.dependencies.engine.retry_job(job_id, who=context.who)))


@routes.delete("/jobs/{id}", summary="Cancel a job", responses=gives(Job, _JOB))
async def cancel_job(job_id: JobId, context: Writing) -> Response:
    """Have a job not done after all."""
    return answer(await context.write("cancel_job", context.dependencies.engine.cancel_job(job_id, who=context.who)))
