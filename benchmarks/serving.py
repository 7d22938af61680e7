"""The daemon and all that talks to it, measured from a process that has done nothing else.

`python -m benchmarks.serving < job.json` does the job and prints what was measured.
"""

import asyncio
import json
import signal
import sys
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import cast

from benchmarks.concurrent_clients import Job as CrowdJob
from benchmarks.concurrent_clients import measure_crowd
from benchmarks.daemons import Daemon, copy_store, daemon, settings_for
from benchmarks.figures import ConcurrentClients, MemoryUse, Serving
from benchmarks.memory_use import weigh_agents, weigh_clients
from benchmarks.npm_server import Program
from benchmarks.rest import measure_requests
from benchmarks.starting import time_bridges, time_cold_starts
from benchmarks.transports import compare_transports
from scrubjay.rpc.codec import from_json, to_json

_ROOT = Path(__file__).parent.parent
_LONGEST = 240.0
_LEAVING = 60.0
_CLIENTS = 50
_CROWD_OPERATIONS, _CROWD_SECONDS = 1_000, 8.0
_ALONE_OPERATIONS, _ALONE_SECONDS = 200, 4.0
_RECALLS, _REMEMBERS = 225, 175


@dataclass(frozen=True, slots=True, kw_only=True)
class Job:
    """What to measure: a store that is only copied, and texts that are not in it."""

    store: Path
    size: int
    folder: Path
    questions: tuple[str, ...]
    sentences: tuple[str, ...]
    program: Program | None


async def serve_in_child(job: Job) -> Serving:
    """Have a fresh process do the job."""
    child = await asyncio.create_subprocess_exec(
        sys.executable,
        "-m",
        "benchmarks.serving",
        cwd=_ROOT,
        stdin=asyncio.subprocess.PIPE,
        stdout=asyncio.subprocess.PIPE,
    )
    try:
        answer, _ = await asyncio.wait_for(child.communicate(json.dumps(to_json(job)).encode()), _LONGEST + _LEAVING)
    finally:
        if child.returncode is None:
            # It has daemons to end.
            child.terminate()
            with suppress(TimeoutError):
                await asyncio.wait_for(child.wait(), _LEAVING)
        if child.returncode is None:
            child.kill()
            await child.wait()
    if child.returncode:
        raise SystemExit(f"measuring the daemon failed with exit code {child.returncode}")
    return cast("Serving", from_json(Serving, json.loads(answer)))


async def measure_serving(job: Job) -> Serving:
    """Weigh and crowd a daemon with the product's defaults, compare the ways to one, and start some from nothing."""
    settings = settings_for(copy_store(job.store, job.folder / "served"))
    async with daemon(settings) as running:
        item, many = await weigh_clients(running, job.questions, clients=_CLIENTS)
        agents = await weigh_agents(running, job.questions, agents=_CLIENTS)
        bridges = await time_bridges(settings, job.program, file=job.folder / "reference.graph")
        requests = await measure_requests(running, job.questions)
        alone, crowd = await _crowds(running, job)
        residence = MemoryUse(one_client=item, clients=many, agents=agents, after_crowd=running.resident)
    recall, remember = await compare_transports(
        job.store, job.questions[:_RECALLS], job.sentences[:_REMEMBERS], folder=job.folder, first=job.size
    )
    return Serving(
        size=job.size,
        bridges=bridges,
        cold_starts=await time_cold_starts(settings),
        recall=recall,
        remember=remember,
        alone=alone,
        crowd=crowd,
        requests=requests,
        residence=residence,
    )


async def _crowds(running: Daemon, job: Job) -> tuple[ConcurrentClients, ConcurrentClients]:
    """One client, then many."""
    alone = CrowdJob(
        settings=running.settings,
        questions=job.questions,
        sentences=job.sentences,
        clients=1,
        operations=_ALONE_OPERATIONS,
        first=job.size,
        seconds=_ALONE_SECONDS,
    )
    many = replace(
        alone,
        clients=_CLIENTS,
        operations=_CROWD_OPERATIONS,
        first=job.size + _ALONE_OPERATIONS,
        seconds=_CROWD_SECONDS,
    )
    return await measure_crowd(running, [alone]), await measure_crowd(running, [many])


async def _bounded(job: Job) -> Serving:
    """The same, within a time, and given up in good order when told to leave."""
    task = asyncio.current_task()
    assert task is not None
    asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, task.cancel)
    async with asyncio.timeout(_LONGEST):
        return await measure_serving(job)


def main() -> None:
    """Do the job that comes in, and print what was measured."""
    job = cast("Job", from_json(Job, json.loads(sys.stdin.read())))
    json.dump(to_json(asyncio.run(_bounded(job))), sys.stdout)


if __name__ == "__main__":
    main()
