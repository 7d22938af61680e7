"""Metrics of a real engine: complete, readable by other parsers, and with a bounded number of series."""

import ast
import asyncio
import math
import re
import sys
import threading
from collections.abc import AsyncIterator, Callable, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import cast

import apsw
import pytest
from hypothesis import given
from hypothesis import strategies as st
from prometheus_client import Metric
from prometheus_client.openmetrics import parser as open_parser
from prometheus_client.parser import text_string_to_metric_families as parse_plain
from tests.contract.source import ROOT, called, modules
from tests.fakes import FakeEmbedder
from tests.fakes.build import a_commit, a_memory
from tests.patience import PATIENCE
from tests.scenarios.wiring import Wiring, open_wiring

from scrubjay import telemetry
from scrubjay.embedding.batching import BatchingEmbedder
from scrubjay.errors import Busy, NotFound, StoreError
from scrubjay.indexing.local_index import LocalIndex
from scrubjay.model.caller import Caller
from scrubjay.model.draft import Draft
from scrubjay.model.passage import Vector
from scrubjay.model.requests import RecallRequest, RelateRequest, UnrelateRequest
from scrubjay.model.verbs import VERBS
from scrubjay.observability.exposition import OPEN, PLAIN, CounterFamily, DurationHistogram, GaugeFamily, document
from scrubjay.observability.prometheus import OTHER, Metrics
from scrubjay.ports import Profile
from scrubjay.storage.sqlite.writer import Writer
from scrubjay.surfaces.daemon.limiter import RequestLimiter, known_verbs
from scrubjay.version import VERSION

PAGE = (ROOT / "docs" / "how-to" / "observe.md").read_text(encoding="utf-8")
WHO = Caller(space="secret-space", agent="tester")
Labels = dict[str, str]
Parse = Callable[[str], Iterable[Metric]]
parse_open = cast("Parse", open_parser.text_string_to_metric_families)


@dataclass(kw_only=True)
class MeteredEngine:
    """An engine with a limiter and its metrics."""

    wiring: Wiring
    limiter: RequestLimiter
    metrics: Metrics

    async def remember(self, text: str) -> None:
        await self.limiter.run("remember", self.wiring.engine.remember(Draft(text=text), who=WHO))

    async def recall(self, query: str) -> None:
        await self.limiter.run("recall", self.wiring.engine.recall(RecallRequest(query=query), who=WHO), reads=True)

    async def families(self, accept: str = "") -> dict[str, Metric]:
        kind, body = await self.metrics.scrape(accept)
        parse = parse_open if "openmetrics" in kind else parse_plain
        return {family.name: family for family in parse(body.decode())}

    async def samples(self, name: str) -> list[tuple[Labels, float]]:
        families = await self.families()
        return [
            (sample.labels, sample.value)
            for family in families.values()
            for sample in family.samples
            if sample.name == name
        ]

    async def value(self, name: str, **labels: str) -> float:
        (results,) = [value for reported, value in await self.samples(name) if reported == labels]
        return results


@pytest.fixture
async def watched(tmp_path: Path) -> AsyncIterator[MeteredEngine]:
    async with open_wiring(tmp_path / "data") as wiring:
        limiter = RequestLimiter(max_requests=50, seconds=30)
        metrics = Metrics(engine=wiring.engine, limiter=limiter)
        with telemetry.observe(metrics):
            yield MeteredEngine(wiring=wiring, limiter=limiter, metrics=metrics)


@pytest.mark.parametrize("accept", ["", f"{OPEN.partition(';')[0]};version=1.0.0,text/plain;version=0.0.4;q=0.5"])
async def test_after_a_little_work_every_metric_on_the_page_is_there(watched: MeteredEngine, accept: str) -> None:
    await watched.remember("Sarah prefers voice calls")
    await watched.recall("how does Sarah like to be reached?")
    watched.metrics.clients("socket", lambda: 3)
    watched.metrics.http(route="/api/v1/search", method="GET", status=200, seconds=0.01)
    families = await watched.families(accept)
    ours = {_full(family) for family in families.values() if family.name.startswith("scrubjay_")}
    assert ours == set(re.findall(r"^\| `(scrubjay_\w+)`", PAGE, re.MULTILINE))
    assert {name for name in families if not name.startswith("scrubjay_")} <= {
        name for name in families if name.startswith("process_")
    }
    assert all(family.documentation for family in families.values())
    assert all(family.samples for family in families.values())


