"""Memories by REST: kept, read, changed, put into the trash and taken out of it."""

from typing import Any
from urllib.parse import quote

import pytest
from tests.surfaces.rest.checked_client import API, Visitor

TEXT = "Sarah prefers voice calls to mail"


async def test_a_new_memory_is_created_where_the_answer_says(visitor: Visitor) -> None:
    response = await visitor.ask("POST", "/memories", status=201, json={"text": TEXT, "tags": ["contact"]})
    reported = response.json()
    assert (reported["action"], reported["version"], reported["tags"][0]) == ("created", 1, "contact")
    assert response.headers["etag"] == '"1"'
    place = response.headers["location"]
    assert place == f"{API}/memories/{reported['id']}?space={visitor.space}"
    results = (await visitor.web.get(place)).json()
    assert (results["id"], results["content"], results["space"]) == (reported["id"], TEXT, visitor.space)


async def test_in_the_space_of_its_own_a_memory_needs_no_space_to_be_found(visitor: Visitor) -> None:
    response = await visitor.ask("POST", "/memories", status=201, json={"text": TEXT}, params={"space": "default"})
    assert response.headers["location"] == f"{API}/memories/{response.json()['id']}"
    assert (await visitor.web.get(response.headers["location"])).json()["content"] == TEXT


async def test_what_is_known_already_is_not_created_again(visitor: Visitor) -> None:
    first = await visitor.post("/memories", {"text": TEXT}, status=201)
    again = await visitor.ask("POST", "/memories", json={"text": TEXT})
    assert (again.json()["action"], again.json()["id"]) == ("unchanged", first["id"])
    assert "location" not in again.headers
    assert again.headers["etag"] == '"1"'


async def test_a_dry_run_keeps_nothing(visitor: Visitor) -> None:
    response = await visitor.ask("POST", "/memories", json={"text": TEXT, "dry_run": True})
    assert (response.json()["action"], response.json()["id"]) == ("created", "")
    assert not {"etag", "location"} & set(response.headers)
    assert (await visitor.get("/status"))["memories"] == {}


async def test_all_that_can_be_said_of_a_memory_is_kept(visitor: Visitor) -> None:
    inputs: dict[str, Any] = {
        "text": TEXT, "title": "How to reach Sarah", "kind": "preference", "name": "reach-sarah", "entities": ["Sarah"],
        "observations": ["She is in the office on Mondays"], "tags": ["contact"], "category": "people",
        "project": "acme", "scope": "team", "pinned": True, "expires_at": "2099-01-01T00:00:00Z",
        "remind_at": "2098-01-01T00:00:00Z", "metadata": {"a": None, "b": [1, {"c": 0.5}], "ü": "é"},
        "source": {"session": "s1", "agent": "tester", "at": "2026-01-01T00:00:00Z", "trust": "user"},
    }  # fmt: skip
    reported = await visitor.post("/memories", inputs, status=201)
    results = await visitor.get(f"/memories/{reported['id']}")
    for name in ("title", "kind", "name", "tags", "category", "project", "scope", "pinned", "metadata"):
        assert results[name] == inputs[name]
    assert (results["expires_at"], results["remind_at"]) == (inputs["expires_at"], inputs["remind_at"])
    assert results["entity"] == "Sarah"
    assert [item["text"] for item in results["observations"]] == inputs["observations"]
    assert (results["source"]["session"], results["source"]["trust"]) == ("s1", "user")


async def test_a_memory_is_read_by_id_name_or_title(visitor: Visitor) -> None:
    reported = await visitor.remember(TEXT, title="Wie man Søren erreicht: 100 % sicher?", name="reach-søren")
    for ref in (reported["id"], "reach-søren", "Wie man Søren erreicht: 100 % sicher?"):
        response = await visitor.ask("GET", f"/memories/{quote(ref, safe='')}")
        assert response.json()["id"] == reported["id"]
        assert response.headers["etag"] == '"1"'


