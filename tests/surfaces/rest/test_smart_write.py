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
    assert result["trace"] == []
    dry = await client.post(PATH, BODY | {"dry_run": True, "intent": "new"})
    assert dry["trace"][0]["stage"] == "validate"


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
        problem = await client.refused("POST", path, 422, "rejected", json=body)
        assert "rule `never` matches it" in problem["detail"]
        assert "rules" in problem["hint"]
    await client.refused("POST", "/notes", 422, "rejected", json={"title": TITLE, "content": CONTENT})
    assert (await client.get("/status"))["memories"] == {}


async def test_an_edit_and_a_link_are_refused_like_a_new_text(client: CheckedClient) -> None:
    for name in ("shelves", "kiln"):
        await client.remember(f"Where the {name} stand", name=name)
    note = (await client.post("/notes", {"title": "Bricks", "content": "They are red."}, status=201))["id"]
    await client.request("PATCH", "/rules", json={"never": ["kiln in the cellar"]})
    expected = await client.refused("POST", "/memories", 422, "rejected", json={"text": CONTENT})
    link = {"target": "kiln", "text": "The kiln in the cellar"}
    for method, path, body in (
        ("PATCH", "/memories/kiln", {"text": CONTENT}),
        ("PATCH", f"/notes/{note}", {"content": CONTENT}),
        ("POST", "/memories/shelves/links", link),
    ):
        problem = await client.refused(method, path, 422, "rejected", json=body)
        assert [problem[name] for name in ("detail", "hint")] == [expected[name] for name in ("detail", "hint")]
    assert not (await client.get("/memories/shelves/links"))["links"]


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
        ({"content": " \n"}, "text"),
        ({"content": None}, "content"),
        ({"content": "a\x00b"}, "text"),
        ({"intent": "maybe"}, "intent"),
        ({"tags": "auth"}, "tags"),
        ({"text": "x"}, "content"),
        ({"kind": "x"}, "type"),
        ({"titel": "x"}, "titel"),
        ({"wait_for_llm": "yes"}, "wait_for_llm"),
    ],
)
async def test_invalid_fields_are_named(client: CheckedClient, wrong: dict[str, Any], field: str) -> None:
    problem = await client.refused("POST", PATH, 422, "invalid_input", json=BODY | wrong)
    assert problem["field"] == field


@pytest.mark.parametrize("path", [PATH, "/memories"])
async def test_fields_have_the_same_names_on_every_route(client: CheckedClient, path: str) -> None:
    for number, (text, kind) in enumerate((("text", "kind"), ("content", "type"), ("content", "kind"))):
        body = {text: f"{CONTENT} {number}", kind: "project", "intent": "new"}
        memory = (await client.post(path, body, status=201))["id"]
        await client.request("PATCH", f"/memories/{memory}", json={text: "another text", kind: "fact"})
        stored = await client.get(f"/memories/{memory}")
        assert (stored["content"], stored["kind"]) == ("another text", "fact")
    twice = await client.refused("POST", path, 422, "invalid_input", json={"text": "a", "content": "b"})
    assert twice["hint"] == "`content` is another name of `text`: send one of them"
    for wrong, right in (("txt", "text"), ("contnt", "content"), ("tag", "tags"), ("Title", "title")):
        problem = await client.refused("POST", path, 422, "invalid_input", json={"text": "x", wrong: "y"})
        assert (problem["field"], problem["hint"]) == (wrong, f"Did you mean `{right}`?")


async def test_a_memory_may_have_the_name_of_a_route(client: CheckedClient) -> None:
    await client.remember("what a name for a memory of how we came to write more cleverly", name="smart-write")
    assert (await client.get(PATH))["name"] == "smart-write"