async def test_requests_are_counted(watched: MeteredEngine) -> None:
    for text in ("one", "two", "two"):
        await watched.remember(text)
    await watched.recall("one")
    assert await watched.value("scrubjay_requests_total", verb="remember", outcome="ok") == 3
    assert await watched.value("scrubjay_request_seconds_count", verb="recall") == 1
    assert await watched.value("scrubjay_writes_total", action="created") == 2
    assert await watched.value("scrubjay_writes_total", action="unchanged") == 1
    assert await watched.value("scrubjay_writes_total", action="merged") == 0
    assert await watched.value("scrubjay_stage_seconds_count", stage="write.commit") == 2
    assert await watched.value("scrubjay_requests_inside") == 0
    assert await watched.value("scrubjay_resident_bytes") > 1_000_000
    (build,) = await watched.samples("scrubjay_build_info")
    assert (build[0]["version"], build[1]) == (VERSION, 1.0)
    assert "secret-space" not in (await watched.metrics.scrape())[1].decode()


async def test_every_stage_is_documented_and_every_documented_stage_is_there() -> None:
    named = {
        node.args[0].value
        for module in modules("src")
        # Parse only the lines that contain the name.
        if "telemetry." in module.text
        for node in module.nodes()
        if called(node) in {"telemetry.stage", "telemetry.record_stage"}
        and isinstance(node, ast.Call)
        and isinstance(node.args[0], ast.Constant)
    }
    assert named == set(re.findall(r"^\| `([a-z]+\.[a-z]+)`", PAGE, re.MULTILINE))


async def test_every_way_to_end_is_an_outcome(watched: MeteredEngine) -> None:
    limiter = RequestLimiter(max_requests=1, seconds=0.01)

    async def fail(error: Exception) -> None:
        raise error

    async def forever() -> None:
        await asyncio.Event().wait()

    for error in (NotFound("no"), ValueError("no")):
        with pytest.raises(type(error)):
            await limiter.run("read", fail(error), reads=True)
    with pytest.raises(Busy):
        await limiter.run("read", forever(), reads=True)
    waiting = asyncio.create_task(limiter.run("doctor", forever(), reads=True, long=True))
    await asyncio.sleep(0)
    with pytest.raises(Busy):
        await limiter.run("read", forever(), reads=True)
    waiting.cancel()
    await asyncio.wait({waiting})
    ended = {labels["outcome"] for labels, _ in await watched.samples("scrubjay_requests_total")}
    assert ended == {"not_found", "error", "slow", "refused", "gone"}


async def test_no_caller_can_add_a_label(watched: MeteredEngine) -> None:
    async def nothing() -> None:
        return None

    for number in range(500):
        await watched.limiter.run(f'verb-{number}"\n{{', nothing())
        watched.metrics.http(route=f"/{number}", method=f"M{number}", status=number * 7, seconds=0.1)
        telemetry.count("refused", why=f"why-{number}")
        telemetry.count(f"thing-{number}", what="ever")
    assert {labels["verb"] for labels, _ in await watched.samples("scrubjay_requests_total")} == {OTHER}
    assert {labels["verb"] for labels, _ in await watched.samples("scrubjay_request_seconds_count")} == {OTHER}
    assert len(await watched.samples("scrubjay_http_request_seconds_count")) == 201
    assert {labels["method"] for labels, _ in await watched.samples("scrubjay_http_requests_total")} == {OTHER}
    assert len(await watched.samples("scrubjay_refused_total")) == 7
    assert "thing" not in (await watched.metrics.scrape())[1].decode()


def test_every_verb_of_the_limiter_has_a_label() -> None:
    calls = {"context.read", "context.write", "self._read"}
    verbs = {
        argument.value
        for module in modules("src")
        # Parsing all of them takes seconds.
        if any(name in module.text for name in calls)
        for node in module.nodes()
        if isinstance(node, ast.Call) and called(node) in calls
        for argument in node.args
        if isinstance(argument, ast.Constant) and isinstance(argument.value, str)
    }
    assert {"resources/read"} <= verbs <= known_verbs()
    # REST calls its verbs by their names in the registry.
    assert set(VERBS) <= known_verbs()


