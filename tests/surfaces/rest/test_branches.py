"""Branches of a memory by REST."""

from tests.surfaces.rest.checked_client import CheckedClient


async def _create_branch(client: CheckedClient, name: str = "draft", **fields: object) -> str:
    path = f"/memories/{(await client.remember('green tea', title='Tea'))['id']}"
    result = await client.post(f"{path}/branches", {"name": name, **fields}, status=201)
    assert [branch["name"] for branch in result["branches"]] == ["main", name]
    return path


async def _content(client: CheckedClient, path: str, **params: str) -> str:
    return str((await client.get(path, params=params))["content"])


async def test_changes_on_a_branch_are_not_visible_on_main(client: CheckedClient) -> None:
    path = await _create_branch(client, "what/if", description="What if?")
    draft = {"branch": "what/if"}
    done = await client.request("PATCH", path, json={"content": "black tea"}, params=draft)
    assert (done.json()["branch"], done.headers["etag"]) == ("what/if", '"3~what%2Fif"')
    assert (await _content(client, path), await _content(client, path, **draft)) == ("green tea", "black tea")
    assert [hit["passage"] for hit in (await client.get("/search", params={"q": "tea"}))["hits"]] == ["green tea"]
    results = await client.get("/search", params={"q": "tea", **draft})
    assert [hit["passage"] for hit in results["hits"]] == ["black tea"]
    result = await client.get(f"{path}/versions", params=draft)
    assert (result["branch"], result["versions"][0]["number"]) == ("what/if", 3)
    (change,) = (await client.get(f"{path}/diff", params={"from": "main", "to": "what/if"}))["diff"]
    assert (change["before"], change["after"]) == ("green tea", "black tea")
    done = await client.request("POST", f"{path}/revert", json={"to": 1}, params=draft)
    assert (done.json()["branch"], await _content(client, path, **draft)) == ("what/if", "green tea")


async def test_a_memory_is_switched_and_if_match_selects_the_branch(client: CheckedClient) -> None:
    path = await _create_branch(client, switch=True)
    response = await client.request("GET", path)
    assert response.headers["etag"] == '"2~draft"'
    assert (await client.post(f"{path}/branches/main/switch"))["current"] == "main"
    done = await client.request("PATCH", path, json={"content": "black tea"}, headers={"if-match": '"2~draft"'})
    assert done.json()["branch"] == "draft"
    assert await _content(client, path) == "green tea"
    stale = {"if-match": '"2~draft"'}
    await client.refused("POST", f"{path}/revert", 412, "stale_version", json={"to": 1}, headers=stale)
    assert (await client.get(f"{path}/branches"))["current"] == "main"


async def test_a_branch_is_merged_and_dropped(client: CheckedClient) -> None:
    path = await _create_branch(client)
    await client.request("PATCH", path, json={"content": "black tea"}, params={"branch": "draft"})
    done = await client.request("POST", f"{path}/branches/draft/merge", json={"message": "so it is"})
    assert (done.json()["action"], done.headers["etag"]) == ("merged", '"2"')
    assert await _content(client, path) == "black tea"
    result = await client.request("DELETE", f"{path}/branches/draft")
    assert [branch["name"] for branch in result.json()["branches"]] == ["main"]
    problem = await client.refused("DELETE", f"{path}/branches/draft", 404, "not_found")
    assert "It was dropped" in problem["hint"]
    back = await client.request("POST", f"{path}/restore", params={"branch": "draft"})
    assert (back.json()["branch"], back.headers["etag"]) == ("draft", '"6~draft"')
    assert await _content(client, path, branch="draft") == "black tea"


