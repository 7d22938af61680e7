"""The cost of observability: a scrape of all metrics, and the time that counting adds to a recall."""

import statistics
import time
from collections.abc import Sequence
from contextlib import ExitStack

from benchmarks.figures import Watching
from benchmarks.memories import CALLER
from benchmarks.timing import spread
from scrubjay import telemetry
from scrubjay.engine import Engine
from scrubjay.model.requests import RecallRequest
from scrubjay.observability.prometheus import Metrics
from scrubjay.surfaces.daemon.limiter import RequestLimiter, known_verbs

_SCRAPES = 50
_ROUTES = 60
_RECALLS = 300
_WARM_UP = 25


async def measure_watching(engine: Engine, questions: Sequence[str]) -> Watching:
    """Recall in turn with and without an observer, then scrape the metrics."""
    limiter = RequestLimiter(max_requests=10, seconds=60)
    metrics = Metrics(engine=engine, limiter=limiter)
    alone, adds = await _recalls(engine, limiter, metrics, questions[:_RECALLS])
    _fill(metrics)
    durations: list[float] = []
    body = b""
    for _ in range(_SCRAPES):
        began = time.perf_counter()
        _, body = await metrics.scrape("application/openmetrics-text")
        durations.append(time.perf_counter() - began)
    return Watching(lines=body.count(b"\n"), scrape=spread(durations), recall=alone * 1000, recall_adds=adds * 1000)


async def _recalls(
    engine: Engine, limiter: RequestLimiter, metrics: Metrics, questions: Sequence[str]
) -> tuple[float, float]:
    """Return the median of unobserved recalls, and the median of the time that counting adds."""
    alone: list[float] = []
    adds: list[float] = []
    for number, question in enumerate(questions):
        seconds = dict.fromkeys((False, True) if number % 2 else (True, False), 0.0)
        # An untimed recall first, because the second of two finds warm caches.
        await engine.recall(RecallRequest(query=question), who=CALLER)
        for is_observed in seconds:
            with ExitStack() as stack:
                if is_observed:
                    stack.enter_context(telemetry.observe(metrics))
                began = time.perf_counter()
                await limiter.run("recall", engine.recall(RecallRequest(query=question), who=CALLER), reads=True)
                seconds[is_observed] = time.perf_counter() - began
        alone.append(seconds[False])
        adds.append(seconds[True] - seconds[False])
    return statistics.median(alone[_WARM_UP:]), statistics.median(adds[_WARM_UP:])


def _fill(metrics: Metrics) -> None:
    """Use every verb and every route once."""
    with telemetry.observe(metrics):
        for verb in known_verbs():
            for outcome in ("ok", "invalid_input", "not_found"):
                with telemetry.request(verb) as request:
                    request.outcome = outcome
    for number in range(_ROUTES):
        for status in (200, 404, 422):
            metrics.http(route=f"/route/{number}", method="GET", status=status, seconds=0.01)
