"""Preconditions and idempotency: concurrent changes, and retries."""

import asyncio
from typing import Any

import pytest
from tests.surfaces.rest.checked_client import CheckedClient

TEXT = "Sarah prefers voice calls to mail"


async def test_if_match_with_the_current_version_succeeds(client: CheckedClient) -> None:
    path = f"/memories/{(await client.remember(TEXT))['id']}"
    for number, match in enumerate(('"1"', 'W/"2"', "*", "")):
        response = await client.request("PATCH", path, json={"title": f"Title {number}"}, headers={"if-match": match})
        assert response.headers["etag"] == f'"{number + 2}"'


async def test_if_match_with_an_older_version_is_refused(client: CheckedClient) -> None:
    path = f"/memories/{(await client.remember(TEXT))['id']}"
    await client.request("PATCH", path, json={"title": "First"})
    for method, end, inputs in (
        ("PATCH", "", {"json": {"title": "Second"}}),
        ("DELETE", "", {}),
        ("POST", "/revert", {"json": {"to": 1}}),
        ("POST", "/restore", {}),
        ("POST", "/purge", {}),
    ):
        problem = await client.refused(
            method, f"{path}{end}", 412, "stale_version", headers={"if-match": '"1"'}, **inputs
        )
        assert (problem["expected"], problem["current"]) == (1, 2)
    results = await client.get(path)
    assert (results["title"], results["version"]) == ("First", 2)
    for method, end, version in (("DELETE", "", 3), ("POST", "/restore", 4)):
        response = await client.request(method, f"{path}{end}", headers={"if-match": f'"{version - 1}"'})
        assert response.headers["etag"] == f'"{version}"'


@pytest.mark.parametrize("match", ["1", '"a"', '"1", "2"', '""', '"-1"', '"²"', '"' + "9" * 40 + '"', "W/1"])
async def test_an_invalid_if_match_is_refused(client: CheckedClient, match: str) -> None:
    path = f"/memories/{(await client.remember(TEXT))['id']}"
    header = {"if-match": match.encode("latin-1")}
    for method, inputs in (("PATCH", {"json": {"title": "Other"}}), ("DELETE", {})):
        problem = await client.refused(method, path, 422, "invalid_input", headers=header, **inputs)
        assert problem["field"] == "If-Match"
    assert (await client.get(path))["version"] == 1


async def test_of_ten_changes_of_the_same_version_one_succeeds(client: CheckedClient) -> None:
    path = f"/memories/{(await client.remember(TEXT))['id']}"

    async def change(number: int) -> int:
        params, headers = {"space": client.space}, {"if-match": '"1"'}
        response = await client.web.patch(
            f"/api/v1{path}", json={"title": f"Title {number}"}, params=params, headers=headers
        )
        return response.status_code

    assert sorted(await asyncio.gather(*map(change, range(10)))) == [200, *[412] * 9]
    assert (await client.get(path))["version"] == 2


async def test_a_repeated_remember_with_its_key_returns_the_first_response(client: CheckedClient) -> None:
    key = {"idempotency-key": "k-1"}
    body = {"text": "Kept once", "intent": "new"}
    first = await client.request("POST", "/memories", status=201, json=body, headers=key)
    again = await client.request("POST", "/memories", status=201, json=body, headers=key, params={"explain": ""})
    assert again.json() | {"trace": []} == first.json()
    assert again.json()["trace"][0]["outcome"] == "repeated"
    assert again.headers["location"] == first.headers["location"]
    assert (await client.get("/status"))["memories"] == {"live": 1}
    problem = await client.refused(
        "POST", "/memories", 422, "key_reused", json={"text": "Another", "intent": "new"}, headers=key
    )
    assert problem["hint"]


