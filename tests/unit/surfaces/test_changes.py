"""Subscribers get the changes of their space; the broadcaster polls the log while it has subscribers."""

import asyncio

import pytest
from tests.fakes.build import a_commit, a_memory, an_edge, an_origin, vectors_for
from tests.new_files import NewStores
from tests.patience import PATIENCE

from scrubjay.errors import Busy, StoreBusy
from scrubjay.model.change import Change
from scrubjay.storage.sqlite import SqliteStore
from scrubjay.surfaces.changes import ChangeBroadcaster, SpaceChange

_LONG = 3_600.0


class Listener:
    def __init__(self) -> None:
        self.received: list[SpaceChange] = []
        self.closed = False

    def notify(self, change: SpaceChange) -> None:
        self.received.append(change)

    def close(self) -> None:
        self.closed = True


async def test_each_space_hears_of_its_own_from_now_on(store: SqliteStore) -> None:
    first, second = Listener(), Listener()
    changes = ChangeBroadcaster(store, seconds=_LONG)
    await store.commit(a_commit(a_memory()))
    async with changes.subscribe("default", first.notify), changes.subscribe("other", second.notify):
        memories = [a_memory(), a_memory()]
        await store.commit(a_commit(*memories))
        await changes.poll()
        await changes.poll()
        assert first.received == [SpaceChange(ids=frozenset(memory.id for memory in memories), listed=True)]
        assert second.received == []
    await store.commit(a_commit(a_memory()))
    await changes.poll()
    assert len(first.received) == 1


async def test_a_relation_touches_both_ends_and_leaves_the_list_alone(store: SqliteStore) -> None:
    listener = Listener()
    changes = ChangeBroadcaster(store, seconds=_LONG)
    first, second = a_memory(), a_memory()
    await store.commit(a_commit(first, second))
    async with changes.subscribe("default", listener.notify):
        await store.commit(a_commit(an_edge(first, second)))
        await changes.poll()
    assert listener.received == [SpaceChange(ids=frozenset({first.id, second.id}), listed=False)]


async def test_a_nudge_is_enough_and_a_store_that_is_busy_is_asked_again(new_store: NewStores) -> None:
    class BusyStore(SqliteStore):
        refusals = 2

        async def changes(self, *, after: int, limit: int) -> list[Change]:
            if self.refusals:
                self.refusals -= 1
                raise StoreBusy("another process writes")
            return await super().changes(after=after, limit=limit)

    store, notified = new_store(BusyStore), asyncio.Event()
    async with (
        ChangeBroadcaster(store, seconds=_LONG) as changes,
        changes.subscribe("default", lambda _: notified.set()),
    ):
        await store.commit(a_commit(a_memory()))
        async with asyncio.timeout(PATIENCE):
            while not notified.is_set():
                changes.nudge()
                await asyncio.sleep(0)
    assert store.refusals == 0


async def test_without_a_nudge_it_looks_now_and_then(store: SqliteStore) -> None:
    notified = asyncio.Event()
    async with (
        ChangeBroadcaster(store, seconds=0.01) as changes,
        changes.subscribe("default", lambda _: notified.set()),
    ):
        await store.commit(a_commit(a_memory()))
        await asyncio.wait_for(notified.wait(), PATIENCE)


async def test_a_long_log_is_told_in_portions(store: SqliteStore) -> None:
    listener = Listener()
    changes = ChangeBroadcaster(store, seconds=_LONG)
    async with changes.subscribe("default", listener.notify):
        await store.commit(a_commit(*(a_memory() for _ in range(1_100))))
        await changes.poll()
    assert [len(change.ids) for change in listener.received] == [500, 500, 100]


async def test_vectors_are_nobodys_business(store: SqliteStore) -> None:
    listener = Listener()
    changes = ChangeBroadcaster(store, seconds=_LONG)
    memory = a_memory()
    await store.commit(a_commit(memory))
    async with changes.subscribe("default", listener.notify):
        await store.store_vectors("default", vectors_for([memory]), memory_ids=[memory.id], origin=an_origin())
        await changes.poll()
    assert listener.received == []


async def test_there_is_room_for_so_many_and_all_are_let_go_at_the_end(store: SqliteStore) -> None:
    changes, listener = ChangeBroadcaster(store, seconds=_LONG), Listener()
    crowd = [changes.subscribe("default", listener.notify, on_close=listener.close) for _ in range(1_024)]
    for subscription in crowd:
        await subscription.__aenter__()
    with pytest.raises(Busy, match="1,024 clients are subscribed already"):
        async with changes.subscribe("default", listener.notify):
            pass
    closing = asyncio.create_task(changes.close())
    await asyncio.sleep(0)
    assert listener.closed
    for subscription in crowd:
        assert not closing.done(), "it waits until all streams have ended"
        await subscription.__aexit__(None, None, None)
    await closing
    with pytest.raises(Busy, match="the server is stopping"):
        async with changes.subscribe("default", listener.notify, on_close=listener.close):
            pass
    async with changes.subscribe("default", listener.notify):
        pass
