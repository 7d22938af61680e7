"""Memories by REST: write, read, revise, forget, restore and purge."""

from typing import Any
from urllib.parse import quote

import pytest
from tests.surfaces.rest.checked_client import API, CheckedClient

TEXT = "Sarah prefers voice calls to mail"


async def test_a_new_memory_is_at_its_location(client: CheckedClient) -> None:
    response = await client.request("POST", "/memories", status=201, json={"text": TEXT, "tags": ["contact"]})
    result = response.json()
    assert (result["action"], result["version"], result["tags"][0]) == ("created", 1, "contact")
    assert response.headers["etag"] == '"1"'
    place = response.headers["location"]
    assert place == f"{API}/memories/{result['id']}?space={client.space}"
    results = (await client.web.get(place)).json()
    assert (results["id"], results["content"], results["space"]) == (result["id"], TEXT, client.space)


async def test_the_location_in_the_default_space_names_no_space(client: CheckedClient) -> None:
    response = await client.request("POST", "/memories", status=201, json={"text": TEXT}, params={"space": "default"})
    assert response.headers["location"] == f"{API}/memories/{response.json()['id']}"
    assert (await client.web.get(response.headers["location"])).json()["content"] == TEXT


async def test_a_known_text_is_not_created_again(client: CheckedClient) -> None:
    first = await client.post("/memories", {"text": TEXT}, status=201)
    again = await client.request("POST", "/memories", json={"text": TEXT})
    assert (again.json()["action"], again.json()["id"]) == ("unchanged", first["id"])
    assert "location" not in again.headers
    assert again.headers["etag"] == '"1"'


async def test_a_dry_run_stores_nothing(client: CheckedClient) -> None:
    response = await client.request("POST", "/memories", json={"text": TEXT, "dry_run": True})
    assert (response.json()["action"], response.json()["id"]) == ("created", "")
    assert not {"etag", "location"} & set(response.headers)
    assert (await client.get("/status"))["memories"] == {}


async def test_all_fields_of_a_memory_are_stored(client: CheckedClient) -> None:
    inputs: dict[str, Any] = {
        "text": TEXT, "title": "How to reach Sarah", "kind": "preference", "name": "reach-sarah", "entities": ["Sarah"],
        "observations": ["She is in the office on Mondays"], "tags": ["contact"], "category": "people",
        "project": "acme", "scope": "team", "pinned": True, "expires_at": "2099-01-01T00:00:00Z",
        "remind_at": "2098-01-01T00:00:00Z", "metadata": {"a": None, "b": [1, {"c": 0.5}], "ü": "é"},
        "source": {"session": "s1", "agent": "tester", "at": "2026-01-01T00:00:00Z", "trust": "user"},
    }  # fmt: skip
    result = await client.post("/memories", inputs, status=201)
    memory = await client.get(f"/memories/{result['id']}")
    for name in ("title", "kind", "name", "tags", "category", "project", "scope", "pinned", "metadata"):
        assert memory[name] == inputs[name]
    assert (memory["expires_at"], memory["remind_at"]) == (inputs["expires_at"], inputs["remind_at"])
    assert memory["entity"] == "Sarah"
    assert [observation["text"] for observation in memory["observations"]] == inputs["observations"]
    assert (memory["source"]["session"], memory["source"]["trust"]) == ("s1", "user")


async def test_a_memory_is_read_by_id_name_or_title(client: CheckedClient) -> None:
    result = await client.remember(TEXT, title="Wie man Søren erreicht: 100 % sicher?", name="reach-søren")
    for ref in (result["id"], "reach-søren", "Wie man Søren erreicht: 100 % sicher?"):
        response = await client.request("GET", f"/memories/{quote(ref, safe='')}")
        assert response.json()["id"] == result["id"]
        assert response.headers["etag"] == '"1"'


