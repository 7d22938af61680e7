"""Budgets of one remember and one recall: what they may do at most, counted and not timed."""

import asyncio
import random
from collections.abc import Awaitable, Sequence
from dataclasses import replace
from itertools import pairwise
from pathlib import Path
from statistics import median

from benchmarks.filling import open_engine_with
from benchmarks.invented import invented_sentence
from benchmarks.memories import CALLER
from benchmarks.profile import CountingEmbedder, CountingLoop, Meter, Work
from scrubjay.app import make_embedder
from scrubjay.model.conflict import DatedStatement, PairShares
from scrubjay.model.draft import Draft
from scrubjay.model.requests import RecallRequest, RememberManyRequest
from scrubjay.ports import PairReader
from scrubjay.settings import Settings

_STORED, _COUNTED = 80, 8
Pairs = Sequence[tuple[DatedStatement, DatedStatement]]


class CountingReader:
    """Keeps what the pair model was asked."""

    def __init__(self, inner: PairReader) -> None:
        self._inner = inner
        self.batches: list[Pairs] = []

    async def name(self) -> str:
        return await self._inner.name()

    async def rerank(self, query: str, texts: Sequence[str]) -> list[float]:
        return await self._inner.rerank(query, texts)

    async def judge(self, pairs: Pairs) -> list[PairShares]:
        self.batches.append(pairs)
        return await self._inner.judge(pairs)

    async def close(self) -> None:
        """The engine closes the model."""


def test_one_remember_and_one_recall_stay_within_their_budgets(tmp_path: Path) -> None:
    loop = CountingLoop()
    with asyncio.Runner(loop_factory=lambda: loop) as runner:
        remember, recall, batches = runner.run(_count(tmp_path, loop))
    # With the memories whose pairs a model reads, all in one batch.
    assert remember.statements <= 40, remember
    assert remember.hops <= 4, remember
    assert remember.embeddings == 1, remember
    assert 0 < len(batches) <= _COUNTED
    assert all(0 < len(batch) <= 3 for batch in batches)
    assert recall.statements <= 30, recall
    assert recall.hops <= 4, recall
    assert recall.embeddings == 1, recall


async def _count(home: Path, loop: CountingLoop) -> tuple[Work, Work, list[Pairs]]:
    source = random.Random(7)
    texts = [invented_sentence(source) for _ in range(_STORED)]
    # New texts of words that the space has, as most are in a store of some size.
    texts += [f"{first[:40].rpartition(' ')[0]} {second[40:].partition(' ')[2]}" for first, second in pairwise(texts)]
    settings = Settings.load(environment={}, home=str(home), space=CALLER.space, agent=CALLER.agent)
    embedder = CountingEmbedder(make_embedder(settings))
    with Meter(embedder=embedder, loop=loop).watch() as meter:
        async with open_engine_with(settings, embedder) as engine:
            items = tuple(Draft(text=text) for text in texts[:_STORED])
            await engine.remember_many(RememberManyRequest(items=items), who=CALLER)
            # The first of each loads what later ones need not.
            for text in texts[_STORED : _STORED + _COUNTED]:
                await engine.remember(Draft(text=text), who=CALLER)
                await engine.recall(RecallRequest(query=text[:40]), who=CALLER)
            new = texts[_STORED + _COUNTED : _STORED + 2 * _COUNTED]
            assert engine.pairs is not None
            reader = CountingReader(engine.pairs)
            counted = replace(engine, pairs=reader)
            remembers = [
                await _work(meter, counted.remember(Draft(text=text, intent="new"), who=CALLER)) for text in new
            ]
            recalls = [await _work(meter, engine.recall(RecallRequest(query=text[:40]), who=CALLER)) for text in new]
    await embedder.close()
    return _median(remembers), _median(recalls), reader.batches


async def _work(meter: Meter, operation: Awaitable[object]) -> Work:
    async def run() -> None:
        await operation

    return (await meter.measure([run], counts=True))["all"]


def _median(works: Sequence[Work]) -> Work:
    """Return what one operation mostly does: upkeep may run beside one of them, and one may find a conflict."""
    return Work(*map(median, zip(*works, strict=True)))
