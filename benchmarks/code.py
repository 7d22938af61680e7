"""Measures programs: `python -m benchmarks.code`. What a call costs beyond its code, and what a loop inside saves."""

import argparse
import asyncio
import statistics
import tempfile
import time
from collections.abc import AsyncGenerator, Mapping, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any, cast

from mcp.client.client import Client
from mcp.client.stdio import StdioServerParameters, stdio_client

from benchmarks.daemons import SCRUBJAY, Daemon, connected, daemon, environment_for, settings_for
from scrubjay.client import MemoryClient
from scrubjay.code.pool import WorkerPool
from scrubjay.code.wall import WallPolicy
from scrubjay.model.code import CodeLimits, CodeResult
from scrubjay.model.requests import RunCodeRequest
from scrubjay.settings import Settings

_ENTITIES = 1_000
_KINDS = ("service", "person", "project", "decision")
_EMPTY = "result = 1"
_SEARCHES = {
    "a loop": "result = 0\nfor query in queries:\n  result += len(search_nodes(query, limit=10))",
    "search_nodes_many": "result = len(search_nodes_many(queries, limit=10))",
}


def main() -> None:
    """Print each figure with its limit."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--calls", type=int, default=1_000, help="searches, and programs for the memory of the daemon")
    parser.add_argument("--embedder", default="bundled", help="the model that embeds the questions")
    arguments = parser.parse_args()
    asyncio.run(_measure(arguments.calls, arguments.embedder))


async def _measure(calls: int, embedder: str) -> None:
    with tempfile.TemporaryDirectory(prefix="scrubjay-") as folder:
        settings = settings_for(Path(folder) / "data", embedder=embedder)
        async with daemon(settings) as running, connected(settings) as memory:
            await _fill(memory)
            await _report_start(memory)
            await _report_call(memory)
            await _report_searches(settings, memory, calls)
            await _report_memory(running, memory, calls)


async def _fill(memory: MemoryClient) -> None:
    for start in range(0, _ENTITIES, 100):
        entities: list[Mapping[str, object]] = [
            {"name": f"{_KINDS[n % 4]}-{n}", "entityType": _KINDS[n % 4], "observations": [f"number {n} of the list"]}
            for n in range(start, start + 100)
        ]
        await memory.create_entities(entities)  # type: ignore[arg-type]


async def _report_start(memory: MemoryClient) -> None:
    first = time.perf_counter()
    await _run(memory, _EMPTY)
    print(f"first program, with the start of the workers   {_ms(first):9.1f} ms")
    pool = WorkerPool(limits=CodeLimits(), policy=WallPolicy.AUTO)
    start = time.perf_counter()
    wall = await pool.wall()
    built = time.perf_counter()
    await pool.start()
    started = time.perf_counter()
    # The pool may say that it has started before a worker is ready.
    async with pool.session(now=None, modules={}) as session:
        await session.feed_run(_EMPTY)
    ended = time.perf_counter()
    for step, began, end, limit in (
        (f"finding the wall, {wall.wall}", start, built, ""), ("start of the workers", built, started, ""),
        ("first program of a worker", started, ended, ""), ("all three: start of the pool", start, ended, "(limit 50)"),
    ):  # fmt: skip
        print(f"{step:<46} {(end - began) * 1000:9.1f} ms   {limit}".rstrip())
    await pool.close()


async def _report_call(memory: MemoryClient) -> None:
    over: list[float] = []
    for _ in range(200):
        start = time.perf_counter()
        answer = await _run(memory, _EMPTY)
        over.append(_ms(start) - answer.execution_time_ms)
    print(f"warm call beyond its code, p50                 {statistics.median(over):9.1f} ms   (limit 5)")
    print(f"warm call beyond its code, p95                 {sorted(over)[int(len(over) * 0.95)]:9.1f} ms")


async def _report_searches(settings: Settings, memory: MemoryClient, calls: int) -> None:
    """Compare searches for exact names, and then for texts that are embedded, each in three ways."""
    names = [f"{_KINDS[n % 4]}-{n % _ENTITIES}" for n in range(calls)]
    async with _agent(settings) as agent:
        await _search_by_calls(agent, names[:20])
        await _compare("exact names", [names] * 3, agent=agent, memory=memory, limit="(limit 1/5)")
        # Each way has its own questions, for the embedding of a question is kept.
        texts = [[f"{way} {n} of the lists" for n in range(calls // 10)] for way in ("first", "second", "third")]
        await _compare("texts", texts, agent=agent, memory=memory)


async def _compare(
    kind: str, queries: Sequence[Sequence[str]], *, agent: Client, memory: MemoryClient, limit: str = ""
) -> None:
    by_calls = await _search_by_calls(agent, queries[0])
    for (label, code), questions in zip(_SEARCHES.items(), queries[1:], strict=True):
        start = time.perf_counter()
        await _run(memory, code, {"queries": questions})
        inside = _ms(start)
        what = f"{len(questions):,} searches for {kind}"
        print(f"{what}: {label:<18} in one program {inside:9.0f} ms, by MCP {by_calls:.0f} ms: "
              f"1/{by_calls / inside:.1f}   {limit}".rstrip())  # fmt: skip


async def _search_by_calls(agent: Client, queries: Sequence[str]) -> float:
    start = time.perf_counter()
    for query in queries:
        answer = await agent.call_tool("search_nodes", {"query": query, "limit": 10})
        if answer.is_error:
            raise SystemExit(str(answer.content))
    return _ms(start)


@asynccontextmanager
async def _agent(settings: Settings) -> AsyncGenerator[Client]:
    """Connect the official client over stdio, as agents do: it starts `scrubjay mcp`, which joins the daemon."""
    arguments = ["mcp", "--data", str(settings.data), "--space", settings.space, "--tools", "enhanced"]
    parameters = StdioServerParameters(command=SCRUBJAY, args=arguments, env=environment_for(settings))
    async with Client(cast("Any", stdio_client(parameters))) as client:
        yield client


async def _report_memory(running: Daemon, memory: MemoryClient, calls: int) -> None:
    code = "x = ['word'] * 1000\nresult = [len(search_nodes('person', limit=20)), x[:9]]"
    for _ in range(100):
        await _run(memory, code)
    before = running.resident
    for _ in range(calls):
        await _run(memory, code)
    print(f"memory of the daemon before and after {calls:,} programs: {before:.0f} and {running.resident:.0f} MB")


async def _run(memory: MemoryClient, code: str, variables: Mapping[str, object] | None = None) -> CodeResult:
    answer = await memory.call(RunCodeRequest.of(code=code, context_vars=variables or {}))
    if not answer.success:
        raise SystemExit(answer.error)
    return answer


def _ms(start: float) -> float:
    return (time.perf_counter() - start) * 1000


if __name__ == "__main__":
    main()
