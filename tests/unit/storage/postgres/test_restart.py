"""A server that is restarted under load: callers wait, and every acknowledged write is stored."""

import asyncio

import pytest
from tests.fakes.build import a_commit, a_memory
from tests.patience import PATIENCE
from tests.postgres import a_database, address_of, private_server

from scrubjay.errors import StoreBusy
from scrubjay.storage.postgres import Address, PostgresStore


@pytest.mark.parametrize("way", ["fast", "immediate"])
async def test_nothing_acknowledged_is_lost(way: str) -> None:
    with private_server() as server:
        async with a_database(server, empty=True) as name:
            stores = [await PostgresStore.open(address_of(name, server=server)) for _ in range(2)]
            stored: list[str] = []
            one_more = asyncio.Condition()
            over = asyncio.Event()

            async def write(number: int) -> None:
                while not over.is_set():
                    memory = a_memory(space=f"space-{number % 3}")
                    await stores[number % 2].commit(a_commit(memory))
                    async with one_more:
                        stored.append(memory.id)
                        one_more.notify_all()

            async def more(count: int) -> None:
                enough = len(stored) + count
                async with asyncio.timeout(PATIENCE), one_more:
                    await one_more.wait_for(lambda: len(stored) >= enough)

            writers = [asyncio.create_task(write(number)) for number in range(6)]
            for _ in range(2):
                await more(20)
                await asyncio.to_thread(server.restart, way)
            await more(20)
            over.set()
            await asyncio.gather(*writers)
            log = await stores[0].changes(after=0, limit=100_000)
            logged = [change.memory_id for change in log]
            assert len(logged) == len(set(logged))
            assert set(logged) == set(stored)
            assert await stores[1].check(deep=True) == []
            for store in stores:
                await store.close()


async def test_an_unavailable_server_is_reported_and_reconnected_to() -> None:
    with private_server() as server:
        async with a_database(server, empty=True) as name:
            store = await PostgresStore.open(Address(url=server.url(name), patience=0.5))
            memory = a_memory()
            await store.commit(a_commit(memory))
            await asyncio.to_thread(server.stop)
            with pytest.raises(StoreBusy):
                await store.get("default", [memory.id])
            with pytest.raises(StoreBusy):
                await store.commit(a_commit(a_memory()))
            await asyncio.to_thread(server.start)
            async with asyncio.timeout(PATIENCE):
                while True:
                    try:
                        memories = await store.get("default", [memory.id])
                        break
                    except StoreBusy:
                        continue
            assert memories == {memory.id: memory}
            assert await store.last_seq() == 1
            await store.close()
