"""A local index always answers, including everything committed, even if its files are lost or damaged."""

import asyncio
from collections.abc import Awaitable, Callable, Iterator
from pathlib import Path

import pytest
from tests.fakes import FakeEmbedder
from tests.fakes.build import DIMENSION, MODEL, vector_of
from tests.new_files import NewStores
from tests.unit.indexing.harness import (
    QUERY,
    BreakableIndex,
    IndexHarness,
    UnflushableIndex,
    generation_of,
    kind_of,
    problem_of,
)

from scrubjay.errors import EmbeddingUnavailable, InvalidInput, StoreBusy
from scrubjay.indexing.generations import LocalIndexPolicy
from scrubjay.model.identity import new_id
from scrubjay.model.query import Filter
from scrubjay.storage.sqlite import SqliteStore
from scrubjay.vectors.edge import EdgeIndex
from scrubjay.vectors.edge_codec import facet_number

# Every index is built in a child process.
LARGE = LocalIndexPolicy(inline_up_to=0)


@pytest.fixture
def harness(tmp_path: Path, store: SqliteStore) -> IndexHarness:
    return IndexHarness(folder=tmp_path / "index", store=store)


class TestOpening:
    async def test_nothing_is_opened_before_it_is_needed(self, harness: IndexHarness) -> None:
        index = harness.local_index()
        await harness.remember("one")
        await index.after_commit()
        assert await index.describe() == {
            "kind": "none", "generation": "", "points": 0, "cursor": 0, "lag": 1,
            "holder": False, "building": False, "problem": "",
        }  # fmt: skip
        await index.close()
        assert not harness.folder.exists()

    async def test_the_first_search_builds_a_small_index(self, harness: IndexHarness) -> None:
        await harness.remember("one", "two", "three")
        index = harness.local_index()
        assert await harness.check_search(index) == 3
        assert await index.describe() == {
            "kind": "edge", "generation": "gen-0001", "points": 3, "cursor": 3, "lag": 0,
            "holder": True, "building": False, "problem": "",
        }  # fmt: skip
        assert harness.builds == 0
        await index.close()

    async def test_an_empty_store_has_an_index_too(self, harness: IndexHarness) -> None:
        index = harness.local_index()
        assert await harness.check_search(index) == 0
        await harness.remember("one")
        assert await harness.check_search(index) == 1
        assert await generation_of(index) == "gen-0001"
        await index.close()

    async def test_the_next_process_opens_what_is_there(self, harness: IndexHarness) -> None:
        await harness.remember("one", "two")
        for extra in range(3):
            index = harness.local_index()
            assert await harness.check_search(index) == 2 + extra
            assert await generation_of(index) == "gen-0001"
            await harness.remember(f"more {extra}")
            await index.close()

    async def test_without_a_model_it_cannot_open(self, harness: IndexHarness) -> None:
        harness.embedder = FakeEmbedder(failing=True)
        index = harness.local_index()
        with pytest.raises(EmbeddingUnavailable):
            await index.search("default", QUERY, Filter(), limit=3)
        harness.embedder.failing = False
        await harness.remember("one")
        assert await harness.check_search(index) == 1
        await index.close()

    async def test_a_bad_question_is_refused_and_harms_nothing(self, harness: IndexHarness) -> None:
        await harness.remember("one")
        index = harness.local_index()
        with pytest.raises(InvalidInput):
            await index.search("default", QUERY[:3], Filter(), limit=3)
        assert await kind_of(index) == "edge"
        await index.close()

    async def test_many_questions_at_once_get_the_same_answers(self, harness: IndexHarness) -> None:
        harness.kind = BreakableIndex
        await harness.remember(*(f"number {number}" for number in range(30)))
        index = harness.local_index()
        vectors = [vector_of(b"question %d" % number) for number in range(25)]
        each = [await index.search("default", vector, Filter(), limit=5) for vector in vectors]
        assert await index.search_many("default", vectors, Filter(), limit=5) == each
        BreakableIndex.broken = True
        scanned = await index.search_many("default", vectors, Filter(), limit=5)
        BreakableIndex.broken = False
        # An index on disk rounds, so that others may be the fifth.
        assert [len(hits) for hits in scanned] == [5] * len(vectors)
        assert await kind_of(index) == "scan"
        await index.settle()
        await index.close()

    async def test_closed_it_may_be_opened_again(self, harness: IndexHarness) -> None:
        await harness.remember("one")
        index = harness.local_index()
        await index.close()
        for _ in range(2):
            assert await harness.check_search(index) == 1
            await index.close()
            assert await kind_of(index) == "none"


