"""The job `embedding`: a memory gets the vectors that its write left for later."""

from scrubjay.engine import Engine
from scrubjay.indexing.backfill import embed_some
from scrubjay.model.job import EMBEDDING, Job

__all__ = ["KIND", "embed_the_rest"]

KIND = EMBEDDING


async def embed_the_rest(job: Job, *, engine: Engine) -> str:
    """Embed what the memory that a job is about has no vector of, as it is by now; what was begun is not lost."""
    memory_id = str(job.about.get("memory_id", ""))
    count = await embed_some(
        job.space, [memory_id], store=engine.store, embedder=engine.embedder, clock=engine.clock,
        gallery=engine.gallery,
    )  # fmt: skip
    await engine.index.after_commit()
    return f"{count:,} new vectors"
