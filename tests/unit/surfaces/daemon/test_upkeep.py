"""The background work of a store that nobody shares is nobody's."""

import asyncio
from collections.abc import AsyncGenerator, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager, nullcontext
from dataclasses import dataclass, field
from pathlib import Path
from typing import cast

from tests.fakes import FakeStore
from tests.unit.curation.job_world import SPACE, open_job_world

from scrubjay.app import open_engine
from scrubjay.engine import Engine
from scrubjay.jobs.queue import Queue
from scrubjay.model.draft import Caller, Draft
from scrubjay.model.job import Job
from scrubjay.ports.cluster import Leadership, LeadershipCandidate, Lease
from scrubjay.settings import Settings
from scrubjay.surfaces.daemon.upkeep import keep_up, keep_working


@dataclass
class Alone:
    """An engine of one machine."""

    store: FakeStore = field(default_factory=FakeStore)


async def test_a_store_of_one_machine_needs_no_leader() -> None:
    async with asyncio.timeout(5):
        await keep_up(cast("Engine", Alone()))


class SharedStore(FakeStore):
    """A store of several servers, of which this one leads."""

    @asynccontextmanager
    async def leader(self, name: str) -> AsyncGenerator[Leadership]:
        candidate = Winner()
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


class Winner(LeadershipCandidate):
    """Leads at once and for good."""

    async def campaign(self) -> None:
        with self.lead():
            await asyncio.Event().wait()


@dataclass
class Broken:
    """An engine that fails in a way nobody thought of."""

    store: SharedStore = field(default_factory=SharedStore)
    job_runner: None = None
    rounds: int = 0
    tried: asyncio.Event = field(default_factory=asyncio.Event)

    async def embed_missing(self) -> int:
        self.rounds += 1
        self.tried.set()
        raise RuntimeError("nobody thought of this")


async def test_what_nobody_thought_of_does_not_make_it_begin_again_at_once() -> None:
    engine = Broken()
    task = asyncio.create_task(keep_up(cast("Engine", engine), seconds=3600))
    async with asyncio.timeout(10):
        await engine.tried.wait()
    for _ in range(20):
        await asyncio.sleep(0)
    task.cancel()
    await asyncio.gather(task, return_exceptions=True)
    assert engine.rounds == 1


async def test_whoever_leads_does_the_jobs_of_all_and_the_others_do_none(tmp_path: Path) -> None:
    async with open_job_world(tmp_path, store=SharedStore()) as context:
        queue = Queue(documents=context.engine.store, clock=context.engine.clock)
        await queue.enqueue("tags", {"memory_id": "gone"}, space=SPACE)
        async with asyncio.timeout(10):
            await keep_working(context.engine)
        assert (await job_of(context.engine)).outcome == ""
        task = asyncio.create_task(keep_up(context.engine))
        for _ in range(1_000):
            if (await job_of(context.engine)).outcome:
                break
            await asyncio.sleep(0.01)
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)
        assert (await job_of(context.engine)).outcome == "there is no language model"


async def test_the_only_server_of_a_store_does_its_jobs_at_its_start(tmp_path: Path) -> None:
    async with open_job_world(tmp_path) as context:
        await Queue(documents=context.engine.store, clock=context.engine.clock).enqueue("tags", {}, space=SPACE)
        task = asyncio.create_task(keep_working(context.engine))
        for _ in range(1_000):
            if (await job_of(context.engine)).outcome:
                break
            await asyncio.sleep(0.01)
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)
        assert (await job_of(context.engine)).outcome == "there is no language model"


async def test_without_a_model_too_a_write_has_its_conflicts_looked_for_at_once(tmp_path: Path) -> None:
    settings = Settings.load(environment={}, home=str(tmp_path), embedder="none")
    async with open_engine(settings) as engine:
        task = asyncio.create_task(keep_working(engine))
        # It has found nothing to do, and now waits.
        await asyncio.sleep(0.5)
        text = " ".join(f"Ann has {number} cups in room {number}." for number in range(20))
        await engine.remember(Draft(text=text), who=Caller(space=SPACE))
        for _ in range(1_000):
            if (await job_of(engine)).outcome:
                break
            await asyncio.sleep(0.01)
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)
        assert (await job_of(engine)).outcome.startswith("compared 1 memory")


async def job_of(engine: Engine) -> Job:
    (job,) = await engine.jobs(who=Caller(space=SPACE))
    return job
