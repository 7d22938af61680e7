"""Times each operation of the `enhanced` dialect: `python -m benchmarks.latency_table --entities 10000`.

The table also lists the times that the dialect's description gives for some 20,000 entities. Every operation goes
through the engine, embedding included; reader, pair model and code execution are left out.
"""

import argparse
import asyncio
import tempfile
import time
from collections.abc import Awaitable, Callable, Iterator, Sequence
from dataclasses import replace
from itertools import count
from pathlib import Path
from typing import cast

from benchmarks.cache import VectorCache
from benchmarks.corpus import load_corpus
from benchmarks.embedders import CachedEmbedder
from benchmarks.filling import PLAIN, Workspace, open_engine_with
from benchmarks.memories import CALLER
from benchmarks.tables import Table, ms, rows_of
from benchmarks.timing import Spread, spread
from scrubjay.app import make_embedder
from scrubjay.engine import Engine
from scrubjay.graph.records import draft_for
from scrubjay.model.memory import Json
from scrubjay.model.requests import (
    ConflictsRequest,
    CreateEntitiesRequest,
    ExtractRequest,
    HistoryRequest,
    ProbeConflictsRequest,
    ResolveConflictRequest,
    SearchNodesRequest,
    UpdateEntityRequest,
)
from scrubjay.settings import Settings

# p50, p95 and p99 in milliseconds.
DESCRIBED: dict[str, tuple[int, int, int]] = {
    "create_entities (1)": (25, 45, 80),
    "create_entities (10)": (80, 150, 250),
    "search_nodes (limit=10)": (15, 30, 60),
    "search_nodes (limit=100)": (45, 90, 150),
    "auto_extract_facts": (50, 100, 200),
    "detect_conflicts": (80, 180, 350),
    "resolve_conflict (merge)": (100, 200, 400),
    "memory_diff": (30, 60, 100),
}
_TIMED = 100
_FEWER = 30
_WARM = 3
_CONCURRENT = 32
_LINES = 100
_EACH = 2

Operation = Callable[[], Awaitable[object]]


