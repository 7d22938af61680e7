"""Servers that share an index: one updates it, all read their own writes, and none waits for a missing server."""

import asyncio
import random
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack
from dataclasses import dataclass, field, replace
from pathlib import Path

import apsw
import numpy as np
import pytest
from tests.fakes import FakeEmbedder
from tests.fakes.build import DIMENSION, MODEL, a_commit, a_memory, an_edge, point_passes, vector_of, vectors_for
from tests.new_files import NewStores
from tests.patience import PATIENCE
from tests.qdrant import QDRANT_BACKENDS, QdrantBackend, qdrant_backend
from tests.unit.indexing.harness import CLOSE, QUERY, IndexHarness

from scrubjay.errors import EmbeddingUnavailable, IndexUnavailable, StoreBusy
from scrubjay.indexing.shared_index import IndexBreaker, SharedIndex, SharedIndexParts
from scrubjay.indexing.shared_leader import FileLeadership
from scrubjay.indexing.shared_updater import SharedIndexPolicy
from scrubjay.model.change import Change
from scrubjay.model.memory import Memory
from scrubjay.model.query import Filter
from scrubjay.ports import Profile
from scrubjay.storage.sqlite import SqliteStore
from scrubjay.vectors.qdrant import QdrantIndex

EVERYTHING = Filter()

# Updates happen only when a test requests them.
STILL = SharedIndexPolicy(poll=600, first_retry=600, max_retry=600)


@dataclass(kw_only=True)
class Servers(IndexHarness):
    """Servers of one store and one collection; `time` is the clock of their circuit breakers."""

    qdrant: QdrantBackend
    stack: AsyncExitStack
    time: float = 0.0
    made: list[SharedIndex] = field(default_factory=list[SharedIndex])

    async def server(self, *, policy: SharedIndexPolicy = STILL) -> SharedIndex:
        """Start another server, which leads unless another does."""
        index = self.silent_server(policy=policy)
        await index.open()
        if not self.made:
            await wait_until_leading(index)
            await index.settle()
        self.made.append(index)
        return index

    def silent_server(self, *, policy: SharedIndexPolicy = STILL) -> SharedIndex:
        """Return a server that has done nothing yet."""
        parts = SharedIndexParts(
            profile=self.embedder.profile,
            index=self._index,
            candidacy=lambda _: FileLeadership(self.folder / "lead", seconds=0.001),
            clock=lambda: self.time,
        )
        index = SharedIndex(self.store, parts, policy=policy)
        self.stack.push_async_callback(index.close)
        return index

    async def check_shared_search(
        self, index: SharedIndex, *, filter: Filter = EVERYTHING, space: str = "default"
    ) -> int:
        """Compare a search with an exact comparison of every stored point; returns the number of hits."""
        points = await self.store.points(MODEL, after=-1, limit=10**6)
        passing = [point for point in points if point.space == space and point_passes(point, filter)]
        expected = {point.id: float(QUERY @ point.vector) for point in passing}
        results = await index.search(space, QUERY, filter, limit=10**5)
        assert dict(results).keys() == expected.keys()
        assert all(abs(cosine - expected[number]) < CLOSE for number, cosine in results)
        assert [cosine for _, cosine in results] == sorted((cosine for _, cosine in results), reverse=True)
        nearest = await index.search(space, QUERY, filter, limit=3)
        assert len(nearest) == min(3, len(results))
        assert all(near[1] > hit[1] - CLOSE for near, hit in zip(nearest, results, strict=False))
        return len(results)

    def _index(self, profile: Profile) -> QdrantIndex:
        return self.qdrant.index(store_id=self.store.store_id, model=profile.model, dimension=profile.dimension)


@pytest.fixture(params=QDRANT_BACKENDS)
async def qdrant(request: pytest.FixtureRequest) -> AsyncIterator[QdrantBackend]:
    async with qdrant_backend(str(request.param)) as qdrant:
        yield qdrant


@pytest.fixture
async def servers(qdrant: QdrantBackend, tmp_path: Path, store: SqliteStore) -> AsyncIterator[Servers]:
    async with AsyncExitStack() as stack:
        yield Servers(folder=tmp_path, qdrant=qdrant, stack=stack, store=store)


async def wait_until_leading(index: SharedIndex) -> None:
    async with asyncio.timeout(PATIENCE):
        while True:
            if (await index.describe()).get("leads"):
                return
            await asyncio.sleep(0.001)


async def status_of(index: SharedIndex, *names: str) -> tuple[str | int | bool, ...]:
    described = await index.describe()
    return tuple(described[name] for name in names)


