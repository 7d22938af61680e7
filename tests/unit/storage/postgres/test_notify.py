"""The bell: whoever listens hears that there is something new, also from another process."""

import asyncio

import psycopg
from tests.fakes.build import a_commit, a_memory, an_origin
from tests.postgres import address_of
from tests.unit.storage.postgres.conftest import Raw

from scrubjay.storage.postgres import PostgresStore


class Ear:
    """Counts what it hears."""

    def __init__(self) -> None:
        self._heard = asyncio.Event()

    def hear(self) -> None:
        self._heard.set()

    async def wait(self) -> None:
        async with asyncio.timeout(20):
            await self._heard.wait()
        self._heard.clear()


async def test_a_commit_is_heard_elsewhere(store: PostgresStore, name: str) -> None:
    other = await PostgresStore.open(address_of(name))
    ear = Ear()
    async with other.listening(ear.hear):
        # Once at the beginning: something may have happened before.
        await ear.wait()
        memory = a_memory()
        await store.commit(a_commit(memory))
        await ear.wait()
        assert len(await other.changes(after=0, limit=9)) == 1
        await store.purge("default", [memory.id], origin=an_origin())
        await ear.wait()
    await other.close()


async def test_a_listener_whose_line_breaks_listens_again(store: PostgresStore, raw: Raw) -> None:
    ear = Ear()
    async with store.listening(ear.hear):
        await ear.wait()
        ended = await raw(
            "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE query LIKE 'LISTEN%' "
            "AND datname = current_database()"
        )
        assert ended == [(True,)]
        await ear.wait()
        await store.commit(a_commit(a_memory()))
        await ear.wait()


async def test_the_bell_tells_nothing_of_whose_it_was(store: PostgresStore, name: str) -> None:
    async with await psycopg.AsyncConnection.connect(address_of(name).url, autocommit=True) as connection:
        await connection.execute("LISTEN scrubjay")
        await store.commit(a_commit(a_memory(space="a space with a telling name")))
        payloads = [notify.payload async for notify in connection.notifies(timeout=20, stop_after=1)]
    assert payloads == [""]
