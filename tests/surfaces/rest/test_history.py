"""The history of a memory by REST: versions, diffs, reverts and undo."""

from tests.surfaces.rest.checked_client import CheckedClient


async def _revise(client: CheckedClient, times: int) -> str:
    path = f"/memories/{(await client.remember('first line', title='Title 1'))['id']}"
    for number in range(2, times + 2):
        await client.request("PATCH", path, json={"title": f"Title {number}", "message": f"change {number}"})
    return path


async def test_versions_newest_first_and_page_by_page(client: CheckedClient) -> None:
    path = await _revise(client, 4)
    result = await client.get(f"{path}/versions")
    assert [first_agent["number"] for first_agent in result["versions"]] == [5, 4, 3, 2, 1]
    assert [first_agent["message"] for first_agent in result["versions"]][:2] == ["change 5", "change 4"]
    assert result["versions"][0]["memory"]["title"] == "Title 5"
    page = await client.get(f"{path}/versions", params={"limit": 2})
    assert [first_agent["number"] for first_agent in page["versions"]] == [5, 4]
    page = await client.get(f"{path}/versions", params={"limit": 2, "before": 4})
    assert [first_agent["number"] for first_agent in page["versions"]] == [3, 2]
    page = await client.get(f"{path}/versions", params={"before": 1})
    assert page["versions"] == []


async def test_two_versions_are_compared(client: CheckedClient) -> None:
    path = await _revise(client, 2)
    result = await client.get(f"{path}/diff", params={"from": 1, "to": 3})
    (change,) = result["diff"]
    assert (change["field"], change["before"], change["after"]) == ("title", "Title 1", "Title 3")
    (back,) = (await client.get(f"{path}/diff", params={"from": 3, "to": 1}))["diff"]
    assert (back["before"], back["after"]) == ("Title 3", "Title 1")
    assert (await client.get(f"{path}/diff", params={"from": 2, "to": 2}))["diff"] == []
    await client.refused("GET", f"{path}/diff", 404, "not_found", params={"from": 1, "to": 9})


async def test_a_diff_needs_both_versions(client: CheckedClient) -> None:
    path = await _revise(client, 1)
    for params, field in (({"from": 1}, "to"), ({"to": 1}, "from"), ({}, "from")):
        problem = await client.refused("GET", f"{path}/diff", 422, "invalid_input", params=params)
        assert (problem["field"], problem["detail"]) == (field, f"{field} is missing")
    problem = await client.refused("GET", f"{path}/diff", 422, "invalid_input", params={"from": 0, "to": 1})
    assert problem["detail"] == "version must be at least 1, not 0"
    await client.refused("GET", f"{path}/diff", 404, "not_found", params={"from": 1, "to": "nowhere"})


async def test_a_memory_is_reverted_to_a_version(client: CheckedClient) -> None:
    path = await _revise(client, 2)
    response = await client.request("POST", f"{path}/revert", json={"to": 1, "message": "as it was"})
    assert (response.json()["version"], response.headers["etag"]) == (4, '"4"')
    assert (await client.get(path))["title"] == "Title 1"
    assert (await client.get(f"{path}/versions"))["versions"][0]["message"] == "as it was"
    await client.refused("POST", f"{path}/revert", 404, "not_found", json={"to": 9})


async def test_a_missing_memory_has_no_history(client: CheckedClient) -> None:
    await client.refused("GET", "/memories/nobody/versions", 404, "not_found")
    await client.refused("GET", "/memories/nobody/diff", 404, "not_found", params={"from": 1, "to": 2})
    await client.refused("POST", "/memories/nobody/revert", 404, "not_found", json={"to": 1})


async def test_undo_reverts_the_changes_of_one_agent(client: CheckedClient) -> None:
    first_agent, second_agent = {"x-scrubjay-agent": "one"}, {"x-scrubjay-agent": "Zoë".encode()}
    first = await client.post("/memories", {"text": "of one"}, status=201, headers=first_agent)
    second = await client.post("/memories", {"text": "of another"}, status=201, headers=second_agent)
    assert (await client.get(f"/memories/{second['id']}"))["source"]["agent"] == "Zoë"
    result = await client.post("/undo", {}, headers=first_agent)
    assert [done["id"] for done in result["done"]] == [first["id"]]
    assert (await client.get(f"/memories/{first['id']}"))["state"] == "trashed"
    assert "state" not in await client.get(f"/memories/{second['id']}")
    result = await client.post("/undo", {}, headers=second_agent)
    assert [done["id"] for done in result["done"]] == [second["id"]]
    await client.refused("POST", "/undo", 404, "not_found", json={}, headers=first_agent)


async def test_callers_without_a_name_are_one_agent(client: CheckedClient) -> None:
    result = await client.remember("of nobody")
    assert (await client.get(f"/memories/{result['id']}"))["source"]["agent"] == "rest"
    assert [done["id"] for done in (await client.post("/undo", {}))["done"]] == [result["id"]]


async def test_a_named_run_is_undone_together(client: CheckedClient) -> None:
    run = {"x-scrubjay-run": "tidying"}
    ids = [(await client.post("/memories", {"text": f"text {n}"}, status=201, headers=run))["id"] for n in range(3)]
    await client.remember("of another run")
    result = await client.post("/undo", {"run": "tidying"})
    assert result["run"] == "tidying"
    assert {done["id"] for done in result["done"]} == set(ids)
    assert (await client.get("/status"))["memories"] == {"live": 1, "trashed": 3}
    await client.refused("POST", "/undo", 404, "not_found", json={"run": "nobody's"})
