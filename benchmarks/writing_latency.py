"""Times the stages of the write path: `python -m benchmarks.writing_latency 10000 100000`."""

import asyncio
import sys
import tempfile
import time
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np

from benchmarks.cache import VectorCache, fill_cache
from benchmarks.corpus import load_corpus
from benchmarks.embedders import CachedEmbedder
from benchmarks.filling import PLAIN, Workspace, open_engine_with, remember_all
from benchmarks.memories import CALLER, drafts
from benchmarks.tables import Table, rows_of
from scrubjay.app import make_embedder
from scrubjay.engine import Engine
from scrubjay.model.draft import Draft
from scrubjay.settings import Settings

_SIZES = (1_000, 10_000)
_WRITES = 300


def main() -> None:
    """Measure at the sizes that the arguments name, and print Markdown."""
    sizes = tuple(map(int, sys.argv[1:])) or _SIZES
    table = asyncio.run(measure(sizes))
    print(f"## {table.title}\n")
    print("\n".join(rows_of(table)))


async def measure(sizes: Sequence[int], *, writes: int = _WRITES) -> Table:
    """Time clean writes with all stages and with none, in turn, in stores of these sizes, with cached vectors."""
    rows: list[tuple[str, ...]] = []
    with tempfile.TemporaryDirectory() as folder:
        for size in sizes:
            corpus = load_corpus(sentences=size + 2 * writes, questions=1)
            workspace = await _make_workspace(corpus.sentences, home=Path(folder) / str(size))
            rows.append(await _row(workspace, corpus.sentences, size=size))
    return Table(
        title="Time that the stages add to a clean write, without embedding",
        head=("memories", "none p50, ms", "all p50, ms", "added p50, ms", "all p95, ms", "merged"),
        rows=tuple(rows),
    )


async def _make_workspace(sentences: Sequence[str], *, home: Path) -> Workspace:
    inner = make_embedder(Settings.load(environment={}, home=str(home)))
    cache = VectorCache(await inner.profile())
    await fill_cache(cache, list(sentences), embedder=inner, progress=lambda _, __: None)
    return Workspace(home=home, embedder=CachedEmbedder(inner, cache))


async def _row(workspace: Workspace, sentences: Sequence[str], *, size: int) -> tuple[str, ...]:
    async with open_engine_with(workspace.settings, workspace.embedder) as engine:
        plain = replace(engine, default_rules=PLAIN)
        await remember_all(engine, drafts(sentences[:size]), progress=lambda _, __: None)
        await engine.index.rebuild()
        fresh = [replace(draft, intent="auto") for draft in drafts(sentences[size:], first=size)]
        await _time_writes(engine, fresh[:20])
        bare, full, merged = list[float](), list[float](), 0
        # In turn, because the load of the machine varies.
        for draft, other in zip(fresh[20::2], fresh[21::2], strict=False):
            bare.append((await _time_writes(plain, [draft]))[0])
            seconds, count = await _time_writes(engine, [other])
            full.append(seconds)
            merged += count
    low, high, worst = np.median(bare), np.median(full), np.percentile(full, 95)
    milliseconds = tuple(f"{float(seconds) * 1000:.1f}" for seconds in (low, high, high - low, worst))
    return (f"{size:,}", *milliseconds, f"{merged:,} of {len(full):,}")


async def _time_writes(engine: Engine, writes: Sequence[Draft]) -> tuple[float, int]:
    began, merged = time.perf_counter(), 0
    for draft in writes:
        merged += (await engine.remember(draft, who=CALLER)).action == "merged"
    return time.perf_counter() - began, merged


if __name__ == "__main__":
    main()
