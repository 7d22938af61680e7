"""Edges between memories by REST."""

import pytest
from tests.surfaces.rest.checked_client import CheckedClient


@pytest.fixture
async def ends(client: CheckedClient) -> tuple[str, str]:
    return (await client.remember("one end", name="one"))["id"], (await client.remember("the other", name="two"))["id"]


async def test_an_edge_is_created_listed_and_removed(client: CheckedClient, ends: tuple[str, str]) -> None:
    body = {"target": "two", "relation": "knows", "text": "since school", "strength": 1, "metadata": {"a": [None]}}
    result = await client.post("/memories/one/links", body, status=201)
    assert (result["action"], result["source"], result["target"]) == ("created", *ends)
    results = await client.get("/memories/one/links")
    assert (results["id"], results["name"]) == (ends[0], "one")
    (edge,) = results["links"]
    assert (edge["type"], edge["text"], edge["strength"], edge["metadata"]) == (
        "knows",
        "since school",
        1.0,
        {"a": [None]},
    )
    assert (await client.get("/memories/two/links"))["links"] == [edge]
    params = {"target": "two", "relation": "knows"}
    assert (await client.request("DELETE", "/memories/one/links", params=params)).json()["action"] == "removed"
    assert (await client.get("/memories/one/links"))["links"] == []


async def test_an_existing_edge_is_updated(client: CheckedClient, ends: tuple[str, str]) -> None:
    await client.post("/memories/one/links", {"target": "two"}, status=201)
    again = await client.post("/memories/one/links", {"target": "two"}, status=200)
    assert again["action"] != "created"
    changed = await client.post("/memories/one/links", {"target": "two", "strength": 0.9}, status=200)
    assert {edge["strength"] for edge in changed["source_links"]} == {0.9}


async def test_a_link_is_removed_from_both_memories(client: CheckedClient, ends: tuple[str, str]) -> None:
    await client.post("/memories/one/links", {"target": "two"}, status=201)
    result = (await client.request("DELETE", "/memories/two/links", params={"target": "one"})).json()
    assert (result["source_links"], result["target_links"]) == ([], [])


async def test_missing_memories_cannot_be_related(client: CheckedClient, ends: tuple[str, str]) -> None:
    await client.refused("GET", "/memories/nobody/links", 404, "not_found")
    await client.refused("POST", "/memories/nobody/links", 404, "not_found", json={"target": "one"})
    await client.refused("POST", "/memories/one/links", 404, "not_found", json={"target": "nobody"})
    await client.refused("DELETE", "/memories/one/links", 404, "not_found", params={"target": "nobody"})


async def test_removing_a_missing_edge_changes_nothing(client: CheckedClient, ends: tuple[str, str]) -> None:
    result = await client.request("DELETE", "/memories/one/links", params={"target": "two"})
    assert result.json()["action"] == "unchanged"


async def test_an_edge_needs_two_ends_and_a_kind(client: CheckedClient, ends: tuple[str, str]) -> None:
    for body, field in (({}, "target"), ({"target": ""}, "target"), ({"target": "two", "relation": ""}, "relation")):
        problem = await client.refused("POST", "/memories/one/links", 422, "invalid_input", json=body)
        assert problem["field"] == field
    await client.refused("DELETE", "/memories/one/links", 422, "invalid_input")
    await client.refused("POST", "/memories/one/links", 422, "invalid_input", json={"target": "one"})
