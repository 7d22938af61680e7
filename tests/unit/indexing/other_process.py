"""What tests have another process do: build a generation, or live with an index until it is killed."""

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
from tests.unit.indexing.world import QUERY, World

from scrubjay.indexing.build import build_generation
from scrubjay.indexing.child import end_with_parent, run_niced
from scrubjay.indexing.generation import Policy
from scrubjay.model.memory import Memory
from scrubjay.model.query import Filter
from scrubjay.storage.sqlite import SqliteStore
from scrubjay.vectors.edge import EdgeIndex

ROOT = Path(__file__).resolve().parents[3]
# Every few writes a new generation is built by a child of its own.
RESTLESS = Policy(inline_up_to=10, optimise_from=20, optimise_at=20, rebuild_when_behind=60)


def command(task: str, *arguments: Path | str) -> list[str]:
    """The command line of another process that does a task."""
    paths = [str(ROOT / "src"), str(ROOT)]
    code = f"import sys; sys.path[:0] = {paths!r}; from {__name__} import main; main()"
    return [sys.executable, "-c", code, task, *map(str, arguments)]


def main() -> None:
    """Do what the command line says."""
    task, *arguments = sys.argv[1:]
    _TASKS[task](*arguments)


def _die() -> None:
    os.kill(os.getpid(), signal.SIGKILL)


def _fail() -> None:
    sys.exit("nothing works today")


def _be_niced(before: str, told: str) -> None:
    while os.nice(0) == int(before):
        time.sleep(0.01)
    with Path(told).open("w") as file:
        file.write("niced\n")
        file.flush()
        time.sleep(600)


def _be_orphaned(told: str) -> None:
    """Have a child, and die."""
    with Path(told).open("w") as file:
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


def _build_as_told(database: str, target: str) -> None:
    end_with_parent()
    asyncio.run(_build(Path(database), Path(target)))


def _live_as_told(database: str, folder: str, seed: str) -> None:
    asyncio.run(_live(Path(database), Path(folder), seed=int(seed)))


_TASKS: dict[str, Callable[..., None]] = {
    "die": _die,
    "fail": _fail,
    "be niced": _be_niced,
    "be orphaned": _be_orphaned,
    "live on": _live_on,
    "build": _build_as_told,
    "live": _live_as_told,
}


async def _build(database: Path, target: Path) -> None:
    store = await SqliteStore.open(database)
    try:
        await build_generation(store, EdgeIndex, target, model=MODEL, dimension=DIMENSION)
    finally:
        await store.close()


async def _live(database: Path, folder: Path, *, seed: int) -> None:
    """Write and search for ever, and say so after each commit that is acknowledged."""
    dice = random.Random(seed)
    world = World(folder=folder, store=await SqliteStore.open(database))
    keeper = world.keeper(policy=RESTLESS, build=lambda target: run_niced(command("build", database, target)))
    await keeper.open()
    memories: list[Memory] = []
    while True:
        memories += await world.remember(*(f"{seed} {dice.random()}" for _ in range(dice.randrange(1, 6))))
        if dice.random() < 0.3:
            place = dice.randrange(len(memories))
            memories[place] = await world.revise(memories[place], f"{seed} {dice.random()}")
        await keeper.after_commit()
        sys.stdout.write("committed\n")
        sys.stdout.flush()
        await keeper.search("default", QUERY, Filter(), limit=5)
