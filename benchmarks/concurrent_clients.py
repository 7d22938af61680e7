"""Many concurrent clients of one daemon; each process is `python -m benchmarks.concurrent_clients`.

A process reads its job, connects its clients, prints a line, waits for a line, and prints all durations.
"""

import asyncio
import json
import sys
import time
from collections.abc import AsyncGenerator, Iterator, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import cast

from benchmarks.daemons import Daemon, connected
from benchmarks.figures import ConcurrentClients
from benchmarks.memories import drafts, remember
from benchmarks.timing import spread
from scrubjay.client import MemoryClient
from scrubjay.errors import ScrubjayError
from scrubjay.rpc.codec import from_json, to_json
from scrubjay.settings import Settings

_ROOT = Path(__file__).parent.parent
_LONGEST_LINE = 16 * 1024 * 1024
_CONNECTING = 30.0
# One operation out of this many is a write.
_WRITES = 5


@dataclass(frozen=True, slots=True, kw_only=True)
class Job:
    """The work of the clients of one process: numbered operations, as many as fit into the time."""

    settings: Settings
    questions: tuple[str, ...]
    sentences: tuple[str, ...]
    clients: int
    operations: int
    first: int
    seconds: float


@dataclass(slots=True, kw_only=True)
class LoadResult:
    """The result of one process: durations in seconds, and errors."""

    recalls: list[float] = field(default_factory=list[float])
    remembers: list[float] = field(default_factory=list[float])
    errors: list[str] = field(default_factory=list[str])
    seconds: float = 0.0
    busy: float = 0.0


async def measure_crowd(running: Daemon, jobs: Sequence[Job]) -> ConcurrentClients:
    """Run all jobs concurrently, each in its own process."""
    async with AsyncExitStack() as stack:
        memory = await stack.enter_async_context(connected(running.settings))
        before = (await memory.status()).memories
        children = [await stack.enter_async_context(_child(job)) for job in jobs]
        for child in children:
            await asyncio.wait_for(_line(child), _CONNECTING)
        busy = running.busy
        results = await asyncio.gather(*(_run(child, job) for child, job in zip(children, jobs, strict=True)))
        busy = running.busy - busy
        after = (await memory.status()).memories
    recalls = [recall for result in results for recall in result.recalls]
    remembers = [remember for result in results for remember in result.remembers]
    seconds = max(result.seconds for result in results)
    return ConcurrentClients(
        clients=sum(job.clients for job in jobs),
        processes=len(jobs),
        per_second=(len(recalls) + len(remembers)) / seconds,
        all=spread(recalls + remembers),
        recall=spread(recalls),
        remember=spread(remembers),
        errors=tuple(error for result in results for error in result.errors),
        lost=len(remembers) - (sum(after.values()) - sum(before.values())),
        daemon_busy=busy / seconds,
        clients_busy=sum(result.busy for result in results) / seconds,
    )


@asynccontextmanager
async def _child(job: Job) -> AsyncGenerator[asyncio.subprocess.Process]:
    child = await asyncio.create_subprocess_exec(
        sys.executable,
        "-m",
        "benchmarks.concurrent_clients",
        cwd=_ROOT,
        stdin=asyncio.subprocess.PIPE,
        stdout=asyncio.subprocess.PIPE,
        limit=_LONGEST_LINE,
    )
    try:
        assert child.stdin is not None
        child.stdin.write(json.dumps(to_json(job)).encode() + b"\n")
        yield child
    finally:
        if child.returncode is None:
            child.kill()
        await child.wait()


async def _run(child: asyncio.subprocess.Process, job: Job) -> LoadResult:
    assert child.stdin is not None
    child.stdin.write(b"go\n")
    line = await asyncio.wait_for(_line(child), job.seconds + _CONNECTING)
    return cast("LoadResult", from_json(LoadResult, json.loads(line)))


async def _line(child: asyncio.subprocess.Process) -> bytes:
    assert child.stdout is not None
    line = await child.stdout.readline()
    if not line:
        raise SystemExit("a process of clients ended before its work was done")
    return line


async def _work(job: Job) -> LoadResult:
    """Connect, print a line, wait for the start, and let the clients share the operations."""
    async with AsyncExitStack() as stack:
        clients = [await stack.enter_async_context(connected(job.settings)) for _ in range(job.clients)]
        for memory in clients:
            await memory.status()
        print("ready", flush=True)
        await asyncio.to_thread(sys.stdin.readline)
        result = LoadResult()
        waiting = iter(range(job.first, job.first + job.operations))
        began, busy = time.perf_counter(), time.process_time()
        await asyncio.gather(*(_client(memory, job, waiting, result, until=began + job.seconds) for memory in clients))
        result.seconds, result.busy = time.perf_counter() - began, time.process_time() - busy
    return result


async def _client(memory: MemoryClient, job: Job, waiting: Iterator[int], result: LoadResult, *, until: float) -> None:
    for number in waiting:
        began = time.perf_counter()
        if began > until:
            return
        try:
            if number % _WRITES == 0:
                (draft,) = drafts([_numbered(job.sentences, number)], first=number)
                await remember(memory, draft)
                result.remembers.append(time.perf_counter() - began)
            else:
                await memory.recall(_numbered(job.questions, number))
                result.recalls.append(time.perf_counter() - began)
        except (ScrubjayError, OSError, TimeoutError) as error:
            result.errors.append(f"{type(error).__name__}: {error}"[:200])


def _numbered(texts: Sequence[str], number: int) -> str:
    """Make every text unique, because caches know repeated questions, and the store merges repeated statements."""
    return f"{texts[number % len(texts)]} ({number})"


def main() -> None:
    """Run the job on stdin, and print its result."""
    job = cast("Job", from_json(Job, json.loads(sys.stdin.readline())))
    print(json.dumps(to_json(asyncio.run(_work(job)))), flush=True)


if __name__ == "__main__":
    main()
