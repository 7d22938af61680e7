"""Traces: a span for each request, one for each stage below it, and no text of a caller in them."""

import asyncio
import json
import socket
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass

import pytest
from hypothesis import given
from hypothesis import strategies as st
from opentelemetry.sdk.trace import ReadableSpan
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter
from opentelemetry.trace import SpanKind, StatusCode
from tests.unit.harness import Harness
from tests.unit.observability.collecting import collector

from scrubjay import telemetry
from scrubjay.errors import InvalidInput, NotFound
from scrubjay.observability.otel import Traces
from scrubjay.observability.tracing import tracing
from scrubjay.surfaces.daemon.limiter import RequestLimiter
from scrubjay.telemetry import incoming_request
from scrubjay.version import VERSION

TRACE, CALLER = "0af7651916cd43dd8448eb211c80319c", "b7ad6b7169203331"
TEXT = "Sarah of Acme prefers voice calls"


@dataclass(frozen=True)
class RecordedSpans:
    """The finished spans, by name."""

    exporter: InMemorySpanExporter

    @property
    def spans(self) -> dict[str, ReadableSpan]:
        return {span.name: span for span in self.exporter.get_finished_spans()}


@pytest.fixture
def recorded() -> Iterator[RecordedSpans]:
    exporter = InMemorySpanExporter()
    traces = Traces(exporter, immediately=True)
    with telemetry.observe(traces):
        yield RecordedSpans(exporter)
    traces.close()


async def test_a_request_is_a_span_and_its_stages_are_below_it(recorded: RecordedSpans, harness: Harness) -> None:
    limiter = RequestLimiter(max_requests=5, seconds=9)
    with incoming_request(caller_id="0b6f3f0c-77f1"):
        await limiter.run("remember", harness.remember(TEXT))
        await limiter.run("recall", harness.recall("how does Sarah like to be reached?"), reads=True)
    spans = recorded.spans
    for verb, stages in (("remember", ("write.embed", "write.commit")), ("recall", ("recall.lexical", "recall.dense"))):
        whole = spans[verb]
        assert whole.context is not None
        assert (whole.kind, whole.parent) == (SpanKind.SERVER, None)
        assert dict(whole.attributes or {}) == {"scrubjay.request": "0b6f3f0c-77f1", "scrubjay.outcome": "ok"}
        for stage in stages:
            parent = spans[stage].parent
            assert parent is not None
            assert (parent.trace_id, parent.span_id) == (whole.context.trace_id, whole.context.span_id)
            assert spans[stage].kind is SpanKind.INTERNAL


async def test_no_text_of_a_caller_is_in_the_spans(recorded: RecordedSpans, harness: Harness) -> None:
    limiter = RequestLimiter(max_requests=5, seconds=9)
    await limiter.run("remember", harness.remember(TEXT))
    with pytest.raises(NotFound):
        await limiter.run(f"read {TEXT}", harness.revise("Sarah and Acme and voice calls", title="x"), reads=True)
    spans = "".join(span.to_json() for span in recorded.exporter.get_finished_spans())
    assert "write.commit" in spans
    assert not [word for word in TEXT.split() if word.lower() in spans.lower() and word != "of"]
    assert '"default"' not in spans


async def test_spans_of_requests_at_the_same_time_do_not_mix(recorded: RecordedSpans) -> None:
    async def work(number: int) -> None:
        with telemetry.request("recall"):
            await asyncio.gather(*(stage(f"stage-{number}-{part}") for part in range(3)))

    async def stage(name: str) -> None:
        with telemetry.stage(name):
            await asyncio.sleep(0)

    await asyncio.gather(*(work(number) for number in range(5)))
    wholes = [span for span in recorded.exporter.get_finished_spans() if span.name == "recall"]
    parents = {name: span.parent for name, span in recorded.spans.items() if name.startswith("stage-")}
    for number in range(5):
        own = {parent.span_id for name, parent in parents.items() if parent and name.startswith(f"stage-{number}-")}
        assert len(own) == 1
        assert own <= {span.context.span_id for span in wholes if span.context}


def test_stages_within_stages_are_nested(recorded: RecordedSpans) -> None:
    with telemetry.request("recall"), telemetry.stage("outer"), telemetry.stage("inner"):
        pass
    inner, outer = recorded.spans["inner"], recorded.spans["outer"]
    assert inner.parent is not None
    assert outer.context is not None
    assert inner.parent.span_id == outer.context.span_id


def test_stages_without_a_request_are_not_traced(recorded: RecordedSpans) -> None:
    with telemetry.stage("index.build"):
        telemetry.count("writes", action="created")
    telemetry.record_stage("store.wait", 1.0)
    assert recorded.spans == {}


def test_how_a_request_ended_is_its_status(recorded: RecordedSpans) -> None:
    for outcome in ("not_found", "ok", "gone"):
        with telemetry.request(outcome) as request:
            request.outcome = outcome
    assert recorded.spans["not_found"].status.status_code is StatusCode.ERROR
    assert recorded.spans["not_found"].status.description == "not_found"
    assert {recorded.spans[name].status.status_code for name in ("ok", "gone")} == {StatusCode.UNSET}
    assert not recorded.spans["not_found"].events


