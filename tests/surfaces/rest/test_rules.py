"""The rules of a space and the inbox, by REST."""

from typing import Any

import pytest
from tests.surfaces.rest.checked_client import CheckedClient
from tests.surfaces.rest.openapi_document import document

from scrubjay.model import rules
from scrubjay.model.rules import Rules

TEXT = "The kiln in the cellar of the pottery is fired on Thursdays, and must cool until Saturday before it is opened."
SECOND = "Wool from the northern farm is washed twice in rain water before anybody at the mill may begin to spin it."


async def test_rules_are_read_changed_and_reset(client: CheckedClient) -> None:
    assert await client.get("/rules") == Rules().as_json
    changes = {"density": "reject", "window_days": 30, "never": ["do not remember*"], "same": 0.9}
    changed = (await client.request("PATCH", "/rules", json=changes)).json()
    assert changed == Rules().as_json | changes
    assert await client.get("/rules") == changed
    assert (await client.request("PATCH", "/rules", json={})).json() == changed
    back = (await client.request("PATCH", "/rules", json={"density": None, "never": None, "same": None})).json()
    assert back == Rules().as_json | {"window_days": 30}
    assert await client.get("/rules", params={"space": f"{client.space}-other"}) == Rules().as_json


@pytest.mark.parametrize(
    ("wrong", "field"),
    [
        ({"gate": "maybe"}, "gate"),
        ({"window_days": -1}, "window_days"),
        ({"window_days": "soon"}, "window_days"),
        ({"same": 1.5}, "same"),
        ({"colour": "red"}, "colour"),
        ({"never": "x"}, "never"),
        ({"least_tags": 9}, "least_tags"),
        ({"never": ["a\x00b"]}, "never"),
    ],
)
async def test_invalid_rules_are_refused(client: CheckedClient, wrong: dict[str, Any], field: str) -> None:
    problem = await client.refused("PATCH", "/rules", 422, "invalid_input", json=wrong)
    assert problem["field"] == field
    assert await client.get("/rules") == Rules().as_json


def test_the_description_lists_every_rule_and_its_choices() -> None:
    request = document()["components"]["schemas"]["SetRulesBody"]["properties"]
    result = document()["components"]["schemas"]["Rules"]["properties"]
    assert list(request) == list(result) == list(Rules().as_json)
    values = {name: item["anyOf"][0] for name, item in request.items()}
    assert {name: tuple(item["enum"]) for name, item in values.items() if "enum" in item} == rules.CHOICES
    bounds = {name: (item["minimum"], item["maximum"]) for name, item in values.items() if item["type"] == "integer"}
    assert bounds == rules.BOUNDS


async def test_waiting_memories_are_approved_or_declined(client: CheckedClient) -> None:
    await client.request("PATCH", "/rules", json={"review": "agents"})
    first = await client.remember(TEXT, name="kiln", source={"method": "agent"})
    second = await client.remember(SECOND, name="wool", source={"method": "agent"})
    waiting = (await client.get("/inbox"))["memories"]
    assert {(item["id"], item["state"]) for item in waiting} == {(first["id"], "waiting"), (second["id"], "waiting")}
    assert len((await client.get("/inbox", params={"limit": 1}))["memories"]) == 1
    assert (await client.get("/search", params={"q": "kiln wool"}))["hits"] == []
    rehearsed = await client.post("/inbox/approve", {"ids": [first["id"]], "dry_run": True})
    assert rehearsed["dry_run"]
    approved = await client.post("/inbox/approve", {"ids": [first["id"], "nobody"]})
    assert [(outcome["action"], outcome["id"]) for outcome in approved["done"]] == [("approved", first["id"])]
    assert [missing["ref"] for missing in approved["missing"]] == ["nobody"]
    declined = await client.post("/inbox/decline", {"ids": [second["id"]], "reason": "not so"})
    assert [outcome["id"] for outcome in declined["done"]] == [second["id"]]
    assert (await client.get("/inbox"))["memories"] == []
    assert [hit["name"] for hit in (await client.get("/search", params={"q": "kiln wool"}))["hits"]] == ["kiln"]
    assert (await client.get(f"/memories/{second['id']}"))["state"] == "trashed"


async def test_nothing_waits_unless_a_rule_says_so(client: CheckedClient) -> None:
    await client.remember(TEXT, source={"method": "agent"})
    assert (await client.get("/inbox"))["memories"] == []
    for path in ("/inbox/approve", "/inbox/decline"):
        await client.refused("POST", path, 422, "invalid_input", json={})
        await client.refused("POST", path, 422, "invalid_input", json={"filter": {}})
