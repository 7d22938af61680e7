"""What tests have another process do: build a generation, or live with an index until it is killed."""

import asyncio
import os
import random
import signal
import sys
from pathlib import Path

from tests.unit.indexing.world import QUERY, World

from scrubjay.indexing.build import build_generation
from scrubjay.indexing.child import run_niced
from scrubjay.indexing.live import Policy
from scrubjay.model.memory import Memory
from scrubjay.model.query import Filter
from scrubjay.stores.sqlite import SqliteStore
from scrubjay.testing.build import DIMENSION, MODEL
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
    if task == "die":
        os.kill(os.getpid(), signal.SIGKILL)
    elif task == "fail":
        sys.exit("nothing works today")
    elif task == "build":
        asyncio.run(_build(Path(arguments[0]), Path(arguments[1])))
    elif task == "live":
        asyncio.run(_live(Path(arguments[0]), Path(arguments[1]), seed=int(arguments[2])))


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
