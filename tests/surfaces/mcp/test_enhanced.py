"""The tools of `enhanced`, through the SDK's client: every result says whether the call succeeded."""

import asyncio
import json
from dataclasses import replace
from typing import Any

import pytest
from mcp.client.client import Client
from tests.surfaces.mcp.mcp_server import ERAS, call, open_server, text_of
from tests.surfaces.mcp.token_count import count_tokens

from scrubjay import MemoryClient, SyncMemoryClient
from scrubjay.model.caller import Grant
from scrubjay.model.identity import new_id
from scrubjay.model.memory import Json
from scrubjay.settings import Settings
from scrubjay.surfaces.mcp.toolsets import TOOLSETS, pick
from scrubjay.surfaces.mcp.toolsets.enhanced_entities import render_created

PROFILE = {
    "name": "user-profile",
    "entityType": "user_profile",
    "observations": ["Prefers voice communication", "Lives in Bergen"],
    "always_include": True,
}


async def _ask(client: Client, tool: str, /, **arguments: object) -> Any:
    """Call a tool whose result must say that it succeeded."""
    answer = await call(client, tool, **arguments)
    assert answer["success"] is True, answer
    return answer


async def _fails(client: Client, tool: str, /, **arguments: object) -> Any:
    """Call a tool whose result must be an error."""
    result = await client.call_tool(tool, arguments)
    assert not result.is_error
    answer: Any = result.structured_content
    assert answer["success"] is False, (tool, answer)
    assert json.loads(text_of(result)) == answer
    return answer


async def _create(client: Client, name: str, *observations: str, kind: str = "person") -> str:
    entity = {"name": name, "entityType": kind, "observations": list(observations)}
    answer = await _ask(client, "create_entities", entities=[entity])
    return str(answer["results"][0]["id"])


@pytest.mark.parametrize("era", ERAS)
async def test_entities_are_created_found_changed_and_counted(settings: Settings, era: str) -> None:
    async with open_server(settings) as server, server.client(era, tools="enhanced") as client:
        answer = await _ask(client, "create_entities", entities=[PROFILE, {"name": "x"}])
        (made,) = answer["results"]
        assert (made["action"], made["version"], made["name"]) == ("created", 1, "user-profile")
        assert [error.split(":")[0] for error in answer["errors"]] == ["x"]
        recalled = await _ask(client, "search_nodes", query="anything at all")
        assert [result["name"] for result in recalled["results"]] == ["user-profile"]
        assert (recalled["query"], recalled["count"]) == ("anything at all", 1)
        done = await _ask(client, "update_entity", entity="user-profile", updates={"add_observations": ["Reads Ibsen"]})
        assert (done["action"], done["version"], done["id"]) == ("updated", 2, made["id"])
        (memory,) = (await server.context().memory.read("user-profile")).memories
        # An agent wrote it, whatever method it claims.
        assert (memory.source.method.value, memory.source.agent) == ("agent", "tester")
        status = await _ask(client, "get_memory_status")
        assert (status["total_entities"], status["by_type"]) == (1, {"user_profile": 1})
        assert status["database_size_mb"] > 0
        assert (await _fails(client, "create_entities", entities=[{"name": "x"}]))["errors"]


@pytest.mark.parametrize("era", ERAS)
async def test_versions_are_committed_compared_and_brought_back(settings: Settings, era: str) -> None:
    async with open_server(settings) as server, server.client(era, tools="enhanced") as client:
        await _create(client, "Ada", "likes tea", "lives in Oslo")
        for message in ("as told in May", "as told in May", "and in June"):
            # It labels the current version; every change has made one already.
            done = await _ask(client, "memory_commit", entity_name="Ada", message=message)
            assert (done["version_id"], done["entity"], done["branch"]) == (1, "Ada", "main")
        await _create(client, "Ada", "likes tea", "lives in Bergen")
        result = await _ask(client, "memory_diff", entity_name="Ada", version1=1, version2=2)
        assert result["differences"]["added_observations"] == ["lives in Bergen"]
        assert result["differences"]["removed_observations"] == ["lives in Oslo"]
        assert (result["version1"]["version"], result["version2"]["observations"]) == (
            1,
            ["likes tea", "lives in Bergen"],
        )
        back = await _ask(client, "memory_revert", entity_name="Ada", version=1)
        assert (back["reverted_to"], back["version"]) == (1, 3)
        (ada,) = (await _ask(client, "search_nodes", query="Ada"))["results"]
        assert (ada["observations"], ada["version"]) == (["likes tea", "lives in Oslo"], 3)
        history = (await server.context().memory.history("Ada")).versions
        assert [version.message for version in history] == [
            "Reverted to version 1", history[1].message, "as told in May; and in June",
        ]  # fmt: skip
        updates: dict[str, Json] = {"relevance_score": 0.5, "always_include": True, "metadata": {"floor": 3}}
        await _ask(client, "update_entity", entity="Ada", updates=updates)
        result = await _ask(client, "memory_diff", entity_name="Ada", version1=3, version2=4)
        metadata = result["differences"]["modified_metadata"]
        assert (metadata["relevance"], metadata["pinned"]) == ([1.0, 0.5], [False, True])
        assert [values.get("floor") for values in metadata["metadata"]] == [None, 3]


