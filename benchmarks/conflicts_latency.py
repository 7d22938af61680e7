"""Times the detection of conflicts for one write and for a whole store, without embedding."""

import sys
import tempfile
import time
from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path
from random import Random

from benchmarks.cache import VectorCache, fill_cache
from benchmarks.corpus import load_corpus
from benchmarks.embedders import CachedEmbedder
from benchmarks.filling import Workspace, open_store_with
from benchmarks.memories import CALLER, drafts
from benchmarks.tables import Table
from benchmarks.timing import spread
from benchmarks.writing_swaps import names_in, swaps_of
from scrubjay.app import make_embedder
from scrubjay.detection.detect import detect
from scrubjay.detection.neighbours import EmbeddedMemory, ReadCache
from scrubjay.engine import Engine
from scrubjay.model.change import Action, Origin
from scrubjay.model.draft import Draft
from scrubjay.model.requests import ScanConflictsRequest
from scrubjay.ports import Commit, Embedded, RecordStore, Write
from scrubjay.settings import Settings
from scrubjay.writing.compose import compose
from scrubjay.writing.embed import slice_memory

_WRITES = 200
_WARM = 20
_SEED = 7
_BATCH = 500


@dataclass(frozen=True, slots=True, kw_only=True)
class _Timings:
    """Seconds and CPU seconds of each detection, and the number of detections with a conflict."""

    seconds: tuple[float, ...]
    computed: tuple[float, ...]
    conflicting: int


async def measure_latency(sizes: Sequence[int], *, writes: int = _WRITES) -> Table:
    """Detect conflicts of new sentences, and of stored sentences with one detail changed."""
    rows: list[tuple[str, ...]] = []
    with tempfile.TemporaryDirectory() as folder:
        for size in sizes:
            corpus = load_corpus(sentences=size + writes, questions=1).sentences
            changed = _change(corpus[:size], writes)
            workspace = await _make_workspace([*corpus, *changed], home=Path(folder) / str(size))
            async with open_store_with(workspace.settings, workspace.embedder) as (engine, store):
                await _fill(engine, store, drafts(corpus[:size]))
                await _detect_all(engine, store, drafts(corpus[size : size + _WARM]))
                rows.append(
                    _row(f"{size:,}", "new", await _detect_all(engine, store, drafts(corpus[size:], first=size)))
                )
                rows.append(_row(f"{size:,}", "one detail changed", await _detect_all(engine, store, drafts(changed))))
    # On a busy machine a detection waits longer than it computes, so the CPU time is listed too.
    head = ("memories", "statements", "p50, ms", "p95, ms", "p99, ms", "computed p50, ms", "with conflicts")
    return Table(title="Detecting the conflicts of one write, without embedding", head=head, rows=tuple(rows))


async def measure_scan(sizes: Sequence[int]) -> Table:
    """Scan whole stores."""
    rows: list[tuple[str, ...]] = []
    with tempfile.TemporaryDirectory() as folder:
        for size in sizes:
            corpus = load_corpus(sentences=size, questions=1).sentences
            workspace = await _make_workspace(corpus, home=Path(folder) / str(size))
            async with open_store_with(workspace.settings, workspace.embedder) as (engine, store):
                await _fill(engine, store, drafts(corpus))
                began = time.perf_counter()
                scan = await engine.scan_conflicts(ScanConflictsRequest(limit=1), who=CALLER)
                rows.append((f"{size:,}", f"{time.perf_counter() - began:.1f}", f"{scan.count:,}"))
                # The largest takes minutes, so each is printed at once.
                print(f"scanned {size:,} memories in {rows[-1][1]} s", file=sys.stderr, flush=True)
    return Table(title="Scanning a whole store", head=("memories", "seconds", "conflicts"), rows=tuple(rows))


def _change(sentences: Sequence[str], count: int) -> list[str]:
    random, names = Random(_SEED), names_in(sentences[:1_000])
    changed: list[str] = []
    for sentence in sentences:
        changed += [text for _, text in swaps_of(sentence, names=names, random=random)][:1]
        if len(changed) >= count:
            break
    return changed


async def _make_workspace(sentences: Sequence[str], *, home: Path) -> Workspace:
    inner = make_embedder(Settings.load(environment={}, home=str(home)))
    cache = VectorCache(await inner.profile())
    await fill_cache(cache, list(sentences), embedder=inner, progress=lambda _, __: None)
    return Workspace(home=home, embedder=CachedEmbedder(inner, cache))


async def _fill(engine: Engine, store: RecordStore, memories: Sequence[Draft]) -> None:
    """Store memories in large commits: this benchmark does not measure writes."""
    profile, now = await engine.embedder.profile(), datetime.now(UTC)
    for start in range(0, len(memories), _BATCH):
        batch = memories[start : start + _BATCH]
        composed = [
            replace(compose(draft, space=CALLER.space, now=now)[0], name=f"m-{start + number}")
            for number, draft in enumerate(batch)
        ]
        sliced = [(memory, await slice_memory(memory)) for memory in composed]
        vectors = await engine.embedder.embed([draft.text for draft in batch])
        embedded = Embedded(
            model=profile.model,
            dimension=profile.dimension,
            vectors={passages[0].hash: vector for (_, passages), vector in zip(sliced, vectors, strict=True)},
        )
        writes = tuple(
            Write(memory=memory, base=None, action=Action.CREATED, passages=passages) for memory, passages in sliced
        )
        origin = Origin(at=now, run=f"fill-{start}", agent=CALLER.agent)
        await store.commit(Commit(space=CALLER.space, origin=origin, writes=writes, embedded=embedded))
    await engine.index.rebuild()


async def _detect_all(engine: Engine, store: RecordStore, statements: Sequence[Draft]) -> _Timings:
    profile = await engine.embedder.profile()
    now = datetime.now(UTC)
    seconds, computed = list[float](), list[float]()
    conflicting = 0
    for draft in statements:
        memory = compose(draft, space=CALLER.space, now=now)[0]
        passages = await slice_memory(memory)
        vectors = dict(
            zip((passage.hash for passage in passages), await engine.embedder.embed([draft.text]), strict=True)
        )
        written = EmbeddedMemory(memory=memory, passages=passages, vectors=vectors, profile=profile)
        cache = ReadCache(store=store, index=engine.index)
        origin = Origin(at=now, run="check", agent=CALLER.agent)
        began, busy = time.perf_counter(), time.process_time()
        conflicts = await detect(written, source=cache, origin=origin)
        seconds.append(time.perf_counter() - began)
        computed.append(time.process_time() - busy)
        conflicting += bool(conflicts)
    return _Timings(seconds=tuple(seconds), computed=tuple(computed), conflicting=conflicting)


def _row(size: str, statements: str, timings: _Timings) -> tuple[str, ...]:
    times, computing = spread(timings.seconds), spread(timings.computed)
    figures = (f"{value:.1f}" for value in (times.p50, times.p95, times.p99, computing.p50))
    return (size, statements, *figures, f"{timings.conflicting:,} of {times.count:,}")
