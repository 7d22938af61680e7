"""`smart-write`: a memory of its own, or more of another; and what is told of each."""

from typing import Any

import pytest
from tests.surfaces.rest.checked_client import API, Visitor

TITLE = "The kiln of the pottery"
CONTENT = (
    "The kiln in the cellar of the pottery is fired on Thursdays, and must cool until Saturday before it is opened."
)
GIVEN: dict[str, Any] = {
    "title": TITLE, "content": CONTENT, "type": "project", "tags": ["pottery", "kiln", "schedule"],
}  # fmt: skip
PATH = "/memories/smart-write"


async def test_what_is_new_is_created(visitor: Visitor) -> None:
    response = await visitor.ask("POST", PATH, status=201, json=GIVEN)
    reported = response.json()
    assert (reported["action"], reported["version"], response.headers["etag"]) == ("created", 1, '"1"')
    assert response.headers["location"] == f"{API}/memories/{reported['id']}?space={visitor.space}"
    results = await visitor.get(f"/memories/{reported['id']}")
    assert (results["title"], results["content"], results["kind"]) == (TITLE, CONTENT, "project")
    assert reported["trace"][0]["stage"] == "validate"


async def test_what_is_known_is_not_created_again(visitor: Visitor) -> None:
    first = await visitor.post(PATH, GIVEN, status=201)
    again = await visitor.ask("POST", PATH, json=GIVEN)
    assert (again.json()["action"], again.json()["id"]) == ("unchanged", first["id"])
    assert "location" not in again.headers
    other = await visitor.post(PATH, GIVEN | {"intent": "new"}, status=201)
    assert other["id"] != first["id"]


async def test_what_goes_on_with_a_session_is_merged(visitor: Visitor) -> None:
    first = await visitor.post(PATH, GIVEN | {"session_hint": "kiln"}, status=201)
    more = {"content": "The shelves of the kiln are to be washed with lime before every firing.", "intent": "continue"}
    response = await visitor.ask("POST", PATH, json=more | {"session_hint": "kiln"})
    reported = response.json()
    assert (reported["action"], reported["merged_into"]) == ("merged", first["id"])
    assert "location" not in response.headers
    results = await visitor.get(f"/memories/{first['id']}")
    assert results["content"].startswith(CONTENT)
    assert more["content"] in results["content"]
    other = await visitor.post(PATH, more | {"session_hint": "kiln", "intent": "new"}, status=201)
    assert other["merged_into"] == ""


async def test_what_a_rule_forbids_is_refused_with_its_reason(visitor: Visitor) -> None:
    await visitor.ask("PATCH", "/rules", json={"never": ["kiln in the cellar"]})
    for path, body in ((PATH, GIVEN), ("/memories", {"text": CONTENT})):
        response = await visitor.ask("POST", path, json=body)
        reported = response.json()
        assert (reported["action"], reported["id"], reported["ids"]) == ("rejected", "", [])
        assert reported["warnings"] or reported["trace"][-1]["why"]
        assert not {"etag", "location"} & set(response.headers)
    assert (await visitor.get("/status"))["memories"] == {}


async def test_a_thin_text_is_kept_and_marked(visitor: Visitor) -> None:
    reported = await visitor.post(PATH, {"content": "fixed it"}, status=201)
    assert reported["flags"] == ["thin"]
    assert reported["warnings"]
    assert (await visitor.get(f"/memories/{reported['id']}"))["flags"] == ["thin"]


async def test_a_rehearsal_keeps_nothing(visitor: Visitor) -> None:
    reported = await visitor.post(PATH, GIVEN | {"dry_run": True})
    assert (reported["action"], reported["id"]) == ("created", "")
    assert (await visitor.get("/status"))["memories"] == {}


async def test_a_retry_gets_the_first_answer(visitor: Visitor) -> None:
    key = {"idempotency-key": "k1"}
    first = await visitor.post(PATH, GIVEN, status=201, headers=key)
    assert (await visitor.post(PATH, GIVEN, status=201, headers=key))["id"] == first["id"]
    await visitor.refused("POST", PATH, 422, "key_reused", json=GIVEN | {"content": "another"}, headers=key)


@pytest.mark.parametrize(
    ("wrong", "field"),
    [
        ({"content": " \n"}, "content"),
        ({"content": None}, "content"),
        ({"content": "a\x00b"}, "text"),
        ({"intent": "maybe"}, "intent"),
        ({"tags": "auth"}, "tags"),
        ({"text": "x"}, "text"),
        ({"wait_for_llm": "yes"}, "wait_for_llm"),
    ],
)
async def test_what_is_wrong_is_named(visitor: Visitor, wrong: dict[str, Any], field: str) -> None:
    problem = await visitor.refused("POST", PATH, 422, "invalid_input", json=GIVEN | wrong)
    assert problem["field"] == field


async def test_a_memory_may_be_called_so_too(visitor: Visitor) -> None:
    await visitor.remember("what a name for a memory of how we came to write more cleverly", name="smart-write")
    assert (await visitor.get(PATH))["name"] == "smart-write"
