"""Accesses are counted in the background, and a failure never reaches the reader."""

import asyncio
from collections.abc import Sequence
from datetime import datetime
from functools import cached_property

import pytest
from tests.fakes import FakeClock
from tests.fakes.build import START, a_commit, a_memory
from tests.new_files import NewStores

from scrubjay.errors import DiskFull
from scrubjay.model.memory import Memory
from scrubjay.recalling import access_log as module
from scrubjay.recalling.access_log import AccessLog
from scrubjay.storage.sqlite import SqliteStore


class SignallingStore(SqliteStore):
    """A store that signals each touch, and can be full or slow for a space."""

    full_for = slow_for = ""

    @cached_property
    def touched(self) -> asyncio.Event:
        return asyncio.Event()

    async def touch(self, space: str, ids: Sequence[str], *, at: datetime) -> None:
        if space == self.full_for:
            raise DiskFull("no room")
        if space == self.slow_for:
            await asyncio.sleep(0.05)
        await super().touch(space, ids, at=at)
        self.touched.set()


async def store_memory(store: SqliteStore, *, space: str = "default") -> Memory:
    memory = a_memory("tea", space=space)
    await store.commit(a_commit(memory))
    return memory


async def count(store: SqliteStore, memory: Memory) -> int:
    return (await store.get(memory.space, [memory.id]))[memory.id].access_count


async def test_accesses_are_written_together(store: SqliteStore) -> None:
    access_log = AccessLog(store, clock=FakeClock())
    tea, jay = await store_memory(store), await store_memory(store)
    access_log.note([("default", tea.id), ("default", jay.id)])
    access_log.note([("default", tea.id)])
    assert await count(store, tea) == 0
    await access_log.flush()
    assert (await count(store, tea), await count(store, jay)) == (1, 1)
    assert (await store.get("default", [tea.id]))[tea.id].last_accessed == START
    await access_log.flush()
    assert await count(store, tea) == 1
    await access_log.close()


async def test_accesses_are_written_after_a_delay(monkeypatch: pytest.MonkeyPatch, new_store: NewStores) -> None:
    monkeypatch.setattr(module, "_DELAY", 0)
    store = new_store(SignallingStore)
    access_log = AccessLog(store, clock=FakeClock())
    tea = await store_memory(store)
    for expected in (1, 2):
        access_log.note([("default", tea.id)])
        await store.touched.wait()
        store.touched.clear()
        assert await count(store, tea) == expected
    await access_log.close()


async def test_closing_waits_for_counts_that_are_being_written(
    monkeypatch: pytest.MonkeyPatch, new_store: NewStores
) -> None:
    monkeypatch.setattr(module, "_DELAY", 0)
    store = new_store(SignallingStore)
    store.slow_for = "other"
    access_log = AccessLog(store, clock=FakeClock())
    tea, other = await store_memory(store), await store_memory(store, space="other")
    access_log.note([("default", tea.id), ("other", other.id)])
    await store.touched.wait()
    await access_log.close()
    # A store that is closed now would lose it.
    assert await count(store, other) == 1


async def test_closing_writes_the_rest(store: SqliteStore) -> None:
    access_log = AccessLog(store, clock=FakeClock())
    tea, other = await store_memory(store), await store_memory(store, space="other")
    access_log.note([("default", tea.id)])
    access_log.note([("other", other.id)])
    await access_log.close()
    assert (await count(store, tea), await count(store, other)) == (1, 1)


async def test_a_failing_store_loses_a_count_and_nothing_else(new_store: NewStores) -> None:
    store = new_store(SignallingStore)
    access_log = AccessLog(store, clock=FakeClock())
    tea, other = await store_memory(store), await store_memory(store, space="other")
    access_log.note([("default", tea.id)])
    access_log.note([("other", other.id)])
    store.full_for = "default"
    await access_log.flush()
    assert (await count(store, tea), await count(store, other)) == (0, 1)
    await access_log.close()


async def test_without_accesses_no_task_is_started(store: SqliteStore) -> None:
    access_log = AccessLog(store, clock=FakeClock())
    access_log.note([])
    assert access_log._task is None
    await access_log.close()
