"""Who hears of what: the log is followed while somebody listens."""

import asyncio

import pytest
from tests.fakes import FakeStore
from tests.fakes.build import a_commit, a_memory, an_edge, an_origin, vectors_for

from scrubjay.errors import Busy, StoreBusy
from scrubjay.model.change import Change
from scrubjay.surfaces.changes import ChangeBroadcaster, SpaceChange

_LONG = 3_600.0


class Listener:
    def __init__(self) -> None:
        self.heard: list[SpaceChange] = []
        self.left = False

    def hear(self, changed: SpaceChange) -> None:
        self.heard.append(changed)

    def leave(self) -> None:
        self.left = True


async def test_each_space_hears_of_its_own_from_now_on() -> None:
    store, one, two = FakeStore(), Listener(), Listener()
    changes = ChangeBroadcaster(store, seconds=_LONG)
    await store.commit(a_commit(a_memory()))
    async with changes.subscribe("default", one.hear), changes.subscribe("other", two.hear):
        memories = [a_memory(), a_memory()]
        await store.commit(a_commit(*memories))
        await changes.poll()
        await changes.poll()
        assert one.heard == [SpaceChange(ids=frozenset(memory.id for memory in memories), listed=True)]
        assert two.heard == []
    await store.commit(a_commit(a_memory()))
    await changes.poll()
    assert len(one.heard) == 1


async def test_a_relation_touches_both_ends_and_leaves_the_list_alone() -> None:
    store, listener = FakeStore(), Listener()
    changes = ChangeBroadcaster(store, seconds=_LONG)
    first, second = a_memory(), a_memory()
    await store.commit(a_commit(first, second))
    async with changes.subscribe("default", listener.hear):
        await store.commit(a_commit(an_edge(first, second)))
        await changes.poll()
    assert listener.heard == [SpaceChange(ids=frozenset({first.id, second.id}), listed=False)]


async def test_a_nudge_is_enough_and_a_store_that_is_busy_is_asked_again() -> None:
    class Reluctant(FakeStore):
        refusals = 2

        async def changes(self, *, after: int, limit: int) -> list[Change]:
            if self.refusals:
                self.refusals -= 1
                raise StoreBusy("somebody writes")
            return await super().changes(after=after, limit=limit)

    store, heard = Reluctant(), asyncio.Event()
    async with ChangeBroadcaster(store, seconds=_LONG) as changes, changes.subscribe("default", lambda _: heard.set()):
        await store.commit(a_commit(a_memory()))
        async with asyncio.timeout(20):
            while not heard.is_set():
                changes.nudge()
                await asyncio.sleep(0)
    assert store.refusals == 0


async def test_without_a_nudge_it_looks_now_and_then() -> None:
    store, heard = FakeStore(), asyncio.Event()
    async with ChangeBroadcaster(store, seconds=0.01) as changes, changes.subscribe("default", lambda _: heard.set()):
        await store.commit(a_commit(a_memory()))
        await asyncio.wait_for(heard.wait(), 20)


async def test_a_long_log_is_told_in_portions() -> None:
    store, listener = FakeStore(), Listener()
    changes = ChangeBroadcaster(store, seconds=_LONG)
    async with changes.subscribe("default", listener.hear):
        await store.commit(a_commit(*(a_memory() for _ in range(1_100))))
        await changes.poll()
    assert [len(one.ids) for one in listener.heard] == [500, 500, 100]


async def test_vectors_are_nobodys_business() -> None:
    store, listener = FakeStore(), Listener()
    changes = ChangeBroadcaster(store, seconds=_LONG)
    memory = a_memory()
    await store.commit(a_commit(memory))
    async with changes.subscribe("default", listener.hear):
        await store.store_vectors("default", vectors_for([memory]), memory_ids=[memory.id], origin=an_origin())
        await changes.poll()
    assert listener.heard == []


async def test_there_is_room_for_so_many_and_all_are_let_go_at_the_end() -> None:
    changes, listener = ChangeBroadcaster(FakeStore(), seconds=_LONG), Listener()
    crowd = [changes.subscribe("default", listener.hear, on_close=listener.leave) for _ in range(1_024)]
    for one in crowd:
        await one.__aenter__()
    with pytest.raises(Busy, match="1,024 clients are subscribed already"):
        async with changes.subscribe("default", listener.hear):
            pass
    changes.close()
    assert listener.left
    for one in crowd:
        await one.__aexit__(None, None, None)
    async with changes.subscribe("default", listener.hear):
        pass
