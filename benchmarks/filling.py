"""Fills data folders by remembering and by importing, and measures the gain of group commit."""

import asyncio
import time
from collections.abc import AsyncGenerator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, replace
from pathlib import Path

from benchmarks.embedders import CachedEmbedder
from benchmarks.figures import Filling, Sharing
from benchmarks.memories import CALLER, drafts
from scrubjay.app import open_engine_and_store
from scrubjay.client import MemoryClient
from scrubjay.engine import Engine
from scrubjay.model.caller import Caller
from scrubjay.model.draft import Draft
from scrubjay.model.rules import Rules
from scrubjay.ports import Embedder, Progress, RecordStore
from scrubjay.recalling.answer_cache import AnswerCache
from scrubjay.settings import Settings
from scrubjay.storage.sqlite import SqliteStore
from scrubjay.storage.sqlite.writer import Writer

# No checks: memories are stored as they are.
PLAIN = Rules(gate="off", density="off", tags="off", secrets="off", injection="off", conflicts="off")
# Concurrent callers, as many as a busy server has.
_CONCURRENT = 64


@dataclass(frozen=True, slots=True, kw_only=True)
class Workspace:
    """A folder, and an embedder that has every vector in its cache."""

    home: Path
    embedder: CachedEmbedder

    @property
    def settings(self) -> Settings:
        """The default settings, without the models that read two texts; the environment has no effect."""
        return without_readers(
            Settings.load(environment={}, home=str(self.home), space=CALLER.space, agent=CALLER.agent)
        )


def without_readers(settings: Settings) -> Settings:
    """Leave out the models that read two texts, which take more time than all the rest."""
    return replace(settings, pair_model="off", reader=False)


def with_readers(settings: Settings) -> Settings:
    """Return settings with the models that read two texts, as users have them."""
    return replace(settings, pair_model=Settings().pair_model, reader=Settings().reader)


@asynccontextmanager
async def open_engine_with(settings: Settings, embedder: Embedder) -> AsyncGenerator[Engine]:
    """Open the product's engine with another embedder and without a cache of answers."""
    async with open_store_with(settings, embedder) as (engine, _):
        yield engine


@asynccontextmanager
async def open_store_with(settings: Settings, embedder: Embedder) -> AsyncGenerator[tuple[Engine, RecordStore]]:
    """Open the same engine and its store, for figures that no verb returns."""
    async with open_engine_and_store(settings) as (engine, store):
        yield replace(engine, embedder=embedder, answers=AnswerCache(0)), store


async def fill(workspace: Workspace, sentences: Sequence[str], *, first: int, progress: Progress) -> Filling:
    """Remember all sentences, build the index, and take the same through export and import."""
    pending = drafts(sentences, first=first)
    async with open_engine_with(workspace.settings, workspace.embedder) as engine:
        began = time.perf_counter()
        await remember_all(engine, pending, progress=progress)
        remembering = time.perf_counter() - began
        began = time.perf_counter()
        await engine.index.rebuild()
        indexing = time.perf_counter() - began
    exporting, importing = await _export_and_import(workspace)
    return Filling(
        remembered_per_second=len(pending) / remembering,
        exported_per_second=len(pending) / exporting,
        imported_per_second=len(pending) / importing,
        index_seconds=indexing,
    )


async def remember_all(
    engine: Engine, pending: Sequence[Draft], *, progress: Progress, who: Caller = CALLER
) -> None:  # fmt: skip
    """Remember drafts as concurrently as a busy server; they are only stored, not compared with each other."""
    engine = replace(engine, default_rules=PLAIN)
    for start in range(0, len(pending), _CONCURRENT):
        await _remember_concurrently(engine, pending[start : start + _CONCURRENT], who=who)
        progress(start + _CONCURRENT, len(pending))


async def share_commits(workspace: Workspace, sentences: Sequence[str]) -> Sharing:
    """Time the same number of sequential and of concurrent writes, on a new store."""
    half = len(sentences) // 2
    pending = drafts(sentences)
    async with open_store_with(workspace.settings, workspace.embedder) as (engine, store):
        await _remember_concurrently(engine, drafts([f"{text} (a rehearsal)" for text in sentences[:_CONCURRENT]]))
        began = time.perf_counter()
        for draft in pending[:half]:
            await engine.remember(draft, who=CALLER)
        alone = time.perf_counter() - began
        commits, jobs = _counts(store)
        began = time.perf_counter()
        await _remember_concurrently(engine, pending[half:])
        together = time.perf_counter() - began
        commits_after, jobs_after = _counts(store)
    return Sharing(
        writes=half,
        alone_per_second=half / alone,
        together_per_second=(len(pending) - half) / together,
        writes_per_commit=(jobs_after - jobs) / max(1, commits_after - commits),
    )


async def _remember_concurrently(engine: Engine, batch: Sequence[Draft], *, who: Caller = CALLER) -> None:
    await asyncio.gather(*(engine.remember(draft, who=who) for draft in batch))


async def _export_and_import(workspace: Workspace) -> tuple[float, float]:
    lines = workspace.home.with_name(f"{workspace.home.name}.jsonl")
    began = time.perf_counter()
    async with MemoryClient(settings=workspace.settings) as memory:
        with lines.open("w", encoding="utf-8") as file:
            async for line in memory.export():
                file.write(f"{line.rstrip()}\n")
    exporting = time.perf_counter() - began
    copy = workspace.home.with_name(f"{workspace.home.name}-imported")
    async with MemoryClient(settings=replace(workspace.settings, home=str(copy))) as memory:
        began = time.perf_counter()
        await memory.import_lines(lines, embed=False)
        importing = time.perf_counter() - began
    return exporting, importing


def _counts(store: RecordStore) -> tuple[int, int]:
    assert isinstance(store, SqliteStore)
    writer = store._writer  # noqa: SLF001 - no surface counts commits
    assert isinstance(writer, Writer)
    return writer.commits, writer.jobs
