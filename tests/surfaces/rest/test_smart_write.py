"""`smart-write`: creates a memory, or appends to one."""

from typing import Any

import pytest
from tests.surfaces.rest.checked_client import API, CheckedClient

TITLE = "The kiln of the pottery"
CONTENT = (
    "The kiln in the cellar of the pottery is fired on Thursdays, and must cool until Saturday before it is opened."
)
BODY: dict[str, Any] = {
    "title": TITLE, "content": CONTENT, "type": "project", "tags": ["pottery", "kiln", "schedule"],
}  # fmt: skip
PATH = "/memories/smart-write"


async def test_new_content_is_created(client: CheckedClient) -> None:
    response = await client.request("POST", PATH, status=201, json=BODY)
    result = response.json()
    assert (result["action"], result["version"], response.headers["etag"]) == ("created", 1, '"1"')
    assert response.headers["location"] == f"{API}/memories/{result['id']}?space={client.space}"
    memory = await client.get(f"/memories/{result['id']}")
    assert (memory["title"], memory["content"], memory["kind"]) == (TITLE, CONTENT, "project")
    assert result["trace"][0]["stage"] == "validate"


async def test_known_content_is_not_created_again(client: CheckedClient) -> None:
    first = await client.post(PATH, BODY, status=201)
    again = await client.request("POST", PATH, json=BODY)
    assert (again.json()["action"], again.json()["id"]) == ("unchanged", first["id"])
    assert "location" not in again.headers
    other = await client.post(PATH, BODY | {"intent": "new"}, status=201)
    assert other["id"] != first["id"]


async def test_a_continued_session_is_merged(client: CheckedClient) -> None:
    first = await client.post(PATH, BODY | {"session_hint": "kiln"}, status=201)
    more = {"content": "The shelves of the kiln are to be washed with lime before every firing.", "intent": "continue"}
    response = await client.request("POST", PATH, json=more | {"session_hint": "kiln"})
    result = response.json()
    assert (result["action"], result["merged_into"]) == ("merged", first["id"])
    assert "location" not in response.headers
    memory = await client.get(f"/memories/{first['id']}")
    assert memory["content"].startswith(CONTENT)
    assert more["content"] in memory["content"]
    other = await client.post(PATH, more | {"session_hint": "kiln", "intent": "new"}, status=201)
    assert other["merged_into"] == ""


async def test_a_forbidden_text_is_refused_with_the_reason(client: CheckedClient) -> None:
    await client.request("PATCH", "/rules", json={"never": ["kiln in the cellar"]})
    for path, body in ((PATH, BODY), ("/memories", {"text": CONTENT})):
        response = await client.request("POST", path, json=body)
        result = response.json()
        assert (result["action"], result["id"], result["ids"]) == ("rejected", "", [])
        assert result["warnings"] or result["trace"][-1]["why"]
        assert not {"etag", "location"} & set(response.headers)
    assert (await client.get("/status"))["memories"] == {}


async def test_a_thin_text_is_stored_and_flagged(client: CheckedClient) -> None:
    result = await client.post(PATH, {"content": "fixed it"}, status=201)
    assert result["flags"] == ["thin"]
    assert result["warnings"]
    assert (await client.get(f"/memories/{result['id']}"))["flags"] == ["thin"]


async def test_a_dry_run_stores_nothing(client: CheckedClient) -> None:
    result = await client.post(PATH, BODY | {"dry_run": True})
    assert (result["action"], result["id"]) == ("created", "")
    assert (await client.get("/status"))["memories"] == {}


async def test_a_retry_gets_the_first_response(client: CheckedClient) -> None:
    key = {"idempotency-key": "k1"}
    first = await client.post(PATH, BODY, status=201, headers=key)
    assert (await client.post(PATH, BODY, status=201, headers=key))["id"] == first["id"]
    await client.refused("POST", PATH, 422, "key_reused", json=BODY | {"content": "another"}, headers=key)


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
async def test_invalid_fields_are_named(client: CheckedClient, wrong: dict[str, Any], field: str) -> None:
    problem = await client.refused("POST", PATH, 422, "invalid_input", json=BODY | wrong)
    assert problem["field"] == field


async def test_a_memory_may_have_the_name_of_a_route(client: CheckedClient) -> None:
    await client.remember("what a name for a memory of how we came to write more cleverly", name="smart-write")
    assert (await client.get(PATH))["name"] == "smart-write"
