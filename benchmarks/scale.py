"""Compares the embedded store with PostgreSQL at several sizes: `python -m benchmarks.scale 1000 10000`.

It fills the embedded store once for each size and moves it to a new database, so that both have the same memories. The
server is that of the tests, but it waits for the disk at every commit.
"""

import asyncio
import json
import sys
import tempfile
import time
from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path

import psycopg
from tests.postgres import Server, private_server

from benchmarks.cache import VectorCache, fill_cache
from benchmarks.capacity_filling import embedding_rate
from benchmarks.capacity_samples import Sample, save_sample
from benchmarks.corpus import Corpus, load_corpus
from benchmarks.effort import effort_of_recall, effort_of_remember, embedding_time
from benchmarks.embedders import CachedEmbedder
from benchmarks.filling import Workspace, open_engine_with, remember_all
from benchmarks.memories import drafts
from benchmarks.scale_report import Scale, Size, page
from benchmarks.scale_servers import Throughput, measure_servers
from benchmarks.scale_turns import measure_turns
from benchmarks.weights import weigh_database
from scrubjay.app import SystemClock, make_embedder, open_store
from scrubjay.engine import Engine
from scrubjay.settings import Settings
from scrubjay.transfer.migrate import Migration, migrate_store

FOLDER = Path(__file__).parent
# Sentences that are not stored at first: for writes in turn, for the effort, and for concurrent writes.
_TURNS, _EFFORT = 325, 320
_SPARE = _TURNS + _EFFORT + 640
_QUESTIONS = 325
_SERVED = 10_000
_TIMEOUT = 1800.0


def main() -> None:
    """Measure at the sizes that the arguments name, and print and write the results."""
    sizes = sorted({int(size.replace(",", "").replace("_", "")) for size in sys.argv[1:]})
    if not sizes:
        raise SystemExit("usage: python -m benchmarks.scale SIZE…")
    results = asyncio.run(_measure(sizes))
    (FOLDER / "scale.json").write_text(json.dumps(asdict(results), indent=1) + "\n", encoding="utf-8")
    (FOLDER / "scale.md").write_text(page(results), encoding="utf-8")
    print(page(results))


@dataclass(frozen=True, slots=True, kw_only=True)
class _Setup:
    """The corpus, embedder and server for all sizes."""

    corpus: Corpus
    embedder: CachedEmbedder
    server: Server
    folder: Path
    # Milliseconds of a single question, and the rate of texts in batches.
    embedding: float
    embedded_per_second: float


async def _measure(sizes: Sequence[int]) -> Scale:
    corpus = load_corpus(sentences=sizes[-1] + _SPARE, questions=_QUESTIONS)
    embedder = make_embedder(Settings.load(environment={}))
    try:
        cache = VectorCache(await embedder.profile())
        _say("embedding what is not in the cache")
        await fill_cache(cache, [*corpus.sentences, *corpus.questions], embedder=embedder, progress=_report_nothing)
        with (
            private_server(durable=True) as server,
            tempfile.TemporaryDirectory(prefix="scrubjay-scale-") as folder,
        ):
            cached = CachedEmbedder(embedder, cache)
            setup = _Setup(
                corpus=corpus, embedder=cached, server=server, folder=Path(folder),
                embedding=await embedding_time(embedder, corpus.questions[:60]),
                embedded_per_second=await embedding_rate(embedder, corpus.sentences[:220]),
            )  # fmt: skip
            measured = [await _size(setup, size) for size in sizes]
            served = max((size for size in sizes if size <= _SERVED), default=sizes[0])
            throughput = [await _servers(setup, served, servers=servers) for servers in (1, 2)]
    finally:
        await embedder.close()
    return Scale(corpus=corpus.origin, sizes=tuple(measured), served=served, throughput=tuple(throughput))


