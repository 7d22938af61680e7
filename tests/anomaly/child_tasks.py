"""The tasks of child processes, which run until they are killed or kill themselves at a chosen point."""

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
from scrubjay.model.requests import RememberRequest
from scrubjay.ports import Commit, Committed, Progress
from scrubjay.storage.sqlite import SqliteStore
from scrubjay.storage.sqlite.writer import Job, Writer
from tests.scenarios.wiring import Wiring, open_wiring

T = TypeVar("T")
FILLER = "and it went on like this for quite some time, " * 4


def die() -> None:
    """Kill the process without any cleanup, as a power cut would."""
    os.kill(os.getpid(), signal.SIGKILL)


# ---- writing until killed -------------------------------------------------------------------------


async def write(home: Path, *, acknowledgements: str, seed: int) -> None:
    """Remember, revise and forget without a pause, and note each call after its answer."""
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
    """A store's writer that kills the process after a number of jobs."""

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
    """Purge, and die after a number of steps."""
    async with open_wiring(home) as wiring:
        await wiring.client().recall("anything")
        fragile = FragileWriter(wiring.store.upkeep.writer, jobs=steps)
        wiring.store._writer = fragile  # type: ignore[assignment]
        wiring.store.upkeep.writer = fragile  # type: ignore[assignment]
        await wiring.client().purge(names)


async def remember_many(home: Path, *, count: int, commits: int) -> None:
    """Remember many texts under one key, and die in the middle of a chunk, after a number of commits."""
    async with open_wiring(home) as wiring:
        if commits:
            _die_after(commits)
        items = [RememberRequest(text=f"text {number} {FILLER}", intent="new") for number in range(count)]
        await wiring.client().remember_many(items, idempotency_key="batch")


def _die_after(commits: int) -> None:
    commit = SqliteStore.commit
    left = commits

    async def fatal(store: SqliteStore, request: Commit) -> Committed:
        nonlocal left
        left -= 1
        if not left:
            die()
        return await commit(store, request)

    SqliteStore.commit = fatal  # type: ignore[method-assign]


async def back_up(home: Path, *, target: str, steps: int) -> None:
    """Make a backup, and die after a number of steps."""
    async with open_wiring(home) as wiring:
        await wiring.client().backup(target, progress=_fatal(steps))


async def take_in(home: Path, *, file: str, steps: int) -> None:
    """Import a file, and die after a number of steps."""
    async with open_wiring(home) as wiring:
        await wiring.client().import_lines(Path(file), progress=_fatal(steps))


async def train(home: Path, *, delay: float) -> None:
    """Write until the training of a dictionary starts, and die a moment later."""
    async with open_wiring(home, index=False) as wiring:
        number = 0
        while not wiring.store.upkeep.training:
            await wiring.client().remember(f"number {number} {FILLER}", intent="new")
            number += 1
        await asyncio.sleep(delay)
        die()


async def build(home: Path, *, delay: float, inline: bool, builder: str = "") -> None:
    """Start the build of the index, and die a moment later."""
    policy = LocalIndexPolicy(inline_up_to=100_000 if inline else 0)
    async with open_wiring(home, policy=policy) as wiring:
        building = asyncio.create_task(wiring.index.open())
        if builder:
            await _note_builder(wiring, Path(builder))
        await asyncio.sleep(delay)
        die()
        await building


async def _note_builder(wiring: Wiring, note: Path) -> None:
    """Write down the process id of the builder once it runs."""
    while True:
        await asyncio.sleep(0.01)
        children = Path(f"/proc/{os.getpid()}/task/{os.getpid()}/children").read_text(encoding="ascii").split()
        if children:
            note.write_text(children[0], encoding="ascii")
            return


async def write_once(home: Path, *, uid: int, answer: str) -> None:
    """Switch to another user, try to remember a text, and note the outcome."""
    if uid:
        os.setgid(uid)
        os.setuid(uid)
    try:
        async with open_wiring(home) as wiring:
            await wiring.client().remember("written by somebody else")
            outcome = "written"
    except ScrubjayError as error:
        outcome = json.dumps({"class": type(error).__name__, "message": error.message, "hint": error.hint})
    Path(answer).write_text(outcome, encoding="utf-8")


def _fatal(steps: int) -> Progress:
    left = [steps]

    def report(_done: int, _total: int) -> None:
        left[0] -= 1
        if left[0] == 0:
            die()

    return report


async def fill_disk(home: Path, *, answer: str) -> None:
    """Write until the disk is full, free space, continue; note the outcome and whether all memories are there."""
    ballast = home.parent / "ballast"
    ballast.write_bytes(bytes(1_000_000))
    chance = random.Random(1)
    outcome: dict[str, object] = {}
    async with open_wiring(home) as wiring:
        memory = wiring.client()
        ids = [(await memory.remember("the first of many")).id]
        await memory.recall("first")
        outcome["index"] = (await memory.status()).index["problem"]
        try:
            while len(ids) < 2_000:
                ids.append((await memory.remember(chance.randbytes(20_000).hex())).id)
        except ScrubjayError as error:
            outcome |= {"class": type(error).__name__, "message": error.message, "hint": error.hint}
        outcome["found when full"] = len((await memory.recall("first of many")).hits)
        outcome["there when full"] = len((await memory.read(ids)).memories) == len(ids)
        ballast.unlink()
        ids.append((await memory.remember("there is room again")).id)
    async with open_wiring(home) as wiring:
        outcome["there"] = len((await wiring.client().read(ids)).memories) == len(ids)
        outcome["problems"] = await wiring.store.check(deep=True)
    Path(answer).write_text(json.dumps(outcome), encoding="utf-8")