async def test_the_lag_is_the_number_of_changes_not_indexed_yet(watched: MeteredEngine) -> None:
    await watched.remember("one")
    await watched.recall("one")
    await watched.wiring.index.settle()
    assert await watched.value("scrubjay_index_lag_changes") == 0
    behind = [a_memory(text, space=WHO.space) for text in ("two", "three", "four")]
    await watched.wiring.store.commit(a_commit(*behind))
    assert await watched.value("scrubjay_index_lag_changes") == 3
    await watched.recall("two")
    assert await watched.value("scrubjay_index_lag_changes") == 0


async def test_a_relation_makes_no_index_lag(watched: MeteredEngine) -> None:
    source, target = [
        (await watched.wiring.engine.remember(Draft(text=text), who=WHO)).id for text in ("oak", "walnut")
    ]
    await watched.recall("oak")
    await watched.wiring.index.settle()
    await watched.wiring.engine.relate(RelateRequest(source=source, target=target), who=WHO)
    assert await watched.value("scrubjay_index_lag_changes") == 0
    await watched.wiring.engine.unrelate(UnrelateRequest(source=source, target=target), who=WHO)
    assert await watched.value("scrubjay_index_lag_changes") == 0


async def test_without_an_index_nothing_lags(tmp_path: Path) -> None:
    async with open_wiring(tmp_path / "data", index=False) as wiring:
        await wiring.engine.remember(Draft(text="one"), who=WHO)
        assert await wiring.engine.index.lag() == 0


async def test_the_queue_is_the_number_of_waiting_writes(watched: MeteredEngine) -> None:
    taken, release = threading.Event(), threading.Event()

    def hold(_: apsw.Connection) -> None:
        taken.set()
        release.wait(PATIENCE)

    writer = watched.wiring.store._writer
    assert isinstance(writer, Writer)
    first = asyncio.create_task(writer.run_outside(hold))
    await asyncio.to_thread(taken.wait, PATIENCE)
    others = [asyncio.create_task(watched.remember(text)) for text in ("one", "two", "three")]
    try:
        async with asyncio.timeout(PATIENCE):
            while await watched.value("scrubjay_write_queue") < 3:  # noqa: ASYNC110 - a thread's queue
                await asyncio.sleep(0)
        assert await watched.value("scrubjay_requests_inside") == 3
    finally:
        release.set()
        await asyncio.gather(first, *others)
    assert await watched.value("scrubjay_write_queue") == 0
    assert await watched.value("scrubjay_stage_seconds_count", stage="store.wait") == 3


async def test_questions_that_were_asked_before_are_hits(watched: MeteredEngine) -> None:
    embedder = BatchingEmbedder(_Encoder())
    for text in ("one", "two", "one", "one"):
        await embedder.embed_query(text)
    await embedder.close()
    assert await watched.value("scrubjay_embedding_cache_total", result="miss") == 2
    assert await watched.value("scrubjay_embedding_cache_total", result="hit") == 2


async def test_a_store_that_fails_has_metrics_all_the_same() -> None:
    metrics = Metrics(engine=_Broken(), limiter=RequestLimiter(max_requests=1, seconds=1))
    _, body = await metrics.scrape()
    assert "scrubjay_index_lag_changes NaN" in body.decode()


async def test_conversations_are_counted_and_not_timed(watched: MeteredEngine) -> None:
    watched.metrics.http(route="/api/v1/changes", method="WEBSOCKET", status=101, seconds=9999)
    assert await watched.value(
        "scrubjay_http_requests_total", route="/api/v1/changes", method="WEBSOCKET", status="101"
    )
    assert await watched.samples("scrubjay_http_request_seconds_count") == []


async def test_several_do_not_mix_and_one_that_has_left_hears_nothing(watched: MeteredEngine) -> None:
    other = Metrics(engine=watched.wiring.engine, limiter=watched.limiter)
    await watched.remember("one")
    assert 'verb="remember"' not in (await other.scrape())[1].decode()
    assert await watched.value("scrubjay_request_seconds_count", verb="remember") == 1


@pytest.mark.parametrize(
    ("accept", "expected"),
    [
        ("", PLAIN),
        ("*/*", PLAIN),
        ("text/plain;version=1.0.0", PLAIN),
        ("application/openmetrics-text;version=zz", OPEN),
    ],
)
async def test_a_client_that_accepts_openmetrics_gets_it(watched: MeteredEngine, accept: str, expected: str) -> None:
    assert (await watched.metrics.scrape(accept))[0] == expected


