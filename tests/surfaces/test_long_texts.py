"""A long text over a daemon: the write returns before all of it is embedded, and a job embeds the rest."""

import asyncio
from dataclasses import replace

from tests.patience import PATIENCE
from tests.surfaces.background_daemon import background_daemon

from scrubjay import MemoryClient, Settings
from scrubjay.model.job import Job, JobState

# A little more than is embedded before the write returns.
TEXT = "\n\n".join(f"Page {number} tells of pier {number}. {'Gulls sit on it. ' * 40}" for number in range(30))


async def test_the_end_of_a_long_text_is_embedded_later(settings: Settings) -> None:
    settings = replace(settings, embedder="bundled")
    with background_daemon(settings):
        async with MemoryClient(settings=settings) as memory:
            done = await memory.remember(TEXT)
            assert any("its end is found by its words only" in warning for warning in done.warnings)
            async with asyncio.timeout(PATIENCE):
                while (job := await _embedding_job(memory)).state is not JobState.DONE:  # noqa: ASYNC110 - no event reports it
                    await asyncio.sleep(0.1)
            assert job.outcome.endswith("new vectors")
            assert next(check.ok for check in (await memory.doctor()).checks if check.name == "vectors")


async def _embedding_job(memory: MemoryClient) -> Job:
    (job,) = [job for job in await memory.jobs() if job.kind == "embedding"]
    return job
