"""Fills a new database, measures its size, and times recall and remember on it."""

import asyncio
import tempfile
import time
from collections.abc import Sequence
from dataclasses import replace

import psycopg
from tests.postgres import Server, private_server

from benchmarks.cache import VectorCache, fill_cache
from benchmarks.capacity_samples import Sample
from benchmarks.corpus import Corpus, load_corpus
from benchmarks.effort import effort_of_recall, effort_of_remember, embedding_time
from benchmarks.embedders import CachedEmbedder
from benchmarks.filling import open_engine_with
from benchmarks.memories import CALLER, drafts
from benchmarks.weights import weigh_database
from scrubjay.app import make_embedder
from scrubjay.engine import Engine
from scrubjay.ports import Embedder
from scrubjay.settings import Settings

_DATABASE = "capacity"
# Sentences that are not stored at first: for timed remembers, and for the embedding rate.
_TIMED, _BATCHED = 320, 220
_BATCH = 64
_HNSW = "SELECT count(*) FROM pg_class c JOIN pg_am a ON a.oid = c.relam WHERE a.amname = 'hnsw'"


async def fill(size: int) -> Sample:
    """Measure so many memories on the server of the tests, which does not wait for the disk."""
    embedder = make_embedder(Settings.load(environment={}))
    corpus = load_corpus(sentences=size + _TIMED + _BATCHED, questions=_TIMED)
    try:
        cache = VectorCache(await embedder.profile())
        rate = await embedding_rate(embedder, corpus.sentences[_TIMED : _TIMED + _BATCHED])
        alone = await embedding_time(embedder, corpus.questions[:60])
        await fill_cache(cache, [*corpus.sentences, *corpus.questions], embedder=embedder, progress=_report_nothing)
        with private_server() as server:
            sample = await _measure(server, corpus, CachedEmbedder(embedder, cache))
    finally:
        await embedder.close()
    return replace(sample, embedding=alone, embedded_per_second=rate)


async def _measure(server: Server, corpus: Corpus, embedder: Embedder) -> Sample:
    with psycopg.connect(server.url(), autocommit=True) as connection:
        connection.execute(f"CREATE DATABASE {_DATABASE}".encode())
    url = server.url(_DATABASE)
    timed, stock = corpus.sentences[:_TIMED], corpus.sentences[_TIMED + _BATCHED :]
    postmaster = server.postmaster
    with tempfile.TemporaryDirectory(prefix="scrubjay-capacity-") as home:
        settings = Settings.load(environment={}, home=home, space=CALLER.space, agent=CALLER.agent, database_url=url)
        async with open_engine_with(settings, embedder) as engine:
            remembered = await _remember(engine, stock)
            # The store decides by the database's statistics whether to build an index; they lag behind the rows.
            await asyncio.to_thread(weigh_database, url)
            began = time.perf_counter()
            await engine.index.rebuild()
            indexed = await asyncio.to_thread(_index_rate, url, len(stock), time.perf_counter() - began)
            weights = await asyncio.to_thread(weigh_database, url)
            searched = (await engine.index.describe())["kind"]
            recall = await effort_of_recall(engine, corpus.questions, postmaster=postmaster)
            remember = await effort_of_remember(engine, timed, first=len(stock), postmaster=postmaster)
    return Sample(
        weights=weights,
        recall=recall,
        remember=remember,
        remembered_per_second=remembered,
        indexed_per_second=indexed,
        notes=(f"searched by {searched}", corpus.origin),
    )


async def _remember(engine: Engine, sentences: Sequence[str]) -> float:
    """Remember batches concurrently; return memories per second."""
    waiting = drafts(sentences)
    began = time.perf_counter()
    for start in range(0, len(waiting), _BATCH):
        batch = waiting[start : start + _BATCH]
        await asyncio.gather(*(engine.remember(draft, who=CALLER) for draft in batch))
    return len(waiting) / (time.perf_counter() - began)


def _index_rate(url: str, vectors: int, seconds: float) -> float:
    """Return the vectors indexed per second; build an index here if the engine has built none."""
    with psycopg.connect(url, autocommit=True) as connection:
        ((count,),) = connection.execute(_HNSW).fetchall()
        if not count:
            ((dimension,),) = connection.execute("SELECT max(dimension) FROM scrubjay.models").fetchall()
            connection.execute("SET maintenance_work_mem = '2GB'")
            method = f"hnsw ((vector::halfvec({int(dimension)})) halfvec_cosine_ops)"
            began = time.perf_counter()
            connection.execute(f"CREATE INDEX measured ON scrubjay.vectors USING {method}".encode())
            seconds = time.perf_counter() - began
    return vectors / seconds


async def embedding_rate(embedder: Embedder, texts: Sequence[str]) -> float:
    """Return the texts embedded per second, in batches."""
    await embedder.embed(texts[:8])
    began = time.perf_counter()
    await embedder.embed(texts)
    return len(texts) / (time.perf_counter() - began)


def _report_nothing(done: int, total: int) -> None:
    """Show no progress: it takes a minute."""
