"""A memory with its curation and its programs on either store, and a clock that tests move."""

from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from dataclasses import dataclass, replace
from datetime import timedelta
from pathlib import Path
from typing import Unpack

from scrubjay.app.indexes import make_index
from scrubjay.app.stores import open_store
from scrubjay.code import CodeRunner
from scrubjay.code.wall import WallPolicy
from scrubjay.curation.runner import CurationRunner
from scrubjay.curation.schedule import Schedule
from scrubjay.engine import Engine
from scrubjay.model.caller import Caller
from scrubjay.model.curation import CurationReport
from scrubjay.model.memory import Memory
from scrubjay.model.requests import CurateRequest, CurationsRequest, UndoRequest
from scrubjay.model.results import Undone
from scrubjay.ports import RecordStore
from scrubjay.recalling.access_log import AccessLog
from scrubjay.settings import Settings
from tests.backends import Choice, backend
from tests.fakes import FakeClock, FakeEmbedder
from tests.fakes.build import MemoryFields, a_commit, a_memory

STORES = ("sqlite", "pgvector")
OWNER = Caller(agent="ada")


@dataclass(frozen=True, kw_only=True)
class CuratedMemory:
    """An engine with its store and its curation."""

    engine: Engine
    store: RecordStore
    clock: FakeClock
    runner: CurationRunner

    async def keep(self, text: str = "worth keeping", *, days: float = 0, **fields: Unpack[MemoryFields]) -> Memory:
        """Store a memory that is so many days old, without the write path."""
        made = self.clock.now() - timedelta(days=days)
        memory = a_memory(text, **{"created_at": made, "updated_at": made, **fields})
        await self.store.commit(a_commit(memory))
        return memory

    async def curate(self, *jobs: str, dry_run: bool = False, limit: int = 1_000) -> CurationReport:
        """Run jobs, or plan them."""
        return await self.runner.curate(CurateRequest.of(jobs=jobs, dry_run=dry_run, limit=limit), who=OWNER)

    async def reports(self) -> tuple[CurationReport, ...]:
        """Return the reports of all runs, the newest first."""
        return await self.runner.curations(CurationsRequest(limit=100, changes=1_000), who=OWNER)

    async def undo(self, run: str) -> Undone:
        """Take back a run."""
        return await self.engine.undo(UndoRequest(run=run), who=OWNER)

    async def now(self, memory: Memory) -> Memory:
        """Return a memory as it is."""
        return (await self.store.get(memory.space, [memory.id]))[memory.id]

    async def read(self, memory: Memory, *, times: int = 1) -> None:
        """Count reads of a memory."""
        for _ in range(times):
            await self.store.touch(memory.space, [memory.id], at=self.clock.now())


@asynccontextmanager
async def open_curated(
    folder: Path, name: str = "sqlite", *, choice: Choice | None = None, schedule: Schedule | None = None
) -> AsyncGenerator[CuratedMemory]:
    """Open a memory on an empty store of this name, or on the one of an open backend."""
    if choice is None:
        with backend(name) as made:
            async with open_curated(folder, choice=made, schedule=schedule) as memory:
                yield memory
        return
    settings = Settings(home=str(folder), readers=1, vector_index="scan", **choice)
    embedder, clock = FakeEmbedder(), FakeClock()
    store = await open_store(settings)
    engine = Engine(
        _store=store, embedder=embedder, index=make_index(settings, store, embedder), clock=clock,
        limits=settings.limits, access_log=AccessLog(store, clock=FakeClock()), data=settings.data,
        programs=CodeRunner(documents=store, clock=clock, limits=settings.code, policy=WallPolicy.AUTO),
    )  # fmt: skip
    runner = CurationRunner(engine, store, schedule=schedule)
    try:
        yield CuratedMemory(engine=replace(engine, curator=runner), store=store, clock=clock, runner=runner)
    finally:
        await engine.close()
