"""Two agents over MCP: a fact, a contradiction, a decision, and its undo."""

from contextlib import AsyncExitStack
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from scrubjay.settings import Settings
from tests.surfaces.mcp.mcp_server import call, open_server


def _said(answer: Any) -> list[str]:
    """Return the observations of the only entity in the results."""
    (entity,) = answer["results"]
    return list(entity["observations"])


async def test_from_a_first_fact_to_second_thoughts(home: Path) -> None:
    settings = Settings(home=str(home), embedder="none", vector_index="scan", readers=1)
    async with open_server(settings) as place, AsyncExitStack() as stack:
        tools = "core,enhanced"
        ann = await stack.enter_async_context(place.client("auto", tools=tools, context=place.context(agent="ann")))
        bob = await stack.enter_async_context(place.client("legacy", tools=tools, context=place.context(agent="bob")))

        # Ann stores the first fact.
        first = "Mara Lindqvist lives in Bergen."
        mara = {
            "name": "Mara Lindqvist",
            "entityType": "person",
            "observations": [first, "Mara Lindqvist plays chess."],
        }
        (made,) = (await call(ann, "create_entities", entities=[mara]))["results"]
        assert (made["action"], made["version"]) == ("created", 1)
        assert (await call(ann, "detect_conflicts", entity_data={"name": "Mara Lindqvist"}))["conflict_count"] == 0
        then = datetime.now(UTC).isoformat()

        # Bob has another fact, and checks for conflicts before he writes.
        news = {"name": "Mara Lindqvist", "entityType": "person", "observations": ["Mara Lindqvist lives in Oslo."]}
        suspected = await call(bob, "detect_conflicts", entity_data=news, threshold=0.5)
        assert suspected["conflict_count"] == 1
        assert suspected["conflicts"][0]["conflict_type"] == "contradiction"
        assert suspected["conflicts"][0]["conflicting_entity"]["statement"] == first

        # He stores it anyway: both facts are valid, and the conflict waits for a decision.
        changes = {"add_observations": news["observations"], "source_session": "friday"}
        done = await call(bob, "update_entity", entity="Mara Lindqvist", updates=changes)
        assert (done["action"], len(done["conflicts"])) == ("updated", 1)
        waiting = await call(ann, "detect_conflicts", entity_data={"name": "Mara Lindqvist"})
        (conflict,) = waiting["conflicts"]
        assert (conflict["conflict_id"], conflict["resolution_status"]) == (
            done["conflicts"][0]["conflict_id"],
            "pending",
        )

        # Ann decides for the newer fact. The older one stays in the history, but is not valid any more.
        resolved = await call(ann, "resolve_conflict", conflict_data=conflict, strategy="auto")
        assert (resolved["success"], resolved["action"]) == (True, "superseded")
        assert _said(await call(bob, "search_nodes", query="Mara Lindqvist")) == [
            "Mara Lindqvist plays chess.",
            "Mara Lindqvist lives in Oslo.",
        ]
        hits = (await call(bob, "recall", query="Where does Mara Lindqvist live?"))["hits"]
        assert "Oslo" in hits[0]["passage"]
        assert not any("Bergen" in hit["passage"] for hit in hits)
        past = (await call(bob, "recall", query="Where does Mara Lindqvist live?", filters={"as_of": then}))["hits"]
        assert any("Bergen" in hit["passage"] for hit in past)
        again = await call(ann, "resolve_conflict", conflict_data=conflict, strategy="auto")
        assert (again["success"], bool(again["error"])) == (False, True)

        # She undoes her decision, and both facts are valid again.
        undone = await call(ann, "memory_undo", run=resolved["run"])
        assert [change["name"] for change in undone["undone"]] == ["Mara Lindqvist"]
        assert first in _said(await call(ann, "search_nodes", query="Mara Lindqvist"))
        reopened = await call(ann, "detect_conflicts", entity_data={"name": "Mara Lindqvist"})
        assert [conflict_["conflict_id"] for conflict_ in reopened["conflicts"]] == [conflict["conflict_id"]]

        # Then she undoes Bob's writes; the whole history can still be read.
        back = await call(ann, "memory_revert", entity_name="Mara Lindqvist", version=1)
        assert back["success"] is True
        assert _said(await call(bob, "search_nodes", query="Mara Lindqvist")) == mara["observations"]
        versions = (await call(ann, "history", id="Mara Lindqvist"))["versions"]
        assert [version["agent"] for version in versions] == ["ann", "ann", "ann", "bob", "ann"]
        assert [version["number"] for version in versions] == [5, 4, 3, 2, 1]
        after = await call(ann, "detect_conflicts", entity_data={"name": "Mara Lindqvist"})
        assert after["conflict_count"] == 0
