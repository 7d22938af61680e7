"""Transactions: retried after conflicts, never applied twice, and without traces on the connection."""

import asyncio

import psycopg
import pytest
from psycopg import errors
from tests.fakes.build import a_commit, a_memory, a_rewrite, revised
from tests.postgres import address_of, shared_server
from tests.unit.storage.postgres.conftest import Raw
from tests.unit.storage.postgres.proxy import a_proxy

from scrubjay.errors import InvalidInput, NotFound, StoreBusy, StoreError
from scrubjay.storage.postgres import Address, PostgresStore
from scrubjay.storage.postgres.database import Database, Transaction

PUT = "INSERT INTO scrubjay.meta VALUES (%s, '')"


@pytest.mark.parametrize("error", [errors.SerializationFailure, errors.DeadlockDetected])
async def test_a_conflict_is_tried_again(database: Database, raw: Raw, error: type[psycopg.Error]) -> None:
    tries = 0

    async def job(transaction: Transaction) -> int:
        nonlocal tries
        tries += 1
        await transaction.execute(PUT, f"try {tries}")
        if tries < 3:
            raise error
        return tries

    assert await database.write(job, unrestricted=True) == 3
    assert await raw("SELECT key FROM scrubjay.meta WHERE key LIKE 'try%'") == [("try 3",)]


async def test_a_conflict_that_persists_is_reported(database: Database) -> None:
    async def job(transaction: Transaction) -> None:
        raise errors.SerializationFailure

    with pytest.raises(StoreBusy):
        await database.write(job, unrestricted=True)


async def test_a_refusal_is_not_tried_again(database: Database, raw: Raw) -> None:
    tries = 0

    async def job(transaction: Transaction) -> None:
        nonlocal tries
        tries += 1
        await transaction.execute(PUT, "refused")
        raise NotFound("no")

    with pytest.raises(NotFound):
        await database.write(job, unrestricted=True)
    assert tries == 1
    assert await raw("SELECT key FROM scrubjay.meta WHERE key = 'refused'") == []


async def test_real_deadlocks_pass(name: str) -> None:
    database = await Database.open(address_of(name))
    here, there = asyncio.Event(), asyncio.Event()

    async def cross(
        transaction: Transaction, first: str, second: str, mine: asyncio.Event, other: asyncio.Event
    ) -> None:
        update = "UPDATE scrubjay.meta SET value = value || '.' WHERE key = %s"
        await transaction.execute(update, first)
        mine.set()
        await other.wait()
        await transaction.execute(update, second)

    try:
        await asyncio.gather(
            database.write(
                lambda transaction: cross(transaction, "store_id", "partitions", here, there), unrestricted=True
            ),
            database.write(
                lambda transaction: cross(transaction, "partitions", "store_id", there, here), unrestricted=True
            ),
        )
        rows = await database.rows("SELECT right(value, 2) FROM scrubjay.meta", unrestricted=True)
        assert rows == [("..",), ("..",)]
    finally:
        await database.close()


async def test_a_connection_that_is_ended_in_mid_transaction_is_replaced(database: Database, raw: Raw) -> None:
    tries = 0

    async def job(transaction: Transaction) -> None:
        nonlocal tries
        tries += 1
        await transaction.execute(PUT, f"life {tries}")
        if tries == 1:
            ((pid,),) = await transaction.rows("SELECT pg_backend_pid()")
            await raw("SELECT pg_terminate_backend(%s)", pid)
            await transaction.rows("SELECT 1")

    await database.write(job, unrestricted=True)
    assert await raw("SELECT key FROM scrubjay.meta WHERE key LIKE 'life%'") == [("life 2",)]


async def test_reading_goes_on_when_every_connection_was_ended(database: Database, raw: Raw) -> None:
    await asyncio.gather(*(database.rows("SELECT pg_sleep(0.01)") for _ in range(8)))
    ended = await raw(
        "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name = 'scrubjay' "
        "AND datname = current_database()"
    )
    assert len(ended) >= 2
    results = await asyncio.gather(*(database.rows("SELECT 1") for _ in range(8)))
    assert results == [[(1,)]] * 8


async def test_a_commit_whose_answer_is_lost_has_happened_once(name: str) -> None:
    async with a_proxy() as proxy:
        store = await PostgresStore.open(Address(url=proxy.url(name), connections=2))
        first = a_memory()
        await store.commit(a_commit(first))
        proxy.cut_after = 1
        second = revised(first, content="the answer to this is lost")
        done = await store.commit(a_commit(a_rewrite(second)))
        assert proxy.cut_after == 0
        assert await store.get("default", [first.id]) == {first.id: second}
        log = await store.changes(after=0, limit=9)
        assert [change.version for change in log] == [1, 2]
        assert done.seq == log[-1].seq
        await store.close()


