"""Telemetry as spans of OpenTelemetry: one for each request, and one for each of its stages."""

import sys
import threading
from collections.abc import Mapping
from contextlib import suppress
from contextvars import ContextVar, Token

from opentelemetry import trace
from opentelemetry.context import Context
from opentelemetry.sdk.resources import OTELResourceDetector, Resource
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import (
    BatchSpanProcessor,
    ConsoleSpanExporter,
    SimpleSpanProcessor,
    SpanExporter,
)
from opentelemetry.trace import SpanKind, Status, StatusCode
from opentelemetry.trace.propagation.tracecontext import TraceContextTextMapPropagator

from scrubjay.lazy import dataclass
from scrubjay.telemetry import Span, request_id, trace_parent
from scrubjay.version import VERSION

# Spans that are not sent by then are lost: the server does not wait longer for its collector.
_CLOSE_SECONDS = 5.0
_current: ContextVar[trace.Span | None] = ContextVar("current_span", default=None)
_SUCCESS = ("ok", "gone")


@dataclass(frozen=True, slots=True)
class _OpenSpan:
    """A span that has begun, and the span before it."""

    span: trace.Span
    before: Token[trace.Span | None]


class Traces:
    """Makes spans. They have names, times and outcomes, but no texts, spaces or error messages."""

    needs_starts = True

    def __init__(self, exporter: SpanExporter, *, immediately: bool = False) -> None:
        # OTEL_SERVICE_NAME and OTEL_RESOURCE_ATTRIBUTES take precedence.
        service = Resource({"service.name": "scrubjay", "service.version": VERSION})
        self._provider = TracerProvider(resource=service.merge(OTELResourceDetector().detect()), shutdown_on_exit=False)
        self._provider.add_span_processor(
            SimpleSpanProcessor(exporter) if immediately else BatchSpanProcessor(exporter)
        )
        self._tracer = self._provider.get_tracer("scrubjay", VERSION)
        self._propagator = TraceContextTextMapPropagator()

    def on_start(self, span: Span) -> _OpenSpan | None:
        """Begin a span below the current one; a stage outside of a request gets none."""
        parent = _current.get()
        if parent is None and not span.is_request:
            return None
        opened = self._tracer.start_span(
            span.name,
            context=self._caller() if parent is None else trace.set_span_in_context(parent),
            kind=SpanKind.SERVER if span.is_request else SpanKind.INTERNAL,
            attributes={"scrubjay.request": request_id.get()} if span.is_request else None,
        )
        return _OpenSpan(opened, _current.set(opened))

    def on_end(self, span: Span, mark: object) -> None:
        """End the span."""
        if not isinstance(mark, _OpenSpan):
            return
        mark.span.set_attribute("scrubjay.outcome", span.outcome)
        if span.outcome not in _SUCCESS:
            mark.span.set_status(Status(StatusCode.ERROR, span.outcome))
        mark.span.end()
        # Work that is cancelled at shutdown ends in another context.
        with suppress(ValueError):
            _current.reset(mark.before)

    def on_count(self, name: str, amount: int, labels: Mapping[str, str]) -> None:
        """Do nothing: counts belong to metrics."""

    def close(self) -> None:
        """Send the remaining spans, within a few seconds."""
        # Not one of asyncio's threads: the process waits for those at its end.
        closer = threading.Thread(target=self._provider.shutdown, name="scrubjay-traces", daemon=True)
        closer.start()
        closer.join(_CLOSE_SECONDS)

    def _caller(self) -> Context:
        """Return the context of a caller's span in another process, or an empty one."""
        return self._propagator.extract({"traceparent": trace_parent.get()}, context=Context())


def exporter_for(name: str) -> SpanExporter:
    """Return an exporter; the SDK reads the service's address, headers and timeouts from OTEL_* variables."""
    if name == "console":
        return ConsoleSpanExporter(out=sys.stdout, formatter=lambda span: f"{span.to_json(indent=None)}\n")
    from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter  # noqa: PLC0415 - slow to load

    return OTLPSpanExporter()
