"""A real child process builds the index, and a process that is killed at any moment leaves a usable index."""

import asyncio
import os
import random
import subprocess
from collections.abc import AsyncIterator
from pathlib import Path
from typing import TextIO

import pytest
from tests.fakes.build import DIMENSION, MODEL
from tests.unit.indexing.harness import IndexHarness, generation_of, kind_of, problem_of
from tests.unit.indexing.other_process import RESTLESS, command

from scrubjay.errors import IndexUnavailable
from scrubjay.indexing.build import build_generation, run_niced
from scrubjay.indexing.generations import LocalIndexPolicy
from scrubjay.model.query import Filter
from scrubjay.storage.sqlite import SqliteStore
from scrubjay.vectors.edge import EdgeIndex

LARGE = LocalIndexPolicy(inline_up_to=10)


@pytest.fixture
async def harness(tmp_path: Path) -> AsyncIterator[IndexHarness]:
    store = await SqliteStore.open(tmp_path / "memory.db")
    yield IndexHarness(folder=tmp_path / "index", store=store)
    await store.close()


class TestChildBuild:
    async def test_a_child_builds_and_its_parent_swaps(self, harness: IndexHarness, tmp_path: Path) -> None:
        await harness.remember(*(f"number {number}" for number in range(300)), kind="fact")
        index = harness.local_index(
            policy=LARGE, build=lambda target: run_niced(command("build", tmp_path / "memory.db", target))
        )
        assert await harness.check_search(index) == 300
        reported = await index.describe()
        assert (reported["kind"], reported["building"]) == ("scan", True)
        (memory,) = await harness.remember("meanwhile")
        await index.settle()
        assert (await kind_of(index), await problem_of(index)) == ("edge", "")
        assert await harness.check_search(index) == 301
        await harness.revise(memory, "later")
        assert await harness.check_search(index, filter=Filter(kind="fact")) == 300
        await index.rebuild()
        assert await harness.check_search(index) == 301
        assert harness.generations() == ["gen-0002"]
        await index.close()

    @pytest.mark.parametrize("task", ["die", "fail"])
    async def test_a_child_that_fails_costs_nothing(self, harness: IndexHarness, task: str) -> None:
        await harness.remember(*(f"number {number}" for number in range(20)))
        index = harness.local_index(policy=LARGE, build=lambda _: run_niced(command(task)))
        assert await harness.check_search(index) == 20
        await index.settle()
        assert await harness.check_search(index) == 20
        assert "could not be built" in await problem_of(index)
        assert harness.generations() == []
        await index.close()

    async def test_a_child_reports_why_it_failed(self) -> None:
        with pytest.raises(IndexUnavailable) as caught:
            await run_niced(command("fail"))
        assert caught.value.fields == {"exit": 1, "cause": "failed on purpose"}

    async def test_a_child_is_out_of_the_way_and_ends_when_cancelled(self, tmp_path: Path) -> None:
        child, reported = await _start_reporting_child(tmp_path, command("be niced", str(os.nice(0))))
        assert await asyncio.to_thread(reported.readline) == "niced\n"
        child.cancel()
        await asyncio.wait({child})
        assert child.cancelled()
        assert await asyncio.to_thread(reported.read) == ""
        reported.close()

    async def test_a_child_does_not_outlive_its_parent(self, tmp_path: Path) -> None:
        child, reported = await _start_reporting_child(tmp_path, command("be orphaned"))
        # Its child has the pipe open too: the pipe ends when both have ended.
        assert await asyncio.to_thread(reported.read) == "alive\n"
        await asyncio.wait({child})
        reported.close()


class TestBuild:
    async def test_progress_is_reported(self, harness: IndexHarness, tmp_path: Path) -> None:
        await harness.remember(*(f"number {number}" for number in range(1100)))
        reported: list[tuple[int, int]] = []
        await build_generation(
            harness.store,
            EdgeIndex,
            tmp_path / "built",
            model=MODEL,
            dimension=DIMENSION,
            progress=lambda done, total: reported.append((done, total)),
        )
        assert reported == [(1000, 1100), (1100, 1100)]
        index = EdgeIndex.load(tmp_path / "built", store_id=harness.store.store_id, model=MODEL, dimension=DIMENSION)
        assert (index.points, index.added, index.cursor) == (1100, 0, 1100)
        await index.close()

    async def test_half_a_build_never_looks_complete(self, harness: IndexHarness, tmp_path: Path) -> None:
        await harness.remember(*(f"number {number}" for number in range(1100)))

        def fail(done: int, total: int) -> None:
            raise RuntimeError(f"{done} of {total}")

        with pytest.raises(RuntimeError, match="1000 of 1100"):
            await build_generation(
                harness.store, EdgeIndex, tmp_path / "built", model=MODEL, dimension=DIMENSION, progress=fail
            )
        with pytest.raises(IndexUnavailable):
            EdgeIndex.load(tmp_path / "built", store_id=harness.store.store_id, model=MODEL, dimension=DIMENSION)


@pytest.mark.slow
class TestKilled:
    async def test_a_kill_at_any_moment_leaves_a_usable_index(self, harness: IndexHarness, tmp_path: Path) -> None:
        dice, seen = random.Random(3), set[str]()
        for seed in range(5):
            _live_and_die(tmp_path, seed=seed, commits=dice.randrange(1, 40))
            index = harness.local_index(policy=RESTLESS)
            await harness.check_search(index)
            await index.settle()
            count = await harness.check_search(index)
            reported = await index.describe()
            assert (reported["kind"], reported["points"], reported["problem"]) == ("edge", count, "")
            # An orphan may have been writing while its files were removed.
            assert len([name for name in harness.generations() if "building" not in name]) == 1
            seen.add(await generation_of(index))
            await index.close()
        assert len(seen) > 1


async def _start_reporting_child(folder: Path, command_line: list[str]) -> tuple[asyncio.Task[None], TextIO]:
    """Start a child; returns it and a pipe of its output, which ends with the last process that has it open."""
    os.mkfifo(folder / "status_of")
    child = asyncio.create_task(run_niced([*command_line, str(folder / "status_of")]))
    return child, await asyncio.to_thread((folder / "status_of").open)


def _live_and_die(folder: Path, *, seed: int, commits: int) -> None:
    """Let another process write and search, and kill it after so many commits."""
    with subprocess.Popen(
        command("live", folder / "memory.db", folder / "index", str(seed)), stdout=subprocess.PIPE
    ) as process:
        assert process.stdout is not None
        for _ in range(commits):
            assert process.stdout.readline() == b"committed\n"
        process.kill()
