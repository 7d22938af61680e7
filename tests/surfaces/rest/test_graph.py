"""What relations lead to, by REST."""

import pytest
from tests.surfaces.rest.checked_client import Visitor


@pytest.fixture
async def town(visitor: Visitor) -> Visitor:
    for name in ("ada", "acme", "oslo"):
        await visitor.remember(f"{name} has a page of its own here", name=name)
    await visitor.post("/memories/ada/links", {"target": "acme", "relation": "works_at"}, status=201)
    await visitor.post("/memories/acme/links", {"target": "oslo", "relation": "sits_in"}, status=201)
    return visitor


async def test_what_is_around_a_memory(town: Visitor) -> None:
    near = await town.get("/memories/ada/related")
    assert [(item["name"], item["distance"]) for item in near["nodes"]] == [("ada", 0), ("acme", 1)]
    assert [item["type"] for item in near["edges"]] == ["works_at"]
    far = await town.get("/graph", params={"id": ["ada"], "depth": 2, "direction": "out"})
    assert [item["name"] for item in far["nodes"]] == ["ada", "acme", "oslo"]
    narrow = await town.get("/graph", params={"id": ["oslo", "ada"], "type": ["sits_in"]})
    assert [item["name"] for item in narrow["nodes"]] == ["oslo", "ada", "acme"]
    cut = await town.get("/graph", params={"id": "ada", "depth": 2, "limit": 2})
    assert cut["truncated"] is True


async def test_a_way_from_one_to_another(town: Visitor) -> None:
    results = await town.get("/graph/path", params={"from": "ada", "to": "oslo"})
    assert [item["name"] for item in results["nodes"]] == ["ada", "acme", "oslo"]
    none = await town.get("/graph/path", params={"from": "oslo", "to": "ada", "direction": "out"})
    assert none == {"nodes": [], "edges": [], "truncated": False}


async def test_what_cannot_be_asked(town: Visitor) -> None:
    for path, params, field in (
        ("/graph", {}, "id"),
        ("/graph", {"id": "ada", "depth": 11}, "depth"),
        ("/graph", {"id": "ada", "direction": "up"}, "direction"),
        ("/graph/path", {"from": "ada"}, "to"),
        ("/memories/ada/related", {"limit": 0}, "limit"),
    ):
        problem = await town.refused("GET", path, 422, "invalid_input", params=params)
        assert problem["field"] == field
    problem = await town.refused("GET", "/graph", 404, "not_found", params={"id": "adda"})
    assert problem["suggestions"] == ["ada"]
    await town.refused("GET", "/memories/ada/related", 404, "not_found", params={"as_of": "2001-01-01T00:00:00Z"})
