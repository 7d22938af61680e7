"""Metrics for Prometheus: counts from telemetry, and gauges that are read at each scrape."""

import asyncio
import os
import platform
import resource
import sys
from collections import deque
from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress
from dataclasses import fields
from itertools import permutations
from pathlib import Path
from typing import Protocol

from scrubjay.engine import EngineIndex
from scrubjay.errors import ScrubjayError
from scrubjay.health.latency import LATENCY_BOUNDS, BucketCounts
from scrubjay.model.curation import ARROW
from scrubjay.model.health import HealthReport, ServerHealth, Thresholds, WriteCounts, share
from scrubjay.model.memory import State, Tier
from scrubjay.observability.exposition import (
    CounterFamily,
    DurationHistogram,
    GaugeFamily,
    content_type,
    document,
    lines_of,
)
from scrubjay.telemetry import Span, gauges
from scrubjay.version import VERSION

_STAGE_BOUNDS = (0.0001, 0.00025, 0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.5, 5.0)
_LAG_BOUNDS = (0.001, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 5.0)
_MAX_ROUTES = 200
# Spans are counted in batches of this size, which is cheaper than one by one during other work.
_BATCH = 64
_METHODS = ("GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS", "WEBSOCKET")
_STATUSES = range(100, 600)
_SWITCHING_PROTOCOLS = 101
OTHER = "other"
# The counters of telemetry: the help text, the label, and its values, which exist from the start so that a rate begins
# at zero.
_COUNTERS: dict[str, tuple[str, str, tuple[str, ...]]] = {
    "writes": (
        "Memories and relations, by the action of a write.",
        "action",
        (
            "created", "merged", "updated", "unchanged", "rejected", "repeated", "trashed", "restored", "purged",
            "related", "unrelated", "approved",
        ),
    ),
    "conflicts": ("Conflicts, by event.", "event", ("found", "resolved", "reopened")),
    "jobs": ("Jobs, by outcome.", "outcome", ("done", "failed")),
    "llm": (
        "Requests to the language model, by outcome.",
        "outcome",
        ("answered", "answer", "down", "slow", "busy", "key", "refused", "budget", "missing"),
    ),
    "llm_tokens": ("Tokens of the language model, by direction.", "direction", ("input", "output")),
    "recall_cache": ("Recalls, by whether the result was in the cache.", "result", ("hit", "miss")),
    "recalls_elsewhere": (
        "Questions given to another process, by whether it has answered.", "result", ("answered", "failed"),
    ),
    "embedding_cache": ("Embedded queries, by whether the vector was in the cache.", "result", ("hit", "miss")),
    "store_retries": (
        "Repeated transactions, by reason: a lost connection, or a conflict with another one.",
        "why",
        ("lost", "conflict"),
    ),
    "refused": (
        "Refused requests, by reason.",
        "why",
        ("host", "origin", "token", "access", "rate", "body"),
    ),
}  # fmt: skip


_STATM = Path("/proc/self/statm")
_KIB = 1024


class RunningRequests(Protocol):
    """Counts the running requests."""

    active: int


class IndexedEngine(Protocol):
    """An engine with a vector index."""

    @property
    def index(self) -> EngineIndex:
        """The vector index."""
        ...


