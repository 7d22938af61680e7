"""Times a filled data folder in a new process: `python -m benchmarks.probe < job.json`.

Nothing else has run in the process, so its memory is that of the product.
"""

import asyncio
import json
import sys
import time
from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

from benchmarks.embedders import CachedEmbedder, TimedEmbedder
from benchmarks.figures import Probe
from benchmarks.memories import CALLER, FILTERS, drafts
from benchmarks.timing import Spread, resident_mb, spread
from scrubjay.app import open_engine
from scrubjay.engine import Engine
from scrubjay.model.draft import Draft
from scrubjay.model.query import Filter
from scrubjay.model.requests import RecallRequest
from scrubjay.recalling.answer_cache import AnswerCache
from scrubjay.settings import Settings

_ROOT = Path(__file__).parent.parent
# Untimed operations first: they fill caches and load lazy parts.
_WARM_UP = 25
# Then a pause, in which the store reads what recalls will need: it takes so many memories a second.
_READ_A_SECOND = 5_000
# Fewer questions for each filter, because there are several filters.
_FILTERED = 125
_TIMEOUT = 1800.0
_SPREADS = ("recall", "recall_embedding", "recall_rest", "remember", "remember_embedding", "remember_rest")


@dataclass(frozen=True, slots=True, kw_only=True)
class Job:
    """The settings of a folder, and the texts to time there."""

    settings: Settings
    questions: tuple[str, ...]
    sentences: tuple[str, ...]
    first: int


async def probe_in_child(job: Job) -> Probe:
    """Run a job in a new process."""
    child = await asyncio.create_subprocess_exec(
        sys.executable,
        "-m",
        "benchmarks.probe",
        cwd=_ROOT,
        stdin=asyncio.subprocess.PIPE,
        stdout=asyncio.subprocess.PIPE,
    )
    try:
        answer, _ = await asyncio.wait_for(child.communicate(json.dumps(asdict(job)).encode()), _TIMEOUT)
    finally:
        if child.returncode is None:
            child.kill()
            await child.wait()
    if child.returncode:
        raise SystemExit(f"the probe of {job.settings.home} failed with exit code {child.returncode}")
    return _probe_from(answer)


async def probe(job: Job) -> Probe:
    """Open the store, recall, recall with filters, and remember, in this order."""
    began = time.perf_counter()
    async with open_engine(job.settings) as product:
        open_store = time.perf_counter() - began
        resident_open = resident_mb()
        clock = TimedEmbedder(product.embedder)
        # A cached answer takes no time worth measuring.
        engine = replace(product, embedder=clock, answers=AnswerCache(0))
        ((first, first_embedding),) = await _recalls(engine, job.questions[:1], clock=clock)
        resident_loaded = resident_mb()
        await _recalls(engine, job.questions[:_WARM_UP], clock=clock)
        await asyncio.sleep(job.first / _READ_A_SECOND)
        recalls = await _recalls(engine, job.questions, clock=clock)
        # The same questions with cached vectors: the time of recall besides embedding. Recall searches for words
        # while it embeds, so this is not the difference of the two times.
        cached = replace(engine, embedder=CachedEmbedder(product.embedder, clock.query_vectors))
        rest = await _rests(cached, job.questions, Filter())
        filtered = {name: await _rests(cached, job.questions[:_FILTERED], filter_) for name, filter_ in FILTERS.items()}
        resident_after = resident_mb()
        remembers = await _remembers(engine, drafts(job.sentences, first=job.first), clock=clock)
        index = await engine.index.describe()
    return Probe(
        index=f"{index['kind']}, {index['points']:,} points, lag {index['lag']}",
        open_store=open_store * 1000,
        first_recall=first * 1000,
        first_recall_embedding=first_embedding * 1000,
        recall=spread([total for total, _ in recalls]),
        recall_embedding=spread([embedding for _, embedding in recalls]),
        recall_rest=rest,
        recall_filtered=filtered,
        remember=spread([total for total, _ in remembers]),
        remember_embedding=spread([embedding for _, embedding in remembers]),
        remember_rest=spread([total - embedding for total, embedding in remembers]),
        resident_open=resident_open,
        resident_loaded=resident_loaded,
        resident_after=resident_after,
    )


async def _recalls(engine: Engine, questions: Sequence[str], *, clock: TimedEmbedder) -> list[tuple[float, float]]:
    """Return the (total, embedding) seconds of each question after the warm-up, or of a single question."""
    durations: list[tuple[float, float]] = []
    for question in questions:
        clock.take()
        began = time.perf_counter()
        await engine.recall(RecallRequest(query=question), who=CALLER)
        durations.append((time.perf_counter() - began, clock.take()))
    return durations[_WARM_UP:] or durations


async def _rests(engine: Engine, questions: Sequence[str], filter: Filter) -> Spread:
    durations: list[float] = []
    for question in questions:
        began = time.perf_counter()
        await engine.recall(RecallRequest(query=question, filter=filter), who=CALLER)
        durations.append(time.perf_counter() - began)
    return spread(durations[_WARM_UP:])


async def _remembers(engine: Engine, waiting: Sequence[Draft], *, clock: TimedEmbedder) -> list[tuple[float, float]]:
    """Return the (total, embedding) seconds of each write after the warm-up."""
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
    """Run the job on stdin, and print the measurements."""
    results = asyncio.run(probe(_job_from(sys.stdin.read())))
    json.dump(asdict(results), sys.stdout)


if __name__ == "__main__":
    main()
