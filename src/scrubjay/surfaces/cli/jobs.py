"""`scrubjay jobs`: what a write left for later, and what came of it."""

import asyncio
from dataclasses import dataclass
from typing import Annotated

import typer

from scrubjay.client import MemoryClient
from scrubjay.client.connect import Connection
from scrubjay.model.job import Job, JobState
from scrubjay.rpc.engine import RemoteEngine
from scrubjay.settings import Settings
from scrubjay.surfaces.cli.command import bare, verb

app = typer.Typer()
jobs_app = typer.Typer(help="Work that is done after the call that asked for it.", no_args_is_help=True)
app.add_typer(jobs_app, name="jobs")

_HEAD = ("STATE", "KIND", "TRIES", "DUE", "ID", "OUTCOME")


@dataclass(frozen=True, slots=True, kw_only=True)
class Listed:
    """The jobs of a space, newest first."""

    jobs: tuple[Job, ...]

    def __str__(self) -> str:
        if not self.jobs:
            return "no jobs"
        rows = [(job.state.value, job.kind, str(job.tries), _due(job), job.id, job.outcome or "-") for job in self.jobs]
        widths = [max(map(len, column)) for column in zip(_HEAD, *rows, strict=True)]
        return "\n".join(
            "  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip()
            for row in (_HEAD, *rows)
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Ran:
    """What was run. `elsewhere`: a daemon has the store, and does its jobs by itself."""

    tried: int
    elsewhere: bool = False

    def __str__(self) -> str:
        if self.elsewhere:
            return "a daemon serves this memory and does its jobs by itself"
        return f"tried {self.tried:,} jobs; `scrubjay jobs list` shows what came of them"


@dataclass(frozen=True, slots=True, kw_only=True)
class Told:
    """One job, and what was done with it."""

    job: Job
    action: str

    def __str__(self) -> str:
        return f"{self.action} {self.job.kind} ({self.job.id})"


Id = Annotated[str, typer.Argument(help="Id of the job.", show_default=False)]


@verb(jobs_app, name="list")
async def list_(
    client: MemoryClient,
    *,
    limit: Annotated[int, typer.Option("--limit", "-n", help="How many at most.")] = 50,
) -> Listed:
    """List the jobs of a space, the newest first; what is done stays for a day, what failed for a week."""
    return Listed(jobs=await client.jobs(limit=limit))


@bare(jobs_app)
def run(settings: Settings) -> Ran:
    """Do what is due now, in all spaces, unless a daemon does."""
    return asyncio.run(_run(settings))


@verb(jobs_app)
async def retry(client: MemoryClient, id: Id) -> Told:
    """Have a job done again that failed or is done."""
    return Told(job=await client.retry_job(id), action="retrying")


@verb(jobs_app)
async def cancel(client: MemoryClient, id: Id) -> Told:
    """Have a job not done after all."""
    return Told(job=await client.cancel_job(id), action="cancelled")


async def _run(settings: Settings) -> Ran:
    connection = Connection(settings=settings.short_lived)
    try:
        engine = await connection.open()
        if isinstance(engine, RemoteEngine):
            return Ran(tried=0, elsewhere=True)
        from scrubjay.curation import run_jobs  # noqa: PLC0415 - for whoever has the store alone

        return Ran(tried=await run_jobs(engine))
    finally:
        await connection.close()


def _due(job: Job) -> str:
    return f"{job.due:%Y-%m-%d %H:%M}" if job.due and job.state is JobState.WAITING else "-"
