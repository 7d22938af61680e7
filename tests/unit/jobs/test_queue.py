"""The queue: claimed once, tried again later, given up in the end, and always to be seen."""

import asyncio
from contextlib import suppress
from datetime import timedelta

import pytest
from tests.fakes import FakeClock
from tests.new_files import NewStores

from scrubjay.errors import NotFound, WrongState
from scrubjay.jobs.queue import LEASE, MAX_AGE, MAX_TRIES, Queue
from scrubjay.model.document import Document
from scrubjay.model.job import COLLECTION, Job, JobState
from scrubjay.model.memory import Json
from scrubjay.ports import RecordStore
from scrubjay.storage.sqlite import SqliteStore

SPACE = "default"


@pytest.fixture
def clock() -> FakeClock:
    return FakeClock()


@pytest.fixture
def queue(store: RecordStore, clock: FakeClock) -> Queue:
    return Queue(documents=store, clock=clock)


async def begun(queue: Queue) -> Job:
    (job,) = await queue.due(limit=10)
    claimed = await queue.claim(job)
    assert claimed is not None
    return claimed


async def test_a_job_is_due_until_it_is_claimed(queue: Queue) -> None:
    job = await queue.enqueue("tags", {"memory_id": "one"}, space=SPACE)
    claimed = await begun(queue)
    assert (claimed.id, claimed.state, claimed.tries) == (job.id, JobState.RUNNING, 1)
    assert claimed.about == {"memory_id": "one"}
    assert await queue.due(limit=10) == []


async def test_two_that_claim_at_once_do_not_both_get_it(queue: Queue) -> None:
    await queue.enqueue("tags", {}, space=SPACE)
    (job,) = await queue.due(limit=10)
    claims = await asyncio.gather(*(queue.claim(job) for _ in range(5)))
    assert sum(claim is not None for claim in claims) == 1


async def test_a_job_of_a_killed_runner_is_due_after_its_lease(queue: Queue, clock: FakeClock) -> None:
    await queue.enqueue("tags", {}, space=SPACE)
    lost = await begun(queue)
    clock.advance(LEASE - timedelta(seconds=1))
    assert await queue.due(limit=10) == []
    clock.advance(timedelta(seconds=2))
    again = await begun(queue)
    assert (again.id, again.tries) == (lost.id, 2)
    assert await queue.finish(lost, "too late") is None


async def test_a_job_that_kills_its_runners_fails(queue: Queue, clock: FakeClock) -> None:
    await queue.enqueue("tags", {}, space=SPACE)
    for _ in range(MAX_TRIES):
        await begun(queue)
        clock.advance(LEASE + timedelta(seconds=1))
    (job,) = await queue.due(limit=10)
    assert await queue.claim(job) is None
    (failed,) = await queue.list_jobs(SPACE, limit=10)
    assert failed.state is JobState.FAILED
    assert "never ended" in failed.outcome


async def test_a_failed_job_is_retried_with_growing_delays_and_fails_in_the_end(queue: Queue, clock: FakeClock) -> None:
    await queue.enqueue("tags", {}, space=SPACE)
    waits: list[float] = []
    for _ in range(MAX_TRIES - 1):
        failed = await queue.fail(await begun(queue), "it did not work")
        assert failed is not None
        assert failed.state is JobState.WAITING
        assert failed.due is not None
        waits.append((failed.due - clock.now()).total_seconds())
        clock.set(failed.due)
    assert waits == sorted(waits)
    given_up = await queue.fail(await begun(queue), "it did not work")
    assert given_up is not None
    assert (given_up.state, given_up.outcome) == (JobState.FAILED, "it did not work")
    assert await queue.due(limit=10) == []


async def test_postponing_counts_no_try(queue: Queue, clock: FakeClock) -> None:
    await queue.enqueue("tags", {}, space=SPACE)
    for _ in range(MAX_TRIES * 2):
        off = await queue.postpone(await begun(queue), "no model", seconds=60)
        assert off is not None
        assert (off.state, off.tries) == (JobState.WAITING, 0)
        clock.advance(timedelta(seconds=61))


async def test_a_job_postponed_for_too_long_fails_with_its_reason(queue: Queue, clock: FakeClock) -> None:
    await queue.enqueue("tags", {}, space=SPACE)
    clock.advance(MAX_AGE + timedelta(seconds=1))
    off = await queue.postpone(await begun(queue), "no model", seconds=60)
    assert off is not None
    assert (off.state, off.outcome) == (JobState.FAILED, "no model")


async def test_ended_jobs_stay_listed_for_a_while(queue: Queue, clock: FakeClock) -> None:
    await queue.enqueue("tags", {}, space=SPACE)
    await queue.finish(await begun(queue), "x" * 10_000)
    (done,) = await queue.list_jobs(SPACE, limit=10)
    assert (done.state, len(done.outcome)) == (JobState.DONE, 500)
    clock.advance(timedelta(days=2))
    assert await queue.due(limit=10) == []
    assert await queue.list_jobs(SPACE, limit=10) == ()


async def test_the_newest_are_listed_first_within_the_limit(queue: Queue) -> None:
    for number in range(5):
        await queue.enqueue(f"kind-{number}", {}, space=SPACE)
    await queue.enqueue("of others", {}, space="other")
    assert [job.kind for job in await queue.list_jobs(SPACE, limit=3)] == ["kind-4", "kind-3", "kind-2"]


