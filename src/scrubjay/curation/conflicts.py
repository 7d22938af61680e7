"""The job `conflicts`: everything in a space is compared, and what does not go together waits for a decision."""

from scrubjay.engine import Engine
from scrubjay.model.draft import Caller
from scrubjay.model.job import CONFLICTS, Job

__all__ = ["KIND", "look_for_conflicts"]

KIND = CONFLICTS
_AGENT = "scan"


async def look_for_conflicts(job: Job, *, engine: Engine) -> str:
    """Look through the space of a job. What was found before is not found again, so it may be tried anew."""
    done = await engine.scan_conflicts(who=Caller(space=job.space, agent=_AGENT, run=job.id), limit=0)
    return f"compared {done.memories:,} memories, new conflicts: {done.count:,}"
