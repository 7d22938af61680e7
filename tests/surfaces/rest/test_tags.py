"""Tags and their synonyms by REST."""

from typing import Any

import pytest
from tests.surfaces.rest.checked_client import Visitor

TEXT = "The kiln in the cellar of the pottery is fired on Thursdays, and must cool until Saturday before it is opened."


async def test_tags_are_listed_with_what_stands_for_them(visitor: Visitor) -> None:
    await visitor.remember(TEXT, tags=["kiln", "pottery", "cellar"])
    reported = await visitor.get("/tags", params={"limit": 2})
    assert [item["memories"] for item in reported["tags"]] == [1, 1]
    assert reported["more"]
    assert (reported["synonyms"], reported["off"]) == ([], [])
    assert {"tag": "cli", "variants": ["lanonasis-cli", "cli-fix"], "named": []} in reported["built_in"]


async def test_synonyms_are_added_tried_out_and_removed(visitor: Visitor) -> None:
    reported = await visitor.post("/tags/synonyms", {"tag": "Payment", "variants": ["paying", "pay_up"]})
    assert reported["synonyms"] == [{"tag": "payment", "variants": ["paying", "pay-up"], "named": []}]
    tried = await visitor.post("/tags/preview", {"tags": ["PAYING", "auth-fix", "oauth", "cli"]})
    assert (tried["after"], tried["suggested"]) == (["payment", "auth", "oauth", "cli"], [])
    assert tried["why"][0] == {"tag": "paying", "becomes": ["payment"], "why": "a synonym in this space"}
    gone = await visitor.ask("DELETE", "/tags/synonyms", params={"variant": ["paying", "pay-up", "db"]})
    assert (gone.json()["synonyms"], gone.json()["off"]) == ([], ["db"])
    assert (await visitor.post("/tags/preview", {"tags": ["paying", "db"]}))["after"] == ["paying", "db"]


@pytest.mark.parametrize(
    ("body", "field"),
    [
        ({"tag": "x"}, "variants"),
        ({"tag": "x", "variants": []}, "variants"),
        ({"tag": "x", "variants": ["X"]}, "variants"),
        ({"tag": "", "variants": ["y"]}, "tag"),
        ({"tag": "x", "variants": ["y"], "more": 1}, "more"),
    ],
)
async def test_what_are_no_synonyms_is_refused(visitor: Visitor, body: dict[str, Any], field: str) -> None:
    problem = await visitor.refused("POST", "/tags/synonyms", 422, "invalid_input", json=body)
    assert problem["field"] == field


async def test_a_circle_is_refused_and_what_stands_for_nothing_is_not_removed(visitor: Visitor) -> None:
    await visitor.post("/tags/synonyms", {"tag": "tea", "variants": ["chai"]})
    problem = await visitor.refused(
        "POST", "/tags/synonyms", 422, "invalid_input", json={"tag": "chai", "variants": ["tea"]}
    )
    assert "tea" in problem["hint"]
    await visitor.refused("DELETE", "/tags/synonyms", 422, "invalid_input", params={"variant": "nothing"})
    await visitor.refused("DELETE", "/tags/synonyms", 422, "invalid_input")
