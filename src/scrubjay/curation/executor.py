"""Runs the jobs that a write leaves: at once for a caller who waits, otherwise in the background."""

from collections.abc import Sequence

from scrubjay.curation import run_jobs, run_now
from scrubjay.engine import Engine
from scrubjay.jobs.runner import Wakeup, keep_running
from scrubjay.model.job import EMBEDDING, Job

_POLL_SECONDS = 30.0


class JobExecutor:
    """The job runner of an engine."""

    def __init__(self, engine: Engine) -> None:
        self._engine = engine
        self._wakeup = Wakeup()

    async def take(self, jobs: Sequence[Job], *, waits: bool) -> None:
        """Run jobs now if the caller waits for them, and wake the background runner."""
        if waits:
            # No caller should wait for the vectors of the end of a long text.
            await run_now(self._engine, [job for job in jobs if job.kind != EMBEDDING])
        self._wakeup.set()

    async def work(self, *, seconds: float = _POLL_SECONDS) -> None:
        """Run due jobs whenever there are any; it never returns."""
        await keep_running(lambda: run_jobs(self._engine), wakeup=self._wakeup, seconds=seconds)