async def test_if_none_match_with_the_current_version_returns_304(client: CheckedClient) -> None:
    result = await client.remember(TEXT)
    path = f"/memories/{result['id']}"
    for existing in ('"1"', 'W/"1"', '"7", "1"', "*"):
        response = await client.request("GET", path, status=304, headers={"if-none-match": existing})
        assert response.headers["etag"] == '"1"'
    for other in ('"2"', '"11"', '"0"', "1"):
        await client.request("GET", path, headers={"if-none-match": other})


async def test_markdown_on_request(client: CheckedClient) -> None:
    result = await client.remember(TEXT, title="How to reach Sarah")
    for accept in ("text/markdown", "Text/Markdown;q=0.9, */*;q=0.1"):
        response = await client.request("GET", f"/memories/{result['id']}", headers={"accept": accept})
        assert response.headers["content-type"] == "text/markdown; charset=utf-8"
        assert response.headers["vary"] == "accept"
        assert response.text.startswith("# How to reach Sarah")
        assert TEXT in response.text
    assert (await client.request("GET", f"/memories/{result['id']}")).headers["vary"] == "accept"


async def test_an_earlier_version_is_read(client: CheckedClient) -> None:
    result = await client.remember(TEXT)
    path = f"/memories/{result['id']}"
    await client.request("PATCH", path, json={"content": "Sarah prefers mail"})
    first = await client.request("GET", path, params={"version": 1})
    assert (first.json()["content"], first.headers["etag"]) == (TEXT, '"1"')
    assert (await client.get(path))["version"] == 2
    await client.refused("GET", path, 404, "not_found", params={"version": 3})


async def test_a_missing_memory_gets_suggestions(client: CheckedClient) -> None:
    await client.remember(TEXT, name="how-to-reach-sarah")
    problem = await client.refused("GET", "/memories/how-to-reach-sara", 404, "not_found")
    assert problem["suggestions"] == ["how-to-reach-sarah"]
    assert "how-to-reach-sarah" in problem["hint"]
    problem = await client.refused("GET", "/memories/xyzzy", 404, "not_found")
    assert "/search" in problem["hint"]


async def test_an_ambiguous_title_is_refused(client: CheckedClient) -> None:
    for text in ("one text", "another text"):
        await client.remember(text, title="Twice")
    problem = await client.refused("GET", "/memories/Twice", 409, "ambiguous")
    assert problem["detail"]


async def test_several_are_read_at_once(client: CheckedClient) -> None:
    ids = [(await client.remember(f"text number {number}"))["id"] for number in range(3)]
    result = await client.post("/memories/read", {"ids": [*ids, "nobody"], "format": "plain"})
    assert [memory["id"] for memory in result["memories"]] == ids
    assert len(result["texts"]) == 3
    assert [missing["ref"] for missing in result["missing"]] == ["nobody"]
    result = await client.post("/memories/read", {"ids": ids[:1], "format": "json"})
    assert result["memories"][0]["content"] == "text number 0"
    await client.request("PATCH", f"/memories/{ids[0]}", json={"title": "Other"})
    result = await client.post("/memories/read", {"ids": ids[:1], "version": 1})
    assert result["memories"][0]["version"] == 1


async def test_a_memory_is_revised(client: CheckedClient) -> None:
    result = await client.remember(TEXT, tags=["contact"], observations=["old"], expires_at="2099-01-01")
    path = f"/memories/{result['id']}"
    response = await client.request(
        "PATCH", path,
        json={
            "title": "Reaching Sarah", "tags": [], "tier": "semantic", "relevance": 1, "expires_at": None,
            "add_observations": ["new"], "remove_observations": ["old"], "message": "because",
        },
    )  # fmt: skip
    assert (response.json()["action"], response.headers["etag"]) == ("updated", '"2"')
    results = await client.get(path)
    assert (results["title"], results["content"], results["tier"]) == ("Reaching Sarah", TEXT, "semantic")
    assert "tags" not in results
    assert "expires_at" not in results
    assert [observation["text"] for observation in results["observations"]] == ["new"]
    versions = (await client.get(f"{path}/versions"))["versions"]
    assert versions[0]["message"] == "because"