def test_a_caller_elsewhere_is_the_parent(recorded: RecordedSpans) -> None:
    with (
        incoming_request(traceparent=f"00-{TRACE}-{CALLER}-01"),
        telemetry.request("recall"),
        telemetry.stage("recall.fuse"),
    ):
        pass
    for name in ("recall", "recall.fuse"):
        context = recorded.spans[name].context
        assert context is not None
        assert f"{context.trace_id:032x}" == TRACE
    parent = recorded.spans["recall"].parent
    assert parent is not None
    assert f"{parent.span_id:016x}" == CALLER


def test_a_caller_that_does_not_want_to_be_traced_is_not(recorded: RecordedSpans) -> None:
    with incoming_request(traceparent=f"00-{TRACE}-{CALLER}-00"), telemetry.request("recall"):
        pass
    assert recorded.spans == {}


@given(
    traceparent=st.text(max_size=80)
    | st.from_regex(r"\A[0-9a-f]{2}-[0-9a-f]{32}-[0-9a-f]{16}-[0-9a-f]{1,3}\Z")
    | st.sampled_from([f"00-{'0' * 32}-{CALLER}-01", f"ff-{TRACE}-{CALLER}-01", f"00-{TRACE}-{'0' * 16}-01"])
)
def test_an_invalid_trace_parent_does_not_fail_the_request(traceparent: str) -> None:
    exporter = InMemorySpanExporter()
    traces = Traces(exporter, immediately=True)
    done = False
    with telemetry.observe(traces), incoming_request(traceparent=traceparent), telemetry.request("recall"):
        done = True
    traces.close()
    assert done


async def test_they_are_sent_by_otlp(monkeypatch: pytest.MonkeyPatch) -> None:
    with collector() as taken:
        monkeypatch.setenv("OTEL_EXPORTER_OTLP_ENDPOINT", taken.url)
        async with tracing("otlp"):
            with telemetry.request("recall"), telemetry.stage("recall.fuse"):
                pass
    assert taken.paths == ["/v1/traces"]
    assert taken.kinds == ["application/x-protobuf"]
    assert sorted(taken.names) == ["recall", "recall.fuse"]
    assert taken.services == {"scrubjay"}


async def test_the_service_may_be_called_otherwise(monkeypatch: pytest.MonkeyPatch) -> None:
    with collector() as taken:
        monkeypatch.setenv("OTEL_EXPORTER_OTLP_ENDPOINT", taken.url)
        monkeypatch.setenv("OTEL_SERVICE_NAME", "memory-of-the-team")
        async with tracing("otlp"):
            with telemetry.request("recall"):
                pass
    assert taken.services == {"memory-of-the-team"}


async def test_a_missing_collector_fails_no_request(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        # Bound but not listening: connections are refused.
        monkeypatch.setenv("OTEL_EXPORTER_OTLP_ENDPOINT", f"http://127.0.0.1:{taken.getsockname()[1]}")
        monkeypatch.setenv("OTEL_EXPORTER_OTLP_TIMEOUT", "0.2")
        async with tracing("otlp"):
            with telemetry.request("recall"):
                pass
    assert any("Failed to export" in record.getMessage() for record in caplog.records)


async def test_a_collector_that_refuses_costs_no_answer(monkeypatch: pytest.MonkeyPatch) -> None:
    with collector(status=400) as taken:
        monkeypatch.setenv("OTEL_EXPORTER_OTLP_ENDPOINT", taken.url)
        async with tracing("otlp"):
            with telemetry.request("recall"):
                pass
    assert taken.names == ["recall"]


async def test_on_the_console_each_is_a_line(capsys: pytest.CaptureFixture[str]) -> None:
    async with tracing("console"):
        with telemetry.request("recall"), telemetry.stage("recall.fuse"):
            pass
    lines = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    assert [line["name"] for line in lines] == ["recall.fuse", "recall"]
    assert lines[0]["resource"]["attributes"]["service.version"] == VERSION


async def test_off_is_off() -> None:
    # A daemon of another test may observe this process.
    observers = telemetry._observers
    async with tracing("off"):
        assert telemetry._observers == observers


@pytest.mark.parametrize(
    ("way", "variables", "texts"),
    [
        ("jaeger", {}, "one of off, otlp, console"),
        ("otlp", {"OTEL_BSP_MAX_QUEUE_SIZE": "-1"}, "OTEL_"),
    ],
)
async def test_invalid_settings_are_reported(
    way: str, variables: dict[str, str], texts: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name, value in variables.items():
        monkeypatch.setenv(name, value)
    with pytest.raises(InvalidInput, match=texts):
        async with tracing(way):
            pass


def test_without_the_extra_it_is_named() -> None:
    code = """
import asyncio, sys
sys.modules["opentelemetry.sdk"] = None
from scrubjay.errors import InvalidInput
from scrubjay.observability.tracing import tracing

async def main():
    async with tracing("off"):
        pass
    try:
        async with tracing("otlp"):
            pass
    except InvalidInput as error:
        print(error)

asyncio.run(main())
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=60)
    assert "pip install 'scrubjay[otel]'" in done.stdout


def test_nothing_of_it_is_loaded_unless_it_is_wanted() -> None:
    loaded = "import sys, scrubjay.observability.tracing, scrubjay.observability.prometheus"
    code = f"{loaded}; print('opentelemetry.sdk' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=60)
    assert done.stdout.strip() == "False"
