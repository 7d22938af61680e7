"""Memories over a year: their relevance and its confirmation, reminders, suggestions, summaries, and their use."""

import asyncio
import json
import math
from collections.abc import AsyncIterator
from dataclasses import replace
from datetime import timedelta
from pathlib import Path
from typing import cast

import pytest

from scrubjay.app.indexes import make_index
from scrubjay.app.stores import open_store
from scrubjay.client import MemoryClient
from scrubjay.engine import Engine
from scrubjay.errors import InvalidInput, WrongState
from scrubjay.model.caller import Caller
from scrubjay.model.memory import Json
from scrubjay.model.requests import ExportRequest
from scrubjay.ports import RecordStore
from scrubjay.recalling.access_log import AccessLog
from scrubjay.recalling.usage import UsageLog
from scrubjay.settings import Settings
from scrubjay.surfaces.mcp.tool import ToolContext
from scrubjay.surfaces.mcp.toolsets import pick
from tests.backends import backend
from tests.fakes import FakeClock, FakeEmbedder

WHO = Caller(agent="scribe")


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
            limits=settings.limits, data=settings.data,
            access_log=AccessLog(store, clock=clock, usage=UsageLog(store, clock=clock)),
        )  # fmt: skip
        yield opened
        await opened.close()


@pytest.fixture
def memory(engine: Engine) -> MemoryClient:
    return MemoryClient.over(engine, WHO)


async def relevance(memory: MemoryClient, name: str) -> float:
    """Read the relevance in both forms in which `read` returns it."""
    read = await memory.read(name, format="json")
    shown = read.memories[0].relevance
    assert json.loads(read.texts[0]).get("relevance", 1.0) == shown
    return shown


async def test_a_year_passes(engine: Engine, memory: MemoryClient, clock: FakeClock) -> None:
    kinds = {"jotting": "note", "lunch": "Event", "capital": "fact", "engine": "component", "tea": "preference"}
    for name, kind in kinds.items():
        await memory.remember(f"What was said about the {name}", name=name, kind=kind, intent="new")
    await memory.remember("Ann lives here", name="profile", kind="User-Profile", intent="new")
    await memory.remember("Keep this", name="pin", kind="note", pinned=True, source={"trust": "user"}, intent="new")
    await memory.revise("lunch", relevance=0.5)
    clock.advance(timedelta(days=100))

    passing, lasting = round(math.exp(-1), 3), round(math.exp(-0.2), 3)
    expected = {
        "jotting": passing, "lunch": round(0.5 * math.exp(-1), 3), "capital": lasting, "engine": lasting, "tea": 1.0,
        "profile": 1.0, "pin": 1.0,
    }  # fmt: skip
    assert {name: await relevance(memory, name) for name in expected} == expected
    # Every other way to see a memory shows the same, and what is stored stays.
    recalled = await memory.recall("what was said about the jotting", detail="full")
    assert {hit.memory.relevance for hit in recalled.hits if hit.memory and hit.name == "jotting"} == {passing}
    nodes = cast("list[dict[str, Json]]", (await memory.search_nodes("jotting"))["results"])
    assert {node["name"]: node["relevance_score"] for node in nodes} == {"pin": 1.0, "jotting": passing}
    assert (await memory.read("lunch", version=2)).memories[0].relevance == 0.5
    stored = await engine.reader.get("default", [(await memory.read("jotting")).memories[0].id])
    assert {record.relevance for record in stored.values()} == {1.0}

    done = await memory.confirm("jotting", reason="asked the user")
    assert [(change.action, change.version) for change in done.done] == [("confirmed", 2)]
    assert await relevance(memory, "jotting") == 1.0
    assert (await memory.history("jotting")).versions[0].message == "asked the user"
    clock.advance(timedelta(days=10))
    assert await relevance(memory, "jotting") == round(math.exp(-0.1), 3)
    # What was read counts as confirmed halfway between then and the read.
    await engine.access_log.flush()
    clock.advance(timedelta(days=10))
    assert await relevance(memory, "jotting") == round(math.exp(-0.15), 3)
    await memory.undo(run=done.run)
    assert await relevance(memory, "jotting") < round(math.exp(-0.6), 3)
    clock.advance(-timedelta(days=4_000))
    assert 0 <= await relevance(memory, "jotting") <= 1


