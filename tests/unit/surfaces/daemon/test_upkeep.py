"""Background work: the leader does it for a shared store, and the only server for its own."""

import asyncio
from collections.abc import AsyncGenerator, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager, nullcontext
from dataclasses import dataclass, field
from pathlib import Path
from typing import cast

from tests.new_files import NewStores
from tests.patience import PATIENCE
from tests.unit.curation.job_world import SPACE, open_job_world

from scrubjay.app import open_engine_and_store
from scrubjay.engine import Engine
from scrubjay.jobs.queue import Queue
from scrubjay.model.caller import Caller
from scrubjay.model.draft import Draft
from scrubjay.model.job import Job
from scrubjay.model.requests import JobsRequest
from scrubjay.ports.cluster import Leadership, LeadershipCandidate, Lease
from scrubjay.settings import Settings
from scrubjay.storage.sqlite import SqliteStore
from scrubjay.surfaces.daemon.upkeep import run_jobs, run_upkeep


async def test_a_store_of_one_machine_needs_no_leader(tmp_path: Path) -> None:
    async with open_job_world(tmp_path) as context, asyncio.timeout(PATIENCE):
        await run_upkeep(context.engine, context.store)


class SharedStore(SqliteStore):
    """A store of several servers; this one is the leader."""

    @asynccontextmanager
    async def leader(self, name: str) -> AsyncGenerator[Leadership]:
        candidate = PermanentLeader()
        async with candidate:
            yield candidate

    def listening(
        self, hear: Callable[[], None], *, purged: Callable[[], None] = lambda: None
    ) -> AbstractAsyncContextManager[None]:
        return nullcontext()

    async def settled_seq(self) -> int:
        return await self.last_seq()

    async def lease(self, caller: str, *, count: int, limit: int) -> Lease:
        return Lease(granted=count, seconds=60.0)


class PermanentLeader(LeadershipCandidate):
    """Becomes the leader at once, and stays it."""

    async def campaign(self) -> None:
        with self.lead():
            await asyncio.Event().wait()


@dataclass
class BrokenEngine:
    """An engine with an unexpected error."""

    job_runner: None = None
    models: None = None
    curator: None = None
    rounds: int = 0
    tried: asyncio.Event = field(default_factory=asyncio.Event)

    async def backfill(self) -> int:
        self.rounds += 1
        self.tried.set()
        raise RuntimeError("an unexpected error")


async def test_an_unexpected_error_does_not_restart_the_work_at_once(new_store: NewStores) -> None:
    engine = BrokenEngine()
    task = asyncio.create_task(run_upkeep(cast("Engine", engine), new_store(SharedStore), seconds=3600))
    async with asyncio.timeout(PATIENCE):
        await engine.tried.wait()
    for _ in range(20):
        await asyncio.sleep(0)
    task.cancel()
    await asyncio.gather(task, return_exceptions=True)
    assert engine.rounds == 1


async def test_only_the_leader_runs_the_jobs_of_a_shared_store(tmp_path: Path, new_store: NewStores) -> None:
    async with open_job_world(tmp_path, store=new_store(SharedStore)) as context:
        queue = Queue(documents=context.engine.documents, clock=context.engine.clock)
        await queue.enqueue("tags", {"memory_id": "gone"}, space=SPACE)
        async with asyncio.timeout(PATIENCE):
            await run_jobs(context.engine, context.store)
        assert (await job_of(context.engine)).outcome == ""
        task = asyncio.create_task(run_upkeep(context.engine, context.store))
        await until_tried(context.engine)
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)
        assert (await job_of(context.engine)).outcome == "there is no language model"


async def test_the_only_server_of_a_store_runs_its_jobs_at_its_start(tmp_path: Path) -> None:
    async with open_job_world(tmp_path) as context:
        await Queue(documents=context.engine.documents, clock=context.engine.clock).enqueue("tags", {}, space=SPACE)
        task = asyncio.create_task(run_jobs(context.engine, context.store))
        await until_tried(context.engine)
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)
        assert (await job_of(context.engine)).outcome == "there is no language model"


async def test_conflicts_of_a_write_are_detected_at_once_without_a_model(tmp_path: Path) -> None:
    settings = Settings.load(environment={}, home=str(tmp_path), embedder="none")
    async with open_engine_and_store(settings) as (engine, store):
        task = asyncio.create_task(run_jobs(engine, store))
        # The queue is empty, and the worker waits.
        await asyncio.sleep(0.5)
        text = " ".join(f"Ann has {number} cups in room {number}." for number in range(20))
        await engine.remember(Draft(text=text), who=Caller(space=SPACE))
        await until_tried(engine)
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)
        assert (await job_of(engine)).outcome.startswith("compared 1 memory")


async def until_tried(engine: Engine) -> None:
    async with asyncio.timeout(PATIENCE):
        while not (await job_of(engine)).outcome:  # noqa: ASYNC110 - no event reports it
            await asyncio.sleep(0.01)


async def job_of(engine: Engine) -> Job:
    (job,) = await engine.jobs(JobsRequest(), who=Caller(space=SPACE))
    return job
