"""Two memories that hold the same, asked and told the same by turns: what else the machine does, both bear alike."""

import time
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass

from benchmarks.memories import CALLER, FILTERS, drafts
from benchmarks.timing import Spread, spread
from scrubjay.engine import Engine
from scrubjay.model.query import Filter, Question

_WARM_UP = 25
_FILTERED = 125
_HITS = 10

Do = Callable[[Engine, int], Awaitable[object]]


@dataclass(frozen=True, slots=True, kw_only=True)
class Pair:
    """The same on the embedded store and on PostgreSQL; `times` is the ratio of the medians."""

    embedded: Spread
    postgres: Spread

    @property
    def times(self) -> float:
        """How many times as long it takes on PostgreSQL."""
        return self.postgres.p50 / self.embedded.p50


@dataclass(frozen=True, slots=True, kw_only=True)
class Turns:
    """What was measured, without embedding. `same`: the share of the embedded store's first ten found on PostgreSQL."""

    recall: Pair
    filtered: dict[str, Pair]
    remember: Pair
    same: float


async def measure_turns(
    embedded: Engine, postgres: Engine, questions: Sequence[str], sentences: Sequence[str], *, first: int
) -> Turns:
    """Ask, filter and remember on both, one operation after the other, each time another one first."""
    both = (embedded, postgres)
    waiting = drafts(sentences, first=first)
    # Asked once before the clock counts, as in the other benchmarks: what was built a moment ago is not in memory yet.
    same = await _agreement(embedded, postgres, questions)
    return Turns(
        recall=await _pair(both, _asking(questions, Filter()), len(questions)),
        filtered={name: await _pair(both, _asking(questions, item), _FILTERED) for name, item in FILTERS.items()},
        remember=await _pair(both, lambda engine, number: engine.remember(waiting[number], who=CALLER), len(waiting)),
        same=same,
    )


def _asking(questions: Sequence[str], filter: Filter) -> Do:
    async def ask(engine: Engine, number: int) -> None:
        await engine.recall(Question(query=questions[number], filter=filter), who=CALLER)

    return ask


async def _pair(both: tuple[Engine, Engine], do: Do, many: int) -> Pair:
    durations: tuple[list[float], list[float]] = ([], [])
    for number in range(many):
        for side in ((0, 1), (1, 0))[number % 2]:
            began = time.perf_counter()
            await do(both[side], number)
            durations[side].append(time.perf_counter() - began)
    return Pair(embedded=spread(durations[0][_WARM_UP:]), postgres=spread(durations[1][_WARM_UP:]))


async def _agreement(one: Engine, other: Engine, questions: Sequence[str]) -> float:
    shares: list[float] = []
    for question in questions:
        request = Question(query=question, limit=_HITS, max_tokens=100_000)
        first, second = [{hit.name for hit in (await each.recall(request, who=CALLER)).hits} for each in (one, other)]
        shares.append(len(first & second) / max(1, len(first)))
    return sum(shares) / len(shares)