@given(
    label=st.text(),
    durations=st.lists(st.floats(min_value=0, max_value=1e6) | st.sampled_from([0.1, 1.0, 10.0]), min_size=1),
)
def test_durations_are_found_in_their_buckets(label: str, durations: list[float]) -> None:
    histogram = DurationHistogram("took_seconds", "How long.", label="what", bounds=(0.1, 1.0, 10.0))
    for seconds in durations:
        histogram.add(label, seconds)
    for of, parse in ((PLAIN, parse_plain), (OPEN, parse_open)):
        (family,) = _parsed(parse, document(histogram.lines(), of=of))
        values = {(sample.name, sample.labels.get("le", "")): sample.value for sample in family.samples}
        assert {sample.labels["what"] for sample in family.samples} == {label}
        for bound in (0.1, 1.0, 10.0):
            assert values["took_seconds_bucket", str(bound)] == sum(duration <= bound for duration in durations)
        assert values["took_seconds_bucket", "+Inf"] == values["took_seconds_count", ""] == len(durations)
        assert math.isclose(values["took_seconds_sum", ""], sum(durations), abs_tol=1e-9)


@given(label=st.text(), value=st.floats(min_value=0))
def test_written_metrics_are_read_back(label: str, value: float) -> None:
    help_text = "Things, \\ and\nlines."
    counter = CounterFamily("things", help_text, "what", "how")
    gauge = GaugeFamily("things", help_text, "what", "how")
    counter.add(value, label, "")
    gauge.set(value, label, "")
    for of, parse in ((PLAIN, parse_plain), (OPEN, parse_open)):
        for written, kind, name in ((counter, "counter", "things_total"), (gauge, "gauge", "things")):
            (family,) = _parsed(parse, document(written.lines(of=of), of=of))
            assert (family.name, family.type, family.documentation) == ("things", kind, help_text)
            (sample,) = family.samples
            assert (sample.name, sample.labels, sample.value) == (name, {"what": label, "how": ""}, value)


def test_metrics_without_labels_are_there_from_the_start() -> None:
    lag = DurationHistogram("lag_seconds", "How late.", bounds=(0.5,))
    for of, parse in ((PLAIN, parse_plain), (OPEN, parse_open)):
        lines = [*GaugeFamily("level", "How high.").lines(of=of), *lag.lines()]
        families = {family.name: family for family in _parsed(parse, document(lines, of=of))}
        assert [(sample.name, sample.labels, sample.value) for sample in families["level"].samples] == [
            ("level", {}, 0)
        ]
        assert [sample.value for sample in families["lag_seconds"].samples] == [0, 0, 0, 0]


async def test_the_system_tells_of_the_process(watched: MeteredEngine) -> None:
    for accept in (PLAIN, OPEN):
        families = await watched.families(accept)
        if sys.platform == "linux":
            assert families["process_cpu_seconds"].samples[0].value > 0


def test_many_threads_lose_nothing() -> None:
    histogram = DurationHistogram("took_seconds", "How long.", label="what", bounds=(1.0,))

    def work() -> None:
        for number in range(2000):
            histogram.add(f"thing-{number % 5}", 0.5)

    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    counts = [line for line in histogram.lines() if "_count" in line]
    assert [float(line.split()[-1]) for line in counts] == [1600.0] * 5


class _Encoder:
    """An embedder for a few words."""

    def __init__(self) -> None:
        self._embedder = FakeEmbedder()

    async def profile(self) -> Profile:
        return await self._embedder.profile()

    async def encode(self, texts: Sequence[str], *, query: bool) -> Sequence[Vector]:
        return await self._embedder.embed(texts)

    async def close(self) -> None:
        return None


class _Broken:
    """An engine whose store cannot be read."""

    @property
    def index(self) -> "_BrokenIndex":
        return _BrokenIndex()


class _BrokenIndex(LocalIndex):
    def __init__(self) -> None:
        """Do nothing."""

    async def lag(self) -> int:
        raise StoreError("the disk is gone")


def _parsed(parse: Parse, body: bytes) -> list[Metric]:
    return list(parse(body.decode()))


def _full(family: Metric) -> str:
    return f"{family.name}_total" if family.type == "counter" else family.name