async def test_what_is_gone_cannot_be_confirmed_and_a_past_expiry_is_told(
    memory: MemoryClient, clock: FakeClock
) -> None:
    yesterday = clock.now() - timedelta(days=1)
    gone = await memory.remember("The fair ends", name="fair", expires_at=yesterday, intent="new")
    assert [warning for warning in gone.warnings if "has passed" in warning]
    market = await memory.remember("The market stays", name="market", intent="new")
    assert not market.warnings
    assert "has passed" in (await memory.revise("market", expires_at=yesterday)).warnings[-1]
    assert not (await memory.revise("market", text="The market stays here")).warnings
    await memory.forget("market")
    with pytest.raises(WrongState):
        await memory.confirm("market")
    assert [missing.ref for missing in (await memory.confirm(["nothing-here"])).missing] == ["nothing-here"]


QUESTIONS = (
    "old harbour",
    "Where does Ann live?",
    "who lives in Berlin?",
    "berlin near the harbour",
    "what do we know about the home of Ann",
)


async def test_after_an_update_the_newer_entity_comes_first_for_every_question(
    engine: Engine, memory: MemoryClient, clock: FakeClock
) -> None:
    for name, city in (("old harbour", "Berlin"), ("home since May", "Paris")):
        observations: list[Json] = [f"Ann lives in {city} near the old harbour."]
        await memory.create_entities([{"name": name, "entityType": "place", "observations": observations}])
        clock.advance(timedelta(days=30))
    for number in range(8):
        await memory.remember(f"Ship {number} was at the old harbour of Berlin", name=f"ship-{number}", intent="new")
    # Reads make the older one the better known.
    for _ in range(3):
        await memory.read("old harbour")
        await engine.access_log.flush()
    conflict = next(conflict for conflict in await memory.conflicts() if "Paris" in conflict.memory.statement)
    tools = {tool.name: tool for tool in pick("enhanced")}
    context = ToolContext(engine=engine, who=WHO)

    async def places(question: str) -> list[str]:
        result = await tools["search_nodes"].call(context, {"query": question, "limit": 4})
        nodes = result.structured["results"]
        assert isinstance(nodes, list)
        return [str(node["name"]) for node in nodes if isinstance(node, dict) and node["type"] == "place"]

    assert (await places("old harbour"))[0] == "old harbour"
    settled: dict[str, Json] = {"conflict_data": {"conflict_id": conflict.id}, "strategy": "update"}
    done = await tools["resolve_conflict"].call(context, settled)
    assert (done.structured["entity1_score"], done.structured["entity2_score"]) == (1.0, 0.7)
    for question in QUESTIONS:
        assert await places(question) == ["home since May", "old harbour"], question
        hits = [hit.name for hit in (await memory.recall(question, limit=12)).hits]
        assert next(name for name in hits if name.startswith(("old", "home"))) == "home since May", question
    assert (await memory.recall("who lives in Berlin?", limit=1)).hits[0].name == "home since May"
    # Who weighs them the other way is followed.
    await tools["update_entity"].call(context, {"entity": "old harbour", "updates": {"relevance_score": 1.0}})
    await tools["update_entity"].call(context, {"entity": "home since May", "updates": {"relevance_score": 0.6}})
    assert (await places("Where does Ann live?"))[0] == "old harbour"
    confirmed = await tools["memory_confirm"].call(context, {"entity_name": "old harbour"})
    assert (confirmed.structured["success"], confirmed.structured["relevance_score"]) == (True, 1.0)


async def test_reminders_are_listed_when_they_are_due(memory: MemoryClient, clock: FakeClock) -> None:
    for days in (1, 40, 400):
        at = clock.now() + timedelta(days=days)
        await memory.remember(f"Renew number {days}", name=f"renew-{days}", remind_at=at, intent="new")
    assert (await memory.due()).reminders == ()
    soon = await memory.due(by=clock.now() + timedelta(days=100), limit=1)
    assert ([reminder.name for reminder in soon.reminders], soon.more) == (["renew-40"], 0)
    clock.advance(timedelta(days=500))
    listed = await memory.due()
    assert [reminder.text for reminder in listed.reminders] == [f"Renew number {days}" for days in (400, 40, 1)]
    await memory.revise("renew-400", remind_at=None)
    await memory.forget("renew-40")
    assert [reminder.name for reminder in (await memory.due()).reminders] == ["renew-1"]


