"""The keeper always answers, with everything that is committed, whatever becomes of the index."""

import asyncio
from collections.abc import Awaitable, Callable, Iterator
from pathlib import Path

import pytest
from tests.fakes import FakeEmbedder, FakeStore
from tests.fakes.build import DIMENSION, MODEL
from tests.unit.indexing.world import QUERY, Brittle, Unkeepable, World, generation_of, kind_of, problem_of

from scrubjay.errors import EmbeddingUnavailable, InvalidInput, StoreBusy
from scrubjay.indexing.generation import Policy
from scrubjay.model.identity import new_id
from scrubjay.model.query import Filter
from scrubjay.vectors.edge import EdgeIndex

# Nothing is small enough to be built at once.
LARGE = Policy(inline_up_to=0)


@pytest.fixture
def world(tmp_path: Path) -> World:
    return World(folder=tmp_path / "index")


class TestOpening:
    async def test_nothing_is_opened_before_it_is_needed(self, world: World) -> None:
        keeper = world.keeper()
        await world.remember("one")
        await keeper.after_commit()
        assert await keeper.describe() == {
            "kind": "none", "generation": "", "points": 0, "cursor": 0, "lag": 1,
            "holder": False, "building": False, "problem": "",
        }  # fmt: skip
        await keeper.close()
        assert not world.folder.exists()

    async def test_the_first_search_builds_a_small_index(self, world: World) -> None:
        await world.remember("one", "two", "three")
        keeper = world.keeper()
        assert await world.require_true(keeper) == 3
        assert await keeper.describe() == {
            "kind": "edge", "generation": "gen-0001", "points": 3, "cursor": 3, "lag": 0,
            "holder": True, "building": False, "problem": "",
        }  # fmt: skip
        assert world.builds == 0
        await keeper.close()

    async def test_an_empty_store_has_an_index_too(self, world: World) -> None:
        keeper = world.keeper()
        assert await world.require_true(keeper) == 0
        await world.remember("one")
        assert await world.require_true(keeper) == 1
        assert await generation_of(keeper) == "gen-0001"
        await keeper.close()

    async def test_the_next_process_opens_what_is_there(self, world: World) -> None:
        await world.remember("one", "two")
        for extra in range(3):
            keeper = world.keeper()
            assert await world.require_true(keeper) == 2 + extra
            assert await generation_of(keeper) == "gen-0001"
            await world.remember(f"more {extra}")
            await keeper.close()

    async def test_without_a_model_it_cannot_open(self, world: World) -> None:
        world.embedder = FakeEmbedder(failing=True)
        keeper = world.keeper()
        with pytest.raises(EmbeddingUnavailable):
            await keeper.search("default", QUERY, Filter(), limit=3)
        world.embedder.failing = False
        await world.remember("one")
        assert await world.require_true(keeper) == 1
        await keeper.close()

    async def test_a_bad_question_is_refused_and_harms_nothing(self, world: World) -> None:
        await world.remember("one")
        keeper = world.keeper()
        with pytest.raises(InvalidInput):
            await keeper.search("default", QUERY[:3], Filter(), limit=3)
        assert await kind_of(keeper) == "edge"
        await keeper.close()

    async def test_closed_it_may_be_opened_again(self, world: World) -> None:
        await world.remember("one")
        keeper = world.keeper()
        await keeper.close()
        for _ in range(2):
            assert await world.require_true(keeper) == 1
            await keeper.close()
            assert await kind_of(keeper) == "none"


class TestFollowing:
    async def test_a_caller_reads_its_own_writes_and_those_of_others(self, world: World) -> None:
        keeper = world.keeper()
        (memory, _) = await world.remember("word " * 900, "two", kind="fact")
        assert await world.require_true(keeper) > 3
        await world.revise(memory, "short")
        await keeper.after_commit()
        assert (await keeper.describe())["lag"] == 0
        assert await world.require_true(keeper) == 2
        await world.remember("three", space="there")
        assert await world.require_true(keeper, space="there") == 1
        assert await world.require_true(keeper, filter=Filter(kind="fact")) == 2
        assert await generation_of(keeper) == "gen-0001"
        await keeper.close()

    async def test_far_behind_it_is_built_anew(self, world: World) -> None:
        policy = Policy(rebuild_when_behind=5)
        keeper = world.keeper(policy=policy)
        assert await world.require_true(keeper) == 0
        await world.remember(*(f"{number}" for number in range(6)))
        assert await world.require_true(keeper) == 6
        await keeper.settle()
        assert await world.require_true(keeper) == 6
        assert (await kind_of(keeper), await generation_of(keeper)) == ("edge", "gen-0002")
        await keeper.close()
        await world.remember(*(f"more {number}" for number in range(6)))
        keeper = world.keeper(policy=policy)
        assert await world.require_true(keeper) == 12
        assert world.generations() == ["gen-0003"]
        await keeper.close()

    async def test_a_store_that_fails_after_a_commit_does_not_fail_the_commit(self, world: World) -> None:
        class Busy(FakeStore):
            busy = False

            async def last_seq(self) -> int:
                if self.busy:
                    raise StoreBusy("busy")
                return await super().last_seq()

        world.store = store = Busy()
        keeper = world.keeper()
        await world.require_true(keeper)
        await world.remember("one")
        store.busy = True
        await keeper.after_commit()
        store.busy = False
        assert await world.require_true(keeper) == 1
        assert await kind_of(keeper) == "edge"
        await keeper.close()


