"""The parts of a shared index: the end of the log, the breaker, who leads, and a walk that mixes everything."""

import asyncio
import random
from contextlib import AsyncExitStack
from pathlib import Path

import pytest
from tests.fakes.build import MODEL, a_commit, a_memory, a_rewrite, moment, revised, vectors_for
from tests.qdrant import a_ground
from tests.unit.indexing.test_shared import Servers, leading
from tests.unit.indexing.world import QUERY, World

from scrubjay.errors import IndexUnavailable
from scrubjay.indexing.file_leadership import FileLeadership
from scrubjay.indexing.shared_breaker import Breaker
from scrubjay.indexing.unapplied import UnappliedChanges, hidden_in, overlay
from scrubjay.model.memory import Memory, State
from scrubjay.model.query import Filter


class Time:
    """A clock that is set by hand."""

    now = 0.0

    def __call__(self) -> float:
        return self.now


class TestTail:
    async def test_it_reads_on_and_forgets_what_is_applied(self, tmp_path: Path) -> None:
        world = World(folder=tmp_path)
        tail = UnappliedChanges(world.store, MODEL, longest=9)
        item, two = await world.remember("one", "two")
        assert len(await tail.since(0)) == 2
        assert len(await tail.since(1)) == 1
        await world.revise(item, "three")
        touched = await tail.since(1)
        assert {entry.seq for entry in touched.values()} == {2, 3}
        assert len(await tail.since(3)) == len(tail) == 0
        assert len(await tail.since(0)) == 2, "an index that was built anew begins earlier"
        await world.purge(two)
        (gone,) = (await tail.since(3)).values()
        assert (gone.points, gone.held) == ((), 1)

    async def test_more_than_can_be_searched_is_refused_until_it_is_applied(self, tmp_path: Path) -> None:
        world = World(folder=tmp_path)
        tail = UnappliedChanges(world.store, MODEL, longest=3)
        await world.remember("one", "two")
        assert len(await tail.since(0)) == 2
        await world.remember("three", "four")
        for _ in range(2):
            with pytest.raises(IndexUnavailable) as caught:
                await tail.since(0)
            assert caught.value.fields["reason"] == "behind"
        assert len(await tail.since(2)) == 2

    async def test_what_the_index_holds_of_a_touched_memory_does_not_count(self, tmp_path: Path) -> None:
        world = World(folder=tmp_path)
        memory = a_memory("a long text. " * 300, kind="old")
        other = a_memory("another", space="elsewhere")
        for item in (memory, other):
            await world.store.commit(a_commit(item, embedded=vectors_for([item])))
        before = [(point.id, 0.5) for point in await world.store.points(MODEL, after=-1, limit=99)]
        new = revised(memory, content="short", kind="new")
        await world.store.commit(a_commit(a_rewrite(new), embedded=vectors_for([new])))
        touched = await UnappliedChanges(world.store, MODEL, longest=9).since(2)
        assert hidden_in(touched, "default") == len(before) - 1
        assert hidden_in(touched, "elsewhere") == 0
        for expected, count in (
            (Filter(), 1),
            (Filter(kind="new"), 1),
            (Filter(kind="old"), 0),
            (Filter(state=State.TRASHED), 0),
            (Filter(until=moment(-1)), 0),
            (Filter(since=moment(-1)), 1),
        ):
            results = overlay(before[:-1], touched, space="default", vector=QUERY, filter=expected, limit=9)
            assert len(results) == count
        assert overlay(before, {}, space="default", vector=QUERY, filter=Filter(), limit=2) == before[:2]


class TestBreaker:
    def test_it_rests_longer_each_time_and_lets_one_try(self) -> None:
        time = Time()
        breaker = Breaker(first=1, longest=3, clock=time)
        breaker.require()
        for rest in (1, 2, 3, 3):
            breaker.failed(IndexUnavailable("down", hint="wait", reason="unreachable"))
            time.now += rest - 0.1
            with pytest.raises(IndexUnavailable, match="down") as caught:
                breaker.require()
            assert caught.value.fields == {"reason": "unreachable"}
            time.now += 0.2
            breaker.require()
            with pytest.raises(IndexUnavailable):
                breaker.require()
        breaker.worked()
        breaker.require()
        breaker.failed(IndexUnavailable("down"))
        time.now += 1
        breaker.require()


class TestFileLeadership:
    async def test_one_leads_until_it_leaves(self, tmp_path: Path) -> None:
        path = tmp_path / "data" / "lead"
        async with asyncio.timeout(10), FileLeadership(path, seconds=0.001) as second_to_none:
            await second_to_none.wait_until_elected()
            async with FileLeadership(path, seconds=0.001) as other:
                await other.wait_until_dismissed()
                assert (second_to_none.leads, other.leads) == (True, False)
                await second_to_none.__aexit__(None, None, None)
                await other.wait_until_elected()
                await second_to_none.wait_until_dismissed()
                assert (second_to_none.leads, other.leads) == (False, True)

    async def test_where_no_file_can_be_made_nobody_leads(self, tmp_path: Path) -> None:
        (tmp_path / "file").touch()
        async with FileLeadership(tmp_path / "file" / "lead") as leader:
            await asyncio.sleep(0)
            assert not leader.leads


@pytest.mark.parametrize("seed", range(3))
async def test_whatever_happens_what_is_found_is_true(seed: int, tmp_path: Path) -> None:
    dice = random.Random(seed)
    async with a_ground("local") as ground, AsyncExitStack() as stack:
        servers = Servers(folder=tmp_path, ground=ground, stack=stack)
        pair = [await servers.server(), await servers.server()]
        memories: list[Memory] = []
        for step in range(60):
            deed = dice.choice(
                ("remember", "remember", "revise", "purge", "settle", "settle", "rebuild", "delete", "pass")
            )
            if deed == "remember" or not memories:
                memories += await servers.remember(f"text {step} " * dice.choice((1, 500)))
            elif deed == "revise":
                place = dice.randrange(len(memories))
                memories[place] = await servers.revise(memories[place], f"new {step} " * dice.choice((1, 500)))
            elif deed == "purge":
                await servers.purge(memories.pop(dice.randrange(len(memories))))
            elif deed == "settle":
                await pair[0].settle()
            elif deed == "rebuild":
                await dice.choice(pair).rebuild()
            elif deed == "delete":
                await ground.server.delete_collection(ground.place.collection)
                await pair[0].settle()
            else:
                await pair[0].close()
                await leading(pair[1])
                pair = [pair[1], await servers.server()]
            servers.time += 60
            await servers.require_found(dice.choice(pair))
        await pair[0].settle()
        held = await servers.store.point_count(MODEL)
        assert ((await pair[0].describe())["points"], await pair[0].lag()) == (held, 0)