class TestFollowing:
    async def test_a_caller_reads_its_own_writes_and_those_of_others(self, harness: IndexHarness) -> None:
        index = harness.local_index()
        (memory, _) = await harness.remember("word " * 900, "two", kind="fact")
        assert await harness.check_search(index) > 3
        await harness.revise(memory, "short")
        await index.after_commit()
        assert (await index.describe())["lag"] == 0
        assert await harness.check_search(index) == 2
        await harness.remember("three", space="there")
        assert await harness.check_search(index, space="there") == 1
        assert await harness.check_search(index, filter=Filter(kind="fact")) == 2
        assert await generation_of(index) == "gen-0001"
        await index.close()

    async def test_far_behind_it_is_rebuilt(self, harness: IndexHarness) -> None:
        policy = LocalIndexPolicy(rebuild_when_behind=5)
        index = harness.local_index(policy=policy)
        assert await harness.check_search(index) == 0
        await harness.remember(*(f"{number}" for number in range(6)))
        assert await harness.check_search(index) == 6
        await index.settle()
        assert await harness.check_search(index) == 6
        assert (await kind_of(index), await generation_of(index)) == ("edge", "gen-0002")
        await index.close()
        await harness.remember(*(f"more {number}" for number in range(6)))
        index = harness.local_index(policy=policy)
        assert await harness.check_search(index) == 12
        assert harness.generations() == ["gen-0003"]
        await index.close()

    async def test_a_store_that_fails_after_a_commit_does_not_fail_the_commit(
        self, harness: IndexHarness, new_store: NewStores
    ) -> None:
        class BusyStore(SqliteStore):
            busy = False

            async def last_seq(self) -> int:
                if self.busy:
                    raise StoreBusy("busy")
                return await super().last_seq()

        harness.store = store = new_store(BusyStore)
        index = harness.local_index()
        await harness.check_search(index)
        await harness.remember("one")
        store.busy = True
        await index.after_commit()
        store.busy = False
        assert await harness.check_search(index) == 1
        assert await kind_of(index) == "edge"
        await index.close()


