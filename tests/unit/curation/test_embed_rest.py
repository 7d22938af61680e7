"""The job `embedding`: passages that a write left without vectors get them."""

import asyncio
from collections.abc import AsyncGenerator, Sequence
from contextlib import asynccontextmanager
from dataclasses import replace
from datetime import timedelta
from pathlib import Path

from tests.fakes import FakeClock, FakeEmbedder
from tests.fakes.build import MODEL
from tests.new_files import new_file
from tests.patience import PATIENCE

from scrubjay.app.indexes import make_index
from scrubjay.curation import run_jobs
from scrubjay.curation.executor import JobExecutor
from scrubjay.engine import Engine
from scrubjay.errors import EmbeddingUnavailable
from scrubjay.model.caller import Caller
from scrubjay.model.draft import Draft
from scrubjay.model.job import CONFLICTS, EMBEDDING, JobState
from scrubjay.model.memory import Memory
from scrubjay.model.passage import Vector
from scrubjay.model.requests import ForgetRequest, JobsRequest, PurgeRequest, RecallRequest
from scrubjay.recalling.access_log import AccessLog
from scrubjay.settings import Settings
from scrubjay.storage.sqlite import SqliteStore
from scrubjay.text.passages import passages_of

SPACE = "default"
WHO = Caller(space=SPACE)


class SlowEmbedder(FakeEmbedder):
    """An embedder that fails after some calls, and can be held while it works."""

    def __init__(self, *, calls: int = 1_000) -> None:
        super().__init__()
        self.calls = calls
        self.reached = asyncio.Event()
        self.may_go_on = asyncio.Event()
        self.may_go_on.set()

    async def embed(self, texts: Sequence[str]) -> list[Vector]:
        if self.calls == 0:
            raise EmbeddingUnavailable("it is gone")
        self.calls -= 1
        self.reached.set()
        await self.may_go_on.wait()
        return await super().embed(texts)


@asynccontextmanager
async def opened(
    folder: Path, embedder: FakeEmbedder, clock: FakeClock | None = None
) -> AsyncGenerator[tuple[Engine, SqliteStore]]:
    """Open an engine over the store of a file, with a job runner."""
    store = await SqliteStore.open(new_file(folder / "memory.db"), readers=1)
    settings, clock = Settings(home=str(folder), vector_index="scan"), clock or FakeClock()
    engine = Engine(
        _store=store,
        embedder=embedder,
        index=make_index(settings, store, embedder),
        clock=clock,
        limits=settings.limits,
        access_log=AccessLog(store, clock=clock),
        data=folder,
        has_worker=True,
    )
    try:
        yield replace(engine, job_runner=JobExecutor(engine)), store
    finally:
        await engine.close()


def pages(count: int) -> str:
    return "\n\n".join(f"Page {number}. {f'word{number} ' * 120}".strip() for number in range(count))


async def lacking(store: SqliteStore) -> list[str]:
    return [memory_id for _, memory_id in await store.without_vectors(MODEL, limit=10)]


async def memory_of(engine: Engine, memory_id: str) -> Memory:
    return (await engine.reader.get(SPACE, [memory_id]))[memory_id]


async def outcomes(engine: Engine, kind: str) -> list[tuple[JobState, str]]:
    return [(job.state, job.outcome) for job in await engine.jobs(JobsRequest(), who=WHO) if job.kind == kind]


async def test_the_rest_of_a_long_text_is_embedded_afterwards_and_each_part_once(tmp_path: Path) -> None:
    embedder = FakeEmbedder()
    async with opened(tmp_path, embedder) as (engine, store):
        done = await engine.remember(Draft(text=pages(60)), who=WHO)
        before = len(embedder.embedded)
        assert await lacking(store) == [done.id]
        await run_jobs(engine)
        assert await lacking(store) == []
        passages = passages_of(await memory_of(engine, done.id))
        assert len(embedder.embedded) == len(set(embedder.embedded)) == len(passages)
        assert await outcomes(engine, EMBEDDING) == [(JobState.DONE, f"{len(passages) - before} new vectors")]
        vector = await embedder.embed_query("word59")
        ((number, cosine),) = await engine.index.search(SPACE, vector, RecallRequest(query="").filter, limit=1)
        (passage,) = await store.stored_passages(SPACE, [number])
        assert (passage.memory_id, passage.hash) == (done.id, passages[59].hash)
        assert cosine > 0.9