async def test_a_name_that_is_taken_is_refused(client: CheckedClient) -> None:
    await client.remember("one", name="taken")
    other = await client.remember("another")
    await client.refused("PATCH", f"/memories/{other['id']}", 409, "name_taken", json={"name": "taken"})


async def test_a_memory_is_forgotten_restored_and_purged(client: CheckedClient) -> None:
    result = await client.remember(TEXT)
    path = f"/memories/{result['id']}"
    await client.refused("POST", f"{path}/purge", 409, "wrong_state")
    response = await client.request("DELETE", path, params={"reason": "no longer true"})
    assert (response.json()["action"], response.headers["etag"]) == ("trashed", '"2"')
    assert (await client.request("DELETE", path)).json()["action"] == "unchanged"
    assert (await client.get(path))["state"] == "trashed"
    response = await client.request("POST", f"{path}/restore")
    assert (response.json()["action"], response.headers["etag"]) == ("restored", '"3"')
    await client.request("DELETE", path)
    assert (await client.post(f"{path}/purge"))["action"] == "purged"
    await client.refused("GET", path, 404, "not_found")
    for method, suffix in (("DELETE", ""), ("POST", "/restore"), ("POST", "/purge"), ("PATCH", "")):
        inputs: dict[str, Any] = {"json": {}} if method == "PATCH" else {}
        await client.refused(method, f"{path}{suffix}", 404, "not_found", **inputs)


async def test_memories_of_one_text_can_be_forgotten_together(client: CheckedClient) -> None:
    result = await client.remember(TEXT, entities=["Sarah", "Acme"])
    assert len(result["ids"]) == 2
    await client.request("DELETE", f"/memories/{result['id']}", params={"group": "true"})
    for item in result["ids"]:
        assert (await client.get(f"/memories/{item}"))["state"] == "trashed"


@pytest.mark.parametrize("verb", ["forget", "restore", "purge"])
async def test_many_by_a_filter_and_none_in_a_dry_run(client: CheckedClient, verb: str) -> None:
    ids = {(await client.remember(f"text {number}", tags=["old"]))["id"] for number in range(3)}
    stored = (await client.remember("stays", tags=["new"]))["id"]
    if verb != "forget":
        await client.post("/memories/forget", {"filter": {"tags": ["old"]}})
    action = {"forget": "trashed", "restore": "restored", "purge": "purged"}[verb]
    expected = {"filter": {"any_tags": ["old"]}, "reason": "too old"}
    result = await client.post(f"/memories/{verb}", {**expected, "dry_run": True})
    assert result["dry_run"] is True
    before = (await client.get("/status"))["memories"]
    assert before == ({"live": 4} if verb == "forget" else {"live": 1, "trashed": 3})
    result = await client.post(f"/memories/{verb}", expected)
    assert {outcome["id"] for outcome in result["done"]} == ids
    assert {outcome["action"] for outcome in result["done"]} == {action}
    after = (await client.get("/status"))["memories"]
    assert after == {"forget": {"live": 1, "trashed": 3}, "restore": {"live": 4}, "purge": {"live": 1}}[verb]
    assert "state" not in await client.get(f"/memories/{stored}")


async def test_several_by_name_and_a_missing_one(client: CheckedClient) -> None:
    await client.remember("one", name="one")
    result = await client.post("/memories/forget", {"ids": ["one", "nobody"], "group": True})
    assert [outcome["name"] for outcome in result["done"]] == ["one"]
    assert [missing["ref"] for missing in result["missing"]] == ["nobody"]