class TestBuilding:
    async def test_a_scan_answers_until_a_large_index_is_built(self, harness: IndexHarness) -> None:
        may_build = asyncio.Event()

        async def build(target: Path) -> None:
            await may_build.wait()
            await harness.build(target)

        await harness.remember("one", "two")
        index = harness.local_index(policy=LARGE, build=build)
        assert await harness.check_search(index) == 2
        reported = await index.describe()
        assert (reported["kind"], reported["building"], reported["problem"]) == ("scan", True, "")
        (memory,) = await harness.remember("three")
        assert await harness.check_search(index) == 3
        may_build.set()
        await harness.revise(memory, "four")
        await index.settle()
        assert await kind_of(index) == "edge"
        assert await harness.check_search(index) == 3
        assert harness.generations() == ["gen-0001"]
        await index.close()

    async def test_what_was_written_during_the_build_is_in_the_next_generation(self, harness: IndexHarness) -> None:
        async def build(target: Path) -> None:
            await harness.build(target)
            await harness.revise(memory, "short")
            await harness.remember("meanwhile")

        (memory, _) = await harness.remember("word " * 900, "two")
        index = harness.local_index(policy=LARGE, build=build)
        await harness.check_search(index)
        await index.settle()
        assert (await index.describe())["lag"] == 0
        assert await harness.check_search(index) == 3
        assert await kind_of(index) == "edge"
        await index.close()

    async def test_much_that_was_added_is_optimised_beside_the_searches(self, harness: IndexHarness) -> None:
        index = harness.local_index(policy=LocalIndexPolicy(optimise_from=10))
        await harness.check_search(index)
        await harness.remember(*(f"{number}" for number in range(9)))
        await index.after_commit()
        assert not (await index.describe())["building"]
        await harness.remember("the tenth")
        await index.after_commit()
        assert (await index.describe())["building"]
        assert await harness.check_search(index) == 10
        await index.settle()
        assert await generation_of(index) == "gen-0002"
        assert harness.generations() == ["gen-0002"]
        assert await harness.check_search(index) == 10
        await index.settle()
        assert await generation_of(index) == "gen-0002"
        await index.close()

    async def test_searches_and_writes_go_on_through_many_swaps(self, harness: IndexHarness) -> None:
        index = harness.local_index(policy=LocalIndexPolicy(inline_up_to=0, optimise_from=5, optimise_at=5))
        await harness.remember("first")
        for number in range(40):
            await harness.remember(f"{number}")
            results, _ = await asyncio.gather(
                index.search("default", QUERY, Filter(), limit=1000), index.after_commit()
            )
            assert len(results) == number + 2
        await index.settle()
        assert await generation_of(index) > "gen-0003"
        assert await problem_of(index) == ""
        await index.close()

    @pytest.mark.parametrize("more", [0, 1])
    async def test_a_search_that_waited_through_a_swap_uses_the_new_one(
        self, harness: IndexHarness, more: int, new_store: NewStores
    ) -> None:
        class InterruptedStore(SqliteStore):
            interrupt: Callable[[], Awaitable[None]] | None = None

            async def last_seq(self) -> int:
                interrupt, self.interrupt = self.interrupt, None
                results = await super().last_seq()
                if interrupt:
                    await interrupt()
                return results

        harness.store = store = new_store(InterruptedStore)
        await harness.remember("one")
        index = harness.local_index()
        await harness.check_search(index)
        await harness.remember(*["two"] * more)
        store.interrupt = index.rebuild
        assert len(await index.search("default", QUERY, Filter(), limit=9)) == 1 + more
        assert (await generation_of(index), await problem_of(index)) == ("gen-0002", "")
        await index.close()

    async def test_a_build_that_fails_is_reported_and_not_tried_for_ever(self, harness: IndexHarness) -> None:
        tries = 0

        async def build(target: Path) -> None:
            nonlocal tries
            tries += 1
            _begin(target)
            raise OSError("no luck")

        await harness.remember("one")
        index = harness.local_index(policy=LARGE, build=build)
        for _ in range(20):
            assert await harness.check_search(index) == 1
            await index.settle()
        assert await problem_of(index) == "no luck"
        assert tries == LARGE.attempts
        assert harness.generations() == []
        assert await kind_of(index) == "scan"
        await index.close()

    async def test_a_build_that_leaves_nothing_is_a_failure(self, harness: IndexHarness) -> None:
        async def build(target: Path) -> None:
            _begin(target)

        await harness.remember("one")
        index = harness.local_index(policy=LARGE, build=build)
        await harness.check_search(index)
        await index.settle()
        assert "no complete vector index" in await problem_of(index)
        assert harness.generations() == []
        await index.close()

    async def test_closing_ends_a_build(self, harness: IndexHarness) -> None:
        begun, ended = asyncio.Event(), asyncio.Event()

        async def build(target: Path) -> None:
            _begin(target)
            begun.set()
            try:
                await asyncio.Event().wait()
            finally:
                ended.set()

        await harness.remember("one")
        index = harness.local_index(policy=LARGE, build=build)
        await harness.check_search(index)
        await begun.wait()
        await index.close()
        assert ended.is_set()
        assert harness.generations() == []
        again = harness.local_index(policy=LARGE)
        await again.open()
        await again.settle()
        assert await kind_of(again) == "edge"
        await again.close()

    async def test_a_cancelled_search_leaves_the_index_usable(self, harness: IndexHarness) -> None:
        await harness.remember(*(f"{number}" for number in range(50)))
        index = harness.local_index()
        for pauses in range(12):
            search = asyncio.create_task(index.search("default", QUERY, Filter(), limit=3))
            for _ in range(pauses):
                await asyncio.sleep(0)
            search.cancel()
            await asyncio.wait({search})
        assert await harness.check_search(index) == 50
        await index.settle()
        assert await kind_of(index) == "edge"
        await index.close()


