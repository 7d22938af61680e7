"""The health of a memory over days: what is written by whom, what is found about it, and what needs attention."""

import json
import re
from collections.abc import AsyncIterator, Iterator, Sequence
from dataclasses import replace
from datetime import timedelta
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread
from typing import Any, ClassVar, cast

import pytest

from scrubjay import telemetry
from scrubjay.app.indexes import make_index
from scrubjay.app.stores import open_store
from scrubjay.client import MemoryClient
from scrubjay.engine import Engine
from scrubjay.errors import InvalidInput, NotAllowed
from scrubjay.health.daily import KEPT_DAYS, OTHERS, DailyLog
from scrubjay.health.latency import LATENCY_BOUNDS
from scrubjay.health.report import HealthReporter
from scrubjay.llm.budget import Budget
from scrubjay.model.caller import Access, Caller
from scrubjay.model.document import ALERTS, HEALTH
from scrubjay.model.health import LlmUsage, ServerDay, Thresholds, WriteCounts
from scrubjay.model.memory import Json
from scrubjay.observability.prometheus import Metrics
from scrubjay.ports import RecordStore
from scrubjay.recalling.access_log import AccessLog
from scrubjay.settings import Settings
from scrubjay.surfaces.cli.render_health import show_health
from scrubjay.surfaces.daemon.alerts import Webhook, look_at_health
from scrubjay.surfaces.daemon.limiter import RequestLimiter
from tests.backends import backend
from tests.fakes import FakeClock, FakeEmbedder

ROOT = Path(__file__).parents[2]


@pytest.fixture
def clock() -> FakeClock:
    return FakeClock()


@pytest.fixture(params=["sqlite", "pgvector"])
async def engine(request: pytest.FixtureRequest, tmp_path: Path, clock: FakeClock) -> AsyncIterator[Engine]:
    with backend(request.param) as choice:
        settings = Settings(home=str(tmp_path), readers=1, **choice)
        store, embedder = await open_store(settings), FakeEmbedder()
        opened = Engine(
            _store=store, embedder=embedder, index=make_index(settings, store, embedder), clock=clock,
            limits=settings.limits, data=settings.data, access_log=AccessLog(store, clock=clock),
            reporter=HealthReporter(DailyLog(store)),
        )  # fmt: skip
        yield opened
        await opened.close()


def restarted(engine: Engine, *, thresholds: Thresholds | None = None) -> Engine:
    """Return an engine over the same store that has counted nothing, as after a kill."""
    return replace(engine, reporter=HealthReporter(DailyLog(store_of(engine)), thresholds=thresholds))


def store_of(engine: Engine) -> RecordStore:
    return cast("RecordStore", engine.documents)


def client(engine: Engine, agent: str = "scribe", *, space: str = "default") -> MemoryClient:
    return MemoryClient.over(engine, Caller(agent=agent, space=space))


async def written(engine: Engine) -> None:
    """Write what was counted, without waiting for it."""
    assert engine.reporter is not None
    await engine.reporter.daily.flush()


