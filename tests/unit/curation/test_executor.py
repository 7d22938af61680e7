"""The executor: at once for a caller who waits, otherwise in the background."""

import asyncio
from collections.abc import AsyncIterator, Iterator
from dataclasses import replace
from pathlib import Path

import pytest
from tests.fakes.build import a_memory
from tests.patience import PATIENCE
from tests.unit.curation.job_world import SPACE, JobWorld, open_job_world
from tests.unit.llm.chat_server import ChatServer, Reply, json_reply

from scrubjay.curation import run_jobs, run_now
from scrubjay.curation.executor import JobExecutor
from scrubjay.engine import Engine
from scrubjay.jobs.queue import Queue
from scrubjay.model.caller import Caller
from scrubjay.model.draft import Draft
from scrubjay.model.job import Job, JobState
from scrubjay.model.memory import Memory
from scrubjay.model.requests import ConflictsRequest, JobsRequest

TEXT = "We renewed the OAuth token of the command line for Keycloak."


@pytest.fixture
def server() -> Iterator[ChatServer]:
    with ChatServer() as opened:
        opened.default_reply = lambda _: json_reply(tags=["oauth", "token", "keycloak"])
        yield opened


@pytest.fixture
async def context(server: ChatServer, tmp_path: Path) -> AsyncIterator[JobWorld]:
    async with open_job_world(tmp_path, url=server.url) as opened:
        opened.engine = replace(opened.engine, llm=opened.llm)
        yield opened


async def a_job(engine: Engine, memory: Memory) -> Job:
    queue = Queue(documents=engine.documents, clock=engine.clock)
    return await queue.enqueue("tags", {"memory_id": memory.id}, space=SPACE)


async def test_a_waiting_caller_gets_the_result(context: JobWorld) -> None:
    memory = a_memory(TEXT)
    await context.keep(memory)
    await JobExecutor(context.engine).take([await a_job(context.engine, memory)], waits=True)
    assert (await context.now(memory)).tags == ("oauth", "token", "keycloak")


async def test_a_failed_job_of_a_waiting_caller_is_retried_later(context: JobWorld, server: ChatServer) -> None:
    memory = a_memory(TEXT)
    await context.keep(memory)
    server.script.append(Reply(status=500))
    job = await a_job(context.engine, memory)
    (result,) = await run_now(context.engine, [job])
    assert result.id == job.id
    assert result.state is JobState.WAITING
    assert (await context.now(memory)).tags == ()
    (stored,) = await context.engine.jobs(JobsRequest(), who=Caller(space=SPACE))
    assert (stored.state, stored.tries) == (JobState.WAITING, 0)


async def test_other_jobs_run_after_a_wakeup(context: JobWorld) -> None:
    memory = a_memory(TEXT)
    await context.keep(memory)
    executor = JobExecutor(context.engine)
    working = asyncio.create_task(executor.work(seconds=3600))
    await asyncio.sleep(0)
    await executor.take([await a_job(context.engine, memory)], waits=False)
    async with asyncio.timeout(PATIENCE):
        while not (await context.now(memory)).tags:  # noqa: ASYNC110 - no event reports it
            await asyncio.sleep(0.01)
    working.cancel()
    await asyncio.gather(working, return_exceptions=True)
    assert (await context.now(memory)).tags == ("oauth", "token", "keycloak")


async def test_the_rest_of_a_long_memory_is_scanned_in_the_background(context: JobWorld) -> None:
    who = Caller(space=SPACE)
    await context.engine.remember(Draft(text="The gate of the harbour is painted red."), who=who)
    lamps = tuple(f"Lamp {letter} burns oil." for letter in "abcdefghi")
    draft = Draft(text="", name="harbour", observations=(*lamps, "The gate of the harbour is painted blue."))
    written = await context.engine.remember(draft, who=who)
    assert "contradiction" not in {conflict.type for conflict in written.conflicts}
    await run_jobs(context.engine)
    assert "contradiction" in {
        conflict.type for conflict in await context.engine.conflicts(ConflictsRequest(), who=who)
    }
    outcomes = {job.kind: job.outcome for job in await context.engine.jobs(JobsRequest(), who=who)}
    assert outcomes["conflicts"].startswith("compared 1 memory, new conflicts: ")
