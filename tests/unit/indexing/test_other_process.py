"""A real child process builds the index, and processes that are killed at any moment leave a usable one."""

import asyncio
import os
import random
import subprocess
from collections.abc import AsyncIterator
from pathlib import Path
from typing import TextIO

import pytest
from tests.fakes.build import DIMENSION, MODEL
from tests.unit.indexing.other_process import RESTLESS, command
from tests.unit.indexing.world import World, generation_of, kind_of, problem_of

from scrubjay.errors import IndexUnavailable
from scrubjay.indexing.build import build_generation
from scrubjay.indexing.child import run_niced
from scrubjay.indexing.generation import Policy
from scrubjay.model.query import Filter
from scrubjay.storage.sqlite import SqliteStore
from scrubjay.vectors.edge import EdgeIndex

LARGE = Policy(inline_up_to=10)


@pytest.fixture
async def world(tmp_path: Path) -> AsyncIterator[World]:
    store = await SqliteStore.open(tmp_path / "memory.db")
    yield World(folder=tmp_path / "index", store=store)
    await store.close()


class TestChildBuild:
    async def test_a_child_builds_and_its_parent_swaps(self, world: World, tmp_path: Path) -> None:
        await world.remember(*(f"number {number}" for number in range(300)), kind="fact")
        keeper = world.keeper(
            policy=LARGE, build=lambda target: run_niced(command("build", tmp_path / "memory.db", target))
        )
        assert await world.require_true(keeper) == 300
        reported = await keeper.describe()
        assert (reported["kind"], reported["building"]) == ("scan", True)
        (memory,) = await world.remember("meanwhile")
        await keeper.settle()
        assert (await kind_of(keeper), await problem_of(keeper)) == ("edge", "")
        assert await world.require_true(keeper) == 301
        await world.revise(memory, "later")
        assert await world.require_true(keeper, filter=Filter(kind="fact")) == 300
        await keeper.rebuild()
        assert await world.require_true(keeper) == 301
        assert world.generations() == ["gen-0002"]
        await keeper.close()

    @pytest.mark.parametrize("task", ["die", "fail"])
    async def test_a_child_that_fails_costs_nothing(self, world: World, task: str) -> None:
        await world.remember(*(f"number {number}" for number in range(20)))
        keeper = world.keeper(policy=LARGE, build=lambda _: run_niced(command(task)))
        assert await world.require_true(keeper) == 20
        await keeper.settle()
        assert await world.require_true(keeper) == 20
        assert "could not be built" in await problem_of(keeper)
        assert world.generations() == []
        await keeper.close()

    async def test_a_child_says_why_it_failed(self) -> None:
        with pytest.raises(IndexUnavailable) as caught:
            await run_niced(command("fail"))
        assert caught.value.fields == {"exit": 1, "cause": "nothing works today"}

    async def test_a_child_is_out_of_the_way_and_ends_when_cancelled(self, tmp_path: Path) -> None:
        child, reported = await _child_that_tells(tmp_path, command("be niced", str(os.nice(0))))
        assert await asyncio.to_thread(reported.readline) == "niced\n"
        child.cancel()
        await asyncio.wait({child})
        assert child.cancelled()
        assert await asyncio.to_thread(reported.read) == ""
        reported.close()

    async def test_a_child_does_not_outlive_its_parent(self, tmp_path: Path) -> None:
        child, reported = await _child_that_tells(tmp_path, command("be orphaned"))
        # Its child has the pipe open too: only when both have ended does it end.
        assert await asyncio.to_thread(reported.read) == "alive\n"
        await asyncio.wait({child})
        reported.close()


class TestBuild:
    async def test_progress_is_told(self, world: World, tmp_path: Path) -> None:
        await world.remember(*(f"number {number}" for number in range(1100)))
        reported: list[tuple[int, int]] = []
        await build_generation(
            world.store,
            EdgeIndex,
            tmp_path / "built",
            model=MODEL,
            dimension=DIMENSION,
            progress=lambda done, total: reported.append((done, total)),
        )
        assert reported == [(1000, 1100), (1100, 1100)]
        index = EdgeIndex.load(tmp_path / "built", store_id=world.store.store_id, model=MODEL, dimension=DIMENSION)
        assert (index.points, index.added, index.cursor) == (1100, 0, 1100)
        await index.close()

    async def test_half_a_build_never_looks_whole(self, world: World, tmp_path: Path) -> None:
        await world.remember(*(f"number {number}" for number in range(1100)))

        def fail(done: int, total: int) -> None:
            raise RuntimeError(f"{done} of {total}")

        with pytest.raises(RuntimeError, match="1000 of 1100"):
            await build_generation(
                world.store, EdgeIndex, tmp_path / "built", model=MODEL, dimension=DIMENSION, progress=fail
            )
        with pytest.raises(IndexUnavailable):
            EdgeIndex.load(tmp_path / "built", store_id=world.store.store_id, model=MODEL, dimension=DIMENSION)


@pytest.mark.slow
class TestKilled:
    async def test_a_kill_at_any_moment_leaves_a_usable_index(self, world: World, tmp_path: Path) -> None:
        dice, seen = random.Random(3), set[str]()
        for seed in range(5):
            _live_and_die(tmp_path, seed=seed, commits=dice.randrange(1, 40))
            keeper = world.keeper(policy=RESTLESS)
            await world.require_true(keeper)
            await keeper.settle()
            count = await world.require_true(keeper)
            reported = await keeper.describe()
            assert (reported["kind"], reported["points"], reported["problem"]) == ("edge", count, "")
            # An orphan may have been in the middle of a call when we cleaned up after it.
            assert len([name for name in world.generations() if "building" not in name]) == 1
            seen.add(await generation_of(keeper))
            await keeper.close()
        assert len(seen) > 1


async def _child_that_tells(folder: Path, command_line: list[str]) -> tuple[asyncio.Task[None], TextIO]:
    """A child that runs, and a pipe of what it says, which ends when the last process that holds it does."""
    os.mkfifo(folder / "told")
    child = asyncio.create_task(run_niced([*command_line, str(folder / "told")]))
    return child, await asyncio.to_thread((folder / "told").open)


def _live_and_die(folder: Path, *, seed: int, commits: int) -> None:
    """Have another process write and search, and kill it after so many commits."""
    with subprocess.Popen(
        command("live", folder / "memory.db", folder / "index", str(seed)), stdout=subprocess.PIPE
    ) as process:
        assert process.stdout is not None
        for _ in range(commits):
            assert process.stdout.readline() == b"committed\n"
        process.kill()
