"""Tags and their synonyms by REST."""

from typing import Any

import pytest
from tests.surfaces.rest.checked_client import CheckedClient

TEXT = "The kiln in the cellar of the pottery is fired on Thursdays, and must cool until Saturday before it is opened."


async def test_tags_are_listed_with_their_synonyms(client: CheckedClient) -> None:
    await client.remember(TEXT, tags=["kiln", "pottery", "cellar"])
    result = await client.get("/tags", params={"limit": 2})
    assert [tag["memories"] for tag in result["tags"]] == [1, 1]
    assert result["more"]
    assert (result["synonyms"], result["off"]) == ([], [])
    assert {"tag": "cli", "variants": ["lanonasis-cli", "cli-fix"], "named": []} in result["built_in"]


async def test_synonyms_are_added_previewed_and_removed(client: CheckedClient) -> None:
    result = await client.post("/tags/synonyms", {"tag": "Payment", "variants": ["paying", "pay_up"]})
    assert result["synonyms"] == [{"tag": "payment", "variants": ["paying", "pay-up"], "named": []}]
    tried = await client.post("/tags/preview", {"tags": ["PAYING", "auth-fix", "oauth", "cli"]})
    assert (tried["after"], tried["suggested"]) == (["payment", "auth", "oauth", "cli"], [])
    assert tried["why"][0] == {"tag": "paying", "becomes": ["payment"], "why": "a synonym in this space"}
    gone = await client.request("DELETE", "/tags/synonyms", params={"variant": ["paying", "pay-up", "db"]})
    assert (gone.json()["synonyms"], gone.json()["off"]) == ([], ["db"])
    assert (await client.post("/tags/preview", {"tags": ["paying", "db"]}))["after"] == ["paying", "db"]


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
async def test_invalid_synonyms_are_refused(client: CheckedClient, body: dict[str, Any], field: str) -> None:
    problem = await client.refused("POST", "/tags/synonyms", 422, "invalid_input", json=body)
    assert problem["field"] == field


async def test_circular_and_unknown_synonyms_are_refused(client: CheckedClient) -> None:
    await client.post("/tags/synonyms", {"tag": "tea", "variants": ["chai"]})
    problem = await client.refused(
        "POST", "/tags/synonyms", 422, "invalid_input", json={"tag": "chai", "variants": ["tea"]}
    )
    assert "tea" in problem["hint"]
    await client.refused("DELETE", "/tags/synonyms", 422, "invalid_input", params={"variant": "nothing"})
    await client.refused("DELETE", "/tags/synonyms", 422, "invalid_input")