async def test_a_branch_is_begun_written_to_and_left(settings: Settings) -> None:
    async with open_server(settings) as server, server.client("auto", tools="enhanced") as client:
        await _create(client, "Ada", "lives in Oslo")
        begun = await _ask(client, "memory_branch", entity_name="Ada", branch_name="what-if", description="she moved?")
        assert (begun["branch_name"], begun["created_from_version"], begun["action"]) == ("what-if", 1, "branched")
        await _create(client, "Ada", "lives in Rome")
        (there,) = (await _ask(client, "search_nodes", query="Ada"))["results"]
        assert (there["branch"], there["observations"]) == ("what-if", ["lives in Rome"])
        (main,) = (await server.context().memory.read("Ada", branch="main")).memories
        assert [observation.text for observation in main.observations] == ["lives in Oslo"]
        left = await _ask(client, "memory_branch", entity_name="Ada", branch_name="main")
        assert (left["branch_name"], left["action"]) == ("main", "switched")
        (here,) = (await _ask(client, "search_nodes", query="Ada"))["results"]
        assert (here["branch"], here["observations"]) == ("main", ["lives in Oslo"])
        status = await _ask(client, "get_memory_status")
        assert (status["versioning"]["total_branches"], status["total_entities"]) == (1, 1)


async def test_branches_are_listed_merged_dropped_and_brought_back(settings: Settings) -> None:
    async with open_server(settings) as server, server.client("auto", tools="enhanced") as client:
        await _create(client, "Ada", "lives in Oslo", "likes tea")
        await _ask(client, "memory_branch", entity_name="Ada", branch_name="what-if", description="she moved?")
        await _create(client, "Ada", "lives in Rome", "likes tea")
        result = await _ask(client, "memory_branches", entity_name="Ada")
        assert (result["current_branch"], [branch["branch_name"] for branch in result["branches"]]) == (
            "what-if",
            ["main", "what-if"],
        )
        assert (result["branches"][1]["description"], result["branches"][1]["created_from_version"]) == (
            "she moved?",
            1,
        )
        await _ask(client, "memory_branch", entity_name="Ada", branch_name="main")
        await _create(client, "Ada", "lives in Bergen", "likes tea")
        refused = await _fails(client, "memory_merge_branch", entity_name="Ada", branch_name="what-if")
        assert refused["clashes"] == [
            {"field": "observations", "base": "lives in Oslo", "ours": "lives in Bergen", "theirs": "lives in Rome"}
        ]
        assert "prefer" in refused["hint"]
        done = await _ask(client, "memory_merge_branch", entity_name="Ada", branch_name="what-if", prefer="theirs")
        assert (done["action"], done["into"], done["version"]) == ("merged", "main", 3)
        (ada,) = (await _ask(client, "search_nodes", query="Ada"))["results"]
        assert ada["observations"] == ["likes tea", "lives in Rome"]
        back = await _ask(client, "memory_undo", run=done["run"])
        assert len(back["undone"]) == 2
        late = await _fails(client, "memory_undo", run=done["run"])
        assert (late["undone"], len(late["skipped"])) == ([], 2)
        gone = await _ask(client, "memory_drop_branch", entity_name="Ada", branch_name="what-if")
        assert (gone["action"], gone["branches"], gone["current_branch"]) == ("dropped", ["main"], "main")
        assert len((await _ask(client, "memory_branches", entity_name="Ada"))["branches"]) == 1
        await _ask(client, "memory_undo", run=gone["run"])
        assert len((await _ask(client, "memory_branches", entity_name="Ada"))["branches"]) == 2
        wrong = await _fails(client, "memory_drop_branch", entity_name="Ada", branch_name="what-fi")
        assert (wrong["code"], wrong["hint"]) == ("not_found", "Did you mean what-if?")
        assert (await _fails(client, "memory_merge_branch", entity_name="Ada", branch_name="main"))["error"]
        await _ask(client, "memory_branch", entity_name="Ada", branch_name="caf\u00e9")
        again = await _ask(client, "memory_branch", entity_name="Ada", branch_name="cafe\u0301")
        assert (again["action"], again["branch_name"]) == ("switched", "caf\u00e9")