async def test_a_server_that_dies_before_it_is_done_goes_on_after_the_next_start(tmp_path: Path) -> None:
    clock = FakeClock()
    async with opened(tmp_path, FakeEmbedder(), clock) as (engine, store):
        done = await engine.remember(Draft(text=pages(60)), who=WHO)
        assert await lacking(store) == [done.id]
    async with opened(tmp_path, FakeEmbedder(), clock) as (engine, store):
        working = asyncio.create_task(JobExecutor(engine).work(seconds=3600))
        async with asyncio.timeout(PATIENCE):
            while await lacking(store):  # noqa: ASYNC110 - no event reports it
                await asyncio.sleep(0.01)
        working.cancel()
        await asyncio.gather(working, return_exceptions=True)
        assert await lacking(store) == []


async def test_a_retry_embeds_only_the_missing_passages(tmp_path: Path) -> None:
    embedder, clock = SlowEmbedder(calls=2), FakeClock()
    async with opened(tmp_path, embedder, clock) as (engine, store):
        done = await engine.remember(Draft(text=pages(300)), who=WHO)
        await run_jobs(engine)
        assert await outcomes(engine, EMBEDDING) == [(JobState.WAITING, "it is gone")]
        assert await lacking(store) == [done.id]
        embedder.calls = 1_000
        clock.advance(timedelta(minutes=1))
        await run_jobs(engine)
        assert await lacking(store) == []
        assert len(embedder.embedded) == len(set(embedder.embedded))


async def test_a_purge_during_embedding_leaves_nothing(tmp_path: Path) -> None:
    embedder = SlowEmbedder()
    async with opened(tmp_path, embedder) as (engine, store):
        done = await engine.remember(Draft(text=pages(60)), who=WHO)
        passages = passages_of(await memory_of(engine, done.id))
        embedder.reached.clear()
        embedder.may_go_on.clear()
        working = asyncio.create_task(run_jobs(engine))
        await embedder.reached.wait()
        await engine.forget(ForgetRequest(ids=(done.id,)), who=WHO)
        await engine.purge(PurgeRequest(ids=(done.id,)), who=WHO)
        embedder.may_go_on.set()
        await working
        assert await store.embedded(SPACE, MODEL, [passage.hash for passage in passages]) == set()


async def test_conflicts_are_scanned_after_embedding(tmp_path: Path) -> None:
    async with opened(tmp_path, FakeEmbedder()) as (engine, _):
        await engine.remember(Draft(text=pages(60)), who=WHO)
        waiting = await engine.documents.due_documents("jobs", now=engine.clock.now(), limit=10)
        assert [document.value["kind"] for document in waiting] == [EMBEDDING, CONFLICTS]


async def test_waiting_for_a_language_model_does_not_wait_for_vectors(tmp_path: Path) -> None:
    async with opened(tmp_path, FakeEmbedder()) as (engine, store):
        done = await engine.remember(Draft(text=pages(60), wait_for_llm=True), who=WHO)
        assert await lacking(store) == [done.id]


async def test_a_job_whose_vectors_exist_has_nothing_to_do(tmp_path: Path) -> None:
    async with opened(tmp_path, FakeEmbedder()) as (engine, _):
        await engine.remember(Draft(text=pages(60)), who=WHO)
        await engine.backfill()
        await run_jobs(engine)
        assert await outcomes(engine, EMBEDDING) == [(JobState.DONE, "0 new vectors")]
