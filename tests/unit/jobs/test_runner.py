"""The runner: due jobs run once, and a failing job does not harm the others."""

import asyncio
from datetime import timedelta

import pytest
from tests.fakes import FakeClock
from tests.patience import PATIENCE

from scrubjay.errors import LlmUnavailable, StoreBusy
from scrubjay.jobs.queue import Queue
from scrubjay.jobs.runner import Handler, Wakeup, keep_running, run_due
from scrubjay.model.job import Job, JobState
from scrubjay.storage.sqlite import SqliteStore

SPACE = "default"


class RunnerWorld:
    """A queue, and a runner with a few handlers."""

    def __init__(self, store: SqliteStore) -> None:
        self.store, self.clock = store, FakeClock()
        self.queue = Queue(documents=self.store, clock=self.clock)
        self.done: list[str] = []
        self.handlers: dict[str, Handler] = {"note": self._note}

    async def run(self, *, limit: int = 100) -> int:
        return await run_due(self.handlers, documents=self.store, clock=self.clock, limit=limit)

    async def jobs(self) -> list[Job]:
        return list(reversed(await self.queue.list_jobs(SPACE, limit=100)))

    async def _note(self, job: Job) -> str:
        self.done.append(str(job.about["what"]))
        return "noted"


@pytest.fixture
def world(store: SqliteStore) -> RunnerWorld:
    return RunnerWorld(store)


async def test_due_jobs_run_in_order_and_once(world: RunnerWorld) -> None:
    for number in range(120):
        await world.queue.enqueue("note", {"what": str(number)}, space=SPACE)
    reports: list[tuple[int, int]] = []

    def report(done: int, of: int) -> None:
        reports.append((done, of))

    done = await run_due(world.handlers, documents=world.store, clock=world.clock, limit=500, progress=report)
    assert done == 120
    assert world.done == [str(number) for number in range(120)]
    assert reports[-1] == (120, 500)
    assert await world.run() == 0
    assert {(job.state, job.outcome) for job in await world.jobs()} == {(JobState.DONE, "noted")}


async def test_ended_jobs_do_not_delay_new_ones(world: RunnerWorld) -> None:
    for number in range(120):
        await world.queue.enqueue("note", {"what": str(number)}, space=SPACE)
    assert await world.run(limit=500) == 120
    world.clock.advance(timedelta(days=1, minutes=1))
    await world.queue.enqueue("note", {"what": "new"}, space=SPACE)
    assert await world.run() == 1
    assert world.done[-1] == "new"
    assert len(await world.jobs()) == 1


async def test_the_limit_is_kept(world: RunnerWorld) -> None:
    for number in range(5):
        await world.queue.enqueue("note", {"what": str(number)}, space=SPACE)
    assert await world.run(limit=2) == 2
    assert world.done == ["0", "1"]


async def test_a_failed_job_is_retried_later_and_the_others_run(world: RunnerWorld) -> None:
    async def fail(job: Job) -> str:
        if job.about["how"] == "told":
            raise StoreBusy("the store is busy")
        raise ZeroDivisionError

    world.handlers["fail"] = fail
    await world.queue.enqueue("fail", {"how": "told"}, space=SPACE)
    await world.queue.enqueue("fail", {"how": "unforeseen"}, space=SPACE)
    await world.queue.enqueue("note", {"what": "this"}, space=SPACE)
    await world.run()
    busy, unforeseen, _ = await world.jobs()
    assert world.done == ["this"]
    assert (busy.state, busy.outcome) == (JobState.WAITING, "the store is busy")
    assert (unforeseen.state, unforeseen.outcome) == (JobState.WAITING, "ZeroDivisionError")


async def test_a_postponed_job_postpones_its_kind(world: RunnerWorld) -> None:
    requests: list[str] = []

    async def ask(job: Job) -> str:
        requests.append(job.id)
        raise LlmUnavailable("it rests", put_off=60.0)

    world.handlers["ask"] = ask
    for _ in range(100):
        await world.queue.enqueue("ask", {}, space=SPACE)
    await world.queue.enqueue("note", {"what": "this"}, space=SPACE)
    assert await world.run() == 1
    assert len(requests) == 1
    assert world.done == ["this"]
    waiting = [job for job in await world.jobs() if job.kind == "ask"]
    assert {(job.state, job.tries, job.outcome) for job in waiting} == {(JobState.WAITING, 0, "it rests")}
    world.clock.advance(timedelta(seconds=61))
    await world.run()
    assert len(requests) == 2


async def test_unknown_kinds_are_left_to_other_versions(world: RunnerWorld) -> None:
    await world.queue.enqueue("from a later version", {}, space=SPACE)
    assert await world.run() == 0
    (job,) = await world.jobs()
    assert (job.state, job.tries) == (JobState.WAITING, 0)
    assert "cannot run jobs" in job.outcome


async def test_an_interrupted_job_continues_at_the_next_start(world: RunnerWorld) -> None:
    began = asyncio.Event()

    async def linger(_: Job) -> str:
        began.set()
        await asyncio.Event().wait()
        return "never"

    await world.queue.enqueue("note", {"what": "this"}, space=SPACE)
    task = asyncio.create_task(run_due({"note": linger}, documents=world.store, clock=world.clock, limit=10))
    await began.wait()
    task.cancel()
    await asyncio.gather(task, return_exceptions=True)
    (job,) = await world.jobs()
    assert (job.state, job.tries) == (JobState.WAITING, 0)
    await world.run()
    assert world.done == ["this"]


async def test_two_runners_do_nothing_twice(world: RunnerWorld) -> None:
    for number in range(40):
        await world.queue.enqueue("note", {"what": str(number)}, space=SPACE)
    await asyncio.gather(*(world.run() for _ in range(4)))
    assert sorted(world.done, key=int) == [str(number) for number in range(40)]


async def test_the_loop_runs_at_once_and_again_when_the_bell_rings() -> None:
    wakeup, rounds = Wakeup(), asyncio.Queue[int]()
    counted = 0

    async def run() -> int:
        nonlocal counted
        counted += 1
        rounds.put_nowait(counted)
        if counted == 2:
            raise StoreBusy("not now")
        if counted == 3:
            raise ZeroDivisionError
        return 0

    task = asyncio.create_task(keep_running(run, wakeup=wakeup, seconds=3600, pause=0))
    async with asyncio.timeout(PATIENCE):
        for expected in range(1, 6):
            assert await rounds.get() == expected
            wakeup.set()
    task.cancel()
    await asyncio.gather(task, return_exceptions=True)


async def test_an_early_wakeup_is_not_lost_and_counts_once() -> None:
    wakeup = Wakeup()
    wakeup.set()
    assert await wakeup.wait(seconds=3600)
    assert not await wakeup.wait(seconds=0)
