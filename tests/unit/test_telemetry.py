"""Telemetry reaches every observer, and costs nothing without one."""

import asyncio
import contextvars
import logging
import re
import threading

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.unit.harness import Harness
from tests.unit.recording_observer import RecordingObserver

from scrubjay import telemetry
from scrubjay.errors import InvalidInput
from scrubjay.model.draft import Draft
from scrubjay.model.requests import Selection
from scrubjay.telemetry import Span, incoming_request, request_id, trace_parent


def test_without_observers_no_span_is_created() -> None:
    assert telemetry.stage("recall.fuse") is telemetry.stage("recall.dense")
    with telemetry.stage("recall.fuse"):
        telemetry.count("writes", action="created")
        telemetry.record_stage("store.wait", 1.0)


def test_an_observer_receives_inner_stages_before_outer_ones() -> None:
    observer = RecordingObserver()
    with telemetry.observe(observer), telemetry.stage("recall.collapse"):
        with telemetry.stage("recall.fuse"):
            telemetry.count("writes", 3, action="created")
        telemetry.count("writes", action="created")
        telemetry.record_stage("store.wait", 1.5)
    assert observer.started_names == ["recall.collapse", "recall.fuse"]
    # A stage that was timed elsewhere has no start.
    assert observer.ended_spans == [
        ("recall.fuse", "ok", True),
        ("store.wait", "ok", False),
        ("recall.collapse", "ok", True),
    ]
    assert observer.seconds["recall.collapse"] >= observer.seconds["recall.fuse"] >= 0
    assert observer.seconds["store.wait"] == 1.5
    assert observer.counts == {("writes", "created"): 4}


def test_a_span_reports_its_outcome_and_errors_propagate() -> None:
    observer = RecordingObserver()
    with telemetry.observe(observer):
        for error in (InvalidInput("no"), KeyError("no"), asyncio.CancelledError(), GeneratorExit()):
            with pytest.raises(type(error)), telemetry.stage("recall.fuse"):
                raise error
    assert [outcome for _, outcome, _ in observer.ended_spans] == ["error", "error", "gone", "gone"]


def test_each_of_several_observers_observes_until_its_end() -> None:
    first, second = RecordingObserver(), RecordingObserver()
    with telemetry.observe(first):
        with telemetry.observe(second), telemetry.observe(first), telemetry.stage("first"):
            pass
        with telemetry.stage("second"):
            pass
    with telemetry.stage("third"):
        pass
    assert first.names == ["first", "first", "second"]
    assert second.names == ["first"]


def test_an_observer_installed_during_a_span_does_not_receive_its_end() -> None:
    observer = RecordingObserver()
    with telemetry.observe(RecordingObserver()), telemetry.stage("first"), telemetry.observe(observer):
        pass
    assert observer.names == []


async def test_spans_of_threads_and_tasks_are_observed() -> None:
    observer = RecordingObserver()

    def work(name: str) -> None:
        with telemetry.stage(name):
            pass

    async def task(name: str) -> None:
        with telemetry.stage(name):
            await asyncio.sleep(0)

    with telemetry.observe(observer):
        threads = [threading.Thread(target=work, args=(f"thread.{number}",)) for number in range(4)]
        for thread in threads:
            thread.start()
        await asyncio.gather(*(task(f"task.{number}") for number in range(4)), asyncio.to_thread(work, "lent"))
        for thread in threads:
            thread.join()
    expected = {f"{kind}.{number}" for kind in ("thread", "task") for number in range(4)} | {"lent"}
    assert set(observer.names) == expected


def test_a_failing_observer_does_no_harm_and_is_logged_once(caplog: pytest.LogCaptureFixture) -> None:
    class FailingObserver(RecordingObserver):
        pass

    failing, observer = FailingObserver(fails=True), RecordingObserver()
    with caplog.at_level(logging.WARNING, logger="scrubjay"), telemetry.observe(failing), telemetry.observe(observer):
        for _ in range(3):
            with telemetry.request("recall"):
                telemetry.count("writes", action="created")
            telemetry.record_stage("store.wait", 1.0)
    assert observer.names == ["recall", "store.wait"] * 3
    assert observer.counts == {("writes", "created"): 3}
    logged = [record.__dict__["fields"] for record in caplog.records]
    assert [fields["error"] for fields in logged] == ["RuntimeError"] * 3
    assert {fields["observer"] for fields in logged} == {
        f"RecordingObserver.{name}" for name in ("on_start", "on_end", "on_count")
    }