@pytest.mark.parametrize("verb", ["forget", "restore", "purge"])
async def test_an_empty_selection_is_refused(client: CheckedClient, verb: str) -> None:
    await client.remember("stays")
    bodies: list[dict[str, Any]] = [{}, {"filter": {}}, {"ids": []}, {"ids": ["a"], "filter": {"kind": "note"}}]
    for body in bodies:
        problem = await client.refused("POST", f"/memories/{verb}", 422, "invalid_input", json=body)
        assert problem["detail"]
    assert (await client.get("/status"))["memories"] == {"live": 1}


async def test_memories_are_listed_page_by_page(client: CheckedClient) -> None:
    ids = [(await client.remember(f"text {number}", kind="fact"))["id"] for number in range(5)]
    other = (await client.remember("something else", kind="decision", tags=["x"]))["id"]
    everything = await client.get("/memories")
    assert [memory["id"] for memory in everything["memories"]] == [other, *reversed(ids)]
    assert everything["memories"][0]["content"] == "something else"
    assert everything["cursor"] == ""
    shown: list[str] = []
    cursor = ""
    for size in (2, 2, 1):
        page = await client.get("/memories", params={"kind": "fact", "limit": 2, "cursor": cursor})
        assert len(page["memories"]) == size
        shown += [memory["id"] for memory in page["memories"]]
        cursor = page["cursor"]
    assert (shown, cursor) == ([*reversed(ids)], "")
    tagged = await client.get("/memories", params={"tags": ["x"], "limit": 1})
    assert [memory["id"] for memory in tagged["memories"]] == [other]
    await client.request("DELETE", f"/memories/{other}")
    trashed = await client.get("/memories", params={"state": "trashed"})
    assert [memory["id"] for memory in trashed["memories"]] == [other]


@pytest.mark.parametrize(
    ("query", "field"),
    [
        ({"cursor": "x"}, "cursor"),
        ({"cursor": "0197f3c2-6d3e-7bb0-b8a5-9f4c1e2d3a4b"}, "cursor"),
        ({"limit": 0}, "limit"),
        ({"limit": 1001}, "limit"),
        ({"state": "gone"}, "state"),
        ({"since": "soon"}, "since"),
        ({"colour": "red"}, "colour"),
    ],
)
async def test_an_invalid_list_is_refused(client: CheckedClient, query: dict[str, Any], field: str) -> None:
    problem = await client.refused("GET", "/memories", 422, "invalid_input", params=query)
    assert problem["field"] == field


async def test_a_batch_has_a_result_for_each_item(client: CheckedClient) -> None:
    body = {"items": [{"text": "the first"}, {"txt": "wrong"}, {"content": "the third", "type": "fact"}, 4]}
    with_objects = {"items": body["items"][:3]}
    dry = await client.post("/memories/batch", {**with_objects, "dry_run": True})
    assert dry["dry_run"] is True
    assert (await client.get("/status"))["memories"] == {}
    problem = await client.refused(
        "POST", "/memories/batch", 422, "invalid_input", json={**with_objects, "atomic": True}
    )
    assert "item 1 (txt)" in problem["detail"]
    assert (await client.get("/status"))["memories"] == {}
    key = {"idempotency-key": "b1"}
    first = await client.post("/memories/batch", with_objects, headers=key)
    assert [item["index"] for item in first["items"]] == [0, 1, 2]
    assert [item["result"] and item["result"]["action"] for item in first["items"]] == ["created", None, "created"]
    assert first["items"][1]["error"]["field"] == "txt"
    again = await client.post("/memories/batch", with_objects, headers=key)
    assert again["items"][0]["result"]["id"] == first["items"][0]["result"]["id"]
    changed = {"items": [{"text": "another"}]}
    await client.refused("POST", "/memories/batch", 422, "key_reused", json=changed, headers=key)
    problem = await client.refused("POST", "/memories/batch", 422, "invalid_input", json=body)
    assert problem["field"] == "items.3"
    stored = await client.get(f"/memories/{first['items'][2]['result']['id']}")
    assert (stored["content"], stored["kind"]) == ("the third", "fact")