class TestBuilding:
    async def test_a_scan_answers_until_a_large_index_is_built(self, world: World) -> None:
        may_build = asyncio.Event()

        async def build(target: Path) -> None:
            await may_build.wait()
            await world.build(target)

        await world.remember("one", "two")
        keeper = world.keeper(policy=LARGE, build=build)
        assert await world.require_true(keeper) == 2
        reported = await keeper.describe()
        assert (reported["kind"], reported["building"], reported["problem"]) == ("scan", True, "")
        (memory,) = await world.remember("three")
        assert await world.require_true(keeper) == 3
        may_build.set()
        await world.revise(memory, "four")
        await keeper.settle()
        assert await kind_of(keeper) == "edge"
        assert await world.require_true(keeper) == 3
        assert world.generations() == ["gen-0001"]
        await keeper.close()

    async def test_what_was_written_during_the_build_is_in_the_next_generation(self, world: World) -> None:
        async def build(target: Path) -> None:
            await world.build(target)
            await world.revise(memory, "short")
            await world.remember("meanwhile")

        (memory, _) = await world.remember("word " * 900, "two")
        keeper = world.keeper(policy=LARGE, build=build)
        await world.require_true(keeper)
        await keeper.settle()
        assert (await keeper.describe())["lag"] == 0
        assert await world.require_true(keeper) == 3
        assert await kind_of(keeper) == "edge"
        await keeper.close()

    async def test_much_that_was_added_is_optimised_beside_the_searches(self, world: World) -> None:
        keeper = world.keeper(policy=Policy(optimise_from=10))
        await world.require_true(keeper)
        await world.remember(*(f"{number}" for number in range(9)))
        await keeper.after_commit()
        assert not (await keeper.describe())["building"]
        await world.remember("the tenth")
        await keeper.after_commit()
        assert (await keeper.describe())["building"]
        assert await world.require_true(keeper) == 10
        await keeper.settle()
        assert await generation_of(keeper) == "gen-0002"
        assert world.generations() == ["gen-0002"]
        assert await world.require_true(keeper) == 10
        await keeper.settle()
        assert await generation_of(keeper) == "gen-0002"
        await keeper.close()

    async def test_searches_and_writes_go_on_through_many_swaps(self, world: World) -> None:
        keeper = world.keeper(policy=Policy(inline_up_to=0, optimise_from=5, optimise_at=5))
        await world.remember("first")
        for number in range(40):
            await world.remember(f"{number}")
            results, _ = await asyncio.gather(
                keeper.search("default", QUERY, Filter(), limit=1000), keeper.after_commit()
            )
            assert len(results) == number + 2
        await keeper.settle()
        assert await generation_of(keeper) > "gen-0003"
        assert await problem_of(keeper) == ""
        await keeper.close()

    @pytest.mark.parametrize("more", [0, 1])
    async def test_a_search_that_waited_through_a_swap_uses_the_new_one(self, world: World, more: int) -> None:
        class Interrupted(FakeStore):
            interrupt: Callable[[], Awaitable[None]] | None = None

            async def last_seq(self) -> int:
                interrupt, self.interrupt = self.interrupt, None
                results = await super().last_seq()
                if interrupt:
                    await interrupt()
                return results

        world.store = store = Interrupted()
        await world.remember("one")
        keeper = world.keeper()
        await world.require_true(keeper)
        await world.remember(*["two"] * more)
        store.interrupt = keeper.rebuild
        assert len(await keeper.search("default", QUERY, Filter(), limit=9)) == 1 + more
        assert (await generation_of(keeper), await problem_of(keeper)) == ("gen-0002", "")
        await keeper.close()

    async def test_a_build_that_fails_is_told_and_not_tried_for_ever(self, world: World) -> None:
        tries = 0

        async def build(target: Path) -> None:
            nonlocal tries
            tries += 1
            _begin(target)
            raise OSError("no luck")

        await world.remember("one")
        keeper = world.keeper(policy=LARGE, build=build)
        for _ in range(20):
            assert await world.require_true(keeper) == 1
            await keeper.settle()
        assert await problem_of(keeper) == "no luck"
        assert tries == LARGE.attempts
        assert world.generations() == []
        assert await kind_of(keeper) == "scan"
        await keeper.close()

    async def test_a_build_that_leaves_nothing_is_a_failure(self, world: World) -> None:
        async def build(target: Path) -> None:
            _begin(target)

        await world.remember("one")
        keeper = world.keeper(policy=LARGE, build=build)
        await world.require_true(keeper)
        await keeper.settle()
        assert "no whole vector index" in await problem_of(keeper)
        assert world.generations() == []
        await keeper.close()

    async def test_closing_ends_a_build(self, world: World) -> None:
        begun, ended = asyncio.Event(), asyncio.Event()

        async def build(target: Path) -> None:
            _begin(target)
            begun.set()
            try:
                await asyncio.Event().wait()
            finally:
                ended.set()

        await world.remember("one")
        keeper = world.keeper(policy=LARGE, build=build)
        await world.require_true(keeper)
        await begun.wait()
        await keeper.close()
        assert ended.is_set()
        assert world.generations() == []
        again = world.keeper(policy=LARGE)
        await again.open()
        await again.settle()
        assert await kind_of(again) == "edge"
        await again.close()

    async def test_who_gives_up_waiting_leaves_the_keeper_whole(self, world: World) -> None:
        await world.remember(*(f"{number}" for number in range(50)))
        keeper = world.keeper()
        for pauses in range(12):
            search = asyncio.create_task(keeper.search("default", QUERY, Filter(), limit=3))
            for _ in range(pauses):
                await asyncio.sleep(0)
            search.cancel()
            await asyncio.wait({search})
        assert await world.require_true(keeper) == 50
        await keeper.settle()
        assert await kind_of(keeper) == "edge"
        await keeper.close()


