"""An engine with a language model at a local test server."""

from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path

from tests.fakes import FakeClock, FakeEmbedder
from tests.fakes.build import a_commit, a_write
from tests.new_files import new_file

from scrubjay.app.indexes import make_index
from scrubjay.curation import handlers_of
from scrubjay.engine import Engine
from scrubjay.jobs.queue import Queue
from scrubjay.jobs.runner import run_due
from scrubjay.llm.client import LanguageModel, LlmConfig
from scrubjay.model.change import Action
from scrubjay.model.job import Job
from scrubjay.model.memory import Json, Memory
from scrubjay.model.version import Version
from scrubjay.ports import Llm
from scrubjay.recalling.access_log import AccessLog
from scrubjay.settings import Settings
from scrubjay.storage.sqlite import SqliteStore

SPACE = "default"


@dataclass(kw_only=True)
class JobWorld:
    """An engine, and shortcuts to run its jobs."""

    engine: Engine
    store: SqliteStore
    llm: Llm | None

    async def keep(self, *memories: Memory) -> None:
        """Store memories without the write path."""
        for memory in memories:
            await self.store.commit(a_commit(a_write(memory, action=Action.CREATED)))

    async def do(self, kind: str, memory: Memory, **about: Json) -> Job:
        """Enqueue a job about a memory and run all due jobs."""
        queue = Queue(documents=self.engine.documents, clock=self.engine.clock)
        job = await queue.enqueue(kind, {"memory_id": memory.id, **about}, space=SPACE)
        await self.run()
        return next(listed for listed in await queue.list_jobs(SPACE, limit=100) if listed.id == job.id)

    async def run(self) -> int:
        handlers = handlers_of(self.engine, llm=self.llm)
        return await run_due(handlers, documents=self.engine.documents, clock=self.engine.clock, limit=100)

    async def now(self, memory: Memory) -> Memory:
        """Return the current version of a memory."""
        return (await self.engine.reader.get(SPACE, [memory.id]))[memory.id]

    async def versions(self, memory: Memory) -> list[Version]:
        """Return the versions of a memory, newest first."""
        return await self.engine.reader.versions(SPACE, memory.id, limit=100)


@asynccontextmanager
async def open_job_world(
    folder: Path,
    *,
    url: str = "",
    seconds: float = 5.0,
    tries: int = 1,
    tokens: int = 16_384,
    store: SqliteStore | None = None,
) -> AsyncGenerator[JobWorld]:
    """Open an engine, over a store of its own unless one is given; without a URL there is no model."""
    store = store or await SqliteStore.open(new_file(folder / "memory.db"), readers=1)
    embedder, clock = FakeEmbedder(), FakeClock()
    settings = Settings(home=str(folder), vector_index="scan")
    engine = Engine(
        _store=store,
        embedder=embedder,
        index=make_index(settings, store, embedder),
        clock=clock,
        limits=settings.limits,
        access_log=AccessLog(store, clock=clock),
        data=folder,
    )
    config = LlmConfig(provider="openai", model="tiny", url=url, seconds=seconds, max_answer_tokens=tokens)
    llm = LanguageModel(config, documents=store, clock=clock, attempts=tries) if url else None
    try:
        yield JobWorld(engine=engine, store=store, llm=llm)
    finally:
        if llm is not None:
            await llm.close()
        await engine.close()