class TestSharing:
    async def test_one_leads_and_both_read_their_own_writes(self, servers: Servers) -> None:
        await servers.remember("one", "two", kind="fact")
        first, second = await servers.server(), await servers.server()
        assert (await status_of(first, "leads"), await status_of(second, "leads")) == ((True,), (False,))
        assert await servers.check_shared_search(first) == 2
        for index in (first, second):
            (memory,) = await servers.remember("three", kind="note")
            assert await servers.check_shared_search(index, filter=Filter(kind="note")) == 1
            memory = await servers.revise(memory, "four, which is longer. " * 200)
            assert await servers.check_shared_search(index) > 3
            memory = await servers.revise(memory, "five")
            await servers.purge(memory)
            assert await servers.check_shared_search(index) == 2
        assert await status_of(first, "cursor") != (await servers.store.last_seq(),), "nothing is applied yet"

    async def test_applied_changes_give_the_same_results_as_unapplied_ones(self, servers: Servers) -> None:
        first, second = await servers.server(), await servers.server()
        memories = await servers.remember(*(f"number {number}" for number in range(30)))
        await servers.purge(memories[3])
        await servers.revise(memories[4], "a new text")
        assert await servers.check_shared_search(second) == 29
        await first.settle()
        assert await status_of(first, "points", "lag", "problem") == (29, 0, "")
        for index in (first, second):
            assert await servers.check_shared_search(index) == 29
            assert await index.lag() == 0

    async def test_the_lead_passes_on(self, servers: Servers) -> None:
        await servers.remember("one")
        first, second = await servers.server(), await servers.server()
        await first.close()
        await wait_until_leading(second)
        await servers.remember("two")
        await second.settle()
        assert await status_of(second, "points", "lag") == (2, 0)
        third = await servers.server()
        assert await servers.check_shared_search(third) == 2

    async def test_a_commit_wakes_the_leader(self, servers: Servers) -> None:
        index = await servers.server()
        await servers.remember("one")
        await index.after_commit()
        async with asyncio.timeout(PATIENCE):
            while await status_of(index, "points", "lag") != (1, 0):  # noqa: ASYNC110 - the leader works by itself
                await asyncio.sleep(0.001)

    async def test_spaces_and_states_are_kept_apart_in_the_log_too(self, servers: Servers) -> None:
        index = await servers.server()
        await servers.remember("mine", space="here")
        await servers.remember("yours", space="there")
        assert await servers.check_shared_search(index, space="here") == 1
        assert await servers.check_shared_search(index, space="nowhere") == 0

    async def test_the_leader_removes_a_purge_at_once(self, servers: Servers) -> None:
        first, second = await servers.server(), await servers.server()
        first_memory, second_memory = await servers.remember("one", "two")
        await first.settle()
        await servers.purge(first_memory)
        await first.after_purge()
        assert await status_of(first, "points") == (1,)
        await servers.purge(second_memory)
        await second.after_purge()
        assert await servers.check_shared_search(second) == 0

    async def test_many_search_at_once_and_each_finds_its_own(self, servers: Servers) -> None:
        index = await servers.server()

        async def write_and_search(number: int) -> bool:
            (memory,) = await servers.remember(f"number {number}", entity=f"entity {number}")
            results = await index.search("default", QUERY, Filter(entity=f"entity {number}"), limit=9)
            return len(results) == 1 and bool(memory.id)

        assert all(await asyncio.gather(*(write_and_search(number) for number in range(40))))

    async def test_relations_change_nothing(self, servers: Servers) -> None:
        index = await servers.server()
        first_memory, second_memory = await servers.remember("one", "two")
        await index.settle()
        await servers.store.commit(a_commit(an_edge(first_memory, second_memory)))
        assert await servers.check_shared_search(index) == 2
        await index.settle()
        assert await status_of(index, "lag") == (0,)

    async def test_an_index_that_is_far_behind_says_so(self, servers: Servers) -> None:
        index = await servers.server(policy=SharedIndexPolicy(poll=600, max_unapplied=5, refresh_from=3))
        await servers.remember(*(f"number {number}" for number in range(4)))
        assert await servers.check_shared_search(index) == 4
        await servers.remember("five", "six")
        with pytest.raises(IndexUnavailable, match="more than 5 changes behind"):
            await index.search("default", QUERY, Filter(), limit=3)
        assert "changes behind" in str((await status_of(index, "problem"))[0])
        await index.settle()
        assert await servers.check_shared_search(index) == 6