class TestSeveralProcesses:
    async def test_who_does_not_hold_the_index_scans(self, world: World) -> None:
        await world.remember("one", "two")
        holder, other = world.keeper(), world.keeper()
        assert await world.require_true(holder) == 2
        assert await world.require_true(other) == 2
        assert (await kind_of(holder), await kind_of(other)) == ("edge", "scan")
        await world.remember("three")
        await other.after_commit()
        assert await world.require_true(other, filter=Filter(kind="note")) == 3
        assert await world.require_true(holder) == 3
        await other.rebuild()
        assert await generation_of(holder) == "gen-0001"
        assert not (await other.describe())["holder"]
        await other.close()
        await holder.close()

    async def test_the_index_passes_to_who_is_left(self, world: World) -> None:
        await world.remember("one")
        first, second = world.keeper(), world.keeper()
        await world.require_true(first)
        await world.require_true(second)
        await first.close()
        await world.remember("two")
        assert await world.require_true(second) == 2
        assert (await kind_of(second), await generation_of(second)) == ("edge", "gen-0001")
        assert await world.require_true(first) == 2
        assert await kind_of(first) == "scan"
        await second.close()
        await first.close()

    async def test_a_folder_that_cannot_be_written_means_a_scan(self, world: World, tmp_path: Path) -> None:
        (tmp_path / "file").write_text("x")
        world.folder = tmp_path / "file" / "index"
        await world.remember("one")
        keeper = world.keeper()
        assert await world.require_true(keeper) == 1
        await keeper.rebuild()
        assert await kind_of(keeper) == "scan"
        await keeper.close()


class TestInMemory:
    async def test_nothing_is_written_for_an_encrypted_store(self, world: World) -> None:
        await world.remember("one", "two")
        keeper = world.keeper(in_memory=True)
        assert await world.require_true(keeper) == 2
        await keeper.rebuild()
        (memory,) = await world.remember("three")
        await keeper.after_commit()
        await world.purge(memory)
        assert await world.require_true(keeper) == 2
        reported = await keeper.describe()
        assert (reported["kind"], reported["points"], reported["lag"], reported["holder"]) == ("scan", 2, 0, False)
        await keeper.close()
        assert not world.folder.exists()


