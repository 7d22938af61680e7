"""The rules of a space by REST, and the inbox that one of them fills."""

from typing import Any

import pytest
from tests.surfaces.rest.checked_client import Visitor
from tests.surfaces.rest.openapi_document import document

from scrubjay.model import rules
from scrubjay.model.rules import Rules

TEXT = "The kiln in the cellar of the pottery is fired on Thursdays, and must cool until Saturday before it is opened."
SECOND = "Wool from the northern farm is washed twice in rain water before anybody at the mill may begin to spin it."


async def test_rules_are_told_changed_and_reset(visitor: Visitor) -> None:
    assert await visitor.get("/rules") == Rules().as_json
    changes = {"density": "reject", "window_days": 30, "never": ["do not remember*"], "same": 0.9}
    changed = (await visitor.ask("PATCH", "/rules", json=changes)).json()
    assert changed == Rules().as_json | changes
    assert await visitor.get("/rules") == changed
    assert (await visitor.ask("PATCH", "/rules", json={})).json() == changed
    back = (await visitor.ask("PATCH", "/rules", json={"density": None, "never": None, "same": None})).json()
    assert back == Rules().as_json | {"window_days": 30}
    assert await visitor.get("/rules", params={"space": f"{visitor.space}-other"}) == Rules().as_json


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
async def test_what_is_no_rule_is_refused(visitor: Visitor, wrong: dict[str, Any], field: str) -> None:
    problem = await visitor.refused("PATCH", "/rules", 422, "invalid_input", json=wrong)
    assert problem["field"] == field
    assert await visitor.get("/rules") == Rules().as_json


def test_the_description_knows_every_rule_and_its_choices() -> None:
    request = document()["components"]["schemas"]["RulesAsked"]["properties"]
    reported = document()["components"]["schemas"]["Rules"]["properties"]
    assert list(request) == list(reported) == list(Rules().as_json)
    values = {name: item["anyOf"][0] for name, item in request.items()}
    assert {name: tuple(item["enum"]) for name, item in values.items() if "enum" in item} == rules.CHOICES
    bounds = {name: (item["minimum"], item["maximum"]) for name, item in values.items() if item["type"] == "integer"}
    assert bounds == rules.BOUNDS


async def test_what_waits_is_approved_or_declined(visitor: Visitor) -> None:
    await visitor.ask("PATCH", "/rules", json={"review": "agents"})
    first = await visitor.remember(TEXT, name="kiln", source={"method": "agent"})
    second = await visitor.remember(SECOND, name="wool", source={"method": "agent"})
    waiting = (await visitor.get("/inbox"))["memories"]
    assert {(item["id"], item["state"]) for item in waiting} == {(first["id"], "waiting"), (second["id"], "waiting")}
    assert len((await visitor.get("/inbox", params={"limit": 1}))["memories"]) == 1
    assert (await visitor.get("/search", params={"q": "kiln wool"}))["hits"] == []
    rehearsed = await visitor.post("/inbox/approve", {"ids": [first["id"]], "dry_run": True})
    assert rehearsed["dry_run"]
    approved = await visitor.post("/inbox/approve", {"ids": [first["id"], "nobody"]})
    assert [(item["action"], item["id"]) for item in approved["done"]] == [("approved", first["id"])]
    assert [item["ref"] for item in approved["missing"]] == ["nobody"]
    declined = await visitor.post("/inbox/decline", {"ids": [second["id"]], "reason": "not so"})
    assert [item["id"] for item in declined["done"]] == [second["id"]]
    assert (await visitor.get("/inbox"))["memories"] == []
    assert [item["name"] for item in (await visitor.get("/search", params={"q": "kiln wool"}))["hits"]] == ["kiln"]
    assert (await visitor.get(f"/memories/{second['id']}"))["state"] == "trashed"


async def test_nothing_waits_unless_a_rule_says_so(visitor: Visitor) -> None:
    await visitor.remember(TEXT, source={"method": "agent"})
    assert (await visitor.get("/inbox"))["memories"] == []
    for path in ("/inbox/approve", "/inbox/decline"):
        await visitor.refused("POST", path, 422, "invalid_input", json={})
        await visitor.refused("POST", path, 422, "invalid_input", json={"filter": {}})
