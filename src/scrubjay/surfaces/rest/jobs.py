"""Jobs: background work that a write has queued, and its outcome."""

from dataclasses import dataclass
from typing import Annotated

from fastapi import Depends, Path, Response

from scrubjay.model.job import Job
from scrubjay.model.requests import CancelJobRequest, JobsRequest, RetryJobRequest
from scrubjay.surfaces.rest import examples
from scrubjay.surfaces.rest.deps import OneSpaceContext, WriteContext
from scrubjay.surfaces.rest.requests import MAX_LABEL_LENGTH, Fields, query_of
from scrubjay.surfaces.rest.route import json_response, router
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
async def jobs(context: OneSpaceContext, query: Annotated[Fields, Depends(query_of(JobsRequest))]) -> Response:
    """List the jobs of a space. Completed jobs are kept for a day, failed jobs for a week."""
    return json_response(Jobs(jobs=await context.call(JobsRequest.of(**query))))


@routes.post("/jobs/{id}/retry", summary="Retry a job", responses=response_schema(Job, examples.RETRIED_JOB))
async def retry_job(job_id: JobId, context: WriteContext) -> Response:
    """Run a failed or completed job again."""
    return json_response(await context.call(RetryJobRequest(id=job_id)))


@routes.delete("/jobs/{id}", summary="Cancel a job", responses=response_schema(Job, examples.JOB))
async def cancel_job(job_id: JobId, context: WriteContext) -> Response:
    """Cancel a job."""
    return json_response(await context.call(CancelJobRequest(id=job_id)))