class TestSeveralProcesses:
    async def test_a_process_that_does_not_hold_the_index_scans(self, harness: IndexHarness) -> None:
        await harness.remember("one", "two")
        holder, other = harness.local_index(), harness.local_index()
        assert await harness.check_search(holder) == 2
        assert await harness.check_search(other) == 2
        assert (await kind_of(holder), await kind_of(other)) == ("edge", "scan")
        await harness.remember("three")
        await other.after_commit()
        assert await harness.check_search(other, filter=Filter(kind="note")) == 3
        assert await harness.check_search(holder) == 3
        await other.rebuild()
        assert await generation_of(holder) == "gen-0001"
        assert not (await other.describe())["holder"]
        await other.close()
        await holder.close()

    async def test_the_index_passes_to_the_remaining_process(self, harness: IndexHarness) -> None:
        await harness.remember("one")
        first, second = harness.local_index(), harness.local_index()
        await harness.check_search(first)
        await harness.check_search(second)
        await first.close()
        await harness.remember("two")
        assert await harness.check_search(second) == 2
        assert (await kind_of(second), await generation_of(second)) == ("edge", "gen-0001")
        assert await harness.check_search(first) == 2
        assert await kind_of(first) == "scan"
        await second.close()
        await first.close()

    async def test_a_folder_that_cannot_be_written_means_a_scan(self, harness: IndexHarness, tmp_path: Path) -> None:
        (tmp_path / "file").write_text("x")
        harness.folder = tmp_path / "file" / "index"
        await harness.remember("one")
        index = harness.local_index()
        assert await harness.check_search(index) == 1
        await index.rebuild()
        assert await kind_of(index) == "scan"
        await index.close()


class TestInMemory:
    async def test_nothing_is_written_for_an_encrypted_store(self, harness: IndexHarness) -> None:
        await harness.remember("one", "two")
        index = harness.local_index(in_memory=True)
        assert await harness.check_search(index) == 2
        await index.rebuild()
        (memory,) = await harness.remember("three")
        await index.after_commit()
        await harness.purge(memory)
        assert await harness.check_search(index) == 2
        reported = await index.describe()
        assert (reported["kind"], reported["points"], reported["lag"], reported["holder"]) == ("scan", 2, 0, False)
        await index.close()
        assert not harness.folder.exists()