async def test_a_memory_that_the_caller_has_is_not_sent_again(visitor: Visitor) -> None:
    reported = await visitor.remember(TEXT)
    path = f"/memories/{reported['id']}"
    for existing in ('"1"', 'W/"1"', '"7", "1"', "*"):
        response = await visitor.ask("GET", path, status=304, headers={"if-none-match": existing})
        assert response.headers["etag"] == '"1"'
    for other in ('"2"', '"11"', '"0"', "1"):
        await visitor.ask("GET", path, headers={"if-none-match": other})


async def test_markdown_for_those_who_ask_for_it(visitor: Visitor) -> None:
    reported = await visitor.remember(TEXT, title="How to reach Sarah")
    for accept in ("text/markdown", "Text/Markdown;q=0.9, */*;q=0.1"):
        response = await visitor.ask("GET", f"/memories/{reported['id']}", headers={"accept": accept})
        assert response.headers["content-type"] == "text/markdown; charset=utf-8"
        assert response.headers["vary"] == "accept"
        assert response.text.startswith("# How to reach Sarah")
        assert TEXT in response.text
    assert (await visitor.ask("GET", f"/memories/{reported['id']}")).headers["vary"] == "accept"


async def test_an_earlier_version_is_read(visitor: Visitor) -> None:
    reported = await visitor.remember(TEXT)
    path = f"/memories/{reported['id']}"
    await visitor.ask("PATCH", path, json={"content": "Sarah prefers mail"})
    first = await visitor.ask("GET", path, params={"version": 1})
    assert (first.json()["content"], first.headers["etag"]) == (TEXT, '"1"')
    assert (await visitor.get(path))["version"] == 2
    await visitor.refused("GET", path, 404, "not_found", params={"version": 3})


async def test_what_is_missing_is_named_with_what_is_near(visitor: Visitor) -> None:
    await visitor.remember(TEXT, name="how-to-reach-sarah")
    problem = await visitor.refused("GET", "/memories/how-to-reach-sara", 404, "not_found")
    assert problem["suggestions"] == ["how-to-reach-sarah"]
    assert "how-to-reach-sarah" in problem["hint"]
    problem = await visitor.refused("GET", "/memories/xyzzy", 404, "not_found")
    assert "/search" in problem["hint"]


async def test_who_means_several_is_asked_which(visitor: Visitor) -> None:
    for text in ("one text", "another text"):
        await visitor.remember(text, title="Twice")
    problem = await visitor.refused("GET", "/memories/Twice", 409, "ambiguous")
    assert problem["detail"]


async def test_several_are_read_at_once(visitor: Visitor) -> None:
    ids = [(await visitor.remember(f"text number {number}"))["id"] for number in range(3)]
    reported = await visitor.post("/memories/read", {"ids": [*ids, "nobody"], "format": "plain"})
    assert [item["id"] for item in reported["memories"]] == ids
    assert len(reported["texts"]) == 3
    assert [item["ref"] for item in reported["missing"]] == ["nobody"]
    reported = await visitor.post("/memories/read", {"ids": ids[:1], "format": "json"})
    assert reported["memories"][0]["content"] == "text number 0"
    await visitor.ask("PATCH", f"/memories/{ids[0]}", json={"title": "Other"})
    reported = await visitor.post("/memories/read", {"ids": ids[:1], "version": 1})
    assert reported["memories"][0]["version"] == 1


async def test_a_memory_is_revised(visitor: Visitor) -> None:
    reported = await visitor.remember(TEXT, tags=["contact"], observations=["old"], expires_at="2099-01-01")
    path = f"/memories/{reported['id']}"
    response = await visitor.ask(
        "PATCH", path,
        json={
            "title": "Reaching Sarah", "tags": [], "tier": "semantic", "relevance": 1, "expires_at": None,
            "add_observations": ["new"], "remove_observations": ["old"], "message": "because",
        },
    )  # fmt: skip
    assert (response.json()["action"], response.headers["etag"]) == ("updated", '"2"')
    results = await visitor.get(path)
    assert (results["title"], results["content"], results["tier"]) == ("Reaching Sarah", TEXT, "semantic")
    assert "tags" not in results
    assert "expires_at" not in results
    assert [item["text"] for item in results["observations"]] == ["new"]
    versions = (await visitor.get(f"{path}/versions"))["versions"]
    assert versions[0]["message"] == "because"


