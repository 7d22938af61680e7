"""What keeps the memory clean by itself: one module a job."""

from collections.abc import Awaitable, Callable, Sequence
from functools import partial

from scrubjay.curation.conflicts import KIND as CONFLICTS
from scrubjay.curation.conflicts import look_for_conflicts
from scrubjay.curation.embedding import KIND as EMBEDDING
from scrubjay.curation.embedding import embed_the_rest
from scrubjay.curation.polish import polish
from scrubjay.curation.reconstruct import reconstruct
from scrubjay.curation.suggest_tags import suggest_tags
from scrubjay.curation.target import JobTarget, job_target
from scrubjay.engine import Engine
from scrubjay.errors import ScrubjayError
from scrubjay.jobs.queue import Queue
from scrubjay.jobs.runner import Handler, NotNow, run_due, run_one
from scrubjay.model.job import Job
from scrubjay.ports import Llm, Progress

__all__ = ["KINDS", "handlers_of", "run_jobs", "run_now"]

KINDS: dict[str, Callable[[JobTarget], Awaitable[str]]] = {
    "reconstruct": reconstruct, "polish": polish, "tags": suggest_tags,
}  # fmt: skip
_MOST = 1_000


async def run_jobs(engine: Engine, *, limit: int = _MOST, progress: Progress | None = None) -> int:
    """Do what is due, in all spaces; returns how many jobs were tried."""
    return await run_due(
        handlers_of(engine, llm=engine.llm), documents=engine.store, clock=engine.clock, limit=limit, progress=progress
    )


async def run_now(engine: Engine, jobs: Sequence[Job]) -> tuple[Job, ...]:
    """Do jobs that were just committed, for a caller who waits; what does not work out is left to be done later.

    As long as the model's own time-out for each; never raises for what is wrong with a model or a memory.
    """
    queue = Queue(documents=engine.store, clock=engine.clock)
    done: list[Job] = []
    for job in jobs:
        try:
            ended = await run_one(job, handlers_of(engine, llm=engine.llm), queue=queue)
        except (NotNow, ScrubjayError):
            ended = None
        done.append(ended or job)
    return tuple(done)


def handlers_of(engine: Engine, *, llm: Llm | None) -> dict[str, Handler]:
    """What does each kind of job: those of one memory, and those of a whole space."""
    about_memories = {kind: _handler(task, engine=engine, llm=llm) for kind, task in KINDS.items()}
    return about_memories | {
        CONFLICTS: partial(look_for_conflicts, engine=engine),
        EMBEDDING: partial(embed_the_rest, engine=engine),
    }


def _handler(task: Callable[[JobTarget], Awaitable[str]], *, engine: Engine, llm: Llm | None) -> Handler:
    async def handle(job: Job) -> str:
        subject = await job_target(job, engine=engine, llm=llm)
        return subject if isinstance(subject, str) else await task(subject)

    return handle
