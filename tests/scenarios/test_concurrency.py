"""Concurrent callers share commits, see each other's writes, and never wait for a reader."""

import asyncio
import threading

import apsw
import pytest

from scrubjay.client import MemoryClient
from scrubjay.errors import NameTaken
from scrubjay.storage.sqlite.writer import Writer
from tests.patience import PATIENCE
from tests.scenarios.wiring import Wiring

MANY = 200


async def test_writes_that_arrive_together_share_their_commits(wiring: Wiring, memory: MemoryClient) -> None:
    writer = wiring.store._writer
    assert isinstance(writer, Writer)
    released = threading.Event()
    # While the writer is busy all of them arrive.
    busy = asyncio.create_task(writer.run_outside(lambda _: released.wait(PATIENCE)))
    # Those that may be merged would wait for those that may say the same.
    writes = [
        asyncio.create_task(memory.remember(f"bird number {number}", name=f"b{number}", intent="new"))
        for number in range(MANY)
    ]
    async with asyncio.timeout(PATIENCE):
        while writer._queue.qsize() < MANY:  # noqa: ASYNC110 - no event reports it
            await asyncio.sleep(0.001)
    commits, jobs = writer.commits, writer.jobs
    released.set()
    await asyncio.gather(busy, *writes)
    assert writer.jobs - jobs >= MANY
    assert writer.commits - commits < MANY / 10
    assert (await memory.status()).memories == {"live": MANY}
    assert len((await memory.history("b7")).versions) == 1


async def test_one_bad_write_does_not_spoil_the_commit_it_shares(wiring: Wiring, memory: MemoryClient) -> None:
    names = [f"b{number % 50}" for number in range(MANY)]
    done = await asyncio.gather(
        *(memory.remember(f"bird number {number}", name=name) for number, name in enumerate(names)),
        return_exceptions=True,
    )
    refused = [outcome for outcome in done if isinstance(outcome, NameTaken)]
    assert len(refused) == MANY - 50
    assert (await memory.status()).memories == {"live": 50}
    assert (await memory.doctor(deep=True)).ok


async def test_every_caller_finds_acknowledged_writes(memory: MemoryClient) -> None:
    async def write_and_look(number: int) -> None:
        word = f"zq{number}w"
        done = await memory.remember(f"Somebody said {word} once")
        recalled = await memory.recall(word)
        assert done.id in [hit.id for hit in recalled.hits]
        assert (await memory.revise(done.id, tags=[word])).version == 2
        assert [hit.id for hit in (await memory.recall("somebody said", tags=[word])).hits] == [done.id]

    await asyncio.gather(*(write_and_look(number) for number in range(40)))


async def test_edits_of_one_memory_at_once_all_happen(memory: MemoryClient) -> None:
    await memory.remember("a list", name="list")
    await asyncio.gather(*(memory.revise("list", add_observations=[f"item {number}"]) for number in range(40)))
    (record,) = (await memory.read("list")).memories
    assert sorted(observation.text for observation in record.observations) == sorted(
        f"item {number}" for number in range(40)
    )
    assert record.version == 41


async def test_only_one_of_many_edits_of_one_version_happens(memory: MemoryClient) -> None:
    await memory.remember("a list", name="list")
    done = await asyncio.gather(
        *(memory.revise("list", text=f"list {number}", expected_version=1) for number in range(10)),
        return_exceptions=True,
    )
    assert len([outcome for outcome in done if not isinstance(outcome, BaseException)]) == 1


async def test_one_key_makes_many_calls_one(memory: MemoryClient) -> None:
    calls = (memory.remember("said once", idempotency_key="k1", intent="new") for _ in range(20))
    done = await asyncio.gather(*calls)
    assert len({outcome.id for outcome in done}) == 1
    assert (await memory.status()).memories == {"live": 1}


async def test_readers_continue_during_a_long_write(wiring: Wiring, memory: MemoryClient) -> None:
    await memory.remember("bird in the hand", name="bird")
    started, release = threading.Event(), threading.Event()

    def long_write(connection: apsw.Connection) -> None:
        connection.execute("UPDATE memories SET title = 'not yet'")
        started.set()
        release.wait(PATIENCE)

    writing = asyncio.create_task(wiring.store._writer.run(long_write))
    await asyncio.to_thread(started.wait, PATIENCE)
    assert (await memory.read("bird")).memories[0].title == ""
    assert len((await memory.recall("bird in the hand")).hits) == 1
    assert (await memory.history("bird")).versions[0].number == 1
    waiting = asyncio.create_task(memory.remember("two in the bush"))
    await asyncio.sleep(0.05)
    assert not waiting.done()
    release.set()
    await writing
    await waiting
    assert (await memory.status()).memories == {"live": 2}


async def test_a_cancelled_call_leaves_the_store_sound(wiring: Wiring, memory: MemoryClient) -> None:
    calls = [asyncio.create_task(memory.remember(f"bird {number}", name=f"b{number}")) for number in range(50)]
    await asyncio.sleep(0)
    for call in calls[::2]:
        call.cancel()
    done = await asyncio.gather(*calls, return_exceptions=True)
    stored = [outcome for outcome in done if not isinstance(outcome, BaseException)]
    assert len(stored) >= 25
    for entry in stored:
        assert (await memory.read(entry.id)).memories
    assert (await memory.doctor(deep=True)).ok


@pytest.mark.parametrize("calls", [1, 20])
async def test_closing_finishes_accepted_calls(wiring: Wiring, memory: MemoryClient, calls: int) -> None:
    writer = wiring.store._writer
    assert isinstance(writer, Writer)
    accepted = [asyncio.create_task(writer.run(_count)) for _ in range(calls)]
    await asyncio.sleep(0)
    await asyncio.to_thread(writer.close)
    assert await asyncio.gather(*accepted) == [0] * calls


def _count(connection: apsw.Connection) -> int:
    return int(connection.execute("SELECT count(*) FROM memories").fetchall()[0][0])
