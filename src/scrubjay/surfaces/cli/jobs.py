"""`scrubjay jobs`: work that a write left for later, and its outcome."""

import asyncio

import typer

from scrubjay.client.connect import Connection
from scrubjay.lazy import dataclass
from scrubjay.model.job import Job, JobState
from scrubjay.model.requests import CancelJobRequest, JobsRequest, RetryJobRequest
from scrubjay.service import LocalService
from scrubjay.settings import Settings
from scrubjay.surfaces.cli.command import bare, plain, require_memory
from scrubjay.surfaces.cli.console import align

app = typer.Typer()
jobs_app = typer.Typer(help="Jobs that run in the background.", no_args_is_help=True)
app.add_typer(jobs_app, name="jobs")

_HEAD = ("STATE", "KIND", "TRIES", "DUE", "ID", "OUTCOME")


@dataclass(frozen=True, slots=True, kw_only=True)
class JobList:
    """The jobs of a space, the newest first."""

    jobs: tuple[Job, ...]

    def __str__(self) -> str:
        if not self.jobs:
            return "no jobs"
        rows = [(job.state.value, job.kind, str(job.tries), _due(job), job.id, job.outcome or "-") for job in self.jobs]
        return "\n".join(align([_HEAD, *rows]))


@dataclass(frozen=True, slots=True, kw_only=True)
class JobRun:
    """The number of jobs that were run. `elsewhere`: a daemon owns the store and runs its jobs."""

    tried: int
    elsewhere: bool = False

    def __str__(self) -> str:
        if self.elsewhere:
            return "a daemon serves this memory and runs its jobs"
        return f"ran {self.tried:,} jobs; `scrubjay jobs list` shows their outcomes"


@dataclass(frozen=True, slots=True, kw_only=True)
class JobChange:
    """A job, and the action that was taken on it."""

    job: Job
    action: str

    def __str__(self) -> str:
        return f"{self.action} {self.job.kind} ({self.job.id})"


def _job_list(jobs: tuple[Job, ...]) -> JobList:
    return JobList(jobs=jobs)


plain(
    jobs_app,
    JobsRequest,
    """List the jobs of the space, the newest first.

    Finished jobs stay in the list for a day, failed ones for a week.
    """,
    shown=_job_list,
)


@bare(jobs_app)
def run(settings: Settings) -> JobRun:
    """Run the due jobs of all spaces, unless a daemon does."""
    require_memory(settings)
    return asyncio.run(_run_jobs(settings))


plain(
    jobs_app,
    RetryJobRequest,
    "Run a failed or finished job again.",
    shown=lambda job: JobChange(job=job, action="retrying"),
)
plain(jobs_app, CancelJobRequest, "Cancel a job.", shown=lambda job: JobChange(job=job, action="cancelled"))


async def _run_jobs(settings: Settings) -> JobRun:
    connection = Connection(settings=settings.short_lived)
    try:
        service = await connection.open()
        if not isinstance(service, LocalService):
            return JobRun(tried=0, elsewhere=True)
        from scrubjay.curation import run_jobs  # noqa: PLC0415 - only a process with the store open needs it

        return JobRun(tried=await run_jobs(service.engine))
    finally:
        await connection.close()


def _due(job: Job) -> str:
    return f"{job.due:%Y-%m-%d %H:%M}" if job.due and job.state is JobState.WAITING else "-"