async def test_jobs_can_be_retried_and_cancelled(queue: Queue, clock: FakeClock) -> None:
    job = await queue.enqueue("tags", {}, space=SPACE)
    running = await begun(queue)
    with pytest.raises(WrongState):
        await queue.retry(SPACE, job.id)
    await queue.finish(running, "done")
    again = await queue.retry(SPACE, job.id)
    assert (again.state, again.tries, again.outcome) == (JobState.WAITING, 0, "")
    assert (await begun(queue)).id == job.id
    await queue.cancel(SPACE, job.id)
    for verb in (queue.retry, queue.cancel):
        with pytest.raises(NotFound):
            await verb(SPACE, job.id)
    with pytest.raises(NotFound):
        await queue.cancel("other", job.id)


async def test_an_unreadable_job_does_not_block_others(queue: Queue, clock: FakeClock) -> None:
    now = clock.now()
    odd = Document(space=SPACE, collection=COLLECTION, key="odd", value={"kind": "from another time"}, at=now, due=now)
    await queue.documents.put_document(odd, base=None)
    job = await queue.enqueue("tags", {}, space=SPACE)
    assert [due.id for due in await queue.due(limit=10)] == [job.id]
    assert [due.id for due in await queue.due(limit=1)] == [job.id]
    assert [due.id for due in await queue.list_jobs(SPACE, limit=10)] == [job.id]
    assert await queue.documents.document(SPACE, COLLECTION, "odd") is not None


SOUND: dict[str, Json] = {
    "kind": "tags", "about": {}, "state": "waiting", "tries": 0, "created_at": "2026-01-01T00:00:00Z", "outcome": "",
}  # fmt: skip


@pytest.mark.parametrize(
    "wrong",
    [
        {"created_at": "nonsense"}, {"created_at": 5}, {"tries": "x"}, {"tries": None}, {"tries": True}, {"tries": -1},
        {"about": 5}, {"about": []}, {"kind": None}, {"state": "lost"}, {"state": []}, {"outcome": {}},
    ],
)  # fmt: skip
async def test_any_invalid_document_does_not_block_others(
    clock: FakeClock, wrong: dict[str, Json], store: SqliteStore
) -> None:
    queue = Queue(documents=store, clock=clock)
    now = clock.now()
    odd = Document(space=SPACE, collection=COLLECTION, key="odd", value={**SOUND, **wrong}, at=now, due=now)
    await queue.documents.put_document(odd, base=None)
    job = await queue.enqueue("tags", {}, space=SPACE)
    assert [due.id for due in await queue.due(limit=10)] == [job.id]
    stored = await queue.documents.document(SPACE, COLLECTION, "odd")
    assert stored is not None
    assert (stored.due, stored.value) == (None, odd.value)


async def test_ended_jobs_do_not_block_others(queue: Queue, clock: FakeClock) -> None:
    for _ in range(12):
        await queue.enqueue("tags", {}, space=SPACE)
    for job in await queue.due(limit=12):
        await queue.finish(job, "done")
    clock.advance(timedelta(days=2))
    late = await queue.enqueue("tags", {}, space=SPACE)
    assert [job.id for job in await queue.due(limit=1)] == [late.id]
    assert [job.id for job in await queue.list_jobs(SPACE, limit=99)] == [late.id]


class InterruptedStore(SqliteStore):
    """A store in which a job is retried right before it is deleted."""

    clock = FakeClock()
    retries_first = True
    refused = False

    async def put_document(self, document: Document, *, base: int | None) -> Document:
        if "deleting" in document.value and self.retries_first:
            self.retries_first = False
            await Queue(documents=self, clock=self.clock).retry(document.space, document.key)
        return await super().put_document(document, base=base)

    async def delete_document(self, space: str, collection: str, key: str) -> bool:
        with suppress(NotFound):
            await Queue(documents=self, clock=self.clock).retry(space, key)
            raise AssertionError
        self.refused = True
        return await super().delete_document(space, collection, key)


async def test_a_retried_job_is_not_deleted(new_store: NewStores) -> None:
    store = new_store(InterruptedStore)
    queue = Queue(documents=store, clock=store.clock)
    job = await queue.enqueue("tags", {}, space=SPACE)
    await queue.finish(await begun(queue), "done")
    store.clock.advance(timedelta(days=2))
    await queue.due(limit=9)
    assert [(due.id, due.state) for due in await queue.due(limit=9)] == [(job.id, JobState.WAITING)]


async def test_a_job_being_deleted_cannot_be_retried(new_store: NewStores) -> None:
    store = new_store(InterruptedStore)
    store.retries_first = False
    queue = Queue(documents=store, clock=store.clock)
    await queue.enqueue("tags", {}, space=SPACE)
    await queue.finish(await begun(queue), "done")
    store.clock.advance(timedelta(days=2))
    assert await queue.due(limit=9) == []
    assert store.refused
    assert await queue.list_jobs(SPACE, limit=9) == ()


async def test_jobs_stay_due_while_no_runner_is_there(store: SqliteStore) -> None:
    clock = FakeClock()
    await Queue(documents=store, clock=clock).enqueue("tags", {}, space=SPACE, due=clock.now() + timedelta(hours=1))
    assert await Queue(documents=store, clock=clock).due(limit=10) == []
    clock.advance(timedelta(days=3))
    assert len(await Queue(documents=store, clock=clock).due(limit=10)) == 1