async def test_a_name_that_is_taken_is_refused(visitor: Visitor) -> None:
    await visitor.remember("one", name="taken")
    other = await visitor.remember("another")
    await visitor.refused("PATCH", f"/memories/{other['id']}", 409, "name_taken", json={"name": "taken"})


async def test_a_memory_goes_into_the_trash_and_comes_back_and_is_gone(visitor: Visitor) -> None:
    reported = await visitor.remember(TEXT)
    path = f"/memories/{reported['id']}"
    await visitor.refused("POST", f"{path}/purge", 409, "wrong_state")
    response = await visitor.ask("DELETE", path, params={"reason": "no longer true"})
    assert (response.json()["action"], response.headers["etag"]) == ("trashed", '"2"')
    assert (await visitor.ask("DELETE", path)).json()["action"] == "unchanged"
    assert (await visitor.get(path))["state"] == "trashed"
    response = await visitor.ask("POST", f"{path}/restore")
    assert (response.json()["action"], response.headers["etag"]) == ("restored", '"3"')
    await visitor.ask("DELETE", path)
    assert (await visitor.post(f"{path}/purge"))["action"] == "purged"
    await visitor.refused("GET", path, 404, "not_found")
    for method, end in (("DELETE", ""), ("POST", "/restore"), ("POST", "/purge"), ("PATCH", "")):
        inputs: dict[str, Any] = {"json": {}} if method == "PATCH" else {}
        await visitor.refused(method, f"{path}{end}", 404, "not_found", **inputs)


async def test_what_was_made_from_one_text_can_go_together(visitor: Visitor) -> None:
    reported = await visitor.remember(TEXT, entities=["Sarah", "Acme"])
    assert len(reported["ids"]) == 2
    await visitor.ask("DELETE", f"/memories/{reported['id']}", params={"group": "true"})
    for item in reported["ids"]:
        assert (await visitor.get(f"/memories/{item}"))["state"] == "trashed"


@pytest.mark.parametrize("verb", ["forget", "restore", "purge"])
async def test_many_by_a_filter_and_none_in_a_dry_run(visitor: Visitor, verb: str) -> None:
    ids = {(await visitor.remember(f"text {number}", tags=["old"]))["id"] for number in range(3)}
    stored = (await visitor.remember("stays", tags=["new"]))["id"]
    if verb != "forget":
        await visitor.post("/memories/forget", {"filter": {"tags": ["old"]}})
    action = {"forget": "trashed", "restore": "restored", "purge": "purged"}[verb]
    expected = {"filter": {"any_tags": ["old"]}, "reason": "too old"}
    reported = await visitor.post(f"/memories/{verb}", {**expected, "dry_run": True})
    assert reported["dry_run"] is True
    before = (await visitor.get("/status"))["memories"]
    assert before == ({"live": 4} if verb == "forget" else {"live": 1, "trashed": 3})
    reported = await visitor.post(f"/memories/{verb}", expected)
    assert {item["id"] for item in reported["done"]} == ids
    assert {item["action"] for item in reported["done"]} == {action}
    after = (await visitor.get("/status"))["memories"]
    assert after == {"forget": {"live": 1, "trashed": 3}, "restore": {"live": 4}, "purge": {"live": 1}}[verb]
    assert "state" not in await visitor.get(f"/memories/{stored}")


async def test_many_by_name_and_what_is_missing(visitor: Visitor) -> None:
    await visitor.remember("one", name="one")
    reported = await visitor.post("/memories/forget", {"ids": ["one", "nobody"], "group": True})
    assert [item["name"] for item in reported["done"]] == ["one"]
    assert [item["ref"] for item in reported["missing"]] == ["nobody"]


@pytest.mark.parametrize("verb", ["forget", "restore", "purge"])
async def test_nothing_chosen_is_not_everything(visitor: Visitor, verb: str) -> None:
    await visitor.remember("stays")
    bodies: list[dict[str, Any]] = [{}, {"filter": {}}, {"ids": []}, {"ids": ["a"], "filter": {"kind": "note"}}]
    for body in bodies:
        problem = await visitor.refused("POST", f"/memories/{verb}", 422, "invalid_input", json=body)
        assert problem["detail"]
    assert (await visitor.get("/status"))["memories"] == {"live": 1}
