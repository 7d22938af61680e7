"""How much one server and two serve over one database, and what runs out first."""

import asyncio
from collections.abc import Sequence
from contextlib import AsyncExitStack
from dataclasses import dataclass, replace
from pathlib import Path

from benchmarks.daemons import Daemon, daemon, settings_for
from benchmarks.effort import database_seconds
from benchmarks.rest import Job, RestClient, Shift, load
from benchmarks.timing import Spread, spread

_CONNECTIONS = 20
_QUESTIONS = 200


@dataclass(frozen=True, slots=True, kw_only=True)
class Throughput:
    """Recalls by REST over several connections without a pause; how many cores each side was busy with."""

    servers: int
    per_second: float
    recall: Spread
    servers_busy: float
    database_busy: float
    clients_busy: float
    errors: tuple[str, ...]

    @property
    def bottleneck(self) -> str:
        """Who works all the time."""
        if self.servers_busy / self.servers > 0.9:
            return "one interpreter for each server"
        return "the cores of the machine"


async def measure_servers(
    folder: Path, url: str, questions: Sequence[str], *, servers: int, postmaster: int
) -> Throughput:
    """Ask so many servers at once, the connections shared among them; only the embeddings are known before."""
    request = tuple(questions[:_QUESTIONS])
    async with AsyncExitStack() as stack:
        homes = [folder / f"{servers}-{number}" for number in range(servers)]
        each = [replace(settings_for(home), database_url=url) for home in homes]
        running = [await stack.enter_async_context(daemon(settings)) for settings in each]
        for entry in running:
            await _warm(entry, request)
        busy, database = sum(item.busy for item in running), database_seconds(postmaster)
        shifts = await asyncio.gather(*(load(_job(item, request, servers=servers)) for item in running))
        busy, database = sum(item.busy for item in running) - busy, database_seconds(postmaster) - database
    return _told(shifts, busy=busy, database=database)


async def _warm(one: Daemon, questions: Sequence[str]) -> None:
    async with RestClient(one.url, space=one.settings.space) as client:
        for question in questions:
            await client.recall(question)


def _job(one: Daemon, questions: tuple[str, ...], *, servers: int) -> Job:
    return Job(
        url=one.url, space=one.settings.space, questions=questions, is_repeated=False,
        connections=_CONNECTIONS // servers,
    )  # fmt: skip


def _told(shifts: Sequence[Shift], *, busy: float, database: float) -> Throughput:
    recalls = [recall for shift in shifts for recall in shift.recalls]
    seconds = max(shift.seconds for shift in shifts)
    return Throughput(
        servers=len(shifts),
        per_second=len(recalls) / seconds,
        recall=spread(recalls),
        servers_busy=busy / seconds,
        database_busy=database / seconds,
        clients_busy=sum(shift.busy for shift in shifts) / seconds,
        errors=tuple(error for shift in shifts for error in shift.errors),
    )