async def test_three_days_of_two_agents(engine: Engine, clock: FakeClock) -> None:
    ann, ben = client(engine, "ann"), client(engine, "ben")
    empty = (await ann.health()).spaces[0]
    assert (empty.memories, empty.total, empty.days, empty.agents) == ({}, 0, (), ())
    await ann.set_rules(never=["forbidden*"])
    assert (await ann.remember("forbidden fruit grows here")).action == "rejected"
    await written(engine)
    assert await store_of(engine).documents("default", HEALTH, limit=9) == [], "a refused write makes no history"

    text = "The harbour office opens at nine because the ferry leaves at ten"
    await ann.remember(text, name="harbour", kind="fact", tags=["sea"])
    for _ in range(2):
        assert (await ben.remember(text)).action == "unchanged"
    await ben.remember("The kettle in the kitchen is green since it was painted", name="kettle", tags=["tea", "sea"])
    await ben.remember("ok", name="thin", intent="new")
    await ann.revise("harbour", add_observations=["It closes at six"])
    await ann.revise("harbour", add_observations=["It closes at six"])
    await ann.remember("nothing", dry_run=True)
    await ann.remember(text, idempotency_key="once")
    await ann.remember(text, idempotency_key="once")
    await ann.remember_many(
        [{"text": f"Boat number {number} lies at pier {number}"} for number in range(3)], dry_run=True
    )
    before = (await ann.health()).spaces[0]
    first = before.days[0].date
    await written(engine)
    clock.advance(timedelta(days=1))
    await ben.remember_many(
        [{"text": "The mast is tall", "intent": "new"}, {"text": "The sail is red", "intent": "new"}]
    )
    with pytest.raises(InvalidInput):
        await ben.remember_many([{"text": "The rope is long"}, {"text": "forbidden"}], atomic=True)
    await ben.forget("kettle")
    await written(engine)
    clock.advance(timedelta(days=1))
    await client(engine, "cleo", space="there").remember("Nobody else reads this")

    health = (await client(restarted(engine)).health()).spaces[0]
    assert health.days[0].date == first
    assert [(day.writes.created, day.memories) for day in health.days] == [(3, 3), (2, 4)]
    assert {agent.agent: agent.writes for agent in health.agents} == {
        "ann": WriteCounts(created=1, updated=1, unchanged=3),
        "ben": WriteCounts(created=4, unchanged=2, thin=1),
    }
    assert health.days[0].writes == before.days[0].writes
    assert (health.memories, sum(health.tiers.values()), health.kinds["fact"]) == ({"live": 4, "trashed": 1}, 4, 1)
    assert (health.tags, health.tag_entropy, health.thin, health.conflicts, health.unembedded) == (1, 0.0, 1, 0, 0)
    assert (health.total, health.duplicate_rate) == (11, 0.4545)
    ben_rates = next(agent for agent in health.agents if agent.agent == "ben")
    assert (ben_rates.duplicate_rate, ben_rates.thin_rate) == (round(2 / 6, 4), round(1 / 6, 4))

    # Another space is another's business, and the store is the owner's.
    report = await ann.health(all_spaces=True)
    assert [space.space for space in report.spaces] == ["default", "there"]
    assert report.server is not None
    assert report.server.store_bytes > 0
    assert report.server.disk_free_bytes > 0
    guest = MemoryClient.over(engine, Caller(agent="ann", access=Access.AGENT, any_space=False))
    limited = await guest.health()
    assert limited.server is None
    assert "cleo" not in str(limited)
    with pytest.raises(NotAllowed):
        await guest.health(all_spaces=True)
    with pytest.raises(NotAllowed):
        await MemoryClient.over(engine, Caller(access=Access.READ)).health()


async def test_the_history_is_bounded(engine: Engine, clock: FakeClock) -> None:
    memory = client(engine)
    await memory.remember("The first stone was laid in spring", intent="new")
    await written(engine)
    for number in range(70):
        await client(engine, f"agent {number:02d}").remember("The first stone was laid in spring")
    await written(engine)
    agents = (await memory.health()).spaces[0].agents
    assert (len(agents), sum(agent.total for agent in agents)) == (50, 71)
    assert OTHERS in {agent.agent for agent in agents}
    clock.advance(timedelta(days=KEPT_DAYS - 1))
    await memory.remember("The last stone was laid in autumn", intent="new")
    await written(engine)
    assert len((await memory.health(days=KEPT_DAYS)).spaces[0].days) == 2
    clock.advance(timedelta(days=2))
    await memory.remember("The roof is made of slate", intent="new")
    await written(engine)
    assert len(await store_of(engine).documents("default", HEALTH, limit=9)) == 2
    # Two servers count the same day.
    other = restarted(engine)
    await client(other).remember("The door is made of oak", intent="new")
    await memory.remember("The window is made of glass", intent="new")
    await written(other)
    await written(engine)
    assert (await memory.health(days=1)).spaces[0].writes.created == 3


async def test_alerts_name_what_is_wrong(engine: Engine) -> None:
    memory = client(engine)
    assert (await memory.health()).alerts == ()
    await memory.remember("The office of Acme is in Rome", name="office", intent="new")
    for _ in range(30):
        await memory.remember("The office of Acme is in Rome")
    for number in range(60):
        await memory.remember("ok", name=f"thin-{number}", tags=[f"tag-{number}", f"other-{number}"], intent="new")
    alerts = {alert.name: alert for alert in (await memory.health()).alerts}
    assert set(alerts) == {"thin", "tags"}
    assert (alerts["thin"].space, alerts["thin"].threshold) == ("default", 0.3)
    assert "60 of 61" in alerts["thin"].message
    strict = restarted(engine, thresholds=Thresholds.parse("duplicates=0.001, thin=0,tags=0,free_mb=999999999"))
    await written(engine)
    assert [alert.name for alert in (await client(strict).health()).alerts] == ["free_mb", "duplicates"]
    with pytest.raises(InvalidInput):
        Thresholds.parse("thin=-1")


