"""Branches of a memory by REST: each its own version, until they are merged."""

from tests.surfaces.rest.checked_client import Visitor


async def _branched(visitor: Visitor, name: str = "draft", **fields: object) -> str:
    path = f"/memories/{(await visitor.remember('green tea', title='Tea'))['id']}"
    reported = await visitor.post(f"{path}/branches", {"name": name, **fields}, status=201)
    assert [item["name"] for item in reported["branches"]] == ["main", name]
    return path


async def _content(visitor: Visitor, path: str, **params: str) -> str:
    return str((await visitor.get(path, params=params))["content"])


async def test_work_on_a_branch_is_not_seen_on_main(visitor: Visitor) -> None:
    path = await _branched(visitor, "what/if", description="What if?")
    draft = {"branch": "what/if"}
    done = await visitor.ask("PATCH", path, json={"content": "black tea"}, params=draft)
    assert (done.json()["branch"], done.headers["etag"]) == ("what/if", '"3~what%2Fif"')
    assert (await _content(visitor, path), await _content(visitor, path, **draft)) == ("green tea", "black tea")
    assert [item["passage"] for item in (await visitor.get("/search", params={"q": "tea"}))["hits"]] == ["green tea"]
    results = await visitor.get("/search", params={"q": "tea", **draft})
    assert [item["passage"] for item in results["hits"]] == ["black tea"]
    reported = await visitor.get(f"{path}/versions", params=draft)
    assert (reported["branch"], reported["versions"][0]["number"]) == ("what/if", 3)
    (change,) = (await visitor.get(f"{path}/diff", params={"from": "main", "to": "what/if"}))["diff"]
    assert (change["before"], change["after"]) == ("green tea", "black tea")
    done = await visitor.ask("POST", f"{path}/revert", json={"to": 1}, params=draft)
    assert (done.json()["branch"], await _content(visitor, path, **draft)) == ("what/if", "green tea")


async def test_a_memory_is_switched_and_goes_by_the_branch_of_its_etag(visitor: Visitor) -> None:
    path = await _branched(visitor, switch=True)
    response = await visitor.ask("GET", path)
    assert response.headers["etag"] == '"2~draft"'
    assert (await visitor.post(f"{path}/branches/main/switch"))["current"] == "main"
    done = await visitor.ask("PATCH", path, json={"content": "black tea"}, headers={"if-match": '"2~draft"'})
    assert done.json()["branch"] == "draft"
    assert await _content(visitor, path) == "green tea"
    stale = {"if-match": '"2~draft"'}
    await visitor.refused("POST", f"{path}/revert", 412, "stale_version", json={"to": 1}, headers=stale)
    assert (await visitor.get(f"{path}/branches"))["current"] == "main"


async def test_a_branch_is_merged_and_dropped(visitor: Visitor) -> None:
    path = await _branched(visitor)
    await visitor.ask("PATCH", path, json={"content": "black tea"}, params={"branch": "draft"})
    done = await visitor.ask("POST", f"{path}/branches/draft/merge", json={"message": "so it is"})
    assert (done.json()["action"], done.headers["etag"]) == ("merged", '"2"')
    assert await _content(visitor, path) == "black tea"
    reported = await visitor.ask("DELETE", f"{path}/branches/draft")
    assert [item["name"] for item in reported.json()["branches"]] == ["main"]
    problem = await visitor.refused("DELETE", f"{path}/branches/draft", 404, "not_found")
    assert "It was dropped" in problem["hint"]
    back = await visitor.ask("POST", f"{path}/restore", params={"branch": "draft"})
    assert (back.json()["branch"], back.headers["etag"]) == ("draft", '"6~draft"')
    assert await _content(visitor, path, branch="draft") == "black tea"


