"""Where what a write leaves for later is done: at once for those who wait, else when there is time."""

from collections.abc import Sequence

from scrubjay.curation import run_jobs, run_now
from scrubjay.engine import Engine
from scrubjay.jobs.runner import keep_running
from scrubjay.jobs.wakeup import Wakeup
from scrubjay.model.job import EMBEDDING, Job

_SECONDS = 30.0


class JobExecutor:
    """The engine's workshop."""

    def __init__(self, engine: Engine) -> None:
        self._engine = engine
        self._bell = Wakeup()

    async def take(self, jobs: Sequence[Job], *, waits: bool) -> None:
        """Do these now if somebody waits for them, else let whoever works know."""
        if waits:
            # The end of a long text is what nobody should have to wait for.
            await run_now(self._engine, [job for job in jobs if job.kind != EMBEDDING])
        self._bell.ring()

    async def work(self, *, seconds: float = _SECONDS) -> None:
        """Do what is due, whenever there is something; never ends by itself."""
        await keep_running(lambda: run_jobs(self._engine), bell=self._bell, seconds=seconds)
