"""The job `conflicts`: one memory or a whole space is compared, and what does not go together waits for a decision."""

from scrubjay.engine import Engine
from scrubjay.model.draft import Caller
from scrubjay.model.job import CONFLICTS, Job

__all__ = ["KIND", "look_for_conflicts"]

KIND = CONFLICTS
_AGENT = "scan"


async def look_for_conflicts(job: Job, *, engine: Engine) -> str:
    """Look at the memory that a job is about, else at its space. What was found before is not found again."""
    who = Caller(space=job.space, agent=_AGENT, run=job.id)
    memory_id = job.about.get("memory_id")
    if isinstance(memory_id, str):
        count = await engine.scan_memory(memory_id, who=who)
        return "the memory is gone" if count is None else f"compared 1 memory, new conflicts: {count:,}"
    done = await engine.scan_conflicts(who=who, limit=0)
    return f"compared {done.memories:,} memories, new conflicts: {done.count:,}"