async def test_what_is_near_is_suggested_until_it_is_related(memory: MemoryClient) -> None:
    texts = (
        "The red boat sails to the island",
        "The red boat sails to the island at noon",
        "Red boat sails: the island",
    )
    await memory.remember(texts[0], name="boat", intent="new")
    await memory.remember(texts[1], name="noon", intent="new", kind="plan")
    await memory.remember(texts[2], name="poster", intent="new")
    await memory.remember("Compilers fold constants early", name="compiler", intent="new")
    network = await memory.related("boat")
    assert ([node.name for node in network.nodes], network.edges) == (["boat"], ())
    boat, noon, poster = await FakeEmbedder().embed(texts)
    similarities = {suggestion.name: suggestion.similarity for suggestion in network.suggested}
    # Stored vectors have fewer digits.
    assert similarities == pytest.approx({"noon": float(boat @ noon), "poster": float(boat @ poster)}, abs=0.002)
    # Its own passages are nearer than any other memory, and must not take all places.
    sails = tuple(f"The red boat sails to the island on day {number}" for number in range(30))
    long = await memory.remember(texts[0], name="fleet", intent="new", observations=sails)
    assert len((await memory.related(long.name, suggest=1)).suggested) == 1
    await memory.forget(long.name)
    await memory.relate("boat", "noon")
    assert [suggestion.name for suggestion in (await memory.related("boat")).suggested] == ["poster"]
    assert (await memory.related("boat", suggest=0)).suggested == ()


async def test_a_summary_quotes_the_central_statements_with_dates_and_sources(
    memory: MemoryClient, clock: FakeClock
) -> None:
    start = clock.now()
    for number in range(6):
        await memory.remember(
            f"The red boat sails to the island on trip {number}", name=f"trip-{number}", intent="new", tags=["boats"],
            project="sea" if number % 2 else "", source={"trust": "document"} if number == 5 else {"trust": "user"},
        )  # fmt: skip
        clock.advance(timedelta(days=1))
    await memory.remember("The harbour fee is nine euros", name="fee", intent="new", tags=["boats"], kind="fact")
    await memory.remember("Nothing of this is about the sea", name="other", intent="new")
    await memory.remember("The red boat was sold", name="gone", intent="new", tags=["boats"])
    await memory.forget("gone")
    summary = await memory.summarize(tags=["boats"], limit=3)
    assert (summary.memories, len(summary.statements), summary.more) == (7, 3, False)
    names = [statement.name for statement in summary.statements]
    assert not {"other", "gone"} & {*names}
    # It quotes: each statement is a text of its memory, in the order of time.
    for statement in summary.statements:
        assert statement.text == (await memory.read(statement.id)).memories[0].content
        assert f"{statement.date.date().isoformat()} {statement.text}" in summary.text
    assert [statement.date for statement in summary.statements] == sorted(
        statement.date for statement in summary.statements
    )
    # What differs from the rest is not drowned by it.
    assert "fee" in [statement.name for statement in (await memory.summarize(tags=["boats"], limit=4)).statements]
    trips = await memory.summarize(project="sea", until=start + timedelta(days=4))
    assert [statement.name for statement in trips.statements] == ["trip-1", "trip-3"]
    marked = await memory.summarize(project="sea", since=start + timedelta(days=5))
    assert [statement.mark for statement in marked.statements] == ["document"]
    assert len((await memory.summarize(tags=["boats"], max_tokens=1)).statements) == 1
    assert (await memory.summarize(tags=["nothing"])).statements == ()
    with pytest.raises(InvalidInput):
        await memory.summarize()


def restarted(engine: Engine, *, counts: bool = True) -> tuple[Engine, MemoryClient]:
    """Return an engine over the same store that has counted nothing yet, as another server would be."""
    store = cast("RecordStore", engine.documents)
    log = AccessLog(store, clock=engine.clock, usage=UsageLog(store, clock=engine.clock, counts=counts))
    other = replace(engine, access_log=log)
    return other, MemoryClient.over(other, WHO)


async def written(engine: Engine) -> None:
    """Write what was counted, without waiting for it."""
    assert engine.access_log.usage is not None
    await engine.access_log.flush()
    await engine.access_log.usage.flush()


