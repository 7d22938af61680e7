"""Times the start of bridges, daemons and the reference server, until their first answer.

`python -m benchmarks.starting` prints the CPU seconds of a command that a daemon answers and of a daemon's start, and
how long a client whose daemon was killed waits for what it has read before.
"""

import asyncio
import os
import statistics
import subprocess
import tempfile
import time
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from pathlib import Path

from benchmarks.daemons import SCRUBJAY, connected, daemon, end_daemon_of, environment_for, settings_for
from benchmarks.figures import Bridges, ColdStarts
from benchmarks.reference_server import Program, StdioClient, Unavailable, session
from benchmarks.timing import resident_mb, spread
from scrubjay.client import MemoryClient
from scrubjay.settings import Settings

_BRIDGES = 20
# The reference server starts several times slower, and the run has a time limit.
_BRIDGES_TO_A_REFERENCE = 2
_COLD = 3
_LEAVING = 10.0
# A daemon that takes less CPU time in a second has loaded everything.
_RESTING = 0.1
_QUESTION = "the first question"
_MOMENTS = ("it answers", "its first recall is answered", "it rests")


async def time_bridges(settings: Settings, program: Program | None, *, file: Path) -> Bridges:
    """Start bridges to a running daemon, and the reference server in between."""
    bridges: list[float] = []
    references: list[float] = []
    resident = 0.0
    # One more than is counted, because the first of each reads its files from disk.
    for number in range(_BRIDGES + 1):
        seconds, resident = await _start_bridge(settings)
        bridges.append(seconds)
        if program is not None and number % _BRIDGES_TO_A_REFERENCE == 0:
            try:
                references.append(await _start_reference(program, file=file))
            except Unavailable:
                program = None
    reference = spread(references[1:]) if len(references) > 1 else None
    return Bridges(start=spread(bridges[1:]), resident=resident, reference=reference)


async def time_cold_starts(settings: Settings) -> ColdStarts:
    """Start daemons directly and by a bridge, in turn."""
    open_: list[float] = []
    by_hand: list[float] = []
    by_bridge: list[float] = []
    for _ in range(_COLD):
        began = time.perf_counter()
        async with daemon(settings), connected(settings) as memory:
            open_.append(time.perf_counter() - began)
            await memory.status()
            by_hand.append(time.perf_counter() - began)
        try:
            seconds, _resident = await _start_bridge(settings)
            by_bridge.append(seconds)
        finally:
            await end_daemon_of(settings.data)
    return ColdStarts(open=spread(open_), daemon=spread(by_hand), bridge=spread(by_bridge))


async def _start_bridge(settings: Settings) -> tuple[float, float]:
    """Return the seconds until a bridge has listed its tools, and its resident MB."""
    began = time.perf_counter()
    async with _bridge(settings) as child:
        server = StdioClient(child)
        await server.greet()
        await server.ask("tools/list", {})
        return time.perf_counter() - began, resident_mb(child.pid)


async def _start_reference(program: Program, *, file: Path) -> float:
    began = time.perf_counter()
    async with session(program, file=file) as server:
        await server.ask("tools/list", {})
        return time.perf_counter() - began


@asynccontextmanager
async def _bridge(settings: Settings) -> AsyncGenerator[asyncio.subprocess.Process]:
    """Run `scrubjay mcp` as a client does, until the client disconnects."""
    child = await asyncio.create_subprocess_exec(
        SCRUBJAY,
        "mcp",
        "--data",
        str(settings.data),
        env=environment_for(settings),
        stdin=asyncio.subprocess.PIPE,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.DEVNULL,
    )
    assert child.stdin is not None
    try:
        yield child
    finally:
        child.stdin.close()
        try:
            await asyncio.wait_for(child.wait(), _LEAVING)
        except TimeoutError:
            child.kill()
            await child.wait()


def command_seconds(settings: Settings, *arguments: str) -> float:
    """Return the CPU seconds of one command, as a user's shell counts them."""
    child = subprocess.Popen(
        [SCRUBJAY, *arguments, "--data", str(settings.data)],
        env=environment_for(settings),
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
    )
    _, status, used = os.wait4(child.pid, 0)
    child.returncode = os.waitstatus_to_exitcode(status)
    if child.returncode:
        raise SystemExit(f"`scrubjay {' '.join(arguments)}` failed with exit code {child.returncode}")
    return used.ru_utime + used.ru_stime


async def daemon_seconds(settings: Settings) -> tuple[float, float, float]:
    """Return the CPU seconds of a daemon until it answers, until its first recall is answered, and until it rests."""
    async with daemon(settings) as running, connected(settings) as memory:
        await memory.status()
        answering = running.busy
        await memory.recall(_QUESTION)
        recalled, resting = running.busy, 0.0
        while running.busy - resting > _RESTING:
            resting = running.busy
            await asyncio.sleep(1.0)
        return answering, recalled, running.busy


async def orphaned_seconds(settings: Settings) -> tuple[float, float]:
    """Return the seconds of a client's first and second read of what it has read before its daemon was killed."""
    async with daemon(settings) as running, connected(settings) as memory:
        await memory.recall(_QUESTION)
        await running.kill()
        return await _time_kept_read(memory), await _time_kept_read(memory)


async def _time_kept_read(memory: MemoryClient) -> float:
    began = time.perf_counter()
    answer = await memory.recall(_QUESTION)
    seconds = time.perf_counter() - began
    if not answer.stale:
        raise SystemExit("a daemon answered, though it was killed")
    return seconds


async def _print_seconds() -> None:
    with tempfile.TemporaryDirectory() as folder:
        # As installed: a process that has to compile every module first takes nearly twice as long.
        os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
        os.environ["PYTHONPYCACHEPREFIX"] = str(Path(folder) / "compiled")
        settings = settings_for(Path(folder) / "data")
        orphaned = [await orphaned_seconds(settings) for _ in range(_COLD)]
        starts = [await daemon_seconds(settings) for _ in range(_COLD + 1)][1:]
        async with daemon(settings):
            for arguments in (("remember", "Ada likes green tea"), ("recall", "green tea"), ("status",)):
                used = [command_seconds(settings, *arguments) for _ in range(_BRIDGES // 2)]
                print(f"CPU of `scrubjay {arguments[0]}` with a daemon: {statistics.median(used[1:]):.3f} s")
    for name, seconds in zip(_MOMENTS, zip(*starts, strict=True), strict=True):
        print(f"CPU of a daemon until {name}: {statistics.median(seconds):.2f} s")
    for name, seconds in zip(("first", "second"), zip(*orphaned, strict=True), strict=True):
        print(f"The {name} read again after the daemon was killed: {statistics.median(seconds):.4f} s")


if __name__ == "__main__":
    asyncio.run(_print_seconds())
