"""Jobs: background work that a write has queued, and its outcome."""

from dataclasses import dataclass
from typing import Annotated

from fastapi import Path, Response

from scrubjay.model.job import Job
from scrubjay.model.requests import CancelJobRequest, JobsRequest, RetryJobRequest
from scrubjay.surfaces.rest import examples
from scrubjay.surfaces.rest.deps import OneSpaceContext, WriteContext
from scrubjay.surfaces.rest.requests import MAX_LABEL_LENGTH
from scrubjay.surfaces.rest.route import ListLimit, json_response, router
from scrubjay.surfaces.rest.schemas import response_schema

routes = router("jobs")

JobId = Annotated[
    str, Path(alias="id", max_length=MAX_LABEL_LENGTH, description="Id of a job.", examples=[examples.JOB["id"]])
]


@dataclass(frozen=True, slots=True, kw_only=True)
class Jobs:
    """The jobs of a space, newest first."""

    jobs: tuple[Job, ...]


@routes.get("/jobs", summary="List jobs", responses=response_schema(Jobs, {"jobs": [examples.JOB]}))
async def jobs(context: OneSpaceContext, limit: ListLimit = 50) -> Response:
    """List the jobs of a space. Completed jobs are kept for a day, failed jobs for a week."""
    work = context.dependencies.engine.jobs(JobsRequest(limit=limit), who=context.who)
    return json_response(Jobs(jobs=await context.read("jobs", work)))


@routes.post("/jobs/{id}/retry", summary="Retry a job", responses=response_schema(Job, examples.RETRIED_JOB))
async def retry_job(job_id: JobId, context: WriteContext) -> Response:
    """Run a failed or completed job again."""
    work = context.dependencies.engine.retry_job(RetryJobRequest(id=job_id), who=context.who)
    return json_response(await context.write("retry_job", work))


@routes.delete("/jobs/{id}", summary="Cancel a job", responses=response_schema(Job, examples.JOB))
async def cancel_job(job_id: JobId, context: WriteContext) -> Response:
    """Cancel a job."""
    work = context.dependencies.engine.cancel_job(CancelJobRequest(id=job_id), who=context.who)
    return json_response(await context.write("cancel_job", work))