class TestRecovery:
    async def test_without_qdrant_writes_go_on_and_searches_fail_at_once(self, servers: Servers) -> None:
        servers.qdrant.disconnect()
        index = await servers.server()
        await servers.remember("one")
        await index.after_commit()
        with pytest.raises(IndexUnavailable, match="Qdrant cannot be reached"):
            await index.search("default", QUERY, Filter(), limit=3)
        kind, points, problem = await status_of(index, "kind", "points", "problem")
        assert (kind, points) == ("qdrant", 0)
        assert "Qdrant cannot be reached" in str(problem)
        assert await index.lag() == 1
        await index.rebuild()
        servers.qdrant.reconnect()
        with pytest.raises(IndexUnavailable):
            await index.search("default", QUERY, Filter(), limit=3)
        servers.time += 60
        assert await servers.check_shared_search(index) == 1
        await index.settle()
        assert await status_of(index, "points", "lag", "problem") == (1, 0, "")

    async def test_changes_during_an_outage_are_applied_later(self, servers: Servers) -> None:
        await servers.remember("one")
        first, second = await servers.server(), await servers.server()
        assert await servers.check_shared_search(second) == 1
        servers.qdrant.disconnect()
        await servers.remember("two")
        with pytest.raises(IndexUnavailable):
            await second.search("default", QUERY, Filter(), limit=3)
        await first.settle()
        servers.qdrant.reconnect()
        await first.settle()
        assert await status_of(first, "points", "problem") == (2, "")
        servers.time += 60
        assert await servers.check_shared_search(second) == 2

    async def test_a_deleted_collection_is_rebuilt(self, servers: Servers) -> None:
        await servers.remember("one", "two")
        first, second = await servers.server(), await servers.server()
        assert await servers.check_shared_search(second) == 2
        await servers.qdrant.server.delete_collection(servers.qdrant.address.collection)
        with pytest.raises(IndexUnavailable):
            await second.search("default", QUERY, Filter(), limit=3)
        await first.settle()
        assert await status_of(first, "points", "problem") == (2, "")
        servers.time += 60
        assert await servers.check_shared_search(second) == 2

    async def test_the_leader_waits_for_a_small_index(self, servers: Servers) -> None:
        await servers.remember("one", "two")
        index = await servers.server()
        for _ in range(2):
            assert await servers.check_shared_search(index) == 2
            await servers.qdrant.server.delete_collection(servers.qdrant.address.collection)
        assert await servers.check_shared_search(index) == 2

    async def test_no_search_waits_for_a_large_index(self, servers: Servers) -> None:
        await servers.remember("one", "two")
        index = await servers.server(policy=replace(STILL, await_up_to=1))
        await servers.qdrant.server.delete_collection(servers.qdrant.address.collection)
        with pytest.raises(IndexUnavailable):
            await index.search("default", QUERY, Filter(), limit=3)
        await index.settle()
        assert await servers.check_shared_search(index) == 2

    async def test_the_index_of_another_store_is_replaced(self, servers: Servers, new_store: NewStores) -> None:
        await servers.remember("one", "two")
        first = await servers.server()
        await first.close()
        other = Servers(folder=servers.folder, qdrant=servers.qdrant, stack=servers.stack, store=new_store())
        assert other.store.store_id != servers.store.store_id
        await other.remember("three")
        index = await other.server()
        assert await other.check_shared_search(index) == 1
        assert await status_of(index, "points") == (1,)

    async def test_an_index_that_is_ahead_of_the_store_is_replaced(self, servers: Servers) -> None:
        ahead = await servers.qdrant.complete_index(store_id=servers.store.store_id)
        await ahead.apply([], [], cursor=1000)
        await servers.remember("one")
        index = await servers.server()
        assert await status_of(index, "points", "cursor", "lag") == (1, 1, 0)

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
        assert await status_of(index, "points") == (1,)
        assert (await servers.qdrant.server.count(servers.qdrant.address.collection)).count == 4, (
            "and the old one stays"
        )

    async def test_a_rebuild_replaces_every_point_while_the_old_ones_answer(self, servers: Servers) -> None:
        memories = await servers.remember("one", "two")
        first, second = await servers.server(), await servers.server()
        # A point that is not in the store, as a lost delete would leave it.
        ghost = servers.qdrant.index(store_id=servers.store.store_id)
        await ghost.read_state()
        (point,) = (await servers.store.points(MODEL, after=-1, limit=9))[:1]
        await ghost.apply([replace(point, id=10**6)], [], cursor=ghost.cursor)
        assert len(await second.search("default", QUERY, Filter(), limit=9)) == 3
        await second.rebuild()
        await servers.revise(memories[0], "three")
        await first.settle()
        assert await status_of(first, "points", "lag", "building") == (2, 0, False)
        assert await servers.check_shared_search(second) == 2
        await first.rebuild()
        assert await servers.check_shared_search(first) == 2

    async def test_an_invalid_vector_hides_no_other(self, servers: Servers) -> None:
        index = await servers.server()
        await servers.remember("broken")
        assert isinstance(servers.store, SqliteStore)
        file = apsw.Connection(str(servers.store.path))
        file.execute("UPDATE vectors SET vector = ?", (np.full(DIMENSION, np.nan, dtype=np.float16).tobytes(),))
        file.close()
        await servers.remember("one")
        assert len(await index.search("default", QUERY, Filter(), limit=9)) == 1
        await index.settle()
        assert await status_of(index, "points", "lag", "problem") == (1, 0, "")

    async def test_a_store_that_fails_for_a_moment_is_tried_again(self, servers: Servers, new_store: NewStores) -> None:
        servers.store = busy = new_store(BusyStore)
        index = await servers.server()
        await servers.remember("one")
        busy.is_busy = True
        await index.settle()
        assert "busy on purpose" in str((await status_of(index, "problem"))[0])
        busy.is_busy = False
        await index.settle()
        assert await status_of(index, "points", "problem") == (1, "")


