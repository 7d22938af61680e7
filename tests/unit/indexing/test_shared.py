"""Servers that share an index: one keeps it, all read their own writes, and none waits for one that is gone."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack
from dataclasses import dataclass, field, replace
from pathlib import Path

import pytest
from tests.fakes import FakeEmbedder, FakeStore
from tests.fakes.build import MODEL, a_commit, a_memory, an_edge, vector_of, vectors_for
from tests.fakes.index import point_passes
from tests.qdrant import GROUNDS, Ground, a_ground
from tests.unit.indexing.world import CLOSE, QUERY, World

from scrubjay.errors import EmbeddingUnavailable, IndexUnavailable, StoreBusy
from scrubjay.indexing.file_leadership import FileLeadership
from scrubjay.indexing.shared import SharedIndex, SharedIndexParts
from scrubjay.indexing.shared_upkeep import SharedPolicy
from scrubjay.model.change import Change
from scrubjay.model.query import Filter
from scrubjay.ports import Profile
from scrubjay.vectors.qdrant import QdrantIndex

EVERYTHING = Filter()

# Nothing happens by itself within a test: every round is asked for.
STILL = SharedPolicy(poll=600, first_nap=600, longest_nap=600)


@dataclass(kw_only=True)
class Servers(World):
    """Servers of one store and one collection; `time` is what their breakers go by."""

    ground: Ground
    stack: AsyncExitStack
    time: float = 0.0
    made: list[SharedIndex] = field(default_factory=list[SharedIndex])

    async def server(self, *, policy: SharedPolicy = STILL) -> SharedIndex:
        """One more server, which leads unless another does."""
        index = self.silent_server(policy=policy)
        await index.open()
        if not self.made:
            await leading(index)
            await index.settle()
        self.made.append(index)
        return index

    def silent_server(self, *, policy: SharedPolicy = STILL) -> SharedIndex:
        """A server that has done nothing yet."""
        means = SharedIndexParts(
            profile=self.embedder.profile,
            index=self._index,
            leader=lambda _: FileLeadership(self.folder / "lead", seconds=0.001),
            clock=lambda: self.time,
        )
        index = SharedIndex(self.store, means, policy=policy)
        self.stack.push_async_callback(index.close)
        return index

    async def require_found(self, index: SharedIndex, *, filter: Filter = EVERYTHING, space: str = "default") -> int:
        """A search finds all that a comparison with every stored point finds; returns how much that is."""
        points = await self.store.points(MODEL, after=-1, limit=10**6)
        passing = [point for point in points if point.space == space and point_passes(point, filter)]
        true = {point.id: float(QUERY @ point.vector) for point in passing}
        results = await index.search(space, QUERY, filter, limit=10**5)
        assert dict(results).keys() == true.keys()
        assert all(abs(cosine - true[number]) < CLOSE for number, cosine in results)
        assert [cosine for _, cosine in results] == sorted((cosine for _, cosine in results), reverse=True)
        nearest = await index.search(space, QUERY, filter, limit=3)
        assert len(nearest) == min(3, len(results))
        assert all(near[1] > item[1] - CLOSE for near, item in zip(nearest, results, strict=False))
        return len(results)

    def _index(self, profile: Profile) -> QdrantIndex:
        return self.ground.index(store_id=self.store.store_id, model=profile.model, dimension=profile.dimension)


@pytest.fixture(params=GROUNDS)
async def ground(request: pytest.FixtureRequest) -> AsyncIterator[Ground]:
    async with a_ground(str(request.param)) as ground:
        yield ground


@pytest.fixture
async def servers(ground: Ground, tmp_path: Path) -> AsyncIterator[Servers]:
    async with AsyncExitStack() as stack:
        yield Servers(folder=tmp_path, ground=ground, stack=stack)


async def leading(index: SharedIndex) -> None:
    async with asyncio.timeout(10):
        while True:
            if (await index.describe()).get("leads"):
                return
            await asyncio.sleep(0.001)


async def told(index: SharedIndex, *names: str) -> tuple[str | int | bool, ...]:
    described = await index.describe()
    return tuple(described[name] for name in names)


class TestTogether:
    async def test_one_leads_and_both_read_their_own_writes(self, servers: Servers) -> None:
        await servers.remember("one", "two", kind="fact")
        first, second = await servers.server(), await servers.server()
        assert (await told(first, "leads"), await told(second, "leads")) == ((True,), (False,))
        assert await servers.require_found(first) == 2
        for index in (first, second):
            (memory,) = await servers.remember("three", kind="note")
            assert await servers.require_found(index, filter=Filter(kind="note")) == 1
            memory = await servers.revise(memory, "four, which is longer. " * 200)
            assert await servers.require_found(index) > 3
            memory = await servers.revise(memory, "five")
            await servers.purge(memory)
            assert await servers.require_found(index) == 2
        assert await told(first, "cursor") != (await servers.store.last_seq(),), "nobody has applied anything yet"

    async def test_what_is_applied_is_what_was_found_before(self, servers: Servers) -> None:
        first, second = await servers.server(), await servers.server()
        memories = await servers.remember(*(f"number {number}" for number in range(30)))
        await servers.purge(memories[3])
        await servers.revise(memories[4], "a new text")
        assert await servers.require_found(second) == 29
        await first.settle()
        assert await told(first, "points", "lag", "problem") == (29, 0, "")
        for index in (first, second):
            assert await servers.require_found(index) == 29
            assert await index.lag() == 0

    async def test_the_lead_passes_on(self, servers: Servers) -> None:
        await servers.remember("one")
        first, second = await servers.server(), await servers.server()
        await first.close()
        await leading(second)
        await servers.remember("two")
        await second.settle()
        assert await told(second, "points", "lag") == (2, 0)
        third = await servers.server()
        assert await servers.require_found(third) == 2

    async def test_a_commit_wakes_the_leader(self, servers: Servers) -> None:
        index = await servers.server()
        await servers.remember("one")
        await index.after_commit()
        async with asyncio.timeout(10):
            while await told(index, "points", "lag") != (1, 0):  # noqa: ASYNC110 - it is the leader's own doing
                await asyncio.sleep(0.001)

    async def test_spaces_and_states_are_kept_apart_in_the_log_too(self, servers: Servers) -> None:
        index = await servers.server()
        await servers.remember("mine", space="here")
        await servers.remember("yours", space="there")
        assert await servers.require_found(index, space="here") == 1
        assert await servers.require_found(index, space="nobody") == 0

    async def test_a_purge_is_removed_at_once_by_whoever_leads(self, servers: Servers) -> None:
        first, second = await servers.server(), await servers.server()
        item, two = await servers.remember("one", "two")
        await first.settle()
        await servers.purge(item)
        await first.after_purge()
        assert await told(first, "points") == (1,)
        await servers.purge(two)
        await second.after_purge()
        assert await servers.require_found(second) == 0

    async def test_many_search_at_once_and_each_finds_its_own(self, servers: Servers) -> None:
        index = await servers.server()

        async def write_and_search(number: int) -> bool:
            (memory,) = await servers.remember(f"number {number}", entity=f"entity {number}")
            results = await index.search("default", QUERY, Filter(entity=f"entity {number}"), limit=9)
            return len(results) == 1 and bool(memory.id)

        assert all(await asyncio.gather(*(write_and_search(number) for number in range(40))))

    async def test_relations_change_nothing(self, servers: Servers) -> None:
        index = await servers.server()
        item, two = await servers.remember("one", "two")
        await index.settle()
        await servers.store.commit(a_commit(an_edge(item, two)))
        assert await servers.require_found(index) == 2
        await index.settle()
        assert await told(index, "lag") == (0,)

    async def test_an_index_that_is_far_behind_says_so(self, servers: Servers) -> None:
        index = await servers.server(policy=SharedPolicy(poll=600, longest_tail=5, refresh_from=3))
        await servers.remember(*(f"number {number}" for number in range(4)))
        assert await servers.require_found(index) == 4
        await servers.remember("five", "six")
        with pytest.raises(IndexUnavailable, match="more than 5 changes behind"):
            await index.search("default", QUERY, Filter(), limit=3)
        assert "changes behind" in str((await told(index, "problem"))[0])
        await index.settle()
        assert await servers.require_found(index) == 6


class TestHealing:
    async def test_without_qdrant_writes_go_on_and_searches_fail_at_once(self, servers: Servers) -> None:
        servers.ground.cut()
        index = await servers.server()
        await servers.remember("one")
        await index.after_commit()
        with pytest.raises(IndexUnavailable, match="Qdrant cannot be reached"):
            await index.search("default", QUERY, Filter(), limit=3)
        kind, points, problem = await told(index, "kind", "points", "problem")
        assert (kind, points) == ("qdrant", 0)
        assert "Qdrant cannot be reached" in str(problem)
        assert await index.lag() == 1
        await index.rebuild()
        servers.ground.mend()
        with pytest.raises(IndexUnavailable):
            await index.search("default", QUERY, Filter(), limit=3)
        servers.time += 60
        assert await servers.require_found(index) == 1
        await index.settle()
        assert await told(index, "points", "lag", "problem") == (1, 0, "")

    async def test_an_outage_in_the_middle_is_made_up_for(self, servers: Servers) -> None:
        await servers.remember("one")
        first, second = await servers.server(), await servers.server()
        assert await servers.require_found(second) == 1
        servers.ground.cut()
        await servers.remember("two")
        with pytest.raises(IndexUnavailable):
            await second.search("default", QUERY, Filter(), limit=3)
        await first.settle()
        servers.ground.mend()
        await first.settle()
        assert await told(first, "points", "problem") == (2, "")
        servers.time += 60
        assert await servers.require_found(second) == 2

    async def test_a_collection_that_was_deleted_is_built_anew(self, servers: Servers) -> None:
        await servers.remember("one", "two")
        first, second = await servers.server(), await servers.server()
        assert await servers.require_found(second) == 2
        await servers.ground.server.delete_collection(servers.ground.place.collection)
        with pytest.raises(IndexUnavailable):
            await second.search("default", QUERY, Filter(), limit=3)
        await first.settle()
        assert await told(first, "points", "problem") == (2, "")
        servers.time += 60
        assert await servers.require_found(second) == 2

    async def test_whoever_leads_waits_for_a_small_index(self, servers: Servers) -> None:
        await servers.remember("one", "two")
        index = await servers.server()
        for _ in range(2):
            assert await servers.require_found(index) == 2
            await servers.ground.server.delete_collection(servers.ground.place.collection)
        assert await servers.require_found(index) == 2

    async def test_nobody_waits_for_a_large_one(self, servers: Servers) -> None:
        await servers.remember("one", "two")
        index = await servers.server(policy=replace(STILL, await_up_to=1))
        await servers.ground.server.delete_collection(servers.ground.place.collection)
        with pytest.raises(IndexUnavailable):
            await index.search("default", QUERY, Filter(), limit=3)
        await index.settle()
        assert await servers.require_found(index) == 2

    async def test_the_index_of_another_store_is_replaced(self, servers: Servers) -> None:
        await servers.remember("one", "two")
        first = await servers.server()
        await first.close()
        other = Servers(folder=servers.folder, ground=servers.ground, stack=servers.stack, store=FakeStore())
        assert other.store.store_id != servers.store.store_id
        await other.remember("three")
        index = await other.server()
        assert await other.require_found(index) == 1
        assert await told(index, "points") == (1,)

    async def test_an_index_that_knows_more_than_the_store_is_replaced(self, servers: Servers) -> None:
        ahead = await servers.ground.whole_index(store_id=servers.store.store_id)
        await ahead.apply([], [], cursor=1000)
        await servers.remember("one")
        index = await servers.server()
        assert await told(index, "points", "cursor", "lag") == (1, 1, 0)

    async def test_another_model_has_an_index_of_its_own(self, servers: Servers) -> None:
        await servers.remember("one")
        first = await servers.server()
        await first.close()
        servers.embedder = FakeEmbedder(model="other", dimension=8)
        memory = a_memory("two")
        await servers.store.commit(a_commit(memory, embedded=vectors_for([memory], model="other", dimension=8)))
        servers.made.clear()
        index = await servers.server()
        assert len(await index.search("default", vector_of(b"q", dimension=8), Filter(), limit=9)) == 1
        assert await told(index, "points") == (1,)
        assert (await servers.ground.server.count(servers.ground.place.collection)).count == 4, "and the old one stays"

    async def test_a_rebuild_replaces_every_point_while_the_old_ones_answer(self, servers: Servers) -> None:
        memories = await servers.remember("one", "two")
        first, second = await servers.server(), await servers.server()
        # A point that the store knows nothing of, as a lost delete would leave it.
        ghost = servers.ground.index(store_id=servers.store.store_id)
        await ghost.look()
        (point,) = (await servers.store.points(MODEL, after=-1, limit=9))[:1]
        await ghost.apply([replace(point, id=10**6)], [], cursor=ghost.cursor)
        assert len(await second.search("default", QUERY, Filter(), limit=9)) == 3
        await second.rebuild()
        await servers.revise(memories[0], "three")
        await first.settle()
        assert await told(first, "points", "lag", "building") == (2, 0, False)
        assert await servers.require_found(second) == 2
        await first.rebuild()
        assert await servers.require_found(first) == 2

    async def test_a_vector_that_cannot_be_used_keeps_no_other_from_being_found(self, servers: Servers) -> None:
        index = await servers.server()
        (memory,) = memories = [a_memory("broken")]
        await servers.store.commit(a_commit(memory, embedded=vectors_for(memories, dimension=3)))
        await servers.remember("one")
        assert len(await index.search("default", QUERY, Filter(), limit=9)) == 1
        await index.settle()
        assert await told(index, "points", "lag", "problem") == (1, 0, "")

    async def test_a_store_that_fails_for_a_moment_is_asked_again(self, servers: Servers) -> None:
        servers.store = busy = Busy()
        index = await servers.server()
        await servers.remember("one")
        busy.is_busy = True
        await index.settle()
        assert "busy on purpose" in str((await told(index, "problem"))[0])
        busy.is_busy = False
        await index.settle()
        assert await told(index, "points", "problem") == (1, "")


class TestBeginning:
    async def test_without_a_model_nothing_begins(self, servers: Servers) -> None:
        servers.embedder = FakeEmbedder(failing=True)
        index = servers.silent_server()
        with pytest.raises(EmbeddingUnavailable):
            await index.open()
        await index.after_commit()
        await index.rebuild()
        await index.settle()
        assert (await index.lag(), await told(index, "kind", "problem")) == (0, ("none", ""))
        servers.embedder.failing = False
        await index.open()
        await leading(index)

    async def test_it_tells_where_it_is(self, servers: Servers) -> None:
        index = await servers.server()
        place = servers.ground.place
        assert await told(index, "kind", "url", "collection") == ("qdrant", place.shown_url, place.collection)

    async def test_closing_twice_is_closing_once(self, servers: Servers) -> None:
        index = await servers.server()
        await index.close()
        await index.close()
        await index.open()
        await leading(index)


class Busy(FakeStore):
    """A store whose log cannot be read now and then."""

    is_busy = False

    async def changes(self, *, after: int, limit: int) -> list[Change]:
        if self.is_busy:
            raise StoreBusy("busy on purpose")
        return await super().changes(after=after, limit=limit)