class TestHealing:
    @pytest.fixture(autouse=True)
    def repaired(self) -> Iterator[None]:
        yield
        BreakableIndex.broken = False

    @pytest.mark.parametrize("harm", ["emptied", "garbled", "gone", "no meta", "no current"])
    async def test_a_damaged_index_is_replaced(self, harness: IndexHarness, harm: str) -> None:
        await harness.remember(*(f"{number}" for number in range(30)))
        index = harness.local_index()
        await harness.check_search(index)
        await index.close()
        _damage(harness.folder, harm)
        index = harness.local_index()
        assert await harness.check_search(index) == 30
        assert await kind_of(index) == "edge"
        assert await problem_of(index) == ""
        assert len(harness.generations()) == 1
        await index.close()

    async def test_an_index_of_another_store_is_replaced(self, harness: IndexHarness, new_store: NewStores) -> None:
        await harness.remember("one")
        index = harness.local_index()
        await harness.check_search(index)
        await index.close()
        harness.store = new_store()
        await harness.remember("another", "and another")
        index = harness.local_index()
        assert await harness.check_search(index) == 2
        assert await kind_of(index) == "edge"
        await index.close()

    async def test_an_index_that_is_ahead_of_its_store_is_replaced(
        self, harness: IndexHarness, new_store: NewStores
    ) -> None:
        class ShrunkenStore(SqliteStore):
            lost = 0

            async def last_seq(self) -> int:
                return await super().last_seq() - self.lost

        harness.store = store = new_store(ShrunkenStore)
        await harness.remember("one", "two")
        index = harness.local_index()
        await harness.check_search(index)
        store.lost = 1
        await index.search("default", QUERY, Filter(), limit=9)
        await index.settle()
        reported = await index.describe()
        assert (reported["kind"], reported["generation"], reported["cursor"]) == ("edge", "gen-0002", 1)
        await index.close()

    async def test_an_index_that_breaks_in_use_is_replaced(self, harness: IndexHarness) -> None:
        harness.kind = BreakableIndex
        await harness.remember("one")
        index = harness.local_index()
        await harness.check_search(index)
        BreakableIndex.broken = True
        assert await harness.check_search(index) == 1
        reported = await index.describe()
        assert (reported["kind"], reported["building"], reported["problem"]) == ("scan", True, "broken on purpose")
        BreakableIndex.broken = False
        await index.settle()
        assert await harness.check_search(index) == 1
        assert (await kind_of(index), await generation_of(index)) == ("edge", "gen-0002")
        assert await problem_of(index) == ""
        await index.close()

    async def test_an_index_that_always_breaks_is_left_alone_in_the_end(self, harness: IndexHarness) -> None:
        harness.kind = BreakableIndex
        await harness.remember("one")
        index = harness.local_index(policy=LocalIndexPolicy(attempts=3))
        await harness.check_search(index)
        BreakableIndex.broken = True
        for _ in range(10):
            assert await harness.check_search(index) == 1
            await index.settle()
        assert await kind_of(index) == "scan"
        assert await problem_of(index) == "broken on purpose"
        BreakableIndex.broken = False
        await index.rebuild()
        assert await kind_of(index) == "edge"
        assert await problem_of(index) == ""
        await index.close()

    async def test_points_that_a_killed_process_lost_are_noticed(self, harness: IndexHarness) -> None:
        await harness.remember("one", "two", "three")
        index = harness.local_index()
        await harness.check_search(index)
        await index.close()
        cut_off = EdgeIndex.load(
            harness.folder / "gen-0001", store_id=harness.store.store_id, model=MODEL, dimension=DIMENSION
        )
        ((lost, _),) = await cut_off.search("default", QUERY, Filter(), limit=1)
        await cut_off.apply([], [lost], cursor=3)
        cut_off.abandon()
        index = harness.local_index()
        assert await harness.check_search(index) == 3
        assert await generation_of(index) == "gen-0002"
        await index.close()

    async def test_a_killed_process_that_lost_nothing_costs_no_build(self, harness: IndexHarness) -> None:
        (memory, _) = await harness.remember("one", "two")
        index = harness.local_index()
        await harness.check_search(index)
        await harness.revise(memory, "three")
        await index.after_commit()
        assert index._live is not None
        index._live.index.abandon()
        await index.close()
        index = harness.local_index()
        assert await harness.check_search(index) == 2
        assert await generation_of(index) == "gen-0001"
        await index.close()

    async def test_a_new_generation_that_cannot_be_flushed_is_not_used(self, harness: IndexHarness) -> None:
        await harness.remember("one")
        index = harness.local_index()
        await harness.check_search(index)
        await index.close()
        harness.kind = UnflushableIndex
        index = harness.local_index(policy=LocalIndexPolicy(attempts=1))
        assert await harness.check_search(index) == 1
        await harness.remember("two")
        index._start_build()
        await index.settle()
        assert (await generation_of(index), await problem_of(index)) == ("gen-0001", "cannot flush on purpose")
        assert harness.generations() == ["gen-0001"]
        assert await harness.check_search(index) == 2
        await index.close()

    async def test_a_folder_removed_from_under_it_costs_no_answer(self, harness: IndexHarness) -> None:
        await harness.remember("one")
        index = harness.local_index()
        await harness.check_search(index)
        _damage(harness.folder, "gone")
        await harness.remember("two")
        await index.after_commit()
        assert await harness.check_search(index) == 2
        await index.settle()
        assert await harness.check_search(index) == 2
        await index.close()


