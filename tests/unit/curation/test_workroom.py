"""The workroom: now for those who wait, and when the bell rings for the others."""

import asyncio
from collections.abc import AsyncIterator, Iterator
from dataclasses import replace
from pathlib import Path

import pytest
from tests.unit.curation.desk import SPACE, Desk, a_desk
from tests.unit.llm.chat_server import ChatServer, Reply, answering

from scrubjay.curation import run_jobs, run_now
from scrubjay.curation.workroom import Workroom
from scrubjay.engine import Engine
from scrubjay.jobs.queue import Queue
from scrubjay.model.draft import Caller, Draft
from scrubjay.model.job import Job, JobState
from scrubjay.model.memory import Memory
from scrubjay.testing.build import a_memory

TEXT = "We renewed the OAuth token of the command line for Keycloak."


@pytest.fixture
def server() -> Iterator[ChatServer]:
    with ChatServer() as opened:
        opened.usual = lambda _: answering(tags=["oauth", "token", "keycloak"])
        yield opened


@pytest.fixture
async def desk(server: ChatServer, tmp_path: Path) -> AsyncIterator[Desk]:
    async with a_desk(tmp_path, url=server.url) as opened:
        opened.engine = replace(opened.engine, llm=opened.llm)
        yield opened


async def a_job(engine: Engine, memory: Memory) -> Job:
    queue = Queue(papers=engine.store, clock=engine.clock)
    return await queue.enqueue("tags", {"memory_id": memory.id}, space=SPACE)


async def test_who_waits_has_it_done_at_once(desk: Desk) -> None:
    memory = a_memory(TEXT)
    await desk.keep(memory)
    await Workroom(desk.engine).take([await a_job(desk.engine, memory)], waits=True)
    assert (await desk.now(memory)).tags == ("oauth", "token", "keycloak")


async def test_who_waits_in_vain_is_told_and_it_is_done_later(desk: Desk, server: ChatServer) -> None:
    memory = a_memory(TEXT)
    await desk.keep(memory)
    server.script.append(Reply(status=500))
    job = await a_job(desk.engine, memory)
    (told,) = await run_now(desk.engine, [job])
    assert told.id == job.id
    assert told.state is JobState.WAITING
    assert (await desk.now(memory)).tags == ()
    (kept,) = await desk.engine.jobs(who=Caller(space=SPACE))
    assert (kept.state, kept.tries) == (JobState.WAITING, 0)


async def test_what_nobody_waits_for_is_done_when_the_bell_rings(desk: Desk) -> None:
    memory = a_memory(TEXT)
    await desk.keep(memory)
    room = Workroom(desk.engine)
    working = asyncio.create_task(room.work(seconds=3600))
    await asyncio.sleep(0)
    await room.take([await a_job(desk.engine, memory)], waits=False)
    for _ in range(2_000):
        if (await desk.now(memory)).tags:
            break
        await asyncio.sleep(0.01)
    working.cancel()
    await asyncio.gather(working, return_exceptions=True)
    assert (await desk.now(memory)).tags == ("oauth", "token", "keycloak")


async def test_the_rest_of_a_long_memory_is_looked_at_when_there_is_time(desk: Desk) -> None:
    who = Caller(space=SPACE)
    await desk.engine.remember(Draft(text="The gate of the harbour is painted red."), who=who)
    lamps = tuple(f"Lamp {one} burns oil." for one in "abcdefghi")
    said = Draft(text="", name="harbour", observations=(*lamps, "The gate of the harbour is painted blue."))
    told = await desk.engine.remember(said, who=who)
    assert "contradiction" not in {one.type for one in told.conflicts}
    await run_jobs(desk.engine)
    assert "contradiction" in {one.type for one in await desk.engine.conflicts(who=who)}
    outcomes = {one.kind: one.outcome for one in await desk.engine.jobs(who=who)}
    assert outcomes["conflicts"].startswith("compared 1 memory, new conflicts: ")
