"""Edges between memories by REST."""

import pytest
from tests.surfaces.rest.checked_client import Visitor


@pytest.fixture
async def ends(visitor: Visitor) -> tuple[str, str]:
    return (await visitor.remember("one end", name="one"))["id"], (await visitor.remember("the other", name="two"))[
        "id"
    ]


async def test_an_edge_is_made_seen_and_removed(visitor: Visitor, ends: tuple[str, str]) -> None:
    body = {"target": "two", "relation": "knows", "text": "since school", "strength": 1, "metadata": {"a": [None]}}
    reported = await visitor.post("/memories/one/links", body, status=201)
    assert (reported["action"], reported["source"], reported["target"]) == ("created", *ends)
    results = await visitor.get("/memories/one/links")
    assert (results["id"], results["name"]) == (ends[0], "one")
    (edge,) = results["links"]
    assert (edge["type"], edge["text"], edge["strength"], edge["metadata"]) == (
        "knows",
        "since school",
        1.0,
        {"a": [None]},
    )
    assert (await visitor.get("/memories/two/links"))["links"] == [edge]
    params = {"target": "two", "relation": "knows"}
    assert (await visitor.ask("DELETE", "/memories/one/links", params=params)).json()["action"] == "removed"
    assert (await visitor.get("/memories/one/links"))["links"] == []


async def test_an_edge_that_is_there_already_is_not_new(visitor: Visitor, ends: tuple[str, str]) -> None:
    await visitor.post("/memories/one/links", {"target": "two"}, status=201)
    again = await visitor.post("/memories/one/links", {"target": "two"}, status=200)
    assert again["action"] != "created"
    changed = await visitor.post("/memories/one/links", {"target": "two", "strength": 0.9}, status=200)
    assert {edge["strength"] for edge in changed["source_links"]} == {0.9}


async def test_a_link_goes_away_from_both_ends(visitor: Visitor, ends: tuple[str, str]) -> None:
    await visitor.post("/memories/one/links", {"target": "two"}, status=201)
    reported = (await visitor.ask("DELETE", "/memories/two/links", params={"target": "one"})).json()
    assert (reported["source_links"], reported["target_links"]) == ([], [])


async def test_what_is_not_there_cannot_be_related(visitor: Visitor, ends: tuple[str, str]) -> None:
    await visitor.refused("GET", "/memories/nobody/links", 404, "not_found")
    await visitor.refused("POST", "/memories/nobody/links", 404, "not_found", json={"target": "one"})
    await visitor.refused("POST", "/memories/one/links", 404, "not_found", json={"target": "nobody"})
    await visitor.refused("DELETE", "/memories/one/links", 404, "not_found", params={"target": "nobody"})


async def test_removing_an_edge_that_is_not_there(visitor: Visitor, ends: tuple[str, str]) -> None:
    reported = await visitor.ask("DELETE", "/memories/one/links", params={"target": "two"})
    assert reported.json()["action"] == "unchanged"


async def test_an_edge_needs_two_ends_and_a_kind(visitor: Visitor, ends: tuple[str, str]) -> None:
    for body, field in (({}, "target"), ({"target": ""}, "target"), ({"target": "two", "relation": ""}, "relation")):
        problem = await visitor.refused("POST", "/memories/one/links", 422, "invalid_input", json=body)
        assert problem["field"] == field
    await visitor.refused("DELETE", "/memories/one/links", 422, "invalid_input")
    await visitor.refused("POST", "/memories/one/links", 422, "invalid_input", json={"target": "one"})
