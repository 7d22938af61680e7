"""Measures curation: `make bench-curation LOCOMO=FILE`. See benchmarks/README.md."""

import argparse
import asyncio
import hashlib
import random
import re
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from pathlib import Path

import numpy as np

from benchmarks.filling import open_store_with
from benchmarks.invented import invented_pair, invented_question, invented_sentence
from benchmarks.recall_data import Collection, LabelledQuestion, Turn, collection
from benchmarks.recall_locomo import load_locomo
from benchmarks.recall_metrics import DEPTH, Answer, quality
from benchmarks.recall_sources import make_conversations
from benchmarks.recall_store import DatasetEmbedder, FilledStore, fill
from benchmarks.tables import Check, at_most
from benchmarks.timing import Spread, resident_mb, spread
from scrubjay.app import make_embedder
from scrubjay.app.indexes import make_index
from scrubjay.client import MemoryClient
from scrubjay.curation.registry import JOBS
from scrubjay.curation.runner import CurationRunner
from scrubjay.curation.shared_statements import claims_of_memory, is_covered, steps_of
from scrubjay.engine import Engine
from scrubjay.engine.model_switch import Choice, ModelInUse, ModelSwitch
from scrubjay.errors import ScrubjayError
from scrubjay.model.caller import Caller
from scrubjay.model.identity import new_id
from scrubjay.model.media import Media
from scrubjay.model.memory import Json, Memory, State
from scrubjay.model.passage import Vector
from scrubjay.model.relation import SOURCE
from scrubjay.model.requests import CurateRequest, RecallRequest, ReembedRequest
from scrubjay.ports import Clock, Profile, RecordStore
from scrubjay.recalling.access_log import AccessLog
from scrubjay.settings import Settings

CALLER = Caller(space="benchmark", agent="benchmark")
_DIMENSION = 384
_BATCH = 500
# So much later the tier of a memory changes.
_LATER = timedelta(days=60)
_QUESTIONS = 200
_PAUSE = 0.02
_TARGET_MEMORIES, _TARGET_SECONDS, _TARGET_SLOWDOWN = 20_000, 120.0, 2.0
_LOG_WEEKS, _LOG_ENTRIES, _WEEK = 12, 6, timedelta(weeks=1)
_LOG_BEGIN = datetime(2025, 3, 3, 9, tzinfo=UTC)
_REPEATED = (
    "The nightly import stops whenever the disk of the archive server runs full.",
    "The label printer jams as soon as the humidity in the hall rises above sixty percent.",
    "Orders from the old web form arrive twice if the customer presses the button again.",
)
_LOG_NAMES = "Adele Bashir Carmen Dmitri Esther Farid".split()
_LOG_TIMES = ("before breakfast", "after the last shift", "during the fire drill", "at noon", "on the way home")
_PROCEDURE = "1. Drain the queue of the worker\n2. Restart the print spooler\n3. Watch the error rate for ten minutes"
_WORD = re.compile(r"\w+")
_WORDS = "garden fence kiln ferry harbour lamp letter market orchid poster river signal tunnel valley winter".split()


@dataclass(frozen=True, slots=True, kw_only=True)
class LaterClock:
    """A clock that is ahead of another."""

    inner: Clock
    ahead: timedelta

    def now(self) -> datetime:
        """Return the later time."""
        return self.inner.now() + self.ahead


class WordEmbedder:
    """Vectors of words by their hashes, without a model: curation reads stored vectors, however they were made."""

    def __init__(self, model: str = "words") -> None:
        self._model = model
        self._words: dict[str, Vector] = {}

    async def profile(self) -> Profile:
        """Return the profile."""
        return Profile(model=self._model, dimension=_DIMENSION, same=0.92, related=0.6)

    async def embed(self, texts: Sequence[str]) -> list[Vector]:
        """Return the vectors of texts."""
        return [self._vector(text) for text in texts]

    async def embed_query(self, text: str) -> Vector:
        """Return the vector of a question."""
        return self._vector(text)

    async def embed_media(self, items: Sequence[Media]) -> list[Vector | None]:
        """Return no vectors: there are no media."""
        return [None for _ in items]

    async def close(self) -> None:
        """There is nothing to close."""

    def _vector(self, text: str) -> Vector:
        total = np.zeros(_DIMENSION, np.float32)
        for word in _WORD.findall(text.lower()):
            if word not in self._words:
                seed = int.from_bytes(hashlib.blake2b(word.encode(), digest_size=8).digest(), "big")
                self._words[word] = np.random.default_rng(seed).standard_normal(_DIMENSION).astype(np.float32)
            total += self._words[word]
        return total / max(float(np.linalg.norm(total)), 1e-9)