async def test_always_included_entities_leave_half_of_the_answer_to_the_rest(settings: Settings) -> None:
    async with open_server(settings) as server, server.client("auto", tools="enhanced") as client:
        texts = [f"rule {number} says a good deal about how things are to be done here" for number in range(40)]
        rules = [
            {"name": f"r{number}", "entityType": "rule", "observations": texts, "always_include": True}
            for number in range(12)
        ]
        target = {"name": "target", "entityType": "thing", "observations": ["is here"]}
        for entity in (*rules, target):
            await _ask(client, "create_entities", entities=[entity])
        recalled = await _ask(client, "search_nodes", query="target", limit=5)
        names = [result["name"] for result in recalled["results"]]
        assert (names[0], "target" in names, len(names) < 13, "always included" in recalled["note"]) == (
            "r0", True, True, True,
        )  # fmt: skip
        assert "always_included" not in recalled


async def test_an_error_is_returned_as_data(settings: Settings) -> None:
    async with open_server(settings) as server, server.client("auto", tools="enhanced") as client:
        await _create(client, "ada-notes", "likes tea")
        failure = await _fails(client, "memory_commit", entity_name="ada-note", message="x")
        assert (failure["code"], failure["hint"]) == ("not_found", "Did you mean ada-notes?")
        wrong: list[tuple[str, dict[str, Json]]] = [
            ("memory_diff", {"entity_name": "ada-notes", "version1": 1, "version2": 9}),
            ("memory_revert", {"entity_name": "ada-notes", "version": 9}),
            ("memory_branch", {"entity_name": "ada-notes", "branch_name": ""}),
            ("update_entity", {"entity": "ada-notes", "updates": {}}),
            ("update_entity", {"entity": "ada-notes", "updates": {"relevance_score": 7}}),
            ("search_nodes", {"query": "x", "limit": 10_001}),
            ("resolve_conflict", {"conflict_data": {}}),
            ("resolve_conflict", {"conflict_data": {"conflict_id": "c-nothing"}}),
            ("detect_conflicts", {"entity_data": {"name": "nobody"}}),
            ("memory_diff", {"entity_name": "ada-notes", "version1": 0, "version2": 1}),
            ("memory_branch", {"entity_name": "ada-notes", "branch": "x"}),
            ("search_nodes", {}),
            ("create_entities", {"entities": ["ada"]}),
        ]
        for tool, arguments in wrong:
            answer = await _fails(client, tool, **arguments)
            assert answer["error"], (tool, answer)
        far = await _fails(client, "memory_commit", entity_name="quite another", message="x")
        assert far["hint"] == "Find it with `search_nodes`"


async def test_a_long_question_leaves_room_for_the_results(settings: Settings) -> None:
    async with open_server(settings) as server, server.client("auto", tools="enhanced") as client:
        await _create(client, "harbour", "the harbour master keeps a ledger")
        recalled = await _ask(client, "search_nodes", query="who keeps the ledger of the harbour? " * 2_000)
        assert [result["name"] for result in recalled["results"]] == ["harbour"]
        assert "long values are cut" in recalled["note"]


async def test_two_clients_that_create_one_branch_at_once_are_both_on_it(settings: Settings) -> None:
    async with open_server(settings) as server, server.client("auto", tools="enhanced") as client:
        await _create(client, "Ada", "lives in Oslo")
        done = await asyncio.gather(
            *(_ask(client, "memory_branch", entity_name="Ada", branch_name="what-if") for _ in range(4))
        )
        assert sorted(outcome["action"] for outcome in done) == ["branched", *["switched"] * 3]
        assert {outcome["branch_name"] for outcome in done} == {"what-if"}


async def test_no_answer_is_longer_than_a_model_can_bear(settings: Settings) -> None:
    async with open_server(settings) as server, server.client("auto", tools="enhanced") as client:
        for number in range(3):
            texts = [f"fact {number}-{index}: " + "the harbour master keeps a ledger " * 6 for index in range(60)]
            await _create(client, f"harbour {number}", *texts)
        result = await client.call_tool("search_nodes", {"query": "harbour", "limit": 3})
        answer: Any = result.structured_content
        assert answer["count"] == 3
        assert "are shown, long ones in part" in answer["note"]
        assert count_tokens(text_of(result)) + count_tokens(json.dumps(answer, ensure_ascii=False)) <= 8_000
        await _create(client, "harbour 0", *[f"other {index} " + "tides " * 60 for index in range(60)])
        versions: dict[str, Json] = {"entity_name": "harbour 0", "version1": 1, "version2": 2}
        texts: list[str] = []
        page: dict[str, Any] = {"cursor": ""}
        while "cursor" in page:
            more = {"cursor": page["cursor"]} if page["cursor"] else {}
            page = await _ask(client, "memory_diff", **versions, **more)
            texts += [text for text in page["added_observations"] if text.startswith("other")]
        assert len(set(texts)) == len(texts) == 60
        result = await client.call_tool("memory_diff", versions)
        assert (
            count_tokens(text_of(result)) + count_tokens(json.dumps(result.structured_content, ensure_ascii=False))
            <= 8_000
        )


