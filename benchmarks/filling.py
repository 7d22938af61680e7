"""Fills data folders: by remembering, by importing; and shows what group commit is worth."""

import asyncio
import time
from collections.abc import AsyncGenerator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, replace
from pathlib import Path

from benchmarks.embedders import KnowingEmbedder
from benchmarks.figures import Filling, Sharing
from benchmarks.memories import CALLER, drafts
from scrubjay.app import open_engine
from scrubjay.client import MemoryClient
from scrubjay.engine import Engine
from scrubjay.model.draft import Draft
from scrubjay.model.rules import Rules
from scrubjay.ports import Embedder, Progress
from scrubjay.recalling.answer_cache import AnswerCache
from scrubjay.settings import Settings
from scrubjay.storage.sqlite import SqliteStore

# Nothing is looked at: stored as it comes.
PLAIN = Rules(gate="off", density="off", tags="off", secrets="off", injection="off", conflicts="off")
# So many callers at once, as a busy server would have.
_AT_ONCE = 64


@dataclass(frozen=True, slots=True, kw_only=True)
class Ground:
    """A folder, and an embedder that knows every vector already."""

    home: Path
    embedder: KnowingEmbedder

    @property
    def settings(self) -> Settings:
        """The product's defaults, whatever the environment says."""
        return Settings.load(environment={}, home=str(self.home), space=CALLER.space, agent=CALLER.agent)


@asynccontextmanager
async def opened(settings: Settings, embedder: Embedder) -> AsyncGenerator[Engine]:
    """The product's engine with another embedder in front, which works on every question as if it were the first."""
    async with open_engine(settings) as engine:
        yield replace(engine, embedder=embedder, answers=AnswerCache(0))


async def fill(ground: Ground, sentences: Sequence[str], *, first: int, progress: Progress) -> Filling:
    """Remember all sentences, build the index, and take the same through export and import."""
    waiting = drafts(sentences, first=first)
    async with opened(ground.settings, ground.embedder) as engine:
        began = time.perf_counter()
        await remember_all(engine, waiting, progress=progress)
        remembering = time.perf_counter() - began
        began = time.perf_counter()
        await engine.index.rebuild()
        indexing = time.perf_counter() - began
    exporting, importing = await _export_and_import(ground)
    return Filling(
        remembered_per_second=len(waiting) / remembering,
        exported_per_second=len(waiting) / exporting,
        imported_per_second=len(waiting) / importing,
        index_seconds=indexing,
    )


async def remember_all(engine: Engine, waiting: Sequence[Draft], *, progress: Progress) -> None:
    """Remember many, as many at once as a busy server would; they are not compared with each other, only stored."""
    engine = replace(engine, default_rules=PLAIN)
    for start in range(0, len(waiting), _AT_ONCE):
        await _remember_at_once(engine, waiting[start : start + _AT_ONCE])
        progress(start + _AT_ONCE, len(waiting))


async def share_commits(ground: Ground, sentences: Sequence[str]) -> Sharing:
    """The same number of writes one after the other and all at once, on a store of its own."""
    half = len(sentences) // 2
    waiting = drafts(sentences)
    async with opened(ground.settings, ground.embedder) as engine:
        await _remember_at_once(engine, drafts([f"{text} (a rehearsal)" for text in sentences[:_AT_ONCE]]))
        began = time.perf_counter()
        for draft in waiting[:half]:
            await engine.remember(draft, who=CALLER)
        alone = time.perf_counter() - began
        commits, jobs = _counts(engine)
        began = time.perf_counter()
        await _remember_at_once(engine, waiting[half:])
        together = time.perf_counter() - began
        commits_after, jobs_after = _counts(engine)
    return Sharing(
        writes=half,
        alone_per_second=half / alone,
        together_per_second=(len(waiting) - half) / together,
        writes_per_commit=(jobs_after - jobs) / max(1, commits_after - commits),
    )


async def _remember_at_once(engine: Engine, batch: Sequence[Draft]) -> None:
    await asyncio.gather(*(engine.remember(draft, who=CALLER) for draft in batch))


async def _export_and_import(ground: Ground) -> tuple[float, float]:
    lines = ground.home.with_name(f"{ground.home.name}.jsonl")
    began = time.perf_counter()
    async with MemoryClient(settings=ground.settings) as memory:
        with lines.open("w", encoding="utf-8") as file:
            async for line in memory.export():
                file.write(f"{line.rstrip()}\n")
    exporting = time.perf_counter() - began
    copy = ground.home.with_name(f"{ground.home.name}-imported")
    async with MemoryClient(settings=replace(ground.settings, home=str(copy))) as memory:
        began = time.perf_counter()
        await memory.import_lines(lines, embed=False)
        importing = time.perf_counter() - began
    return exporting, importing


def _counts(engine: Engine) -> tuple[int, int]:
    assert isinstance(engine.store, SqliteStore)
    writer = engine.store._writer  # noqa: SLF001 - no surface tells how often it committed
    return writer.commits, writer.jobs
