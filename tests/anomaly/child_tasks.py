"""What the children of the nursery do until they are killed, or kill themselves at a chosen point."""

import asyncio
import json
import os
import random
import signal
from pathlib import Path
from typing import TypeVar

from scrubjay.client import MemoryClient
from scrubjay.errors import ScrubjayError
from scrubjay.indexing.generations import LocalIndexPolicy
from scrubjay.ports import Progress
from scrubjay.storage.sqlite.writer import Job, Writer
from tests.scenarios.wiring import Wiring, open_wiring

T = TypeVar("T")
FILLER = "and it went on like this for quite some time, " * 4


def die() -> None:
    """As a power cut would: nothing is tidied up."""
    os.kill(os.getpid(), signal.SIGKILL)


# ---- writing until killed -------------------------------------------------------------------------


async def write(home: Path, *, acknowledgements: str, seed: int) -> None:
    """Remember, revise and forget as fast as can be, and note each call after it was answered."""
    chance = random.Random(seed)
    notes = os.open(acknowledgements, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
    async with open_wiring(home) as wiring:
        memory = wiring.client(agent=f"child-{seed}")
        if chance.random() < 0.5:
            await memory.recall("anything")
        await asyncio.gather(*(_write_on(memory, notes, random.Random(chance.random())) for _ in range(4)))


async def _write_on(memory: MemoryClient, notes: int, chance: random.Random) -> None:
    mine: list[str] = []
    while True:
        text = f"note {chance.getrandbits(64):x} {FILLER[: chance.randrange(len(FILLER))]}"
        if mine and chance.random() < 0.4:
            done = await memory.revise(chance.choice(mine), text=text)
            memory_id, version = done.id, done.version
        elif mine and chance.random() < 0.1:
            memory_id = mine.pop(chance.randrange(len(mine)))
            await memory.forget(memory_id)
            continue
        else:
            made = await memory.remember(text)
            memory_id, version = made.id, made.version
            mine.append(memory_id)
        os.write(notes, (json.dumps([memory_id, version, text]) + "\n").encode())


# ---- dying at a chosen point ----------------------------------------------------------------------


class FragileWriter:
    """A store's own writer, until it has done so many jobs: then the process dies."""

    def __init__(self, writer: Writer, *, jobs: int) -> None:
        self._writer = writer
        self._left = jobs

    async def run(self, job: Job[T]) -> T:
        return self._count(await self._writer.run(job))

    async def run_outside(self, job: Job[T]) -> T:
        return self._count(await self._writer.run_outside(job))

    def close(self) -> None:
        self._writer.close()

    def _count(self, result: T) -> T:
        self._left -= 1
        if self._left == 0:
            die()
        return result


async def purge(home: Path, *, names: list[str], steps: int) -> None:
    """Purge, and die after so many steps of it."""
    async with open_wiring(home) as wiring:
        await wiring.client().recall("anything")
        fragile = FragileWriter(wiring.store._writer, jobs=steps)
        wiring.store._writer = fragile  # type: ignore[assignment]
        wiring.store.upkeep.writer = fragile  # type: ignore[assignment]
        await wiring.client().purge(names)


async def back_up(home: Path, *, target: str, steps: int) -> None:
    """Make a backup, and die after so many steps of it."""
    async with open_wiring(home) as wiring:
        await wiring.client().backup(target, progress=_fatal(steps))


async def take_in(home: Path, *, file: str, steps: int) -> None:
    """Import a file, and die after so many steps of it."""
    async with open_wiring(home) as wiring:
        await wiring.client().import_lines(Path(file), progress=_fatal(steps))


async def train(home: Path, *, delay: float) -> None:
    """Write until a dictionary is being trained, and die a moment later."""
    async with open_wiring(home, index=False) as wiring:
        number = 0
        while not wiring.store.upkeep.training:
            await wiring.client().remember(f"number {number} {FILLER}", intent="new")
            number += 1
        await asyncio.sleep(delay)
        die()


async def build(home: Path, *, delay: float, inline: bool, builder: str = "") -> None:
    """Have the index built, and die a moment later."""
    policy = LocalIndexPolicy(inline_up_to=100_000 if inline else 0)
    async with open_wiring(home, policy=policy) as wiring:
        building = asyncio.create_task(wiring.index.open())
        if builder:
            await _note_builder(wiring, Path(builder))
        await asyncio.sleep(delay)
        die()
        await building


async def _note_builder(wiring: Wiring, note: Path) -> None:
    """Write down who builds, once somebody does."""
    while True:
        await asyncio.sleep(0.01)
        results = Path(f"/proc/{os.getpid()}/task/{os.getpid()}/children").read_text(encoding="ascii").split()
        if results:
            note.write_text(results[0], encoding="ascii")
            return


async def write_once(home: Path, *, uid: int, answer: str) -> None:
    """Become somebody else, try to remember something, and note what came of it."""
    if uid:
        os.setgid(uid)
        os.setuid(uid)
    try:
        async with open_wiring(home) as wiring:
            await wiring.client().remember("written by somebody else")
            reported = "written"
    except ScrubjayError as error:
        reported = json.dumps({"class": type(error).__name__, "message": error.message, "hint": error.hint})
    Path(answer).write_text(reported, encoding="utf-8")


def _fatal(steps: int) -> Progress:
    left = [steps]

    def report(_done: int, _total: int) -> None:
        left[0] -= 1
        if left[0] == 0:
            die()

    return report


async def fill_disk(home: Path, *, answer: str) -> None:
    """Write until the disk is full, make room, write on; note what happened and whether all of it is there."""
    ballast = home.parent / "ballast"
    ballast.write_bytes(bytes(1_000_000))
    chance = random.Random(1)
    reported: dict[str, object] = {}
    async with open_wiring(home) as wiring:
        memory = wiring.client()
        stored = [(await memory.remember("the first of many")).id]
        await memory.recall("first")
        reported["index"] = (await memory.status()).index["problem"]
        try:
            while len(stored) < 2_000:
                stored.append((await memory.remember(chance.randbytes(20_000).hex())).id)
        except ScrubjayError as error:
            reported |= {"class": type(error).__name__, "message": error.message, "hint": error.hint}
        reported["found when full"] = len((await memory.recall("first of many")).hits)
        reported["there when full"] = len((await memory.read(stored)).memories) == len(stored)
        ballast.unlink()
        stored.append((await memory.remember("there is room again")).id)
    async with open_wiring(home) as wiring:
        reported["there"] = len((await wiring.client().read(stored)).memories) == len(stored)
        reported["problems"] = await wiring.store.check(deep=True)
    Path(answer).write_text(json.dumps(reported), encoding="utf-8")