async def test_only_conflicts_that_can_be_decided_are_counted(engine: Engine) -> None:
    memory = client(engine)
    names = [
        (await memory.remember(f"Ann lives in {city} near the old harbour.", intent="new")).name
        for city in ("Berlin", "Paris", "Oslo")
    ]

    async def counted() -> tuple[int, int]:
        (space,) = (await memory.health()).spaces
        return space.conflicts, len(await memory.conflicts())

    assert await counted() == (3, 3)
    await memory.forget([names[0]])
    assert await counted() == (1, 1)
    await memory.restore([names[0]])
    assert await counted() == (3, 3)
    for name, text in zip(names, ("The cranes are oiled in spring.", "Tea is served at four."), strict=False):
        await memory.revise(name, text=text)
    assert await counted() == (0, 0)


class _Received(BaseHTTPRequestHandler):
    """Keeps what is posted; it refuses while `refuses` is set."""

    bodies: ClassVar[list[dict[str, Any]]] = []
    refuses: ClassVar[bool] = False

    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers["content-length"]))
        assert "authorization" not in self.headers
        if not self.refuses:
            self.bodies.append(json.loads(body))
        self.send_response(503 if self.refuses else 204)
        self.end_headers()

    def log_message(self, format: str, *args: object) -> None: ...


@pytest.fixture
def address() -> Iterator[str]:
    _Received.bodies, _Received.refuses = [], False
    with ThreadingHTTPServer(("127.0.0.1", 0), _Received) as server:
        thread = Thread(target=server.serve_forever)
        thread.start()
        yield f"http://127.0.0.1:{server.server_port}/hook?channel=memory"
        server.shutdown()
        thread.join()


