"""Metrics in the words of Prometheus: what telemetry tells is counted, the rest is looked up when somebody asks."""

import asyncio
import platform
from collections import deque
from collections.abc import Callable, Mapping
from contextlib import suppress
from typing import Protocol

from prometheus_client import CollectorRegistry, Counter, Gauge, ProcessCollector, disable_created_metrics

from scrubjay.engine import EngineIndex
from scrubjay.errors import ScrubjayError
from scrubjay.observability.exposition import content_type, document, lines_of
from scrubjay.observability.histograms import Timings
from scrubjay.observability.label_values import OTHER, Words
from scrubjay.observability.process_memory import resident_bytes
from scrubjay.telemetry import Span, gauges
from scrubjay.version import VERSION

_REQUEST_BOUNDS = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 5.0, 30.0)
_STAGE_BOUNDS = (0.0001, 0.00025, 0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.5, 5.0)
_MOST_ROUTES = 200
# So many spans are taken in together, which is cheaper than one by one in the midst of other work.
_MOST_OVER = 64
_METHODS = ("GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS", "WEBSOCKET")
_STATUSES = range(100, 600)
_SWITCHING = 101
# What telemetry counts: the label, and the values that are there from the start, so that a rate has a zero to begin at.
_COUNTED: dict[str, tuple[str, str, tuple[str, ...]]] = {
    "writes": (
        "Memories and relations, by what a write did to them.",
        "action",
        (
            "created", "merged", "updated", "unchanged", "rejected", "repeated", "trashed", "restored", "purged",
            "related", "unrelated", "approved",
        ),
    ),
    "conflicts": ("Conflicts, by what happened to them.", "event", ("found", "resolved", "reopened")),
    "jobs": ("Jobs that were tried, by what came of it.", "outcome", ("done", "failed")),
    "llm": (
        "Questions to the language model, by what came of them.",
        "outcome",
        ("answered", "answer", "down", "slow", "busy", "key", "refused", "budget", "missing"),
    ),
    "recall_cache": ("Questions, by whether the answer was known.", "result", ("hit", "miss")),
    "embedding_cache": ("Questions to be embedded, by whether the vector was known.", "result", ("hit", "miss")),
    "store_retries": (
        "Transactions that were tried again, by why: the connection was lost, or two got in each other's way.",
        "why",
        ("lost", "conflict"),
    ),
    "refused": (
        "Requests that were turned away at the door, by why.",
        "why",
        ("host", "origin", "token", "access", "rate", "body"),
    ),
}  # fmt: skip


class Gate(Protocol):
    """Knows how many requests are inside."""

    inside: int


class Memory(Protocol):
    """What is asked of an engine."""

    @property
    def index(self) -> EngineIndex:
        """The vector index."""
        ...