async def _size(setup: _Setup, size: int) -> Size:
    timed, stock = setup.corpus.sentences[:_TURNS], setup.corpus.sentences[_SPARE : _SPARE + size]
    workspace = Workspace(home=setup.folder / str(size), embedder=setup.embedder)
    there = replace(workspace.settings, home=str(setup.folder / f"{size}-there"), database_url=_database(setup, size))
    _say(f"{size:,}: filling the embedded store")
    async with open_engine_with(workspace.settings, setup.embedder) as engine:
        await remember_all(engine, drafts(stock), progress=_report_nothing)
        await engine.index.rebuild()
    _say(f"{size:,}: moving it to PostgreSQL")
    rate = await _move(workspace.settings, there)
    _say(f"{size:,}: building the index there")
    index, seconds = await _build_index(there, setup.embedder)
    _say(f"{size:,}: recalling and remembering in turn")
    async with (
        open_engine_with(workspace.settings, setup.embedder) as embedded,
        open_engine_with(there, setup.embedder) as postgres,
    ):
        turns = await measure_turns(embedded, postgres, setup.corpus.questions, timed, first=size)
        save_sample(await _sample(setup, postgres, there, size=size, indexed=size / max(seconds, 0.1)))
    return Size(size=size, turns=turns, moved_per_second=rate, index=index, index_seconds=seconds)


async def _sample(setup: _Setup, engine: Engine, settings: Settings, *, size: int, indexed: float) -> Sample:
    """Measure the bytes and the work of this size, for the capacity page."""
    corpus, postmaster = setup.corpus, setup.server.postmaster
    timed, concurrent = corpus.sentences[_TURNS : _TURNS + _EFFORT], corpus.sentences[_TURNS + _EFFORT : _SPARE]
    weights = await asyncio.to_thread(weigh_database, settings.database_url)
    recall = await effort_of_recall(engine, corpus.questions, postmaster=postmaster)
    remember = await effort_of_remember(engine, timed, first=size + _TURNS, postmaster=postmaster)
    began = time.perf_counter()
    await remember_all(engine, drafts(concurrent, first=size + _TURNS + _EFFORT), progress=_report_nothing)
    return Sample(
        weights=weights,
        recall=recall,
        remember=remember,
        embedding=setup.embedding,
        embedded_per_second=setup.embedded_per_second,
        remembered_per_second=len(concurrent) / (time.perf_counter() - began),
        indexed_per_second=indexed,
        notes=(f"searched by {(await engine.index.describe())['kind']}", corpus.origin),
    )


async def _move(here: Settings, there: Settings) -> float:
    """Migrate the store; return memories per second."""
    source, target = await open_store(here), await open_store(there)
    try:
        migrated, compared = await migrate_store(Migration(source=source, target=target, now=SystemClock().now))
    finally:
        await source.close()
        await target.close()
    if not compared.same:
        raise SystemExit(f"the migrated store differs: {compared.differences[:3]}")
    return migrated.rate


async def _build_index(settings: Settings, embedder: CachedEmbedder) -> tuple[str, float]:
    """Build the index; return its kind and the seconds."""
    async with open_engine_with(settings, embedder) as engine:
        began = time.perf_counter()
        await engine.index.open()
        description = await engine.index.describe()
        while description.get("building") and time.perf_counter() - began < _TIMEOUT:
            await asyncio.sleep(0.1)
            description = await engine.index.describe()
        return str(description["kind"]), time.perf_counter() - began


async def _servers(setup: _Setup, size: int, *, servers: int) -> Throughput:
    _say(f"{size:,}: recalling on {servers} servers")
    url, postmaster = setup.server.url(f"scale_{size}"), setup.server.postmaster
    return await measure_servers(setup.folder, url, setup.corpus.questions, servers=servers, postmaster=postmaster)


def _database(setup: _Setup, size: int) -> str:
    name = f"scale_{size}"
    with psycopg.connect(setup.server.url(), autocommit=True) as connection:
        connection.execute(f"CREATE DATABASE {name}".encode())
    return setup.server.url(name)


def _say(line: str) -> None:
    print(f"{time.strftime('%H:%M:%S')} {line}", flush=True)


def _report_nothing(done: int, total: int) -> None:
    """Show no progress: each step prints a line."""


if __name__ == "__main__":
    main()
