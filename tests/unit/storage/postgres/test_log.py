"""The order of the log: no change appears later before one that a follower has read."""

import asyncio

from tests.fakes.build import a_commit, a_memory
from tests.postgres import a_database, address_of

from scrubjay.model.change import Change
from scrubjay.storage.postgres import PostgresStore
from scrubjay.storage.postgres.database import Transaction


class OpenCommit:
    """A commit that has reserved its number, and ends when the test says so."""

    def __init__(self, store: PostgresStore) -> None:
        self._store = store
        self._has_number = asyncio.Event()
        self._may_end = asyncio.Event()
        self._task: asyncio.Task[None] | None = None

    async def begin(self) -> None:
        self._task = asyncio.create_task(self._store.database.write(self._job, space="slow", create_space=True))
        await self._has_number.wait()

    async def end(self, *, fail: bool = False) -> None:
        assert self._task is not None
        if fail:
            self._task.cancel()
        self._may_end.set()
        await asyncio.gather(self._task, return_exceptions=True)

    async def _job(self, transaction: Transaction) -> None:
        ((seqs,),) = await transaction.rows("SELECT scrubjay.reserve_changes(1)")
        self._has_number.set()
        await self._may_end.wait()
        await transaction.execute(
            """INSERT INTO scrubjay.runs VALUES (scrubjay.current_space(), 1000, 0, 0, NULL, 0, false, 'slow', '')""",
        )
        await transaction.execute(
            """INSERT INTO scrubjay.changes VALUES
               (scrubjay.current_space(), 1, %s, 1000, 1, gen_random_uuid(), 0, 1, NULL, 0, NULL, 'created', NULL)""",
            seqs[0],
        )


async def test_a_later_change_waits_for_an_earlier_number(store: PostgresStore) -> None:
    slow = OpenCommit(store)
    await slow.begin()
    memory = a_memory()
    done = await store.commit(a_commit(memory))
    # Its own space shows it at once; a follower of all spaces waits for the commit in progress.
    assert [change.memory_id for change in await store.changes_in("default", after=0, limit=9)] == [memory.id]
    assert await store.last_seq() == done.seq
    assert await store.changes(after=0, limit=9) == []
    following = asyncio.create_task(store.changes(after=0, limit=9))
    await slow.end()
    results = await following
    assert [change.space for change in results] == ["slow", "default"]
    assert [change.seq for change in results] == sorted(change.seq for change in results)


async def test_an_unused_number_delays_no_reader(store: PostgresStore) -> None:
    slow = OpenCommit(store)
    await slow.begin()
    memory = a_memory()
    await store.commit(a_commit(memory))
    await slow.end(fail=True)
    assert [change.memory_id for change in await store.changes(after=0, limit=9)] == [memory.id]


async def test_other_databases_delay_no_reader(store: PostgresStore) -> None:
    async with a_database() as other:
        elsewhere = await PostgresStore.open(address_of(other))
        slow = OpenCommit(elsewhere)
        await slow.begin()
        await store.commit(a_commit(a_memory()))
        assert len(await store.changes(after=0, limit=9)) == 1
        await slow.end()
        await elsewhere.close()


async def test_a_follower_misses_nothing_while_many_write(name: str) -> None:
    stores = [await PostgresStore.open(address_of(name)) for _ in range(3)]
    reported: list[Change] = []
    writing = asyncio.Event()

    async def follow() -> None:
        while True:
            is_over = writing.is_set()
            page = await stores[0].changes(after=reported[-1].seq if reported else 0, limit=7)
            reported.extend(page)
            if is_over and not page:
                return

    async def write(number: int) -> None:
        store = stores[number % 3]
        memories = [a_memory(space=f"space-{number % 5}") for _ in range(1 + number % 3)]
        await store.commit(a_commit(*memories))

    follower = asyncio.create_task(follow())
    await asyncio.gather(*(write(number) for number in range(120)))
    writing.set()
    await follower
    assert reported == await stores[1].changes(after=0, limit=999)
    assert len(reported) == sum(1 + number % 3 for number in range(120))
    for store in stores:
        await store.close()
