"""Telemetry: whoever observes hears of everything, and nobody else notices."""

import asyncio
import contextvars
import logging
import re
import threading

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.unit.harness import Harness
from tests.unit.recording_observer import Ear

from scrubjay import telemetry
from scrubjay.errors import InvalidInput
from scrubjay.model.draft import Draft, Selection
from scrubjay.telemetry import Span, incoming_request, request_id, trace_parent


def test_nobody_looks_and_nothing_is_made() -> None:
    assert telemetry.stage("recall.fuse") is telemetry.stage("recall.dense")
    with telemetry.stage("recall.fuse"):
        telemetry.count("writes", action="created")
        telemetry.record_stage("store.wait", 1.0)


def test_an_observer_hears_of_stages_from_inside_to_outside() -> None:
    ear = Ear()
    with telemetry.observe(ear), telemetry.stage("recall.collapse"):
        with telemetry.stage("recall.fuse"):
            telemetry.count("writes", 3, action="created")
        telemetry.count("writes", action="created")
        telemetry.record_stage("store.wait", 1.5)
    assert ear.began_names == ["recall.collapse", "recall.fuse"]
    # What was timed otherwise has no beginning.
    assert ear.ended_spans == [
        ("recall.fuse", "ok", True),
        ("store.wait", "ok", False),
        ("recall.collapse", "ok", True),
    ]
    assert ear.seconds["recall.collapse"] >= ear.seconds["recall.fuse"] >= 0
    assert ear.seconds["store.wait"] == 1.5
    assert ear.counts == {("writes", "created"): 4}


def test_how_it_ended_is_told_and_errors_come_through() -> None:
    ear = Ear()
    with telemetry.observe(ear):
        for error in (InvalidInput("no"), KeyError("no"), asyncio.CancelledError(), GeneratorExit()):
            with pytest.raises(type(error)), telemetry.stage("recall.fuse"):
                raise error
    assert [outcome for _, outcome, _ in ear.ended_spans] == ["error", "error", "gone", "gone"]


def test_several_observe_and_each_until_its_end() -> None:
    first, second = Ear(), Ear()
    with telemetry.observe(first):
        with telemetry.observe(second), telemetry.observe(first), telemetry.stage("one"):
            pass
        with telemetry.stage("two"):
            pass
    with telemetry.stage("three"):
        pass
    assert first.names == ["one", "one", "two"]
    assert second.names == ["one"]


def test_one_that_came_in_between_hears_no_end_without_a_beginning() -> None:
    ear = Ear()
    with telemetry.observe(Ear()), telemetry.stage("one"), telemetry.observe(ear):
        pass
    assert ear.names == []


async def test_threads_and_tasks_are_heard() -> None:
    ear = Ear()

    def work(name: str) -> None:
        with telemetry.stage(name):
            pass

    async def task(name: str) -> None:
        with telemetry.stage(name):
            await asyncio.sleep(0)

    with telemetry.observe(ear):
        threads = [threading.Thread(target=work, args=(f"thread.{number}",)) for number in range(4)]
        for thread in threads:
            thread.start()
        await asyncio.gather(*(task(f"task.{number}") for number in range(4)), asyncio.to_thread(work, "lent"))
        for thread in threads:
            thread.join()
    expected = {f"{kind}.{number}" for kind in ("thread", "task") for number in range(4)} | {"lent"}
    assert set(ear.names) == expected


def test_an_observer_that_fails_hurts_nobody_and_is_named_once(caplog: pytest.LogCaptureFixture) -> None:
    class Failing(Ear):
        pass

    deaf, ear = Failing(deaf=True), Ear()
    with caplog.at_level(logging.WARNING, logger="scrubjay"), telemetry.observe(deaf), telemetry.observe(ear):
        for _ in range(3):
            with telemetry.request("recall"):
                telemetry.count("writes", action="created")
            telemetry.record_stage("store.wait", 1.0)
    assert ear.names == ["recall", "store.wait"] * 3
    assert ear.counts == {("writes", "created"): 3}
    told = [record.__dict__["fields"] for record in caplog.records]
    assert [fields["error"] for fields in told] == ["RuntimeError"] * 3
    assert {fields["observer"] for fields in told} == {"Ear.began", "Ear.ended", "Ear.counted"}