async def test_a_key_belongs_to_its_space(client: CheckedClient) -> None:
    key, body = {"idempotency-key": "k-1"}, {"text": "Kept once", "intent": "new"}
    first = await client.post("/memories", body, status=201, headers=key)
    other = await client.post("/memories", body, status=201, headers=key, params={"space": f"{client.space}-other"})
    assert first["id"] != other["id"]


async def _prepare(client: CheckedClient) -> str:
    path = f"/memories/{(await client.remember(TEXT))['id']}"
    await client.request("PATCH", path, json={"title": "Second"})
    await client.request("PATCH", path, json={"title": "Third"})
    return path


WRITES: list[tuple[str, str, dict[str, Any], dict[str, Any]]] = [
    ("PATCH", "", {"title": "Fourth"}, {"title": "Another"}),
    ("POST", "/revert", {"to": 1}, {"to": 2}),
    ("POST", "undo", {}, {"run": "another"}),
]


@pytest.mark.parametrize(("method", "end", "body", "other"), WRITES, ids=["revise", "revert", "undo"])
async def test_a_repeated_write_with_its_key_returns_the_first_response(
    client: CheckedClient, method: str, end: str, body: dict[str, Any], other: dict[str, Any]
) -> None:
    memory = await _prepare(client)
    path = "/undo" if end == "undo" else memory + end
    key = {"idempotency-key": "once"}
    first = await client.request(method, path, json=body, headers=key)
    # Later changes do not matter.
    await client.request("PATCH", memory, json={"tags": ["later"]})
    again = await client.request(method, path, json=body, headers=key)
    assert again.json() == first.json()
    assert again.headers.get("etag") == first.headers.get("etag")
    assert (await client.get(memory))["version"] == 5
    await client.refused(method, path, 422, "key_reused", json=other, headers=key)
    assert (await client.get(memory))["version"] == 5


@pytest.mark.parametrize(("method", "end", "body", "other"), WRITES, ids=["revise", "revert", "undo"])
async def test_of_ten_concurrent_writes_with_one_key_one_is_done(
    client: CheckedClient, method: str, end: str, body: dict[str, Any], other: dict[str, Any]
) -> None:
    memory = await _prepare(client)
    path = "/undo" if end == "undo" else memory + end
    key = {"idempotency-key": "once"}
    answers = await asyncio.gather(*(client.request(method, path, json=body, headers=key) for _ in range(10)))
    assert len({answer.text for answer in answers}) == 1
    assert (await client.get(memory))["version"] == 4


async def test_of_ten_remembers_with_one_key_one_is_stored(client: CheckedClient) -> None:
    body = {"text": "Kept once", "intent": "new"}
    answers = await asyncio.gather(
        *(client.post("/memories", body, status=201, headers={"idempotency-key": "once"}) for _ in range(10))
    )
    assert len({answer["id"] for answer in answers}) == 1
    assert (await client.get("/status"))["memories"] == {"live": 1}


async def test_a_key_with_an_outdated_version_still_returns_the_first_response(client: CheckedClient) -> None:
    path = f"/memories/{(await client.remember(TEXT))['id']}"
    headers = {"idempotency-key": "once", "if-match": '"1"'}
    first = await client.request("PATCH", path, json={"title": "Second"}, headers=headers)
    again = await client.request("PATCH", path, json={"title": "Second"}, headers=headers)
    assert again.json() == first.json()
    reverting = {"idempotency-key": "twice", "if-match": '"2"'}
    problem = await client.refused("POST", f"{path}/revert", 422, "invalid_input", json={"to": 1}, headers=reverting)
    assert problem["field"] == "If-Match"


@pytest.mark.parametrize("path", ["/memories", "/undo"])
async def test_a_key_has_a_bounded_length(client: CheckedClient, path: str) -> None:
    body = {"text": "x"} if path == "/memories" else {}
    problem = await client.refused(
        "POST", path, 422, "invalid_input", json=body, headers={"idempotency-key": "k" * 301}
    )
    assert problem["field"] == "Idempotency-Key"
