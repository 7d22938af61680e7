"""Typical programs of agents with `enhanced`: a profile that comes with every search, and a pipeline of facts."""

from typing import Any

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