def test_values_of_one_name_add_up_until_they_are_withdrawn() -> None:
    def fail() -> float:
        raise OSError

    before = telemetry.gauges().get("jobs", 0.0)
    withdraw = [
        telemetry.gauge("jobs", lambda: 2.0),
        telemetry.gauge("jobs", lambda: 3.0),
        telemetry.gauge("jobs", fail),
    ]
    assert telemetry.gauges()["jobs"] == before + 5.0
    withdraw[0]()
    withdraw[0]()
    assert telemetry.gauges()["jobs"] == before + 3.0
    for one in withdraw:
        one()
    assert "jobs" not in telemetry.gauges()


async def test_every_request_has_an_id_of_its_own() -> None:
    async def serve() -> str:
        with telemetry.request("recall"):
            await asyncio.sleep(0)
            inside = request_id.get()
            with telemetry.request("remember"):
                assert request_id.get() == inside
            return await asyncio.create_task(_current_id())

    found = await asyncio.gather(*(serve() for _ in range(20)))
    assert len(set(found)) == 20
    assert all(found)
    assert request_id.get() == ""


async def _current_id() -> str:
    return request_id.get()


def test_a_request_that_arrives_keeps_its_id() -> None:
    with incoming_request(given="0b6f3f0c-77f1", traceparent="00-aa-bb-01") as chosen:
        assert chosen == "0b6f3f0c-77f1"
        with telemetry.request("recall"):
            assert request_id.get() == chosen
        assert trace_parent.get() == "00-aa-bb-01"
    assert (request_id.get(), trace_parent.get()) == ("", "")


@given(given_id=st.text(max_size=80) | st.sampled_from(["sj_" + "a" * 40, "a.b.c", "short", "x" * 65, "line\nbreak88"]))
def test_an_id_from_outside_is_plain_or_replaced(given_id: str) -> None:
    with incoming_request(given=given_id) as chosen:
        assert re.fullmatch(r"[A-Za-z0-9-]{8,64}", chosen)
        assert request_id.get() == chosen


def test_a_request_may_end_in_another_context() -> None:
    ear, request, door = Ear(), telemetry.request("recall"), incoming_request()
    with telemetry.observe(ear):
        contextvars.copy_context().run(request.__enter__)
        contextvars.copy_context().run(door.__enter__)
        request.__exit__(None, None, None)
        door.__exit__(None, None, None)
    assert ear.names == ["recall"]


def test_at_level_debug_each_request_is_a_line(caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.DEBUG, logger="scrubjay"), telemetry.request("recall") as request:
        request.outcome = "not_found"
    (record,) = caplog.records
    fields = record.__dict__["fields"]
    assert (fields["verb"], fields["outcome"]) == ("recall", "not_found")
    assert fields["ms"] >= 0


async def test_a_write_and_a_recall_go_through_their_stages(harness: Harness) -> None:
    ear = Ear()
    with telemetry.observe(ear):
        await harness.remember("Sarah prefers voice calls")
        writing = [name for name in ear.names if name.startswith("write.")]
        await harness.recall("how does Sarah like to be reached?")
        recalling = {name for name in ear.names if name.startswith("recall.")}
    stages = ("validate", "prepare", "duplicate", "slice", "embed", "gate", "commit")
    assert writing == [f"write.{stage}" for stage in stages]
    assert recalling == {
        f"recall.{stage}"
        for stage in ("understand", "pinned", "lexical", "embed", "dense", "passages", "fuse", "collapse", "budget")
    }


async def test_what_became_of_each_write_is_counted(quick: Harness) -> None:
    ear = Ear()
    with telemetry.observe(ear):
        first = await quick.remember(Draft(text="one", entities=("a", "b"), idempotency_key="k"))
        await quick.remember(Draft(text="one", entities=("a", "b"), idempotency_key="k"))
        await quick.remember(Draft(text="one", entities=("a", "b")))
        await quick.remember(Draft(text="three", dry_run=True))
        other = await quick.remember("two")
        await quick.revise(other.id, title="Two")
        await quick.revise(other.id, title="Two")
        await quick.relate(first.id, other.id)
        await quick.unrelate(first.id, other.id)
        await quick.forget(other.id)
        await quick.restore(other.id)
        await quick.forget(wanted=Selection(refs=(other.id,), dry_run=True))
        await quick.forget(other.id)
        await quick.purge(other.id)
    assert ear.counts == {
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


def test_a_span_knows_what_it_is() -> None:
    assert not Span("recall.fuse").is_request
    assert telemetry.request("recall").is_request