class Metrics:
    """The metrics of one daemon."""

    needs_starts = False

    def __init__(self, *, engine: IndexedEngine, limiter: RunningRequests) -> None:
        self._engine = engine
        self._limiter = limiter
        self._finished: deque[Span] = deque()
        self._clients: dict[str, Callable[[], int]] = {}
        self._requests = CounterFamily("scrubjay_requests", "Finished requests, by outcome.", "verb", "outcome")
        self._request_seconds = DurationHistogram(
            "scrubjay_request_seconds", "Duration of a request.", label="verb", bounds=LATENCY_BOUNDS
        )
        self._stage_seconds = DurationHistogram(
            "scrubjay_stage_seconds", "Duration of a stage of the work.", label="stage", bounds=_STAGE_BOUNDS
        )
        self._counters = {name: _LabelledCounter(name) for name in _COUNTERS}
        self._http = _HttpMetrics()
        self._gauges = _Gauges()
        self._health = _HealthGauges()
        self._loop_lag = DurationHistogram(
            "scrubjay_loop_lag_seconds", "How late the event loop runs.", bounds=_LAG_BOUNDS
        )

    # ---- called by telemetry ----

    def on_start(self, _: Span) -> None:
        """Do nothing: a span counts when it ends."""

    def on_end(self, span: Span, _: object) -> None:
        """Count a finished stage or request."""
        self._finished.append(span)
        if len(self._finished) >= _BATCH:
            self._count_finished()

    def on_count(self, name: str, amount: int, labels: Mapping[str, str]) -> None:
        """Add to a counter; ignore unknown ones."""
        if name in self._counters:
            self._counters[name].add(amount, labels)

    # ---- called by the servers ----

    def http(self, *, route: str, method: str, status: int, seconds: float) -> None:
        """Count an HTTP response. `route` is the route's own name, never the caller's path."""
        self._http.add(route=route, method=method, status=status, seconds=seconds)

    def clients(self, kind: str, read: Callable[[], int]) -> None:
        """Register a function that returns the number of connected clients of a kind."""
        self._clients[kind] = read

    def latencies(self) -> BucketCounts:
        """Return how many requests of each verb took how long."""
        self._count_finished()
        return self._request_seconds.counts()

    def health(self, report: HealthReport) -> None:
        """Show the health of all spaces; it names none of them."""
        self._health.show(report)

    def loop_lag(self, seconds: float) -> None:
        """Count one measurement of the event loop's lag."""
        self._loop_lag.add("", seconds)

    # ---- called by a scrape ----

    async def scrape(self, accept: str = "") -> tuple[str, bytes]:
        """Return the current metrics: the content type and the text, in OpenMetrics if the client accepts that."""
        self._gauges.inside.set(self._limiter.active)
        self._gauges.queue.set(gauges().get("write_queue", 0.0))
        self._gauges.leading.set(gauges().get("leading", 0.0))
        self._gauges.lag.set(await self._lag())
        for kind, read in self._clients.items():
            self._gauges.clients.set(read(), kind)
        return await asyncio.to_thread(self._render, accept)

    def _count_finished(self) -> None:
        """Count the finished spans; concurrent callers get different ones."""
        with suppress(IndexError):
            while True:
                span = self._finished.popleft()
                if span.is_request:
                    self._requests.add(1, span.name, span.outcome)
                    self._request_seconds.add(span.name, span.seconds)
                else:
                    self._stage_seconds.add(span.name, span.seconds)

    async def _lag(self) -> float:
        try:
            return await self._engine.index.lag()
        except ScrubjayError:
            # The other metrics must not depend on a readable store.
            return float("nan")

    def _render(self, accept: str) -> tuple[str, bytes]:
        self._count_finished()
        self._gauges.resident.set(_resident_bytes())
        chosen = content_type(accept)
        families = (
            self._requests, *(counter.family for counter in self._counters.values()), self._http.requests,
            *self._gauges.families, *self._health.families,
        )  # fmt: skip
        lines = [line for family in families for line in family.lines(of=chosen)]
        for histogram in (self._loop_lag, self._request_seconds, self._stage_seconds, self._http.seconds):
            lines += histogram.lines()
        lines += _process_lines(of=chosen)
        return chosen, document(lines, of=chosen)


class _LabelledCounter:
    """One of the counters of telemetry."""

    def __init__(self, name: str) -> None:
        help_text, self._label, values = _COUNTERS[name]
        self.family = CounterFamily(f"scrubjay_{name}", help_text, self._label)
        self._values = _LabelValues(values)
        for value in values:
            self.family.add(0, value)

    def add(self, amount: int, labels: Mapping[str, str]) -> None:
        self.family.add(amount, self._values.bound(labels.get(self._label, OTHER)))


class _HttpMetrics:
    """Counts and durations of HTTP requests."""

    def __init__(self) -> None:
        self.requests = CounterFamily("scrubjay_http_requests", "Answered HTTP requests.", "route", "method", "status")
        self.seconds = DurationHistogram(
            "scrubjay_http_request_seconds", "Duration of an HTTP request, including the response.",
            label="route", bounds=LATENCY_BOUNDS,
        )  # fmt: skip
        self._routes = _LabelValues(max_values=_MAX_ROUTES)
        self._methods = _LabelValues(_METHODS)

    def add(self, *, route: str, method: str, status: int, seconds: float) -> None:
        route = self._routes.bound(route)
        status_label = str(status) if status in _STATUSES else OTHER
        self.requests.add(1, route, self._methods.bound(method), status_label)
        # A WebSocket stays open as long as both sides like.
        if status != _SWITCHING_PROTOCOLS:
            self.seconds.add(route, seconds)


class _Gauges:
    """Values that exist at any time."""

    def __init__(self) -> None:
        self.inside = GaugeFamily("scrubjay_requests_inside", "Running requests.")
        self.queue = GaugeFamily("scrubjay_write_queue", "Requests that wait for the store.")
        self.leading = GaugeFamily("scrubjay_leading", "1 if this server does the background work of all servers.")
        self.lag = GaugeFamily("scrubjay_index_lag_changes", "Changes that the vector index has not applied.")
        self.clients = GaugeFamily("scrubjay_clients", "Connected clients.", "kind")
        self.resident = GaugeFamily("scrubjay_resident_bytes", "Resident memory of the process.")
        build = GaugeFamily("scrubjay_build_info", "Always 1; the labels name the build.", "version", "python")
        build.set(1, VERSION, platform.python_version())
        self.families = (self.inside, self.queue, self.leading, self.lag, self.clients, self.resident, build)


