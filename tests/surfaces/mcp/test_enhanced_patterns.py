"""Typical programs of agents with `enhanced`: a profile for every search, a pipeline of facts, code over entities."""

import math
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from mcp.client.client import Client
from tests.surfaces.mcp.mcp_server import call, open_server

from scrubjay.settings import Settings

MONDAY = """\
user: I live in Bergen.
assistant: Good to know. How do you like to be reached?
user: I always prefer a phone call over email.
"""
FRIDAY = """\
user: I live in Oslo now.
assistant: Welcome to Oslo!
user: I have to send the harbour reports to my boss every Tuesday.
"""

ANALYSIS = """
results = search_nodes("system-architecture", limit=1000)
high_quality = [r for r in results if r.get("relevance_score", 0) > 0.8]
by_type = {}
for r in high_quality:
    by_type.setdefault(r.get("type", "unknown"), []).append(r)
write_file("analysis.json", json.dumps(by_type))
result = {
    "total": len(results),
    "high_quality": len(high_quality),
    "types": {kind: len(found) for kind, found in by_type.items()},
    "avg_compression": sum(r.get("compression", 0) for r in results) / len(results),
}
"""
# A function is saved as itself: byte code could neither be read nor checked.
FIRST_USE = """
def analyze_by_type(query, threshold=0.8):
    'Analyze entities grouped by type with quality filter'
    results = search_nodes(query, limit=1000)
    filtered = [r for r in results if r.get("relevance_score", 0) > threshold]
    by_type = {}
    for r in filtered:
        by_type.setdefault(r["type"], []).append(r)
    return {
        "total": len(results),
        "filtered": len(filtered),
        "by_type": {kind: len(found) for kind, found in by_type.items()},
    }

save_skill("analyze_by_type", analyze_by_type, "Group results by type with quality filter",
           example={"query": "architecture"})
result = analyze_by_type("architecture", 0.4)
"""
LATER_USE = """
analyze_by_type = load_skill("analyze_by_type")
result = analyze_by_type("documentation", 0.4)
"""
# What is shown has decayed already, so that the stored score is the one to start from.
DECAY = """
import math
from datetime import datetime

results = search_nodes("", limit=10000)
decay_constant = 0.01
updates = []
for entity in results:
    if not entity.get("last_confirmed"):
        continue
    days_ago = (datetime.now() - datetime.fromisoformat(entity["last_confirmed"])).days
    current_score = entity.get("stored_score", 1.0)
    decayed_score = current_score * math.exp(-decay_constant * days_ago)
    if abs(current_score - decayed_score) > 0.05:
        updates.append({"id": entity["id"], "old_score": current_score, "new_score": decayed_score})
for update in updates:
    update_entity(update["id"], {"relevance_score": update["new_score"]})
result = {
    "entities_processed": len(results),
    "entities_decayed": len(updates),
    "avg_decay": sum(u["old_score"] - u["new_score"] for u in updates) / len(updates) if updates else 0,
}
"""


class Agent:
    """The functions of the toolset, each a call of its tool."""

    def __init__(self, client: Client) -> None:
        self._client = client

    async def create_entities(self, entities: list[Any]) -> Any:
        return await call(self._client, "create_entities", entities=entities)

    async def search_nodes(self, query: str, limit: int = 10) -> Any:
        return await call(self._client, "search_nodes", query=query, limit=limit)

    async def auto_extract_facts(self, *, conversation_text: str, session_id: str, auto_store: bool) -> Any:
        return await call(
            self._client, "auto_extract_facts", conversation_text=conversation_text, session_id=session_id,
            auto_store=auto_store,
        )  # fmt: skip

    async def detect_conflicts(self, *, entity_data: Any, threshold: float) -> Any:
        return await call(self._client, "detect_conflicts", entity_data=entity_data, threshold=threshold)

    async def resolve_conflict(self, *, conflict_data: Any, strategy: str) -> Any:
        return await call(self._client, "resolve_conflict", conflict_data=conflict_data, strategy=strategy)

    async def process_conversation(self, conversation_text: str, session_id: str) -> Any:
        """Extract facts, look for conflicts, resolve the first of each, store the rest."""
        extracted = await self.auto_extract_facts(
            conversation_text=conversation_text, session_id=session_id, auto_store=False
        )
        if not extracted["success"]:
            return {"error": "extraction failed"}
        resolutions: list[Any] = []
        for fact in extracted["facts"]:
            conflicts = await self.detect_conflicts(entity_data=fact, threshold=0.50)
            if conflicts["conflict_count"] > 0:
                resolutions.append(
                    await self.resolve_conflict(conflict_data=conflicts["conflicts"][0], strategy="auto")
                )
            else:
                assert (await self.create_entities([fact]))["errors"] == []
        return {"success": True, "facts_extracted": len(extracted["facts"]), "resolutions": resolutions}


