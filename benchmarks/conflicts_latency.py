"""How long detection takes, of one write and of a whole store, whatever the store's size; without embedding."""

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
from benchmarks.embedders import KnowingEmbedder
from benchmarks.filling import Ground, opened
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
from scrubjay.ports import Commit, Embedded, Write
from scrubjay.settings import Settings
from scrubjay.writing.compose import compose
from scrubjay.writing.embed import slice_memory

_WRITES = 200
_WARM = 20
_SEED = 7
_AT_ONCE = 500


@dataclass(frozen=True, slots=True, kw_only=True)
class _Told:
    """The seconds of each look, those that the process computed, and how many of them found something."""

    seconds: tuple[float, ...]
    computed: tuple[float, ...]
    found: int


async def measure_latency(sizes: Sequence[int], *, writes: int = _WRITES) -> Table:
    """Looks for conflicts of new sentences, and of stored ones with one thing changed."""
    rows: list[tuple[str, ...]] = []
    with tempfile.TemporaryDirectory() as folder:
        for size in sizes:
            corpus = load_corpus(sentences=size + writes, questions=1).sentences
            changed = _changed(corpus[:size], writes)
            ground = await _ground([*corpus, *changed], home=Path(folder) / str(size))
            async with opened(ground.settings, ground.embedder) as engine:
                await _fill(engine, drafts(corpus[:size]))
                await _looks(engine, drafts(corpus[size : size + _WARM]))
                rows.append(_row(f"{size:,}", "new", await _looks(engine, drafts(corpus[size:], first=size))))
                rows.append(_row(f"{size:,}", "one thing changed", await _looks(engine, drafts(changed))))
    # On a busy machine a look waits longer than it works: what it has computed is told beside.
    head = ("memories", "statements", "p50, ms", "p95, ms", "p99, ms", "computed p50, ms", "with conflicts")
    return Table(title="Looking for the conflicts of one write, without embedding", head=head, rows=tuple(rows))


async def measure_scan(sizes: Sequence[int]) -> Table:
    """A look through a whole store."""
    rows: list[tuple[str, ...]] = []
    with tempfile.TemporaryDirectory() as folder:
        for size in sizes:
            corpus = load_corpus(sentences=size, questions=1).sentences
            ground = await _ground(corpus, home=Path(folder) / str(size))
            async with opened(ground.settings, ground.embedder) as engine:
                await _fill(engine, drafts(corpus))
                began = time.perf_counter()
                results = await engine.scan_conflicts(who=CALLER, limit=1)
                rows.append((f"{size:,}", f"{time.perf_counter() - began:.1f}", f"{results.count:,}"))
                # The largest takes minutes: who waits for it sees the others already.
                print(f"looked through {size:,} memories in {rows[-1][1]} s", file=sys.stderr, flush=True)
    return Table(title="Looking through a whole store", head=("memories", "seconds", "conflicts"), rows=tuple(rows))


def _changed(sentences: Sequence[str], count: int) -> list[str]:
    random, names = Random(_SEED), names_in(sentences[:1_000])
    results: list[str] = []
    for sentence in sentences:
        results += [text for _, text in swaps_of(sentence, names=names, random=random)][:1]
        if len(results) >= count:
            break
    return results


async def _ground(sentences: Sequence[str], *, home: Path) -> Ground:
    inner = make_embedder(Settings.load(environment={}, home=str(home)))
    cache = VectorCache(await inner.profile())
    await fill_cache(cache, list(sentences), embedder=inner, progress=lambda _, __: None)
    return Ground(home=home, embedder=KnowingEmbedder(inner, cache))


async def _fill(engine: Engine, some: Sequence[Draft]) -> None:
    """Store many at once: how they came in does not matter here."""
    profile, now = await engine.embedder.profile(), datetime.now(UTC)
    for start in range(0, len(some), _AT_ONCE):
        batch = some[start : start + _AT_ONCE]
        made = [
            replace(compose(draft, space=CALLER.space, now=now)[0], name=f"m-{start + at}")
            for at, draft in enumerate(batch)
        ]
        sliced = [(memory, await slice_memory(memory)) for memory in made]
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
        await engine.store.commit(Commit(space=CALLER.space, origin=origin, writes=writes, embedded=embedded))
    await engine.index.rebuild()


async def _looks(engine: Engine, some: Sequence[Draft]) -> _Told:
    profile = await engine.embedder.profile()
    now = datetime.now(UTC)
    seconds, computed = list[float](), list[float]()
    results = 0
    for draft in some:
        memory = compose(draft, space=CALLER.space, now=now)[0]
        passages = await slice_memory(memory)
        vectors = dict(
            zip((passage.hash for passage in passages), await engine.embedder.embed([draft.text]), strict=True)
        )
        written = EmbeddedMemory(memory=memory, passages=passages, vectors=vectors, profile=profile)
        cache = ReadCache(store=engine.store, index=engine.index)
        origin = Origin(at=now, run="check", agent=CALLER.agent)
        began, busy = time.perf_counter(), time.process_time()
        conflicts = await detect(written, source=cache, origin=origin)
        seconds.append(time.perf_counter() - began)
        computed.append(time.process_time() - busy)
        results += bool(conflicts)
    return _Told(seconds=tuple(seconds), computed=tuple(computed), found=results)


def _row(size: str, what: str, told: _Told) -> tuple[str, ...]:
    times, computing = spread(told.seconds), spread(told.computed)
    figures = (f"{item:.1f}" for item in (times.p50, times.p95, times.p99, computing.p50))
    return (size, what, *figures, f"{told.found:,} of {times.count:,}")
