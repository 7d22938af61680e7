"""Curation: the jobs that keep the memory clean, one module for each job of a language model."""

from collections.abc import Awaitable, Callable, Sequence
from functools import partial

from scrubjay.curation.polish import polish
from scrubjay.curation.reconstruct import reconstruct
from scrubjay.curation.suggest_tags import suggest_tags
from scrubjay.curation.target import JobTarget, open_target
from scrubjay.engine import Engine
from scrubjay.errors import ScrubjayError
from scrubjay.jobs.queue import Queue
from scrubjay.jobs.runner import Handler, Postponed, run_due, run_one
from scrubjay.model.caller import Caller
from scrubjay.model.job import CONFLICTS, EMBEDDING, Job
from scrubjay.model.requests import ScanConflictsRequest
from scrubjay.ports import Llm, Progress

__all__ = ["handlers_of", "run_jobs", "run_now"]

# The jobs that improve one memory with a language model.
_TASKS: dict[str, Callable[[JobTarget], Awaitable[str]]] = {
    "reconstruct": reconstruct, "polish": polish, "tags": suggest_tags,
}  # fmt: skip
_MAX_JOBS = 1_000
_SCAN_AGENT = "scan"


async def run_jobs(engine: Engine, *, limit: int = _MAX_JOBS, progress: Progress | None = None) -> int:
    """Run the due jobs of all spaces; return how many were tried."""
    return await run_due(
        handlers_of(engine, llm=engine.llm),
        documents=engine.documents,
        clock=engine.clock,
        limit=limit,
        progress=progress,
    )


async def run_now(engine: Engine, jobs: Sequence[Job]) -> tuple[Job, ...]:
    """Run jobs that were just committed, for a caller who waits; a job that fails is left to be retried.

    Each takes at most the time-out of the model. Problems of a model or a memory never raise.
    """
    queue = Queue(documents=engine.documents, clock=engine.clock)
    results: list[Job] = []
    for job in jobs:
        try:
            ended = await run_one(job, handlers_of(engine, llm=engine.llm), queue=queue)
        except (Postponed, ScrubjayError):
            ended = None
        results.append(ended or job)
    return tuple(results)


def handlers_of(engine: Engine, *, llm: Llm | None) -> dict[str, Handler]:
    """Return the handler of each kind of job."""
    handlers: dict[str, Handler] = {
        kind: partial(_run_task, task=task, engine=engine, llm=llm) for kind, task in _TASKS.items()
    }
    return handlers | {
        CONFLICTS: partial(_scan_conflicts, engine=engine),
        EMBEDDING: partial(_embed_rest, engine=engine),
    }


async def _run_task(job: Job, *, task: Callable[[JobTarget], Awaitable[str]], engine: Engine, llm: Llm | None) -> str:
    target = await open_target(job, engine=engine, llm=llm)
    return target if isinstance(target, str) else await task(target)


async def _scan_conflicts(job: Job, *, engine: Engine) -> str:
    """Scan the memory of a job, or else its space, for new conflicts."""
    who = Caller(space=job.space, agent=_SCAN_AGENT, run=job.id)
    memory_id = job.about.get("memory_id")
    if isinstance(memory_id, str):
        count = await engine.scan_memory(memory_id, who=who)
        return "the memory is gone" if count is None else f"compared 1 memory, new conflicts: {count:,}"
    scan = await engine.scan_conflicts(ScanConflictsRequest(limit=0), who=who)
    return f"compared {scan.memories:,} memories, new conflicts: {scan.count:,}"


async def _embed_rest(job: Job, *, engine: Engine) -> str:
    """Embed the passages of a memory that have no vector yet; an interrupted run keeps its progress."""
    memory_id = str(job.about.get("memory_id", ""))
    count = await engine.embed_memories([memory_id], who=Caller(space=job.space))
    return f"{count:,} new vectors"