class TestRebuilding:
    async def test_a_new_generation_takes_the_place_of_the_old(self, harness: IndexHarness) -> None:
        await harness.remember("one")
        index = harness.local_index()
        await harness.check_search(index)
        await index.rebuild()
        assert harness.generations() == ["gen-0002"]
        assert await harness.check_search(index) == 1
        await index.close()
        index = harness.local_index()
        await index.rebuild()
        assert harness.generations() == ["gen-0003"]
        await index.close()

    async def test_what_opening_has_just_built_is_new_enough(self, harness: IndexHarness) -> None:
        await harness.remember("one")
        index = harness.local_index(policy=LARGE)
        await index.rebuild()
        assert (harness.builds, harness.generations()) == (1, ["gen-0001"])
        await index.close()

    async def test_a_build_that_began_before_is_not(self, harness: IndexHarness) -> None:
        await harness.remember("one")
        index = harness.local_index(policy=LARGE)
        await index.open()
        await index.rebuild()
        assert (harness.builds, harness.generations()) == (2, ["gen-0002"])
        await index.close()

    async def test_a_purge_leaves_nothing_in_the_files(self, harness: IndexHarness) -> None:
        memory, _ = [
            *await harness.remember("a", entity="Rumpelstiltskin"),
            *await harness.remember("b", entity="Sarah"),
        ]
        index = harness.local_index()
        await harness.check_search(index)
        await index.close()
        assert _mentions(harness.folder, "rumpelstiltskin")
        await harness.purge(memory)
        index = harness.local_index()
        await index.rebuild()
        assert await harness.check_search(index) == 1
        await index.close()
        assert not _mentions(harness.folder, "rumpelstiltskin")
        assert _mentions(harness.folder, "sarah")

    async def test_a_purge_by_another_process_leaves_nothing_either(self, harness: IndexHarness) -> None:
        memory, _ = [
            *await harness.remember("a", entity="Rumpelstiltskin"),
            *await harness.remember("b", entity="Sarah"),
        ]
        index = harness.local_index()
        await harness.check_search(index)
        await harness.purge(memory)
        assert await harness.check_search(index) == 1
        await index.settle()
        assert await generation_of(index) == "gen-0002"
        await index.close()
        assert not _mentions(harness.folder, "rumpelstiltskin")

    async def test_a_holder_that_ends_before_it_has_scrubbed_leaves_it_to_the_next(self, harness: IndexHarness) -> None:
        (memory,) = await harness.remember("a", entity="Rumpelstiltskin")
        index = harness.local_index()
        await harness.check_search(index)
        await harness.purge(memory)
        await index.after_commit()
        await index.close()
        assert _mentions(harness.folder, "rumpelstiltskin")
        index = harness.local_index()
        assert await harness.check_search(index) == 0
        await index.close()
        assert not _mentions(harness.folder, "rumpelstiltskin")

    async def test_without_a_model_the_old_index_goes_at_least(self, harness: IndexHarness) -> None:
        await harness.remember("one")
        index = harness.local_index()
        await harness.check_search(index)
        await index.close()
        harness.embedder = FakeEmbedder(failing=True)
        index = harness.local_index()
        await index.rebuild()
        assert harness.generations() == []
        assert "set to fail" in await problem_of(index)
        harness.embedder.failing = False
        assert await harness.check_search(index) == 1
        await index.settle()
        assert await kind_of(index) == "edge"
        await index.close()

    async def test_a_rebuild_that_fails_leaves_no_index_and_a_scan(self, harness: IndexHarness) -> None:
        async def build(target: Path) -> None:
            raise OSError("no luck")

        await harness.remember("one")
        index = harness.local_index()
        await harness.check_search(index)
        await index.close()
        index = harness.local_index(policy=LARGE, build=build)
        await index.rebuild()
        assert harness.generations() == []
        assert (await kind_of(index), await problem_of(index)) == ("scan", "no luck")
        assert await harness.check_search(index) == 1
        await index.close()


def _begin(target: Path) -> None:
    target.mkdir()
    (target / "half").write_text("x")


def _damage(folder: Path, harm: str) -> None:
    (generation,) = folder.glob("gen-*")
    files = [path for path in generation.rglob("*") if path.is_file()]
    if harm == "no meta":
        (generation / "scrubjay.json").unlink()
    elif harm == "no current":
        (folder / "CURRENT").unlink()
    elif harm == "gone":
        generation.rename(folder.parent / new_id())
    for path in files if harm in {"emptied", "garbled"} else ():
        path.write_bytes(b"" if harm == "emptied" else b"\x9c\x01\xff" * 30)


def _mentions(folder: Path, entity: str) -> bool:
    """Check for an entity, in letters or as the number by which the engine knows it."""
    number = facet_number(f"entity={entity}")
    forms = (entity.encode(), str(number).encode(), number.to_bytes(8, "little"), number.to_bytes(8, "big"))
    contents = [path.read_bytes() for path in folder.rglob("*") if path.is_file()]
    return any(form in content for content in contents for form in forms)
