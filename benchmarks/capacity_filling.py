"""Fills a database of its own, weighs it, and sees what asking and remembering cost there."""

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
from benchmarks.embedders import KnowingEmbedder
from benchmarks.filling import opened
from benchmarks.memories import CALLER, drafts
from benchmarks.weights import weigh_database
from scrubjay.app import make_embedder
from scrubjay.engine import Engine
from scrubjay.ports import Embedder
from scrubjay.settings import Settings

_DATABASE = "capacity"
# Sentences that the store is not filled with: remembered while the clock runs, and embedded for their rate.
_TIMED, _BATCHED = 320, 220
_AT_ONCE = 64
_HNSW = "SELECT count(*) FROM pg_class c JOIN pg_am a ON a.oid = c.relam WHERE a.amname = 'hnsw'"


async def fill(size: int) -> Sample:
    """What so many memories weigh and cost, on the server of the tests, which does not wait for the disk."""
    embedder = make_embedder(Settings.load(environment={}))
    corpus = load_corpus(sentences=size + _TIMED + _BATCHED, questions=_TIMED)
    try:
        cache = VectorCache(await embedder.profile())
        rate = await embedding_rate(embedder, corpus.sentences[_TIMED : _TIMED + _BATCHED])
        alone = await embedding_time(embedder, corpus.questions[:60])
        await fill_cache(cache, [*corpus.sentences, *corpus.questions], embedder=embedder, progress=_in_silence)
        with private_server() as server:
            sample = await _measure(server, corpus, KnowingEmbedder(embedder, cache))
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
        async with opened(settings, embedder) as engine:
            remembered = await _remember(engine, stock)
            # Whether an index is due is told by the database's statistics, which come a while after the rows.
            await asyncio.to_thread(weigh_database, url)
            began = time.perf_counter()
            await engine.index.rebuild()
            indexed = await asyncio.to_thread(_indexed, url, len(stock), time.perf_counter() - began)
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
    """Remember many at once; returns how many a second."""
    waiting = drafts(sentences)
    began = time.perf_counter()
    for start in range(0, len(waiting), _AT_ONCE):
        batch = waiting[start : start + _AT_ONCE]
        await asyncio.gather(*(engine.remember(draft, who=CALLER) for draft in batch))
    return len(waiting) / (time.perf_counter() - began)


def _indexed(url: str, many: int, seconds: float) -> float:
    """How many vectors a second went into the database's index; where the engine has made none, one is made here."""
    with psycopg.connect(url, autocommit=True) as connection:
        ((made,),) = connection.execute(_HNSW).fetchall()
        if not made:
            ((dimension,),) = connection.execute("SELECT max(dimension) FROM scrubjay.models").fetchall()
            connection.execute("SET maintenance_work_mem = '2GB'")
            how = f"hnsw ((vector::halfvec({int(dimension)})) halfvec_cosine_ops)"
            began = time.perf_counter()
            connection.execute(f"CREATE INDEX measured ON scrubjay.vectors USING {how}".encode())
            seconds = time.perf_counter() - began
    return many / seconds


async def embedding_rate(embedder: Embedder, texts: Sequence[str]) -> float:
    """How many texts are embedded a second, in batches."""
    await embedder.embed(texts[:8])
    began = time.perf_counter()
    await embedder.embed(texts)
    return len(texts) / (time.perf_counter() - began)


def _in_silence(done: int, total: int) -> None:
    """It takes a minute, and nobody watches."""
