"""The relevance of memories over a year: it falls by kind, and a confirmation, a read and an update change that."""

import json
import math
from collections.abc import AsyncIterator
from datetime import timedelta
from pathlib import Path
from typing import cast

import pytest

from scrubjay.app.indexes import make_index
from scrubjay.app.stores import open_store
from scrubjay.client import MemoryClient
from scrubjay.engine import Engine
from scrubjay.errors import WrongState
from scrubjay.model.caller import Caller
from scrubjay.model.memory import Json
from scrubjay.recalling.access_log import AccessLog
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
            limits=settings.limits, access_log=AccessLog(store, clock=clock), data=settings.data,
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