async def test_clashes_are_told_and_nothing_is_done(visitor: Visitor) -> None:
    path = await _branched(visitor)
    await visitor.ask("PATCH", path, json={"content": "black tea"}, params={"branch": "draft"})
    await visitor.ask("PATCH", path, json={"content": "white tea"})
    problem = await visitor.refused("POST", f"{path}/branches/draft/merge", 409, "conflict", json={})
    (clash,) = problem["clashes"]
    assert clash == {"field": "content", "base": "green tea", "ours": "white tea", "theirs": "black tea"}
    assert "prefer" in problem["hint"]
    assert await _content(visitor, path) == "white tea"
    await visitor.post(f"{path}/branches/draft/merge", {"prefer": "theirs"})
    assert await _content(visitor, path) == "black tea"


async def test_a_commit_is_a_version_with_a_message(visitor: Visitor) -> None:
    path = f"/memories/{(await visitor.remember('green tea'))['id']}"
    done = await visitor.ask("POST", f"{path}/commit", json={"message": "as agreed"})
    assert (done.json()["version"], done.headers["etag"]) == (2, '"2"')
    again = [
        await visitor.post(f"{path}/commit", {"message": "once"}, headers={"idempotency-key": "k"}) for _ in range(2)
    ]
    assert [item["version"] for item in again] == [3, 3]
    assert [item["message"] for item in (await visitor.get(f"{path}/versions"))["versions"]] == [
        "once",
        "as agreed",
        "",
    ]


async def test_what_is_wrong_with_a_branch_is_said(visitor: Visitor) -> None:
    path = await _branched(visitor)
    for name in ("main", "a b", "", "7", "x" * 200):
        await visitor.ask("POST", f"{path}/branches", json={"name": name}, status=422)
    await visitor.refused("POST", f"{path}/branches", 409, "name_taken", json={"name": "draft"})
    await visitor.refused("POST", f"{path}/branches", 404, "not_found", json={"name": "other", "at": 9})
    await visitor.refused("POST", f"{path}/branches/nowhere/switch", 404, "not_found")
    await visitor.refused("POST", f"{path}/branches/draft/merge", 422, "invalid_input", json={"prefer": "mine"})
    await visitor.refused("POST", f"{path}/branches/main/merge", 422, "invalid_input", json={})
    await visitor.refused("DELETE", f"{path}/branches/main", 422, "invalid_input")
    await visitor.refused("GET", path, 404, "not_found", params={"branch": "nowhere"})
    await visitor.refused("POST", f"{path}/commit", 422, "invalid_input", json={"message": " "})
    await visitor.refused("GET", "/memories/nobody/branches", 404, "not_found")


async def test_what_was_remembered_at_a_moment(visitor: Visitor) -> None:
    path = f"/memories/{(await visitor.remember('green tea', name='tea'))['id']}"
    then = (await visitor.get(path))["created_at"]
    await visitor.ask("PATCH", path, json={"content": "black tea"})
    assert await _content(visitor, path, as_of=then) == "green tea"
    (hit,) = (await visitor.get("/search", params={"q": "tea", "as_of": then}))["hits"]
    assert hit["passage"] == "green tea"
    problem = await visitor.refused("GET", path, 404, "not_found", params={"as_of": "2020-01-01"})
    assert "did not exist at 2020-01-01" in problem["detail"]
    reported = await visitor.post("/memories/read", {"ids": ["tea"], "as_of": "2020-01-01"})
    assert reported["missing"][0]["why"].startswith("it did not exist")
    await visitor.refused("GET", path, 422, "invalid_input", params={"as_of": "yesterday"})


async def test_the_start_of_a_session(visitor: Visitor) -> None:
    assert (await visitor.get("/context"))["text"] == "Nothing is remembered here yet."
    await visitor.remember("Sarah prefers voice calls", kind="preference", pinned=True)
    await visitor.remember("We chose green", source={"session": "monday"})
    reported = await visitor.get("/context", params={"session": "tuesday", "max_tokens": 500})
    assert ([item["text"] for item in reported["profile"]], reported["last_session"]) == (
        ["Sarah prefers voice calls"],
        "monday",
    )
    assert reported["tokens"] <= 500
    text = await visitor.ask("GET", "/context", headers={"accept": "text/markdown"})
    assert text.headers["content-type"].startswith("text/markdown")
    assert text.text.startswith("# What is remembered")
    await visitor.refused("GET", "/context", 422, "invalid_input", params={"max_tokens": 0})