def test_gauges_of_one_name_add_up_until_they_are_removed() -> None:
    def fail() -> float:
        raise OSError

    before = telemetry.gauges().get("jobs", 0.0)
    removes = [
        telemetry.gauge("jobs", lambda: 2.0),
        telemetry.gauge("jobs", lambda: 3.0),
        telemetry.gauge("jobs", fail),
    ]
    assert telemetry.gauges()["jobs"] == before + 5.0
    removes[0]()
    removes[0]()
    assert telemetry.gauges()["jobs"] == before + 3.0
    for remove in removes:
        remove()
    assert "jobs" not in telemetry.gauges()


async def test_every_request_has_an_id_of_its_own() -> None:
    async def serve() -> str:
        with telemetry.request("recall"):
            await asyncio.sleep(0)
            inside = request_id.get()
            with telemetry.request("remember"):
                assert request_id.get() == inside
            return await asyncio.create_task(_current_id())

    ids = await asyncio.gather(*(serve() for _ in range(20)))
    assert len(set(ids)) == 20
    assert all(ids)
    assert request_id.get() == ""


async def _current_id() -> str:
    return request_id.get()


def test_an_incoming_request_keeps_its_id() -> None:
    with incoming_request(caller_id="0b6f3f0c-77f1", traceparent="00-aa-bb-01") as chosen:
        assert chosen == "0b6f3f0c-77f1"
        with telemetry.request("recall"):
            assert request_id.get() == chosen
        assert trace_parent.get() == "00-aa-bb-01"
    assert (request_id.get(), trace_parent.get()) == ("", "")


@given(
    caller_id=st.text(max_size=80) | st.sampled_from(["sj_" + "a" * 40, "a.b.c", "short", "x" * 65, "line\nbreak88"])
)
def test_an_id_of_a_caller_is_plain_or_replaced(caller_id: str) -> None:
    with incoming_request(caller_id=caller_id) as chosen:
        assert re.fullmatch(r"[A-Za-z0-9-]{8,64}", chosen)
        assert request_id.get() == chosen


def test_a_request_may_end_in_another_context() -> None:
    observer, request, incoming = RecordingObserver(), telemetry.request("recall"), incoming_request()
    with telemetry.observe(observer):
        contextvars.copy_context().run(request.__enter__)
        contextvars.copy_context().run(incoming.__enter__)
        request.__exit__(None, None, None)
        incoming.__exit__(None, None, None)
    assert observer.names == ["recall"]


def test_each_request_is_logged_at_level_debug(caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.DEBUG, logger="scrubjay"), telemetry.request("recall") as request:
        request.outcome = "not_found"
    (record,) = caplog.records
    fields = record.__dict__["fields"]
    assert (fields["verb"], fields["outcome"]) == ("recall", "not_found")
    assert fields["ms"] >= 0


async def test_a_write_and_a_recall_go_through_their_stages(harness: Harness) -> None:
    observer = RecordingObserver()
    with telemetry.observe(observer):
        await harness.remember("Sarah prefers voice calls")
        writing = [name for name in observer.names if name.startswith("write.")]
        await harness.recall("how does Sarah like to be reached?")
        recalling = {name for name in observer.names if name.startswith("recall.")}
    stages = ("validate", "prepare", "duplicate", "slice", "embed", "gate", "commit")
    assert writing == [f"write.{stage}" for stage in stages]
    assert recalling == {
        f"recall.{stage}"
        for stage in ("understand", "pinned", "lexical", "embed", "dense", "passages", "fuse", "collapse", "budget")
    }


async def test_writes_are_counted_by_their_action(harness: Harness) -> None:
    observer = RecordingObserver()
    with telemetry.observe(observer):
        first = await harness.remember(Draft(text="one", entities=("a", "b"), idempotency_key="k"))
        await harness.remember(Draft(text="one", entities=("a", "b"), idempotency_key="k"))
        await harness.remember(Draft(text="one", entities=("a", "b")))
        await harness.remember(Draft(text="three", dry_run=True))
        other = await harness.remember("two")
        await harness.revise(other.id, title="Two")
        await harness.revise(other.id, title="Two")
        await harness.relate(first.id, other.id)
        await harness.unrelate(first.id, other.id)
        await harness.forget(other.id)
        await harness.restore(other.id)
        await harness.forget(selection=Selection(ids=(other.id,), dry_run=True))
        await harness.forget(other.id)
        await harness.purge(other.id)
    assert observer.counts == {
        ("writes", "created"): 3,
        ("writes", "repeated"): 1,
        ("writes", "unchanged"): 3,
        ("writes", "updated"): 1,
        ("writes", "related"): 1,
        ("writes", "unrelated"): 1,
        ("writes", "trashed"): 2,
        ("writes", "restored"): 1,
        ("writes", "purged"): 1,
    }


def test_a_span_says_whether_it_is_a_request() -> None:
    assert not Span("recall.fuse").is_request
    assert telemetry.request("recall").is_request
