"""Traversals of relations by REST."""

import pytest
from tests.surfaces.rest.checked_client import CheckedClient


@pytest.fixture
async def graph_client(client: CheckedClient) -> CheckedClient:
    for name in ("ada", "acme", "oslo"):
        await client.remember(f"{name} has a page of its own here", name=name)
    await client.post("/memories/ada/links", {"target": "acme", "relation": "works_at"}, status=201)
    await client.post("/memories/acme/links", {"target": "oslo", "relation": "sits_in"}, status=201)
    return client


async def test_related_memories_are_found(graph_client: CheckedClient) -> None:
    near = await graph_client.get("/memories/ada/related")
    assert [(node["name"], node["distance"]) for node in near["nodes"]] == [("ada", 0), ("acme", 1)]
    assert [edge["type"] for edge in near["edges"]] == ["works_at"]
    far = await graph_client.get("/graph", params={"id": ["ada"], "depth": 2, "direction": "out"})
    assert [node["name"] for node in far["nodes"]] == ["ada", "acme", "oslo"]
    narrow = await graph_client.get("/graph", params={"id": ["oslo", "ada"], "type": ["sits_in"]})
    assert [node["name"] for node in narrow["nodes"]] == ["oslo", "ada", "acme"]
    cut = await graph_client.get("/graph", params={"id": "ada", "depth": 2, "limit": 2})
    assert cut["truncated"] is True


async def test_a_path_between_two_memories(graph_client: CheckedClient) -> None:
    results = await graph_client.get("/graph/path", params={"from": "ada", "to": "oslo"})
    assert [node["name"] for node in results["nodes"]] == ["ada", "acme", "oslo"]
    none = await graph_client.get("/graph/path", params={"from": "oslo", "to": "ada", "direction": "out"})
    assert none == {"nodes": [], "edges": [], "truncated": False, "suggested": []}


async def test_invalid_requests_are_refused(graph_client: CheckedClient) -> None:
    for path, params, field in (
        ("/graph", {}, "id"),
        ("/graph", {"id": "ada", "depth": 11}, "depth"),
        ("/graph", {"id": "ada", "direction": "up"}, "direction"),
        ("/graph/path", {"from": "ada"}, "to"),
        ("/memories/ada/related", {"limit": 0}, "limit"),
    ):
        problem = await graph_client.refused("GET", path, 422, "invalid_input", params=params)
        assert problem["field"] == field
    problem = await graph_client.refused("GET", "/graph", 404, "not_found", params={"id": "adda"})
    assert problem["suggestions"] == ["ada"]
    await graph_client.refused(
        "GET", "/memories/ada/related", 404, "not_found", params={"as_of": "2001-01-01T00:00:00Z"}
    )
