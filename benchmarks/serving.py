"""Measures the daemon and its clients from a new process.

`python -m benchmarks.serving < job.json` runs a job and prints the measurements.
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
from benchmarks.filling import without_readers
from benchmarks.memory_use import weigh_agents, weigh_clients
from benchmarks.reference_server import Program
from benchmarks.rest import measure_requests
from benchmarks.starting import time_bridges, time_cold_starts
from benchmarks.transports import compare_transports
from scrubjay.rpc.codec import from_json, to_json

_ROOT = Path(__file__).parent.parent
_TIMEOUT = 300.0
_STOP_TIMEOUT = 60.0
_CLIENTS = 50
_CROWD_OPERATIONS, _CROWD_SECONDS = 1_000, 8.0
_ALONE_OPERATIONS, _ALONE_SECONDS = 200, 4.0
_RECALLS, _REMEMBERS = 225, 175


@dataclass(frozen=True, slots=True, kw_only=True)
class Job:
    """The input: a store, which is only copied, and texts that are not in it."""

    store: Path
    size: int
    folder: Path
    questions: tuple[str, ...]
    sentences: tuple[str, ...]
    program: Program | None


async def serve_in_child(job: Job) -> Serving:
    """Run a job in a new process."""
    child = await asyncio.create_subprocess_exec(
        sys.executable,
        "-m",
        "benchmarks.serving",
        cwd=_ROOT,
        stdin=asyncio.subprocess.PIPE,
        stdout=asyncio.subprocess.PIPE,
    )
    try:
        answer, _ = await asyncio.wait_for(
            child.communicate(json.dumps(to_json(job)).encode()), _TIMEOUT + _STOP_TIMEOUT
        )
    finally:
        if child.returncode is None:
            # It must stop its daemons.
            child.terminate()
            with suppress(TimeoutError):
                await asyncio.wait_for(child.wait(), _STOP_TIMEOUT)
        if child.returncode is None:
            child.kill()
            await child.wait()
    if child.returncode:
        raise SystemExit(f"measuring the daemon failed with exit code {child.returncode}")
    return cast("Serving", from_json(Serving, json.loads(answer)))


async def measure_serving(job: Job) -> Serving:
    """Measure the memory and the load of a daemon, compare the transports, and time cold starts."""
    settings = settings_for(copy_store(job.store, job.folder / "read"))
    async with daemon(settings) as running:
        requests_with_readers = await measure_requests(running, job.questions)
        crowd_with_readers = await measure_crowd(running, [_many(running, job)])
    settings = without_readers(settings_for(copy_store(job.store, job.folder / "served")))
    async with daemon(settings) as running:
        single, many = await weigh_clients(running, job.questions, clients=_CLIENTS)
        agents = await weigh_agents(running, job.questions, agents=_CLIENTS)
        bridges = await time_bridges(settings, job.program, file=job.folder / "reference.graph")
        requests = await measure_requests(running, job.questions)
        alone, crowd = await _crowds(running, job)
        residence = MemoryUse(one_client=single, clients=many, agents=agents, after_crowd=running.resident)
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
        crowd_with_readers=crowd_with_readers,
        requests_with_readers=requests_with_readers,
    )


async def _crowds(running: Daemon, job: Job) -> tuple[ConcurrentClients, ConcurrentClients]:
    """One client, then many."""
    many = _many(running, job)
    alone = replace(many, clients=1, operations=_ALONE_OPERATIONS, first=job.size, seconds=_ALONE_SECONDS)
    return await measure_crowd(running, [alone]), await measure_crowd(running, [many])


def _many(running: Daemon, job: Job) -> CrowdJob:
    return CrowdJob(
        settings=running.settings,
        questions=job.questions,
        sentences=job.sentences,
        clients=_CLIENTS,
        operations=_CROWD_OPERATIONS,
        first=job.size + _ALONE_OPERATIONS,
        seconds=_CROWD_SECONDS,
    )


async def _bounded(job: Job) -> Serving:
    """Measure within a time limit, and clean up on SIGTERM."""
    task = asyncio.current_task()
    assert task is not None
    asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, task.cancel)
    async with asyncio.timeout(_TIMEOUT):
        return await measure_serving(job)


def main() -> None:
    """Run the job on stdin, and print the measurements."""
    job = cast("Job", from_json(Job, json.loads(sys.stdin.read())))
    json.dump(to_json(asyncio.run(_bounded(job))), sys.stdout)


if __name__ == "__main__":
    main()
