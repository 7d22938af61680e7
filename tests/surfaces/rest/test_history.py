"""The past of a memory by REST, and ways back."""

from tests.surfaces.rest.checked_client import Visitor


async def _revised(visitor: Visitor, times: int) -> str:
    path = f"/memories/{(await visitor.remember('first line', title='Title 1'))['id']}"
    for number in range(2, times + 2):
        await visitor.ask("PATCH", path, json={"title": f"Title {number}", "message": f"change {number}"})
    return path


async def test_versions_newest_first_and_page_by_page(visitor: Visitor) -> None:
    path = await _revised(visitor, 4)
    reported = await visitor.get(f"{path}/versions")
    assert [item["number"] for item in reported["versions"]] == [5, 4, 3, 2, 1]
    assert [item["message"] for item in reported["versions"]][:2] == ["change 5", "change 4"]
    assert reported["versions"][0]["memory"]["title"] == "Title 5"
    page = await visitor.get(f"{path}/versions", params={"limit": 2})
    assert [item["number"] for item in page["versions"]] == [5, 4]
    page = await visitor.get(f"{path}/versions", params={"limit": 2, "before": 4})
    assert [item["number"] for item in page["versions"]] == [3, 2]
    page = await visitor.get(f"{path}/versions", params={"before": 1})
    assert page["versions"] == []


async def test_how_one_version_became_another(visitor: Visitor) -> None:
    path = await _revised(visitor, 2)
    reported = await visitor.get(f"{path}/diff", params={"from": 1, "to": 3})
    (change,) = reported["diff"]
    assert (change["field"], change["before"], change["after"]) == ("title", "Title 1", "Title 3")
    (back,) = (await visitor.get(f"{path}/diff", params={"from": 3, "to": 1}))["diff"]
    assert (back["before"], back["after"]) == ("Title 3", "Title 1")
    assert (await visitor.get(f"{path}/diff", params={"from": 2, "to": 2}))["diff"] == []
    await visitor.refused("GET", f"{path}/diff", 404, "not_found", params={"from": 1, "to": 9})


async def test_a_diff_needs_both_versions(visitor: Visitor) -> None:
    path = await _revised(visitor, 1)
    for params, field in (({"from": 1}, "to"), ({"to": 1}, "from"), ({}, "from")):
        problem = await visitor.refused("GET", f"{path}/diff", 422, "invalid_input", params=params)
        assert (problem["field"], problem["detail"]) == (field, f"{field} is missing")
    problem = await visitor.refused("GET", f"{path}/diff", 422, "invalid_input", params={"from": 0, "to": 1})
    assert problem["detail"] == "version must be at least 1, not 0"
    await visitor.refused("GET", f"{path}/diff", 404, "not_found", params={"from": 1, "to": "nowhere"})


async def test_back_to_a_version(visitor: Visitor) -> None:
    path = await _revised(visitor, 2)
    response = await visitor.ask("POST", f"{path}/revert", json={"to": 1, "message": "as it was"})
    assert (response.json()["version"], response.headers["etag"]) == (4, '"4"')
    assert (await visitor.get(path))["title"] == "Title 1"
    assert (await visitor.get(f"{path}/versions"))["versions"][0]["message"] == "as it was"
    await visitor.refused("POST", f"{path}/revert", 404, "not_found", json={"to": 9})


async def test_what_is_not_there_has_no_past(visitor: Visitor) -> None:
    await visitor.refused("GET", "/memories/nobody/versions", 404, "not_found")
    await visitor.refused("GET", "/memories/nobody/diff", 404, "not_found", params={"from": 1, "to": 2})
    await visitor.refused("POST", "/memories/nobody/revert", 404, "not_found", json={"to": 1})


async def test_undo_goes_by_agent(visitor: Visitor) -> None:
    item, other = {"x-scrubjay-agent": "one"}, {"x-scrubjay-agent": "Zoë".encode()}
    first = await visitor.post("/memories", {"text": "of one"}, status=201, headers=item)
    second = await visitor.post("/memories", {"text": "of another"}, status=201, headers=other)
    assert (await visitor.get(f"/memories/{second['id']}"))["source"]["agent"] == "Zoë"
    reported = await visitor.post("/undo", {}, headers=item)
    assert [done["id"] for done in reported["done"]] == [first["id"]]
    assert (await visitor.get(f"/memories/{first['id']}"))["state"] == "trashed"
    assert "state" not in await visitor.get(f"/memories/{second['id']}")
    reported = await visitor.post("/undo", {}, headers=other)
    assert [done["id"] for done in reported["done"]] == [second["id"]]
    await visitor.refused("POST", "/undo", 404, "not_found", json={}, headers=item)


async def test_without_a_name_whoever_comes_by_rest_is_one_agent(visitor: Visitor) -> None:
    reported = await visitor.remember("of nobody")
    assert (await visitor.get(f"/memories/{reported['id']}"))["source"]["agent"] == "rest"
    assert [done["id"] for done in (await visitor.post("/undo", {}))["done"]] == [reported["id"]]


async def test_a_named_run_is_taken_back_together(visitor: Visitor) -> None:
    run = {"x-scrubjay-run": "tidying"}
    ids = [(await visitor.post("/memories", {"text": f"text {n}"}, status=201, headers=run))["id"] for n in range(3)]
    await visitor.remember("of another run")
    reported = await visitor.post("/undo", {"run": "tidying"})
    assert reported["run"] == "tidying"
    assert {done["id"] for done in reported["done"]} == set(ids)
    assert (await visitor.get("/status"))["memories"] == {"live": 1, "trashed": 3}
    await visitor.refused("POST", "/undo", 404, "not_found", json={"run": "nobody's"})