async def test_an_alert_is_told_when_it_begins_and_when_it_ends(
    engine: Engine, clock: FakeClock, address: str, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level("INFO")
    engine = restarted(engine, thresholds=Thresholds(conflicts=0.5, free_mb=0))
    memory, webhook = client(engine, space="secret-space"), Webhook(address)
    metrics = Metrics(engine=engine, limiter=RequestLimiter(max_requests=9, seconds=9))

    async def look() -> list[str]:
        clock.advance(timedelta(minutes=5))
        events = await look_at_health(engine, webhook=webhook, publish=metrics.health)
        return [event.event for event in events]

    assert await look() == []
    await memory.remember("The office of Acme is in Rome", name="rome", intent="new")
    await memory.remember("The office of Acme is in Paris", name="paris", intent="new", source={"trust": "agent"})
    (conflict,) = await memory.conflicts()
    _Received.refuses = True
    assert (await look(), await look(), _Received.bodies) == (["begins"], [], [])
    _Received.refuses = False
    assert (await look(), len(_Received.bodies)) == ([], 1)
    (alert,) = (await memory.health()).alerts
    assert (alert.name, alert.space, bool(alert.since)) == ("conflicts", "secret-space", True)
    (event,) = _Received.bodies[0]["events"]
    assert (event["event"], event["alert"]["since"], event["alert"]["fix"]) == ("begins", alert.since, alert.fix)
    text = (await metrics.scrape())[1].decode()
    for line in (
        'scrubjay_alerts{name="conflicts"} 1',
        'scrubjay_memories{state="live"} 2',
        "scrubjay_conflicts_pending 1",
    ):
        assert line in text, line
    assert "secret-space" not in text + caplog.text
    await memory.resolve_conflict(conflict.id, strategy="ignore")
    assert (await look(), await look(), len(_Received.bodies)) == (["ends"], [], 2)
    logged = [record.getMessage() for record in caplog.records]
    assert [logged.count(f"an alert {event}") for event in ("begins", "ends")] == [1, 1]
    for wrong in ("ftp://example.org", "https://", "http://ann:key@example.org", "http://example.org:port/"):
        with pytest.raises(InvalidInput) as refused:
            Webhook(wrong)
        assert "ann:key" not in str(refused.value)


async def test_a_restart_repeats_no_alert_and_misses_no_end(engine: Engine, clock: FakeClock, address: str) -> None:
    strict = Thresholds(conflicts=0.5, free_mb=0)

    async def look(looking: Engine) -> list[tuple[str, str]]:
        clock.advance(timedelta(minutes=5))
        events = await look_at_health(looking, webhook=Webhook(address), publish=lambda _: None)
        return [(event.event, event.alert.space) for event in events]

    memory = client(engine, space="there")
    await memory.remember("The office of Acme is in Rome", name="rome", intent="new")
    await memory.remember("The office of Acme is in Paris", name="paris", intent="new", source={"trust": "agent"})
    _Received.refuses = True
    first = restarted(engine, thresholds=strict)
    assert await look(first) == [("begins", "there")]
    (before,) = (await client(first, space="there").health()).alerts

    # The webhook was away before the restart, and takes the event after it.
    _Received.refuses = False
    second = restarted(engine, thresholds=strict)
    assert await look(second) == []
    assert [event["event"] for body in _Received.bodies for event in body["events"]] == ["begins"]
    (after,) = (await client(second, space="there").health()).alerts
    assert (after.since, bool(after.since)) == (before.since, True)
    assert await look(restarted(engine, thresholds=strict)) == []

    # It ends while no daemon runs. Another server has looked in between, so the first one forgets what it saw.
    (conflict,) = await memory.conflicts()
    await memory.resolve_conflict(conflict.id, strategy="ignore")
    assert await look(restarted(engine, thresholds=strict)) == [("ends", "there")]
    assert await look(first) == []
    assert [event["event"] for body in _Received.bodies for event in body["events"]] == ["begins", "ends"]
    assert _Received.bodies[1]["events"][0]["alert"]["since"] == before.since

    # What is stored may be damaged; then the alerts begin again.
    store = store_of(engine)
    stored = await store.document("", ALERTS, "state")
    assert stored is not None
    damaged: dict[str, Json] = {"lasting": [1, {"name": 3}], "unposted": [{"event": "begins", "at": "", "alert": {}}]}
    await store.put_document(replace(stored, value=damaged), base=stored.version)
    assert await look(restarted(engine, thresholds=strict)) == []
    assert [space.space for space in (await memory.health(all_spaces=True)).spaces] == ["there"]
    assert await memory.spaces() == ("there",)


async def server_days(engine: Engine, *, days: int = 30) -> Sequence[ServerDay]:
    server = (await client(engine).health(days=days)).server
    assert server is not None
    return server.days


async def test_latencies_and_the_use_of_the_model_are_kept_by_day(engine: Engine, clock: FakeClock) -> None:
    await client(engine).remember("The mast is tall", intent="new")
    assert engine.reporter is not None
    log, first = engine.reporter.latency, clock.now().date().isoformat()

    def buckets(fast: int, slow: int) -> list[int]:
        return [fast, *[0] * (len(LATENCY_BOUNDS) - 2), slow, 0]

    log.counts = lambda: {"recall": buckets(90, 10), "remember": buckets(1, 0)}
    budget = Budget(documents=engine.documents, clock=clock, calls=0, tokens=0)
    await budget.start_call()
    await budget.record(LlmUsage(tokens=30, input_tokens=20, output_tokens=10, cost=0.5))
    for _ in range(2):
        await log.save(now=clock.now())
        (day,) = await server_days(engine)
        assert [(latency.verb, latency.count) for latency in day.latencies] == [("recall", 100), ("remember", 1)]
        assert (day.latencies[0].p50 < 1, day.latencies[0].p95 > 5_000) == (True, True)

    # Another server, and a restart, count from zero; what is not stored yet is shown.
    other = restarted(engine)
    assert other.reporter is not None
    other.reporter.latency.counts = lambda: {"recall": buckets(0, 100)}
    (day,) = await server_days(other)
    assert (day.latencies[0].count, day.latencies[0].p50 > 5_000) == (200, True)
    clock.advance(timedelta(days=1))
    await other.reporter.latency.save(now=clock.now())
    second = clock.now().date().isoformat()
    assert [(day.date, day.latencies[0].count, day.llm) for day in await server_days(restarted(engine))] == [
        (first, 100, LlmUsage(calls=1, tokens=30, input_tokens=20, output_tokens=10, cost=0.5)),
        (second, 100, LlmUsage()),
    ]
    assert [day.date for day in await server_days(restarted(engine), days=1)] == [second]

    # It is bounded: by days, and by the verbs of a day. What is damaged counts nothing.
    clock.advance(timedelta(days=KEPT_DAYS))
    many = restarted(engine)
    assert many.reporter is not None
    many.reporter.latency.counts = lambda: {f"verb {number}": buckets(number, 0) for number in range(1, 40)}
    await many.reporter.latency.save(now=clock.now())
    store = store_of(engine)
    (stored,) = await store.documents("", HEALTH, limit=9)
    assert len(cast("dict[str, Json]", stored.value["latency"])) == 12
    damaged: dict[str, Json] = {"latency": {"recall": [1], "x": 2, "y": ["many", 3, *[0] * 11]}}
    await store.put_document(replace(stored, value=damaged), base=stored.version)
    (day,) = await server_days(restarted(engine))
    assert [(latency.verb, latency.count) for latency in day.latencies] == [("y", 3)]


async def test_the_dashboard_of_grafana_names_metrics_that_exist(engine: Engine) -> None:
    metrics = Metrics(engine=engine, limiter=RequestLimiter(max_requests=9, seconds=9))
    with telemetry.observe(metrics), telemetry.request("recall"):
        pass
    dashboard = json.loads((ROOT / "deploy/grafana/scrubjay.json").read_text(encoding="utf-8"))
    queries = [target["expr"] for panel in dashboard["panels"] for target in panel["targets"]]
    named = {name for query in queries for name in re.findall(r"scrubjay_[a-z_]+", query)}
    text = (await metrics.scrape())[1].decode()
    assert named - set(re.findall(r"^(scrubjay_[a-z_]+)", text, re.MULTILINE)) == set()
    assert len(named) > 10
    assert sum(metrics.latencies()["recall"]) == 1


async def test_the_metrics_have_the_figures_of_the_last_look(engine: Engine) -> None:
    memory = client(engine)
    for number in range(4):
        await memory.remember(f"The kiln {number} is fired daily.", tags=[f"kiln-{number}"], intent="new")
    report = await memory.health()
    (space,) = report.spaces
    assert report.server is not None
    assert space.tag_entropy > 0
    moved = replace(space, flow={"working → episodic": 3})
    metrics = Metrics(engine=engine, limiter=RequestLimiter(max_requests=9, seconds=9))
    metrics.health(replace(report, spaces=(moved, replace(moved, tag_entropy=0.0))))
    values = dict(line.rsplit(" ", 1) for line in (await metrics.scrape())[1].decode().splitlines())
    assert float(values["scrubjay_tag_entropy_bits"]) == pytest.approx(space.tag_entropy / 2)
    assert float(values['scrubjay_tier_moves{source="working",target="episodic"}']) == 6
    assert float(values['scrubjay_tier_moves{source="episodic",target="working"}']) == 0
    assert float(values["scrubjay_store_bytes"]) == report.server.store_bytes > 0
    assert float(values["scrubjay_disk_free_bytes"]) == report.server.disk_free_bytes > 0
    assert float(values["scrubjay_compression_saved"]) == report.server.saved


async def test_the_cost_of_the_language_model_is_shown(engine: Engine, capsys: pytest.CaptureFixture[str]) -> None:
    report = await client(engine).health()
    assert report.server is not None
    day = ServerDay(date="2026-01-02", llm=LlmUsage(calls=3, tokens=900, cost=0.125))
    llm: dict[str, str | int | float | bool] = {"calls_today": 2, "tokens_today": 60, "cost_today": 0.25}
    report = replace(report, server=replace(report.server, llm=llm, days=(day,)))
    show_health(report)
    shown = capsys.readouterr().out
    assert "today 2 calls, 60 tokens, cost 0.25, 0 failed" in shown
    assert "2026-01-02  llm 3 calls, 900 tokens, cost 0.125, 0 failed" in shown
    metrics = Metrics(engine=engine, limiter=RequestLimiter(max_requests=9, seconds=9))
    metrics.health(report)
    assert "scrubjay_llm_cost_today 0.25" in (await metrics.scrape())[1].decode().splitlines()
