"""The runner: what is due is done once, and nothing that goes wrong with one job harms the others."""

import asyncio
from datetime import timedelta

import pytest
from tests.fakes import FakeClock, FakeStore

from scrubjay.errors import LlmUnavailable, StoreBusy
from scrubjay.jobs.queue import Queue
from scrubjay.jobs.runner import Handler, keep_running, run_due
from scrubjay.jobs.wakeup import Wakeup
from scrubjay.model.job import Job, JobState

SPACE = "default"


class Bench:
    """A queue, and a runner that knows a few kinds."""

    def __init__(self) -> None:
        self.store, self.clock = FakeStore(), FakeClock()
        self.queue = Queue(documents=self.store, clock=self.clock)
        self.done: list[str] = []
        self.handlers: dict[str, Handler] = {"note": self._note}

    async def run(self, *, limit: int = 100) -> int:
        return await run_due(self.handlers, documents=self.store, clock=self.clock, limit=limit)

    async def jobs(self) -> list[Job]:
        return list(reversed(await self.queue.listed(SPACE, limit=100)))

    async def _note(self, job: Job) -> str:
        self.done.append(str(job.about["what"]))
        return "noted"


@pytest.fixture
def bench() -> Bench:
    return Bench()


async def test_what_is_due_is_done_in_order_and_once(bench: Bench) -> None:
    for number in range(120):
        await bench.queue.enqueue("note", {"what": str(number)}, space=SPACE)
    told: list[tuple[int, int]] = []

    def tell(done: int, of: int) -> None:
        told.append((done, of))

    done = await run_due(bench.handlers, documents=bench.store, clock=bench.clock, limit=500, progress=tell)
    assert done == 120
    assert bench.done == [str(number) for number in range(120)]
    assert told[-1] == (120, 500)
    assert await bench.run() == 0
    assert {(job.state, job.outcome) for job in await bench.jobs()} == {(JobState.DONE, "noted")}


async def test_what_is_over_keeps_nothing_new_waiting(bench: Bench) -> None:
    for number in range(120):
        await bench.queue.enqueue("note", {"what": str(number)}, space=SPACE)
    assert await bench.run(limit=500) == 120
    bench.clock.advance(timedelta(days=1, minutes=1))
    await bench.queue.enqueue("note", {"what": "new"}, space=SPACE)
    assert await bench.run() == 1
    assert bench.done[-1] == "new"
    assert len(await bench.jobs()) == 1


async def test_no_more_is_begun_than_asked_for(bench: Bench) -> None:
    for number in range(5):
        await bench.queue.enqueue("note", {"what": str(number)}, space=SPACE)
    assert await bench.run(limit=2) == 2
    assert bench.done == ["0", "1"]


async def test_what_fails_is_put_behind_and_the_others_are_done(bench: Bench) -> None:
    async def fail(job: Job) -> str:
        if job.about["how"] == "told":
            raise StoreBusy("the store is busy")
        raise ZeroDivisionError

    bench.handlers["fail"] = fail
    await bench.queue.enqueue("fail", {"how": "told"}, space=SPACE)
    await bench.queue.enqueue("fail", {"how": "unforeseen"}, space=SPACE)
    await bench.queue.enqueue("note", {"what": "this"}, space=SPACE)
    await bench.run()
    told, unforeseen, _ = await bench.jobs()
    assert bench.done == ["this"]
    assert (told.state, told.outcome) == (JobState.WAITING, "the store is busy")
    assert (unforeseen.state, unforeseen.outcome) == (JobState.WAITING, "ZeroDivisionError")


async def test_when_one_of_a_kind_cannot_be_tried_the_others_are_not_asked_for(bench: Bench) -> None:
    asked: list[str] = []

    async def ask(job: Job) -> str:
        asked.append(job.id)
        raise LlmUnavailable("it rests", put_off=60.0)

    bench.handlers["ask"] = ask
    for _ in range(100):
        await bench.queue.enqueue("ask", {}, space=SPACE)
    await bench.queue.enqueue("note", {"what": "this"}, space=SPACE)
    assert await bench.run() == 1
    assert len(asked) == 1
    assert bench.done == ["this"]
    waiting = [job for job in await bench.jobs() if job.kind == "ask"]
    assert {(job.state, job.tries, job.outcome) for job in waiting} == {(JobState.WAITING, 0, "it rests")}
    bench.clock.advance(timedelta(seconds=61))
    await bench.run()
    assert len(asked) == 2


async def test_what_nobody_here_can_do_is_left_to_those_who_can(bench: Bench) -> None:
    await bench.queue.enqueue("from a later version", {}, space=SPACE)
    assert await bench.run() == 0
    (job,) = await bench.jobs()
    assert (job.state, job.tries) == (JobState.WAITING, 0)
    assert "nobody here" in job.outcome


async def test_what_is_interrupted_goes_on_at_the_next_start(bench: Bench) -> None:
    began = asyncio.Event()

    async def linger(_: Job) -> str:
        began.set()
        await asyncio.Event().wait()
        return "never"

    await bench.queue.enqueue("note", {"what": "this"}, space=SPACE)
    task = asyncio.create_task(run_due({"note": linger}, documents=bench.store, clock=bench.clock, limit=10))
    await began.wait()
    task.cancel()
    await asyncio.gather(task, return_exceptions=True)
    (job,) = await bench.jobs()
    assert (job.state, job.tries) == (JobState.WAITING, 0)
    await bench.run()
    assert bench.done == ["this"]


async def test_two_runners_do_nothing_twice(bench: Bench) -> None:
    for number in range(40):
        await bench.queue.enqueue("note", {"what": str(number)}, space=SPACE)
    await asyncio.gather(*(bench.run() for _ in range(4)))
    assert sorted(bench.done, key=int) == [str(number) for number in range(40)]


async def test_the_loop_runs_at_once_and_again_when_the_bell_rings() -> None:
    bell, rounds = Wakeup(), asyncio.Queue[int]()
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

    task = asyncio.create_task(keep_running(run, bell=bell, seconds=3600, breath=0))
    async with asyncio.timeout(10):
        for expected in range(1, 6):
            assert await rounds.get() == expected
            bell.ring()
    task.cancel()
    await asyncio.gather(task, return_exceptions=True)


async def test_the_bell_is_heard_by_who_comes_later_and_not_twice() -> None:
    bell = Wakeup()
    bell.ring()
    assert await bell.heard(within=3600)
    assert not await bell.heard(within=0)