class TestOpening:
    async def test_without_a_model_nothing_begins(self, servers: Servers) -> None:
        servers.embedder = FakeEmbedder(failing=True)
        index = servers.silent_server()
        with pytest.raises(EmbeddingUnavailable):
            await index.open()
        await index.after_commit()
        await index.rebuild()
        await index.settle()
        assert (await index.lag(), await status_of(index, "kind", "problem")) == (0, ("none", ""))
        servers.embedder.failing = False
        await index.open()
        await wait_until_leading(index)

    async def test_it_reports_its_location(self, servers: Servers) -> None:
        index = await servers.server()
        address = servers.qdrant.address
        assert await status_of(index, "kind", "url", "collection") == ("qdrant", address.shown_url, address.collection)

    async def test_closing_twice_is_closing_once(self, servers: Servers) -> None:
        index = await servers.server()
        await index.close()
        await index.close()
        await index.open()
        await wait_until_leading(index)


class BusyStore(SqliteStore):
    """A store whose log is unreadable while `is_busy` is set."""

    is_busy = False

    async def changes(self, *, after: int, limit: int) -> list[Change]:
        if self.is_busy:
            raise StoreBusy("busy on purpose")
        return await super().changes(after=after, limit=limit)


class SetClock:
    """A clock that tests set."""

    now = 0.0

    def __call__(self) -> float:
        return self.now


class TestBreaker:
    def test_it_pauses_longer_each_time_and_lets_one_call_try(self) -> None:
        time = SetClock()
        breaker = IndexBreaker(first_pause=1, max_pause=3, clock=time)
        breaker.check()
        for pause in (1, 2, 3, 3):
            breaker.record_failure(IndexUnavailable("down", hint="wait", reason="unreachable"))
            time.now += pause - 0.1
            with pytest.raises(IndexUnavailable, match="down") as caught:
                breaker.check()
            assert caught.value.fields == {"reason": "unreachable"}
            time.now += 0.2
            breaker.check()
            with pytest.raises(IndexUnavailable):
                breaker.check()
        breaker.record_success()
        breaker.check()
        breaker.record_failure(IndexUnavailable("down"))
        time.now += 1
        breaker.check()


@pytest.mark.parametrize("seed", range(3))
async def test_searches_are_correct_after_any_sequence_of_events(seed: int, tmp_path: Path, store: SqliteStore) -> None:
    dice = random.Random(seed)
    async with qdrant_backend("local") as qdrant, AsyncExitStack() as stack:
        servers = Servers(folder=tmp_path, qdrant=qdrant, stack=stack, store=store)
        pair = [await servers.server(), await servers.server()]
        memories: list[Memory] = []
        for step in range(60):
            event = dice.choice(
                ("remember", "remember", "revise", "purge", "settle", "settle", "rebuild", "delete", "pass")
            )
            if event == "remember" or not memories:
                memories += await servers.remember(f"text {step} " * dice.choice((1, 500)))
            elif event == "revise":
                position = dice.randrange(len(memories))
                memories[position] = await servers.revise(memories[position], f"new {step} " * dice.choice((1, 500)))
            elif event == "purge":
                await servers.purge(memories.pop(dice.randrange(len(memories))))
            elif event == "settle":
                await pair[0].settle()
            elif event == "rebuild":
                await dice.choice(pair).rebuild()
            elif event == "delete":
                await qdrant.server.delete_collection(qdrant.address.collection)
                await pair[0].settle()
            else:
                await pair[0].close()
                await wait_until_leading(pair[1])
                pair = [pair[1], await servers.server()]
            servers.time += 60
            await servers.check_shared_search(dice.choice(pair))
        await pair[0].settle()
        held = await servers.store.point_count(MODEL)
        assert ((await pair[0].describe())["points"], await pair[0].lag()) == (held, 0)