@dataclass(frozen=True, slots=True, kw_only=True)
class Scale:
    """The curation of a store of one size: the seconds of each job, and recall beside it and without it."""

    memories: int
    seconds: dict[str, float]
    changes: dict[str, int]
    # Of this process, with the questions: on a busy machine a better figure than the time.
    cpu_seconds: float
    idle: Spread
    beside: Spread
    resident: float

    @property
    def total(self) -> float:
        """The seconds of all jobs."""
        return sum(self.seconds.values())


@dataclass(frozen=True, slots=True, kw_only=True)
class Kept:
    """The consolidation of conversations: what became of the statements of the episodes, and recall before and after.

    A statement is `said` by the new memory, or `linked`: its episode is a source of that memory, and recall finds it.
    """

    made: int = 0
    episodes: int = 0
    archived: int = 0
    statements: int = 0
    said: int = 0
    linked: int = 0
    invented: int = 0
    before: float = 0.0
    after: float = 0.0


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelChange:
    """A change of the embedding model while users ask: its seconds, and what became of their questions."""

    memories: int
    seconds: float
    vectors: int
    recalls: int
    failed: int
    degraded: int


def main() -> None:
    """Measure, print the figures, and compare them with the targets."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--memories", type=int, nargs="*", default=[_TARGET_MEMORIES], help="sizes of stores")
    parser.add_argument("--reembed", type=int, default=10_000, help="size of the store whose model changes; 0: none")
    parser.add_argument("--locomo", type=Path, help="a file of LoCoMo conversations; without it, made-up ones")
    parser.add_argument("--alone", action="store_true", help="curate without questions")
    options = parser.parse_args()
    checks: list[Check] = []
    scales: list[Scale] = []
    for count in options.memories:
        scales.append(asyncio.run(measure(count, is_alone=options.alone)))
        checks += _print_scale(scales[-1])
    if len(scales) > 1:
        first, last = scales[0], scales[-1]
        growth = np.log(last.cpu_seconds / first.cpu_seconds) / np.log(last.memories / first.memories)
        checks.append(at_most("growth of the CPU time, as a power of the size", float(growth), 1.9, ""))
    if options.reembed:
        checks += _print_change(asyncio.run(change_model(options.reembed)))
    conversations = make_conversations() if options.locomo is None else load_locomo(options.locomo)
    checks += _print_kept("conversations", asyncio.run(consolidate(conversations)))
    logs = asyncio.run(consolidate(make_logs()))
    checks += [*_print_kept("made-up logs", logs), (f"memories made of the logs: {logs.made}, some", logs.made > 0)]
    for text, is_met in checks:
        print(f"{'ok  ' if is_met else 'MISS'} {text}")


async def measure(count: int, *, is_alone: bool = False) -> Scale:
    """Fill a store, let it grow old, and curate it while users ask, unless it is alone."""
    with tempfile.TemporaryDirectory(prefix="scrubjay-") as folder:
        settings = Settings.load(environment={}, home=folder, space=CALLER.space, agent=CALLER.agent)
        async with open_store_with(settings, WordEmbedder()) as (engine, store):
            memory = await _fill(engine, count)
            await memory.set_rules(tags="normalise")
            await engine.index.rebuild()
            later, runner = _later(engine, store)
            source = random.Random(7)
            questions = [invented_question(source) for _ in range(_QUESTIONS)]
            await _ask(later, questions[:20])
            idle = spread(await _ask(later, questions))
            seconds: dict[str, float] = {}
            changes: dict[str, int] = {}
            busy = time.process_time()
            _TIMES.clear()
            asking = asyncio.create_task(_ask_until_done(later, [] if is_alone else questions, runner))
            for name in JOBS:
                began = time.perf_counter()
                report = await runner.curate(CurateRequest.of(jobs=(name,), limit=0), who=CALLER)
                seconds[name], changes[name] = time.perf_counter() - began, report.done
                _progress(f"{name}: {report.done:,} changes, {seconds[name]:.1f} s {'; '.join(report.problems)}")
            busy = time.process_time() - busy
            asking.cancel()
            with suppress(asyncio.CancelledError):
                await asking
            beside = spread(_TIMES) if _TIMES else idle
            return Scale(
                memories=count,
                seconds=seconds,
                changes=changes,
                cpu_seconds=busy,
                idle=idle,
                beside=beside,
                resident=resident_mb(),
            )


async def _fill(engine: Engine, count: int) -> MemoryClient:
    """Store memories as they are, for the jobs to find."""
    memory = MemoryClient.over(engine, CALLER)
    await memory.set_rules(gate="off", density="off", tags="off", conflicts="off")
    for start in range(0, count, _BATCH):
        await memory.remember_many(_drafts(start, min(_BATCH, count - start)))
        _progress(f"filled {start + _BATCH:,}")
    return memory


async def change_model(count: int) -> ModelChange:
    """Fill a store, and change its embedding model while users ask one question after the other."""
    with tempfile.TemporaryDirectory(prefix="scrubjay-") as folder:
        settings = Settings.load(environment={}, home=folder, space=CALLER.space, agent=CALLER.agent)
        async with open_store_with(settings, WordEmbedder()) as (engine, store):
            await _fill(engine, count)

            def open_model(choice: Choice) -> ModelInUse:
                embedder = WordEmbedder(str(choice["model"]))
                return ModelInUse(embedder=embedder, index=make_index(settings, store, embedder, model="other"))

            switch = ModelSwitch(
                ModelInUse(embedder=engine.embedder, index=engine.index), choice={"model": "words"},
                settings={"model": "words"}, choose=lambda _, model, __, ___: {"model": model}, open_model=open_model,
                store=store, clock=engine.clock,
            )  # fmt: skip
            switching = replace(engine, embedder=switch.embedder, index=switch.index, models=switch)
            switch.on_change(switching.answers.clear)
            outcomes: list[str] = []
            asking = asyncio.create_task(_ask_and_note(switching, outcomes))
            began = time.perf_counter()
            done = await switching.reembed(ReembedRequest(model="other words"), who=CALLER)
            seconds = time.perf_counter() - began
            await asyncio.sleep(1)
            asking.cancel()
            with suppress(asyncio.CancelledError):
                await asking
            await switch.close()
    return ModelChange(
        memories=count, seconds=seconds, vectors=done.vectors, recalls=len(outcomes),
        failed=outcomes.count("failed"), degraded=outcomes.count("degraded"),
    )  # fmt: skip


async def _ask_and_note(engine: Engine, outcomes: list[str]) -> None:
    source = random.Random(7)
    while True:
        try:
            recalled = await engine.recall(RecallRequest(query=invented_question(source), limit=8), who=CALLER)
            outcomes.append("degraded" if recalled.degraded else "whole")
        except ScrubjayError:
            outcomes.append("failed")
        await asyncio.sleep(_PAUSE)


async def consolidate(collections: Sequence[Collection]) -> Kept:
    """Store conversations, curate them when they are old, and compare what recall finds."""
    with tempfile.TemporaryDirectory(prefix="scrubjay-") as folder:
        settings = Settings.load(environment={}, home=folder)
        model = make_embedder(settings)
        embedder = DatasetEmbedder(model, await model.profile())
        await embedder.learn(collections, progress=lambda done, total: _progress(f"embedded {done:,} of {total:,}"))
        async with open_store_with(settings, embedder) as (opened, store):
            engine = replace(opened, access_log=AccessLog(None, clock=opened.clock))
            spaces = tuple(f"benchmark-{new_id()}" for _ in collections)
            filled = FilledStore(engine=engine, collections=tuple(collections), spaces=spaces)
            await fill(filled, progress=lambda done, total: _progress(f"stored {done:,} of {total:,}"))
            later, runner = _later(engine, store)
            before = await _answers(filled, later, {})
            parts: dict[str, tuple[str, ...]] = {}
            total = Kept()
            for space in spaces:
                report = await runner.curate(CurateRequest(limit=0), who=Caller(space=space, agent="benchmark"))
                _progress(f"{space}: {dict(report.counts)} {'; '.join(report.problems)}")
                memories = await _all_memories(space, store)
                relations = await store.relations(space, list(memories))
                for each in memories.values():
                    sources = [edge.target for edge in relations if edge.type == SOURCE and edge.source == each.id]
                    parts[each.id] = (*sources, *(part.id for part in each.merged))
                    if sources:
                        total = _trace(total, each, [memories[target] for target in sources])
            after = await _answers(filled, later, parts)
            return replace(total, before=quality(before).r10, after=quality(after).r10)


def _trace(total: Kept, made: Memory, episodes: Sequence[Memory]) -> Kept:
    """Count what became of the statements of some episodes."""
    texts, stated = claims_of_memory(made), Counter[str]()
    for episode in episodes:
        for claim in claims_of_memory(episode):
            is_said = is_covered(replace(episode, title="", content=claim, observations=()), texts)
            stated["said" if is_said else "linked" if episode.state is State.LIVE else "lost"] += 1
    sources = [claim for episode in episodes for claim in (*claims_of_memory(episode), *steps_of(episode))]
    return replace(
        total, made=total.made + 1, episodes=total.episodes + len(episodes),
        archived=total.archived + sum(episode.state is State.ARCHIVED for episode in episodes),
        statements=total.statements + stated.total(), said=total.said + stated["said"],
        linked=total.linked + stated["linked"], invented=total.invented + (not is_covered(made, sources)),
    )  # fmt: skip


def make_logs() -> list[Collection]:
    """Make up the logs of two teams: what happens again and again, each time with something of its own, among others.

    The questions are about what is said once: it must be found as well as before.
    """
    return [_log_of(team, random.Random(seed)) for seed, team in enumerate(("operations", "support"))]


def _log_of(team: str, source: random.Random) -> Collection:
    turns: list[Turn] = []
    questions: list[LabelledQuestion] = []
    for week in range(_LOG_WEEKS):
        entries = [invented_pair(source) for _ in range(_LOG_ENTRIES)]
        for repeated in source.sample(_REPEATED, 2):
            name, when = source.choice(_LOG_NAMES), source.choice(_LOG_TIMES)
            entries.append((f"{repeated} {name} noticed it {when} and called {source.choice(_LOG_NAMES)}.", ""))
        entries += [(source.choice(_REPEATED), ""), (_PROCEDURE + source.choice(("", "\n4. Close the ticket")), "")]
        for text, question in entries:
            turn = Turn(id=f"{team} {len(turns)}", text=text, session=f"week {week}", at=_LOG_BEGIN + week * _WEEK)
            turns.append(turn)
            if question:
                today = _LOG_BEGIN + _LOG_WEEKS * _WEEK
                questions.append(
                    LabelledQuestion(text=question, category="log", gold=frozenset({turn.id}), today=today)
                )
    return collection(team, turns, questions)


_TIMES: list[float] = []


def _later(engine: Engine, store: RecordStore) -> tuple[Engine, CurationRunner]:
    """Return the engine and its curation as they are weeks later."""
    later = replace(engine, clock=LaterClock(inner=engine.clock, ahead=_LATER))
    return later, CurationRunner(later, store)


def _drafts(start: int, count: int) -> list[dict[str, Json]]:
    """Return memories of which a tenth repeats another, and a tenth are episodes that share a sentence."""
    drafts: list[dict[str, Json]] = []
    for number in range(start, start + count):
        source = random.Random(number)
        text = invented_sentence(source)
        if number % 10 == 1:
            text = invented_sentence(random.Random(number - 1))
        elif number % 10 == 2:
            text = f"{invented_sentence(random.Random(number // 40))} Case {number}."
        first, second = source.choice(_WORDS), source.choice(_WORDS)
        tags: list[Json] = [f"{first}-{second}{source.choice(('', '', 's'))}"]
        drafts.append({"text": text, "tags": tags, "intent": "new", "source": {"trust": "agent"}})
    return drafts


async def _ask(engine: Engine, questions: Sequence[str]) -> list[float]:
    times: list[float] = []
    for question in questions:
        began = time.perf_counter()
        await engine.recall(RecallRequest(query=question, limit=8), who=CALLER)
        times.append(time.perf_counter() - began)
        await asyncio.sleep(_PAUSE)
    return times


async def _ask_until_done(engine: Engine, questions: Sequence[str], runner: CurationRunner) -> None:
    """Ask one question after the other, as users of a daemon do, which counts their requests."""
    active = 0
    runner.active_requests = lambda: active + 1
    while questions:
        for question in questions:
            active, began = 1, time.perf_counter()
            await engine.recall(RecallRequest(query=question, limit=8), who=CALLER)
            _TIMES.append(time.perf_counter() - began)
            active = 0
            await asyncio.sleep(_PAUSE)


async def _answers(filled: FilledStore, engine: Engine, parts: dict[str, tuple[str, ...]]) -> list[Answer]:
    """Answer every question; a hit that was made of several turns counts for each of them, at its rank."""
    answers: list[Answer] = []
    for space, filled_with in zip(filled.spaces, filled.collections, strict=True):
        for question in filled_with.questions:
            request = RecallRequest(query=question.text, limit=DEPTH, max_tokens=1_000_000, today=question.today)
            hits = (await engine.recall(request, who=Caller(space=space, agent="benchmark"))).hits
            first: dict[str, int] = {}
            for rank, hit in enumerate(hits, 1):
                for memory_id in (hit.id, *parts.get(hit.id, ())):
                    turn = filled.turns.get(memory_id)
                    if turn is not None and turn.id in question.gold:
                        first.setdefault(turn.id, rank)
            ranks = tuple(sorted(first.values()))
            answers.append(Answer(category=question.category, relevant=len(question.gold), ranks=ranks))
    return answers


async def _all_memories(space: str, store: RecordStore) -> dict[str, Memory]:
    memories: dict[str, Memory] = {}
    after = ""
    while ids := await store.ids(space, after=after, limit=_BATCH):
        memories |= await store.get(space, ids)
        after = ids[-1]
    return memories


def _print_scale(scale: Scale) -> list[Check]:
    print(
        f"{scale.memories:,} memories: {scale.total:.1f} s, {scale.cpu_seconds:.1f} s of CPU, {scale.resident:,.0f} MB"
    )
    for name, seconds in scale.seconds.items():
        print(f"  {name}: {seconds:.1f} s, {scale.changes[name]:,} changes")
    print(f"  recall p50 / p95 in ms: {scale.idle.p50:.1f} / {scale.idle.p95:.1f} without curation, "
          f"{scale.beside.p50:.1f} / {scale.beside.p95:.1f} beside it ({scale.beside.count:,} questions)")  # fmt: skip
    checks = [at_most("p95 of recall beside curation", scale.beside.p95 / scale.idle.p95, _TARGET_SLOWDOWN, "times")]
    if scale.memories <= _TARGET_MEMORIES:
        checks.append(at_most(f"curation of {scale.memories:,} memories", scale.total, _TARGET_SECONDS, "s"))
    return checks


def _print_change(change: ModelChange) -> list[Check]:
    print(f"{change.memories:,} memories re-embedded in {change.seconds:.1f} s: {change.vectors:,} vectors")
    print(f"  {change.recalls:,} recalls meanwhile, {change.failed} failed, {change.degraded} degraded")
    return [at_most("recalls that failed or were degraded during the change", change.failed + change.degraded, 0, "")]


def _print_kept(name: str, result: Kept) -> list[Check]:
    print(f"{name}: {result.made} memories made of {result.episodes} episodes, {result.archived} of them archived")
    print(f"  {result.statements} statements of episodes: {result.said} in the memory, {result.linked} linked from it")
    print(f"  R@10 {result.before:.4f} before, {result.after:.4f} after")
    traced = result.said + result.linked
    share = traced / result.statements if result.statements else 1.0
    return [
        (
            f"{name}: statements in the memory or linked from it: {share:.1%} of {result.statements}, all",
            traced == result.statements,
        ),
        at_most(f"{name}: memories that say what no episode does", result.invented, 0, ""),
        (
            f"{name}: R@10 with curation: {result.after:.4f}, at least {result.before:.4f}",
            result.after >= result.before,
        ),
    ]


def _progress(text: str) -> None:
    print(f"\r{text[:150]:<100}", end="", file=sys.stderr, flush=True)


if __name__ == "__main__":
    main()