async def test_clashes_are_listed_and_nothing_is_merged(client: CheckedClient) -> None:
    path = await _create_branch(client)
    await client.request("PATCH", path, json={"content": "black tea"}, params={"branch": "draft"})
    await client.request("PATCH", path, json={"content": "white tea"})
    problem = await client.refused("POST", f"{path}/branches/draft/merge", 409, "conflict", json={})
    (clash,) = problem["clashes"]
    assert clash == {"field": "content", "base": "green tea", "ours": "white tea", "theirs": "black tea"}
    assert "prefer" in problem["hint"]
    assert await _content(client, path) == "white tea"
    await client.post(f"{path}/branches/draft/merge", {"prefer": "theirs"})
    assert await _content(client, path) == "black tea"


async def test_a_commit_is_a_version_with_a_message(client: CheckedClient) -> None:
    path = f"/memories/{(await client.remember('green tea'))['id']}"
    done = await client.request("POST", f"{path}/commit", json={"message": "as agreed"})
    assert (done.json()["version"], done.headers["etag"]) == (2, '"2"')
    again = [
        await client.post(f"{path}/commit", {"message": "once"}, headers={"idempotency-key": "k"}) for _ in range(2)
    ]
    assert [item["version"] for item in again] == [3, 3]
    assert [version["message"] for version in (await client.get(f"{path}/versions"))["versions"]] == [
        "once",
        "as agreed",
        "",
    ]


async def test_invalid_branches_are_refused_with_a_reason(client: CheckedClient) -> None:
    path = await _create_branch(client)
    for name in ("main", "a b", "", "7", "x" * 200):
        await client.request("POST", f"{path}/branches", json={"name": name}, status=422)
    await client.refused("POST", f"{path}/branches", 409, "name_taken", json={"name": "draft"})
    await client.refused("POST", f"{path}/branches", 404, "not_found", json={"name": "other", "at": 9})
    await client.refused("POST", f"{path}/branches/nowhere/switch", 404, "not_found")
    await client.refused("POST", f"{path}/branches/draft/merge", 422, "invalid_input", json={"prefer": "mine"})
    await client.refused("POST", f"{path}/branches/main/merge", 422, "invalid_input", json={})
    await client.refused("DELETE", f"{path}/branches/main", 422, "invalid_input")
    await client.refused("GET", path, 404, "not_found", params={"branch": "nowhere"})
    await client.refused("POST", f"{path}/commit", 422, "invalid_input", json={"message": " "})
    await client.refused("GET", "/memories/nobody/branches", 404, "not_found")


async def test_the_state_at_a_moment_is_read(client: CheckedClient) -> None:
    path = f"/memories/{(await client.remember('green tea', name='tea'))['id']}"
    then = (await client.get(path))["created_at"]
    await client.request("PATCH", path, json={"content": "black tea"})
    assert await _content(client, path, as_of=then) == "green tea"
    (hit,) = (await client.get("/search", params={"q": "tea", "as_of": then}))["hits"]
    assert hit["passage"] == "green tea"
    problem = await client.refused("GET", path, 404, "not_found", params={"as_of": "2020-01-01"})
    assert "did not exist at 2020-01-01" in problem["detail"]
    result = await client.post("/memories/read", {"ids": ["tea"], "as_of": "2020-01-01"})
    assert result["missing"][0]["why"].startswith("it did not exist")
    await client.refused("GET", path, 422, "invalid_input", params={"as_of": "yesterday"})


async def test_the_context_of_a_session(client: CheckedClient) -> None:
    assert (await client.get("/context"))["text"] == "Nothing is remembered here yet."
    await client.remember("Sarah prefers voice calls", kind="preference", pinned=True)
    await client.remember("We chose green", source={"session": "monday"})
    result = await client.get("/context", params={"session": "tuesday", "max_tokens": 500})
    assert ([entry["text"] for entry in result["profile"]], result["last_session"]) == (
        ["Sarah prefers voice calls"],
        "monday",
    )
    assert result["tokens"] <= 500
    text = await client.request("GET", "/context", headers={"accept": "text/markdown"})
    assert text.headers["content-type"].startswith("text/markdown")
    assert text.text.startswith("# What is remembered")
    await client.refused("GET", "/context", 422, "invalid_input", params={"max_tokens": 0})