async def test_a_profile_comes_with_every_search(settings: Settings) -> None:
    async with open_server(settings) as server, server.client("auto", tools="enhanced") as client:
        agent = Agent(client)
        await agent.create_entities([
            {
                "name": "the-user-profile",
                "entityType": "user_profile",
                "observations": [
                    "Prefers voice communication",
                    "Uses parallel tool execution",
                    "Wants no proofs of concept, only what goes to production",
                    "Lives in California, in the time zone PST",
                ],
                "always_include": True,
            },
            {"name": "harbour ledger", "entityType": "document", "observations": ["Ships are written down by hand"]},
        ])  # fmt: skip
        recalled = await agent.search_nodes("harbour ledger")
        assert [result["name"] for result in recalled["results"]] == ["the-user-profile", "harbour ledger"]
        profile = recalled["results"][0]
        assert (profile["type"], len(profile["observations"]), profile["always_include"]) == ("user_profile", 4, True)
        nothing = await agent.search_nodes("zzzyx", limit=1)
        assert nothing["results"][0]["name"] == "the-user-profile"


async def test_facts_are_extracted_compared_resolved_and_stored(settings: Settings) -> None:
    async with open_server(settings) as server, server.client("auto", tools="enhanced") as client:
        agent = Agent(client)
        first = await agent.process_conversation(MONDAY, "monday")
        assert first["success"] is True
        assert first["facts_extracted"] >= 2
        second = await agent.process_conversation(FRIDAY, "friday")
        assert second["success"] is True
        resolved = [resolution for resolution in second["resolutions"] if resolution["success"]]
        assert resolved, second
        # The statement of Monday is kept, but is no longer valid.
        recalled = await server.context().memory.recall("Where does the user live?", detail="full", limit=20)
        passages = " ".join(hit.passage for hit in recalled.hits)
        assert "Oslo" in passages
        assert "Bergen" not in passages
        assert (await server.context().memory.conflicts()) == ()


async def test_the_same_conversation_twice_adds_nothing(settings: Settings) -> None:
    async with open_server(settings) as server, server.client("auto", tools="enhanced") as client:
        agent = Agent(client)
        await agent.process_conversation(MONDAY, "monday")
        before = (await call(client, "get_memory_status"))["total_entities"]
        again = await agent.process_conversation(MONDAY, "monday")
        assert again["success"] is True
        assert (await call(client, "get_memory_status"))["total_entities"] == before
        assert len((await server.context().memory.recall("phone call over email")).hits) >= 1


async def test_a_stored_fact_is_returned_with_the_name_it_is_found_by(settings: Settings) -> None:
    async with open_server(settings) as server, server.client("auto", tools="enhanced") as client:
        extracted = await call(client, "auto_extract_facts", conversation_text=MONDAY, session_id="monday")
        assert extracted["facts_stored"] == extracted["facts_extracted"] > 0
        for fact in extracted["facts"]:
            done = await call(client, "update_entity", entity=fact["name"], updates={"tags": ["heard"]})
            assert (done["success"], done["id"]) == (True, fact["id"])


async def test_all_facts_of_a_long_conversation_come_page_by_page_under_one_name(settings: Settings) -> None:
    tools = (
        "hammer saw drill plane chisel file clamp level square awl mallet rasp vise punch shears trowel auger".split()
    )
    talk = "\n".join(
        f"Ann: I must always keep the {tool} in drawer {n} of the {tool} room." for n, tool in enumerate(tools * 3)
    )
    async with open_server(settings) as server, server.client("auto", tools="enhanced") as client:
        by_store: dict[bool, list[str]] = {}
        for stores in (False, True):
            names: list[str] = []
            page: dict[str, Any] = {"cursor": ""}
            while "cursor" in page:
                more = {"cursor": page["cursor"]} if page["cursor"] else {}
                page = await call(client, "auto_extract_facts", conversation_text=talk, auto_store=stores, **more)
                names += [fact["name"] for fact in page["facts"]]
                assert page.get("note", "").endswith("the same call with this `cursor` returns the rest") == (
                    "cursor" in page
                )
            assert len(names) == page["facts_extracted"] == len(tools) * 3
            by_store[stores] = names
        assert by_store[False] == by_store[True]
        stored = await call(client, "create_entities", entities=[{**page["facts"][-1]}])
        assert (stored["results"][0]["name"], stored["results"][0]["id"]) == (names[-1], page["facts"][-1]["id"])
        wrong = await call(
            client, "auto_extract_facts", conversation_text=f"{talk} ", cursor=page.get("cursor", "WzEsIngiXQ")
        )
        assert (wrong["success"], wrong["field"]) == (False, "cursor")


