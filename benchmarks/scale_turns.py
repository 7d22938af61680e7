"""Times two equal stores with the same operations in turn, so that other load on the machine affects both alike."""

import time
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass

from benchmarks.memories import CALLER, FILTERS, drafts
from benchmarks.timing import Spread, spread
from scrubjay.engine import Engine
from scrubjay.model.query import Filter
from scrubjay.model.requests import RecallRequest

_WARM_UP = 25
_FILTERED = 125
_HITS = 10

Do = Callable[[Engine, int], Awaitable[object]]


@dataclass(frozen=True, slots=True, kw_only=True)
class Pair:
    """An operation on the embedded store and on PostgreSQL; `times` is the ratio of the medians."""

    embedded: Spread
    postgres: Spread

    @property
    def times(self) -> float:
        """How many times as long the operation takes on PostgreSQL."""
        return self.postgres.p50 / self.embedded.p50


@dataclass(frozen=True, slots=True, kw_only=True)
class Turns:
    """The measurements, without embedding. `same`: the share of the embedded store's first ten found on PostgreSQL."""

    recall: Pair
    filtered: dict[str, Pair]
    remember: Pair
    same: float


async def measure_turns(
    embedded: Engine, postgres: Engine, questions: Sequence[str], sentences: Sequence[str], *, first: int
) -> Turns:
    """Recall, recall with filters, and remember on both stores, alternating the order."""
    both = (embedded, postgres)
    pending = drafts(sentences, first=first)
    # One untimed round, as in the other benchmarks, because a new index is not in memory yet.
    same = await _agreement(embedded, postgres, questions)
    return Turns(
        recall=await _pair(both, _asking(questions, Filter()), len(questions)),
        filtered={name: await _pair(both, _asking(questions, filter_), _FILTERED) for name, filter_ in FILTERS.items()},
        remember=await _pair(both, lambda engine, number: engine.remember(pending[number], who=CALLER), len(pending)),
        same=same,
    )


def _asking(questions: Sequence[str], filter: Filter) -> Do:
    async def ask(engine: Engine, number: int) -> None:
        await engine.recall(RecallRequest(query=questions[number], filter=filter), who=CALLER)

    return ask


async def _pair(both: tuple[Engine, Engine], do: Do, count: int) -> Pair:
    durations: tuple[list[float], list[float]] = ([], [])
    for number in range(count):
        for side in ((0, 1), (1, 0))[number % 2]:
            began = time.perf_counter()
            await do(both[side], number)
            durations[side].append(time.perf_counter() - began)
    return Pair(embedded=spread(durations[0][_WARM_UP:]), postgres=spread(durations[1][_WARM_UP:]))


async def _agreement(engine: Engine, other: Engine, questions: Sequence[str]) -> float:
    shares: list[float] = []
    for question in questions:
        request = RecallRequest(query=question, limit=_HITS, max_tokens=100_000)
        first, second = [
            {hit.name for hit in (await side.recall(request, who=CALLER)).hits} for side in (engine, other)
        ]
        shares.append(len(first & second) / max(1, len(first)))
    return sum(shares) / len(shares)
