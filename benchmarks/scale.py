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
from benchmarks.corpus import Corpus, load_corpus
from benchmarks.embedders import KnowingEmbedder
from benchmarks.figures import Probe
from benchmarks.filling import Ground, opened, remember_all
from benchmarks.memories import CALLER, drafts
from benchmarks.probe import Job, probe_in_child
from benchmarks.scale_report import Scale, Size, page
from benchmarks.scale_servers import Throughput, measure_servers
from scrubjay.app import SystemClock, make_embedder, open_store
from scrubjay.model.query import Question
from scrubjay.settings import Settings
from scrubjay.transfer.moving import Move, move_house

FOLDER = Path(__file__).parent
_SPARE = 325
_HITS = 10
_SERVED = 10_000
_LONGEST = 1800.0


def main() -> None:
    """Measure at the sizes that the arguments name, print it and write it down."""
    sizes = sorted({int(size.replace(",", "").replace("_", "")) for size in sys.argv[1:]})
    if not sizes:
        raise SystemExit("usage: python -m benchmarks.scale SIZE…")
    found = asyncio.run(_measure(sizes))
    (FOLDER / "scale.json").write_text(json.dumps(asdict(found), indent=1) + "\n", encoding="utf-8")
    (FOLDER / "scale.md").write_text(page(found), encoding="utf-8")
    print(page(found))


@dataclass(frozen=True, slots=True, kw_only=True)
class _Bench:
    """What all sizes are measured with."""

    corpus: Corpus
    embedder: KnowingEmbedder
    server: Server
    folder: Path


async def _measure(sizes: Sequence[int]) -> Scale:
    corpus = load_corpus(sentences=sizes[-1] + _SPARE, questions=_SPARE)
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
            bench = _Bench(corpus=corpus, embedder=knowing, server=server, folder=Path(folder))
            measured = [await _size(bench, size) for size in sizes]
            served = max((size for size in sizes if size <= _SERVED), default=sizes[0])
            throughput = [await _servers(bench, served, servers=servers) for servers in (1, 2)]
    finally:
        await embedder.close()
    return Scale(corpus=corpus.origin, sizes=tuple(measured), served=served, throughput=tuple(throughput))


async def _size(bench: _Bench, size: int) -> Size:
    spare, stock = bench.corpus.sentences[:_SPARE], bench.corpus.sentences[_SPARE : _SPARE + size]
    ground = Ground(home=bench.folder / str(size), embedder=bench.embedder)
    there = replace(ground.settings, home=str(bench.folder / f"{size}-there"), database_url=_database(bench, size))
    _say(f"{size:,}: filling the embedded store")
    async with opened(ground.settings, bench.embedder) as engine:
        await remember_all(engine, drafts(stock), progress=_in_silence)
        await engine.index.rebuild()
    _say(f"{size:,}: moving it to PostgreSQL")
    rate = await _move(ground.settings, there)
    _say(f"{size:,}: building the index there, and comparing what both find")
    index, seconds = await _indexed(there, bench.embedder)
    same = await _agreement(ground.settings, there, bench)
    _say(f"{size:,}: asking and remembering")
    here, far = [await _probe(settings, bench, spare, first=size) for settings in (ground.settings, there)]
    return Size(
        size=size, embedded=here, postgres=far, moved_per_second=rate, index=index, index_seconds=seconds, same=same
    )


async def _probe(settings: Settings, bench: _Bench, sentences: Sequence[str], *, first: int) -> Probe:
    job = Job(settings=settings, questions=bench.corpus.questions, sentences=tuple(sentences), first=first)
    return await probe_in_child(job)


async def _move(here: Settings, there: Settings) -> float:
    """Bring everything over; memories a second."""
    source, target = await open_store(here), await open_store(there)
    try:
        moved, compared = await move_house(Move(source=source, target=target, now=SystemClock().now))
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
        told = await engine.index.describe()
        while told.get("building") and time.perf_counter() - began < _LONGEST:
            await asyncio.sleep(0.1)
            told = await engine.index.describe()
        return str(told["kind"]), time.perf_counter() - began


async def _agreement(here: Settings, there: Settings, bench: _Bench) -> float:
    """The share of what the embedded store finds first that PostgreSQL finds too."""
    shares: list[float] = []
    async with opened(here, bench.embedder) as one, opened(there, bench.embedder) as other:
        for question in bench.corpus.questions:
            asked = Question(query=question, limit=_HITS, max_tokens=100_000)
            first, second = [{hit.id for hit in (await e.recall(asked, who=CALLER)).hits} for e in (one, other)]
            shares.append(len(first & second) / max(1, len(first)))
    return sum(shares) / len(shares)


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