def _entities(name: str, count: int, **fields: object) -> list[Any]:
    made = {"entityType": name, "observations": ["Boxes and arrows on the wall"], **fields}
    return [{"name": f"{name}-{number}", **made} for number in range(count)]


async def _run(client: Client, code: str) -> Any:
    answer = await call(client, "execute_code", code=code)
    assert answer["success"] is True, answer
    assert {"execution_time_ms", "memory_used_mb"} <= answer.keys()
    return answer["result"]


async def test_a_program_analyzes_many_entities_and_returns_a_summary(settings: Settings) -> None:
    async with open_server(settings) as server, server.client("auto", tools="enhanced") as client:
        await server.context().memory.set_rules(conflicts="off")
        agent = Agent(client)
        await agent.create_entities(_entities("system-architecture", 110))
        await agent.create_entities(_entities("system-architecture-draft", 15, relevance_score=0.5))
        await agent.create_entities(_entities("menu", 5, observations=["Soup on Mondays"]))
        summary = await _run(client, ANALYSIS)
        assert (summary["total"], summary["high_quality"]) == (125, 110)
        assert summary["types"] == {"system-architecture": 110}
        assert 0 < summary["avg_compression"] <= 1
        assert await _run(client, "len(json.loads(read_file('analysis.json'))['system-architecture'])") == 110
        # The functions that filter and summarize, with their arguments and results.
        rated = [{"type": "fact", "confidence": 0.9}, {"type": "fact", "confidence": 0.2}, {"type": "task"}]
        assert await _run(client, f"filter_by_confidence({rated}, 0.5)") == rated[:1]
        assert await _run(client, f"summarize_results({rated})") == {
            "count": 3, "types": ["fact", "task"], "sample": rated,
        }  # fmt: skip
        drafts = await _run(client, "summarize_results([search_nodes(q, limit=100) for q in ['menu', 'draft']])")
        assert (drafts["count"], sorted(drafts["types"]), len(drafts["sample"])) == (
            20, ["menu", "system-architecture-draft"], 5,
        )  # fmt: skip


async def test_a_program_that_worked_is_saved_and_used_later(settings: Settings) -> None:
    async with open_server(settings) as server:
        async with server.client("auto", tools="enhanced") as client:
            agent = Agent(client)
            await agent.create_entities(_entities("architecture", 3, relevance_score=0.7))
            await agent.create_entities(_entities("documentation", 4, relevance_score=0.3))
            first = await _run(client, FIRST_USE)
            assert first["by_type"]["architecture"] == 3
        async with server.client("auto", tools="enhanced") as client:
            assert await _run(client, LATER_USE) == {"total": 4, "filtered": 0, "by_type": {}}
            listed = await _run(client, "[[s['name'], s['description'], s['draft']] for s in list_skills()]")
            assert listed == [["analyze_by_type", "Group results by type with quality filter", False]]


async def test_a_program_lets_the_relevance_of_unconfirmed_entities_decay(settings: Settings, tmp_path: Path) -> None:
    clock = tmp_path / "clock"
    clock.write_text("2026-01-01T00:00:00Z")
    async with (
        open_server(replace(settings, clock_file=str(clock))) as server,
        server.client("auto", tools="enhanced") as client,
    ):
        agent = Agent(client)
        await agent.create_entities(_entities("old", 3, relevance_score=0.8))
        clock.write_text("2026-05-29T00:00:00Z")
        await agent.create_entities(_entities("new", 2))
        clock.write_text("2026-05-31T12:00:00Z")
        decayed = await _run(client, DECAY)
        assert (decayed["entities_processed"], decayed["entities_decayed"]) == (5, 3)
        expected = 0.8 * math.exp(-0.01 * 150)
        assert decayed["avg_decay"] == pytest.approx(0.8 - expected)
        (entity,) = (await agent.search_nodes("old-1", limit=1))["results"]
        assert (entity["version"], entity["stored_score"]) == (2, pytest.approx(expected))
        assert (await _run(client, DECAY))["entities_decayed"] == 0
