"""A process of its own that opens a filled folder, asks and remembers: `python -m benchmarks.probe < job.json`.

Nothing else has run in it, so what it holds in memory is what the product holds.
"""

import asyncio
import json
import sys
import time
from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

from benchmarks.embedders import KnowingEmbedder, TimedEmbedder
from benchmarks.figures import Probe
from benchmarks.memories import CALLER, FILTERS, drafts
from benchmarks.timing import Spread, resident_mb, spread
from scrubjay.app import open_engine
from scrubjay.engine import Engine
from scrubjay.model.draft import Draft
from scrubjay.model.query import Filter, Question
from scrubjay.recalling.answer_cache import AnswerCache
from scrubjay.settings import Settings

_ROOT = Path(__file__).parent.parent
# Operations before the clock counts: caches fill, and lazy parts get loaded.
_WARM_UP = 25
# A filter is asked with fewer questions: there are several of them.
_FILTERED = 125
_LONGEST = 1800.0
_SPREADS = ("recall", "recall_embedding", "recall_rest", "remember", "remember_embedding", "remember_rest")


@dataclass(frozen=True, slots=True, kw_only=True)
class Job:
    """What to do in which folder."""

    settings: Settings
    questions: tuple[str, ...]
    sentences: tuple[str, ...]
    first: int


async def probe_in_child(job: Job) -> Probe:
    """Have a fresh process do the job."""
    child = await asyncio.create_subprocess_exec(
        sys.executable,
        "-m",
        "benchmarks.probe",
        cwd=_ROOT,
        stdin=asyncio.subprocess.PIPE,
        stdout=asyncio.subprocess.PIPE,
    )
    try:
        answer, _ = await asyncio.wait_for(child.communicate(json.dumps(asdict(job)).encode()), _LONGEST)
    finally:
        if child.returncode is None:
            child.kill()
            await child.wait()
    if child.returncode:
        raise SystemExit(f"the probe of {job.settings.home} failed with exit code {child.returncode}")
    return _probe_from(answer)


async def probe(job: Job) -> Probe:
    """Open, ask, filter, remember, in this order."""
    began = time.perf_counter()
    async with open_engine(job.settings) as product:
        open_store = time.perf_counter() - began
        resident_open = resident_mb()
        clock = TimedEmbedder(product.embedder)
        # An answer that is known takes no time worth measuring.
        engine = replace(product, embedder=clock, answers=AnswerCache(0))
        ((first, first_embedding),) = await _recalls(engine, job.questions[:1], clock=clock)
        resident_loaded = resident_mb()
        request = await _recalls(engine, job.questions, clock=clock)
        # The same questions again, answered by vectors that are known: what recall takes besides embedding. It looks
        # words up while it embeds, so the difference of the two times would not be it.
        knowing = replace(engine, embedder=KnowingEmbedder(product.embedder, clock.heard))
        rest = await _rests(knowing, job.questions, Filter())
        filtered = {
            name: await _rests(knowing, job.questions[:_FILTERED], expected) for name, expected in FILTERS.items()
        }
        resident_after = resident_mb()
        written = await _remembers(engine, drafts(job.sentences, first=job.first), clock=clock)
        described = await engine.index.describe()
    return Probe(
        index=f"{described['kind']}, {described['points']:,} points, lag {described['lag']}",
        open_store=open_store * 1000,
        first_recall=first * 1000,
        first_recall_embedding=first_embedding * 1000,
        recall=spread([total for total, _ in request]),
        recall_embedding=spread([embedding for _, embedding in request]),
        recall_rest=rest,
        recall_filtered=filtered,
        remember=spread([total for total, _ in written]),
        remember_embedding=spread([embedding for _, embedding in written]),
        remember_rest=spread([total - embedding for total, embedding in written]),
        resident_open=resident_open,
        resident_loaded=resident_loaded,
        resident_after=resident_after,
    )


async def _recalls(engine: Engine, questions: Sequence[str], *, clock: TimedEmbedder) -> list[tuple[float, float]]:
    """(total, embedding) seconds of each question after the warm-up, of a lone question of itself."""
    durations: list[tuple[float, float]] = []
    for question in questions:
        clock.take()
        began = time.perf_counter()
        await engine.recall(Question(query=question), who=CALLER)
        durations.append((time.perf_counter() - began, clock.take()))
    return durations[_WARM_UP:] or durations


async def _rests(engine: Engine, questions: Sequence[str], filter: Filter) -> Spread:
    durations: list[float] = []
    for question in questions:
        began = time.perf_counter()
        await engine.recall(Question(query=question, filter=filter), who=CALLER)
        durations.append(time.perf_counter() - began)
    return spread(durations[_WARM_UP:])


async def _remembers(engine: Engine, waiting: Sequence[Draft], *, clock: TimedEmbedder) -> list[tuple[float, float]]:
    """(total, embedding) seconds of each write after the warm-up."""
    durations: list[tuple[float, float]] = []
    for draft in waiting:
        clock.take()
        began = time.perf_counter()
        done = await engine.remember(draft, who=CALLER)
        durations.append((time.perf_counter() - began, clock.take()))
        if done.action != "created":
            raise SystemExit(f"a sentence was {done.action} instead of created: {draft.text}")
    return durations[_WARM_UP:]


def _job_from(text: str) -> Job:
    inputs: dict[str, Any] = json.loads(text)
    return Job(
        settings=Settings(**inputs["settings"]),
        questions=tuple(inputs["questions"]),
        sentences=tuple(inputs["sentences"]),
        first=inputs["first"],
    )


def _probe_from(answer: bytes) -> Probe:
    inputs: dict[str, Any] = json.loads(answer)
    for name in _SPREADS:
        inputs[name] = Spread(**inputs[name])
    inputs["recall_filtered"] = {name: Spread(**value) for name, value in inputs["recall_filtered"].items()}
    return Probe(**inputs)


def main() -> None:
    """Do the job that comes in, and print what was measured."""
    results = asyncio.run(probe(_job_from(sys.stdin.read())))
    json.dump(asdict(results), sys.stdout)


if __name__ == "__main__":
    main()