class Metrics:
    """All that is measured of one daemon. It has a registry of its own, so several do not mix."""

    from_the_beginning = False

    def __init__(self, *, engine: Memory, gate: Gate) -> None:
        # They double what is told, and nobody asks for them.
        disable_created_metrics()
        self._engine = engine
        self._gate = gate
        self._over: deque[Span] = deque()
        self._clients: dict[str, Callable[[], int]] = {}
        self._registry = registry = CollectorRegistry()
        self._requests = Counter(
            "scrubjay_requests", "Requests that are over, by how they ended.", ("verb", "outcome"), registry=registry
        )
        self._request_seconds = Timings(
            "scrubjay_request_seconds", "How long a request took.", label="verb", bounds=_REQUEST_BOUNDS
        )
        self._stage_seconds = Timings(
            "scrubjay_stage_seconds", "How long a stage of the work took.", label="stage", bounds=_STAGE_BOUNDS
        )
        self._counted = {name: _Counted(name, registry=registry) for name in _COUNTED}
        self._web = _Web(registry)
        self._now = _Now(registry)
        ProcessCollector(registry=registry)

    # ---- what telemetry tells ----

    def began(self, _: Span) -> None:
        """Nothing is counted before it is over."""

    def ended(self, span: Span, _: object) -> None:
        """A stage or a request is over."""
        self._over.append(span)
        if len(self._over) >= _MOST_OVER:
            self._take_in()

    def counted(self, name: str, amount: int, labels: Mapping[str, str]) -> None:
        """Something happened; what is not known here is for others."""
        if name in self._counted:
            self._counted[name].add(amount, labels)

    # ---- what the doors tell ----

    def http(self, *, route: str, method: str, status: int, seconds: float) -> None:
        """An HTTP request was answered. `route` is the route's own name, never what the caller wrote."""
        self._web.answered(route=route, method=method, status=status, seconds=seconds)

    def clients(self, kind: str, read: Callable[[], int]) -> None:
        """Where to look up how many clients of a kind are connected."""
        self._clients[kind] = read

    # ---- what is asked ----

    async def scrape(self, accept: str = "") -> tuple[str, bytes]:
        """All of it, as it is now: the content type and the text, in OpenMetrics for whoever accepts that."""
        self._now.inside.set(self._gate.inside)
        self._now.queue.set(gauges().get("write_queue", 0.0))
        self._now.leading.set(gauges().get("leading", 0.0))
        self._now.lag.set(await self._lag())
        for kind, read in self._clients.items():
            self._now.clients.labels(kind).set(read())
        return await asyncio.to_thread(self._told, accept)

    def _take_in(self) -> None:
        """Count what is over; whoever else takes it in at the same time gets other spans."""
        with suppress(IndexError):
            while True:
                span = self._over.popleft()
                if span.is_request:
                    self._requests.labels(span.name, span.outcome).inc()
                    self._request_seconds.add(span.name, span.seconds)
                else:
                    self._stage_seconds.add(span.name, span.seconds)

    async def _lag(self) -> float:
        try:
            return await self._engine.index.lag()
        except ScrubjayError:
            # A store that cannot be read has metrics all the same.
            return float("nan")

    def _told(self, accept: str) -> tuple[str, bytes]:
        self._take_in()
        self._now.resident.set(resident_bytes())
        chosen = content_type(accept)
        lines = [*lines_of(self._registry.collect(), of=chosen)]
        for timings in (self._request_seconds, self._stage_seconds, self._web.seconds):
            lines += timings.lines()
        return chosen, document(lines, of=chosen)


class _Counted:
    """One of the things that telemetry counts."""

    def __init__(self, name: str, *, registry: CollectorRegistry) -> None:
        what, self._label, known = _COUNTED[name]
        self._family = Counter(f"scrubjay_{name}", what, (self._label,), registry=registry)
        self._words = Words(known)
        for word in known:
            self._family.labels(word)

    def add(self, amount: int, labels: Mapping[str, str]) -> None:
        self._family.labels(self._words.known(labels.get(self._label, OTHER))).inc(amount)


class _Web:
    """What is counted of HTTP."""

    def __init__(self, registry: CollectorRegistry) -> None:
        self._requests = Counter(
            "scrubjay_http_requests", "HTTP requests that were answered.", ("route", "method", "status"),
            registry=registry,
        )  # fmt: skip
        self.seconds = Timings(
            "scrubjay_http_request_seconds", "How long an HTTP request took, the answer included.",
            label="route", bounds=_REQUEST_BOUNDS,
        )  # fmt: skip
        self._routes = Words(most=_MOST_ROUTES)
        self._methods = Words(_METHODS)

    def answered(self, *, route: str, method: str, status: int, seconds: float) -> None:
        route = self._routes.known(route)
        told = str(status) if status in _STATUSES else OTHER
        self._requests.labels(route, self._methods.known(method), told).inc()
        # A conversation lasts as long as both sides like.
        if status != _SWITCHING:
            self.seconds.add(route, seconds)


class _Now:
    """What has a value at any time."""

    def __init__(self, registry: CollectorRegistry) -> None:
        self.inside = Gauge("scrubjay_requests_inside", "Requests that are being worked on.", registry=registry)
        self.queue = Gauge("scrubjay_write_queue", "Requests that wait for the store.", registry=registry)
        self.leading = Gauge(
            "scrubjay_leading", "1 where this server does the background work of all.", registry=registry
        )
        self.lag = Gauge(
            "scrubjay_index_lag_changes", "Changes that the vector index has not taken in.", registry=registry
        )
        self.clients = Gauge("scrubjay_clients", "Clients that are connected.", ("kind",), registry=registry)
        self.resident = Gauge("scrubjay_resident_bytes", "Memory that the process holds.", registry=registry)
        build = Gauge("scrubjay_build_info", "Always 1; what runs here.", ("version", "python"), registry=registry)
        build.labels(VERSION, platform.python_version()).set(1)