def main() -> None:
    """Measure, and print it as Markdown."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.latency_table", description="Times each operation.")
    parser.add_argument("--entities", type=int, default=10_000, help="the number of entities (default: 10,000)")
    parser.add_argument(
        "--times", type=int, default=_TIMED, help=f"how often to time each operation (default: {_TIMED})"
    )
    inputs = parser.parse_args()
    table = asyncio.run(measure(inputs.entities, times=inputs.times))
    print(f"## {table.title}\n")
    print("\n".join(rows_of(table)))


async def measure(entities: int, *, times: int) -> Table:
    """Fill a store with entities of two observations each, and time every operation."""
    spare = (times + _WARM) * (_LINES + 6 * _EACH) + (_FEWER + _WARM) * 12 * _EACH
    sentences = load_corpus(sentences=entities * _EACH + spare, questions=1).sentences
    with tempfile.TemporaryDirectory() as folder:
        inner = make_embedder(Settings.load(environment={}, home=folder))
        embedder = CachedEmbedder(inner, VectorCache(await inner.profile()))
        workspace = Workspace(home=Path(folder) / "data", embedder=embedder)
        async with open_engine_with(workspace.settings, embedder) as engine:
            await _fill(engine, sentences[: entities * _EACH])
            operations = _Operations(replace(engine, embedder=inner), sentences[entities * _EACH :])
            results = {name: await operations.time(name, times) for name in DESCRIBED}
        await inner.close()
    head = ("operation", *(f"described {name}" for name in ("p50", "p95", "p99")), "p50", "p95", "p99", "times")
    rows = tuple(_row(name, results[name]) for name in DESCRIBED)
    return Table(title=f"Milliseconds at {entities:,} entities, embedding included", head=head, rows=rows)


async def _fill(engine: Engine, sentences: Sequence[str]) -> None:
    """Store entities without comparing them with each other."""
    unchecked = replace(engine, default_rules=replace(PLAIN, conflicts="off"))
    records = [_record(f"entity {at}", sentences[at * _EACH :]) for at in range(len(sentences) // _EACH)]
    for first in range(0, len(records), _CONCURRENT):
        batch = records[first : first + _CONCURRENT]
        await asyncio.gather(
            *(unchecked.create_entities(CreateEntitiesRequest.of(entities=[record]), who=CALLER) for record in batch)
        )
    await engine.index.rebuild()


class _Operations:
    """Prepares and times the operations, each with its own sentences."""

    def __init__(self, engine: Engine, sentences: Sequence[str]) -> None:
        self._engine = engine
        self._sentences = iter(sentences)
        self._numbers = count()

    async def time(self, name: str, times: int) -> Spread:
        """Time an operation repeatedly."""
        repetitions = times if name not in ("create_entities (10)", "resolve_conflict (merge)") else min(times, _FEWER)
        seconds: list[float] = []
        for number in range(repetitions + _WARM):
            operation = await self._prepare(name)
            began = time.perf_counter()
            await operation()
            if number >= _WARM:
                seconds.append(time.perf_counter() - began)
        return spread(seconds)

    async def _prepare(self, name: str) -> Operation:
        """Return the operation to time, with its preconditions met."""
        engine = self._engine
        match name:
            case "create_entities (1)":
                record = self._new()
                return lambda: engine.create_entities(CreateEntitiesRequest.of(entities=[record]), who=CALLER)
            case "create_entities (10)":
                ten = [self._new() for _ in range(10)]
                return lambda: engine.create_entities(CreateEntitiesRequest.of(entities=ten), who=CALLER)
            case "search_nodes (limit=10)" | "search_nodes (limit=100)":
                query, limit = next(self._sentences), int(name.split("=")[1].rstrip(")"))
                return lambda: engine.search_nodes(SearchNodesRequest(query=query, limit=limit), who=CALLER)
            case "auto_extract_facts":
                text = "\n".join(self._turns())
                return lambda: engine.extract(ExtractRequest(text=text, store=False), who=CALLER)
            case "detect_conflicts":
                draft = draft_for(self._new(), agent="benchmark")
                return lambda: engine.probe_conflicts(ProbeConflictsRequest(drafts=(draft,)), who=CALLER)
            case "resolve_conflict (merge)":
                conflict = await self._duplicate()
                return lambda: engine.resolve_conflict(
                    ResolveConflictRequest(id=conflict, strategy="merge"), who=CALLER
                )
            case _:
                revised = await self._revise_entity()
                return lambda: engine.history(HistoryRequest(id=revised, diff=(1, 2)), who=CALLER)

    def _new(self) -> dict[str, Json]:
        return _record(f"newcomer {next(self._numbers)}", [next(self._sentences) for _ in range(_EACH)])

    def _turns(self) -> Iterator[str]:
        for number in range(_LINES):
            yield f"{'user' if number % 2 else 'assistant'}: {next(self._sentences)}"

    async def _duplicate(self) -> str:
        """Return the conflict of two equal entities."""
        first = self._new()
        second = first | {"name": f"twin {next(self._numbers)}"}
        await self._engine.create_entities(CreateEntitiesRequest.of(entities=[first, second]), who=CALLER)
        for conflict in await self._engine.conflicts(ConflictsRequest(id=str(second["name"])), who=CALLER):
            if conflict.other.name == first["name"] or conflict.memory.name == first["name"]:
                return conflict.id
        raise AssertionError

    async def _revise_entity(self) -> str:
        record = self._new()
        answer = await self._engine.create_entities(CreateEntitiesRequest.of(entities=[record]), who=CALLER)
        more: dict[str, Json] = {"add_observations": [next(self._sentences)]}
        await self._engine.update_entity(UpdateEntityRequest(id=str(record["name"]), changes=more), who=CALLER)
        return str(cast("list[dict[str, Json]]", answer["results"])[0]["id"])


def _record(name: str, sentences: Sequence[str]) -> dict[str, Json]:
    return {"name": name, "entityType": "note", "observations": list[Json](sentences[:_EACH])}


def _row(name: str, measured: Spread) -> tuple[str, ...]:
    described = (f"{value}" for value in DESCRIBED[name])
    return (name, *described, ms(measured.p50), ms(measured.p95), ms(measured.p99), f"{measured.count}")


if __name__ == "__main__":
    main()