class TestHealing:
    @pytest.fixture(autouse=True)
    def mended(self) -> Iterator[None]:
        yield
        Brittle.broken = False

    @pytest.mark.parametrize("harm", ["emptied", "garbled", "gone", "no meta", "no current"])
    async def test_a_damaged_index_is_replaced(self, world: World, harm: str) -> None:
        await world.remember(*(f"{number}" for number in range(30)))
        keeper = world.keeper()
        await world.require_true(keeper)
        await keeper.close()
        _damage(world.folder, harm)
        keeper = world.keeper()
        assert await world.require_true(keeper) == 30
        assert await kind_of(keeper) == "edge"
        assert await problem_of(keeper) == ""
        assert len(world.generations()) == 1
        await keeper.close()

    async def test_an_index_of_another_store_is_replaced(self, world: World) -> None:
        await world.remember("one")
        keeper = world.keeper()
        await world.require_true(keeper)
        await keeper.close()
        world.store = FakeStore()
        await world.remember("another", "and another")
        keeper = world.keeper()
        assert await world.require_true(keeper) == 2
        assert await kind_of(keeper) == "edge"
        await keeper.close()

    async def test_an_index_that_is_ahead_of_its_store_is_replaced(self, world: World) -> None:
        class Older(FakeStore):
            lost = 0

            async def last_seq(self) -> int:
                return await super().last_seq() - self.lost

        world.store = store = Older()
        await world.remember("one", "two")
        keeper = world.keeper()
        await world.require_true(keeper)
        store.lost = 1
        await keeper.search("default", QUERY, Filter(), limit=9)
        await keeper.settle()
        reported = await keeper.describe()
        assert (reported["kind"], reported["generation"], reported["cursor"]) == ("edge", "gen-0002", 1)
        await keeper.close()

    async def test_an_index_that_breaks_in_use_is_replaced(self, world: World) -> None:
        world.kind = Brittle
        await world.remember("one")
        keeper = world.keeper()
        await world.require_true(keeper)
        Brittle.broken = True
        assert await world.require_true(keeper) == 1
        reported = await keeper.describe()
        assert (reported["kind"], reported["building"], reported["problem"]) == ("scan", True, "broken on purpose")
        Brittle.broken = False
        await keeper.settle()
        assert await world.require_true(keeper) == 1
        assert (await kind_of(keeper), await generation_of(keeper)) == ("edge", "gen-0002")
        assert await problem_of(keeper) == ""
        await keeper.close()

    async def test_an_index_that_always_breaks_is_left_alone_in_the_end(self, world: World) -> None:
        world.kind = Brittle
        await world.remember("one")
        keeper = world.keeper(policy=Policy(attempts=3))
        await world.require_true(keeper)
        Brittle.broken = True
        for _ in range(10):
            assert await world.require_true(keeper) == 1
            await keeper.settle()
        assert await kind_of(keeper) == "scan"
        assert await problem_of(keeper) == "broken on purpose"
        Brittle.broken = False
        await keeper.rebuild()
        assert await kind_of(keeper) == "edge"
        assert await problem_of(keeper) == ""
        await keeper.close()

    async def test_points_that_a_killed_process_lost_are_noticed(self, world: World) -> None:
        await world.remember("one", "two", "three")
        keeper = world.keeper()
        await world.require_true(keeper)
        await keeper.close()
        cut_off = EdgeIndex.load(
            world.folder / "gen-0001", store_id=world.store.store_id, model=MODEL, dimension=DIMENSION
        )
        ((lost, _),) = await cut_off.search("default", QUERY, Filter(), limit=1)
        await cut_off.apply([], [lost], cursor=3)
        cut_off.abandon()
        keeper = world.keeper()
        assert await world.require_true(keeper) == 3
        assert await generation_of(keeper) == "gen-0002"
        await keeper.close()

    async def test_a_killed_process_that_lost_nothing_costs_no_build(self, world: World) -> None:
        (memory, _) = await world.remember("one", "two")
        keeper = world.keeper()
        await world.require_true(keeper)
        await world.revise(memory, "three")
        await keeper.after_commit()
        assert keeper._live is not None
        keeper._live.index.abandon()
        await keeper.close()
        keeper = world.keeper()
        assert await world.require_true(keeper) == 2
        assert await generation_of(keeper) == "gen-0001"
        await keeper.close()

    async def test_a_new_generation_that_cannot_be_kept_is_not_used(self, world: World) -> None:
        await world.remember("one")
        keeper = world.keeper()
        await world.require_true(keeper)
        await keeper.close()
        world.kind = Unkeepable
        keeper = world.keeper(policy=Policy(attempts=1))
        assert await world.require_true(keeper) == 1
        await world.remember("two")
        keeper._start_build()
        await keeper.settle()
        assert (await generation_of(keeper), await problem_of(keeper)) == ("gen-0001", "no flushing today")
        assert world.generations() == ["gen-0001"]
        assert await world.require_true(keeper) == 2
        await keeper.close()

    async def test_a_folder_removed_from_under_it_costs_no_answer(self, world: World) -> None:
        await world.remember("one")
        keeper = world.keeper()
        await world.require_true(keeper)
        _damage(world.folder, "gone")
        await world.remember("two")
        await keeper.after_commit()
        assert await world.require_true(keeper) == 2
        await keeper.settle()
        assert await world.require_true(keeper) == 2
        await keeper.close()


