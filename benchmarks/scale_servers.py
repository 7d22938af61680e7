"""Measures the throughput of one and of two servers over one database, and the bottleneck."""

import asyncio
from collections.abc import Sequence
from contextlib import AsyncExitStack
from dataclasses import dataclass, replace
from pathlib import Path

from benchmarks.daemons import Daemon, daemon, settings_for
from benchmarks.effort import database_seconds
from benchmarks.rest import Job, LoadResult, RestClient, load
from benchmarks.timing import Spread, spread

_CONNECTIONS = 20
_QUESTIONS = 200


@dataclass(frozen=True, slots=True, kw_only=True)
class Throughput:
    """Recalls by REST over several connections without a pause, and the busy cores of each side."""

    servers: int
    per_second: float
    recall: Spread
    servers_busy: float
    database_busy: float
    clients_busy: float
    errors: tuple[str, ...]

    @property
    def bottleneck(self) -> str:
        """The saturated resource."""
        if self.servers_busy / self.servers > 0.9:
            return "one interpreter for each server"
        return "the cores of the machine"


async def measure_servers(
    folder: Path, url: str, questions: Sequence[str], *, servers: int, postmaster: int
) -> Throughput:
    """Recall on all servers concurrently, with the connections divided among them and cached embeddings."""
    embedded = tuple(questions[:_QUESTIONS])
    async with AsyncExitStack() as stack:
        homes = [folder / f"{servers}-{number}" for number in range(servers)]
        settings_list = [replace(settings_for(home), database_url=url) for home in homes]
        daemons = [await stack.enter_async_context(daemon(settings)) for settings in settings_list]
        for server in daemons:
            await _warm(server, embedded)
        busy, database = sum(server.busy for server in daemons), database_seconds(postmaster)
        results = await asyncio.gather(*(load(_job(server, embedded, servers=servers)) for server in daemons))
        busy, database = sum(server.busy for server in daemons) - busy, database_seconds(postmaster) - database
    return _throughput(results, busy=busy, database=database)


async def _warm(running: Daemon, questions: Sequence[str]) -> None:
    async with RestClient(running.url, space=running.settings.space) as client:
        for question in questions:
            await client.recall(question)


def _job(running: Daemon, questions: tuple[str, ...], *, servers: int) -> Job:
    return Job(
        url=running.url, space=running.settings.space, questions=questions, is_repeated=False,
        connections=_CONNECTIONS // servers,
    )  # fmt: skip


def _throughput(results: Sequence[LoadResult], *, busy: float, database: float) -> Throughput:
    recalls = [recall for result in results for recall in result.recalls]
    seconds = max(result.seconds for result in results)
    return Throughput(
        servers=len(results),
        per_second=len(recalls) / seconds,
        recall=spread(recalls),
        servers_busy=busy / seconds,
        database_busy=database / seconds,
        clients_busy=sum(result.busy for result in results) / seconds,
        errors=tuple(error for result in results for error in result.errors),
    )
