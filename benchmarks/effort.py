"""The CPU time of a recall and of a remember on the server and in the database, in milliseconds."""

import os
import time
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from benchmarks.memories import CALLER, drafts
from benchmarks.timing import busy_seconds
from scrubjay.engine import Engine
from scrubjay.model.requests import RecallRequest
from scrubjay.ports import Embedder

_WARM_UP = 20


@dataclass(frozen=True, slots=True, kw_only=True)
class Effort:
    """One operation without embedding: its latency, and the CPU time on either side."""

    wall: float
    server: float
    database: float


async def effort_of_recall(engine: Engine, questions: Sequence[str], *, postmaster: int) -> Effort:
    """Measure recalls with cached vectors."""

    async def ask(number: int) -> None:
        await engine.recall(RecallRequest(query=questions[number]), who=CALLER)

    return await _effort(ask, len(questions), postmaster=postmaster)


async def effort_of_remember(engine: Engine, sentences: Sequence[str], *, first: int, postmaster: int) -> Effort:
    """Measure remembers with cached vectors."""
    waiting = drafts(sentences, first=first)

    async def write(number: int) -> None:
        await engine.remember(waiting[number], who=CALLER)

    return await _effort(write, len(waiting), postmaster=postmaster)


async def embedding_time(embedder: Embedder, questions: Sequence[str]) -> float:
    """Return the CPU milliseconds of embedding a question."""
    await embedder.embed_query(questions[0])
    began = time.process_time()
    for question in questions:
        await embedder.embed_query(question)
    return (time.process_time() - began) / len(questions) * 1000


async def _effort(do: Callable[[int], Awaitable[None]], count: int, *, postmaster: int) -> Effort:
    for number in range(_WARM_UP):
        await do(number)
    timed = count - _WARM_UP
    database, server, began = database_seconds(postmaster), time.process_time(), time.perf_counter()
    for number in range(_WARM_UP, count):
        await do(number)
    wall, server = time.perf_counter() - began, time.process_time() - server
    database = database_seconds(postmaster) - database
    return Effort(wall=wall / timed * 1000, server=server / timed * 1000, database=database / timed * 1000)


def database_seconds(postmaster: int) -> float:
    """Return the CPU seconds of all processes of a database server; its parent process counts those that ended."""
    children = Path(f"/proc/{postmaster}/task/{postmaster}/children")
    if not children.exists():
        return 0.0
    fields = Path(f"/proc/{postmaster}/stat").read_text(encoding="utf-8").rpartition(")")[2].split()
    ended = (int(fields[13]) + int(fields[14])) / os.sysconf("SC_CLK_TCK")
    return ended + sum(busy_seconds(int(pid)) for pid in children.read_text(encoding="utf-8").split())