async def test_a_commit_that_did_not_arrive_is_made_again(name: str) -> None:
    async with a_proxy() as proxy:
        store = await PostgresStore.open(Address(url=proxy.url(name), connections=2))
        memory = a_memory()
        proxy.cut_before = 2
        await store.commit(a_commit(memory))
        assert proxy.cut_before == 0
        assert await store.get("default", [memory.id]) == {memory.id: memory}
        assert [change.version for change in await store.changes(after=0, limit=9)] == [1]
        await store.close()


async def test_a_statement_that_takes_too_long_is_ended(name: str) -> None:
    database = await Database.open(Address(url=shared_server().url(name), statement_seconds=1))
    with pytest.raises(StoreBusy, match="took too long"):
        await database.rows("SELECT pg_sleep(30)")
    assert await database.rows("SELECT 1") == [(1,)]
    await database.close()


async def test_a_long_wait_for_a_connection_is_an_error(name: str) -> None:
    database = await Database.open(Address(url=shared_server().url(name), connections=1, patience=0.2))
    holding, enough = asyncio.Event(), asyncio.Event()

    async def hold(transaction: Transaction) -> None:
        holding.set()
        await enough.wait()

    holder = asyncio.create_task(database.write(hold))
    await holding.wait()
    with pytest.raises(StoreBusy):
        await database.rows("SELECT 1")
    enough.set()
    await holder
    await database.close()


async def test_one_space_is_written_by_one_at_a_time_and_two_by_two(database: Database) -> None:
    holding, enough = asyncio.Event(), asyncio.Event()
    begun: list[str] = []

    async def hold(transaction: Transaction) -> None:
        holding.set()
        await enough.wait()

    async def note(transaction: Transaction) -> None:
        begun.append("same space")

    async def note_other(transaction: Transaction) -> None:
        begun.append("other space")

    await database.write(note, space="ann", create_space=True)
    begun.clear()
    holder = asyncio.create_task(database.write(hold, space="ann"))
    await holding.wait()
    waiting = asyncio.create_task(database.write(note, space="ann"))
    await database.write(note_other, space="bob", create_space=True)
    assert begun == ["other space"]
    enough.set()
    await asyncio.gather(holder, waiting)
    assert begun == ["other space", "same space"]


async def test_nothing_is_left_on_a_connection(name: str) -> None:
    """A pooler gives the connection to another client after every transaction."""
    database = await Database.open(Address(url=shared_server().url(name), connections=1))

    async def job(transaction: Transaction) -> None:
        await transaction.rows("SELECT scrubjay.reserve_changes(1)")

    for _ in range(10):
        await database.write(job, space="ann", create_space=True)
        await database.rows("SELECT count(*) FROM scrubjay.memories", space="ann")
    async with database._connection() as connection:
        cursor = await connection.execute(
            """SELECT current_user = session_user, current_setting('scrubjay.space_no', true),
                 current_setting('statement_timeout'), (SELECT count(*) FROM pg_prepared_statements),
                 (SELECT count(*) FROM pg_locks WHERE locktype = 'advisory' AND pid = pg_backend_pid())"""
        )
        assert await cursor.fetchall() == [(True, "", "0", 0, 0)]
    await database.close()


@pytest.mark.parametrize("text", ["nul \x00 within", "half \ud800 of a pair"])
async def test_a_value_that_the_database_cannot_write_is_invalid_input(store: PostgresStore, text: str) -> None:
    with pytest.raises(InvalidInput):
        await store.commit(a_commit(a_memory(name=text)))
    with pytest.raises(InvalidInput):
        await store.last_place(text)
    assert await store.labels("default", "name", prefix="\x00", limit=9) == ()
    assert await store.find("default", text) == ()
    assert await store.last_seq() == 0


async def test_a_cancelled_call_leaves_a_pool_that_works(database: Database) -> None:
    tasks = [asyncio.create_task(database.rows("SELECT pg_sleep(20)")) for _ in range(6)]
    await asyncio.sleep(0.1)
    for task in tasks:
        task.cancel()
    done = await asyncio.gather(*tasks, return_exceptions=True)
    assert all(isinstance(result, asyncio.CancelledError) for result in done)
    assert await database.rows("SELECT 1") == [(1,)]


async def test_a_closed_database_is_an_error(database: Database) -> None:
    await database.close()
    with pytest.raises(StoreError, match="closed"):
        await database.rows("SELECT 1")