async def test_usage_tells_what_is_asked_found_and_never_read(
    engine: Engine, memory: MemoryClient, clock: FakeClock
) -> None:
    assert (await memory.usage()).recalls == 0
    await memory.recall("Is anybody here?")
    await written(engine)
    assert await cast("RecordStore", engine.documents).spaces() == [], "a question makes no space"
    for name in ("boat", "kettle", "compiler", "marmot"):
        await memory.remember(f"The {name} is green", name=name, kind="fact", intent="new")
        clock.advance(timedelta(minutes=1))
    other, elsewhere = restarted(engine)
    secret = "AKIA" + "QWERTYUIOPASDFGH"
    for client, question in (
        (memory, "Which  BOAT is green?"), (elsewhere, "which boat is green"), (memory, f"boat {secret}"),
        (memory, "zebra crossing"),
    ):  # fmt: skip
        first = await client.recall(question, limit=1)
        if first.cursor:
            await client.recall(question, limit=1, cursor=first.cursor)
    await memory.read("kettle")
    before = await memory.usage()
    assert (before.recalls, before.questions[0].count) == (3, 1), "the other server has not told yet"
    await asyncio.gather(written(engine), written(other))
    usage = await restarted(engine)[1].usage(days=1)
    assert [(day.date, day.recalls, day.nothing_relevant, day.reads) for day in usage.days] == [
        (clock.now().date().isoformat(), 4, 1, 1)
    ]
    assert (usage.recalls, usage.nothing_relevant, usage.reads, usage.counted) == (4, 1, 1, True)
    counts = {question.text: (question.count, question.nothing_relevant) for question in usage.questions}
    assert (usage.questions[0].text, counts["which boat is green"], counts["zebra crossing"]) == (
        "which boat is green", (2, 0), (1, 1),
    )  # fmt: skip
    assert len(counts) == 3
    assert secret.lower() not in str(usage)
    assert (usage.memories[0].name, usage.memories[0].found) == ("boat", 3)
    assert ("kettle", 1) in [(used.name, used.read) for used in usage.memories]
    assert "kettle" not in [unread.name for unread in usage.never_read]
    assert (await MemoryClient.over(engine, Caller(space="there")).usage()).questions == ()
    exported = [line async for line in engine.export(ExportRequest(include=("documents",)), who=WHO)]
    assert "zebra" not in "".join(exported)

    # A purge takes the questions along that found the memory, and those with its own words.
    await memory.recall("Who has seen a marmot on the boat?")
    await written(engine)
    for name in ("marmot", "boat"):
        await memory.recall(f"Something about a {name} zebra and nothing else at all")
        await memory.forget(name)
        await memory.purge(name)
        texts = [question.text for question in (await memory.usage()).questions]
        assert not [text for text in texts if name in text], name
        assert "zebra crossing" in texts
    assert not {"boat", "marmot"} & {used.name for used in (await memory.usage()).memories}

    # Of a day the most frequent remain, and of the days the last ninety.
    for number in range(70):
        await memory.recall(f"question {number:02d}")
    await memory.recall("question 07")
    await written(engine)
    usage = await memory.usage(limit=50)
    assert (usage.questions[0].text, len(usage.questions)) == ("question 07", 50)
    assert usage.recalls == 78
    await memory.remember("Compilers fold constants early", name="unseen", intent="new")
    usage = await memory.usage()
    assert ([unread.name for unread in usage.never_read], usage.never_read_count) == (["unseen"], 1)
    clock.advance(timedelta(days=80))
    await memory.recall("Is the kettle green?")
    assert len((await memory.usage(days=90)).days) == 2
    assert [question.text for question in (await memory.usage(days=80)).questions] == ["is the kettle green"]
    clock.advance(timedelta(days=20))
    await memory.recall("Is the kettle green?")
    await written(engine)
    assert len(await engine.documents.documents("default", "usage", limit=9)) == 2

    # Off means that nothing is counted, and that nothing is left.
    silent, client = restarted(engine, counts=False)
    await client.recall("Is the kettle green?")
    await written(silent)
    usage = await client.usage(days=90)
    assert (usage.counted, usage.days, usage.questions) == (False, (), ())
    assert await engine.documents.documents("default", "usage", limit=9) == []
