"""The embedded store beside PostgreSQL, at some sizes: `python -m benchmarks.scale 1000 10000`.

Each size is filled once, in the embedded store, and moved to a database of its own, so that both hold the same. The
server is the one of the tests, but it waits for the disk at every commit.
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
from benchmarks.capacity_samples import Sample, keep
from benchmarks.corpus import Corpus, load_corpus
from benchmarks.effort import effort_of_recall, effort_of_remember, embedding_time
from benchmarks.embedders import KnowingEmbedder
from benchmarks.filling import Ground, opened, remember_all
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
# Sentences that no store is filled with: by turns, for the effort, and many at once.
_TURNS, _EFFORT = 325, 320
_SPARE = _TURNS + _EFFORT + 640
_QUESTIONS = 325
_SERVED = 10_000
_LONGEST = 1800.0


def main() -> None:
    """Measure at the sizes that the arguments name, print it and write it down."""
    sizes = sorted({int(size.replace(",", "").replace("_", "")) for size in sys.argv[1:]})
    if not sizes:
        raise SystemExit("usage: python -m benchmarks.scale SIZE…")
    results = asyncio.run(_measure(sizes))
    (FOLDER / "scale.json").write_text(json.dumps(asdict(results), indent=1) + "\n", encoding="utf-8")
    (FOLDER / "scale.md").write_text(page(results), encoding="utf-8")
    print(page(results))


@dataclass(frozen=True, slots=True, kw_only=True)
class _Bench:
    """What all sizes are measured with."""

    corpus: Corpus
    embedder: KnowingEmbedder
    server: Server
    folder: Path
    # Of a lone question, in milliseconds, and of texts in batches.
    embedding: float
    embedded_per_second: float


async def _measure(sizes: Sequence[int]) -> Scale:
    corpus = load_corpus(sentences=sizes[-1] + _SPARE, questions=_QUESTIONS)
    embedder = make_embedder(Settings.load(environment={}))
    try:
        cache = VectorCache(await embedder.profile())
        _say("embedding what is not in the cache")
        await fill_cache(cache, [*corpus.sentences, *corpus.questions], embedder=embedder, progress=_in_silence)
        with (
            private_server(durable=True) as server,
            tempfile.TemporaryDirectory(prefix="scrubjay-scale-") as folder,
        ):
            knowing = KnowingEmbedder(embedder, cache)
            bench = _Bench(
                corpus=corpus, embedder=knowing, server=server, folder=Path(folder),
                embedding=await embedding_time(embedder, corpus.questions[:60]),
                embedded_per_second=await embedding_rate(embedder, corpus.sentences[:220]),
            )  # fmt: skip
            measured = [await _size(bench, size) for size in sizes]
            served = max((size for size in sizes if size <= _SERVED), default=sizes[0])
            throughput = [await _servers(bench, served, servers=servers) for servers in (1, 2)]
    finally:
        await embedder.close()
    return Scale(corpus=corpus.origin, sizes=tuple(measured), served=served, throughput=tuple(throughput))


async def _size(bench: _Bench, size: int) -> Size:
    timed, stock = bench.corpus.sentences[:_TURNS], bench.corpus.sentences[_SPARE : _SPARE + size]
    ground = Ground(home=bench.folder / str(size), embedder=bench.embedder)
    there = replace(ground.settings, home=str(bench.folder / f"{size}-there"), database_url=_database(bench, size))
    _say(f"{size:,}: filling the embedded store")
    async with opened(ground.settings, bench.embedder) as engine:
        await remember_all(engine, drafts(stock), progress=_in_silence)
        await engine.index.rebuild()
    _say(f"{size:,}: moving it to PostgreSQL")
    rate = await _move(ground.settings, there)
    _say(f"{size:,}: building the index there")
    index, seconds = await _indexed(there, bench.embedder)
    _say(f"{size:,}: asking and remembering by turns")
    async with opened(ground.settings, bench.embedder) as embedded, opened(there, bench.embedder) as postgres:
        turns = await measure_turns(embedded, postgres, bench.corpus.questions, timed, first=size)
        keep(await _sample(bench, postgres, there, size=size, indexed=size / max(seconds, 0.1)))
    return Size(size=size, turns=turns, moved_per_second=rate, index=index, index_seconds=seconds)


async def _sample(bench: _Bench, engine: Engine, settings: Settings, *, size: int, indexed: float) -> Sample:
    """What so many memories weigh and cost there, for the capacity page."""
    corpus, postmaster = bench.corpus, bench.server.postmaster
    timed, crowd = corpus.sentences[_TURNS : _TURNS + _EFFORT], corpus.sentences[_TURNS + _EFFORT : _SPARE]
    weights = await asyncio.to_thread(weigh_database, settings.database_url)
    recall = await effort_of_recall(engine, corpus.questions, postmaster=postmaster)
    remember = await effort_of_remember(engine, timed, first=size + _TURNS, postmaster=postmaster)
    began = time.perf_counter()
    await remember_all(engine, drafts(crowd, first=size + _TURNS + _EFFORT), progress=_in_silence)
    return Sample(
        weights=weights,
        recall=recall,
        remember=remember,
        embedding=bench.embedding,
        embedded_per_second=bench.embedded_per_second,
        remembered_per_second=len(crowd) / (time.perf_counter() - began),
        indexed_per_second=indexed,
        notes=(f"searched by {(await engine.index.describe())['kind']}", corpus.origin),
    )


async def _move(here: Settings, there: Settings) -> float:
    """Bring everything over; memories a second."""
    source, target = await open_store(here), await open_store(there)
    try:
        moved, compared = await migrate_store(Migration(source=source, target=target, now=SystemClock().now))
    finally:
        await source.close()
        await target.close()
    if not compared.same:
        raise SystemExit(f"what was moved is not the same: {compared.differences[:3]}")
    return moved.rate


async def _indexed(settings: Settings, embedder: KnowingEmbedder) -> tuple[str, float]:
    """What the index is once it is built, and how long that took."""
    async with opened(settings, embedder) as engine:
        began = time.perf_counter()
        await engine.index.open()
        reported = await engine.index.describe()
        while reported.get("building") and time.perf_counter() - began < _LONGEST:
            await asyncio.sleep(0.1)
            reported = await engine.index.describe()
        return str(reported["kind"]), time.perf_counter() - began


async def _servers(bench: _Bench, size: int, *, servers: int) -> Throughput:
    _say(f"{size:,}: asking {servers} at once")
    url, postmaster = bench.server.url(f"scale_{size}"), bench.server.postmaster
    return await measure_servers(bench.folder, url, bench.corpus.questions, servers=servers, postmaster=postmaster)


def _database(bench: _Bench, size: int) -> str:
    name = f"scale_{size}"
    with psycopg.connect(bench.server.url(), autocommit=True) as connection:
        connection.execute(f"CREATE DATABASE {name}".encode())
    return bench.server.url(name)


def _say(what: str) -> None:
    print(f"{time.strftime('%H:%M:%S')} {what}", flush=True)


def _in_silence(done: int, total: int) -> None:
    """It is told what is done, step by step, and that is enough."""


if __name__ == "__main__":
    main()
