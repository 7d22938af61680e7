"""Tasks for other processes in tests: build a generation, or use an index until killed."""

import asyncio
import os
import random
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

from tests.fakes.build import DIMENSION, MODEL
from tests.unit.indexing.harness import QUERY, IndexHarness

from scrubjay.indexing.build import build_generation, end_with_parent, run_niced
from scrubjay.indexing.generations import LocalIndexPolicy
from scrubjay.model.memory import Memory
from scrubjay.model.query import Filter
from scrubjay.storage.sqlite import SqliteStore
from scrubjay.vectors.edge import EdgeIndex

ROOT = Path(__file__).resolve().parents[3]
# Every few writes start a build in a child process.
RESTLESS = LocalIndexPolicy(inline_up_to=10, optimise_from=20, optimise_at=20, rebuild_when_behind=60)


def command(task: str, *arguments: Path | str) -> list[str]:
    """Return the command line of a process that does a task."""
    paths = [str(ROOT / "src"), str(ROOT)]
    code = f"import sys; sys.path[:0] = {paths!r}; from {__name__} import main; main()"
    return [sys.executable, "-c", code, task, *map(str, arguments)]


def main() -> None:
    """Run the task of the command line."""
    task, *arguments = sys.argv[1:]
    _TASKS[task](*arguments)


def _die() -> None:
    os.kill(os.getpid(), signal.SIGKILL)


def _fail() -> None:
    sys.exit("failed on purpose")


def _be_niced(before: str, pipe: str) -> None:
    while os.nice(0) == int(before):
        time.sleep(0.01)
    with Path(pipe).open("w") as file:
        file.write("niced\n")
        file.flush()
        time.sleep(600)


def _be_orphaned(pipe: str) -> None:
    """Start a child, and die."""
    with Path(pipe).open("w") as file:
        child = subprocess.Popen(
            command("live on"), stdin=subprocess.PIPE, stdout=subprocess.PIPE, pass_fds=[file.fileno()]
        )
        assert child.stdout is not None
        file.write(child.stdout.readline().decode())
        file.flush()
        _die()


def _live_on() -> None:
    end_with_parent()
    sys.stdout.write("alive\n")
    sys.stdout.flush()
    time.sleep(600)


def _run_build(database: str, target: str) -> None:
    end_with_parent()
    asyncio.run(_build(Path(database), Path(target)))


def _run_live(database: str, folder: str, seed: str) -> None:
    asyncio.run(_live(Path(database), Path(folder), seed=int(seed)))


_TASKS: dict[str, Callable[..., None]] = {
    "die": _die,
    "fail": _fail,
    "be niced": _be_niced,
    "be orphaned": _be_orphaned,
    "live on": _live_on,
    "build": _run_build,
    "live": _run_live,
}


async def _build(database: Path, target: Path) -> None:
    store = await SqliteStore.open(database)
    try:
        await build_generation(store, EdgeIndex, target, model=MODEL, dimension=DIMENSION)
    finally:
        await store.close()


async def _live(database: Path, folder: Path, *, seed: int) -> None:
    """Write and search for ever, and print a line after each commit."""
    dice = random.Random(seed)
    harness = IndexHarness(folder=folder, store=await SqliteStore.open(database))
    index = harness.local_index(policy=RESTLESS, build=lambda target: run_niced(command("build", database, target)))
    await index.open()
    memories: list[Memory] = []
    while True:
        memories += await harness.remember(*(f"{seed} {dice.random()}" for _ in range(dice.randrange(1, 6))))
        if dice.random() < 0.3:
            position = dice.randrange(len(memories))
            memories[position] = await harness.revise(memories[position], f"{seed} {dice.random()}")
        await index.after_commit()
        sys.stdout.write("committed\n")
        sys.stdout.flush()
        await index.search("default", QUERY, Filter(), limit=5)