class TestRebuilding:
    async def test_a_new_generation_takes_the_place_of_the_old(self, world: World) -> None:
        await world.remember("one")
        keeper = world.keeper()
        await world.require_true(keeper)
        await keeper.rebuild()
        assert world.generations() == ["gen-0002"]
        assert await world.require_true(keeper) == 1
        await keeper.close()
        keeper = world.keeper()
        await keeper.rebuild()
        assert world.generations() == ["gen-0003"]
        await keeper.close()

    async def test_what_opening_has_just_built_is_new_enough(self, world: World) -> None:
        await world.remember("one")
        keeper = world.keeper(policy=LARGE)
        await keeper.rebuild()
        assert (world.builds, world.generations()) == (1, ["gen-0001"])
        await keeper.close()

    async def test_a_build_that_began_before_is_not(self, world: World) -> None:
        await world.remember("one")
        keeper = world.keeper(policy=LARGE)
        await keeper.open()
        await keeper.rebuild()
        assert (world.builds, world.generations()) == (2, ["gen-0002"])
        await keeper.close()

    async def test_a_purge_leaves_nothing_in_the_files(self, world: World) -> None:
        memory, _ = [*await world.remember("a", entity="Rumpelstiltskin"), *await world.remember("b", entity="Sarah")]
        keeper = world.keeper()
        await world.require_true(keeper)
        await keeper.close()
        assert _mentions(world.folder, b"rumpelstiltskin")
        await world.purge(memory)
        keeper = world.keeper()
        await keeper.rebuild()
        assert await world.require_true(keeper) == 1
        await keeper.close()
        assert not _mentions(world.folder, b"rumpelstiltskin")
        assert _mentions(world.folder, b"sarah")

    async def test_a_purge_by_another_process_leaves_nothing_either(self, world: World) -> None:
        memory, _ = [*await world.remember("a", entity="Rumpelstiltskin"), *await world.remember("b", entity="Sarah")]
        keeper = world.keeper()
        await world.require_true(keeper)
        await world.purge(memory)
        assert await world.require_true(keeper) == 1
        await keeper.settle()
        assert await generation_of(keeper) == "gen-0002"
        await keeper.close()
        assert not _mentions(world.folder, b"rumpelstiltskin")

    async def test_a_holder_that_ends_before_it_has_scrubbed_leaves_it_to_the_next(self, world: World) -> None:
        (memory,) = await world.remember("a", entity="Rumpelstiltskin")
        keeper = world.keeper()
        await world.require_true(keeper)
        await world.purge(memory)
        await keeper.after_commit()
        await keeper.close()
        assert _mentions(world.folder, b"rumpelstiltskin")
        keeper = world.keeper()
        assert await world.require_true(keeper) == 0
        await keeper.close()
        assert not _mentions(world.folder, b"rumpelstiltskin")

    async def test_without_a_model_the_old_index_goes_at_least(self, world: World) -> None:
        await world.remember("one")
        keeper = world.keeper()
        await world.require_true(keeper)
        await keeper.close()
        world.embedder = FakeEmbedder(failing=True)
        keeper = world.keeper()
        await keeper.rebuild()
        assert world.generations() == []
        assert "set to fail" in await problem_of(keeper)
        world.embedder.failing = False
        assert await world.require_true(keeper) == 1
        await keeper.settle()
        assert await kind_of(keeper) == "edge"
        await keeper.close()

    async def test_a_rebuild_that_fails_leaves_no_index_and_a_scan(self, world: World) -> None:
        async def build(target: Path) -> None:
            raise OSError("no luck")

        await world.remember("one")
        keeper = world.keeper()
        await world.require_true(keeper)
        await keeper.close()
        keeper = world.keeper(policy=LARGE, build=build)
        await keeper.rebuild()
        assert world.generations() == []
        assert (await kind_of(keeper), await problem_of(keeper)) == ("scan", "no luck")
        assert await world.require_true(keeper) == 1
        await keeper.close()


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


def _mentions(folder: Path, text: bytes) -> bool:
    return any(text in path.read_bytes() for path in folder.rglob("*") if path.is_file())
