"""What telemetry tells, as spans of OpenTelemetry: one a request, and one for each of its stages."""

import sys
import threading
from collections.abc import Mapping
from contextlib import suppress
from contextvars import ContextVar, Token
from dataclasses import dataclass

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

from scrubjay.telemetry import Span, request_id, trace_parent
from scrubjay.version import VERSION

# What has not been sent after so long is left behind: nobody waits for a collector that does not answer.
_FAREWELL = 5.0
_current: ContextVar[trace.Span | None] = ContextVar("current_span", default=None)
_FINE = ("ok", "gone")


@dataclass(frozen=True, slots=True)
class _Mark:
    """A span that was begun, and what was current before."""

    span: trace.Span
    before: Token[trace.Span | None]


class Traces:
    """Makes spans. They carry names, times and outcomes: no texts, no spaces, no errors' words."""

    from_the_beginning = True

    def __init__(self, exporter: SpanExporter, *, at_once: bool = False) -> None:
        # What the user says in OTEL_SERVICE_NAME and OTEL_RESOURCE_ATTRIBUTES wins.
        who = Resource({"service.name": "scrubjay", "service.version": VERSION})
        self._provider = TracerProvider(resource=who.merge(OTELResourceDetector().detect()), shutdown_on_exit=False)
        self._provider.add_span_processor(SimpleSpanProcessor(exporter) if at_once else BatchSpanProcessor(exporter))
        self._tracer = self._provider.get_tracer("scrubjay", VERSION)
        self._callers = TraceContextTextMapPropagator()

    def began(self, span: Span) -> _Mark | None:
        """Begin a span below the one that is current here; a stage outside of a request has none."""
        parent = _current.get()
        if parent is None and not span.is_request:
            return None
        begun = self._tracer.start_span(
            span.name,
            context=self._caller() if parent is None else trace.set_span_in_context(parent),
            kind=SpanKind.SERVER if span.is_request else SpanKind.INTERNAL,
            attributes={"scrubjay.request": request_id.get()} if span.is_request else None,
        )
        return _Mark(begun, _current.set(begun))

    def ended(self, span: Span, mark: object) -> None:
        """End the span that was begun."""
        if not isinstance(mark, _Mark):
            return
        mark.span.set_attribute("scrubjay.outcome", span.outcome)
        if span.outcome not in _FINE:
            mark.span.set_status(Status(StatusCode.ERROR, span.outcome))
        mark.span.end()
        # Work that is thrown away at the very end is ended in another context.
        with suppress(ValueError):
            _current.reset(mark.before)

    def counted(self, name: str, amount: int, labels: Mapping[str, str]) -> None:
        """Counts are for metrics."""

    def close(self) -> None:
        """Send what is left, for a moment."""
        # Not one of asyncio's threads: those are waited for at the end.
        last = threading.Thread(target=self._provider.shutdown, name="scrubjay-traces", daemon=True)
        last.start()
        last.join(_FAREWELL)

    def _caller(self) -> Context:
        """The span of whoever called from another process, or none."""
        return self._callers.extract({"traceparent": trace_parent.get()}, context=Context())


def exporter_for(way: str) -> SpanExporter:
    """To where spans go; a service's address, headers and times are in the variables that the SDK reads."""
    if way == "console":
        return ConsoleSpanExporter(out=sys.stdout, formatter=lambda span: f"{span.to_json(indent=None)}\n")
    from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter  # noqa: PLC0415 - slow to load

    return OTLPSpanExporter()