@pytest.mark.parametrize(
    ("count", "conflicts", "expected"), [(2, 3, "conflicts"), (20, 5, "conflict_ids"), (60, 10, "conflict_count")]
)
def test_of_many_entities_every_id_is_returned_before_all_of_their_conflicts(
    count: int, conflicts: int, expected: str
) -> None:
    conflict_report: list[Json] = [
        {"conflict_id": f"c-{index:016x}", "entity": {"statement": "The lamp is lit at dusk"}}
        for index in range(conflicts)
    ]
    results: list[Json] = [
        {
            "id": new_id(), "name": f"lamp {index}", "action": "created", "compression": 0.5, "version": 1,
            "conflicts": conflict_report,
        }
        for index in range(count)
    ]  # fmt: skip
    fields: Any = render_created({"success": True, "results": results, "errors": []}).structured
    assert [result["name"] for result in fields["results"]] == [f"lamp {index}" for index in range(count)]
    assert len({result["id"] for result in fields["results"]}) == count
    assert all(result[expected] for result in fields["results"])
    assert 2 * count_tokens(json.dumps(fields, ensure_ascii=False)) <= 8_000


async def test_a_caller_of_one_space_gets_the_size_of_that_space_only(settings: Settings) -> None:
    async with open_server(settings) as server:
        await server.context(space="b").memory.remember("tea is a secret of b")
        guest = replace(server.context(space="a"), grant=Grant(spaces=("a",)))
        async with server.client("auto", tools="enhanced", context=guest) as client:
            await _create(client, "Ada", "likes tea")
            result = await _ask(client, "get_memory_status")
            assert (result["total_entities"], result["versioning"]["total_versions"]) == (1, 1)
            assert result["database_size_mb"] == round(result["compression"]["total_compressed"] / 1e6, 4)
            assert (await _ask(client, "search_nodes", query="tea"))["count"] == 1


async def test_two_statements_of_one_entity_have_one_score(settings: Settings) -> None:
    async with open_server(settings) as server, server.client("auto", tools="enhanced") as client:
        await _create(client, "Ada", "lives in Oslo")
        done = await _ask(client, "update_entity", entity="Ada", updates={"add_observations": ["moved to Rome"]})
        (conflict,) = done["conflicts"]
        settled = await _ask(client, "resolve_conflict", conflict_data=conflict, strategy="update")
        assert (settled["entity1_score"], settled["entity2_score"]) == (1.0, 1.0)
        assert settled["warnings"]


async def test_a_memory_waits_for_approval_with_any_extraction_method(settings: Settings) -> None:
    async with open_server(settings) as server, server.client("auto", tools="enhanced") as client:
        await server.context().memory.set_rules(review="agents")
        for method in ("manual", "auto", "import"):
            entity = {"name": method, "entityType": "t", "observations": ["likes tea"], "extraction_method": method}
            assert (await _ask(client, "create_entities", entities=[entity]))["results"][0]["warnings"]
        assert (await _ask(client, "search_nodes", query=""))["count"] == 0
        assert len(await server.context().memory.inbox()) == 3


async def test_all_matches_are_read_page_by_page_and_nothing_fills_them_up(settings: Settings) -> None:
    entities = [
        {"name": f"{kind}-{n}", "entityType": kind, "observations": [text]}
        for kind, text in (("invoice", "paid by card"), ("walk", "along the river at dawn"))
        for n in range(100)
    ]
    async with open_server(settings) as server, server.client("auto", tools="enhanced") as client:
        await call(client, "create_entities", entities=entities)
        names: list[str] = []
        page: dict[str, Any] = {"cursor": ""}
        while "cursor" in page:
            arguments = {"cursor": page["cursor"]} if page["cursor"] else {}
            page = await call(client, "search_nodes", query="invoice", limit=500, **arguments)
            names += [node["name"] for node in page["results"]]
        assert sorted(names) == sorted(f"invoice-{n}" for n in range(100))
        assert {"stored_score", "last_confirmed"} <= {*page["results"][0]}
        wrong = await call(client, "search_nodes", query="invoice", cursor="mine")
        assert (wrong["success"], wrong["field"]) == (False, "cursor")


async def test_where_both_are_served_the_richer_dialect_answers() -> None:
    served = {tool.name: tool for tool in pick("all")}
    own = {tool.name: tool for tool in TOOLSETS["enhanced"]}
    assert all(served[name] is tool for name, tool in own.items())
    assert served["create_relations"] in TOOLSETS["kg"]
    assert len(own) == 17


def test_every_tool_is_a_method_of_both_python_clients() -> None:
    names = [tool.name for tool in pick("enhanced")]
    assert [name for name in names for client in (MemoryClient, SyncMemoryClient) if not hasattr(client, name)] == []