class _HealthGauges:
    """The health of all spaces together, when a daemon last looked; without a look they are 0."""

    def __init__(self) -> None:
        self._memories = GaugeFamily("scrubjay_memories", "Memories, by state.", "state")
        self._conflicts = GaugeFamily("scrubjay_conflicts_pending", "Conflicts that wait for a decision.")
        self._tags = GaugeFamily("scrubjay_tags", "Different tags, added up over spaces.")
        self._tag_entropy = GaugeFamily(
            "scrubjay_tag_entropy_bits", "Entropy of the use of tags, on average over live memories."
        )
        self._tier_moves = GaugeFamily(
            "scrubjay_tier_moves", "Memories that curation has moved between tiers in 30 days.", "source", "target"
        )
        self._store = GaugeFamily("scrubjay_store_bytes", "Size of the store.")
        self._free = GaugeFamily("scrubjay_disk_free_bytes", "Free space on the disk of the data.")
        self._saved = GaugeFamily("scrubjay_compression_saved", "Share that compression saves of the newest texts.")
        self._unembedded = GaugeFamily("scrubjay_unembedded", "Memories that wait for a vector.")
        self._duplicates = GaugeFamily(
            "scrubjay_duplicate_rate", "Share of the writes of a week that said what was known."
        )
        self._thin = GaugeFamily("scrubjay_thin_rate", "Share of live memories that say too little.")
        self._alerts = GaugeFamily("scrubjay_alerts", "Alerts that last, by name.", "name")
        self._llm_cost = GaugeFamily("scrubjay_llm_cost_today", "Cost of today's tokens of the language model.")
        self.families = (
            self._memories, self._conflicts, self._tags, self._unembedded, self._duplicates, self._thin, self._alerts,
            self._llm_cost, self._tag_entropy, self._tier_moves, self._store, self._free, self._saved,
        )  # fmt: skip
        self._names = [threshold.name for threshold in fields(Thresholds)]
        self.show(HealthReport(since="", spaces=()))

    def show(self, report: HealthReport) -> None:
        spaces = report.spaces
        for state in State:
            self._memories.set(sum(space.memories.get(state.value, 0) for space in spaces), state.value)
        self._conflicts.set(sum(space.conflicts for space in spaces))
        self._tags.set(sum(space.tags for space in spaces))
        self._unembedded.set(sum(space.unembedded for space in spaces))
        writes = WriteCounts()
        for space in spaces:
            writes = writes.plus(space.writes)
        self._duplicates.set(writes.repeats)
        live = sum(space.live for space in spaces)
        self._thin.set(share(sum(space.thin for space in spaces), live))
        self._tag_entropy.set(sum(space.tag_entropy * space.live for space in spaces) / max(1, live))
        for source, target in permutations(Tier, 2):
            moves = sum(space.flow.get(f"{source.value}{ARROW}{target.value}", 0) for space in spaces)
            self._tier_moves.set(moves, source.value, target.value)
        server = report.server or ServerHealth()
        self._llm_cost.set(float(server.llm.get("cost_today", 0.0)))
        self._store.set(server.store_bytes)
        self._free.set(server.disk_free_bytes)
        self._saved.set(server.saved)
        for name in self._names:
            self._alerts.set(sum(alert.name == name for alert in report.alerts), name)


class _LabelValues:
    """The values of a label: the given ones and, up to a maximum, new ones; all others become `OTHER`.

    Each value is a series for ever, so callers must not be able to invent them.
    """

    def __init__(self, values: Iterable[str] = (), *, max_values: int = 0) -> None:
        self._values = set(values)
        self._max_values = max_values

    def bound(self, value: str) -> str:
        """Return the value if it is allowed, else `OTHER`."""
        if value in self._values:
            return value
        if len(self._values) < self._max_values:
            self._values.add(value)
            return value
        return OTHER


def _process_lines(*, of: str) -> Iterable[str]:
    """Return what the system knows of this process."""
    # Loaded by the first scrape.
    from prometheus_client import ProcessCollector  # noqa: PLC0415

    return lines_of(ProcessCollector(registry=None).collect(), of=of)


def _resident_bytes() -> int:
    """Return the memory of this process; its maximum so far if the system does not report the current value."""
    try:
        return int(_STATM.read_text(encoding="ascii").split()[1]) * os.sysconf("SC_PAGE_SIZE")
    except OSError:
        maximum = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        # macOS reports bytes here, other systems KiB.
        return maximum if sys.platform == "darwin" else maximum * _KIB
